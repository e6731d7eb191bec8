// Fills the local variables of a kernel. Policy `checked`: reports reads of local arrays that the lane has not written, and accesses
// outside of them.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugProgramInstruction.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/pass/checks.h"
#include "metal/pass/lockstep.h"

namespace assay::metal::pass {
namespace {

constexpr llvm::StringLiteral kUnset = "__assay_unset";

bool is_unset_call(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == kUnset;
}

constexpr std::uint8_t kFill = 0xff;

bool is_lifetime(const llvm::User& user, llvm::Intrinsic::ID which) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&user);
  return call != nullptr && call->getIntrinsicID() == which;
}

bool has_pointers(const llvm::Type& type) {
  return type.isPointerTy() || llvm::any_of(type.subtypes(), [](const llvm::Type* part) { return has_pointers(*part); });
}

// Variables that the source declares, without parameters.
llvm::SetVector<llvm::AllocaInst*> declared_variables(llvm::Function& function) {
  llvm::SetVector<llvm::AllocaInst*> variables;
  for (auto& instruction : llvm::instructions(function)) {
    for (llvm::DbgVariableRecord& record : llvm::filterDbgVars(instruction.getDbgRecordRange())) {
      llvm::Value* address = record.isDbgAssign() || record.isDbgDeclare() ? record.getAddress() : nullptr;
      if (address == nullptr || record.getVariable()->isParameter() || record.getVariable()->isArtificial()) continue;
      if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(address))) variables.insert(variable);
    }
  }
  return variables;
}

