// The fixtures: repeatable, inside the domain of their families, and made of what their description says.
#include "fixtures/generators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "families/registry.h"
#include "fixtures/counter.h"
#include "fixtures/decode_builder.h"
#include "oracles/attention.h"
#include "oracles/codebook.h"

namespace assay::tests::fixture_generators_test {
namespace {

using fixtures::DecodeInputs;
using fixtures::DecodeRequest;
using oracles::DecodeShape;
using oracles::MaskType;

std::vector<DecodeRequest> requests() {
  const float wide = static_cast<float>(1.0 / std::sqrt(512.0));
  return {
      {.shape = {.heads = 4,
                 .kv_heads = 2,
                 .head_dim = 256,
                 .kv_len = 200,
                 .kv_capacity = 200,
                 .ring_start = 37,
                 .mask_type = MaskType::sliding_window,
                 .sliding_window = 70,
                 .scale = 0.0625F},
       .seed = 1},
      {.shape = {.heads = 2, .kv_heads = 2, .head_dim = 512, .kv_len = 100, .kv_capacity = 160, .scale = wide}, .seed = 2},
      {.shape = {.heads = 8, .kv_heads = 1, .head_dim = 256, .kv_len = 65, .kv_capacity = 65, .ring_start = 64, .scale = 1.0F}, .seed = 3},
      {.shape = {.heads = 1, .kv_heads = 1, .head_dim = 256, .kv_len = 1, .kv_capacity = 4, .scale = 0.0625F}, .seed = 4},
  };
}

std::vector<float> norms_at(const DecodeInputs& inputs, std::size_t position) {
  return {inputs.k_norms[position], inputs.v_norms[position]};
}

TEST(FixtureCounter, NormalHasTheMomentsOfANormal) {
  const fixtures::Counter counter(7, fixtures::Stream::data);
  double sums[5] = {};
  const int count = 1 << 20;
  for (int i = 0; i < count; ++i) {
    const double x = counter.normal(static_cast<std::uint64_t>(i));
    double power = 1.0;
    for (double& sum : sums) {
      sum += power;
      power *= x;
    }
  }
  EXPECT_NEAR(sums[1] / count, 0.0, 0.005);
  EXPECT_NEAR(sums[2] / count, 1.0, 0.007);
  EXPECT_NEAR(sums[3] / count, 0.0, 0.02);
  // A binomial of 56 falls short of 3 by 2/56 of its square share.
  EXPECT_NEAR(sums[4] / count, 3.0 - 2.0 / 56.0, 0.05);
}

TEST(FixtureCounter, ARowHasTheBitsOfItsNumbers) {
  const fixtures::Counter counter(11, fixtures::Stream::key);
  for (const std::size_t size : {0U, 1U, 3U, 4U, 7U, 8U, 31U, 64U, 517U}) {
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{5}, (std::uint64_t{1} << 45U) + 3}) {
      std::vector<double> normals(size);
      std::vector<double> students(size);
      counter.normals(first, normals);
      counter.students(first, students);
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(normals[i]), std::bit_cast<std::uint64_t>(counter.normal(first + i))) << first << " " << i;
        ASSERT_EQ(std::bit_cast<std::uint64_t>(students[i]), std::bit_cast<std::uint64_t>(counter.student(first + i))) << first << " " << i;
      }
    }
  }
}

TEST(FixtureCounter, StreamsAndSeedsDiffer) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const auto stream : {fixtures::Stream::query, fixtures::Stream::key, fixtures::Stream::value}) {
      for (std::uint64_t i = 0; i < 20; ++i) seen.insert(fixtures::Counter(seed, stream).bits(i));
    }
  }
  EXPECT_EQ(seen.size(), 50U * 3U * 20U);
}

