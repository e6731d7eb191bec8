// Reports to the runtime every value that a kernel computes or stores, for traces of values.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {
namespace {

// Bytes of the widest vector, of 16 floats. A larger store is not a single value.
constexpr std::uint64_t kMostRecordedBytes = 64;
constexpr std::uint64_t kWidestComponent = 8;

// Whether an instruction computes, selects or loads a number. Doubles are left out: they occur only inside library functions, whose
// result is a number again.
bool makes_number(const llvm::Instruction& instruction) {
  if (!instruction.getType()->isFPOrFPVectorTy() || instruction.getType()->getScalarType()->isDoubleTy()) return false;
  switch (instruction.getOpcode()) {
    case llvm::Instruction::PHI:
    case llvm::Instruction::Freeze:
    case llvm::Instruction::ExtractElement:
    case llvm::Instruction::InsertElement:
    case llvm::Instruction::ShuffleVector:
    case llvm::Instruction::ExtractValue:
      return false;
    default:
      return true;
  }
}

struct Stored {
  llvm::Instruction* before;
  llvm::Value* value;    // null: read it from `address`
  llvm::Value* address;  // where the value is in memory
  llvm::Type* type;      // null if unknown
  std::uint64_t bytes;
};

// The runtime function that a routed call invokes, identified by the slot from which the pointer was loaded.
std::optional<abi::Service> service_called(const llvm::CallBase& call, const llvm::DataLayout& layout) {
  const auto* function = llvm::dyn_cast<llvm::LoadInst>(call.getCalledOperand());
  if (function == nullptr) return std::nullopt;
  llvm::APInt offset(64, 0);
  function->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
  return static_cast<abi::Service>(offset.getZExtValue() / sizeof(void*));
}

}  // namespace

void Lockstep::record_values() {
  llvm::SmallVector<llvm::Instruction*> made;
  llvm::SmallVector<Stored> stored;
  for (auto& instruction : llvm::instructions(*entry_)) {
    if (makes_number(instruction)) made.push_back(&instruction);
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      auto* value = store->getValueOperand();
      const bool is_own = llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(store->getPointerOperand(), 0));
      if (is_own || is_runtime_state(*store->getPointerOperand()) || value->getType()->isPtrOrPtrVectorTy()) continue;
      stored.push_back({store, value, nullptr, value->getType(), stored_bytes(*value->getType())});
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
               call != nullptr && service_called(*call, module_.getDataLayout()) == abi::kStore) {
      const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(4));
      // The stored value is in a slot of its own type (slot_for).
      const auto* slot = llvm::dyn_cast<llvm::AllocaInst>(call->getArgOperand(3));
      auto* type = slot != nullptr && slot->getAllocatedType()->isFPOrFPVectorTy() ? slot->getAllocatedType() : nullptr;
      if (bytes != nullptr) stored.push_back({call, nullptr, call->getArgOperand(3), type, bytes->getZExtValue()});
    }
  }
  trace_device_accesses();
  if (made.empty() && stored.empty()) return;

  services();
  auto* slot = slot_for(llvm::ArrayType::get(llvm::Type::getInt8Ty(context_), kMostRecordedBytes));
  const auto record = [&](llvm::IRBuilder<>& builder, const llvm::Instruction& what, abi::Arithmetic kind, llvm::Type* type,
                          llvm::Value* address, std::uint64_t bytes) {
    const auto* vector = llvm::dyn_cast_or_null<llvm::FixedVectorType>(type);
    const std::uint64_t count = vector != nullptr                                           ? vector->getNumElements()
                                : bytes > kWidestComponent && bytes % kWidestComponent == 0 ? bytes / kWidestComponent
                                                                                            : 1;
    if (bytes > kMostRecordedBytes || bytes % count != 0 || bytes / count > kWidestComponent) return;
    abi::Operation operation{};
    operation.what = kind;
    operation.type = type != nullptr && type->isFPOrFPVectorTy() ? static_cast<std::uint32_t>(float_type_of(*type)) : abi::kInteger;
    operation.count = static_cast<std::uint32_t>(count);
    const auto number = static_cast<std::uint32_t>(arithmetic_.size());
    arithmetic_.push_back({operation, place_of(what)});
    call_service(builder, abi::kRecord, number, {address, builder.getInt64(bytes)}, builder.getVoidTy());
  };
  for (auto* instruction : made) {
    llvm::IRBuilder<> builder(instruction->getNextNode());
    builder.CreateStore(instruction, slot);
    const auto kind = operation_of(*instruction) ? abi::kFusedMultiplyAdd : abi::kMove;
    record(builder, *instruction, kind, instruction->getType(), slot, stored_bytes(*instruction->getType()));
  }
  for (const Stored& one : stored) {
    llvm::IRBuilder<> builder(one.before);
    if (one.value != nullptr && one.bytes <= kMostRecordedBytes) builder.CreateStore(one.value, slot);
    record(builder, *one.before, abi::kStoreValue, one.type, one.value == nullptr ? one.address : slot, one.bytes);
  }
}

}  // namespace assay::metal::pass
