// The quantiser's oracle: cases that can be said in a sentence, 113-bit arithmetic, and float loops from both sides of the bound.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "oracles/codebook.h"
#include "oracles/dequantize.h"
#include "oracles/fwht.h"
#include "oracles/quantize.h"
#include "tests/unit/oracle_quad.h"

namespace assay::tests::oracle_quantize_test {
namespace {

using namespace oracles;

using tests::Quad;

std::vector<float> random_rows(std::size_t count, std::uint32_t seed, float size) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, size);
  std::vector<float> rows(count);
  for (float& x : rows) x = normal(random);
  return rows;
}

// The contract in float: transform, squares per lane in ascending order, lanes in a tree (or one after the other), reciprocal.
struct FloatToken {
  std::vector<std::uint8_t> index;
  std::vector<float> norms, inputs;
};
struct Mistake {
  float unit_factor = 1.0F;
  bool norm_of_other_block = false;
  bool no_signs = false;
  bool ties_up = false;
};

FloatToken float_quantize(const QuantizeShape& shape, std::vector<float> rows, bool tree, const Mistake& mistake = {}) {
  const std::size_t dim = shape.head_dim;
  const std::span<const float> centroids = codebook(shape.bits);
  FloatToken token;
  for (std::size_t first = 0; first < rows.size(); first += dim) {
    float* x = rows.data() + first;
    for (std::size_t i = 0; i < dim && !mistake.no_signs; ++i) {
      x[i] *= static_cast<float>(rotation_sign(static_cast<int>(dim), static_cast<int>(i)));
    }
    for (std::size_t stride = 1; stride < dim; stride *= 2) {
      for (std::size_t i = 0; i < dim; ++i) {
        if ((i & stride) != 0) continue;
        const float a = x[i], b = x[i + stride];
        x[i] = a + b;
        x[i + stride] = a - b;
      }
    }
    for (std::size_t i = 0; i < dim; ++i) x[i] *= 1.0F / std::sqrt(static_cast<float>(dim));
    const std::size_t blocks = dim / 256;
    std::array<float, 2> norm = {};
    for (std::size_t b = 0; b < blocks; ++b) {
      std::vector<float> lanes;
      for (std::size_t lane = 0; lane < 256; lane += 8) {
        float squares = 0.0F;
        for (std::size_t i = 0; i < 8; ++i) squares += x[b * 256 + lane + i] * x[b * 256 + lane + i];
        lanes.push_back(squares);
      }
      while (tree && lanes.size() > 1) {
        for (std::size_t i = 0; i < lanes.size() / 2; ++i) lanes[i] = lanes[2 * i] + lanes[2 * i + 1];
        lanes.resize(lanes.size() / 2);
      }
      float sum = 0.0F;
      for (const float lane : lanes) sum += lane;
      norm[b] = dim == 256 ? std::sqrt(sum) : std::sqrt(sum / 256.0F);
    }
    for (std::size_t b = 0; b < blocks; ++b) {
      token.norms.push_back(norm[b]);
      const float used = mistake.norm_of_other_block ? norm[blocks - 1 - b] : norm[b];
      const float unit = (dim == 256 ? 16.0F : shape.scale_factor_d512) * mistake.unit_factor;
      const float factor = used > kSmallestNorm ? (1.0F / used) * unit : 0.0F;
      for (std::size_t i = 0; i < 256; ++i) {
        const float input = x[b * 256 + i] * factor;
        token.inputs.push_back(input);
        std::size_t index = 0;
        while (index + 1 < centroids.size()) {
          const float boundary = 0.5F * (centroids[index] + centroids[index + 1]);
          if (!(mistake.ties_up ? boundary <= input : boundary < input)) break;
          ++index;
        }
        token.index.push_back(static_cast<std::uint8_t>(index));
      }
    }
  }
  return token;
}