// Whether the first access from here on, in the same block, writes the whole variable.
bool is_initialised(const llvm::AllocaInst& variable, llvm::Instruction& start, std::uint64_t size) {
  for (auto* next = &start; next != nullptr; next = next->getNextNode()) {
    const bool uses = llvm::any_of(next->operands(), [&](const llvm::Use& operand) {
      return operand->getType()->isPointerTy() && llvm::getUnderlyingObject(operand.get()) == &variable;
    });
    if (!uses || llvm::isa<llvm::DbgInfoIntrinsic>(next)) continue;
    if (llvm::isa<llvm::AddrSpaceCastInst, llvm::GetElementPtrInst>(next)) continue;
    const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(next);
    const auto* length = memory == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(memory->getLength());
    return length != nullptr && length->getZExtValue() >= size && llvm::getUnderlyingObject(memory->getRawDest()) == &variable;
  }
  return false;
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

// Variables of the kernel start with bytes that are NaN as any floating type, so that a read before the first write shows in the output,
// whatever an optimiser makes of undefined values. Functions of our headers write before they read. In a record of values, these bytes
// would look like values of the kernel.
void WholeKernel::fill_own_locals() {
  if (module_.getFunction("__assay_recorded") != nullptr) return;
  for (auto& function : module_) {
    if (function.isDeclaration() || function.getSubprogram() == nullptr || is_ours(*function.getSubprogram())) continue;
    for (auto* variable : declared_variables(function)) fill_local(*variable);
  }
}

void WholeKernel::fill_local(llvm::AllocaInst& variable) {
  const std::uint64_t size = stored_bytes(*variable.getAllocatedType());
  if (size == 0 || variable.isArrayAllocation()) return;
  llvm::SmallVector<llvm::Instruction*> starts;
  for (llvm::User* user : variable.users()) {
    if (is_lifetime(*user, llvm::Intrinsic::lifetime_start)) starts.push_back(llvm::cast<llvm::Instruction>(user)->getNextNode());
  }
  // Without a mark of where its life starts, it is that of the function.
  if (starts.empty()) starts.push_back(&*variable.getParent()->getFirstNonPHIOrDbgOrAlloca());
  for (auto* start : starts) {
    llvm::IRBuilder<> builder(start);
    if (!variable.getAllocatedType()->isArrayTy() || has_pointers(*variable.getAllocatedType())) {
      builder.CreateMemSet(&variable, builder.getInt8(kFill), size, variable.getAlign());
    } else if (!is_initialised(variable, *start, size)) {
      // The call also keeps the array in memory.
      builder.CreateCall(module_.getOrInsertFunction(kUnset, builder.getVoidTy(), variable.getType()), {&variable});
    }
  }
}

// Fills marked arrays once, where the kernel starts: in a loop, that would cost more than the loop. An array in a loop then starts each
// round with what the one before has left, which only policy `checked` sees. Unless the marks are still needed, they are removed.
void WholeKernel::fill_own_arrays() {
  llvm::SetVector<llvm::AllocaInst*> variables;
  llvm::SmallVector<llvm::Instruction*> needless;
  for (auto& instruction : llvm::instructions(*entry_)) {
    if (!is_unset_call(instruction)) continue;
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(instruction.getOperand(0)));
    if (variable != nullptr) variables.insert(variable);
    if (!is_checked_) needless.push_back(&instruction);
  }
  for (auto* variable : variables) {
    // Where its life starts, its contents would be undefined.
    for (llvm::User* user : variable->users()) {
      if (is_lifetime(*user, llvm::Intrinsic::lifetime_start) || is_lifetime(*user, llvm::Intrinsic::lifetime_end))
        needless.push_back(llvm::cast<llvm::Instruction>(user));
    }
    llvm::IRBuilder<> top(&entry_->getEntryBlock(), entry_->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    top.CreateMemSet(variable, top.getInt8(kFill), stored_bytes(*variable->getAllocatedType()), variable->getAlign());
  }
  for (auto* instruction : needless) instruction->eraseFromParent();
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
  // Before anything is inserted, because what is inserted uses addresses in ways that follow() refuses.
  std::vector<LocalAccesses> arrays;
  for (auto& instruction : llvm::instructions(*entry_)) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    Accesses all;
    if (variable == nullptr || !variable->getAllocatedType()->isArrayTy() || variable->isArrayAllocation() || !follow(*variable, all))
      continue;
    LocalAccesses& local = arrays.emplace_back(LocalAccesses{variable, {all.reads.begin(), all.reads.end()}});
    llvm::copy_if(all.writes, std::back_inserter(local.all),
                  [](const llvm::Instruction* write) { return llvm::isa<llvm::StoreInst>(write); });
  }
  for (auto* variable : variables) {
    Accesses accesses;
    if (follow(*variable, accesses)) watch_local(*variable, accesses.reads, accesses.writes, accesses.unset);
  }
  for (auto* mark : marks) mark->eraseFromParent();
  keep_local_accesses_inside(arrays);
}

