// Lets the runtime check and redirect every access to memory that lanes share.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>

#include "metal/pass/checks.h"
#include "metal/pass/lockstep.h"
#include "metal/pass/vector/requests.h"

namespace assay::metal::pass {
namespace {

// Operation codes of metal/shader/runtime.h.
constexpr std::uint64_t kAtomicLoad = 0;
constexpr std::uint64_t kAtomicStore = 1;

struct Run {
  std::uint64_t first, size;
};

// The fields of a copied struct, with adjacent fields merged. Empty if the compiler does not describe them.
llvm::SmallVector<Run> fields_of(const llvm::MemCpyInst& copy) {
  const auto* fields = copy.getMetadata(llvm::LLVMContext::MD_tbaa_struct);
  const auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy.getLength());
  if (fields == nullptr || length == nullptr) return {};
  llvm::SmallVector<Run> all;
  constexpr unsigned kPerField = 3;  // offset, size, type
  for (unsigned field = 0; field + 1 < fields->getNumOperands(); field += kPerField) {
    const auto number = [&](unsigned index) {
      return llvm::mdconst::extract<llvm::ConstantInt>(fields->getOperand(field + index))->getZExtValue();
    };
    const std::uint64_t first = std::min(number(0), length->getZExtValue());
    all.push_back({first, std::min(number(1), length->getZExtValue() - first)});
  }
  llvm::sort(all, [](const Run& a, const Run& b) { return a.first < b.first; });
  llvm::SmallVector<Run> runs;
  for (const Run& one : all) {
    if (!runs.empty() && one.first <= runs.back().first + runs.back().size) {
      runs.back().size = std::max(runs.back().size, one.first + one.size - runs.back().first);
    } else {
      runs.push_back(one);
    }
  }
  return runs;
}

// The type that a pointer was declared for, if it is known.
llvm::Type* pointee_of(const llvm::Value* pointer) {
  if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(pointer)) return variable->getAllocatedType();
  if (const auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer)) return place->getResultElementType();
  return nullptr;
}

// The vector type that is copied, if it is one of metal::vec.
llvm::FixedVectorType* vector_of(const llvm::MemCpyInst& copy, const llvm::DataLayout& layout) {
  const auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy.getLength());
  for (const auto* pointer : {copy.getRawDest(), copy.getRawSource()}) {
    auto* type = pointee_of(pointer);
    if (type == nullptr || length == nullptr || !type->isSized() || layout.getTypeAllocSize(type) != length->getZExtValue()) continue;
    const auto* holder = llvm::dyn_cast<llvm::StructType>(type);
    if (holder == nullptr || holder->getNumElements() != 1 || !holder->hasName() || !holder->getName().starts_with("struct.metal::vec"))
      continue;
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(holder->getElementType(0))) return vector;
  }
  return nullptr;
}

// Whether the size may be that of a vector of three, which occupies the bytes of four.
bool may_be_padded_vector(std::uint64_t bytes) { return bytes == 4 || bytes == 8 || bytes == 16 || bytes == 32; }

// SROA reads the padding of a vector of three as an untyped integer, to copy it.
bool only_hands_on_padding(const llvm::LoadInst& load) {
  if (!load.getType()->isIntegerTy() || load.getType()->isIntegerTy(8)) return false;
  const auto* tag = load.getMetadata(llvm::LLVMContext::MD_tbaa);
  if (tag == nullptr) return false;
  const auto* type = llvm::dyn_cast<llvm::MDNode>(tag->getOperand(0));
  const auto* name = type == nullptr ? nullptr : llvm::dyn_cast<llvm::MDString>(type->getOperand(0));
  if (name == nullptr || name->getString() != "omnipotent char") return false;
  return llvm::all_of(load.users(), [&](const llvm::User* user) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    return store != nullptr && store->getValueOperand() == &load;
  });
}

}  // namespace

// A copy of a vector becomes one access, which SROA cannot split. A copy of a struct becomes copies of its fields. Otherwise padding,
// which may be uninitialised, would be checked too.
void Lockstep::leave_out_padding() {
  llvm::SmallVector<llvm::MemCpyInst*> copies;
  for (auto& function : module_) {
    for (auto& instruction : llvm::instructions(function)) {
      if (auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(&instruction)) copies.push_back(copy);
    }
  }
  for (auto* copy : copies) {
    if (auto* vector = vector_of(*copy, module_.getDataLayout())) {
      llvm::IRBuilder<> builder(copy);
      auto* value = builder.CreateAlignedLoad(vector, copy->getSource(), copy->getSourceAlign());
      builder.CreateAlignedStore(value, copy->getDest(), copy->getDestAlign());
      copy->eraseFromParent();
      continue;
    }
    const auto runs = fields_of(*copy);
    if (runs.empty() || (runs.size() == 1 && runs[0].size == llvm::cast<llvm::ConstantInt>(copy->getLength())->getZExtValue())) continue;
    llvm::IRBuilder<> builder(copy);
    for (const Run& run : runs) {
      const auto part = [&](llvm::Value* whole) { return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), whole, run.first); };
      builder.CreateMemCpy(part(copy->getDest()), llvm::commonAlignment(copy->getDestAlign().valueOrOne(), run.first),
                           part(copy->getSource()), llvm::commonAlignment(copy->getSourceAlign().valueOrOne(), run.first), run.size);
    }
    copy->eraseFromParent();
  }
}

