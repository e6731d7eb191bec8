// What the notes of a run say about failures: what they share, and that weaker storage would explain them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/shared_by_failures.h"
#include "tests/unit/report_runs.h"

namespace assay::tests {
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
        cases.back().judgement.median_bound_ratio = 1e-5;
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
  EXPECT_THAT(
      reports::shared_by_failures(cases_where([](const Record& one, auto dim, auto) { return dim == 256 && one.fixture == "gauss"; })),
      ElementsAre("tq4_v1: only fixture gauss: all 3 failures, and 3 of the cases that passed",
                  "tq4_v1: only head_dim = 256: all 3 failures, and 6 of the cases that passed"));
  EXPECT_THAT(reports::shared_by_failures(cases_where([](const Record&, auto dim, auto nwg) { return dim == 512 || nwg == 2; })),
              IsEmpty());
  EXPECT_THAT(reports::shared_by_failures(cases_where([](const Record&, auto, auto) { return true; })), IsEmpty());
}

TEST(SharedByFailures, SmallErrorsPointToTheDeclarationOfStorage) {
  auto cases = cases_where([](const harness::CaseRecord&, auto dim, auto) { return dim == 512; });
  for (harness::CaseRecord& one : cases) one.judgement.median_bound_ratio = 1e-5;
  EXPECT_THAT(reports::storage_hint(cases),
              AllOf(HasSubstr("off by at most 0.0001 of its magnitude"), HasSubstr("to half"), HasSubstr("[accuracy]")));
  cases[10].judgement.max_ratio = 1000;
  EXPECT_EQ(reports::storage_hint(cases), "");
  cases[10].judgement.max_ratio = 10;
  cases[10].judgement.nans = 1;
  EXPECT_EQ(reports::storage_hint(cases), "");
}

}  // namespace
}  // namespace assay::tests
