// Compares two iterations of a kernel, for people (text, Markdown) and for programs (JSON).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/compare.h"

namespace assay::reports {

inline constexpr int kComparisonVersion = 1;

struct ComparisonRun {
  std::string command;  // the command that repeats the comparison
  std::string suite;
  kernels::Variant old_variant, new_variant;
  harness::ComparedCases cases;
  std::vector<harness::ClaimResult> claims;
  harness::CostComparison costs;
  std::optional<harness::CasePair> smallest;  // the smallest pair that differs
  harness::PartingResult parting;             // result for that pair
  std::vector<std::string> notes;
  std::vector<std::string> replay_options;  // as those of a run: they say where the cases were executed
  double seconds = 0;
};

// What the two variant.toml files declare, as rows (key, old, new); rows that are empty on both sides are omitted.
struct DeclaredRow {
  std::string key, old_value, new_value;
};
[[nodiscard]] std::vector<DeclaredRow> declared_rows(const kernels::Variant& old_variant, const kernels::Variant& new_variant);

// Counters of both sides, with the minimum that any kernel needs if it is known.
struct CostRow {
  const char* name;
  std::uint64_t before, after;
  std::optional<std::uint64_t> least;
};
[[nodiscard]] std::vector<CostRow> cost_rows(const harness::CostComparison& costs);

// The summary: "same bits in all 312 cases", or "different bits in 12 of 312 cases".
[[nodiscard]] std::string comparison_headline(const ComparisonRun& run);

// For a terminal: changed verdicts, differences, declarations and claims, costs, and the place where the two diverge.
[[nodiscard]] std::string comparison_text(const ComparisonRun& run);

// The same as Markdown.
[[nodiscard]] std::string comparison_markdown(const ComparisonRun& run);

// {"format": "assay-comparison", "version", "command", "suite", "old", "new": {"variant", "source"}, "headline",
//  "summary": {"compared", "same_bits", "other_bits", "broke", "healed", "only_old", "only_new", "skipped"},
//  "cases": [{"old", "new", "old_status", "new_status", "old_reason", "new_reason", "old_error_over_bound", "new_error_over_bound",
//             "same_bits"?, "elements", "differing", "ulps": {"value", "index", "old", "new"}, "bounds": {...}}],
//  "only_old", "only_new": [{"case", "reason"}], "declared": [{"key", "old", "new"}], "claims": [...], "costs": {...},
//  "parting": {...} or null, "notes", "stopped", "seconds"}. What is not finite is null; same_bits is null where nothing was compared.
[[nodiscard]] std::string comparison_json(const ComparisonRun& run);

}  // namespace assay::reports
