// What mutation testing found, for people (text, Markdown) and for programs (JSON).
#pragma once

#include <string>
#include <vector>

#include "harness/mutate/score.h"
#include "harness/mutate/source.h"

namespace assay::reports {

struct MutationRun {
  std::string command;  // that repeats it
  std::string variant;
  std::string suite;
  std::vector<std::string> policies;  // in the order in which they judge
  std::size_t cases = 0;              // of the suite
  std::size_t all_mutants = 0;        // of the source; more than were tried if a sample was
  double seconds = 0;
  double minimum_score = 0;  // 0 .. 1, what the run was held to
};

// Score, table of operators, lines with survivors, verdicts and policies that killed, equivalents with their reasons, survivors as hunks of
// a unified diff, and how many are missing of a run that was cut short. For a terminal.
[[nodiscard]] std::string mutation_text(const MutationRun& run, const harness::Source& source, const harness::MutationScore& score);

// The same as a document that can be kept.
[[nodiscard]] std::string mutation_markdown(const MutationRun& run, const harness::Source& source, const harness::MutationScore& score);

// {"variant", "suite", "command", "cases", "score", "tally": {...}, "operators": {name: {...}}, "killed_by": {verdict: count},
//  "killed_under": {policy: count}, "policies": [...], "lines": [{"line", "text", "killed", ...}],
//  "mutants": [{"id", "operator", "line", "column", "original", "mutated", "fate", "verdict"?, "policy"?, "case"?, "reason"?, "cases",
//  "cached"}],
//  "stale": [...], "refuted": [...]}
// where a tally has killed, survived, equivalent, stillborn, unjudged, and so has a line of the source that has mutants.
[[nodiscard]] std::string mutation_json(const MutationRun& run, const harness::Source& source, const harness::MutationScore& score);

}  // namespace assay::reports