// An access outside of a local array would change what lies beside it on the lane's stack, and be found as something else, if at all. It
// is reported, and goes to a place of its own instead.
void Lockstep::keep_local_accesses_inside(llvm::ArrayRef<LocalAccesses> arrays) {
  constexpr std::uint64_t kLargest = 64;
  const auto& layout = module_.getDataLayout();
  llvm::AllocaInst* spare = nullptr;
  for (const auto& [variable, all] : arrays) {
    const std::uint64_t size = layout.getTypeAllocSize(variable->getAllocatedType()).getFixedValue();
    for (auto* access : all) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(access);
      auto* pointer = llvm::getLoadStorePointerOperand(access);
      const std::uint64_t bytes = stored_bytes(*llvm::getLoadStoreType(access));
      llvm::APInt known(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
      const bool is_known = pointer->stripAndAccumulateConstantOffsets(layout, known, /*AllowNonInbounds=*/true) == variable;
      if (bytes > kLargest || (is_known && known.isNonNegative() && known.getZExtValue() + bytes <= size)) continue;
      if (spare == nullptr) {
        llvm::IRBuilder<> top(&entry_->getEntryBlock(), entry_->getEntryBlock().getFirstInsertionPt());
        spare = top.CreateAlloca(llvm::ArrayType::get(top.getInt8Ty(), kLargest));
        spare->setAlignment(llvm::Align(kLargest));
      }
      // Otherwise the optimiser concludes from the address that it is inside.
      for (auto* step = llvm::dyn_cast<llvm::Instruction>(pointer); step != nullptr && step != variable;
           step = llvm::dyn_cast<llvm::Instruction>(step->getOperand(0)))
        step->dropPoisonGeneratingFlags();
      llvm::IRBuilder<> builder(access);
      auto* word = builder.getInt64Ty();
      auto* offset = builder.CreateSub(builder.CreatePtrToInt(pointer, word), builder.CreatePtrToInt(variable, word));
      auto* is_outside = bytes > size ? builder.getTrue() : builder.CreateICmpUGT(offset, builder.getInt64(size - bytes));
      further_accesses_.push_back({{store == nullptr ? abi::kReads : abi::kWrites, static_cast<std::uint32_t>(size), abi::kAnyObject,
                                    static_cast<std::uint32_t>(bytes)},
                                   place_of(*access)});
      const auto number = static_cast<std::uint32_t>(ordered_.size() + further_accesses_.size() - 1);
      llvm::Value* target = builder.CreatePointerBitCastOrAddrSpaceCast(spare, pointer->getType());
      auto* inside = llvm::dyn_cast<llvm::SelectInst>(builder.CreateSelect(is_outside, target, pointer));
      if (inside != nullptr) inside->setMetadata(kInsideMark, llvm::MDNode::get(context_, {}));
      access->setOperand(store == nullptr ? 0U : 1U, inside == nullptr ? target : inside);
      llvm::IRBuilder<> rare(
          llvm::SplitBlockAndInsertIfThen(is_outside, access, false, llvm::MDBuilder(context_).createUnlikelyBranchWeights()));
      auto* call = call_service(rare, abi::kUnset, number, {offset}, rare.getVoidTy());
      call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
      call->addFnAttr(llvm::Attribute::Cold);
    }
  }
}

