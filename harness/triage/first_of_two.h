// The first of two mistakes, where undoing it alone makes no case pass.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/landmarks.h"
#include "harness/triage/suspects.h"

namespace assay::harness {

// An edit with which the kernel holds a landmark that it does not hold as it is.
struct FirstOfTwo {
  Blame blame;  // partial; its suspect is only a place to look, because cases still fail
  std::string_view landmark;
};

// Tries these edits, the likely ones first, on a case whose landmarks are wrong. `failing` of the search need not pass, but what passes
// without the edit must pass with it, also of suite `smoke`. nullopt if no edit makes the first wrong landmark right within the time.
[[nodiscard]] std::optional<FirstOfTwo> blame_first_of_two(const Laboratory& laboratory, const Source& source, std::span<const Edit> edits,
                                                           const EditSearch& search, std::chrono::duration<double> budget);

}  // namespace assay::harness
