// Unrolls recursion that ends because of its arguments: inlines a function's calls to itself level by level, until constant arguments
// remove the calls that are never made.
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {
namespace {

// A call that recurses in several branches counts once per branch.
constexpr std::size_t kMostCalls = 2048;
// Every level examines the whole kernel again, so the time grows with their square.
constexpr int kMostLevels = 256;
// Instructions of a kernel at which unrolling stops: far more than any real kernel has, yet still compilable.
constexpr unsigned kMostInlined = 1u << 20;

}  // namespace

// Inlines calls that remain after all others were inlined. Each round first propagates the constants of the previous level.
void WholeKernel::unroll_recursion(llvm::Function& entry) {
  std::size_t calls_inlined = 0;
  for (int level = 0; level < kMostLevels; ++level) {
    if (calls_to_definitions(entry).empty()) return;
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::SCCPPass());
    run_on_entry(passes, entry);
    const auto calls = calls_to_definitions(entry);
    if (calls.empty() || calls_inlined + calls.size() > kMostCalls || entry.getInstructionCount() > kMostInlined) return;
    const std::size_t before = calls_inlined;
    for (auto* call : calls) {
      // Without a constant argument the recursion cannot be shown to end. The result of another call counts too, since it may
      // become a constant.
      if (llvm::none_of(call->args(), [](const llvm::Use& argument) { return llvm::isa<llvm::Constant>(argument); })) continue;
      llvm::InlineFunctionInfo info;
      if (!llvm::InlineFunction(*call, info).isSuccess()) return;
      ++calls_inlined;
    }
    if (calls_inlined == before) return;
    function_analyses().clear();
  }
}

llvm::SmallVector<llvm::CallBase*> WholeKernel::calls_to_definitions(llvm::Function& function) const {
  llvm::SmallVector<llvm::CallBase*> calls;
  for (auto& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr || call->isInlineAsm() || call->getCalledFunction() == nullptr) continue;
    if (!call->getCalledFunction()->isDeclaration() && !stays_a_call(*call->getCalledFunction())) calls.push_back(call);
  }
  return calls;
}

}  // namespace assay::metal::pass
