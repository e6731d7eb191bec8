// What a kernel's transformation needs for every target: one function of everything that the entry point calls.
#include "metal/pass/whole_kernel.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "metal/pass/places.h"

namespace assay::metal::pass {
namespace {

// Whether the function writes to the variable, as a whole or in part.
bool writes_to(const llvm::Function& function, const llvm::GlobalVariable& variable) {
  for (const auto& instruction : llvm::instructions(function)) {
    const llvm::Value* place = nullptr;
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) place = store->getPointerOperand();
    if (const auto* copy = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&instruction)) place = copy->getRawDest();
    if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) place = update->getPointerOperand();
    if (place != nullptr && llvm::getUnderlyingObject(place) == &variable) return true;
  }
  return false;
}

}  // namespace

// In Metal, only threadgroup memory outlives a thread.
void WholeKernel::refuse_variables() {
  for (const auto& variable : module_.globals()) {
    if (variable.isConstant() || variable.isDeclaration()) continue;
    llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> known;
    variable.getDebugInfo(known);
    if (known.empty() || !writes_to(*entry_, variable)) continue;
    const auto* declared = known.front()->getVariable();
    refuse({declared->getFilename().str(), declared->getLine()},
           "variable '" + declared->getName() + "' outlives the thread and is neither threadgroup nor constant, which Metal does not know");
  }
}

// The headers compute exact values only for the policy `shadow`.
void WholeKernel::drop_exact_values() {
  llvm::SmallVector<llvm::CallBase*> calls;
  for (auto& instruction : llvm::instructions(*entry_)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName().starts_with(kWithoutRounding))
      calls.push_back(call);
  }
  for (auto* call : calls) {
    call->replaceAllUsesWith(call->getArgOperand(0));
    auto* exact = llvm::dyn_cast<llvm::Instruction>(call->getArgOperand(1));
    call->eraseFromParent();
    if (exact != nullptr) llvm::RecursivelyDeleteTriviallyDeadInstructions(exact);
  }
}

llvm::FunctionAnalysisManager& WholeKernel::function_analyses() {
  return analyses_.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module_).getManager();
}

void WholeKernel::run_on_entry(llvm::FunctionPassManager& passes, llvm::Function& entry) {
  auto& manager = function_analyses();
  manager.invalidate(entry, passes.run(entry, manager));
}

void WholeKernel::inline_everything(llvm::Function& entry) {
  for (auto& function : module_) {
    if (function.isDeclaration()) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    if (&function == &entry) continue;
    if (stays_a_call(function)) continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  // A call through a function reference becomes direct only after the reference is inlined, so inlining repeats until no call is left.
  for (int round = 0; round < 8; ++round) {
    llvm::AlwaysInlinerPass(/*InsertLifetime=*/false).run(module_, analyses_);
    function_analyses().clear();
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    run_on_entry(passes, entry);
    if (calls_to_definitions(entry).empty()) break;
  }
  unroll_recursion(entry);
  for (auto& instruction : llvm::instructions(entry)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr || call->isInlineAsm()) continue;
    if (call->getCalledFunction() == nullptr)
      refuse(place_of(instruction), "a call through a function pointer that is not known when the kernel is compiled");
    const auto* callee = call->getCalledFunction();
    if (callee->isDeclaration() || stays_a_call(*callee)) continue;
    const auto* declared = callee->getSubprogram();
    refuse(declared == nullptr ? place_of(instruction) : Place{declared->getFilename().str(), declared->getLine()},
           "'" + (declared == nullptr ? callee->getName() : declared->getName()) +
               "' calls itself, and its arguments do not end that when the kernel is compiled: Metal does not allow recursion");
  }
  llvm::GlobalDCEPass().run(module_, analyses_);
  analyses_.invalidate(module_, llvm::PreservedAnalyses::none());
}

