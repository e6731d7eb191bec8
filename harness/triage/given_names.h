// What a launch gives to the names of a kernel: they are the author's, and only the description of the launch says what they mean.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/mutate/source.h"
#include "kernels/variant.h"

namespace assay::harness {

struct GivenName {
  std::string name;                            // of an argument, a field of one, or a function constant, as the source has it
  const kernels::Expression* given = nullptr;  // in numbers and tensors of the case
  std::optional<std::size_t> element = {};     // of a vector or an array; empty: all of it
};

// Of all dispatches, refers to `variant`. A function constant that the launch gives by its index has the name that `source` gives it. Empty
// if the variant describes no launch.
[[nodiscard]] std::vector<GivenName> given_names(const kernels::Variant& variant, const Source& source);

// What a launch gives to a name of the kernel, as names of the case's numbers and tensors; empty if it gives nothing.
[[nodiscard]] std::vector<std::string> given_to(std::span<const GivenName> names, std::string_view name);

// What arguments get that no launch gives, by their attributes: {"nsg", "simdgroups_per_threadgroup"}.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> names_with_attributes(const Source& source);

}  // namespace assay::harness
