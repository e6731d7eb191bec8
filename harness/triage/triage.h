// Derives findings from failing cases: groups with a common cause, each with its smallest case, the place of the error, the mistake
// that it resembles, and the line.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/execute/explain.h"
#include "harness/findings/finding_record.h"
#include "harness/triage/classify.h"
#include "harness/triage/hunks.h"
#include "harness/triage/laboratory.h"

namespace assay::harness {

// The line that probably causes the failure.
struct Suspect {
  std::string file;
  std::uint32_t line = 0;
  std::string why;                   // "undoing its difference from x.metal makes the case pass"
  bool is_elsewhere = false;         // in another file than the variant's own
  std::vector<std::string> context;  // lines around it, each with its number; the suspect's line begins with '>'
  std::string repaired;              // these lines in the correct source; empty if it was found in another way
};

struct Finding {
  Verdict given;                     // the first failing case
  Verdict minimal;                   // the smallest case that fails in the same way
  std::vector<std::string> members;  // names of the failing cases of the group
  std::size_t tried = 0;             // number of cases run to find the smallest one
  Classification classification;
  std::vector<std::string> where, where_given;  // localisation in the smallest and in the given case
  std::vector<metal::Hazard> hazards;
  std::optional<ErrorSplit> split;
  std::vector<Suspect> suspects;  // the most likely first
  std::vector<std::string> near;  // cases near the smallest one and their outcomes, one sentence each
  std::string common;             // what only the failing cases have, in a sentence; empty if there is nothing
  std::string repaired_source;    // the whole source with which the failing cases pass; empty: none was found
};

struct TriageOptions {
  std::vector<Case> passed;                      // cases of the variant in the same run, which show what only failing ones have
  std::vector<std::filesystem::path> against;    // the right versions of this kernel, if the user gives any: always explained
  std::vector<std::filesystem::path> relatives;  // other correct sources of the family, with which the kernel is compared
  std::chrono::duration<double> minimise_budget = std::chrono::seconds(4);
  std::size_t most_findings = 4;
  std::size_t most_compilations = 24;  // limit of compilations to find the difference from a source of `relatives`
  std::size_t most_compilations_against = 400;
  bool is_fast = false;  // only what needs no edited kernel: cases, places, hazards, tables, classes
  // Called when this is known of a finding, before lines are searched for; may be null.
  std::function<void(const Finding&)> first_answer = {};
  // Called while edits are tried, with their number so far and that of all; may be null.
  std::function<void(std::size_t, std::size_t)> edits_tried = {};
  // Time for finding a small edit that repairs the kernel if no difference from a correct source does; 0: no search.
  std::chrono::duration<double> repair_budget = std::chrono::seconds(90);
};

// `failures` are verdicts of the laboratory's variant, none of them a success. Returns the findings in the order of
// their first members.
[[nodiscard]] std::vector<Finding> triage(Laboratory& laboratory, std::span<const Verdict> failures, const TriageOptions& options);

}  // namespace assay::harness
