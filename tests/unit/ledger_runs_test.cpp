// What is done with whole runs: going on with one, merging shards, telling two apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <limits>

#include "harness/ledger/comparable.h"
#include "harness/ledger/difference.h"
#include "harness/ledger/merge.h"
#include "reports/difference.h"
#include "reports/history.h"
#include "tests/support/files.h"

namespace assay::tests::ledger_runs_test {
namespace {

using namespace harness;

using namespace ::testing;

Verdict verdict_on(const std::string& seed, Status status, double ratio, std::uint64_t digest) {
  Verdict verdict;
  verdict.test_case = parse_case("k/d256/rows2/nwg4/gauss/s" + seed, find_family("reduce"));
  verdict.status = status;
  verdict.judgement.compared = 10;
  verdict.judgement.max_ratio = ratio;
  verdict.digest = digest;
  if (!is_success(status)) verdict.faults = {fault::Told{"wrong"}};
  return verdict;
}

RunDescription description_of(const std::string& shard, std::size_t selected) {
  RunDescription description;
  description.command = "assay gate";
  description.version = "1";
  description.machine = "here";
  description.selected = selected;
  description.shard = shard;
  description.selection = "abc";
  description.environment = {"native", "build", "clang", "-O2", "tools", {{"k", "k.metal", "source"}}};
  return description;
}

RunId record(Ledger& ledger, const RunDescription& description, const std::vector<Verdict>& verdicts) {
  const RunId run = ledger.begin(description);
  Summary summary;
  summary.selected = description.selected;
  for (const Verdict& verdict : verdicts) {
    ledger.started(run, verdict.test_case);
    ledger.record(run, verdict);
    summary.add(format_case(verdict.test_case), verdict);
  }
  summary.stopped = summary.finished() < summary.selected;
  ledger.finish(run, summary);
  return run;
}

TEST(LedgerRuns, TheNewestThatWasAskedForTheSameIsFound) {
  Ledger ledger = Ledger::in_memory();
  const RunDescription wanted = description_of("", 1);
  EXPECT_FALSE(find_run_like(ledger, wanted));
  record(ledger, wanted, {});
  const RunId newest = record(ledger, wanted, {});
  for (auto change : {+[](RunDescription& run) { run.selection = "other"; }, +[](RunDescription& run) { run.shard = "1/2"; },
                      +[](RunDescription& run) { run.schedule = "reverse"; }, +[](RunDescription& run) { run.seed = 1; },
                      +[](RunDescription& run) { run.replay_options = {"--set", "a=1"}; },
                      +[](RunDescription& run) { run.environment.policy = "checked"; }}) {
    RunDescription other = wanted;
    change(other);
    EXPECT_FALSE(find_run_like(ledger, other));
    record(ledger, other, {});
  }
  EXPECT_EQ(find_run_like(ledger, wanted)->id, newest);
}

TEST(LedgerRuns, WhatHasChangedIsNamed) {
  const RunDescription before = description_of("", 1);
  EXPECT_THAT(differences_of(before, before), IsEmpty());
  RunDescription now = before;
  now.environment.build = "another";
  now.environment.compiler = "clang 20";
  now.environment.sources[0].digest = "changed";
  now.environment.sources.push_back({"new", "new.metal", "x"});
  EXPECT_THAT(differences_of(before, now), ElementsAre("build of assay", "compiler: clang, now clang 20", "kernel of k"));
}

TEST(LedgerRuns, ARunThatStillGoesOnIsNotTakenUp) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "ledger.sqlite";
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t other = fork();
  if (other == 0) {
    const RunId run = Ledger::open(file).begin(description_of("", 1));
    [[maybe_unused]] const auto written = write(ready[1], &run, sizeof(run));
    pause();
  }
  RunId run = 0;
  ASSERT_EQ(read(ready[0], &run, sizeof(run)), static_cast<ssize_t>(sizeof(run)));
  Ledger ledger = Ledger::open(file);
  try {
    ledger.take_up(run);
    ADD_FAILURE() << "two processes would write one run";
  } catch (const LedgerError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is still running, in process " + std::to_string(other)));
  }
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  ledger.take_up(run);
  EXPECT_THROW(ledger.take_up(run + 1), LedgerError);
}

TEST(LedgerRuns, ASummaryOfTheLedgerIsThatOfTheRun) {
  Ledger ledger = Ledger::in_memory();
  Summary summary;
  const RunId run = ledger.begin(description_of("", 4));
  std::vector<Verdict> verdicts = {verdict_on("1", Status::passed, 0.5, 11), verdict_on("2", Status::failed, 3, 12),
                                   verdict_on("3", Status::known, 9, 13)};
  verdicts[2].known = {"docs/FINDINGS.md#1"};
  verdicts[0].stages.push_back({"later", true, false, {fault::BrokenPromise{"wrong merge", {}}}, {}});
  for (const Verdict& verdict : verdicts) {
    ledger.started(run, verdict.test_case);
    ledger.record(run, verdict);
    summary.add(format_case(verdict.test_case), verdict);
  }
  const Summary again = summary_of(4, ledger.cases(run));
  EXPECT_EQ(again.counts, summary.counts);
  EXPECT_EQ(again.digest, summary.digest);
  EXPECT_EQ(again.elements.compared, summary.elements.compared);
  EXPECT_EQ(again.known_elements.compared, summary.known_elements.compared);
  EXPECT_EQ(again.known_findings, summary.known_findings);
  EXPECT_EQ(again.largest_ratio, 3);
  EXPECT_EQ(again.largest_ratio_case, summary.largest_ratio_case);
  EXPECT_EQ(again.stage_failures, 1U);
  EXPECT_TRUE(again.stopped);
}

class LedgerMerge : public ::testing::Test {
 protected:
  Ledger ledger(const std::string& name) const { return Ledger::open(folder_.path() / name); }
  static std::string refusal_of(std::span<const ShardRun> shards, Ledger& into) {
    try {
      static_cast<void>(merge_runs(shards, "assay merge", into));
    } catch (const LedgerError& error) {
      EXPECT_THAT(into.runs(), IsEmpty()) << "half a merge is left behind";
      return error.what();
    }
    return "nothing was refused";
  }
  TemporaryFolder folder_;
};

TEST_F(LedgerMerge, TwoShardsAreTheWhole) {
  const Verdict one = verdict_on("1", Status::passed, 0.5, 11);
  const Verdict two = verdict_on("2", Status::failed, 2, 12);
  const Verdict three = verdict_on("3", Status::passed, 0.25, 13);
  Ledger first = ledger("1"), second = ledger("2"), whole = ledger("whole"), merged = ledger("merged");
  const std::vector<ShardRun> shards = {{&first, record(first, description_of("1/2", 2), {one, three})},
                                        {&second, record(second, description_of("2/2", 1), {two})}};
  const RunId unsharded = record(whole, description_of("", 3), {one, two, three});
  const Merge merge = merge_runs(shards, "assay merge", merged);
  EXPECT_THAT(merge.missing, IsEmpty());
  const RunRecord run = merged.run(merge.run);
  const RunRecord expected = whole.run(unsharded);
  EXPECT_EQ(run.digest, expected.digest);
  EXPECT_EQ(run.verdicts, 3U);
  EXPECT_EQ(run.failures, 1U);
  EXPECT_FALSE(run.stopped);
  EXPECT_EQ(run.description.selected, 3U);
  EXPECT_EQ(run.description.shard, "");
  EXPECT_EQ(run.description.environment.sources, expected.description.environment.sources);
  const RunDifference difference = difference_of(whole.cases(unsharded), merged.cases(merge.run), 0);
  EXPECT_EQ(difference.in_both, 3U);
  EXPECT_EQ(difference.other_bits, 0U);
  EXPECT_THAT(difference.drifted, IsEmpty());
}

TEST_F(LedgerMerge, SaysWhatIsMissing) {
  Ledger first = ledger("1"), merged = ledger("merged");
  const std::vector<ShardRun> shards = {{&first, record(first, description_of("1/2", 2), {verdict_on("1", Status::passed, 0.5, 11)})}};
  const Merge merge = merge_runs(shards, "assay merge", merged);
  EXPECT_THAT(merge.missing, ElementsAre("shard 2/2 was not given", HasSubstr("has verdicts on 1 of its 2 cases")));
  EXPECT_TRUE(merged.run(merge.run).stopped);
}

TEST_F(LedgerMerge, RefusesWhatDoesNotBelongTogether) {
  Ledger first = ledger("1"), second = ledger("2"), merged = ledger("merged");
  const ShardRun one = {&first, record(first, description_of("1/2", 1), {verdict_on("1", Status::passed, 0.5, 11)})};
  const auto with = [&](RunDescription description) {
    return ShardRun{&second, record(second, description, {verdict_on("2", Status::passed, 0.5, 12)})};
  };
  RunDescription other_kernel = description_of("2/2", 1);
  other_kernel.environment.sources[0].digest = "changed";
  RunDescription other_selection = description_of("2/2", 1);
  other_selection.selection = "def";
  RunDescription old = description_of("", 1);
  old.selection.clear();
  EXPECT_THAT(refusal_of(std::vector{one, with(other_kernel)}, merged), HasSubstr("differ: kernel of k"));
  EXPECT_THAT(refusal_of(std::vector{one, with(other_selection)}, merged), HasSubstr("different selections"));
  EXPECT_THAT(refusal_of(std::vector{one, with(description_of("", 1))}, merged), HasSubstr("is a whole run, not a shard"));
  EXPECT_THAT(refusal_of(std::vector{one, with(description_of("2/3", 1))}, merged),
              HasSubstr("is shard 2 of 3, but others are shards of 2"));
  EXPECT_THAT(refusal_of(std::vector{one, one}, merged), HasSubstr("shard 1 of 2, which was given already"));
  EXPECT_THAT(refusal_of(std::vector{with(old)}, merged), HasSubstr("did not store the selected cases"));
}

TEST(RunDifference, ReportsWhatBrokeHealedAndDrifted) {
  Ledger ledger = Ledger::in_memory();
  Verdict costly = verdict_on("5", Status::passed, 0.5, 5);
  costly.cost.emplace().barriers = 100;
  Verdict cheaper = costly;
  cheaper.cost->barriers = 50;
  const RunId before = record(
      ledger, description_of("", 7),
      {verdict_on("1", Status::passed, 0.1, 1), verdict_on("2", Status::failed, 2, 2), verdict_on("3", Status::passed, 0.1, 3),
       verdict_on("4", Status::passed, 0.1, 4), costly, verdict_on("6", Status::failed, 2, 6), verdict_on("7", Status::passed, 0.1, 7)});
  const double kInfinite = std::numeric_limits<double>::infinity();
  const RunId after = record(ledger, description_of("", 7),
                             {verdict_on("1", Status::failed, kInfinite, 1), verdict_on("2", Status::passed, 0.1, 2),
                              verdict_on("3", Status::passed, 0.4, 33), verdict_on("4", Status::passed, 0.12, 44), cheaper,
                              verdict_on("6", Status::timeout, 0, 6), verdict_on("8", Status::passed, 0.1, 8)});
  const RunDifference difference = difference_of(ledger.cases(before), ledger.cases(after), 0.05);
  const auto names = [](const std::vector<CaseChange>& changes) {
    std::vector<std::string> seeds;
    for (const CaseChange& change : changes) seeds.push_back(change.name.substr(change.name.rfind('s')));
    return seeds;
  };
  EXPECT_THAT(names(difference.broke), ElementsAre("s1"));
  EXPECT_THAT(names(difference.healed), ElementsAre("s2"));
  EXPECT_THAT(names(difference.drifted), ElementsAre("s3"));
  EXPECT_THAT(names(difference.changed), ElementsAre("s6"));
  EXPECT_THAT(difference.only_before, ElementsAre(HasSubstr("s7")));
  EXPECT_THAT(difference.only_after, ElementsAre(HasSubstr("s8")));
  EXPECT_EQ(difference.in_both, 6U);
  EXPECT_EQ(difference.other_bits, 2U);
  EXPECT_DOUBLE_EQ(difference.largest_drift, 0.30000000000000004);
  ASSERT_EQ(difference.costs.size(), 1U);
  EXPECT_EQ(difference.costs[0].figure, "barriers");
  EXPECT_THAT(names(difference_of(ledger.cases(before), ledger.cases(after), 0.01).drifted), ElementsAre("s3", "s4"));

  const reports::ComparedRuns runs = {ledger.run(before), ledger.run(after), "a", "b", 0.05};
  const std::string text = reports::difference_text(runs, difference, 20);
  EXPECT_THAT(text, HasSubstr("broke (1):\n  k/d256/rows2/nwg4/gauss/s1\n    passed -> failed: wrong\n    again: assay run k/"));
  EXPECT_THAT(text, HasSubstr("barriers  100 -> 50  (-50.00 %)"));
  EXPECT_THAT(text, HasSubstr("6 cases in both: 1 broke, 1 healed, 1 changed otherwise, 1 drifted by more than 0.05; different bits in 2"));
  const std::string json = reports::difference_json(runs, difference);
  EXPECT_THAT(json, HasSubstr("\"ratio_after\": null")) << "infinity is no JSON number";
}

}  // namespace
}  // namespace assay::tests::ledger_runs_test
