// Counting equal numbers: as sorting them does.
#include "base/tally.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace assay::tests::tally_test {
namespace {

TEST(Tally, CountsAsAMapDoes) {
  std::mt19937 random(7);
  base::Tally tally;
  for (const int kinds : {1, 3, 100, 100000}) {
    tally.begin(1000);
    std::map<double, std::size_t> counts;
    for (int i = 0; i < 1000; ++i) {
      const double number = static_cast<double>(std::uniform_int_distribution<>(0, kinds)(random)) - 1.0;
      EXPECT_EQ(tally.add(number), ++counts[number]);
    }
  }
}

TEST(Tally, HasOneZero) {
  base::Tally tally;
  tally.begin(2);
  EXPECT_EQ(tally.add(0.0), 1U);
  EXPECT_EQ(tally.add(-0.0), 2U);
}

}  // namespace
}  // namespace assay::tests::tally_test
