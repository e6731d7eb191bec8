// The clang plugin that turns one kernel into a lane of a lockstep SIMD-group.
//
// The plugin inlines everything into the entry point. It finds the points where lanes can observe each other: SIMD-group functions,
// barriers, atomics, and stores to memory that other lanes see. It numbers these points in program order and routes them to the
// runtime. It runs before clang's optimiser, on the control flow as written. An optimiser may move code across branches and loops if a
// single thread computes the same, but that would change which lanes meet.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfo.h>
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

#include "metal/pass/bfloat.h"
#include "metal/pass/checks.h"
#include "metal/pass/contraction.h"
#include "metal/pass/lockstep.h"
#include "metal/pass/nvptx/nvptx_kernel.h"
#include "metal/pass/permitted.h"
#include "metal/pass/places.h"
#include "metal/pass/reconvergence.h"
#include "metal/pass/reflection.h"
#include "metal/pass/shadow.h"
#include "metal/pass/table_lookup.h"
#include "metal/pass/unset_constants.h"
#include "metal/pass/vector/vector_kernel.h"

namespace assay::metal::pass {
namespace {

constexpr llvm::StringLiteral kEntry = "__assay_entry";
// Marks a module without instrumentation.
constexpr llvm::StringLiteral kPlain = "assay.plain";
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
  refuse_variables();
  note_unset_uses();
  require_permitted(module_);
  if (shadows_ == abi::kNoShadows) drop_exact_values();
  guard_divisions();
  convert_halves_over_float();
  leave_out_impossible_defaults(*entry_);
  simplify_loops();
  if (is_checked_) remove_unused_reads();
  collect_sites();
  rejoin_after_writes();
  if (is_checked_) find_narrowings();
  list_buffers_of_lines();
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
    watch_narrowings();
  }
  if (shadows_ != abi::kNoShadows) {
    Shadow(*this, shadows_ == abi::kExplained).run();
    drop_exact_values();
  }
  const auto has = [&](llvm::StringRef name) { return module_.getFunction(name) != nullptr; };
  if (!is_checked_ && shadows_ == abi::kNoShadows && !has("__assay_traced") && !has("__assay_recorded"))
    module_.getOrInsertNamedMetadata(kPlain);
  replace_position_queries();
  if (is_checked_) {
    copy_for_vectors();
    lower_checks();
  }
  emit_module();
  // The backend would crash on invalid code or miscompile it.
  std::string mistake;
  llvm::raw_string_ostream stream(mistake);
  if (llvm::verifyFunction(*entry_, &stream)) refuse(place_of(*entry_->getEntryBlock().getTerminator()), "internal: " + mistake);
  return true;
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

namespace {
struct LockstepPass : llvm::PassInfoMixin<LockstepPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    const bool is_kernel = nvptx::NvptxKernel(module, analyses).run() || Lockstep(module, analyses).run();
    return is_kernel ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
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

// Adds the vector form of a kernel, and notes it in the module's description.
void add_vector_kernel(llvm::Module& module, llvm::Function& entry) {
  auto* copy = module.getFunction(kVectorLane);
  if (copy == nullptr && module.getNamedMetadata(kPlain) == nullptr) return;
  auto* description = module.getGlobalVariable("__assay_module", /*AllowInternal=*/true);
  auto* services = module.getGlobalVariable("__assay_services", /*AllowInternal=*/true);
  if (description == nullptr || services == nullptr) return;
  if (copy != nullptr) settle_arithmetic_checks(*copy);
  const VectorKernel made = make_vector_kernel(copy == nullptr ? entry : *copy, *services);
  if (copy != nullptr) copy->eraseFromParent();
  auto* all = llvm::cast<llvm::ConstantStruct>(description->getInitializer());
  llvm::SmallVector<llvm::Constant*> fields;
  for (const auto& field : all->operands()) fields.push_back(llvm::cast<llvm::Constant>(field.get()));
  auto* refusal = llvm::ConstantDataArray::getString(module.getContext(), made.refusal);
  const std::size_t first = fields.size() - 3;
  if (made.entry != nullptr) fields[first] = made.entry;
  fields[first + 1] = llvm::ConstantInt::get(fields[first + 1]->getType(), made.needs_rows ? 1 : 0);
  fields[first + 2] =
      new llvm::GlobalVariable(module, refusal->getType(), true, llvm::GlobalValue::InternalLinkage, refusal, "__assay_text");
  description->setInitializer(llvm::ConstantStruct::get(all->getType(), fields));
}

// Runs after the optimiser has removed the code that the constants rule out.
struct LastPass : llvm::PassInfoMixin<LastPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    refuse_initialisers(module);
    refuse_unset_constants(module);
    if (auto* entry = module.getFunction(kEntry)) {
      fuse_sums_of_products(module);
      keep_places(module, *entry);
      add_vector_kernel(module, *entry);
    } else {
      llvm::StripDebugInfo(module);  // a kernel for a GPU: with it, the GPU's assembler would not optimise
    }
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
            // Behind everything that folds and combines conversions.
            builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
              passes.addPass(llvm::createModuleToFunctionPassAdaptor(assay::metal::pass::BfloatPass()));
            });
          }};
}
