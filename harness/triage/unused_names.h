// Arguments that a kernel gets and no line uses: what they are for is probably what is missing.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"
#include "harness/triage/given_names.h"

namespace assay::harness {

// Names of parameters in buffers and of members of structs that only their declarations have. Empty if there are many: then the structs
// serve several kernels.
[[nodiscard]] std::vector<std::string_view> unused_names(const Source& source);

// The names to which the launch gives what a mistake of this class is about: one of them may be ignored, or missing in a line.
[[nodiscard]] std::vector<std::string> names_of_class(const kernels::Variant& variant, const Source& source, std::string_view kind);

// A line that uses a name like that of an unused one.
struct LikeUnused {
  double likeness = 0;  // up to 1
  std::string_view unused, used;
};
// By line, the most alike. `given`: what the launch gives to names (given_names.h): what is of the same tensor or number is alike, whatever
// it is called.
[[nodiscard]] std::map<std::uint32_t, LikeUnused> lines_like_unused(const Source& source, std::span<const GivenName> given = {});

}  // namespace assay::harness
