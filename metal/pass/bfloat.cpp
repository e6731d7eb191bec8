// Rounds float to bfloat by operations on integers, for numbers and for vectors of them.
#include "metal/pass/bfloat.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

namespace assay::metal::pass {
namespace {

// To nearest, ties to even; a NaN becomes a quiet one.
llvm::Value* rounded(llvm::IRBuilder<>& builder, llvm::Value* number, llvm::Type* bfloat) {
  const auto like = [&](llvm::Type* scalar) { return number->getType()->getWithNewType(scalar); };
  auto* type = like(builder.getInt32Ty());
  const auto word = [&](std::uint64_t value) { return llvm::ConstantInt::get(type, value); };
  auto* bits = builder.CreateBitCast(number, type);
  auto* upper = builder.CreateLShr(bits, word(16));
  auto* half = builder.CreateAdd(builder.CreateAnd(upper, word(1)), word(0x7fff));
  auto* nearest = builder.CreateLShr(builder.CreateAdd(bits, half), word(16));
  auto* chosen = builder.CreateSelect(builder.CreateFCmpUNO(number, number), builder.CreateOr(upper, word(0x40)), nearest);
  return builder.CreateBitCast(builder.CreateTrunc(chosen, like(builder.getInt16Ty())), bfloat);
}

}  // namespace

llvm::PreservedAnalyses BfloatPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  if (!llvm::Triple(function.getParent()->getTargetTriple()).isAArch64()) return llvm::PreservedAnalyses::all();
  llvm::SmallVector<llvm::FPTruncInst*> conversions;
  for (auto& instruction : llvm::instructions(function)) {
    auto* conversion = llvm::dyn_cast<llvm::FPTruncInst>(&instruction);
    if (conversion == nullptr || !conversion->getType()->getScalarType()->isBFloatTy()) continue;
    if (conversion->getOperand(0)->getType()->getScalarType()->isFloatTy()) conversions.push_back(conversion);
  }
  for (auto* conversion : conversions) {
    llvm::IRBuilder<> builder(conversion);
    conversion->replaceAllUsesWith(rounded(builder, conversion->getOperand(0), conversion->getType()));
    conversion->eraseFromParent();
  }
  return conversions.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace assay::metal::pass
