// Family `attention`: where its tensors lie, what is stored in them, and which numbers expressions see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "families/attention/contract.h"
#include "families/attention/inputs.h"
#include "families/attention/names.h"
#include "families/registry.h"
#include "fixtures/generators.h"
#include "harness/cases/case.h"
#include "harness/cases/suite.h"
#include "oracles/arithmetic.h"
#include "tests/unit/attention_variants.h"

namespace assay::tests::attention_family_test {
namespace {

using namespace families::attention;
using namespace ::testing;

harness::Case parsed(const std::string& words) {
  return harness::parse_case("mine/" + words + "/gauss/s1", families::find_family("attention"));
}
Shape shape(const std::string& words) { return shape_of(parsed(words)); }

Inputs inputs_of(const Shape& of, const std::string& toml = "[limits]\ndk = [64]\n", std::string_view name = "gauss") {
  const auto fixture = std::ranges::find(fixtures::all_fixtures(), name, &fixtures::Fixture::name);
  return make_inputs(of, {.generator = &*fixture, .file = {}, .tensors = {}}, attention_variant(toml));
}

std::vector<std::int64_t> strides(const Layouts& layouts, std::string_view tensor) {
  std::vector<std::int64_t> all;
  for (const auto& axis : layouts.at(tensor).tensor.axes) all.push_back(axis.stride);
  return all;
}

// The bytes of a buffer without gigabytes.
std::span<const std::byte> stored(const Inputs& inputs, std::string_view buffer) {
  return inputs.memory.find(buffer)->second.buffer(buffer).contents[0].bytes;
}

template <typename T>
T at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

TEST(AttentionLayout, HeadsBeforeTokens) {
  const Layouts layouts(shape("half/d64x128/b2/h4x2/q3/k33/nomask/room7"));
  EXPECT_THAT(strides(layouts, "q"), ElementsAre(768, 192, 64, 1));
  EXPECT_THAT(strides(layouts, "k"), ElementsAre(5120, 2560, 64, 1));
  EXPECT_THAT(strides(layouts, "v"), ElementsAre(10240, 5120, 128, 1));
  EXPECT_THAT(strides(layouts, "out"), ElementsAre(1536, 384, 128, 1));
  EXPECT_THAT(strides(layouts, "lse"), ElementsAre(12, 3, 1));
}

TEST(AttentionLayout, TokensBeforeHeads) {
  const Layouts layouts(shape("float/d64x64/b2/h4x2/q3/k33/k_q8_0/nomask/blhd"));
  EXPECT_THAT(strides(layouts, "q"), ElementsAre(768, 64, 256, 1));
  EXPECT_THAT(strides(layouts, "k"), ElementsAre(132, 2, 4, 1)) << "in blocks of 34 bytes";
  EXPECT_EQ(layouts.at("k").tensor.element_bytes, 34);
}

TEST(AttentionLayout, OneBufferForAll) {
  const Layouts layouts(shape("half/d64x64/b2/h4x2/q3/k3/nomask/packed"));
  EXPECT_THAT(strides(layouts, "q"), ElementsAre(1536, 64, 512, 1));
  EXPECT_EQ(layouts.at("q").tensor.offset, 0);
  EXPECT_EQ(layouts.at("k").tensor.offset, 256);
  EXPECT_EQ(layouts.at("v").tensor.offset, 384);
  EXPECT_EQ(layouts.at("v").buffer, "qkv");
  EXPECT_EQ(layouts.bytes("qkv"), 6144U);
}

TEST(AttentionLayout, GapsDifferBetweenTensorsAndAxes) {
  const Layouts kv(shape("half/d64x64/b2/h4x2/q3/k33/nomask/gaps_kv"));
  EXPECT_THAT(strides(kv, "q"), ElementsAre(768, 192, 64, 1));
  EXPECT_THAT(strides(kv, "k"), ElementsAre(4784, 2392, 72, 1));
  EXPECT_THAT(strides(kv, "v"), ElementsAre(5344, 2672, 80, 1));
  const Layouts all(shape("half/d64x64/b2/h4x2/q3/k33/nomask/gaps_all"));
  EXPECT_THAT(strides(all, "k"), ElementsAre(4792, 2392, 72, 1));
  EXPECT_THAT(strides(all, "q"), ElementsAre(1272, 312, 88, 1));
  EXPECT_THAT(strides(all, "out"), ElementsAre(1440, 352, 96, 1));
}

// Where the last row of a tensor begins.
std::size_t last_row(const std::string& words, std::string_view tensor) {
  const Placed placed = Layouts(shape(words)).at(tensor);
  std::size_t element = 0;
  for (const auto& axis : placed.tensor.axes) {
    if (axis.name != "dim") element += static_cast<std::size_t>((axis.extent - 1) * axis.stride);
  }
  return element * static_cast<std::size_t>(placed.tensor.element_bytes);
}

TEST(AttentionLayout, FarTensorsHaveMoreThanFourGigabytes) {
  constexpr std::size_t kFar = std::size_t{1} << 32U;
  const std::string all = "half/d64x64/b2/h4x2/q1/k33/boolean/planes_both/mask_gaps/gaps_all/far";
  for (const std::string_view tensor : {"q", "k", "v"}) {
    EXPECT_GT(last_row(all, tensor), kFar) << tensor;
    EXPECT_LT(last_row(all, tensor), kFar + kFar / 16) << tensor;
  }
  EXPECT_GT(last_row(all, "mask"), kFar / 2);
  EXPECT_LT(last_row(all, "mask"), kFar) << "strides of masks may be uint32, in bytes";
  EXPECT_LT(last_row(all, "out"), 1U << 16U);
  EXPECT_GT(last_row("float/d64x64/b1/h1x1/q1/k33/k_q8_0/nomask/blhd/gaps_kv/far", "k"), kFar) << "tokens are far apart";
  EXPECT_LT(last_row("half/d64x64/b2/h4x2/q1/k33/nomask/gaps_kv/far", "q"), 1U << 16U);
  EXPECT_THROW(families::find_family("attention").validate(parsed("half/d64x64/b2/h4x2/q1/k33/nomask/far")), std::invalid_argument);
}

TEST(AttentionLayout, EachFarAxisAloneHasMoreThanFourGigabytes) {
  constexpr std::int64_t kFar = std::int64_t{1} << 32U;
  // Bytes in front of the last index of an axis of the keys: batch, head or key.
  const auto before_last = [](const std::string& words, std::size_t axis) {
    const Layouts all(shape(words));
    const kernels::NamedTensor& keys = all.at("k").tensor;
    return (keys.axes[axis].extent - 1) * keys.axes[axis].stride * keys.element_bytes;
  };
  EXPECT_GT(before_last("float/d64x64/b3/h1x1/q1/k65/nomask/gaps_kv/far", 0), kFar);
  EXPECT_GT(before_last("float/d64x64/b3/h1x1/q1/k65/nomask/blhd/gaps_kv/far", 0), kFar);
  EXPECT_GT(before_last("float/d64x64/b1/h4x4/q1/k65/nomask/gaps_kv/far", 1), kFar);
  EXPECT_GT(before_last("float/d64x64/b1/h1x1/q1/k65/nomask/blhd/gaps_kv/far", 2), kFar);
}

TEST(AttentionLayout, MasksHaveAStrideOfZeroWhereTheyAreShared) {
  EXPECT_THAT(strides(Layouts(shape("half/d64x64/b2/h4x2/q3/k33/additive")), "mask"), ElementsAre(0, 0, 33, 1));
  EXPECT_THAT(strides(Layouts(shape("half/d64x64/b2/h4x2/q3/k33/additive/planes_head")), "mask"), ElementsAre(0, 99, 33, 1));
  EXPECT_THAT(strides(Layouts(shape("half/d64x64/b2/h4x2/q3/k33/additive/planes_batch")), "mask"), ElementsAre(99, 0, 33, 1));
  EXPECT_THAT(strides(Layouts(shape("half/d64x64/b2/h4x2/q3/k33/boolean/planes_both/mask_gaps")), "mask"), ElementsAre(716, 179, 49, 1));
}

TEST(AttentionLayout, PagesArePermutedAndSharedOnceInTheFirstPage) {
  const Shape paged = shape("half/d64x64/b3/h4x2/q1/k65/nomask/page16room0");
  EXPECT_EQ(paged.pages(), 5U);
  EXPECT_EQ(block_count(paged), 18U);
  EXPECT_THAT(strides(Layouts(paged), "k"), ElementsAre(2048, 1024, 64, 1));
  std::set<std::size_t> used;
  std::vector<std::size_t> first;
  for (std::size_t batch = 0; batch < 3; ++batch) {
    first.push_back(block_of(paged, batch, 0));
    for (std::size_t page = 1; page < 5; ++page) used.insert(block_of(paged, batch, page));
  }
  EXPECT_THAT(first, Each(first.front()));
  EXPECT_EQ(used.size(), 12U);
  EXPECT_FALSE(used.contains(first.front()));
  EXPECT_THAT(used, Each(Lt(18U)));
  EXPECT_NE(block_of(paged, 0, 2), block_of(paged, 0, 1) + 1) << "pages must not follow each other";

  const Shape ragged = shape("half/d64x64/b3/h4x2/q1/k65/nomask/page16room0/ragged");
  EXPECT_NE(block_of(ragged, 0, 0), block_of(ragged, 1, 0)) << "a batch of one key does not fill a page";
}

TEST(AttentionShape, LengthsAndPositions) {
  EXPECT_THAT(shape("half/d64x64/b3/h4x2/q2/k65/causal/ragged").kv_len, ElementsAre(32, 1, 65));
  EXPECT_THAT(shape("half/d64x64/b3/h4x2/q2/k65/causal/ragged_empty").kv_len, ElementsAre(0, 1, 65));
  const Shape end = shape("half/d64x64/b2/h4x2/q2/k65/causal/ragged");
  EXPECT_EQ(end.position(1, 1), 64);
  EXPECT_EQ(end.position(0, 1), 31) << "the last key of its own batch";
  EXPECT_TRUE(end.sees(0, 0, 30));
  EXPECT_FALSE(end.sees(0, 0, 31));
  const Shape window = shape("half/d64x64/b1/h4x2/q2/k65/causal_window31/offset_zero");
  EXPECT_TRUE(window.sees(0, 1, 1));
  EXPECT_FALSE(window.sees(0, 1, 2));
  EXPECT_TRUE(shape("half/d64x64/b1/h4x2/q1/k65/window31").sees(0, 0, 34));
  EXPECT_FALSE(shape("half/d64x64/b1/h4x2/q1/k65/window31").sees(0, 0, 33));
  EXPECT_EQ(shape("half/d64x64/b1/h4x2/q3/k65/causal/offset_other").offset, 31);
}

TEST(AttentionShape, ContradictionsAreRefused) {
  for (const char* words : {"half/d64x64/b1/h4x3/q1/k1/nomask", "half/d72x72/b1/h1x1/q1/k1/k_q8_0/nomask",
                            "half/d64x64/b1/h1x1/q1/k1/nomask/ring1room0", "half/d64x64/b1/h1x1/q2/k1/nomask/packed",
                            "half/d64x64/b1/h1x1/q1/k1/window0", "half/d64x64/b2/h1x1/q1/k9/nomask/page8room0/shared_kv",
                            "half/d64x64/b2/h1x1/q2/k9/alibi/ragged", "half/d64x64/b1/h1x1/q1/k1/nomask/packed/gaps_kv"})
    EXPECT_THROW(validate(parsed(words)), std::invalid_argument) << words;
}

// How many rows of a stored mask hide all keys.
std::size_t hidden_rows(const std::string& words, const std::string& fixture, std::uint64_t seed) {
  Shape of = shape(words);
  of.seed = seed;
  const auto generator = std::ranges::find(fixtures::all_fixtures(), fixture, &fixtures::Fixture::name);
  const std::vector<float> mask =
      make_inputs(of, {.generator = &*generator, .file = {}, .tensors = {}}, attention_variant("[limits]\ndk = [64]\n")).mask;
  std::size_t hidden = 0;
  for (std::size_t at = 0; at < mask.size(); at += of.keys) {
    if (std::ranges::all_of(std::span(mask).subspan(at, of.keys), [](float value) { return std::isinf(value); })) ++hidden;
  }
  return hidden;
}

TEST(AttentionInputs, StoredMasksOfEveryThirdSeedHideWholeRows) {
  for (const std::string kind : {"boolean", "additive"}) {
    EXPECT_EQ(hidden_rows("half/d64x64/b1/h1x1/q1/k33/" + kind, "gauss", 3), 1U) << "the only row";
    EXPECT_EQ(hidden_rows("half/d64x64/b1/h1x1/q1/k33/" + kind, "gauss", 1), 0U);
    EXPECT_EQ(hidden_rows("half/d64x64/b2/h4x2/q3/k33/" + kind + "/planes_both", "gauss", 3), 8U) << "of 24";
    EXPECT_EQ(hidden_rows("half/d64x64/b1/h4x2/q8/k33/" + kind, "mask_rows", 1), 2U) << "with every seed";
  }
}

// The elements of the stored mask that show a key.
std::vector<std::size_t> shown(const std::string& words, std::string_view fixture) {
  const std::vector<float> mask = inputs_of(shape(words), "[limits]\ndk = [64]\n", fixture).mask;
  std::vector<std::size_t> keys;
  for (std::size_t key = 0; key < mask.size(); ++key) {
    if (std::isfinite(mask[key])) keys.push_back(key);
  }
  return keys;
}

TEST(AttentionInputs, MasksHideWholePartsOfTheKeys) {
  for (const std::string kind : {"boolean", "additive"}) {
    const std::string words = "half/d64x64/b1/h1x1/q1/k8/" + kind;
    EXPECT_THAT(shown(words, "mask_late"), ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(shown(words, "mask_last"), ElementsAre(7));
    EXPECT_THAT(shown(words, "mask_ends"), ElementsAre(0, 7));
  }
}

TEST(AttentionInputs, DistancesUnderACausalMaskHideLaterKeys) {
  EXPECT_THAT(shown("half/d64x64/b1/h1x1/q2/k4/causal_alibi", "gauss"), ElementsAre(0, 1, 2, 4, 5, 6, 7)) << "of two rows";
}

TEST(AttentionInputs, OneKeyAboveAllOthersOverflowsAnExponentialRelativeToThem) {
  for (const std::string words : {"half/d64x64/b1/h1x1/q1/k40/nomask", "float/d64x64/b1/h1x1/q1/k40/k_q4_0/nomask/scale_one"}) {
    const Shape of = shape(words);
    const Inputs inputs = inputs_of(of, "[limits]\ndk = [64]\n", "one_key_above");
    std::vector<double> scores(of.keys);
    for (std::size_t at = 0; at < inputs.k.size(); ++at)
      scores[at / of.dk] += static_cast<double>(of.scale) * static_cast<double>(inputs.q[at % of.dk]) * static_cast<double>(inputs.k[at]);
    const double last = scores.back();
    scores.pop_back();
    EXPECT_GT(last - std::ranges::max(scores), 89.0) << words;
  }
}

TEST(AttentionInputs, LargeBuffersHaveRowsOnly) {
  const Inputs inputs = inputs_of(shape("half/d64x64/b1/h2x2/q1/k2/nomask/room20000000"));
  const families::JobBuffer buffer = inputs.memory.at("k").buffer("k");
  constexpr std::size_t kHead = std::size_t{20'000'002} * 128;
  EXPECT_EQ(buffer.size, 2 * kHead);
  EXPECT_EQ(buffer.gap, families::Gap::untouched);
  ASSERT_EQ(buffer.contents.size(), 4U);
  EXPECT_EQ(buffer.contents[3].at, kHead + 128);
  EXPECT_EQ(static_cast<float>(oracles::half_value(at<std::uint16_t>(buffer.contents[3].bytes, 126))), inputs.k.back());
}

TEST(AttentionInputs, EightBitBlocks) {
  const Shape of = shape("float/d64x64/b1/h1x1/q1/k2/k_q8_0/nomask");
  const Inputs inputs = inputs_of(of);
  const std::span<const std::byte> bytes = stored(inputs, "k");
  ASSERT_EQ(bytes.size(), 2U * 2 * 34);
  std::int8_t largest = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t block = i / 32 * 34;
    const auto code = at<std::int8_t>(bytes, block + 2 + i % 32);
    if (i < 32) largest = std::max<std::int8_t>(largest, static_cast<std::int8_t>(std::abs(code)));
    EXPECT_EQ(inputs.k[i], static_cast<float>(oracles::half_value(at<std::uint16_t>(bytes, block)) * code));
  }
  EXPECT_GE(largest, 126);
}

TEST(AttentionInputs, FourBitBlocks) {
  const Inputs plain = inputs_of(shape("float/d64x64/b1/h1x1/q1/k2/k_q4_0/nomask"));
  const Inputs with_minimum = inputs_of(shape("float/d64x64/b1/h1x1/q1/k2/k_q4_1/nomask"));
  const std::span<const std::byte> bytes = stored(plain, "k");
  const std::span<const std::byte> more = stored(with_minimum, "k");
  ASSERT_EQ(bytes.size(), 2U * 2 * 18);
  ASSERT_EQ(more.size(), 2U * 2 * 20);
  int lowest = 15;
  std::set<int> codes;
  for (int i = 0; i < 32; ++i) {
    const auto code = [&](std::span<const std::byte> all, std::size_t first) {
      const int both = std::to_integer<int>(all[first + static_cast<std::size_t>(i % 16)]);
      return i < 16 ? both & 15 : both >> 4;
    };
    lowest = std::min(lowest, code(bytes, 2));
    codes.insert(code(more, 4));
    const auto index = static_cast<std::size_t>(i);
    EXPECT_EQ(plain.k[index], static_cast<float>(oracles::half_value(at<std::uint16_t>(bytes, 0)) * (code(bytes, 2) - 8)));
    EXPECT_EQ(with_minimum.k[index], static_cast<float>(oracles::half_value(at<std::uint16_t>(more, 2)) +
                                                        oracles::half_value(at<std::uint16_t>(more, 0)) * code(more, 4)));
  }
  EXPECT_EQ(lowest, 0) << "the code of -8";
  EXPECT_THAT(codes, IsSupersetOf({0, 15}));
}

TEST(AttentionInputs, WhatLiesBehindTheKeysIsPoisonUnlessDeclared) {
  const Shape of = shape("float/d64x64/b1/h1x1/q1/k2/nomask/room40");
  const auto row = [&](const Inputs& inputs, std::size_t key) { return at<float>(stored(inputs, "k"), key * 256); };
  EXPECT_TRUE(std::isnan(row(inputs_of(of), 2)));
  const Inputs readable = inputs_of(of, "[limits]\ndk = [64]\n[attention]\nreads_padding = 32\n");
  EXPECT_TRUE(std::isfinite(row(readable, 2)));
  EXPECT_TRUE(std::isfinite(row(readable, 33)));
  EXPECT_TRUE(std::isnan(row(readable, 34)));
}

TEST(AttentionInputs, RingsAndSinks) {
  const Shape of = shape("half/d64x64/b1/h2x1/q1/k8/nomask/sinks_typed/ring5room0");
  const Inputs inputs = inputs_of(of);
  EXPECT_EQ(of.slot(0), 5U);
  EXPECT_EQ(of.slot(3), 0U);
  EXPECT_EQ(static_cast<float>(oracles::half_value(at<std::uint16_t>(stored(inputs, "k"), 0))), inputs.k[3 * 64]);
  EXPECT_EQ(static_cast<float>(oracles::half_value(at<std::uint16_t>(stored(inputs, "sinks"), 2))), inputs.sinks[1]);
}

// Scores of the only query, in float types, with the scale 1/8.
std::vector<double> scores_of(const Inputs& inputs) {
  std::vector<double> scores;
  for (std::size_t first = 0; first < inputs.k.size(); first += 64) {
    double dot = 0.0;
    for (std::size_t c = 0; c < 64; ++c) dot += static_cast<double>(inputs.q[c]) * static_cast<double>(inputs.k[first + c]);
    scores.push_back(dot / 8.0);
  }
  return scores;
}

TEST(AttentionInputs, ScoresBelowEveryFiniteStartOfAMaximum) {
  for (const std::string_view type : {"float", "half", "bfloat"}) {
    const Inputs inputs =
        inputs_of(shape(fmt::format("{}/d64x64/b1/h1x1/q1/k33/nomask", type)), "[limits]\ndk = [64]\n", "below_sentinels");
    for (const double score : scores_of(inputs)) {
      EXPECT_LT(score, -32752.0 - 104.0) << type;
      EXPECT_GT(score, -65504.0) << type;
    }
  }
}

TEST(AttentionInputs, ADominatingSinkLeavesDigitsForHalf) {
  for (const int seed : {1, 2, 3, 870}) {
    Shape of = shape("half/d64x64/b1/h3x1/q1/k1/nomask/sinks");
    of.seed = static_cast<std::uint64_t>(seed);
    const Inputs inputs = inputs_of(of, "[limits]\ndk = [64]\n", "sink_dominates");
    const double score = scores_of(inputs)[0];
    for (const float sink : inputs.sinks) {
      EXPECT_GT(static_cast<double>(sink), score + 1.0) << seed;
      EXPECT_LT(static_cast<double>(sink), score + 10.0) << seed;
    }
  }
}

TEST(AttentionInputs, SlopesOfAlibi) {
  EXPECT_THAT(inputs_of(shape("float/d64x64/b1/h8x8/q1/k2/alibi")).slopes,
              ElementsAre(0.5F, 0.25F, 0.125F, 0.0625F, 0.03125F, 0.015625F, 0.0078125F, 0.00390625F));
  // Of 6 heads, four have powers of 2^-2, and two the odd powers of 2^-1.
  EXPECT_THAT(inputs_of(shape("float/d64x64/b1/h6x6/q1/k2/alibi")).slopes,
              ElementsAre(0.25F, 0.0625F, 0.015625F, 0.00390625F, 0.5F, 0.125F));
}

TEST(AttentionNames, ValuesOfACase) {
  const CaseNames names(shape("half/d64x128/b3/h8x2/q2/k33/k_q4_1/out_float/causal_window31/offset_other/cap30/ring5room9/blocks3/nsg4"),
                        8);
  const auto text = [&](std::string_view name) { return kernels::to_string(names.value(name).value()); };
  EXPECT_EQ(text("b") + text("h") + text("g") + text("lq") + text("lk"), "382233");
  EXPECT_EQ(text("dk") + " " + text("dv"), "64 128");
  EXPECT_EQ(text("type") + text("k_type") + text("v_type") + text("out_type"), "'half''q4_1''q4_1''float'");
  EXPECT_EQ(text("mask") + text("cache") + text("layout"), "'causal_window''ring''bhld'");
  EXPECT_EQ(text("window") + " " + text("offset") + " " + text("capacity") + " " + text("ring_start"), "31 15 42 5");
  EXPECT_EQ(text("scale") + " " + text("softcap") + " " + text("sinks") + " " + text("max_bias"), "0.125 30.0 false 0");
  EXPECT_EQ(text("blocks") + text("nsg") + text("kv_batches"), "343");
  EXPECT_EQ(text("at_end"), "false");
  EXPECT_EQ(kernels::to_string(CaseNames(shape("half/d64x64/b1/h1x1/q1/k1/nomask"), 8).value("at_end").value()), "true");
  EXPECT_FALSE(names.value("unknown"));
  for (const std::string& name : names.all()) EXPECT_TRUE(names.value(name) || names.tensor(name) != nullptr) << name;
}

TEST(AttentionCases, NamesParseBack) {
  for (const kernels::Variant& variant : kernels::find_variants(kernels::default_variants_directory(), families::contracts())) {
    if (variant.family != "attention") continue;
    for (const harness::Case& test_case : harness::suite_cases(harness::Suite::gate, variant, 0)) {
      const harness::Case again = harness::parse_case(harness::format_case(test_case), families::find_family("attention"));
      EXPECT_EQ(again.values, test_case.values) << harness::format_case(test_case);
      EXPECT_EQ(again.fixture, test_case.fixture);
    }
  }
}

}  // namespace
}  // namespace assay::tests::attention_family_test
