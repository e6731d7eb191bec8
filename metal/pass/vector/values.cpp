// Values of a SIMD-group: one number for all lanes, or a vector of 32.
#include <llvm/Transforms/Utils/Local.h>

#include "metal/pass/vector/widener.h"

namespace assay::metal::pass {

llvm::SmallVector<llvm::Type*, 4> Widener::components(llvm::Type* type) {
  llvm::SmallVector<llvm::Type*, 4> result;
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    result.assign(vector->getNumElements(), vector->getElementType());
  } else if (const auto* record = llvm::dyn_cast<llvm::StructType>(type)) {
    for (auto* element : record->elements()) result.append(components(element));
  } else {
    result.push_back(type);
  }
  for (auto*& component : result) component = stored_type(component);
  return result;
}

// Vectors of half and bfloat are vectors of their bits, for which the processor has all operations but arithmetic.
llvm::Type* Widener::stored_type(llvm::Type* type) {
  return type->isHalfTy() || type->isBFloatTy() ? llvm::Type::getInt16Ty(type->getContext()) : type;
}

// A value that is the same in all lanes.
llvm::Value* Widener::scalar(Value* value) {
  if (llvm::isa<llvm::Constant>(value)) return value;
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(value)) return into_.getArg(argument->getArgNo());
  if (auto* found = local_scalars_.lookup(value)) return found;
  if (auto* found = scalars_.lookup(value)) return found;
  const auto slot = slots_.find(value);
  if (slot == slots_.end() || slot->second.empty()) {
    refuse("internal: a value without a place");
    return llvm::PoisonValue::get(value->getType());
  }
  auto* loaded = builder_.CreateLoad(value->getType(), slot->second.front());
  local_scalars_[value] = loaded;
  return loaded;
}

llvm::Value* Widener::offsets(llvm::Type* type, const Shape& shape) {
  llvm::SmallVector<llvm::Constant*, abi::kLanes> all;
  for (const auto offset : shape.offsets) all.push_back(llvm::ConstantInt::get(type, static_cast<std::uint64_t>(offset), true));
  return llvm::ConstantVector::get(all);
}

// The components of a value that is the same in all lanes, as vectors.
Widener::Parts Widener::parts_of(Value* value) {
  Parts parts;
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType())) {
    for (unsigned index = 0; index < vector->getNumElements(); ++index) parts.append(parts_of(builder_.CreateExtractElement(value, index)));
  } else if (value->getType()->isStructTy()) {
    for (unsigned index = 0; index < value->getType()->getStructNumElements(); ++index)
      parts.append(parts_of(builder_.CreateExtractValue(value, index)));
  } else {
    parts.push_back(splat(builder_.CreateBitCast(value, stored_type(value->getType()))));
  }
  return parts;
}

Widener::Parts Widener::wide(Value* value) {
  if (const auto found = local_wides_.find(value); found != local_wides_.end()) return found->second;
  if (const auto found = wides_.find(value); found != wides_.end()) return found->second;
  Parts parts;
  const Shape& shape = shapes_.of(value);
  if (shape.is_uniform()) {
    parts = parts_of(scalar(value));
  } else if (shape.is_spaced() && !shape.is_assumed) {
    auto* first = base(value);
    parts.push_back(value->getType()->isPointerTy()
                        ? builder_.CreateGEP(builder_.getInt8Ty(), splat(first), offsets(builder_.getInt64Ty(), shape))
                        : builder_.CreateAdd(splat(first), offsets(value->getType(), shape)));
  } else {
    const auto slot = slots_.find(value);
    if (slot == slots_.end()) {
      refuse("internal: a vector without a place");
      for (auto* type : components(value->getType())) parts.push_back(llvm::PoisonValue::get(vector_of(type)));
      return parts;
    }
    for (auto* variable : slot->second) parts.push_back(builder_.CreateLoad(variable->getAllocatedType(), variable));
  }
  local_wides_[value] = parts;
  return parts;
}

// The value of lane 0 of a spaced value, computed without the others.
llvm::Value* Widener::base(Value* value) {
  const Shape& shape = shapes_.of(value);
  if (shape.is_uniform()) return scalar(value);
  if (shape.is_absolute) return llvm::ConstantInt::get(value->getType(), static_cast<std::uint64_t>(shape.first), true);
  if (auto* found = local_bases_.lookup(value)) return found;
  if (auto* found = scalars_.lookup(value)) return found;
  auto* instruction = llvm::cast<llvm::Instruction>(value);
  Value* result = nullptr;
  if (const auto slot = slots_.find(value); slot != slots_.end() && llvm::isa<llvm::PHINode>(value)) {
    result = builder_.CreateLoad(value->getType(), slot->second.front());
  } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    result = builder_.CreateLoad(load->getType(), member_of_first(*shapes_.member(load->getPointerOperand())));
  } else if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) {
    result = stepped(*step, base(step->getPointerOperand()), [this](Value* index) { return base(index); }, false);
  } else if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(instruction)) {
    return variables_.lookup(variable);
  } else if (llvm::isa<llvm::PHINode>(instruction)) {
    refuse("internal: a phi without a place");
    return llvm::PoisonValue::get(value->getType());
  } else {
    auto* copy = instruction->clone();
    for (auto& operand : copy->operands()) operand.set(base(operand.get()));
    copy->dropPoisonGeneratingFlags();
    copy->dropUnknownNonDebugMetadata();
    copy->setDebugLoc({});
    result = builder_.Insert(copy);
  }
  local_bases_[value] = result;
  return result;
}

