// Triage of kernels in a foreign style: attention kernels with a planted mistake, and no right source to compare with.
//
// The mistakes are kinds that real attention kernels were shipped with. CTest tries those that landmarks alone find.
// ASSAY_FOREIGN_STYLE=all tries all, prints a line for each with its time, and takes half an hour; ASSAY_FOREIGN_STYLE=<part of a name>
// tries those; ASSAY_FOREIGN_STYLE=twins tries the twins of the variants, which nobody looked at while landmarks were written.
// ASSAY_REPAIR_SECONDS limits the search for edits; 0 leaves what landmarks say. tests/faults/planted/README.md holds the record.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/triage/landmarks.h"
#include "harness/triage/triage.h"
#include "tests/faults/foreign_style.h"
#include "tests/faults/twin_variant.h"

namespace assay::tests::foreign_style_test {
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

Hit try_one(const ForeignRow& row, std::optional<double> repair_seconds) {
  const TwinVariant variant(row.variant, *row.twin);
  const harness::Case given = variant.parse(row.twin->caught.case_words, "");
  harness::Laboratory laboratory({.catalogue = variant.catalogue(), .variant = std::string(row.variant), .workbench = {}, .run = {}});
  const harness::Verdict failure = laboratory.verdict(given);
  // A case that the launch rejects says nothing about the kernel.
  if (is_success(failure.status) || failure.status == harness::Status::rejected) {
    ADD_FAILURE() << row.twin->name << ": " << to_string(failure.status) << ' ' << harness::format_case(given);
    return {};
  }
  harness::TriageOptions options;
  if (repair_seconds) options.repair_budget = std::chrono::duration<double>(*repair_seconds);
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
  std::optional<double> repair_seconds;
  if (which.empty()) repair_seconds = 0;
  if (const char* seconds = std::getenv("ASSAY_REPAIR_SECONDS")) repair_seconds = std::stod(seconds);
  std::size_t right = 0;
  std::vector<double> times;
  for (const ForeignRow& row : rows) {
    const Hit hit = try_one(row, repair_seconds);
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

struct RightKernel {
  std::string_view variant, words;
};

// No landmark is wrong in them, however they are written.
TEST(ForeignStyle, ARightKernelGetsNoLine) {
  constexpr RightKernel kernels[] = {
      {"attn_simd_v1", "half/d64x64/b1/h4x2/q2/k33/additive/planes_head/gauss/s1"},
      {"attn_tiles_v1", "half/d64x64/b1/h4x2/q33/k65/causal/gauss/s1"},
      {"attn_blocks_v1", "float/d64x64/b1/h6x3/q1/k33/k_q8_0/alibi/mask_half/blhd/nsg4/gauss/s1"},
      {"attn_paged_v1", "half/d64x64/b2/h4x2/q1/k65/nomask/page16room0/nsg2/gauss/s1"},
      {"attn_split_v1", "float/d64x64/b1/h4x2/q2/k65/nomask/mask_half/cap30/blocks3/gauss/s1"},
      {"attn_nwg_v1", "float/d256x256/b1/h4x2/q1/k65/k_half/window31/blocks2/gauss/s1"},
      {"tq4_v1", "d256/h2x1/kv65c65/ring3/win31/nwg3/gauss/s1"},
      {"bf16_prefill_v2", "b1/h1x1/q2/kv33r7/causal1x1/low/gauss/s1"},
      {"bf16_vec_v2", "b1/h2x1/q1/kv65r0/nomask/nsg1/gauss/s1"},
  };
  for (const RightKernel& kernel : kernels) {
    const std::vector<kernels::Variant> ours = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
    const auto variant = std::ranges::find(ours, kernel.variant, &kernels::Variant::name);
    ASSERT_NE(variant, ours.end());
    harness::Laboratory laboratory({.catalogue = ours, .variant = std::string(kernel.variant), .workbench = {}, .run = {}});
    const harness::Case test_case =
        harness::parse_case(fmt::format("{}/{}", kernel.variant, kernel.words), families::find_family(variant->family));
    auto observation = laboratory.observe(test_case);
    ASSERT_TRUE(observation) << kernel.variant;
    EXPECT_FALSE(observation->is_failure()) << kernel.variant;
    EXPECT_FALSE(harness::find_landmarks(laboratory, *observation)) << kernel.variant;
    // If the output is said to be wrong, only its place is left.
    for (double& value : observation->actual) value += 1;
    const auto found = harness::find_landmarks(laboratory, *observation);
    ASSERT_TRUE(found) << kernel.variant;
    EXPECT_THAT(found->sentence, ::testing::HasSubstr("has the right output")) << kernel.variant << ": " << found->line;
  }
}

}  // namespace
}  // namespace assay::tests::foreign_style_test
