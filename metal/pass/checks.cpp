// The calls that stand for checks, and what both forms of a kernel do with them.
#include "metal/pass/checks.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace assay::metal::pass {
namespace {

constexpr unsigned kResult = 1;  // argument of kCheckArithmetic; operands follow

// A number, or a vector of them, without its sign, as integers of its size, and infinity as such an integer.
struct Magnitude {
  llvm::Value* value;
  llvm::Constant* infinity;
};

Magnitude magnitude_of(llvm::IRBuilder<>& builder, llvm::Value* value) {
  auto* scalar = value->getType()->getScalarType();
  const unsigned size = scalar->getScalarSizeInBits();
  llvm::Type* bits = builder.getIntNTy(size);
  llvm::Constant* infinity = llvm::ConstantInt::get(bits, llvm::APFloat::getInf(scalar->getFltSemantics()).bitcastToAPInt());
  llvm::Constant* mask = llvm::ConstantInt::get(bits, llvm::APInt::getSignedMaxValue(size));
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType())) {
    bits = llvm::FixedVectorType::get(bits, vector->getNumElements());
    infinity = llvm::ConstantVector::getSplat(vector->getElementCount(), infinity);
    mask = llvm::ConstantVector::getSplat(vector->getElementCount(), mask);
  }
  return {builder.CreateAnd(builder.CreateBitCast(value, bits), mask), infinity};
}

// By component.
llvm::Value* is_not_finite(llvm::IRBuilder<>& builder, llvm::Value* value) {
  const Magnitude magnitude = magnitude_of(builder, value);
  return builder.CreateICmpUGE(magnitude.value, magnitude.infinity);
}

llvm::Value* is_nan(llvm::IRBuilder<>& builder, llvm::Value* value) {
  const Magnitude magnitude = magnitude_of(builder, value);
  return builder.CreateICmpUGT(magnitude.value, magnitude.infinity);
}

// Component by component: a vector form has a register for each component, which other vector operations would mix.
llvm::Value* any_of_components(llvm::IRBuilder<>& builder, llvm::Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (vector == nullptr) return value;
  llvm::Value* any = builder.CreateExtractElement(value, std::uint64_t{0});
  for (unsigned index = 1; index < vector->getNumElements(); ++index)
    any = builder.CreateOr(any, builder.CreateExtractElement(value, index));
  return any;
}

// Whether a component of the result is not finite although those of the operands are, or is NaN although none of theirs is.
llvm::Value* is_born(llvm::IRBuilder<>& builder, const llvm::CallInst& check) {
  auto* not_finite = is_not_finite(builder, check.getArgOperand(kResult));
  auto* nan = is_nan(builder, check.getArgOperand(kResult));
  for (unsigned operand = kResult + 1; operand < check.arg_size(); ++operand) {
    not_finite = builder.CreateAnd(not_finite, builder.CreateNot(is_not_finite(builder, check.getArgOperand(operand))));
    nan = builder.CreateAnd(nan, builder.CreateNot(is_nan(builder, check.getArgOperand(operand))));
  }
  return any_of_components(builder, builder.CreateOr(not_finite, nan));
}

}  // namespace

bool is_call_of(const llvm::Value& value, llvm::StringRef name) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&value);
  const auto* callee = call == nullptr ? nullptr : call->getCalledFunction();
  return callee != nullptr && callee->getName() == name;
}

std::uint32_t number_of_check(const llvm::CallInst& check) {
  return static_cast<std::uint32_t>(llvm::cast<llvm::ConstantInt>(check.getArgOperand(0))->getZExtValue());
}

llvm::CallInst* stand_for_check(llvm::IRBuilder<>& builder, llvm::StringRef name, llvm::Type* result,
                                llvm::ArrayRef<llvm::Value*> arguments) {
  auto& module = *builder.GetInsertBlock()->getModule();
  auto* call = builder.CreateCall(module.getOrInsertFunction(name, llvm::FunctionType::get(result, {}, true)), arguments);
  // It writes no memory of the kernel, so what the optimiser knows about memory stays true.
  call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn, llvm::Attribute::NoMerge})
    call->addFnAttr(attribute);
  for (unsigned index = 0; index < arguments.size(); ++index) {
    if (arguments[index]->getType()->isPointerTy() && result->isVoidTy()) call->addParamAttr(index, llvm::Attribute::NoCapture);
  }
  return call;
}

std::vector<ChecksTogether> arithmetic_checks_of(llvm::Function& function) {
  std::vector<ChecksTogether> result;
  const llvm::Instruction* last = nullptr;
  for (auto& instruction : llvm::instructions(function)) {
    if (!is_call_of(instruction, kCheckArithmetic)) continue;
    if (last == nullptr || instruction.getPrevNode() != last) result.emplace_back();
    result.back().push_back(llvm::cast<llvm::CallInst>(&instruction));
    last = &instruction;
  }
  return result;
}

llvm::Value* any_not_finite(llvm::IRBuilder<>& builder, const ChecksTogether& checks) {
  llvm::Value* any = nullptr;
  for (const auto* check : checks) {
    auto* one = any_of_components(builder, is_not_finite(builder, check->getArgOperand(kResult)));
    any = any == nullptr ? one : builder.CreateOr(any, one);
  }
  return any;
}

void settle_arithmetic_checks(llvm::Function& function) {
  auto* unlikely = llvm::MDBuilder(function.getContext()).createUnlikelyBranchWeights();
  for (const ChecksTogether& checks : arithmetic_checks_of(function)) {
    auto* end = checks.back()->getNextNode();
    llvm::IRBuilder<> builder(end);
    auto* any = any_not_finite(builder, checks);
    auto* rare_end = llvm::SplitBlockAndInsertIfThen(any, end, false, unlikely);
    llvm::IRBuilder<> rare(rare_end);
    llvm::Value* born = nullptr;
    for (const auto* check : checks) {
      auto* one = is_born(rare, *check);
      born = born == nullptr ? one : rare.CreateOr(born, one);
    }
    stand_for_check(rare, kGiveUpIf, rare.getVoidTy(), {born});
    for (auto* check : checks) check->eraseFromParent();
  }
}

}  // namespace assay::metal::pass
