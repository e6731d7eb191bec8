// Reads the name of a policy.
#include "metal/policy.h"

#include <fmt/format.h>

#include <stdexcept>

namespace assay::metal {

Policy parse_policy(std::string_view text) {
  if (text == "native") return Policy::native;
  if (text == "checked") return Policy::checked;
  if (text == "shadow") return Policy::shadow;
  throw std::invalid_argument(fmt::format("'{}' is no policy: accepted are native, checked and shadow", text));
}

}  // namespace assay::metal