TEST(FixtureEncoder, CellFinderIsTheQuantiser) {
  const fixtures::Counter counter(3, fixtures::Stream::data);
  for (const int bits : {4, 5, 6, 8}) {
    const auto table = oracles::codebook(bits);
    const fixtures::CellFinder cells(table);
    for (std::uint64_t i = 0; i < 100000; ++i) {
      const double x = 2.5 * counter.normal(i);
      ASSERT_EQ(cells.find(x), oracles::quantize_coordinate(table, x)) << x;
    }
    for (std::size_t i = 0; i + 1 < table.size(); ++i) {
      const auto boundary = static_cast<double>(0.5F * (table[i] + table[i + 1]));
      for (const double x : {std::nextafter(boundary, -9.0), boundary, std::nextafter(boundary, 9.0)}) {
        ASSERT_EQ(cells.find(x), oracles::quantize_coordinate(table, x));
        const double half = x / 2;
        std::uint8_t cell = 0;
        cells.find({&half, 1}, 2.0, {&cell, 1});
        ASSERT_EQ(cell, oracles::quantize_coordinate(table, half * 2.0));
      }
    }
    EXPECT_EQ(cells.find(-1e30), 0);
    EXPECT_EQ(cells.find(1e30), table.size() - 1);
  }
}

TEST(FixtureRegistry, NamesAreUniqueFoundAndSaidInFull) {
  std::set<std::string_view> names;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    EXPECT_TRUE(names.insert(fixture.name).second) << fixture.name;
    EXPECT_THAT(std::string(fixture.name), testing::MatchesRegex("[a-z][a-z0-9_]*"));
    EXPECT_GT(fixture.catches.size(), 20U) << fixture.name;
    EXPECT_EQ(&fixtures::find_fixture(fixture.name), &fixture);
    EXPECT_TRUE(fixture.decode != nullptr || fixture.reduce != nullptr || fixture.fwht != nullptr || fixture.quantize != nullptr ||
                fixture.dequantize != nullptr || fixture.dense != nullptr ||
                std::ranges::any_of(families::all_families(), [&](const families::Family& family) { return family.has_fixture(fixture); }))
        << fixture.name;
  }
  try {
    (void)fixtures::find_fixture("gaus");
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("\"gaus\""), testing::HasSubstr("needle")));
  }
}

class FixtureDecode : public testing::TestWithParam<std::string> {};

TEST_P(FixtureDecode, IsRepeatableAndAnswersToTheSeed) {
  for (DecodeRequest request : requests()) {
    const auto& fixture = fixtures::find_fixture(GetParam());
    const DecodeInputs a = fixture.decode(request);
    const DecodeInputs b = fixture.decode(request);
    EXPECT_EQ(a.q, b.q);
    EXPECT_EQ(a.k_codes, b.k_codes);
    EXPECT_EQ(a.v_codes, b.v_codes);
    const auto bits = [](const fixtures::SparseVector<float>& norms) {
      std::vector<std::uint32_t> words;
      for (const float norm : norms) words.push_back(std::bit_cast<std::uint32_t>(norm));
      return words;
    };
    EXPECT_EQ(bits(a.k_norms), bits(b.k_norms));
    EXPECT_EQ(bits(a.v_norms), bits(b.v_norms));
    request.seed += 1;
    EXPECT_NE(fixture.decode(request).v_codes, a.v_codes);
  }
}

TEST_P(FixtureDecode, StaysInsideTheDomainAndIsNoConstant) {
  for (const DecodeRequest& request : requests()) {
    const DecodeInputs inputs = fixtures::find_fixture(GetParam()).decode(request);
    const oracles::DomainReport domain = oracles::decode_domain(request.shape, inputs.q, inputs.cache());
    EXPECT_TRUE(domain.inside) << "seed " << request.seed << ": scores " << domain.smallest_visible_score << " to "
                               << domain.largest_visible_score << ", excess " << domain.largest_excess;
    const oracles::Expected expected = oracles::decode_attention(request.shape, inputs.q, inputs.cache());
    // With one visible key there are no more values than centroids; what must not be is a single one.
    EXPECT_GT(std::set<double>(expected.value.begin(), expected.value.end()).size(), 1U);
  }
}