namespace {

// Beside each byte of a local array, whether it was written.
class WrittenMarks {
 public:
  WrittenMarks(llvm::Function& entry, llvm::AllocaInst& variable)
      : layout_(entry.getDataLayout()), variable_(variable), size_(bytes_of(variable.getAllocatedType())) {
    llvm::IRBuilder<> top(&entry.getEntryBlock(), entry.getEntryBlock().getFirstInsertionPt());
    marks_ = top.CreateAlloca(llvm::ArrayType::get(top.getInt8Ty(), size_ + kLargest));
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t bytes_of(llvm::Type* type) const { return layout_.getTypeStoreSize(type).getFixedValue(); }

  void forget(llvm::Instruction& at) {
    llvm::IRBuilder<> builder(&at);
    fill(builder, 0);
  }

  // A write that is not understood writes all.
  void note(llvm::Instruction& write) {
    llvm::IRBuilder<> builder(&write);
    llvm::Value* target = nullptr;
    llvm::Value* bytes = nullptr;
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&write)) {
      target = store->getPointerOperand();
      bytes = builder.getInt64(bytes_of(store->getValueOperand()->getType()));
    } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&write)) {
      target = memory->getRawDest();
      bytes = builder.CreateZExtOrTrunc(memory->getLength(), builder.getInt64Ty());
    }
    if (target == nullptr) return fill(builder, 1);
    const auto [offset, is_within] = place_in(builder, target, bytes);
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(bytes);
    const std::uint64_t known = length == nullptr ? 0 : length->getZExtValue();
    if (known == 0 || known > kLargest) {
      builder.CreateMemSet(at(builder, offset), builder.getInt8(1), builder.CreateSelect(is_within, bytes, builder.getInt64(0)),
                           llvm::Align(1));
      return;
    }
    auto* place = at(builder, builder.CreateSelect(is_within, offset, builder.getInt64(size_)));
    builder.CreateAlignedStore(all_written(builder, known), place, llvm::Align(1));
  }

  // The offset of a read in the array, and whether the array contains all of its bytes and one of them was not written.
  std::pair<llvm::Value*, llvm::Value*> look(llvm::IRBuilder<>& builder, llvm::LoadInst& read) {
    const std::uint64_t bytes = bytes_of(read.getType());
    const auto [offset, is_within] = place_in(builder, read.getPointerOperand(), builder.getInt64(bytes));
    auto* written = all_written(builder, bytes);
    auto* found = builder.CreateAlignedLoad(written->getType(), at(builder, offset), llvm::Align(1));
    return {offset, builder.CreateAnd(is_within, builder.CreateICmpNE(found, written))};
  }

  static constexpr std::uint64_t kLargest = 64;  // bytes of an access that is marked at once; behind the marks is room for one

 private:
  void fill(llvm::IRBuilder<>& builder, std::uint8_t value) { builder.CreateMemSet(marks_, builder.getInt8(value), size_, llvm::Align(1)); }
  static llvm::ConstantInt* all_written(llvm::IRBuilder<>& builder, std::uint64_t bytes) {
    return builder.getInt(llvm::APInt::getSplat(static_cast<unsigned>(8 * bytes), llvm::APInt(8, 1)));
  }
  llvm::Value* at(llvm::IRBuilder<>& builder, llvm::Value* offset) { return builder.CreateGEP(builder.getInt8Ty(), marks_, offset); }
  // The offset in the variable, 0 unless all bytes lie within it, and whether they do.
  std::pair<llvm::Value*, llvm::Value*> place_in(llvm::IRBuilder<>& builder, llvm::Value* pointer, llvm::Value* bytes) {
    auto* word = builder.getInt64Ty();
    auto* offset = builder.CreateSub(builder.CreatePtrToInt(pointer, word), builder.CreatePtrToInt(&variable_, word));
    auto* is_within = builder.CreateAnd(builder.CreateICmpULE(offset, builder.getInt64(size_)),
                                        builder.CreateICmpULE(builder.CreateAdd(offset, bytes), builder.getInt64(size_)));
    return {builder.CreateSelect(is_within, offset, builder.getInt64(0)), is_within};
  }

  const llvm::DataLayout& layout_;
  llvm::AllocaInst& variable_;
  std::uint64_t size_;
  llvm::AllocaInst* marks_ = nullptr;
};

}  // namespace

void Lockstep::watch_local(llvm::AllocaInst& variable, llvm::ArrayRef<llvm::LoadInst*> reads, llvm::ArrayRef<llvm::Instruction*> writes,
                           llvm::ArrayRef<llvm::CallInst*> unset) {
  WrittenMarks marks(*entry_, variable);
  for (auto* write : writes) marks.note(*write);
  for (auto* call : unset) marks.forget(*call);
  for (auto* read : reads) {
    const std::uint64_t bytes = stored_bytes(*read->getType());
    if (bytes > WrittenMarks::kLargest || bytes > marks.size()) continue;
    llvm::IRBuilder<> builder(read);
    const auto [offset, is_unset] = marks.look(builder, *read);
    further_accesses_.push_back(
        {{abi::kReads, static_cast<std::uint32_t>(marks.size()), abi::kAnyObject, static_cast<std::uint32_t>(bytes)}, place_of(*read)});
    const auto number = static_cast<std::uint32_t>(ordered_.size() + further_accesses_.size() - 1);
    llvm::IRBuilder<> rare(llvm::SplitBlockAndInsertIfThen(is_unset, read, false, llvm::MDBuilder(context_).createUnlikelyBranchWeights()));
    auto* call = call_service(rare, abi::kUnset, number, {offset}, rare.getVoidTy());
    // The call writes no memory of the kernel, so what the optimiser knows about memory stays true.
    call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
    call->addFnAttr(llvm::Attribute::Cold);
  }
}

}  // namespace assay::metal::pass
