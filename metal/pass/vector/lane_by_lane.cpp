// Loops over the lanes, where there is no vector operation.
#include "metal/pass/vector/widener.h"

namespace assay::metal::pass {

// Calls `body` for each lane that runs the current block, ascending, in a loop of the emitted code.
void Widener::for_each_lane(llvm::function_ref<void(Value* lane)> body) {
  auto* start = builder_.GetInsertBlock();
  auto* loop = new_block("lane");
  auto* after = new_block("lanes.done");
  auto* type = builder_.getInt32Ty();
  auto* bits = bits_of_lanes();
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  auto* rest = builder_.CreatePHI(type, 2);
  rest->addIncoming(bits, start);
  auto* lane = builder_.CreateZExt(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest, builder_.getTrue()), builder_.getInt64Ty());
  body(lane);
  auto* next = builder_.CreateAnd(rest, builder_.CreateSub(rest, builder_.getInt32(1)));
  rest->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpNE(next, builder_.getInt32(0)), loop, after);
  builder_.SetInsertPoint(after);
}

// Room for one component of all lanes, until release_arrays().
llvm::AllocaInst* Widener::array_of(llvm::Type* element) {
  auto& free = free_arrays_[element];
  llvm::AllocaInst* array = nullptr;
  if (free.empty()) {
    array = entry_.CreateAlloca(llvm::ArrayType::get(element, abi::kLanes));
    array->setAlignment(llvm::Align(64));
  } else {
    array = free.pop_back_val();
  }
  used_arrays_[element].push_back(array);
  return array;
}

void Widener::release_arrays() {
  for (auto& [type, arrays] : used_arrays_) {
    free_arrays_[type].append(arrays);
    arrays.clear();
  }
}

// Runs the instruction once for each lane, with the lane's own operands.
// Long because operands and results may be vectors, bits or structs, and all take the same way through memory.
void Widener::lane_by_lane(llvm::Instruction& instruction) {
  struct Operand {
    Value* scalar = nullptr;
    llvm::Type* type = nullptr;
    llvm::SmallVector<llvm::AllocaInst*> arrays;
  };
  // <32 x i1> has no such array in memory.
  const auto kept_type = [&](llvm::Type* type) { return type->isIntegerTy(1) ? builder_.getInt8Ty() : type; };
  llvm::SmallVector<Operand> operands;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  const unsigned count = call != nullptr ? call->arg_size() : instruction.getNumOperands();
  for (unsigned index = 0; index < count; ++index) {
    auto* value = instruction.getOperand(index);
    Operand& operand = operands.emplace_back();
    operand.type = value->getType();
    if (shapes_.is_uniform(value)) {
      operand.scalar = scalar(value);
      continue;
    }
    for (auto* part : wide(value)) {
      auto* element = part->getType()->getScalarType();
      auto* array = array_of(kept_type(element));
      builder_.CreateStore(element->isIntegerTy(1) ? builder_.CreateZExt(part, vector_of(builder_.getInt8Ty())) : part, array);
      operand.arrays.push_back(array);
    }
  }
  llvm::SmallVector<llvm::AllocaInst*> results;
  const auto types = instruction.getType()->isVoidTy() ? llvm::SmallVector<llvm::Type*, 4>{} : components(instruction.getType());
  for (auto* type : types) results.push_back(array_of(kept_type(type)));
  for_each_lane([&](Value* lane) {
    const auto slot = [&](llvm::AllocaInst* array) {
      return builder_.CreateGEP(array->getAllocatedType(), array, {builder_.getInt64(0), lane});
    };
    const auto element = [&](llvm::AllocaInst* array, llvm::Type* type) -> Value* {
      auto* loaded = builder_.CreateLoad(llvm::cast<llvm::ArrayType>(array->getAllocatedType())->getElementType(), slot(array));
      return type->isIntegerTy(1) ? builder_.CreateTrunc(loaded, type) : builder_.CreateBitCast(loaded, type);
    };
    auto* copy = instruction.clone();
    for (unsigned index = 0; index < count; ++index) {
      const Operand& operand = operands[index];
      Value* value = operand.scalar;
      if (value == nullptr && operand.type->isVectorTy()) {
        value = llvm::PoisonValue::get(operand.type);
        for (unsigned part = 0; part < operand.arrays.size(); ++part)
          value = builder_.CreateInsertElement(value, element(operand.arrays[part], operand.type->getScalarType()), part);
      } else if (value == nullptr && !operand.type->isAggregateType()) {
        value = element(operand.arrays.front(), operand.type);
      } else if (value == nullptr) {
        refuse("an operation on a struct");
        value = llvm::PoisonValue::get(operand.type);
      }
      copy->setOperand(index, value);
    }
    copy->setDebugLoc({});
    copy->dropUnknownNonDebugMetadata();
    auto* result = builder_.Insert(copy);
    std::size_t at = 0;
    const auto keep = [&](Value* value) {
      value = value->getType()->isIntegerTy(1) ? builder_.CreateZExt(value, builder_.getInt8Ty())
                                               : builder_.CreateBitCast(value, stored_type(value->getType()));
      builder_.CreateStore(value, slot(results[at++]));
    };
    const auto keep_parts = [&](Value* value) {
      if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType())) {
        for (unsigned part = 0; part < vector->getNumElements(); ++part) keep(builder_.CreateExtractElement(value, part));
      } else {
        keep(value);
      }
    };
    if (auto* record = llvm::dyn_cast<llvm::StructType>(instruction.getType())) {
      for (unsigned part = 0; part < record->getNumElements(); ++part) keep_parts(builder_.CreateExtractValue(result, part));
    } else if (!instruction.getType()->isVoidTy()) {
      keep_parts(result);
    }
  });
  Parts parts;
  for (std::size_t index = 0; index < types.size(); ++index) {
    auto* loaded = builder_.CreateLoad(vector_of(kept_type(types[index])), results[index]);
    parts.push_back(types[index]->isIntegerTy(1) ? builder_.CreateTrunc(loaded, vector_of(types[index])) : loaded);
  }
  release_arrays();
  if (!types.empty()) set_wide(instruction, std::move(parts));
}

}  // namespace assay::metal::pass
