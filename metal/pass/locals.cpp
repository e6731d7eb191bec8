// Reports reads of local arrays that the lane has not written (policy `checked`).
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {
namespace {

constexpr llvm::StringLiteral kUnset = "__assay_unset";

// Whether the compiler added the instruction, which fills a variable without initialiser with its pattern.
bool is_auto_init(const llvm::Instruction& instruction) {
  const auto* notes = instruction.getMetadata(llvm::LLVMContext::MD_annotation);
  return notes != nullptr && llvm::any_of(notes->operands(), [](const llvm::MDOperand& note) {
           const auto* text = llvm::dyn_cast<llvm::MDString>(note.get());
           return text != nullptr && text->getString() == "auto-init";
         });
}

bool is_unset_call(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == kUnset;
}

struct Accesses {
  llvm::SmallVector<llvm::LoadInst*> reads;
  llvm::SmallVector<llvm::Instruction*> writes;  // stores, copies, and calls that may write
  llvm::SmallVector<llvm::CallInst*> unset;
};

// Adds the accesses through a pointer and those derived from it. Returns false if not all of them can be followed.
bool follow(llvm::Value& pointer, Accesses& all) {
  for (llvm::User* user : pointer.users()) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    if (instruction == nullptr) return false;
    if (llvm::isa<llvm::GetElementPtrInst, llvm::BitCastInst, llvm::AddrSpaceCastInst>(instruction)) {
      if (!follow(*instruction, all)) return false;
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      all.reads.push_back(load);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
      if (store->getValueOperand() == &pointer) return false;
      all.writes.push_back(store);
    } else if (is_unset_call(*instruction)) {
      all.unset.push_back(llvm::cast<llvm::CallInst>(instruction));
    } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(instruction)) {
      if (memory->getRawDest() == &pointer) all.writes.push_back(memory);
    } else if (llvm::isa<llvm::CallBase>(instruction)) {
      if (!instruction->isLifetimeStartOrEnd() && !llvm::isa<llvm::DbgInfoIntrinsic>(instruction)) all.writes.push_back(instruction);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

// Functions of our headers write their variables before they read them: only variables of the kernel start as NaN. In a record of values,
// the pattern would look like values of the kernel.
void Lockstep::start_own_locals_only() {
  llvm::SmallVector<llvm::Instruction*> needless;
  for (auto& function : module_) {
    const bool is_recorded = module_.getFunction("__assay_recorded") != nullptr;
    if (!is_recorded && (function.getSubprogram() == nullptr || !is_ours(*function.getSubprogram()))) continue;
    for (auto& instruction : llvm::instructions(function)) {
      if (is_auto_init(instruction)) needless.push_back(&instruction);
    }
  }
  for (auto* instruction : needless) {
    if (instruction->use_empty()) instruction->eraseFromParent();
  }
}

// Marks where local arrays start without values. The calls also keep the arrays in memory.
void Lockstep::mark_unset_locals() {
  llvm::SmallVector<std::pair<llvm::Instruction*, llvm::AllocaInst*>> found;
  for (auto& function : module_) {
    for (auto& instruction : llvm::instructions(function)) {
      if (!is_auto_init(instruction)) continue;
      llvm::Value* target = nullptr;
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) target = store->getPointerOperand();
      if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) target = memory->getRawDest();
      auto* variable = target == nullptr ? nullptr : llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(target));
      if (variable != nullptr && variable->getAllocatedType()->isArrayTy()) found.emplace_back(&instruction, variable);
    }
  }
  for (const auto& [instruction, variable] : found) {
    llvm::IRBuilder<> builder(instruction->getNextNode());
    const auto unset = module_.getOrInsertFunction(kUnset, builder.getVoidTy(), variable->getType());
    builder.CreateCall(unset, {variable});
  }
}

// Every byte of such an array has a byte beside it that tells whether it was written.
void Lockstep::watch_locals() {
  llvm::SetVector<llvm::AllocaInst*> variables;
  llvm::SmallVector<llvm::CallInst*> marks;
  for (auto& instruction : llvm::instructions(*entry_)) {
    if (!is_unset_call(instruction)) continue;
    marks.push_back(llvm::cast<llvm::CallInst>(&instruction));
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(marks.back()->getArgOperand(0))))
      variables.insert(variable);
  }
  for (auto* variable : variables) {
    Accesses accesses;
    if (follow(*variable, accesses)) watch_local(*variable, accesses.reads, accesses.writes, accesses.unset);
  }
  for (auto* mark : marks) mark->eraseFromParent();
}

