// The table runner itself: it must complain about a wrong row and about a table that tests nothing, and about no other.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "tests/conformance/rows.h"

namespace assay::tests::rows_test {
namespace {

TEST(Rows, AWrongWordIsReported) {
  EXPECT_NONFATAL_FAILURE(check_rows("probe", {{"addition", kHand, "o[0] = U(0) + 1;", {1}, {3}}}), "should be 0x00000003");
  check_rows("probe", {{"addition", kHand, "o[0] = U(0) + 1;", {1}, {2}}});
}

TEST(Rows, AWordTooManyIsReported) {
  EXPECT_NONFATAL_FAILURE(check_rows("probe", {{"two words", kHand, "o[0] = 1; o[1] = U(0);", {1}, {1}}}), "writes more words");
}

TEST(Rows, AMissingWordIsReported) {
  EXPECT_NONFATAL_FAILURE(check_rows("probe", {{"one word of two", kHand, "o[0] = U(0);", {1}, {1, 1}}}), "should be 0x00000001");
}

TEST(Rows, OneWrongLaneIsReported) {
  EXPECT_NONFATAL_FAILURE(check_lane_rows("probe", {{"copy", kHand, "o[lane] = U(lane) + (lane == 17 ? 1u : 0u);", Words(32, 5),
                                                     [](const Words& in) { return in; }}}),
                          "lane 17");
}

TEST(Rows, AnEmptyTableFails) {
  EXPECT_FATAL_FAILURE(check_rows("probe", {}), "tests nothing");
  EXPECT_FATAL_FAILURE(check_rows("probe", {{"nothing", kHand, "", {}, {}}}), "tests nothing");
}

}  // namespace
}  // namespace assay::tests::rows_test
