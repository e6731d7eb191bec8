// Makes every access correct at any address, and reports addresses that are not a multiple of their type's alignment.
//
// Accesses whose alignment is known at compile time stay unchanged: those to an argument of the kernel, at an offset that is a multiple
// of the required alignment. All other pointers are split into a base and such an offset. One test of the base covers all accesses of a
// block that share it.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {
namespace {

// The alignment that the runtime guarantees for threadgroup arguments, and the most that it can give for buffers.
constexpr std::uint64_t kThreadgroupAlignment = 16;
constexpr std::uint64_t kBufferAlignment = 64;

constexpr unsigned kLargestShift = 16;

llvm::Align multiple_of(const llvm::KnownBits& bits) {
  return llvm::Align(std::uint64_t{1} << std::min(bits.countMinTrailingZeros(), kLargestShift));
}

// A component of a vector requires the alignment of the vector, which is larger than its size.
bool is_scalar(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return !load->getType()->isVectorTy();
  const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store != nullptr && !store->getValueOperand()->getType()->isVectorTy();
}

}  // namespace

// The alignment of the type that the kernel declares. A misaligned binding is reported at the dispatch (abi::Module::alignments).
std::uint64_t Lockstep::buffer_alignment(const llvm::CallBase& call) { return std::min(constant_argument(call, 1), kBufferAlignment); }

// The largest known divisor of all offsets that are added to the base.
llvm::Align Lockstep::alignment_of_steps(const llvm::GEPOperator& place) {
  const auto& layout = module_.getDataLayout();
  llvm::Align result(std::uint64_t{1} << kLargestShift);
  for (auto step = llvm::gep_type_begin(place), end = llvm::gep_type_end(place); step != end; ++step) {
    const auto* index = step.getOperand();
    if (auto* type = step.getStructTypeOrNull()) {
      const auto field =
          llvm::cast<llvm::ConstantInt>(index->getType()->isVectorTy() ? llvm::cast<llvm::Constant>(index)->getSplatValue() : index);
      const auto offset = layout.getStructLayout(type)->getElementOffset(static_cast<unsigned>(field->getZExtValue())).getFixedValue();
      if (offset != 0) result = llvm::commonAlignment(result, offset);
      continue;
    }
    const std::uint64_t stride = step.getSequentialElementStride(layout).getFixedValue();
    if (stride == 0) continue;
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index)) {
      const auto offset = static_cast<std::uint64_t>(constant->getSExtValue()) * stride;
      if (offset != 0) result = llvm::commonAlignment(result, offset);
      continue;
    }
    const std::uint64_t known = multiple_of(llvm::computeKnownBits(index, layout)).value() * (stride & -stride);
    result = std::min(result, llvm::Align(std::min(known, std::uint64_t{1} << kLargestShift)));
  }
  return result;
}

// A pointer with several origins has the smallest of their alignments. The back edge of a loop only adds the steps of the loop.
llvm::Align Lockstep::known_alignment(const llvm::Value* pointer, bool trusts_bindings) {
  llvm::Align result(std::uint64_t{1} << kLargestShift);
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  llvm::SmallVector<const llvm::Value*> open{pointer};
  while (!open.empty() && result > llvm::Align(1)) {
    const auto* one = open.pop_back_val();
    if (!seen.insert(one).second) continue;
    if (const auto* place = llvm::dyn_cast<llvm::GEPOperator>(one)) {
      result = std::min(result, alignment_of_steps(*place));
      open.push_back(place->getPointerOperand());
    } else if (const auto* merge = llvm::dyn_cast<llvm::PHINode>(one)) {
      open.append(merge->op_begin(), merge->op_end());
    } else if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(one)) {
      open.push_back(choice->getTrueValue());
      open.push_back(choice->getFalseValue());
    } else if (llvm::isa<llvm::AddrSpaceCastOperator>(one) || llvm::isa<llvm::BitCastOperator>(one) || llvm::isa<llvm::FreezeInst>(one)) {
      open.push_back(llvm::cast<llvm::User>(one)->getOperand(0));
    } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(one); call != nullptr && call->getCalledFunction() != nullptr) {
      const auto name = call->getCalledFunction()->getName();
      llvm::Align base(1);
      if (name == "__assay_buffer") base = llvm::Align(trusts_bindings ? buffer_alignment(*call) : 1);
      if (name == "__assay_threadgroup_argument") base = llvm::Align(kThreadgroupAlignment);
      if (name == "__assay_threadgroup_variable") base = llvm::Align(std::max<std::uint64_t>(constant_argument(*call, 2), 1));
      result = std::min(result, base);
    } else if (!llvm::isa<llvm::UndefValue>(one)) {
      result = std::min(result, multiple_of(llvm::computeKnownBits(one, module_.getDataLayout())));
    }
  }
  return result;
}

// The base pointer from which `pointer` is a multiple of `wanted` away.
llvm::Value* Lockstep::base_of(llvm::Value* pointer, llvm::Align wanted) {
  for (;;) {
    if (auto* place = llvm::dyn_cast<llvm::GEPOperator>(pointer); place != nullptr && alignment_of_steps(*place) >= wanted) {
      pointer = place->getPointerOperand();
    } else if (auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastInst>(pointer)) {
      pointer = cast->getPointerOperand();
    } else {
      return pointer;
    }
  }
}