// Removed here because the optimiser would remove reads whose value is unused anyway.
void Lockstep::remove_unused_reads() {
  llvm::SmallVector<llvm::WeakTrackingVH> unused;
  for (auto& instruction : llvm::instructions(*entry_)) {
    if (llvm::isInstructionTriviallyDead(&instruction)) unused.emplace_back(&instruction);
  }
  llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(unused);
}

// The object that the pointer of an access was derived from (abi::Access::object). Empty for constants and for memory that only its
// lane can access.
std::optional<std::uint32_t> Lockstep::object_of(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, /*MaxLookup=*/0);
  std::optional<std::uint32_t> result;
  bool is_shared = false;
  for (const auto* object : objects) {
    if (llvm::isa<llvm::UndefValue>(object) || llvm::isa<llvm::ConstantPointerNull>(object)) continue;
    const Origin origin = origin_of_object(object);
    std::uint32_t one = abi::kAnyObject;
    if (origin.kind != Origin::Kind::thread && origin.kind != Origin::Kind::program_constant) is_shared = true;
    if (origin.kind == Origin::Kind::buffer) one = static_cast<std::uint32_t>(origin.buffer);
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(object); call != nullptr && origin.kind == Origin::Kind::threadgroup) {
      const auto number = static_cast<std::uint32_t>(constant_argument(*call, 0));
      one = call->getCalledFunction()->getName() == "__assay_threadgroup_argument" ? abi::kThreadgroupArgument + number
                                                                                   : variable_object(*call, number);
    }
    result = result && *result != one ? abi::kAnyObject : one;
  }
  if (result && !is_shared) return std::nullopt;
  return result.value_or(abi::kAnyObject);
}

// Variables are numbered in the order in which they are first seen.
std::uint32_t Lockstep::variable_object(const llvm::CallBase& call, std::uint32_t id) {
  const auto number = static_cast<std::uint32_t>(variables_.size());
  const auto [found, is_new] = variable_numbers_.insert({id, number});
  if (is_new) {
    variables_.emplace_back();
    llvm::SmallVector<llvm::DbgVariableIntrinsic*> intrinsics;
    llvm::SmallVector<llvm::DbgVariableRecord*> records;
    llvm::findDbgUsers(intrinsics, const_cast<llvm::CallBase*>(&call), &records);
    for (const auto* record : records) {
      if (!is_ours(*record->getVariable()->getScope())) variables_.back().name = record->getVariable()->getName().str();
    }
  }
  return abi::kThreadgroupVariable + found->second;
}

// Records meeting points that access memory. Routing removes this information later.
void Lockstep::note_access(const llvm::Instruction& instruction, std::uint32_t site) {
  const auto note = [&](std::uint32_t kind, const llvm::Value* pointer, std::uint64_t alignment, std::uint64_t bytes) {
    site_accesses_[site] = {kind, static_cast<std::uint32_t>(alignment), object_of(pointer).value_or(abi::kAnyObject),
                            static_cast<std::uint32_t>(bytes)};
  };
  const auto wanted = [&](llvm::Align otherwise) { return wanted_alignment(instruction, false, otherwise).value(); };
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    note(abi::kWrites, store->getPointerOperand(), wanted(store->getAlign()), stored_bytes(*store->getValueOperand()->getType()));
  } else if (const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(memory->getLength());
    note(abi::kWrites, memory->getDest(), wanted(memory->getDestAlign().valueOrOne()), length == nullptr ? 0 : length->getZExtValue());
  } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
             call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == "__assay_atomic") {
    const std::uint64_t bytes = atomic_bytes(*call);
    note(atomic_kind(*call) | abi::kAtomically, call->getArgOperand(2), bytes, bytes);
  }
}

std::uint32_t Lockstep::atomic_kind(const llvm::CallBase& call) {
  const auto* operation = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
  if (operation != nullptr && operation->equalsInt(kAtomicLoad)) return abi::kReads;
  return operation != nullptr && operation->equalsInt(kAtomicStore) ? abi::kWrites : abi::kReads | abi::kWrites;
}

