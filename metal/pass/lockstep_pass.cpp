// The clang plugin that turns one kernel into a lane of a lockstep SIMD-group.
//
// The plugin inlines everything into the entry point. It finds the points where lanes can observe each other: SIMD-group functions,
// barriers, atomics, and stores to memory that other lanes see. It numbers these points in program order and routes them to the
// runtime. It runs before clang's optimiser, on the control flow as written. An optimiser may move code across branches and loops if a
// single thread computes the same, but that would change which lanes meet.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include <string>

#include "metal/pass/lockstep.h"
#include "metal/pass/permitted.h"
#include "metal/pass/places.h"
#include "metal/pass/reflection.h"
#include "metal/pass/shadow.h"
#include "metal/pass/table_lookup.h"
#include "metal/pass/unset_constants.h"

namespace assay::metal::pass {
namespace {

constexpr llvm::StringLiteral kEntry = "__assay_entry";
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

// In Metal, only threadgroup memory outlives a thread.
void refuse_variables(const llvm::Module& module, const llvm::Function& entry) {
  for (const auto& variable : module.globals()) {
    if (variable.isConstant() || variable.isDeclaration()) continue;
    llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> known;
    variable.getDebugInfo(known);
    if (known.empty() || !writes_to(entry, variable)) continue;
    const auto* declared = known.front()->getVariable();
    refuse({declared->getFilename().str(), declared->getLine()},
           "variable '" + declared->getName() + "' outlives the thread and is neither threadgroup nor constant, which Metal does not know");
  }
}

}  // namespace

bool Lockstep::run() {
  auto* entry = module_.getFunction(kEntry);
  if (entry == nullptr || entry->isDeclaration()) return false;
  note_shader_directory(module_);
  reflection_ = reflect_kernel(*entry);
  is_checked_ = module_.getFunction("__assay_checked") != nullptr;
  if (module_.getFunction("__assay_shadowed") != nullptr) shadows_ = abi::kShadows;
  if (module_.getFunction("__assay_explained") != nullptr) shadows_ = abi::kExplained;
  if (is_checked_ || shadows_ != abi::kNoShadows) leave_out_padding();
  fill_own_locals();
  inline_everything(*entry);
  reflection_ += reflect_tables(module_);
  entry_ = module_.getFunction(kEntry);
  lane_ = entry_->getArg(0);
  fill_own_arrays();
  report_derived_from_unset();
  refuse_variables(module_, *entry_);
  note_unset_uses();
  require_permitted(module_);
  if (shadows_ == abi::kNoShadows) drop_exact_values();
  guard_divisions();
  convert_halves_over_float();
  simplify_loops();
  if (is_checked_) remove_unused_reads();
  collect_sites();
  rejoin_after_writes();
  relax_alignments();
  const auto program_reads = readers();
  if (!is_checked_) watch_alignments();
  number_sites();
  if (module_.getFunction("__assay_traced") != nullptr) trace_device_accesses();
  if (module_.getFunction("__assay_recorded") != nullptr) record_values();
  if (is_checked_) {
    watch_arithmetic();
    check_reads(program_reads);
    watch_locals();
  }
  if (shadows_ != abi::kNoShadows) {
    Shadow(*this, shadows_ == abi::kExplained).run();
    drop_exact_values();
  }
  replace_position_queries();
  emit_module();
  // The backend would crash on invalid code or miscompile it.
  std::string mistake;
  llvm::raw_string_ostream stream(mistake);
  if (llvm::verifyFunction(*entry_, &stream)) refuse(place_of(*entry_->getEntryBlock().getTerminator()), "internal: " + mistake);
  return true;
}

// The headers compute exact values only for the policy `shadow`.
void Lockstep::drop_exact_values() {
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

llvm::FunctionAnalysisManager& Lockstep::function_analyses() {
  return analyses_.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module_).getManager();
}

void Lockstep::run_on_entry(llvm::FunctionPassManager& passes, llvm::Function& entry) {
  auto& manager = function_analyses();
  manager.invalidate(entry, passes.run(entry, manager));
}

// The last call in the entry point calls the kernel; the calls before it fetch its arguments.
std::string Lockstep::reflect_kernel(llvm::Function& entry) {
  const llvm::DISubprogram* kernel = nullptr;
  for (auto& instruction : llvm::instructions(entry)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    const auto* callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (callee == nullptr || callee->getSubprogram() == nullptr || is_ours(*callee->getSubprogram())) continue;
    kernel = callee->getSubprogram();
  }
  return kernel == nullptr ? std::string() : reflect(*kernel);
}

void Lockstep::inline_everything(llvm::Function& entry) {
  for (auto& function : module_) {
    if (function.isDeclaration()) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    if (&function == &entry) continue;
    if (is_backend_helper(function)) continue;
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
    if (callee->isDeclaration() || is_backend_helper(*callee)) continue;
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
void Lockstep::guard_divisions() {
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
void Lockstep::convert_halves_over_float() {
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

void Lockstep::simplify_loops() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::FixIrreduciblePass());
  passes.addPass(llvm::LoopSimplifyPass());
  run_on_entry(passes, *entry_);
}

namespace {
struct LockstepPass : llvm::PassInfoMixin<LockstepPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    return Lockstep(module, analyses).run() ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

// Metal initialises variables outside of functions with constants only. An initialiser that the optimiser could not evaluate would run
// when the module is loaded, in this process and without any limit.
void refuse_initialisers(const llvm::Module& module) {
  const auto* list = module.getGlobalVariable("llvm.global_ctors");
  const auto* entries = list == nullptr || !list->hasInitializer() ? nullptr : llvm::dyn_cast<llvm::ConstantArray>(list->getInitializer());
  if (entries == nullptr) return;
  for (const auto& entry : entries->operands()) {
    const auto* function = llvm::dyn_cast<llvm::Function>(llvm::cast<llvm::Constant>(entry)->getOperand(1)->stripPointerCasts());
    Place place;
    if (function != nullptr) {
      for (const auto& instruction : llvm::instructions(*function)) {
        if (place.line == 0) place = place_of(instruction);
      }
    }
    refuse(place, "what is declared outside of functions must be initialised with a constant expression");
  }
}

// Runs after the optimiser has removed the code that the constants rule out.
struct LastPass : llvm::PassInfoMixin<LastPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    refuse_initialisers(module);
    refuse_unset_constants(module);
    if (auto* entry = module.getFunction(kEntry)) keep_places(module, *entry);
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

}  // namespace
}  // namespace assay::metal::pass

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "assay-lockstep", "1", [](llvm::PassBuilder& builder) {
            builder.registerPipelineStartEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(assay::metal::pass::LockstepPass()); });
            // This point is after the optimiser simplified functions and indices of the kernel, and before it forms vectors.
            builder.registerVectorizerStartEPCallback(
                [](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) { passes.addPass(assay::metal::pass::TableLookupPass()); });
            builder.registerOptimizerEarlyEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(assay::metal::pass::LastPass()); });
          }};
}