std::size_t outside(const FloatToken& token, const QuantizedToken& exact) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < token.index.size(); ++i) count += token.index[i] < exact.lowest[i] || token.index[i] > exact.highest[i];
  for (std::size_t i = 0; i < token.norms.size(); ++i) {
    count += !(std::abs(static_cast<double>(token.norms[i]) - exact.norms.value[i]) <= exact.norms.bound[i]);
  }
  for (std::size_t i = 0; i < token.inputs.size(); ++i) {
    count += !(std::abs(static_cast<double>(token.inputs[i]) - exact.inputs.value[i]) <= exact.inputs.bound[i]);
  }
  return count;
}

const std::array<QuantizeShape, 6> kShapes = {
    {{3, 256, 4, 1.0F}, {3, 512, 4, 1.0F}, {2, 256, 5, 1.0F}, {2, 512, 6, 16.0F}, {2, 256, 8, 1.0F}, {2, 512, 8, 22.627417F}}};

TEST(QuantizeOracle, FloatLoopsStayInsideInEveryOrderAndSize) {
  std::size_t compared = 0;
  for (const QuantizeShape& shape : kShapes) {
    for (const float size : {1.0F, 1e-9F, 1e-12F, 1e-19F, 1e6F, 0.0F}) {
      const std::vector<float> rows = random_rows(shape.kv_heads * shape.head_dim, 7, size);
      for (const bool tree : {false, true}) {
        const FloatToken token = float_quantize(shape, rows, tree);
        EXPECT_EQ(outside(token, quantize(shape, rows)), 0U) << shape.head_dim << " " << shape.bits << " " << size;
        // Eight squares in a lane (the product and seven sums), then five levels or 32 sums.
        EXPECT_EQ(outside(token, quantize(shape, rows, tree ? 13 : 40)), 0U) << shape.head_dim << " " << shape.bits << " " << size;
        compared += token.index.size();
      }
    }
  }
  EXPECT_GT(compared, 20000U);
}

TEST(QuantizeOracle, IndicesAreHardlyEverInDoubt) {
  for (const QuantizeShape& shape : kShapes) {
    const std::vector<float> rows = random_rows(shape.kv_heads * shape.head_dim, 11, 1.0F);
    const QuantizedToken exact = quantize(shape, rows, 13);
    std::size_t doubtful = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_LE(exact.highest[i] - exact.lowest[i], 1);
      doubtful += exact.highest[i] != exact.lowest[i];
    }
    EXPECT_LE(doubtful * 100, rows.size()) << shape.head_dim << " " << shape.bits;
  }
}

TEST(QuantizeOracle, MistakesAreOutside) {
  for (const QuantizeShape& shape : kShapes) {
    const std::vector<float> rows = random_rows(shape.kv_heads * shape.head_dim, 5, 1.0F);
    const QuantizedToken exact = quantize(shape, rows);
    EXPECT_GT(outside(float_quantize(shape, rows, true, {.unit_factor = 1.001F}), exact), 0U);
    EXPECT_GT(outside(float_quantize(shape, rows, true, {.no_signs = true}), exact), 0U);
    if (shape.head_dim == 512) EXPECT_GT(outside(float_quantize(shape, rows, true, {.norm_of_other_block = true}), exact), 0U);
  }
}

TEST(QuantizeOracle, TheZeroVectorGoesToTheLowerOfTheMiddleCells) {
  for (const QuantizeShape& shape : kShapes) {
    const std::vector<float> rows(shape.kv_heads * shape.head_dim, 0.0F);
    const QuantizedToken exact = quantize(shape, rows);
    const auto middle = static_cast<std::uint8_t>((1 << (shape.bits - 1)) - 1);
    EXPECT_THAT(exact.lowest, ::testing::Each(middle));
    EXPECT_THAT(exact.highest, ::testing::Each(middle));
    EXPECT_THAT(exact.norms.value, ::testing::Each(0.0));
    EXPECT_THAT(exact.norms.bound, ::testing::Each(0.0));
    EXPECT_EQ(outside(float_quantize(shape, rows, true), exact), 0U);
    EXPECT_EQ(outside(float_quantize(shape, rows, true, {.ties_up = true}), exact), rows.size()) << "a tie that goes up must show";
  }
}