// The scalar codes of metal/shader/runtime.h have two codes for each width of integer. All other codes are 32 bits wide.
std::uint64_t Lockstep::atomic_bytes(const llvm::CallBase& call) {
  constexpr std::uint64_t kFirstFloating = 8;
  const std::uint64_t type = constant_argument(call, 1);
  return type < kFirstFloating ? std::uint64_t{1} << type / 2 : 4;
}

// The pointer to read from instead of `pointer`.
llvm::Value* Lockstep::checked_source(llvm::Instruction& reader, llvm::Value* pointer, llvm::Value* bytes, std::uint32_t kind,
                                      llvm::MaybeAlign alignment) {
  const auto object = object_of(pointer);
  if (!object || is_runtime_state(*pointer)) return pointer;
  llvm::IRBuilder<> builder(&reader);
  const auto* length = llvm::dyn_cast<llvm::ConstantInt>(bytes);
  further_accesses_.push_back({{abi::kReads | kind, static_cast<std::uint32_t>(alignment.valueOrOne().value()), *object,
                                length == nullptr ? 0 : static_cast<std::uint32_t>(length->getZExtValue())},
                               place_of(reader)});
  const auto number = static_cast<std::uint32_t>(ordered_.size() + further_accesses_.size() - 1);
  return stand_for_check(builder, kCheckAccess, builder.getPtrTy(),
                         {builder.getInt32(number), pointer, builder.CreateZExtOrTrunc(bytes, builder.getInt64Ty())});
}

