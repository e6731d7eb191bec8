// The result of mutation testing, for people (text, Markdown) and for programs (JSON).
#pragma once

#include <string>
#include <vector>

#include "harness/mutate/score.h"
#include "harness/mutate/source.h"

namespace assay::reports {

struct MutationRun {
  std::string command;  // the command that repeats the run
  std::string variant;
  std::string suite;
  std::vector<std::string> policies;  // in the order of trial
  std::size_t cases = 0;              // of the suite
  std::size_t all_mutants = 0;        // number of mutants of the source; larger than the number tried if a sample was
  double seconds = 0;
  double minimum_score = 0;  // required score, 0 .. 1
};

// For a terminal: score, table of operators, lines with survivors, verdicts and policies that killed, equivalents with their reasons,
// survivors as unified diffs, and the number of mutants that an interrupted run did not judge.
[[nodiscard]] std::string mutation_text(const MutationRun& run, const harness::Source& source, const harness::MutationScore& score);

// The same as a Markdown document.
[[nodiscard]] std::string mutation_markdown(const MutationRun& run, const harness::Source& source, const harness::MutationScore& score);

// {"variant", "suite", "command", "cases", "score", "tally": {...}, "operators": {name: {...}}, "killed_by": {verdict: count},
//  "killed_under": {policy: count}, "policies": [...], "lines": [{"line", "text", "killed", ...}],
//  "mutants": [{"id", "operator", "line", "column", "original", "mutated", "fate", "verdict"?, "policy"?, "case"?, "reason"?, "cases",
//  "cached"}],
//  "stale": [...], "refuted": [...]}
// where a tally has killed, survived, equivalent, stillborn, unjudged, and so has a line of the source that has mutants.
[[nodiscard]] std::string mutation_json(const MutationRun& run, const harness::Source& source, const harness::MutationScore& score);

}  // namespace assay::reports
