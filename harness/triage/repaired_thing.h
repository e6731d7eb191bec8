// What a repair of a kernel changes, as far as the text of the kernel tells it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/variant.h"

namespace assay::harness {

struct RepairedThing {
  std::string_view kind;  // a class of mistakes
  std::string says;       // "the repair changes where `mask` is accessed"
  bool is_vague = false;  // many mistakes are about such a thing
  bool is_limit = false;  // the repair changes where a loop begins or ends
};

// By what is changed: a jump out of a loop, the type of codes, where a buffer is accessed, or a usual name. nullopt if nothing of it tells
// a class. `variant`: says which tensors the kernel's arguments get.
[[nodiscard]] std::optional<RepairedThing> repaired_thing(const kernels::Variant& variant, const std::string& source,
                                                          const std::string& repaired);

}  // namespace assay::harness