// The code of a lane for the check of a read.
llvm::Value* Lockstep::lower_access_check(llvm::CallInst& check) {
  const std::uint32_t number = number_of_check(check);
  const AccessNote& access = further_accesses_[number - ordered_.size()].first;
  auto* pointer = check.getArgOperand(1);
  auto* bytes = check.getArgOperand(2);
  llvm::IRBuilder<> builder(&check);
  const auto call = [&](llvm::IRBuilder<>& at) {
    auto* result = call_service(at, abi::kAccess, number, {pointer, bytes}, at.getPtrTy());
    // The call writes no memory of the kernel, so what the optimiser knows about memory stays true.
    result->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
    return result;
  };
  constexpr std::uint64_t kMostNotedAtOnce = 32;
  if (access.object >= abi::kMaxBuffers || access.bytes == 0 || access.bytes > kMostNotedAtOnce) return call(builder);

  auto* word = builder.getInt64Ty();
  auto* quick = quick_of(number);
  const auto member = [&](llvm::IRBuilder<>& at, llvm::Type* type, std::uint64_t offset) {
    auto* load = at.CreateLoad(type, at.CreateConstInBoundsGEP1_64(at.getInt8Ty(), quick, offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return load;
  };
  auto* address = builder.CreatePtrToInt(pointer, word);
  auto* offset = builder.CreateSub(address, builder.CreatePtrToInt(member(builder, builder.getPtrTy(), offsetof(abi::Quick, data)), word));
  llvm::Value* is_odd = builder.CreateICmpUGE(offset, member(builder, word, offsetof(abi::Quick, limit)));
  if (access.alignment > 1)
    is_odd = builder.CreateOr(is_odd, builder.CreateICmpNE(builder.CreateAnd(address, access.alignment - 1), builder.getInt64(0)));
  llvm::Instruction* rare = nullptr;
  llvm::Instruction* usual = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(is_odd, &check, &rare, &usual, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  llvm::IRBuilder<> seldom(rare);
  auto* elsewhere = call(seldom);
  llvm::IRBuilder<> mostly(usual);
  const auto change = [&](llvm::Value* place, const auto& how) {
    auto* load = mostly.CreateAlignedLoad(word, place, llvm::Align(1));
    mostly.CreateAlignedStore(how(load), place, llvm::Align(1));
  };
  change(mostly.CreateConstInBoundsGEP1_64(mostly.getInt8Ty(), quick, offsetof(abi::Quick, hits)),
         [&](llvm::Value* hits) { return mostly.CreateAdd(hits, mostly.getInt64(1)); });
  auto* bits = mostly.CreateShl(mostly.getInt64((std::uint64_t{1} << access.bytes) - 1), mostly.CreateAnd(address, 7));
  auto* place = mostly.CreateAdd(mostly.CreateLShr(address, 3), member(mostly, word, offsetof(abi::Quick, touched)));
  change(mostly.CreateIntToPtr(place, mostly.getPtrTy()), [&](llvm::Value* touched) { return mostly.CreateOr(touched, bits); });
  llvm::IRBuilder<> behind(&check);
  auto* result = behind.CreatePHI(behind.getPtrTy(), 2);
  result->addIncoming(elsewhere, rare->getParent());
  result->addIncoming(pointer, usual->getParent());
  return result;
}

void Lockstep::lower_checks() {
  lower_arithmetic_checks();
  llvm::SmallVector<llvm::CallInst*> checks;
  for (auto& instruction : llvm::instructions(*entry_)) {
    if (is_call_of(instruction, kCheckAccess)) checks.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  for (auto* check : checks) {
    check->replaceAllUsesWith(lower_access_check(*check));
    check->eraseFromParent();
  }
}

namespace {

// Makes a report that a branch leads to a request to give up if the branch would be taken. The branch would otherwise part lanes, and join
// values that are regular without it.
void give_up_instead(llvm::CallBase& report) {
  auto* block = report.getParent();
  auto* before = block->getSinglePredecessor();
  auto* after = block->getSingleSuccessor();
  auto* branch = before == nullptr ? nullptr : llvm::dyn_cast<llvm::BranchInst>(before->getTerminator());
  if (branch == nullptr || !branch->isConditional() || after == nullptr) return;
  llvm::IRBuilder<> builder(branch);
  auto* condition = branch->getCondition();
  if (branch->getSuccessor(0) != block) condition = builder.CreateNot(condition);
  stand_for_check(builder, kGiveUpIf, builder.getVoidTy(), {condition});
  builder.CreateBr(after);
  branch->eraseFromParent();
}

}  // namespace

// The kernel as it is, but with checks that need not lead an access elsewhere: before a forbidden one, vectors give up.
void Lockstep::copy_for_vectors() {
  llvm::ValueToValueMapTy copied;
  auto* copy = llvm::CloneFunction(entry_, copied);
  copy->setName(kVectorLane);
  copy->setLinkage(llvm::GlobalValue::ExternalLinkage);
  llvm::stripDebugInfo(*copy);
  for (auto& instruction : llvm::make_early_inc_range(llvm::instructions(*copy))) {
    if (instruction.hasMetadata(kInsideMark)) {
      instruction.replaceAllUsesWith(llvm::cast<llvm::SelectInst>(instruction).getFalseValue());
      instruction.eraseFromParent();
    } else if (is_call_of(instruction, kCheckAccess)) {
      auto& check = llvm::cast<llvm::CallInst>(instruction);
      check.replaceAllUsesWith(check.getArgOperand(1));
      check.addParamAttr(1, llvm::Attribute::NoCapture);
    } else if (const auto service = requested_service(instruction); service == abi::kUnset || service == abi::kNarrowed) {
      give_up_instead(llvm::cast<llvm::CallBase>(instruction));
    }
  }
  llvm::EliminateUnreachableBlocks(*copy);
}

llvm::Value* Lockstep::quick_of(std::uint32_t access) {
  llvm::IRBuilder<> top(&entry_->getEntryBlock(), entry_->getEntryBlock().getFirstInsertionPt());
  if (quick_ == nullptr) {
    quick_ = top.CreateLoad(top.getPtrTy(), lane_member(top, offsetof(abi::Lane, quick)));
  } else {
    top.SetInsertPoint(llvm::cast<llvm::Instruction>(quick_)->getNextNode());
  }
  return top.CreateConstInBoundsGEP1_64(top.getInt8Ty(), quick_, access * sizeof(abi::Quick));
}

llvm::Value* Lockstep::checked_source(llvm::MemTransferInst& transfer) {
  const auto* length = llvm::dyn_cast<llvm::ConstantInt>(transfer.getLength());
  const bool may_be_padded = length != nullptr && may_be_padded_vector(length->getZExtValue());
  return checked_source(transfer, transfer.getSource(), transfer.getLength(), may_be_padded ? abi::kCopiesWhole : 0,
                        wanted_alignment(transfer, true, transfer.getSourceAlign().valueOrOne()));
}

// The reads of the program, collected before any instrumentation so that reads of the instrumentation are not checked. Copies into
// memory that lanes share later become calls, which check their own reads.
Lockstep::Readers Lockstep::readers() {
  Readers readers;
  for (auto& instruction : llvm::instructions(*entry_)) {
    if (llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::MemTransferInst>(instruction)) readers.emplace_back(&instruction);
  }
  return readers;
}

void Lockstep::check_reads(const Readers& readers) {
  for (const auto& reader : readers) {
    if (auto* transfer = llvm::dyn_cast_or_null<llvm::MemTransferInst>(reader)) {
      transfer->setSource(checked_source(*transfer));
      continue;
    }
    auto* load = llvm::dyn_cast_or_null<llvm::LoadInst>(reader);
    if (load == nullptr) continue;
    auto* bytes = llvm::ConstantInt::get(llvm::Type::getInt64Ty(context_), stored_bytes(*load->getType()));
    load->setOperand(llvm::LoadInst::getPointerOperandIndex(),
                     checked_source(*load, load->getPointerOperand(), bytes, only_hands_on_padding(*load) ? abi::kCopiesPadding : 0,
                                    wanted_alignment(*load, true, load->getAlign())));
  }
}

}  // namespace assay::metal::pass
