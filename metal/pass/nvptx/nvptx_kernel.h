// The transformation of one kernel for an NVIDIA GPU, where a SIMD-group is a warp; see nvptx_kernel.cpp.
#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>

#include "metal/pass/whole_kernel.h"

namespace assay::metal::pass::nvptx {

// Address spaces of NVPTX.
inline constexpr unsigned kGlobalSpace = 1;
inline constexpr unsigned kSharedSpace = 3;

// Calls of SIMD-group functions and barriers, until the lanes that meet at each are known. Then __assay_nvptx_<name> takes the place of
// __assay_site_<name>, with those lanes as its first argument. The headers of metal/shader/nvptx/ define it.
inline constexpr llvm::StringLiteral kSite = "__assay_site_";
inline constexpr llvm::StringLiteral kOnDevice = "__assay_nvptx_";

// The name of a called function; empty for other instructions.
llvm::StringRef callee_of(const llvm::Instruction& instruction);
bool is_site(const llvm::Instruction& instruction);

class NvptxKernel : public WholeKernel {
 public:
  NvptxKernel(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) : WholeKernel(module, analyses) {}

  // Returns false if the module is not a kernel for this target.
  bool run();

 private:
  // Functions that our headers define for the device: they are inlined last, so that the kernel's own operations can be told from theirs.
  [[nodiscard]] bool stays_a_call(const llvm::Function& function) const override;

  // ---- nvptx_kernel.cpp
  void promote_variables();
  [[nodiscard]] bool is_meeting(const llvm::Instruction& instruction) const;
  void insert_hubs();
  void choose_participants();
  void call_device_functions();
  void place_memory();
  void inline_device_functions();
  void declare_threadgroup_bytes();

  // ---- words.cpp
  void pass_values_in_words();
  void pass_reduction(llvm::CallInst& call);
  void pass_shuffle(llvm::CallInst& call);
  void pass_atomic(llvm::CallInst& call);
  llvm::CallInst* call_by_name(llvm::IRBuilder<>& builder, const llvm::Twine& name, llvm::Type* result,
                               llvm::ArrayRef<llvm::Value*> arguments);

  // ---- constants.cpp
  void move_constants();

  bool keeps_lockstep_ = false;
};

}  // namespace assay::metal::pass::nvptx