llvm::Align Lockstep::wanted_alignment(const llvm::Instruction& instruction, bool of_source, llvm::Align otherwise) const {
  const auto found = wanted_.find({&instruction, of_source});
  return found == wanted_.end() ? otherwise : found->second;
}

// Too large an alignment makes a vector access fault on this processor, but not on a GPU.
void Lockstep::relax(llvm::Instruction& instruction, llvm::Value* pointer, llvm::Align wanted, std::uint32_t kind, std::uint64_t bytes) {
  const llvm::Align known = known_alignment(pointer, /*trusts_bindings=*/false);
  if (known >= wanted) return;
  const bool of_source = kind == abi::kReads;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) load->setAlignment(known);
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) store->setAlignment(known);
  if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&instruction); transfer != nullptr && of_source) {
    transfer->setSourceAlignment(known);
  } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
    memory->setDestAlignment(known);
  }
  wanted_[{&instruction, of_source}] = wanted;
  // Only the policy `checked` tests scalars. Every processor reads them at any address, and the tests would take a tenth of the run
  // time of kernels whose rows are byte offsets apart.
  if (is_scalar(instruction) && wanted.value() <= bytes) return;
  if (known_alignment(pointer, /*trusts_bindings=*/true) < wanted && object_of(pointer))
    loose_.push_back({&instruction, pointer, wanted, kind, bytes});
}

void Lockstep::relax_alignments() {
  for (auto& instruction : llvm::instructions(*entry_)) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      relax(*load, load->getPointerOperand(), load->getAlign(), abi::kReads, stored_bytes(*load->getType()));
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      relax(*store, store->getPointerOperand(), store->getAlign(), abi::kWrites, stored_bytes(*store->getValueOperand()->getType()));
    } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      const auto* length = llvm::dyn_cast<llvm::ConstantInt>(memory->getLength());
      const std::uint64_t bytes = length == nullptr ? 0 : length->getZExtValue();
      relax(*memory, memory->getDest(), memory->getDestAlign().valueOrOne(), abi::kWrites, bytes);
      if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(memory))
        relax(*transfer, transfer->getSource(), transfer->getSourceAlign().valueOrOne(), abi::kReads, bytes);
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
               call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName() == "__assay_atomic") {
      const std::uint64_t bytes = atomic_bytes(*call);
      relax(*call, call->getArgOperand(2), llvm::Align(bytes), atomic_kind(*call), bytes);
    }
  }
}

// Accesses of a block that require the same alignment of the same base share one test. It stands before the last of them, where all
// addresses are known.
void Lockstep::watch_alignments() {
  std::map<std::pair<llvm::Value*, std::uint64_t>, llvm::Value*> tests;
  const auto test_of = [&](llvm::Value* base, llvm::Align wanted) -> llvm::Value* {
    auto*& test = tests[{base, wanted.value()}];
    if (test != nullptr) return test;
    const auto* definition = llvm::dyn_cast<llvm::Instruction>(base);
    llvm::IRBuilder<> builder(&entry_->getEntryBlock(), entry_->getEntryBlock().getFirstInsertionPt());
    if (definition != nullptr) {
      const auto behind = llvm::cast<llvm::Instruction>(base)->getInsertionPointAfterDef();
      builder.SetInsertPoint((*behind)->getParent(), *behind);
    }
    auto* odd = builder.CreateAnd(builder.CreatePtrToInt(base, builder.getInt64Ty()), wanted.value() - 1);
    return test = builder.CreateICmpNE(odd, builder.getInt64(0));
  };
  llvm::MapVector<std::pair<llvm::BasicBlock*, llvm::Value*>, std::vector<const LooseAccess*>> groups;
  for (const LooseAccess& access : loose_) {
    auto* test = test_of(base_of(access.pointer, access.wanted), access.wanted);
    groups[{access.instruction->getParent(), test}].push_back(&access);
  }
  auto* unlikely = llvm::MDBuilder(context_).createUnlikelyBranchWeights();
  for (const auto& [key, accesses] : groups) {
    llvm::IRBuilder<> rare(llvm::SplitBlockAndInsertIfThen(key.second, accesses.back()->instruction, false, unlikely));
    for (const LooseAccess* access : accesses) {
      further_accesses_.push_back({{access->kind, static_cast<std::uint32_t>(access->wanted.value()), *object_of(access->pointer),
                                    static_cast<std::uint32_t>(access->bytes)},
                                   place_of(*access->instruction)});
      auto* call = call_service(rare, abi::kMisaligned, static_cast<std::uint32_t>(further_accesses_.size() - 1), {access->pointer},
                                rare.getVoidTy());
      // The call writes no memory of the kernel, so what the optimiser knows about memory stays true.
      call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
      call->addFnAttr(llvm::Attribute::Cold);
    }
  }
}

}  // namespace assay::metal::pass
