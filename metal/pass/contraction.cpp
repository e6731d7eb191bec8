// Fuses products into sums.
#include "metal/pass/contraction.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

namespace assay::metal::pass {
namespace {

llvm::BinaryOperator* contractible(llvm::Value* value, unsigned opcode) {
  auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return operation != nullptr && operation->getOpcode() == opcode && operation->hasAllowContract() ? operation : nullptr;
}

// The sum as a fused operation; nullptr if it has no product.
llvm::Value* fused(llvm::BinaryOperator& sum) {
  const bool is_difference = sum.getOpcode() == llvm::Instruction::FSub;
  for (const unsigned index : {0U, 1U}) {
    const auto* product = contractible(sum.getOperand(index), llvm::Instruction::FMul);
    if (product == nullptr) continue;
    llvm::IRBuilder<> builder(&sum);
    auto* factor = product->getOperand(0);
    auto* term = sum.getOperand(1 - index);
    if (is_difference && index == 0) term = builder.CreateFNeg(term);
    if (is_difference && index == 1) factor = builder.CreateFNeg(factor);
    return builder.CreateIntrinsic(llvm::Intrinsic::fmuladd, {sum.getType()}, {factor, product->getOperand(1), term});
  }
  return nullptr;
}

}  // namespace

void fuse_sums_of_products(llvm::Module& module) {
  for (auto& function : module) {
    llvm::SmallVector<llvm::BinaryOperator*> sums;
    for (auto& instruction : llvm::instructions(function)) {
      const auto* type = instruction.getType()->getScalarType();
      if (!type->isFloatTy() && !type->isDoubleTy()) continue;
      for (const unsigned opcode : {llvm::Instruction::FAdd, llvm::Instruction::FSub}) {
        if (auto* sum = contractible(&instruction, opcode)) sums.push_back(sum);
      }
    }
    for (auto* sum : sums) {
      auto* value = fused(*sum);
      if (value == nullptr) continue;
      sum->replaceAllUsesWith(value);
      sum->eraseFromParent();
    }
    for (auto& instruction : llvm::instructions(function)) {
      if (llvm::isa<llvm::FPMathOperator>(instruction)) instruction.setHasAllowContract(false);
    }
  }
}

}  // namespace assay::metal::pass
