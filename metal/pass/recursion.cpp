// Recursion that ends because of its arguments: the calls of a function to itself are inlined one level after the other, and what is
// constant then decides which of them are ever made.
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {
namespace {

// A call that fans out takes one for each branch.
constexpr std::size_t kMostCalls = 2048;
// Of a kernel that grows while its recursion is unrolled: what no kernel comes near, and what clang still takes.
constexpr unsigned kMostInstructions = 1u << 20;

}  // namespace

// Calls that are left when everything else was inlined. No call is inlined before all constants are known that the last level brought.
void Lockstep::unroll_recursion(llvm::Function& entry) {
  std::size_t calls_inlined = 0;
  for (;;) {
    if (calls_to_definitions(entry).empty()) return;
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::SCCPPass());
    run_on_entry(passes, entry);
    const auto calls = calls_to_definitions(entry);
    if (calls.empty() || calls_inlined + calls.size() > kMostCalls || entry.getInstructionCount() > kMostInstructions) return;
    const std::size_t before = calls_inlined;
    for (auto* call : calls) {
      // Without one nothing that is known can end it; what another call returns may become one.
      if (llvm::none_of(call->args(), [](const llvm::Use& argument) { return llvm::isa<llvm::Constant>(argument); })) continue;
      llvm::InlineFunctionInfo info;
      if (!llvm::InlineFunction(*call, info).isSuccess()) return;
      ++calls_inlined;
    }
    if (calls_inlined == before) return;
    function_analyses().clear();
  }
}

llvm::SmallVector<llvm::CallBase*> Lockstep::calls_to_definitions(llvm::Function& function) {
  llvm::SmallVector<llvm::CallBase*> calls;
  for (auto& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr || call->isInlineAsm() || call->getCalledFunction() == nullptr) continue;
    if (!call->getCalledFunction()->isDeclaration() && !is_backend_helper(*call->getCalledFunction())) calls.push_back(call);
  }
  return calls;
}

}  // namespace assay::metal::pass
