// What a repair changes, and the class of mistake that it tells.
#include "harness/triage/repaired_thing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "families/mistakes.h"
#include "families/registry.h"
#include "kernels/variant.h"

namespace assay::tests::repaired_thing_test {
namespace {

namespace mistake = families::mistake;
using harness::RepairedThing;

// Of a kernel of another style, whose names only its launch explains: what the repair tells if the kernel had `wrong` for `right`.
std::optional<RepairedThing> thing_of(std::string_view right, std::string_view wrong) {
  static const kernels::Variant variant = [] {
    for (const kernels::Variant& one : kernels::find_variants(ASSAY_SOURCE_DIR "/tests/faults/strangers", families::contracts())) {
      if (one.name == "ribbon") return one;
    }
    throw std::runtime_error("there is no kernel 'ribbon'");
  }();
  const std::string repaired = kernels::read_text(variant.source);
  const std::size_t at = repaired.find(right);
  if (at == std::string::npos) throw std::runtime_error("the kernel has no such text");
  std::string source = repaired;
  source.replace(at, right.size(), wrong);
  return harness::repaired_thing(variant, source, repaired);
}

TEST(RepairedThing, TheLimitOfALoopIsAboutWhatItsLineNames) {
  const std::optional<RepairedThing> thing = thing_of("- (kFromEnd ? plan.longest", "+ (kFromEnd ? plan.longest");
  ASSERT_TRUE(thing);
  EXPECT_EQ(thing->kind, mistake::kMask) << thing->says;
  EXPECT_TRUE(thing->is_vague);
}

TEST(RepairedThing, TheLimitOfALoopAloneIsAboutKeys) {
  const std::optional<RepairedThing> thing = thing_of("int begin = 0, end = present;", "int begin = 0, end = present - 1;");
  ASSERT_TRUE(thing);
  EXPECT_EQ(thing->kind, mistake::kChunk) << thing->says;
  EXPECT_TRUE(thing->is_vague);
  EXPECT_TRUE(thing->is_limit);
}

TEST(RepairedThing, ANameMeansWhatTheLaunchGivesToIt) {
  const std::optional<RepairedThing> thing = thing_of("plan.cap * precise::tanh(", "precise::tanh(");
  ASSERT_TRUE(thing);
  EXPECT_EQ(thing->kind, mistake::kSoftcap) << thing->says;
  EXPECT_FALSE(thing->is_vague);
}

TEST(RepairedThing, AFlagMeansWhatItIsSetFor) {
  const std::optional<RepairedThing> thing = thing_of("if (kForward) end", "if (row > 0) end");
  ASSERT_TRUE(thing);
  EXPECT_EQ(thing->kind, mistake::kMask) << thing->says;
}

TEST(RepairedThing, AWiderTypeIsAboutPrecision) {
  const std::optional<RepairedThing> thing = thing_of("float score = 0.0f;", "half score = 0.0f;");
  ASSERT_TRUE(thing);
  EXPECT_EQ(thing->kind, mistake::kHalf) << thing->says;
}

// Of a variant of ours.
std::optional<RepairedThing> thing_of_ours(std::string_view name, std::string_view right, std::string_view wrong) {
  const std::vector<kernels::Variant> all = kernels::find_variants(ASSAY_SOURCE_DIR "/kernels/variants", families::contracts());
  const auto variant = std::ranges::find(all, name, &kernels::Variant::name);
  if (variant == all.end()) throw std::runtime_error("there is no such kernel");
  const std::string repaired = kernels::read_text(variant->source);
  std::string source = repaired;
  source.replace(source.find(right), right.size(), wrong);
  return harness::repaired_thing(*variant, source, repaired);
}

// Norms of `tq4_v1` are those of one head behind those of the other.
TEST(RepairedThing, AFactorOfAnIndexOfNormsIsAStride) {
  constexpr std::string_view right = "V_norms + kv_head * cap";
  const std::optional<RepairedThing> stride = thing_of_ours("tq4_v1", right, "V_norms + kv_head * n");
  ASSERT_TRUE(stride);
  EXPECT_EQ(stride->kind, mistake::kStride) << stride->says;
  const std::optional<RepairedThing> place = thing_of_ours("tq4_v1", right, "V_norms");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->kind, mistake::kNorm) << place->says;
}

TEST(RepairedThing, AnIndexOfCodesOfABlockChoosesTheCode) {
  const std::optional<RepairedThing> code = thing_of_ours("attn_blocks_v1", "block.qs[i % 32 + 1]", "block.qs[i % 32]");
  ASSERT_TRUE(code);
  EXPECT_EQ(code->kind, mistake::kNibbles) << code->says;
  EXPECT_FALSE(code->is_vague);
  const std::optional<RepairedThing> scale = thing_of_ours("attn_blocks_v1", "float(block.d) * float2", "float2");
  EXPECT_TRUE(!scale || scale->kind != mistake::kNibbles);
}

TEST(RepairedThing, AFactorInASumOverLanesWeighsItsAddends) {
  const std::optional<RepairedThing> weight = thing_of_ours("attn_nwg_v1", "simd_sum(S * factor)", "simd_sum(S) * factor");
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->kind, mistake::kRescale) << weight->says;
}

TEST(RepairedThing, AFactorOfWhatAnotherSimdgroupHandsOverIsAWeight) {
  const std::optional<RepairedThing> weight = thing_of_ours("bf16_vec_v2", "(kDim / 4)]) * f1)", "(kDim / 4)]))");
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->kind, mistake::kRescale) << weight->says;
}

TEST(RepairedThing, TheStagesOfASumOverLanesAreNoChunks) {
  constexpr std::string_view loop = "for (ushort far = 16; far > 0; far /= 2) sum += simd_shuffle_xor(sum, far);";
  const auto variant = kernels::variant_from_path(ASSAY_SOURCE_DIR "/tests/faults/strangers/ribbon", {}, families::contracts());
  const std::string before = "kernel void mine(device float * out, float sum) {\n  ";
  const std::string repaired = before + std::string(loop) + "\n  out[0] = sum;\n}\n";
  std::string source = repaired;
  source.replace(source.find("far > 0"), 7, "far > 1");
  const std::optional<RepairedThing> lanes = harness::repaired_thing(variant, source, repaired);
  ASSERT_TRUE(lanes);
  EXPECT_EQ(lanes->kind, mistake::kCoordinates) << lanes->says;
}

// The sums come from threadgroup memory, as many things do.
TEST(RepairedThing, WordsBesideTheChangeSayMoreThanArraysBehindIt) {
  constexpr std::string_view right = "norm = sqrt((block == 0 ? sum0 : sum1) / 256.0f)";
  const std::optional<RepairedThing> norm = thing_of_ours("quantize4_v1", right, "norm = sqrt((sum0 + sum1) / 512.0f)");
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->kind, mistake::kNorm) << norm->says;
}

}  // namespace
}  // namespace assay::tests::repaired_thing_test