// Half of a pair's transform is zero, exactly: those coordinates lie on the middle boundary, where a tie goes down.
TEST(QuantizeOracle, ZerosOfAPairAreTies) {
  for (const QuantizeShape& shape : kShapes) {
    std::vector<float> rows(shape.kv_heads * shape.head_dim, 0.0F);
    for (std::size_t head = 0; head < shape.kv_heads; ++head) {
      rows[head * shape.head_dim + 3] = 0.3F;
      rows[head * shape.head_dim + 100 + head] = -0.3F;
    }
    const QuantizedToken exact = quantize(shape, rows);
    const auto middle = static_cast<std::uint8_t>((1 << (shape.bits - 1)) - 1);
    std::size_t ties = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (exact.inputs.value[i] != 0.0) continue;
      ++ties;
      EXPECT_EQ(exact.lowest[i], middle) << i;
      EXPECT_EQ(exact.highest[i], middle) << i;
    }
    EXPECT_EQ(ties, rows.size() / 2);
    EXPECT_EQ(outside(float_quantize(shape, rows, true), exact), 0U);
    EXPECT_EQ(outside(float_quantize(shape, rows, true, {.ties_up = true}), exact), ties);

    // Nothing of the kind is known of a row that is no pair.
    for (std::size_t head = 0; head < shape.kv_heads; ++head) rows[head * shape.head_dim + 5] = 0.3F;
    const QuantizedToken triple = quantize(shape, rows);
    for (const double bound : triple.inputs.bound) EXPECT_GT(bound, 0.0);
  }
}

// Two coordinates half a row apart leave one of the blocks without anything, the other with all.
TEST(QuantizeOracle, ABlockOfExactZerosHasNormZero) {
  std::vector<float> row(512, 0.0F);
  row[7] = row[7 + 256] = 2.0F;
  const QuantizedToken exact = quantize({1, 512, 4, 1.0F}, row);
  const std::size_t empty = exact.norms.value[0] == 0.0 ? 0 : 1;
  EXPECT_EQ(exact.norms.value[empty], 0.0);
  EXPECT_EQ(exact.norms.bound[empty], 0.0);
  EXPECT_GT(exact.norms.value[1 - empty], 0.1);
  for (std::size_t i = empty * 256; i < empty * 256 + 256; ++i) EXPECT_EQ(exact.lowest[i], 7);
}

TEST(QuantizeOracle, OneHotSpreadsEvenly) {
  std::vector<float> row(256, 0.0F);
  row[0] = 16.0F;
  const QuantizedToken exact = quantize({1, 256, 4, 1.0F}, row);
  EXPECT_EQ(exact.norms.value[0], 16.0);
  for (const double input : exact.inputs.value) EXPECT_DOUBLE_EQ(std::abs(input), 1.0);
}

TEST(QuantizeOracle, AgreesWith113Bits) {
  for (const QuantizeShape& shape : kShapes) {
    const std::vector<float> rows = random_rows(shape.kv_heads * shape.head_dim, 3, 1.0F);
    const QuantizedToken exact = quantize(shape, rows, 13);
    const std::size_t dim = shape.head_dim;
    for (std::size_t row = 0; row < rows.size() / 256; ++row) {
      const std::size_t head = row * 256 / dim;
      std::vector<Quad> y;
      Quad squares = 0;
      for (std::size_t j = row * 256 % dim; j < row * 256 % dim + 256; ++j) {
        Quad sum = 0;
        for (std::size_t i = 0; i < dim; ++i) {
          const double signed_x = static_cast<double>(rows[head * dim + i]) * rotation_sign(static_cast<int>(dim), static_cast<int>(i));
          sum += std::popcount(i & j) % 2 == 0 ? signed_x : -signed_x;
        }
        y.push_back(sum / tests::quad_sqrt(static_cast<double>(dim)));
        squares += y.back() * y.back();
      }
      // Newton from the double root, as the argument has more than 53 bits.
      Quad size = std::sqrt(static_cast<double>(squares));
      for (int i = 0; i < 3; ++i) size = (size + squares / size) / 2;
      const Quad norm = dim == 256 ? size : size / 16;
      const Quad unit = dim == 256 ? Quad{16} : Quad{shape.scale_factor_d512};
      EXPECT_LE(static_cast<double>(tests::quad_abs(norm - exact.norms.value[row])), exact.norms.bound[row] / 1000);
      for (std::size_t i = 0; i < 256; ++i) {
        const Quad input = y[i] * unit / norm;
        EXPECT_LE(static_cast<double>(tests::quad_abs(input - exact.inputs.value[row * 256 + i])),
                  exact.inputs.bound[row * 256 + i] / 1000);
      }
    }
  }
}

