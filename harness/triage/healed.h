// The failing cases that a repair of a kernel heals, and with them the findings that it explains.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/triage/laboratory.h"
#include "harness/triage/triage.h"

namespace assay::harness {

// By failure, whether it belongs to the finding: those that its repair heals, or, where `repaired` is empty, those that fail alike. Of the
// latter, those are left out that the known mistake would leave right, if another one explains them.
[[nodiscard]] std::vector<bool> members_of(Laboratory& laboratory, const Finding& finding, const std::string& repaired,
                                           std::span<const Verdict> failures);

// A repair that also heals what earlier findings are about shows that they have the same cause. Takes out those of which it heals every
// case, and returns the cases. `cases`: by finding. None if `repaired` is empty.
[[nodiscard]] std::vector<Case> take_healed(const Laboratory& laboratory, const std::string& repaired, std::vector<Finding>& findings,
                                            std::vector<std::vector<Case>>& cases);

}  // namespace assay::harness
