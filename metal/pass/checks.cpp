// The calls that stand for checks, and what both forms of a kernel do with them.
#include "metal/pass/checks.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace assay::metal::pass {
namespace {

constexpr unsigned kResult = 1;  // argument of kCheckArithmetic; operands follow

// Whether a number has all exponent bits set; by component.
llvm::Value* is_not_finite(llvm::IRBuilder<>& builder, llvm::Value* value) {
  auto* type = value->getType();
  auto* scalar = type->getScalarType();
  auto* integer = builder.getIntNTy(scalar->getScalarSizeInBits());
  llvm::Type* bits = integer;
  llvm::Constant* mask = llvm::ConstantInt::get(integer, llvm::APFloat::getInf(scalar->getFltSemantics()).bitcastToAPInt());
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    bits = llvm::FixedVectorType::get(integer, vector->getNumElements());
    mask = llvm::ConstantVector::getSplat(vector->getElementCount(), mask);
  }
  return builder.CreateICmpEQ(builder.CreateAnd(builder.CreateBitCast(value, bits), mask), mask);
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

// Whether a component of the result is not finite although those of the operands are.
llvm::Value* is_born(llvm::IRBuilder<>& builder, const llvm::CallInst& check) {
  auto* born = is_not_finite(builder, check.getArgOperand(kResult));
  for (unsigned operand = kResult + 1; operand < check.arg_size(); ++operand)
    born = builder.CreateAnd(born, builder.CreateNot(is_not_finite(builder, check.getArgOperand(operand))));
  return any_of_components(builder, born);
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
