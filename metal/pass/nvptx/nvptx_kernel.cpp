// Makes a kernel for an NVIDIA GPU of the entry point and of all that it calls.
//
// A lane is a thread, and the hardware runs 32 of them as a warp. What the pass adds to the program is who takes part in each SIMD-group
// function: the hardware wants to be told. It runs before clang's optimiser, on the control flow as written, as the lockstep pass does.
#include "metal/pass/nvptx/nvptx_kernel.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <string>

#include "metal/cuda_abi.h"
#include "metal/pass/nvptx/convergence.h"
#include "metal/pass/nvptx/participants.h"
#include "metal/pass/permitted.h"
#include "metal/pass/places.h"

namespace assay::metal::pass::nvptx {
namespace {

constexpr std::uint64_t kSharedAlignment = 128;  // more than any type of Metal has
constexpr int kMostHubs = 64;                    // each costs an analysis of the kernel
constexpr std::uint64_t kSimdgroupScope = 0;     // of metal/shader/runtime.h

// Functions of C that the compiler calls, which our headers define under another name.
constexpr llvm::StringLiteral kOfC[] = {"memcmp", "fmod"};

void erase(llvm::GlobalVariable* list) {
  if (list != nullptr) list->eraseFromParent();
}

}  // namespace

llvm::StringRef callee_of(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call == nullptr || call->getCalledFunction() == nullptr ? llvm::StringRef() : call->getCalledFunction()->getName();
}

bool is_site(const llvm::Instruction& instruction) { return callee_of(instruction).starts_with(kSite); }

bool NvptxKernel::stays_a_call(const llvm::Function& function) const {
  return function.getName().starts_with(kOnDevice) || function.getName().starts_with("assay_math_");
}

bool NvptxKernel::run() {
  entry_ = module_.getFunction(cuda_abi::kEntry);
  if (entry_ == nullptr || entry_->isDeclaration()) return false;
  keeps_lockstep_ = module_.getFunction("__assay_keeps_lockstep") != nullptr;
  note_shader_directory(module_);
  // The backend converts to bfloat itself.
  if (auto* conversion = module_.getFunction("__truncsfbf2")) {
    llvm::removeFromUsedLists(module_, [&](llvm::Constant* kept) { return kept == conversion; });
    conversion->eraseFromParent();
  }
  fill_own_locals();
  move_constants();
  inline_everything(*entry_);
  fill_own_arrays();
  report_derived_from_unset();
  refuse_variables();
  note_unset_uses();
  require_permitted(module_);
  drop_exact_values();
  guard_divisions();
  convert_halves_over_float();
  simplify_loops();
  pass_values_in_words();
  promote_variables();
  insert_hubs();
  choose_participants();
  place_memory();
  call_device_functions();
  inline_device_functions();
  declare_threadgroup_bytes();
  std::string mistake;
  llvm::raw_string_ostream stream(mistake);
  if (llvm::verifyFunction(*entry_, &stream)) refuse({module_.getSourceFileName(), 1}, "internal: " + mistake);
  return true;
}

void NvptxKernel::promote_variables() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  run_on_entry(passes, *entry_);
}

bool NvptxKernel::is_meeting(const llvm::Instruction& instruction) const {
  return is_site(instruction) || (keeps_lockstep_ && accesses_shared_memory(instruction));
}

void NvptxKernel::insert_hubs() {
  for (int count = 0; count < kMostHubs; ++count) {
    const Convergence convergence(*entry_, [&](const llvm::Instruction& instruction) { return is_meeting(instruction); });
    llvm::SmallSetVector<llvm::BasicBlock*, 16> wanted;
    for (auto& block : *entry_) {
      if (llvm::any_of(block, [&](const llvm::Instruction& each) { return is_meeting(each); })) wanted.insert(&block);
      if (keeps_lockstep_ && convergence.parts(block)) wanted.insert(&block);
    }
    auto* undecided = Participants::undecided(convergence, wanted.getArrayRef());
    if (undecided == nullptr) return;
    insert_hub(*entry_, convergence, *undecided);
    function_analyses().clear();
    promote_variables();
    simplify_loops();
  }
}

