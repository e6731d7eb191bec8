// Arguments that a kernel gets and no line uses: what they are for is probably what is missing.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"

namespace assay::harness {

// Names of parameters in buffers and of members of structs that only their declarations have. Empty if there are many: then the structs
// serve several kernels.
[[nodiscard]] std::vector<std::string_view> unused_names(const Source& source);

// A line that uses a name like that of an unused one.
struct LikeUnused {
  double likeness = 0;  // up to 1
  std::string_view unused, used;
};
// By line, the most alike.
[[nodiscard]] std::map<std::uint32_t, LikeUnused> lines_like_unused(const Source& source);

}  // namespace assay::harness
