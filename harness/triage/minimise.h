// The smallest case that fails in the same way.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "harness/triage/laboratory.h"

namespace assay::harness {

// What a case costs to think about: query rows times keys (or rows) times coordinates, and less than one row for each other thing that is
// not at its simplest.
[[nodiscard]] double size_of(const Case& about);

using families::Smaller;
// Cases smaller than this one, the smallest first.
[[nodiscard]] std::vector<Case> smaller_cases(const Case& about, Smaller how);

// Whether two verdicts fail alike: the same status, and the same kind of hazard or of faulty element.
[[nodiscard]] bool fails_alike(const Verdict& one, const Verdict& other);

struct Minimised {
  Verdict verdict;
  std::size_t tried = 0;
};

// Takes the smallest of the smaller cases that fails like it, and goes on from there until none does or the time is up.
[[nodiscard]] Minimised minimise(Laboratory& laboratory, const Verdict& failure, std::chrono::duration<double> budget);

}  // namespace assay::harness
