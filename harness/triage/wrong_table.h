// Repairs constant tables of a source by the values of its contract.
#pragma once

#include <span>

#include "harness/triage/suspects.h"

namespace assay::harness {

// `faults`: of a failing case; `given` as in EditSearch. Puts the contract's values where WrongTable faults say that others stand.
// Without suspects if there is no such fault, if the values are not written as numbers, or if no case of `given` passes with them.
[[nodiscard]] Blame blame_wrong_tables(const Laboratory& laboratory, std::span<const Fault> faults, std::span<const Case> given);

}  // namespace assay::harness
