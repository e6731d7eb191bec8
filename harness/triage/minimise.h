// Finds the smallest case that fails in the same way.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "harness/triage/laboratory.h"

namespace assay::harness {

using families::Smaller;
// Cases smaller than this one, the smallest first.
[[nodiscard]] std::vector<Case> smaller_cases(const Case& test_case, Smaller how);

// Whether two verdicts fail alike: the same status, and the same kind of hazard on the same line, or of faulty element in the same output.
[[nodiscard]] bool fails_alike(const Verdict& one, const Verdict& other);

struct Minimised {
  Verdict verdict;
  std::size_t tried = 0;
};

// Repeatedly replaces the case by the smallest of its smaller cases that fails alike, until there is none or the time is over.
[[nodiscard]] Minimised minimise(Laboratory& laboratory, const Verdict& failure, std::chrono::duration<double> budget);

}  // namespace assay::harness
