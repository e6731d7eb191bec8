// Chains of our kernels, right ones and such with a mistake of the host between the kernels.
#include "tests/chain/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::tests::chain_test {
namespace {

using namespace ::testing;

std::string name_of(const ChainPlan& plan) {
  std::string name = "bits" + std::to_string(plan.bits) + "_d" + std::to_string(plan.head_dim) + "_ring" + std::to_string(plan.capacity) +
                     "_tokens" + std::to_string(plan.tokens);
  if (plan.window > 0) name += "_window" + std::to_string(plan.window);
  if (plan.nsg > 1) name += "_nsg" + std::to_string(plan.nsg);
  return name + (plan.fused ? "_fused" : "");
}

std::vector<std::string> stage_names(const ChainResult& result) {
  std::vector<std::string> names;
  for (const ChainStage& stage : result.stages) names.push_back(stage.name);
  return names;
}

class Chains : public ::testing::TestWithParam<ChainPlan> {};

TEST_P(Chains, EveryStageAndTheWholeAreRight) {
  const ChainPlan plan = GetParam();
  const ChainResult result = run_chain(plan);
  for (const ChainStage& stage : result.stages) EXPECT_TRUE(stage.passed) << stage.name << ": " << stage.reason;
  EXPECT_LE(result.largest_whole_ratio, 1.0);
  EXPECT_THAT(result.hazards, IsEmpty());

  // Nothing was left out: a dispatch for each token's key and value, then one a stage.
  const std::vector<std::string> stages = {"quantise", "rotate", "attend", "reduce", "undo"};
  std::vector<std::string> expected = stages;
  if (plan.fused) std::erase(expected, "rotate");
  EXPECT_THAT(stage_names(result), ElementsAreArray(expected));
  EXPECT_EQ(result.stages.front().dispatches, 2 * plan.tokens);
  // Storage was not free, or the source level would be the stored one; and the bound is no wider than it has to be.
  EXPECT_GT(result.similarity.nrmse, 0.3 * result.expected_nrmse);
  EXPECT_GT(result.largest_whole_ratio, 0.1);
  RecordProperty("nrmse", std::to_string(result.similarity.nrmse));
  RecordProperty("expected_nrmse", std::to_string(result.expected_nrmse));
  RecordProperty("mean_cosine", std::to_string(result.similarity.mean_cosine));
  RecordProperty("error_over_bound", std::to_string(result.largest_whole_ratio));
}

// A claim of tqhb_v2 (KERNELS: fuse = 1 is the premult of fwht followed by fuse = 0), bit by bit.
TEST(FusedRotation, GivesTheBitsOfThePremultAndTheKernelWithoutIt) {
  const std::vector<ChainPlan> plans = {
      {.bits = 5, .head_dim = 256, .tokens = 50, .nsg = 1, .seed = 2}, {.bits = 5, .head_dim = 512, .tokens = 50, .nsg = 4, .seed = 3},
      {.bits = 6, .head_dim = 256, .tokens = 50, .nsg = 2, .seed = 4}, {.bits = 6, .head_dim = 512, .tokens = 50, .nsg = 1, .seed = 5},
      {.bits = 8, .head_dim = 256, .tokens = 50, .nsg = 4, .seed = 6}, {.bits = 8, .head_dim = 512, .tokens = 50, .nsg = 2, .seed = 7}};
  for (ChainPlan plan : plans) {
    const std::vector<float> apart = run_chain(plan).attended;
    const std::vector<float> unrotated = run_chain(plan, {.rotation = families::FwhtMode::standalone}).attended;
    plan.fused = true;
    const std::vector<float> fused = run_chain(plan).attended;
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(fused)), std::as_bytes(std::span(apart)))) << testing::PrintToString(plan);
    EXPECT_NE(fused, unrotated) << "the rotation does not matter here: " << testing::PrintToString(plan);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, Chains,
    ::testing::Values(ChainPlan{.bits = 4, .head_dim = 256, .capacity = 40, .tokens = 24},   // a ring that is not full yet
                      ChainPlan{.bits = 4, .head_dim = 256, .capacity = 64, .tokens = 128},  // and one that begins at slot 0 again
                      ChainPlan{.bits = 4, .head_dim = 256, .capacity = 33, .tokens = 115, .window = 20},
                      ChainPlan{.bits = 4, .head_dim = 512, .capacity = 48, .tokens = 100},
                      ChainPlan{.bits = 5, .head_dim = 256, .heads = 8, .capacity = 40, .tokens = 97, .window = 33, .nwg = 3},
                      ChainPlan{.bits = 5, .head_dim = 512, .capacity = 37, .tokens = 60, .nsg = 2},
                      ChainPlan{.bits = 6, .head_dim = 256, .capacity = 70, .tokens = 90, .nwg = 2, .fused = true},
                      ChainPlan{.bits = 6, .head_dim = 512, .capacity = 45, .tokens = 151, .window = 31, .nwg = 16},
                      ChainPlan{.bits = 8, .head_dim = 256, .capacity = 32, .tokens = 127, .nsg = 4},
                      ChainPlan{.bits = 8, .head_dim = 512, .heads = 3, .kv_heads = 1, .capacity = 50, .tokens = 120, .fused = true}),
    [](const auto& parameter) { return name_of(parameter.param); });

