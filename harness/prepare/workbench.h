// Prepares variants before the first case runs: compiles sources, finds functions, binds and checks arguments.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/findings/known_finding.h"
#include "kernels/binding.h"
#include "kernels/variant.h"
#include "metal/compile/library.h"
#include "metal/devices/device.h"

namespace assay::harness {

// Functions of another family that a launch also dispatches.
struct PreparedHelpers {
  std::string owner;  // name of the variant that they come from
  std::map<kernels::FunctionKey, kernels::BoundKernel> kernels;
};

// One variant with the functions that the selected cases need. Immutable and safe to share between threads.
struct PreparedVariant {
  kernels::Variant variant;
  std::vector<std::shared_ptr<metal::Library>> libraries;  // its own first, then those that it borrows from
  std::map<kernels::FunctionKey, kernels::BoundKernel> kernels;
  std::map<std::string, PreparedHelpers, std::less<>> helpers;   // by family
  std::map<std::string, fault::NoFunction, std::less<>> absent;  // by entry; the cases of these entries are skipped
  std::string weaker_storage;                                    // the declaration of [accuracy], with its reason; empty: none
  std::vector<KnownFinding> known_findings;                      // failures that its description declares
  std::vector<std::string> notes;                                // notes for readers of the verdicts

  // nullptr if the variant has no such function; `absent` then has the reason.
  [[nodiscard]] const kernels::BoundKernel* kernel(const kernels::FunctionKey& key) const;
  // nullptr if no selected case needs it.
  [[nodiscard]] const kernels::BoundKernel* helper(std::string_view family, const kernels::FunctionKey& key) const;
  // Name of the variant from which the helpers of a family come; empty if none are needed.
  [[nodiscard]] std::string helper_owner(std::string_view family) const;
};

struct WorkbenchOptions {
  bool fp_contract = false;
  unsigned jobs = 1;            // compilations at a time
  kernels::FieldValues fields;  // `--set`: overrides the [fields] of the selected variants
  bool same_layout = false;     // `--abi`: refuse a variant whose parameter struct has another layout than the contract's
  metal::DeviceChoice device;   // kernels are also compiled for it
  std::string user_variant;     // the variant to which `fields` applies; empty: every selected one
};

class Workbench {
 public:
  // Prepares the variants that `cases` name. Variants of `catalogue` also lend helpers. Throws metal::CompileError,
  // metal::EnvironmentError, metal::PipelineError, metal::AbiMismatch and kernels::VariantError.
  Workbench(std::span<const kernels::Variant> catalogue, std::span<const Case> cases, const WorkbenchOptions& options);

  // Throws std::invalid_argument if the variant was not prepared.
  [[nodiscard]] const PreparedVariant& find(std::string_view variant) const;
  // Why code for a GPU is not kept, so that every worker compiles it again; empty if it is, and on the simulator.
  [[nodiscard]] const std::string& link_problem() const { return link_problem_; }
  [[nodiscard]] const std::map<std::string, PreparedVariant, std::less<>>& variants() const { return variants_; }

 private:
  std::map<std::string, PreparedVariant, std::less<>> variants_;
  std::string link_problem_;
};

}  // namespace assay::harness