// Metal leaves integer division by zero undefined, and a GPU goes on after it; this processor would trap. So a divisor of 0 becomes 1.
// The divisor -1 also becomes 1 where the smallest integer is divided by it, because that quotient overflows.
void WholeKernel::guard_divisions() {
  llvm::SmallVector<llvm::BinaryOperator*> divisions;
  for (auto& instruction : llvm::instructions(*entry_)) {
    auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
    if (binary != nullptr && binary->isIntDivRem() && !llvm::isa<llvm::Constant>(binary->getOperand(1))) divisions.push_back(binary);
  }
  for (auto* division : divisions) {
    llvm::IRBuilder<> builder(division);
    auto* divisor = division->getOperand(1);
    auto* type = divisor->getType();
    auto* one = llvm::ConstantInt::get(type, 1);
    auto* bad = builder.CreateICmpEQ(divisor, llvm::Constant::getNullValue(type));
    if (division->getOpcode() == llvm::Instruction::SDiv || division->getOpcode() == llvm::Instruction::SRem) {
      auto* smallest = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getScalarSizeInBits()));
      bad = builder.CreateOr(bad, builder.CreateAnd(builder.CreateICmpEQ(divisor, llvm::Constant::getAllOnesValue(type)),
                                                    builder.CreateICmpEQ(division->getOperand(0), smallest)));
    }
    division->setOperand(1, builder.CreateSelect(bad, one, divisor));
  }
}

// For an operation on a half and a bfloat, clang's front end converts the bfloat to half with one instruction, which LLVM
// does not have.
void WholeKernel::convert_halves_over_float() {
  llvm::SmallVector<llvm::CastInst*> casts;
  for (auto& instruction : llvm::instructions(*entry_)) {
    auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction);
    if (cast == nullptr || !(llvm::isa<llvm::FPTruncInst>(cast) || llvm::isa<llvm::FPExtInst>(cast))) continue;
    const auto* from = cast->getSrcTy()->getScalarType();
    const auto* to = cast->getDestTy()->getScalarType();
    if ((from->isHalfTy() && to->isBFloatTy()) || (from->isBFloatTy() && to->isHalfTy())) casts.push_back(cast);
  }
  for (auto* cast : casts) {
    llvm::IRBuilder<> builder(cast);
    auto* single = cast->getSrcTy()->getWithNewType(builder.getFloatTy());
    cast->replaceAllUsesWith(builder.CreateFPTrunc(builder.CreateFPExt(cast->getOperand(0), single), cast->getDestTy()));
    cast->eraseFromParent();
  }
}

std::uint64_t WholeKernel::stored_bytes(llvm::Type& type) const { return module_.getDataLayout().getTypeStoreSize(&type).getFixedValue(); }

void WholeKernel::simplify_loops() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::FixIrreduciblePass());
  passes.addPass(llvm::LoopSimplifyPass());
  run_on_entry(passes, *entry_);
}

llvm::SmallVector<llvm::CallBase*> WholeKernel::calls_of_runtime() {
  llvm::SmallVector<llvm::CallBase*> calls;
  for (auto& instruction : llvm::instructions(*entry_)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call != nullptr && call->getCalledFunction() != nullptr && call->getCalledFunction()->getName().starts_with("__assay_"))
      calls.push_back(call);
  }
  return calls;
}

std::uint64_t WholeKernel::constant_argument(const llvm::CallBase& call, unsigned index) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(index));
  if (constant == nullptr)
    refuse(place_of(call), "internal: " + call.getCalledFunction()->getName() + " with an index that is not a constant");
  return constant->getZExtValue();
}

ThreadgroupVariables WholeKernel::place_variables(llvm::ArrayRef<llvm::CallBase*> queries) {
  llvm::MapVector<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> variables;  // id -> size, alignment
  for (auto* call : queries) {
    if (call->getCalledFunction()->getName() == "__assay_threadgroup_variable") {
      variables[constant_argument(*call, 0)] = {constant_argument(*call, 1), constant_argument(*call, 2)};
    }
  }
  ThreadgroupVariables placed;
  std::uint64_t used = 0;
  for (const auto& [id, shape] : variables) {
    used = llvm::alignTo(used, std::max<std::uint64_t>(shape.second, 1));
    placed[id] = {used, shape.first};
    used += shape.first;
  }
  threadgroup_bytes_ = llvm::alignTo(used, 16);
  return placed;
}

}  // namespace assay::metal::pass