std::vector<std::string> decode_fixture_names() {
  std::vector<std::string> names;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (fixture.decode != nullptr) names.emplace_back(fixture.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Each, FixtureDecode, testing::ValuesIn(decode_fixture_names()),
                         [](const auto& parameter) { return parameter.param; });

TEST(FixtureDecodeProperties, StoredRowsApproximateTheirSource) {
  // A 16-level quantiser made for the normal distribution leaves 0.0095 of its energy (Max 1960, table I). Over 4096 coordinates the
  // few beyond the last centroid move that by a standard deviation of about 4e-4; four of them are allowed.
  for (const auto layout : {oracles::NormLayout::one_per_position, oracles::NormLayout::one_per_block}) {
    DecodeRequest request{.shape = {.heads = 1, .kv_heads = 1, .head_dim = 512, .kv_len = 8, .kv_capacity = 8, .scale = 1.0F},
                          .norm_layout = layout,
                          .scale_factor_d512 = 1.0F};
    fixtures::DecodeBuilder build(request);
    const fixtures::Counter counter(1, fixtures::Stream::data);
    std::vector<double> source(8 * 512);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = 3.0 * counter.normal(i);
    build.fill_queries([](std::size_t, std::size_t i) { return i == 0 ? 1.0 : 0.0; });
    build.fill_keys(
        [&](std::size_t, std::size_t slot, std::span<double> row) { std::copy_n(source.data() + slot * 512, 512, row.data()); });
    build.fill_values(
        [&](std::size_t, std::size_t slot, std::span<double> row) { std::copy_n(source.data() + slot * 512, 512, row.data()); });
    const DecodeInputs inputs = std::move(build).take();
    double error = 0.0;
    double energy = 0.0;
    for (std::size_t slot = 0; slot < 8; ++slot) {
      // Seen through the oracle: only the newest position visible, so its value is the output.
      DecodeShape shape = request.shape;
      shape.ring_start = (slot + 1) % 8;
      shape.mask_type = MaskType::sliding_window;
      shape.sliding_window = 1;
      const auto value = oracles::decode_attention(shape, inputs.q, inputs.cache()).value;
      for (std::size_t j = 0; j < 512; ++j) {
        error += (value[j] - source[slot * 512 + j]) * (value[j] - source[slot * 512 + j]);
        energy += source[slot * 512 + j] * source[slot * 512 + j];
      }
    }
    EXPECT_NEAR(error / energy, 0.0095, 0.0016);
  }
}

TEST(FixtureDecodeProperties, PoisonIsWhereNothingMayReadAndNowhereElse) {
  for (const DecodeRequest& request : requests()) {
    const DecodeShape& shape = request.shape;
    const DecodeInputs inputs = fixtures::find_fixture("poisoned").decode(request);
    const std::vector<std::size_t> visible = oracles::visible_slots(shape);
    std::set<std::size_t> chunks;
    for (const std::size_t slot : visible) chunks.insert(slot / 32);
    std::size_t poisoned = 0;
    for (std::size_t g = 0; g < shape.kv_heads; ++g) {
      for (std::size_t slot = 0; slot < shape.kv_capacity; ++slot) {
        const bool unread = slot >= shape.kv_len || !chunks.contains(slot / 32);
        for (const float norm : norms_at(inputs, g * shape.kv_capacity + slot)) ASSERT_EQ(std::isnan(norm), unread) << slot;
        poisoned += unread ? 1 : 0;
      }
    }
    // The third request shows every slot of its cache.
    if (request.seed != 3) {
      EXPECT_GT(poisoned, 0U) << request.seed;
    }
  }
}

TEST(FixtureDecodeProperties, ScoresAreWhereTheNamesSay) {
  for (const DecodeRequest& request : requests()) {
    const auto domain_of = [&](const char* name) {
      const DecodeInputs inputs = fixtures::find_fixture(name).decode(request);
      return oracles::decode_domain(request.shape, inputs.q, inputs.cache());
    };
    EXPECT_LT(domain_of("all_negative").largest_visible_score, -104.0);
    EXPECT_LT(domain_of("all_negative_deep").largest_visible_score, -32856.0);
    EXPECT_GT(domain_of("large").largest_visible_score, 40000.0);
    const oracles::DomainReport tiny = domain_of("tiny");
    EXPECT_LT(tiny.largest_visible_score - tiny.smallest_visible_score, 1e-30);
    if (request.shape.heads == 1) {
      const oracles::DomainReport uniform = domain_of("uniform");
      EXPECT_EQ(uniform.largest_visible_score, uniform.smallest_visible_score);
    }
  }
}

TEST(FixtureDecodeProperties, HalfEdgeChangesUnderRoundingInOneDirection) {
  const DecodeInputs inputs = fixtures::find_fixture("half_edge").decode(requests()[0]);
  std::size_t off_grid = 0;
  for (const float q : inputs.q) {
    const auto rounded = static_cast<float>(static_cast<_Float16>(q));
    EXPECT_LE(std::abs(rounded), std::abs(q));
    off_grid += rounded != q ? 1 : 0;
  }
  EXPECT_GT(off_grid, inputs.q.size() * 9 / 10);
}

TEST(FixtureDecodeProperties, TinyHasSubnormalNormsAndZeroHasZeros) {
  const DecodeInputs tiny = fixtures::find_fixture("tiny").decode(requests()[0]);
  EXPECT_GT(std::count_if(tiny.v_norms.begin(), tiny.v_norms.end(), [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; }), 50);
  EXPECT_GT(std::count_if(tiny.v_norms.begin(), tiny.v_norms.end(), [](float x) { return std::fpclassify(x) == FP_NORMAL; }), 50);
  const DecodeInputs zero = fixtures::find_fixture("zero").decode(requests()[0]);
  for (const auto* norms : {&zero.k_norms, &zero.v_norms}) {
    const auto zeros = static_cast<std::size_t>(std::count(norms->begin(), norms->end(), 0.0F));
    EXPECT_GT(zeros, 0U);
    EXPECT_LT(zeros, norms->size() / 2);
  }
}

TEST(FixtureReduce, SatisfiesTheContractOfPartials) {
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (fixture.reduce == nullptr) continue;
    for (const std::size_t nwg : {2U, 3U, 32U}) {
      const oracles::PartialsShape shape{.rows = 9, .head_dim = 256, .nwg = nwg};
      const auto raw = fixture.reduce({.shape = shape, .seed = 5});
      ASSERT_EQ(raw.size(), shape.size());
      EXPECT_EQ(raw, fixture.reduce({.shape = shape, .seed = 5}));
      EXPECT_NE(raw, fixture.reduce({.shape = shape, .seed = 6}));
      for (const float x : raw) ASSERT_TRUE(std::isfinite(x));
      for (std::size_t row = 0; row < shape.rows; ++row) {
        for (std::size_t w = 0; w < nwg; ++w) {
          const float sum = raw[shape.sum_index(row, w)];
          // A busy workgroup's sum holds the weight 1 of its own maximum.
          ASSERT_TRUE(sum >= 1.0F || (sum == 0.0F && raw[shape.max_index(row, w)] == -std::numeric_limits<float>::max() / 2.0F))
              << fixture.name;
        }
      }
    }
  }
}

TEST(FixtureFwht, IsFiniteRepeatableAndSeeded) {
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (fixture.fwht == nullptr) continue;
    const auto data = fixture.fwht({.heads = 6, .head_dim = 512, .seed = 5});
    ASSERT_EQ(data.size(), 6U * 512U);
    EXPECT_EQ(data, fixture.fwht({.heads = 6, .head_dim = 512, .seed = 5}));
    for (const float x : data) ASSERT_TRUE(std::isfinite(x));
    // More heads add rows and change none.
    auto more = fixture.fwht({.heads = 7, .head_dim = 512, .seed = 5});
    more.resize(data.size());
    EXPECT_EQ(more, data) << fixture.name;
  }
}

}  // namespace
}  // namespace assay::tests::fixture_generators_test