TEST(QuantizeOracle, RefusesWhatItCannotMean) {
  const std::vector<float> row(256, 1.0F);
  EXPECT_THROW(static_cast<void>(quantize({1, 128, 4, 1.0F}, row)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(quantize({2, 256, 4, 1.0F}, row)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(quantize({1, 256, 7, 1.0F}, row)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(quantize({1, 512, 4, 0.0F}, std::vector<float>(512, 1.0F))), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(quantize({1, 256, 4, 1.0F}, std::vector<float>(256, INFINITY))), std::invalid_argument);
}

TEST(DequantizeOracle, GivesBackCentroidsTimesTheirBlocksNorm) {
  const std::size_t capacity = 3, heads = 2;
  for (const int bits : {4, 5, 6, 8}) {
    for (const std::size_t dim : {std::size_t{256}, std::size_t{512}}) {
      std::vector<std::uint8_t> codes(heads * capacity * dim / (bits == 4 ? 2 : 1));
      for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>((i * 37 + 11) & 0xFF);
      std::vector<float> norms(heads * capacity * dim / 256);
      for (std::size_t i = 0; i < norms.size(); ++i) norms[i] = 0.5F + static_cast<float>(i);
      const float scale_factor = 1.5F;
      const Expected exact = dequantize({heads, dim, capacity, 2}, bits, scale_factor, codes, norms);
      ASSERT_EQ(exact.size(), heads * dim);
      for (std::size_t g = 0; g < heads; ++g) {
        for (std::size_t j = 0; j < dim; ++j) {
          const std::size_t position = g * capacity + 2;
          std::uint8_t index = 0;
          if (bits == 4) {
            const std::uint8_t byte = codes[position * dim / 2 + j / 2];
            index = j % 2 == 0 ? byte & 15 : byte >> 4;
          } else {
            index = static_cast<std::uint8_t>(codes[position * dim + j] & ((1 << bits) - 1));
          }
          const float norm = norms[position * (dim / 256) + j / 256];
          const double value = static_cast<double>(codebook(bits)[index]) * static_cast<double>(norm) / (dim == 256 ? 16.0 : 1.5);
          EXPECT_DOUBLE_EQ(exact.value[g * dim + j], value);
          const float computed = codebook(bits)[index] * (dim == 256 ? norm * 0.0625F : norm / scale_factor);
          EXPECT_LE(std::abs(static_cast<double>(computed) - value), exact.bound[g * dim + j]);
          const float wrong = computed * (1.0F + 0x1p-20F);
          EXPECT_GT(std::abs(static_cast<double>(wrong) - value), exact.bound[g * dim + j]);
        }
      }
    }
  }
}

TEST(DequantizeOracle, ReadsItsSlotAlone) {
  std::vector<std::uint8_t> codes(3 * 256, 1);
  std::vector<float> norms = {NAN, 2.0F, INFINITY};
  EXPECT_NO_THROW(static_cast<void>(dequantize({1, 256, 3, 1}, 8, 1.0F, codes, norms)));
  EXPECT_THROW(static_cast<void>(dequantize({1, 256, 3, 0}, 8, 1.0F, codes, norms)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(dequantize({1, 256, 3, 3}, 8, 1.0F, codes, norms)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(dequantize({1, 256, 4, 0}, 8, 1.0F, codes, norms)), std::invalid_argument);
}

}  // namespace
}  // namespace assay::tests::oracle_quantize_test
