// Reports to the runtime what an operation rounds away, and adds it to the shadow if the runtime requests that.
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/pass/shadow.h"

namespace assay::metal::pass {

// The operation on the values themselves, without rounding the result; null if there is no such operation.
llvm::Value* Shadow::exact_result(Builder& builder, llvm::Instruction& value) {
  const auto operand = [&](unsigned index) { return widened(builder, value.getOperand(index)); };
  switch (value.getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
      return same_operation(builder, value, {operand(0), operand(1)});
    case llvm::Instruction::FPTrunc: {
      auto* function = llvm::dyn_cast<llvm::CallBase>(value.getOperand(0));
      const auto* callee = function == nullptr ? nullptr : function->getCalledFunction();
      if (callee == nullptr || callee->isIntrinsic() || !function->getType()->isDoubleTy()) return operand(0);
      return nearest_double(builder, *function, llvm::SmallVector<llvm::Value*>(function->args()));
    }
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP:
      return builder.CreateCast(llvm::cast<llvm::CastInst>(value).getOpcode(), value.getOperand(0), doubles_for(value.getType()));
    case llvm::Instruction::Call:
      break;
    default:
      return nullptr;
  }
  auto& call = llvm::cast<llvm::CallBase>(value);
  if (call.getCalledFunction() == nullptr) return nullptr;
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
      return builder.CreateIntrinsic(doubles_for(call.getType()), llvm::Intrinsic::fma, {operand(0), operand(1), operand(2)});
    case llvm::Intrinsic::sqrt:
      return builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, operand(0));
    default:
      return nullptr;
  }
}

llvm::Value* Shadow::explained(llvm::Instruction& value, llvm::Value* shadow) {
  if (value.getType()->getScalarType()->isDoubleTy()) return shadow;
  // The place must be behind both the value and the shadow.
  auto* place = behind(value);
  if (auto* made = llvm::dyn_cast<llvm::Instruction>(shadow);
      made != nullptr && made->getParent() == value.getParent() && value.comesBefore(made))
    place = behind(*made);
  Builder builder(place);
  auto* exact = exact_result(builder, value);
  if (exact == nullptr) return shadow;
  auto operation = Lockstep::operation_of(value);
  if (!operation) {
    operation.emplace();
    operation->what = abi::kConvert;
    operation->type = Lockstep::float_type_of(*value.getType());
  }
  // A double is internal to a library function, whose operands are not visible here.
  const bool is_function = value.getOpcode() == llvm::Instruction::FPTrunc && value.getOperand(0)->getType()->getScalarType()->isDoubleTy();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value.getType());
  operation->count = vector == nullptr ? 1 : vector->getNumElements();
  if (operation->count > abi::kRowLength) return shadow;
  if (is_function) operation->what = abi::kLibraryFunction;
  operation->operands = 0;
  if (!is_function && is_number(value.getOperand(0)->getType()))
    operation->operands = llvm::isa<llvm::CallBase>(value) ? llvm::cast<llvm::CallBase>(value).arg_size() : value.getNumOperands();
  operation->block = 0;
  const auto number = static_cast<std::uint32_t>(kernel_.arithmetic_.size());
  kernel_.arithmetic_.push_back({*operation, place_of(value)});

  auto* weight = builder.CreateLoad(builder.getDoubleTy(), builder.CreateConstInBoundsGEP1_64(builder.getDoubleTy(), weights_, number));
  auto* is_rounded = builder.CreateFCmpUNE(weight, llvm::ConstantFP::get(builder.getDoubleTy(), 0.0));
  auto* wide = widened(builder, &value);
  // The difference of equal infinities is NaN, for which this ordered comparison is false.
  auto* difference = builder.CreateFSub(wide, exact);
  auto* is_inexact = builder.CreateFCmpONE(difference, llvm::Constant::getNullValue(difference->getType()));
  auto* rounded = builder.CreateSelect(is_inexact, builder.CreateFAdd(shadow, difference), shadow);
  auto* result = builder.CreateSelect(is_rounded, rounded, shadow);

  auto* is_watched = builder.CreateICmpNE(is_watched_, builder.getInt32(0));
  auto* rest = &*builder.GetInsertPoint();
  Builder seldom(llvm::SplitBlockAndInsertIfThen(is_watched, rest, false, llvm::MDBuilder(context_).createUnlikelyBranchWeights()));
  std::uint64_t row = 0;
  const auto keep = [&](llvm::Value* numbers) {
    seldom.CreateAlignedStore(numbers, seldom.CreateConstInBoundsGEP1_64(seldom.getDoubleTy(), rows_, row++ * abi::kRowLength),
                              llvm::Align(8));
  };
  keep(wide);
  keep(exact);
  keep(shadow);
  for (unsigned index = 0; index < operation->operands; ++index) {
    keep(widened(seldom, value.getOperand(index)));
    keep(of(value.getOperand(index)));
  }
  kernel_.call_service(seldom, abi::kRounded, number, {rows_}, seldom.getVoidTy());
  return result;
}

}  // namespace assay::metal::pass
