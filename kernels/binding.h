// A kernel function joined to its family's contract: which argument is which, checked before anything runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/contract.h"
#include "kernels/variant.h"
#include "metal/argument_layout.h"
#include "metal/devices/encoder.h"

namespace assay::kernels {

// One function of a variant, as the launch code needs it.
struct KernelEntry {
  metal::PipelineDescriptor pipeline;
  metal::ArgumentLayout layout;                          // of that pipeline, by reflection
  std::map<std::string, std::string, std::less<>> bind;  // the family's argument name -> the kernel's
  FieldValues fields;                                    // values of struct fields that the family does not know
  bool reads_threadgroup_size = false;                   // an argument tells it how many threads or simdgroups its threadgroup has
};

// Joins `entry` to `contract` by name: an argument of the family is the kernel's argument called as [bind] says, else the
// one of the same name, else of the same name in other letter case, else the one at the contract's index, if nothing else
// claims that. Everything but an exact match is told in notes().
//
// Throws metal::AbiMismatch, naming file, line and function, for an argument that is missing, of the wrong kind or
// element type, an output that the kernel cannot write, an argument that nobody binds, and a struct field that is missing,
// retyped or without a value. Throws metal::EncodeError for a kernel that declares more threadgroup memory than Metal has.
class BoundKernel {
 public:
  BoundKernel(const FamilyContract& contract, KernelEntry entry);
  // Not copyable: arguments_ points into entry_, whose argument storage moves along but would not be shared.
  BoundKernel(BoundKernel&&) = default;
  BoundKernel& operator=(BoundKernel&&) = default;

  // Deviations from the contract that a reader of the verdict should know: reordered or additional fields, other names.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const KernelEntry& entry() const { return entry_; }
  [[nodiscard]] const FamilyContract& contract() const { return *contract_; }

  void set_pipeline(metal::ComputeEncoder& encoder) const { encoder.set_pipeline(entry_.pipeline); }
  // Whether the kernel has this argument of the contract; only optional ones may be missing.
  [[nodiscard]] bool has(std::string_view argument) const { return arguments_.contains(argument); }

  // Whether the parameter struct has a field of that name.
  [[nodiscard]] bool has_field(std::string_view field) const;

  // Fills the parameter struct by name; `values` holds every field of the contract.
  void set_parameters(metal::ComputeEncoder& encoder, const FieldValues& values) const;
  // The following do nothing for an optional argument that the kernel does not have.
  void set_scalar(metal::ComputeEncoder& encoder, std::string_view argument, std::uint32_t value) const;
  void set_buffer(metal::ComputeEncoder& encoder, std::string_view argument, metal::BufferView view) const;
  // Does nothing if the kernel has no threadgroup argument (it may declare its own threadgroup memory). Throws
  // metal::EncodeError if the kernel's own threadgroup memory and `bytes` together exceed Metal's 32 KiB.
  void set_threadgroup_memory(metal::ComputeEncoder& encoder, std::size_t bytes) const;

 private:
  void resolve_arguments();
  void check_argument(const ArgumentContract& argument, const metal::BoundArgument& bound) const;
  void check_parameters(const metal::BoundArgument& bound);
  [[noreturn]] void fail(const std::string& message) const;
  [[nodiscard]] const metal::BoundArgument& bound(std::string_view argument) const;

  const FamilyContract* contract_;
  KernelEntry entry_;
  std::map<std::string, const metal::BoundArgument*, std::less<>> arguments_;  // by the family's name; into entry_.layout
  const metal::BoundArgument* threadgroup_ = nullptr;
  std::vector<std::string> notes_;
};

}  // namespace assay::kernels
