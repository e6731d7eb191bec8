// From failing cases to findings: groups that share a cause, each with its smallest case, where it shows, what it looks like and the line.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/execute/explain.h"
#include "harness/triage/classify.h"
#include "harness/triage/hunks.h"
#include "harness/triage/laboratory.h"

namespace assay::harness {

// The line that is held responsible.
struct Suspect {
  std::string file;
  std::uint32_t line = 0;
  std::string why;                   // "undoing its difference from x.metal makes the case pass"
  bool is_elsewhere = false;         // in another file than the variant's own
  std::vector<std::string> context;  // lines around it, each with its number; the suspect's begins with '>'
  std::string repaired;              // these lines as the right source has them; empty if it was found otherwise
};

struct Finding {
  Verdict given;                     // the first failing case
  Verdict minimal;                   // the smallest that fails in the same way
  std::vector<std::string> members;  // the failing cases of the group, names
  std::size_t tried = 0;             // cases run to find the smallest one
  Classification classification;
  std::vector<std::string> where, where_given;  // localised in the smallest and in the given case
  std::vector<metal::Hazard> hazards;
  std::optional<ErrorSplit> split;
  std::vector<Suspect> suspects;  // the likeliest first
  std::vector<std::string> near;  // cases near the smallest one and how they fared, one sentence each
};

struct TriageOptions {
  std::vector<std::filesystem::path> relatives;  // sources that are right, to hold the kernel against
  std::chrono::duration<double> minimise_budget = std::chrono::seconds(12);
  std::size_t most_findings = 4;
  std::size_t most_compilations = 24;  // to blame a difference
  // To look for a small edit that repairs what differs from no right source; 0: not at all.
  std::chrono::duration<double> repair_budget = std::chrono::seconds(90);
};

// `failures` are verdicts of the laboratory's variant, none of them a success. Findings in the order of their first members.
[[nodiscard]] std::vector<Finding> triage(Laboratory& laboratory, std::span<const Verdict> failures, const TriageOptions& options);

}  // namespace assay::harness
