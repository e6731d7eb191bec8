// Recursion of constexpr functions. Clang evaluates such calls where C++ demands a constant; elsewhere it leaves a call, which is
// the same constant as long as its arguments are.
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {
namespace {

// The translator's mark (metal/translate/constexpr_functions.cpp).
constexpr llvm::StringLiteral kRecursiveConstexpr = "assay.recursive_constexpr";

// Clang's own limit is on depth; a call that fans out takes one step for each branch.
constexpr int kMaxSteps = 2048;

// The constant that a chain of operations on constants makes.
llvm::Constant* constant_of(llvm::Value* value, const llvm::DataLayout& layout) {
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) return constant;
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || !(instruction->isBinaryOp() || instruction->isCast())) return nullptr;
  llvm::SmallVector<llvm::Constant*> operands;
  for (auto& operand : instruction->operands()) {
    operands.push_back(constant_of(operand, layout));
    if (operands.back() == nullptr) return nullptr;
  }
  return llvm::ConstantFoldInstOperands(instruction, operands, layout);
}

llvm::CallBase* call_to_definition(llvm::Function& function) {
  for (auto& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call != nullptr && call->getCalledFunction() != nullptr && !call->getCalledFunction()->isDeclaration()) return call;
  }
  return nullptr;
}

}  // namespace

void Lockstep::find_recursive_constexpr_functions() {
  auto* annotations = module_.getGlobalVariable("llvm.global.annotations");
  if (annotations == nullptr || !annotations->hasInitializer()) return;
  for (const auto& operand : annotations->getInitializer()->operands()) {
    const auto* entry = llvm::cast<llvm::Constant>(operand.get());
    const auto* function = llvm::dyn_cast<llvm::Function>(entry->getOperand(0)->stripPointerCasts());
    const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(entry->getOperand(1)->stripPointerCasts());
    const auto* string = text == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantDataSequential>(text->getInitializer());
    if (function != nullptr && string != nullptr && string->isCString() && string->getAsCString() == kRecursiveConstexpr)
      recursive_constexpr_.insert(function);
  }
  // The list would keep the functions alive.
  annotations->eraseFromParent();
}

// Calls with constant arguments become their results, in program order, so that one may be another's argument.
void Lockstep::fold_constant_calls(llvm::Function& entry) {
  const auto& layout = module_.getDataLayout();
  llvm::SmallVector<llvm::CallInst*> calls;
  for (auto& instruction : llvm::instructions(entry)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call != nullptr && recursive_constexpr_.contains(call->getCalledFunction())) calls.push_back(call);
  }
  for (auto* call : calls) {
    llvm::SmallVector<llvm::Value*> arguments;
    for (auto& argument : call->args()) {
      auto* constant = constant_of(argument, layout);
      if (constant == nullptr) break;
      arguments.push_back(constant);
    }
    if (arguments.size() != call->arg_size()) continue;
    auto* result = evaluate(*call->getCalledFunction(), arguments);
    if (result == nullptr) continue;
    call->replaceAllUsesWith(result);
    call->eraseFromParent();
  }
}

// Unrolls the call in a function of its own until nothing but its result is left.
llvm::Constant* Lockstep::evaluate(llvm::Function& callee, llvm::ArrayRef<llvm::Value*> arguments) {
  auto* type = llvm::FunctionType::get(callee.getReturnType(), false);
  auto* scratch = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "", module_);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context_, "", scratch));
  auto* first = builder.CreateCall(&callee, arguments);
  first->setCallingConv(callee.getCallingConv());
  if (callee.getReturnType()->isVoidTy()) {
    builder.CreateRetVoid();
  } else {
    builder.CreateRet(first);
  }
  for (int step = 0; step < kMaxSteps; ++step) {
    auto* call = call_to_definition(*scratch);
    llvm::InlineFunctionInfo info;
    if (call == nullptr || !llvm::InlineFunction(*call, info).isSuccess()) break;
    llvm::stripDebugInfo(*scratch);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::SCCPPass());
    passes.addPass(llvm::SimplifyCFGPass());
    run_on_entry(passes, *scratch);
  }
  const auto* last = llvm::dyn_cast<llvm::ReturnInst>(scratch->getEntryBlock().getTerminator());
  auto* result = last == nullptr ? nullptr : llvm::dyn_cast_or_null<llvm::Constant>(last->getReturnValue());
  function_analyses().clear(*scratch, scratch->getName());
  scratch->eraseFromParent();
  return result;
}

}  // namespace assay::metal::pass
