// Remarks under --strict, and similar remarks as one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/findings/fault_text.h"
#include "harness/findings/remarks.h"

namespace assay::tests::remarks_test {
namespace {

using namespace harness;
using namespace ::testing;

metal::Hazard remark(std::uint32_t line, const std::string& function = "f", metal::HazardKind kind = metal::HazardKind::simdgroup_race) {
  return {kind, function, "lane 3 reads", {"k.metal", line}, metal::SourceLocation{"k.metal", 9}, 5};
}

Verdict verdict_with(Status status, std::vector<metal::Hazard> remarks) {
  Verdict verdict;
  verdict.status = status;
  verdict.remarks = std::move(remarks);
  return verdict;
}

TEST(StrictRemarks, MakeACaseFailThatHasThem) {
  Verdict verdict = verdict_with(Status::passed, {remark(12), remark(14)});
  settle_remarks(verdict);
  EXPECT_EQ(verdict.status, Status::hazard);
  EXPECT_EQ(reason_of(verdict),
            "a remark, which fails a case under --strict: k.metal:12: race within a simdgroup in f: lane 3 reads, and 1 further remark");
  Verdict known = verdict_with(Status::known, {remark(12)});
  known.known = {"issue 3"};
  known.faults = {fault::KnownFinding{}, fault::Nan{1}};
  settle_remarks(known);
  EXPECT_EQ(known.status, Status::hazard) << "a known finding does not account for it";
  EXPECT_THAT(known.known, IsEmpty());
  Verdict failed = verdict_with(Status::failed, {remark(12)});
  failed.faults = {fault::Nan{1}};
  settle_remarks(failed);
  EXPECT_EQ(failed.status, Status::failed);
  EXPECT_THAT(failed.faults, SizeIs(2));
}

TEST(StrictRemarks, ChangeNoCaseWithoutThem) {
  Verdict verdict = verdict_with(Status::passed, {});
  settle_remarks(verdict);
  EXPECT_EQ(verdict.status, Status::passed);
  EXPECT_THAT(verdict.faults, IsEmpty());
  Verdict skipped = verdict_with(Status::skipped, {remark(1)});
  settle_remarks(skipped);
  EXPECT_EQ(skipped.status, Status::skipped);
}

TEST(StrictRemarks, OfAnotherScheduleAreTakenOnce) {
  Verdict verdict = verdict_with(Status::passed, {remark(12)});
  metal::Hazard swapped = remark(12);
  std::swap(swapped.first, *swapped.second);
  take_remarks(verdict, std::vector{swapped, remark(13)});
  EXPECT_THAT(verdict.remarks, SizeIs(2));
}

TEST(RemarkGroups, AreOfOneVariantKindAndLine) {
  RemarkGroups groups;
  groups.add("v", "v/1", std::vector{remark(12, "f_256"), remark(12, "f_512"), remark(14)});
  groups.add("v", "v/2", std::vector{remark(12, "f_256")});
  groups.add("w", "w/1", std::vector{remark(12)});
  groups.add("v", "v/3", std::vector{remark(12, "f_256", metal::HazardKind::identical_writes)});
  const std::vector<RemarkGroup> all = groups.all();
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(text_of(all[0]), "k.metal:12: race within a simdgroup in f_256 and 1 other function: lane 3 reads (15 times in 2 cases)");
  EXPECT_EQ(all[0].case_name, "v/1");
  EXPECT_TRUE(groups.has_all("v", std::vector{remark(12, "other"), remark(14)}));
  EXPECT_FALSE(groups.has_all("v", std::vector{remark(15)}));
  EXPECT_FALSE(groups.has_all("u", std::vector{remark(12)}));
}

TEST(RemarkGroups, OfOneLineNameTheOtherPlaces) {
  metal::Hazard other = remark(12);
  other.second->line = 10;
  metal::Hazard swapped = other;
  std::swap(swapped.first, *swapped.second);
  RemarkGroups groups;
  groups.add("v", "v/1", std::vector{remark(12), other});
  groups.add("v", "v/2", std::vector{swapped});
  ASSERT_THAT(groups.all(), SizeIs(1));
  EXPECT_EQ(text_of(groups.all()[0]),
            "k.metal:12: race within a simdgroup in f: lane 3 reads (15 times in 2 cases; the other access is also at k.metal:10)");
}

}  // namespace
}  // namespace assay::tests::remarks_test
