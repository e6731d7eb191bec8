// Names the statuses of verdicts.
#include "harness/findings/verdict.h"

#include <array>

namespace assay::harness {

// In the order of Status.
constexpr std::array<std::string_view, 10> kStatuses = {"passed",   "failed",     "hazard", "crashed", "timeout",
                                                        "rejected", "mistrusted", "known",  "skipped", "not required"};
static_assert(kStatuses.size() == static_cast<std::size_t>(Status::not_required) + 1);

std::string_view to_string(Status status) { return kStatuses.at(static_cast<std::size_t>(status)); }

}  // namespace assay::harness
