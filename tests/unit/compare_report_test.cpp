// Reports of a comparison against golden files, and the headline for every kind of outcome.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "families/family.h"
#include "reports/comparison.h"
#include "tests/support/files.h"

namespace assay::tests::compare_report_test {
namespace {

using namespace reports;

using harness::CaseComparison;
using harness::Status;
using namespace ::testing;

CaseComparison compared(const std::string& words, bool is_same) {
  CaseComparison one;
  one.pair.old_case = harness::parse_case("tq4_v1" + words, families::find_family("tq4"));
  one.pair.old_case.variant = "tq4_v1";
  one.pair.new_case = one.pair.old_case;
  one.pair.new_case.variant = "mine";
  one.old_side = {Status::passed, {}, 0.25, 1, {}};
  one.new_side = {Status::passed, {}, is_same ? 0.25 : 0.125, is_same ? 1U : 2U, {}};
  one.is_compared = true;
  one.is_same_bits = is_same;
  one.elements = 512;
  one.row_length = 256;
  if (!is_same) {
    one.differing = 3;
    one.ulps = {2, 300, 0.5, 0.50000012};
    one.bounds = {0.0625, 301, -1.0, -1.25};
  }
  return one;
}

ComparisonRun some_run() {
  ComparisonRun run;
  run.command = "assay compare tq4_v1 mine";
  run.suite = "smoke";
  run.seconds = 1.5;
  run.old_variant.name = "tq4_v1";
  run.old_variant.source = "ours/tq4_v1/kernel.metal";
  run.old_variant.accuracy.dot_depth = 13;
  run.old_variant.limits = {{"block_norms", {0}, 3, false}};
  run.new_variant = run.old_variant;
  run.new_variant.name = "mine";
  run.new_variant.source = "mine/kernel.metal";
  run.new_variant.accuracy.dot_depth = 12;
  run.new_variant.constants.emplace("chunk", std::vector{metal::FieldValue::of(std::int64_t{64})});
  run.cases.cases = {compared("/d256/h1x1/kv32c32/ring0/nomask/nwg1/gauss/s1", true),
                     compared("/d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s2", false),
                     compared("/d256/h1x1/kv34c34/ring0/nomask/nwg1/gauss/s3", false)};
  CaseComparison& broken = run.cases.cases[2];
  broken.new_side = {Status::failed, {harness::fault::AboveBound{3}}, std::numeric_limits<double>::infinity(), 2, {}};
  broken.ulps.value = std::numeric_limits<double>::infinity();
  run.cases.only_old = {{"tq4_v1/d512/h1x1/kv32c32/ring0/nomask/nwg1/gauss/s1", "mine supports only head_dim = 256"}};
  run.claims = {{"mine", "same_bits_as:tq4_v1@nwg=1", 3, 2, "mine/d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s2"}};
  run.costs.cases = {"mine/d256/h1x1/kv32c32/ring0/nomask/nwg1/gauss/s1"};
  run.costs.old_cost.device_bytes_read = 2000;
  run.costs.new_cost.device_bytes_read = 1000;
  run.costs.minimum.bytes_read = 900;
  run.costs.old_cost.barriers = run.costs.new_cost.barriers = 1234567;
  run.smallest = run.cases.cases[1].pair;
  harness::Parting parting;
  parting.function = "attention";
  parting.thread = 7;
  parting.old_side = {"ours/tq4_v1/kernel.metal", 12, "S = S * ms + sum;", 1.5};
  parting.new_side = {"mine/kernel.metal", 13, "S = fma(S, ms, sum);", {}};
  parting.occurrence = 1;
  parting.agreed = 4321;
  parting.place = "slot 32 of KV head 0, chunk 1 of 32 keys";
  parting.chunk = 1;
  parting.changes = {{{12, 1, 12, 2}, {"    S = S * ms + sum;"}, {"    // Once.", "    S = fma(S, ms, sum);"}, true}};
  parting.further_changes = 2;
  run.parting.parting = parting;
  run.notes = {"declared accuracy of mine: none"};
  return run;
}

TEST(ComparisonReport, IsTheGoldenText) { expect_golden("comparison.txt", comparison_text(some_run())); }
TEST(ComparisonReport, IsTheGoldenMarkdown) { expect_golden("comparison.md", comparison_markdown(some_run())); }
TEST(ComparisonReport, IsTheGoldenJson) { expect_golden("comparison.json", comparison_json(some_run())); }

TEST(ComparisonReport, OfEqualBitsNamesNoDistance) {
  ComparisonRun run = some_run();
  run.cases.cases.resize(1);
  run.cases.only_old.clear();
  run.smallest.reset();
  EXPECT_EQ(comparison_headline(run), "same bits in all 1 case");
  EXPECT_THAT(comparison_text(run), Not(HasSubstr("largest difference")));
}

TEST(ComparisonReport, SaysWhatWasNotCompared) {
  ComparisonRun run = some_run();
  run.cases.cases[2].is_compared = false;
  run.cases.stopped = true;
  EXPECT_EQ(comparison_headline(run),
            "different bits in 1 of 2 cases with outputs from both (3 in total), 1 broke, 1 only in old; stopped before the end");
  run.cases.cases.clear();
  EXPECT_THAT(comparison_headline(run), HasSubstr("no outputs to compare"));
}

TEST(ComparisonReport, SaysWhyThereIsNoLine) {
  ComparisonRun run = some_run();
  run.parting = {{}, "it was interrupted"};
  EXPECT_THAT(comparison_text(run), HasSubstr("not found: it was interrupted"));
  EXPECT_THAT(comparison_json(run), HasSubstr("\"parting\": null"));
}

TEST(ComparisonReport, SaysWhichDeviceExecuted) {
  ComparisonRun run = some_run();
  run.replay_options = {"--device", "cuda:1", "--math", "fast"};
  EXPECT_THAT(comparison_text(run), HasSubstr("suite smoke, executed on cuda:1, fast mathematics, in 1.5 s"));
  EXPECT_THAT(comparison_markdown(run), HasSubstr("suite `smoke`, executed on cuda:1, fast mathematics.\n"));
  EXPECT_THAT(comparison_json(run), HasSubstr(R"("executed_on": "cuda:1, fast mathematics")"));
}

}  // namespace
}  // namespace assay::tests::compare_report_test
