// What the notes of a run say about failures: what they share, and that weaker storage would explain them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/page_data.h"
#include "reports/run_json.h"
#include "reports/run_markdown.h"
#include "reports/shared_by_failures.h"
#include "tests/support/json_schema.h"
#include "tests/unit/report_runs.h"

namespace assay::tests::report_shared_test {
namespace {

using namespace ::testing;
using harness::Status;

// Cases of every combination; `fails` decides.
template <typename Fails>
std::vector<harness::CaseRecord> cases_where(Fails fails) {
  std::vector<harness::CaseRecord> cases;
  for (const char* fixture : {"gauss", "query_ties", "drift"}) {
    for (const std::int64_t dim : {256, 512}) {
      for (const std::int64_t nwg : {1, 2, 3}) {
        cases.push_back(record(fmt::format("v/{}/{}/{}", dim, nwg, fixture), "tq4", fixture, Status::passed, 0.5));
        cases.back().axes = {{"head_dim", dim}, {"nwg", nwg}};
        if (!fails(cases.back(), dim, nwg)) continue;
        cases.back().status = Status::failed;
        cases.back().judgement.above_bound = 1;
        cases.back().judgement.max_ratio = 10;
        cases.back().faults = {harness::fault::AboveBound{1}};
      }
    }
  }
  return cases;
}

TEST(SharedByFailures, NamesFixtureAxisAndRange) {
  using Record = harness::CaseRecord;
  EXPECT_THAT(reports::shared_by_failures(cases_where([](const Record& one, auto, auto) { return one.fixture == "query_ties"; })),
              ElementsAre("tq4_v1: only fixture query_ties: all 6 failures, and none of the cases that passed"));
  EXPECT_THAT(reports::shared_by_failures(cases_where([](const Record&, auto dim, auto) { return dim == 512; })),
              ElementsAre("tq4_v1: only head_dim = 512: all 9 failures, and none of the cases that passed"));
  EXPECT_THAT(reports::shared_by_failures(cases_where([](const Record&, auto, auto nwg) { return nwg > 1; })),
              ElementsAre("tq4_v1: only nwg > 1: all 12 failures, and none of the cases that passed"));
  // As many cases that have it pass as fail; too few fail.
  EXPECT_THAT(
      reports::shared_by_failures(cases_where([](const Record& one, auto dim, auto) { return dim == 256 && one.fixture == "gauss"; })),
      IsEmpty());
  EXPECT_THAT(reports::shared_by_failures(
                  cases_where([](const Record& one, auto dim, auto nwg) { return dim == 256 && nwg < 3 && one.fixture == "gauss"; })),
              IsEmpty());
  EXPECT_THAT(reports::shared_by_failures(cases_where([](const Record&, auto dim, auto nwg) { return dim == 512 || nwg == 2; })),
              IsEmpty());
  EXPECT_THAT(reports::shared_by_failures(cases_where([](const Record&, auto, auto) { return true; })), IsEmpty());
}

TEST(SharedByFailures, IsInEveryReport) {
  const std::vector<harness::CaseRecord> cases = cases_where([](const harness::CaseRecord&, auto dim, auto) { return dim == 512; });
  const std::string sentence = "tq4_v1: only head_dim = 512: all 9 failures, and none of the cases that passed";
  EXPECT_THAT(reports::run_markdown(some_run(), cases), HasSubstr("\n- " + sentence + "\n"));
  const auto json = nlohmann::json::parse(reports::run_json(some_run(), cases));
  EXPECT_EQ(json["shared_by_failures"], nlohmann::json({sentence}));
  EXPECT_THAT(Validator(nlohmann::json::parse(read_file(kRoot / "docs/report.schema.json"))).errors_of(json), IsEmpty());
  EXPECT_EQ(nlohmann::json::parse(reports::page_data(some_run(), cases))["shared"], nlohmann::json({sentence}));
  EXPECT_FALSE(nlohmann::json::parse(reports::run_json(some_run(), some_cases())).contains("shared_by_failures"));
}

TEST(SharedByFailures, ALedgerOfManyAxesTakesNoTime) {
  std::vector<harness::CaseRecord> cases = cases_where([](const harness::CaseRecord&, auto dim, auto) { return dim == 512; });
  for (harness::CaseRecord& one : cases) {
    for (int i = 0; i < 200; ++i) one.axes.emplace_back(fmt::format("axis{}", i), i);
  }
  EXPECT_THAT(reports::shared_by_failures(cases), IsEmpty());
}

TEST(SharedByFailures, WordsOfARunAreNoMarkup) {
  std::vector<harness::CaseRecord> cases = cases_where([](const harness::CaseRecord&, auto dim, auto) { return dim == 512; });
  for (harness::CaseRecord& one : cases) one.variant = kHostile;
  const std::string text = reports::run_markdown(some_run(), cases);
  for (const char* markup : {"<script", "<img", "@here", "#1 "}) EXPECT_THAT(text, Not(HasSubstr(markup)));
}

// Cases of which `having` are of head dimension 512 and of fixture query_ties; the first `failing` of these fail.
std::vector<harness::CaseRecord> cases_of_which(std::size_t all, std::size_t having, std::size_t failing) {
  std::vector<harness::CaseRecord> cases;
  for (std::size_t i = 0; i < all; ++i) {
    const std::string fixture = i < having ? "query_ties" : fmt::format("other{}", i % 20);
    cases.push_back(record(fmt::format("v/{}", i), "tq4", fixture, i < failing ? Status::failed : Status::passed, 0.5));
    cases.back().axes = {{"head_dim", i < having ? 512 : 256}};
  }
  return cases;
}

// A statement is about what is rarely shared by chance: by two of 500 cases if only these have it, by 21 even if 12 others have it too.
TEST(SharedByFailures, SaysWhatIsNoCoincidenceAndNotTrivial) {
  const auto said = [](std::size_t all, std::size_t having, std::size_t failing) {
    return reports::shared_by_failures(cases_of_which(all, having, failing));
  };
  EXPECT_THAT(said(501, 2, 2), ElementsAre("tq4_v1: only fixture query_ties: all 2 failures, and none of the cases that passed",
                                           "tq4_v1: only head_dim = 512: all 2 failures, and none of the cases that passed"));
  EXPECT_THAT(said(100, 33, 21), Contains("tq4_v1: only head_dim = 512: all 21 failures, and 12 of the 79 cases that passed"));
  EXPECT_THAT(said(501, 20, 2), IsEmpty()) << "the second of two failures has the fixture of the first in one of 26 runs";
  EXPECT_THAT(said(100, 2, 2), IsEmpty()) << "one of 99";
  EXPECT_THAT(said(100, 40, 5), IsEmpty()) << "five of 100 cases are among these 40 in one of 43 runs";
  EXPECT_THAT(said(500, 480, 300), IsEmpty()) << "no coincidence, but nearly every case has it";
  EXPECT_THAT(said(20, 1, 1), IsEmpty());
}

// Cases of `attention` in two formats, with four masks and lengths; `error_of` gives a case's error, as a part of its magnitude, or 0.
template <typename Error>
std::vector<harness::CaseRecord> attention_cases(Error error_of) {
  std::vector<harness::CaseRecord> cases;
  for (const std::int64_t type : {0, 1}) {
    for (const std::int64_t mask : {0, 1, 4, 5}) {
      for (const std::int64_t keys : {1, 31, 64, 257, 1024}) {
        for (const char* fixture : {"gauss", "drift"}) {
          const double error = error_of(type, mask, keys);
          cases.push_back(record(fmt::format("a/{}/{}/{}/{}", type, mask, keys, fixture), "attention", fixture, Status::passed, 0.5));
          cases.back().axes = {{"type", type}, {"mask", mask}, {"lk", keys}};
          cases.back().judgement.median_bound_ratio = 1e-6;
          if (error == 0) continue;
          cases.back().status = Status::failed;
          cases.back().judgement.above_bound = 1;
          cases.back().judgement.max_ratio = error / 1e-6;
          cases.back().faults = {harness::fault::AboveBound{1}};
        }
      }
    }
  }
  return cases;
}

TEST(SharedByFailures, SaysTheWordsOfAxes) {
  EXPECT_THAT(reports::shared_by_failures(attention_cases([](auto, auto mask, auto) { return mask == 4 ? 1.0 : 0.0; })),
              ElementsAre("attention_v1: only mask = boolean: all 20 failures, and none of the cases that passed"));
  EXPECT_THAT(reports::shared_by_failures(attention_cases([](auto, auto mask, auto) { return mask == 4 || mask == 1 ? 1.0 : 0.0; })),
              ElementsAre("attention_v1: only mask = causal or boolean: all 40 failures, and none of the cases that passed"));
}

TEST(SharedByFailures, FailuresThatStorageMayExplainAreRepeated) {
  constexpr double kHalf = 0x1p-11;
  // Floats lose half's roundings wherever there is more than one key.
  const auto storage = [](double unit) {
    auto cases = attention_cases([=](auto type, auto, auto keys) { return type == 0 && keys > 1 ? 0.7 * unit : 0.0; });
    for (harness::CaseRecord& one : cases) one.oracle_seconds = one.simulator_seconds = 0.1;
    return cases;
  };
  EXPECT_THAT(reports::failures_to_repeat(storage(kHalf)), SizeIs(16)) << "of 32";
  EXPECT_THAT(reports::failures_to_repeat(storage(500 * kHalf)), IsEmpty()) << "far more than any format rounds";

  auto cases = storage(kHalf);
  for (std::size_t i = 2; i < 10; ++i) cases[i].judgement.nans = 1;
  EXPECT_THAT(reports::failures_to_repeat(cases), IsEmpty()) << "no storage explains that";

  cases = storage(kHalf);
  cases[5].judgement.max_ratio *= 7;
  cases[6].oracle_seconds = 3;
  const auto repeated = reports::failures_to_repeat(cases);
  ASSERT_THAT(repeated, SizeIs(16));
  EXPECT_EQ(repeated.front(), &cases[5]) << "the worst comes first";
  EXPECT_THAT(repeated, Not(Contains(&cases[6]))) << "takes long";
}

TEST(SharedByFailures, SmallMistakesInLogicAreNotRepeated) {
  const auto repeated = [](auto error_of) { return reports::failures_to_repeat(attention_cases(error_of)); };
  constexpr double kSmall = 3e-4;
  EXPECT_THAT(repeated([](auto, auto mask, auto) { return mask == 4 ? kSmall : 0.0; }), IsEmpty()) << "one mask";
  EXPECT_THAT(repeated([](auto, auto, auto keys) { return keys % 2 == 1 ? kSmall : 0.0; }), IsEmpty()) << "a tail";
}

TEST(SharedByFailures, TheDeclarationsThatExplainAreNamedTightestFirst) {
  using Trial = reports::StorageTrial;
  const Trial keys{"keys = \"half\"", 20, 0, 0, 0.9}, loose{"scores = \"half\"", 4, 0, 16, 0.9};
  const Trial values{"values = \"half\"", 20, 0, 0, 0.4}, nearly{"stores = [\"half\"]", 19, 1, 0, 0.99};
  const Trial refuted{"accumulator = \"half\"", 17, 3, 0, 0.99};
  EXPECT_THAT(reports::storage_hint("v", {refuted, nearly, loose, values, keys}),
              HasSubstr("v: failures miss their bounds by no more than weaker storage would explain: of 20 repeated, so many pass: "
                        "20 with keys = \"half\", 20 with values = \"half\", 19 with stores = [\"half\"]. A kernel"));
  EXPECT_EQ(reports::storage_hint("v", {refuted, loose}), "");
  EXPECT_EQ(reports::storage_hint("v", {{"keys", 0, 0, 0, 0}}), "") << "stopped before anything was repeated";
}

}  // namespace
}  // namespace assay::tests::report_shared_test