// Whether the offsets of a spaced value hold: no index in its computation wraps between the lanes. Null: they always do.
llvm::Value* Widener::holds(Value* value) {
  const Shape& shape = shapes_.of(value);
  if (!shape.is_assumed || shape.is_uniform()) return nullptr;
  auto* instruction = llvm::cast<llvm::Instruction>(value);
  if (llvm::isa<llvm::PHINode>(instruction)) return nullptr;
  Value* result = nullptr;
  const auto add = [&](Value* condition) {
    if (condition == nullptr) return;
    result = result == nullptr ? condition : builder_.CreateAnd(result, condition);
  };
  const auto stays_within = [&](Value* index, bool is_signed) {
    const Shape& offsets_of_index = shapes_.of(index);
    const auto bits = index->getType()->getIntegerBitWidth();
    if (offsets_of_index.is_uniform() || offsets_of_index.is_absolute || bits >= 64) return;
    const auto [least, most] = std::minmax_element(offsets_of_index.offsets.begin(), offsets_of_index.offsets.end());
    auto* type = builder_.getInt64Ty();
    auto* first = is_signed ? builder_.CreateSExt(base(index), type) : builder_.CreateZExt(base(index), type);
    const auto limit = [&](std::int64_t offset, bool is_upper) {
      auto* end = builder_.CreateAdd(first, builder_.getInt64(static_cast<std::uint64_t>(offset)));
      const std::int64_t largest = static_cast<std::int64_t>(llvm::maskTrailingOnes<std::uint64_t>(is_signed ? bits - 1 : bits));
      const std::int64_t smallest = is_signed ? -largest - 1 : 0;
      add(is_upper ? builder_.CreateICmpSLE(end, builder_.getInt64(static_cast<std::uint64_t>(largest)))
                   : builder_.CreateICmpSGE(end, builder_.getInt64(static_cast<std::uint64_t>(smallest))));
    };
    if (*most > 0) limit(*most, true);
    if (*least < 0) limit(*least, false);
  };
  for (auto& operand : instruction->operands()) add(holds(operand.get()));
  if (llvm::isa<llvm::ZExtInst>(instruction)) stays_within(instruction->getOperand(0), false);
  if (llvm::isa<llvm::SExtInst>(instruction)) stays_within(instruction->getOperand(0), true);
  if (auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) {
    for (auto& index : step->indices()) {
      if (index->getType()->isIntegerTy()) stays_within(index.get(), true);
    }
  }
  return result;
}

void Widener::set_scalar(llvm::Instruction& of, Value* value) {
  if (!is_local_) {
    scalars_[&of] = value;
    return;
  }
  local_scalars_[&of] = value;
  const auto slot = slots_.find(&of);
  if (slot != slots_.end()) builder_.CreateStore(value, slot->second.front());
}

void Widener::set_wide(llvm::Instruction& of, Parts parts) {
  if (!is_local_) {
    wides_[&of] = std::move(parts);
    return;
  }
  const auto slot = slots_.find(&of);
  if (slot != slots_.end()) {
    for (std::size_t index = 0; index < parts.size(); ++index) builder_.CreateStore(parts[index], slot->second[index]);
  }
  local_wides_[&of] = std::move(parts);
}

// One vector of the lanes' values in memory order: lane 0's components, lane 1's, and so on. The number of components is a power of two.
llvm::Value* Widener::interleaved(Parts parts) {
  while (parts.size() > 1) {
    const std::size_t half = parts.size() / 2;
    Parts merged;
    for (std::size_t index = 0; index < half; ++index) {
      const auto count = static_cast<int>(llvm::cast<llvm::FixedVectorType>(parts[index]->getType())->getNumElements());
      llvm::SmallVector<int> mask;
      for (int element = 0; element < count; ++element) mask.append({element, element + count});
      merged.push_back(builder_.CreateShuffleVector(parts[index], parts[index + half], mask));
    }
    parts = std::move(merged);
  }
  return parts.front();
}

Widener::Parts Widener::deinterleaved(Value* all, std::size_t count) {
  Parts parts{all};
  while (parts.size() < count) {
    Parts split;
    for (const int odd : {0, 1}) {
      for (auto* part : parts) {
        const auto length = static_cast<int>(llvm::cast<llvm::FixedVectorType>(part->getType())->getNumElements());
        llvm::SmallVector<int> mask;
        for (int element = odd; element < length; element += 2) mask.push_back(element);
        split.push_back(builder_.CreateShuffleVector(part, mask));
      }
    }
    parts = std::move(split);
  }
  return parts;
}

}  // namespace assay::metal::pass
