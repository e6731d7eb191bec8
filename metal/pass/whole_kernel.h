// What the transformation of a kernel needs for every target: the entry point as one function, checked, with defined divisions and memory.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>

#include <cstdint>

namespace assay::metal::pass {

// Functions (value, exact) of our headers. They return `value`; `exact` is the same result without rounding.
inline constexpr llvm::StringLiteral kWithoutRounding = "__assay_without_rounding";

// Where the threadgroup variables lie, by the identity that the headers gave them.
struct ThreadgroupVariable {
  std::uint64_t offset = 0, size = 0;
};
using ThreadgroupVariables = llvm::DenseMap<std::uint64_t, ThreadgroupVariable>;

class WholeKernel {
 protected:
  WholeKernel(llvm::Module& module, llvm::ModuleAnalysisManager& analyses)
      : module_(module), analyses_(analyses), context_(module.getContext()) {}
  virtual ~WholeKernel() = default;

  // ---- whole_kernel.cpp
  llvm::FunctionAnalysisManager& function_analyses();
  void run_on_entry(llvm::FunctionPassManager& passes, llvm::Function& entry);
  void inline_everything(llvm::Function& entry);
  // Functions that calls of the kernel still name when all others are inlined.
  [[nodiscard]] virtual bool stays_a_call(const llvm::Function& function) const = 0;
  void refuse_variables();
  void drop_exact_values();
  void guard_divisions();
  void convert_halves_over_float();
  void simplify_loops();
  [[nodiscard]] std::uint64_t stored_bytes(llvm::Type& type) const;
  // The kernel's calls of functions whose names begin with __assay_.
  llvm::SmallVector<llvm::CallBase*> calls_of_runtime();
  static std::uint64_t constant_argument(const llvm::CallBase& call, unsigned index);
  // Places the threadgroup variables that the calls name; threadgroup_bytes_ is then their size.
  ThreadgroupVariables place_variables(llvm::ArrayRef<llvm::CallBase*> queries);

  // ---- unset_constants.cpp
  void report_derived_from_unset();
  void note_unset_uses();

  // ---- recursion.cpp
  void unroll_recursion(llvm::Function& entry);
  llvm::SmallVector<llvm::CallBase*> calls_to_definitions(llvm::Function& function) const;

  // ---- locals.cpp
  void fill_own_locals();
  void fill_local(llvm::AllocaInst& variable);
  void fill_own_arrays();

  llvm::Module& module_;
  llvm::ModuleAnalysisManager& analyses_;
  llvm::LLVMContext& context_;
  llvm::Function* entry_ = nullptr;
  bool is_checked_ = false;
  std::uint64_t threadgroup_bytes_ = 0;  // padded to 16
};

}  // namespace assay::metal::pass
