// Rows of quantised heads: right indices pass, neighbours only where both are right, and what was never written or lies elsewhere shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "families/quantize/rows.h"
#include "harness/judge/judge.h"
#include "metal/buffer.h"

namespace assay::tests::judge_quantized_rows_test {
namespace {

using families::actual_rows;
using families::expected_rows;
using families::QuantizedRows;
using harness::judge;
using harness::Judgement;

constexpr std::size_t kHeads = 2;

// Two heads of 256: index i % 16 everywhere, except that coordinate 10 of the second head may be 10 or 11, and coordinate 20 any of 3 .. 6.
oracles::QuantizedToken token() {
  oracles::QuantizedToken result;
  for (std::size_t i = 0; i < kHeads * 256; ++i) {
    result.lowest.push_back(static_cast<std::uint8_t>(i % 16));
    result.highest.push_back(static_cast<std::uint8_t>(i % 16));
    result.inputs.value.push_back(0.25 * static_cast<double>(i % 16));
    result.inputs.bound.push_back(1e-6);
    result.inputs.magnitude.push_back(4.0);
  }
  result.highest[256 + 10] = 11;
  result.lowest[256 + 20] = 3;
  result.highest[256 + 20] = 6;
  result.norms = {{1.5, 2.5}, {1e-6, 1e-6}, {1.5, 2.5}};
  return result;
}

struct Written {
  std::vector<float> indices, norms{1.5F, 2.5F}, inputs;
  Written() {
    for (std::size_t i = 0; i < kHeads * 256; ++i) {
      indices.push_back(static_cast<float>(i % 16));
      inputs.push_back(0.25F * static_cast<float>(i % 16));
    }
  }
  [[nodiscard]] Judgement judged(bool has_inputs = true) const {
    const families::QuantizedRows rows{256, has_inputs};
    return judge(families::actual_rows(rows, indices, norms, has_inputs ? inputs : std::vector<float>()),
                 families::expected_rows(rows, token(), 4));
  }
};

TEST(QuantizedRows, WhatIsRightPasses) {
  EXPECT_TRUE(Written().judged().passed());
  EXPECT_TRUE(Written().judged(false).passed());
  EXPECT_EQ(Written().judged().compared, 2U * (256 + 1 + 256));
  EXPECT_EQ(Written().judged(false).compared, 2U * (256 + 1));
}

TEST(QuantizedRows, ANeighbourIsRightWhereTheBoundaryIsInDoubtAndNowhereElse) {
  struct Row {
    std::size_t place;
    float index;
    bool passes;
  };
  for (const Row& row : {Row{256 + 10, 10.0F, true}, Row{256 + 10, 11.0F, true}, Row{256 + 10, 9.0F, false}, Row{256 + 10, 12.0F, false},
                         Row{256 + 20, 3.0F, true}, Row{256 + 20, 6.0F, true}, Row{256 + 20, 2.0F, false}, Row{256 + 20, 7.0F, false},
                         Row{10, 11.0F, false}, Row{10, 9.0F, false}, Row{15, 16.0F, false}, Row{15, 200.0F, false}}) {
    Written written;
    written.indices[row.place] = row.index;
    const Judgement judgement = written.judged();
    EXPECT_EQ(judgement.passed(), row.passes) << row.place << " is " << row.index;
    EXPECT_EQ(judgement.above_bound, row.passes ? 0U : 1U);
  }
}

TEST(QuantizedRows, NormsInputsAndHolesShow) {
  Written norm;
  norm.norms[1] = 2.50001F;
  EXPECT_EQ(norm.judged().worst.front().index, 513U + 256U) << "behind the indices of the second row";
  EXPECT_FALSE(norm.judged().passed());

  Written input;
  input.inputs[256 + 7] = 1.7501F;
  EXPECT_EQ(input.judged().worst.front().index, 513U + 257U + 7U);
  EXPECT_FALSE(input.judged().passed());

  Written hole;
  hole.indices[3] = std::bit_cast<float>(metal::kPoisonWord);
  EXPECT_EQ(hole.judged().not_written, 1U);
  EXPECT_FALSE(hole.judged().passed());
}

// An index that several values satisfy says little: too many of them, and the comparison proves nothing.
TEST(QuantizedRows, TooManyDoubtfulIndicesAreMistrusted) {
  const families::QuantizedRows rows{256, false};
  oracles::QuantizedToken doubtful = token();
  for (std::size_t i = 0; i < 60; ++i) doubtful.highest[i] = 15;
  EXPECT_EQ(judge(families::actual_rows(rows, Written().indices, Written().norms, {}), families::expected_rows(rows, doubtful, 4))
                .mistrusted.value()
                .why,
            harness::Distrust::uninformative);
  for (std::size_t i = 40; i < 60; ++i) doubtful.highest[i] = doubtful.lowest[i];
  EXPECT_FALSE(
      judge(families::actual_rows(rows, Written().indices, Written().norms, {}), families::expected_rows(rows, doubtful, 4)).mistrusted);
}

TEST(QuantizedRows, PlacesHaveNames) {
  const families::QuantizedRows rows{512, true};
  EXPECT_EQ(rows.length(), 512U + 2U + 512U);
  EXPECT_EQ(rows.describe(511), "index of coordinate 511");
  EXPECT_EQ(rows.describe(513), "norm of block 1");
  EXPECT_EQ(rows.describe(514), "quantiser input of coordinate 0");
}

TEST(QuantizedRows, RefusesWhatMakesNoRows) {
  EXPECT_THROW(static_cast<void>(families::actual_rows({256, true}, Written().indices, Written().norms, {})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(families::actual_rows({256, false}, Written().indices, std::vector<float>{1.5F}, {})),
               std::invalid_argument);
}

}  // namespace
}  // namespace assay::tests::judge_quantized_rows_test