void Lockstep::watch_local(llvm::AllocaInst& variable, llvm::ArrayRef<llvm::LoadInst*> reads, llvm::ArrayRef<llvm::Instruction*> writes,
                           llvm::ArrayRef<llvm::CallInst*> unset) {
  const std::uint64_t size = stored_bytes(*variable.getAllocatedType());
  llvm::IRBuilder<> top(&entry_->getEntryBlock(), entry_->getEntryBlock().getFirstInsertionPt());
  auto* marks = top.CreateAlloca(llvm::ArrayType::get(top.getInt8Ty(), size));
  const auto fill = [&](llvm::IRBuilder<>& builder, llvm::Value* place, unsigned value, llvm::Value* bytes) {
    builder.CreateMemSet(place, builder.getInt8(static_cast<std::uint8_t>(value)), bytes, llvm::Align(1));
  };
  // The offset in the variable, and whether all bytes lie within it.
  const auto place_in = [&](llvm::IRBuilder<>& builder, llvm::Value* pointer, llvm::Value* bytes) {
    auto* word = builder.getInt64Ty();
    auto* offset = builder.CreateSub(builder.CreatePtrToInt(pointer, word), builder.CreatePtrToInt(&variable, word));
    auto* is_within = builder.CreateAnd(builder.CreateICmpULE(offset, builder.getInt64(size)),
                                        builder.CreateICmpULE(builder.CreateAdd(offset, bytes), builder.getInt64(size)));
    return std::pair(builder.CreateSelect(is_within, offset, builder.getInt64(0)), is_within);
  };
  for (auto* write : writes) {
    llvm::IRBuilder<> builder(write);
    llvm::Value* target = nullptr;
    llvm::Value* bytes = nullptr;
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(write)) {
      target = store->getPointerOperand();
      bytes = builder.getInt64(stored_bytes(*store->getValueOperand()->getType()));
    } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(write)) {
      target = memory->getRawDest();
      bytes = builder.CreateZExtOrTrunc(memory->getLength(), builder.getInt64Ty());
    }
    if (target == nullptr) {
      fill(builder, marks, 1, builder.getInt64(size));
      continue;
    }
    const auto [offset, is_within] = place_in(builder, target, bytes);
    fill(builder, builder.CreateGEP(builder.getInt8Ty(), marks, offset), 1, builder.CreateSelect(is_within, bytes, builder.getInt64(0)));
  }
  for (auto* call : unset) {
    llvm::IRBuilder<> builder(call);
    fill(builder, marks, 0, builder.getInt64(size));
  }
  constexpr std::uint64_t kLargestRead = 64;
  for (auto* read : reads) {
    const std::uint64_t bytes = stored_bytes(*read->getType());
    if (bytes > kLargestRead || bytes > size) continue;
    llvm::IRBuilder<> builder(read);
    const auto [offset, is_within] = place_in(builder, read->getPointerOperand(), builder.getInt64(bytes));
    auto* type = builder.getIntNTy(static_cast<unsigned>(8 * bytes));
    auto* found = builder.CreateAlignedLoad(type, builder.CreateGEP(builder.getInt8Ty(), marks, offset), llvm::Align(1));
    auto* whole = llvm::ConstantInt::get(type, llvm::APInt::getSplat(static_cast<unsigned>(8 * bytes), llvm::APInt(8, 1)));
    auto* is_unset = builder.CreateAnd(is_within, builder.CreateICmpNE(found, whole));
    further_accesses_.push_back({{abi::kReads, 1, abi::kAnyObject, static_cast<std::uint32_t>(bytes)}, place_of(*read)});
    const auto number = static_cast<std::uint32_t>(ordered_.size() + further_accesses_.size() - 1);
    llvm::IRBuilder<> rare(llvm::SplitBlockAndInsertIfThen(is_unset, read, false, llvm::MDBuilder(context_).createUnlikelyBranchWeights()));
    auto* call = call_service(rare, abi::kUnset, number, {offset}, rare.getVoidTy());
    // The call writes no memory of the kernel, so what the optimiser knows about memory stays true.
    call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
    call->addFnAttr(llvm::Attribute::Cold);
  }
}

}  // namespace assay::metal::pass
