// Triage of kernels in a foreign style: attention kernels with a planted mistake, and no right source to compare with.
//
// The mistakes are kinds that real attention kernels were shipped with. CTest tries a few. ASSAY_FOREIGN_STYLE=all tries all, prints a
// line for each with its time, and takes half an hour; ASSAY_FOREIGN_STYLE=<part of a name> tries those; ASSAY_FOREIGN_STYLE=twins tries
// the twins of the variants, which nobody looked at while landmarks were written. ASSAY_REPAIR_SECONDS limits the search for edits; 0
// leaves what landmarks say. tests/faults/planted/README.md holds the record.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "harness/triage/minimise.h"
#include "harness/triage/triage.h"
#include "tests/faults/foreign_style.h"
#include "tests/faults/twin_variant.h"

namespace assay::tests {
namespace {

struct Hit {
  bool is_right = false;
  double seconds = 0;
};

// The first and last line in which the right text and the wrong one differ, in the wrong one.
std::pair<std::size_t, std::size_t> lines_of(const TwinVariant& variant, const Twin& twin) {
  const std::string& wrong = variant.text();
  const std::size_t place = variant.place();
  std::size_t same = 0, tail = 0;
  const std::size_t shorter = std::min(twin.from.size(), twin.to.size());
  while (same < shorter && twin.from[same] == twin.to[same]) ++same;
  while (tail < shorter - same && twin.from[twin.from.size() - 1 - tail] == twin.to[twin.to.size() - 1 - tail]) ++tail;
  const auto line_at = [&](std::size_t offset) { return 1 + static_cast<std::size_t>(std::ranges::count(wrong.substr(0, offset), '\n')); };
  return {line_at(place + same), line_at(place + twin.to.size() - tail)};
}

Hit try_one(const ForeignRow& row) {
  const TwinVariant variant(row.variant, *row.twin);
  const harness::Case given = variant.parse(row.twin->caught.case_words, "");
  harness::Laboratory laboratory({.catalogue = variant.catalogue(), .variant = std::string(row.variant), .workbench = {}, .run = {}});
  const harness::Verdict failure = laboratory.verdict(given);
  if (is_success(failure.status)) {
    ADD_FAILURE() << row.twin->name << " passes " << harness::format_case(given);
    return {};
  }
  harness::TriageOptions options;
  if (const char* seconds = std::getenv("ASSAY_REPAIR_SECONDS")) options.repair_budget = std::chrono::duration<double>(std::stod(seconds));
  const auto start = std::chrono::steady_clock::now();
  const std::vector<harness::Finding> findings = harness::triage(laboratory, std::span(&failure, 1), options);
  Hit hit;
  hit.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (findings.empty()) return hit;
  const harness::Finding& finding = findings.front();
  const auto [first, last] = lines_of(variant, *row.twin);
  constexpr std::size_t near = 3;
  const std::size_t line = finding.suspects.empty() ? 0 : finding.suspects.front().line;
  hit.is_right = line + near >= first && line <= last + near;
  fmt::print("{:<15}{:<34} line {:>3} of {:>3}{} {:5.1f} s  {:<22} {}  {}\n", row.variant, row.twin->name, line, first,
             hit.is_right ? "     " : " MISS", hit.seconds, finding.classification.kind, harness::format_case(finding.minimal.test_case),
             finding.suspects.empty() ? "" : finding.suspects.front().why);
  for (const harness::Suspect& suspect : finding.suspects) fmt::print("      {}: {}\n", suspect.line, suspect.why);
  std::fflush(stdout);
  return hit;
}

TEST(ForeignStyle, TheLineIsNamedWithoutARightSource) {
  const char* asked = std::getenv("ASSAY_FOREIGN_STYLE");
  const std::string_view which = asked != nullptr ? asked : "";
  std::vector<ForeignRow> rows = which == "twins" ? twins_of_foreign_style() : foreign_style();
  if (which.empty()) {
    std::erase_if(rows, [](const ForeignRow& row) { return !row.is_quick; });
  } else if (which != "all" && which != "twins") {
    std::erase_if(
        rows, [&](const ForeignRow& row) { return fmt::format("{}/{}", row.variant, row.twin->name).find(which) == std::string::npos; });
  }
  std::size_t right = 0;
  std::vector<double> times;
  for (const ForeignRow& row : rows) {
    const Hit hit = try_one(row);
    right += hit.is_right ? 1 : 0;
    times.push_back(hit.seconds);
  }
  ASSERT_FALSE(times.empty());
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  fmt::print("of {} mistakes the line is right within three in {}; median {:.1f} s\n", times.size(), right, times[times.size() / 2]);
  // 85 % is what the project promises.
  constexpr std::size_t hundred = 100, promised = 85;
  EXPECT_GE(right * hundred, times.size() * promised);
}

}  // namespace
}  // namespace assay::tests