struct FaultyChain {
  std::string_view name;
  ChainPlan plan;
  ChainMistakes mistakes;
  std::vector<std::string> caught_by;  // exactly these stages, and the whole
};
void PrintTo(const FaultyChain& chain, std::ostream* stream) { *stream << chain.name; }

// The ring wraps twice; the window makes it matter where it starts.
constexpr ChainPlan kFour = {.bits = 4, .head_dim = 256, .capacity = 40, .tokens = 97, .window = 12};
constexpr ChainPlan kSix = {.bits = 6, .head_dim = 512, .capacity = 40, .tokens = 97, .window = 12};
constexpr ChainPlan kEight = {.bits = 8, .head_dim = 256, .capacity = 40, .tokens = 97};

class FaultyChains : public ::testing::TestWithParam<FaultyChain> {};

TEST_P(FaultyChains, AreCaughtWhereTheyShow) {
  const ChainResult result = run_chain(GetParam().plan, GetParam().mistakes);
  EXPECT_THAT(result.failures(), ElementsAreArray(GetParam().caught_by)) << "error/bound of the whole " << result.largest_whole_ratio;
  // The same chain without the mistake.
  EXPECT_THAT(run_chain(GetParam().plan).failures(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Each, FaultyChains,
    ::testing::Values(FaultyChain{"QueryRotatedBackwards", kFour, {.rotation = families::FwhtMode::undo}, {"rotate", "whole"}},
                      FaultyChain{"QueryRotatedWithoutSigns", kSix, {.rotation = families::FwhtMode::standalone}, {"rotate", "whole"}},
                      FaultyChain{"OutputRotatedForwards", kFour, {.undoing = families::FwhtMode::premult}, {"undo", "whole"}},
                      FaultyChain{"OutputUndoneWithoutSigns", kEight, {.undoing = families::FwhtMode::standalone}, {"undo", "whole"}},
                      // One token more or less at the far end of a window can drown in what 4 bits cost; more bits show it.
                      FaultyChain{"WritePositionOneOff", kFour, {.write_shift = 1}, {"quantise"}},
                      FaultyChain{"WritePositionOneOffInWideCodes", kSix, {.write_shift = 1}, {"quantise", "whole"}},
                      // Without a window the ring holds the same tokens wherever it starts: only the stage can know.
                      FaultyChain{"WritePositionOneOffWithoutWindow", kEight, {.write_shift = 1}, {"quantise"}},
                      FaultyChain{"RingStartOneOff", kFour, {.ring_shift = 1}, {"attend"}},
                      FaultyChain{"RingStartOneOffInWideCodes", kSix, {.ring_shift = 1}, {"attend", "whole"}},
                      FaultyChain{"NormsOfTheOtherBlock", kSix, {.swaps_block_norms = true}, {"attend", "whole"}},
                      FaultyChain{"CodebookOfSixBitsForEight", kEight, {.attention_bits = 6}, {"attend", "whole"}},
                      FaultyChain{"CodebookOfEightBitsForSix", kSix, {.attention_bits = 8}, {"attend", "whole"}},
                      // Every kernel follows its arguments: only the whole chain shows the mistake.
                      FaultyChain{"ValuesOfTheTokenBefore", kEight, {.values_are_late = true}, {"whole"}}),
    [](const auto& parameter) { return std::string(parameter.param.name); });

}  // namespace
}  // namespace assay::tests::chain_test
