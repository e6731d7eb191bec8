// What the contract of a family leaves out, and the cases that show whether a kernel does it nevertheless.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace assay::families {

// Results that have the same bits, whatever the value of an axis or the order of simdgroups.
struct SameBits {
  std::string_view axis = {};             // a launch choice; empty: the order of simdgroups
  std::vector<std::int64_t> values = {};  // of the axis, within the limits of the variant
  [[nodiscard]] bool of_schedules() const { return axis.empty(); }
};

struct Omission {
  std::string_view id;        // in claims of variants, and in names of cases behind "beyond-"
  std::string_view sentence;  // what no case of the gate does: "The softcap is 0."
  // What a kernel does that is right nevertheless, behind "does not": "apply a softcap". Empty: no case can show it, and no variant can
  // claim it.
  std::string_view ability = {};
  // The cases that show it: names without the variant and the word "beyond-ID". Those outside of a variant's [limits] are omitted.
  std::vector<std::string_view> cases = {};
  // Instead of names: cases of the variant's own gate, those that suit. The family must do with their values what the omission says.
  bool (*suits)(std::span<const std::int64_t> values) = nullptr;
  // Results of such cases are compared with each other. The family has nothing to do with it.
  std::optional<SameBits> same_bits = {};
};

}  // namespace assay::families