void NvptxKernel::choose_participants() {
  const Convergence convergence(*entry_, [&](const llvm::Instruction& instruction) { return is_meeting(instruction); });
  Participants participants(*entry_, convergence);
  llvm::SmallVector<llvm::CallInst*> sites;
  for (auto& instruction : llvm::instructions(*entry_)) {
    if (is_site(instruction)) sites.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  for (auto* site : sites) {
    if (!convergence.is_live(*site->getParent())) continue;  // it is never reached
    llvm::IRBuilder<> builder(site);
    const auto name = callee_of(*site).drop_front(kSite.size());
    // The hardware knows whom a barrier of the threadgroup waits for.
    const bool is_threadgroup_barrier = name == "barrier" && constant_argument(*site, 0) != kSimdgroupScope;
    llvm::SmallVector<llvm::Value*> arguments{is_threadgroup_barrier ? builder.getInt32(0) : participants.of(*site->getParent())};
    arguments.append(site->arg_begin(), site->arg_end());
    site->replaceAllUsesWith(call_by_name(builder, kOnDevice + name, site->getType(), arguments));
    site->eraseFromParent();
  }
  if (keeps_lockstep_) keep_lockstep(*entry_, convergence, participants);
}

// Threadgroup memory is one piece of dynamic shared memory: the kernel's variables, then its threadgroup arguments, which the host places.
void NvptxKernel::place_memory() {
  const auto calls = calls_of_runtime();
  const ThreadgroupVariables variables = place_variables(calls);
  auto* bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(context_), 0);
  auto* shared = new llvm::GlobalVariable(module_, bytes, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                          "__assay_threadgroup_memory", nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  shared->setAlignment(llvm::Align(kSharedAlignment));
  for (auto* call : calls) {
    if (callee_of(*call) != "__assay_threadgroup_variable") continue;
    llvm::IRBuilder<> builder(call);
    call->replaceAllUsesWith(
        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), shared, variables.lookup(constant_argument(*call, 0)).offset));
    call->eraseFromParent();
  }
  if (auto* start = module_.getFunction("__assay_nvptx_shared")) {
    for (auto* user : llvm::make_early_inc_range(start->users())) {
      user->replaceAllUsesWith(shared);
      llvm::cast<llvm::Instruction>(user)->eraseFromParent();
    }
  }
}

void NvptxKernel::call_device_functions() {
  llvm::SmallVector<llvm::CallBase*> calls;
  for (auto& instruction : llvm::instructions(*entry_)) {
    const auto name = callee_of(instruction);
    if (!name.empty() && llvm::cast<llvm::CallBase>(instruction).getCalledFunction()->isDeclaration() && !name.starts_with("llvm."))
      calls.push_back(llvm::cast<llvm::CallBase>(&instruction));
  }
  for (auto* call : calls) {
    llvm::StringRef name = callee_of(*call);
    if (name == "__assay_iteration_end") {
      call->eraseFromParent();
      continue;
    }
    if (name == "__assay_max_total_threads") {
      llvm::Metadata* limit[] = {
          llvm::ValueAsMetadata::get(entry_), llvm::MDString::get(context_, "maxntidx"),
          llvm::ValueAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), constant_argument(*call, 0)))};
      module_.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context_, limit));
      call->eraseFromParent();
      continue;
    }
    const bool is_known = name.consume_front("__assay_") || llvm::is_contained(kOfC, name);
    auto* function = is_known ? module_.getFunction((kOnDevice + name).str()) : nullptr;
    if (function == nullptr || function->getFunctionType() != call->getFunctionType())
      refuse(place_of(*call), "'" + callee_of(*call) + "' does not exist on this target");
    call->setCalledFunction(function);
  }
}

void NvptxKernel::inline_device_functions() {
  erase(module_.getGlobalVariable("llvm.used"));
  erase(module_.getGlobalVariable("llvm.compiler.used"));
  for (auto& function : module_) {
    if (function.isDeclaration() || &function == entry_) continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  function_analyses().clear();
  llvm::AlwaysInlinerPass(/*InsertLifetime=*/false).run(module_, analyses_);
  function_analyses().clear();
  if (auto* launch = module_.getFunction("__assay_nvptx_launch")) {
    for (auto* user : llvm::make_early_inc_range(launch->users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      if (call->getFunction() != entry_) continue;
      call->replaceAllUsesWith(entry_->getArg(0));
      call->eraseFromParent();
    }
  }
  promote_variables();
  llvm::GlobalDCEPass().run(module_, analyses_);
  analyses_.invalidate(module_, llvm::PreservedAnalyses::none());
}

// In a name, because the host reads it from the text (compile/ptx.cpp), and the text leaves values of 0 out.
void NvptxKernel::declare_threadgroup_bytes() {
  auto* type = llvm::Type::getInt32Ty(context_);
  new llvm::GlobalVariable(module_, type, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, llvm::ConstantInt::get(type, 0),
                           "__assay_threadgroup_bytes_" + llvm::Twine(threadgroup_bytes_), nullptr, llvm::GlobalValue::NotThreadLocal,
                           kGlobalSpace);
}

}  // namespace assay::metal::pass::nvptx
