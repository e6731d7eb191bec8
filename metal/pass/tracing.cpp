// Reports accesses to device memory, for concurrent encoders.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {

// Reports every access to device memory to the runtime. Accesses to a lane's own memory and to threadgroup memory are not reported.
void Lockstep::trace_device_accesses() {
  llvm::SmallVector<llvm::Instruction*> accesses;
  for (auto& instruction : llvm::instructions(*entry_)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const bool routed = call != nullptr && call->getCalledFunction() == nullptr;
    if (routed || llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::StoreInst>(instruction) ||
        llvm::isa<llvm::MemIntrinsic>(instruction))
      accesses.push_back(&instruction);
  }
  for (auto* access : accesses) {
    llvm::IRBuilder<> builder(access);
    const auto trace = [&](llvm::Value* address, llvm::Value* bytes, bool is_write) {
      const auto kind = origin_of(address).kind;
      if (kind != Origin::Kind::buffer && kind != Origin::Kind::unknown) return;
      call_service(builder, abi::kTrace, 0,
                   {address, builder.CreateZExtOrTrunc(bytes, builder.getInt64Ty()), builder.getInt32(is_write ? 1 : 0)},
                   builder.getVoidTy());
    };
    const auto size_of = [&](llvm::Type* type) { return builder.getInt64(module_.getDataLayout().getTypeStoreSize(type).getFixedValue()); };
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(access)) {
      if (!is_runtime_state(*load->getPointerOperand())) trace(load->getPointerOperand(), size_of(load->getType()), false);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(access)) {
      if (!is_runtime_state(*store->getPointerOperand()))
        trace(store->getPointerOperand(), size_of(store->getValueOperand()->getType()), true);
    } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(access)) {
      trace(memory->getDest(), memory->getLength(), true);
      if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(memory)) trace(transfer->getSource(), transfer->getLength(), false);
    } else {
      trace_service(*llvm::cast<llvm::CallBase>(access), trace, builder);
    }
  }
}

bool Lockstep::is_runtime_state(const llvm::Value& address) {
  return llvm::getUnderlyingObject(&address, 0) == lane_ || llvm::getUnderlyingObject(&address, 0) == services_;
}

// Stores that wait for other lanes, and atomics, are already calls here. The slot from which the function pointer was loaded tells
// which call it is.
void Lockstep::trace_service(llvm::CallBase& call, const Trace& trace, llvm::IRBuilder<>& builder) {
  const auto* function = llvm::dyn_cast<llvm::LoadInst>(call.getCalledOperand());
  if (function == nullptr) return;
  llvm::APInt offset(64, 0);
  function->getPointerOperand()->stripAndAccumulateConstantOffsets(module_.getDataLayout(), offset, true);
  const auto service = static_cast<abi::Service>(offset.getZExtValue() / sizeof(void*));
  if (service == abi::kStore) {
    trace(call.getArgOperand(2), call.getArgOperand(4), true);
    trace(call.getArgOperand(3), call.getArgOperand(4), false);
  } else if (service == abi::kAtomic) {
    constexpr std::uint64_t kWidestAtomic = 4;
    trace(call.getArgOperand(4), builder.getInt64(kWidestAtomic), true);
  }
}

}  // namespace assay::metal::pass
