// Binds a kernel function to its family's contract: finds out which argument is which, and checks it before anything runs.
#pragma once

#include <algorithm>
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

// One function of a variant, as launch code needs it.
struct KernelEntry {
  metal::PipelineDescriptor pipeline;
  metal::ArgumentLayout layout;                          // of that pipeline, by reflection
  std::map<std::string, std::string, std::less<>> bind;  // the family's argument name -> the kernel's
  FieldValues fields;                                    // values of struct fields that the family does not set
  std::vector<AxisLimit> limits;                         // declared by the author of the variant
  bool describes_launch = false;                         // the variant describes the launch of this function
  bool reads_threadgroup_size = false;                   // an argument holds the number of threads or simdgroups of its threadgroup

  // The declared limit of an axis; nullptr if there is none.
  [[nodiscard]] const AxisLimit* limit_of(std::string_view axis) const {
    const auto found = std::ranges::find(limits, axis, &AxisLimit::axis);
    return found == limits.end() ? nullptr : &*found;
  }
};

// Matches the arguments of `entry` with those of `contract`, in this order: the name given by [bind]; the same name; the same name in other
// letter case; the contract's index, if no other rule uses it. notes() lists every match that is not by name.
//
// For a family whose variants describe their launch, nothing is matched: encode_dispatch() (launch.h) uses the kernel's own names.
//
// Throws metal::AbiMismatch with file, line and function for an argument that is missing, of the wrong kind or element type, or not in the
// contract; an output that the kernel cannot write; and a struct field that is missing, of the wrong type or without a value. Throws
// metal::EncodeError for a kernel that declares more threadgroup memory than Metal allows.
//
// The parameters may be a struct, or numbers with the names of its fields. A number that is not in the contract is accepted if [fields] or
// --set has a value of its name, and so is a threadgroup argument, whose value is its size in bytes. If the variant describes its launch,
// arguments are matched by name only, and any others are accepted: its [[dispatch]] sets them.
class BoundKernel {
 public:
  BoundKernel(const FamilyContract& contract, KernelEntry entry);
  // Not copyable: arguments_ points into entry_; a move keeps the storage, a copy would not.
  BoundKernel(BoundKernel&&) = default;
  BoundKernel& operator=(BoundKernel&&) = default;

  // Deviations that a reader of the verdict should know: reordered or additional fields, other names.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // How the layout of the parameter struct differs from the contract's: its fields in their order, without those that the kernel lacks,
  // and nothing between them. Fields are filled by name, so that a difference matters only to a host with a struct of its own.
  [[nodiscard]] const std::vector<std::string>& layout_differences() const { return layout_differences_; }
  [[nodiscard]] const KernelEntry& entry() const { return entry_; }
  [[nodiscard]] const FamilyContract& contract() const { return *contract_; }

  // Whether the kernel has this argument of the contract; only optional ones may be missing.
  [[nodiscard]] bool has(std::string_view argument) const { return arguments_.contains(argument); }
  // The contract's name of an argument of entry().layout; empty if the contract has none.
  [[nodiscard]] std::string_view contract_name(const metal::BoundArgument& argument) const;

  // Whether the parameter struct has a field of that name, or the kernel a number of that name in place of the struct.
  [[nodiscard]] bool has_field(std::string_view field) const;

  // Sets the family's threadgroup argument to `bytes`, and others to the sizes that the user gives. Does nothing if the kernel has none (it
  // may declare its own threadgroup memory). Throws metal::EncodeError if the kernel's own threadgroup memory and `bytes` together exceed
  // Metal's 32 KiB.
  void set_threadgroup_memory(metal::ComputeEncoder& encoder, std::size_t bytes) const;

 private:
  using Candidates = std::vector<const metal::BoundArgument*>;
  void resolve_arguments();
  // The threadgroup argument that the family sizes, and those that the user does. Returns the others.
  [[nodiscard]] Candidates resolve_threadgroup_memory();
  // Takes numbers with the names of fields out of `free`. Returns whether there are any.
  bool take_numbers_of_fields(Candidates& free);
  void require_fields(const std::vector<std::string_view>& missing, const std::string& what,
                      const std::vector<std::string_view>& has) const;
  void check_argument(const ArgumentContract& argument, const metal::BoundArgument& bound) const;
  void check_parameters(const metal::BoundArgument& bound);
  void check_value(const metal::StructLayout& layout, const metal::StructField& field) const;
  [[nodiscard]] bool is_set_by_user(const metal::BoundArgument& argument) const;
  void compare_layout(const metal::StructLayout& layout);
  // Whether a struct may lack the field.
  [[nodiscard]] bool may_lack(const FieldContract& field) const;
  [[noreturn]] void fail(const std::string& message) const;
  [[nodiscard]] const metal::BoundArgument& bound(std::string_view argument) const;

  const FamilyContract* contract_;
  KernelEntry entry_;
  std::map<std::string, const metal::BoundArgument*, std::less<>> arguments_;  // by the family's name; into entry_.layout
  const metal::BoundArgument* threadgroup_ = nullptr;
  std::vector<std::pair<std::uint32_t, std::size_t>> sized_;                       // threadgroup arguments by index, and their bytes
  std::map<std::string, const metal::BoundArgument*, std::less<>> field_numbers_;  // in place of the struct
  std::vector<std::string> notes_;
  std::vector<std::string> layout_differences_;
};

}  // namespace assay::kernels
