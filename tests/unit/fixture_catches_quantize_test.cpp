// Fixtures of quantize and dequantize: each shows a mistake that `gauss` lets pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/quantize/rows.h"
#include "fixtures/generators.h"
#include "harness/judge/judge.h"
#include "oracles/codebook.h"
#include "oracles/fwht.h"

namespace assay::tests::fixture_catches_quantize_test {
namespace {

enum class Mistake {
  none,
  ties_up,
  zero_divided_by,    // a norm of zero is divided by, and gives NaN
  threshold_ignored,  // norms up to 1e-10 are divided by
  clamped,            // inputs of the rotation limited to 10
  half_input,         // inputs of the rotation beyond the range of half are infinite
  outer_cells_lost,   // the largest index is never reached
  equal_norms,        // norms of a position that differ by more than four are taken for equal
  short_sum,          // squares of rotated coordinates in the last eighth left out of the norm if they are all equal in size
  flushed,            // subnormal results are zero
  overflowing,        // norms beyond 2^64 are infinite
  wrong_entry,        // the last centroid is 0.1 % too large
  wrong_cell,         // the centroid next to zero is, and moves its boundaries by less than 2^-17
  equal_skipped,      // a butterfly of equal operands left out
  nan_times_zero,     // a position whose neighbour is NaN becomes NaN
};

struct Catch {
  const char* fixture;
  Mistake mistake;
};

constexpr std::size_t kHeads = 5;
constexpr std::size_t kDim = 512;
constexpr std::size_t kBlocks = kDim / 256;

struct Quantised {
  std::vector<float> indices, norms, inputs;
};

// The quantize contract in float.
Quantised quantised(std::vector<float> rows, int bits, Mistake mistake) {
  const std::span<const float> right = oracles::codebook(bits);
  std::vector<float> centroids(right.begin(), right.end());
  if (mistake == Mistake::wrong_cell) centroids[centroids.size() / 2] *= 1.001F;
  Quantised result;
  for (std::size_t first = 0; first < rows.size(); first += kDim) {
    float* x = rows.data() + first;
    for (std::size_t i = 0; i < kDim; ++i) {
      if (mistake == Mistake::clamped) x[i] = std::clamp(x[i], -10.0F, 10.0F);
      if (mistake == Mistake::half_input && std::abs(x[i]) > 65504.0F) x[i] = std::numeric_limits<float>::infinity();
      x[i] *= static_cast<float>(oracles::rotation_sign(static_cast<int>(kDim), static_cast<int>(i)));
    }
    for (std::size_t stride = 1; stride < kDim; stride *= 2) {
      for (std::size_t i = 0; i < kDim; ++i) {
        if ((i & stride) != 0) continue;
        const float a = x[i];
        const float b = x[i + stride];
        if (mistake == Mistake::equal_skipped && a == b && a != 0.0F) continue;
        x[i] = a + b;
        x[i + stride] = a - b;
      }
    }
    for (std::size_t i = 0; i < kDim; ++i) x[i] *= 1.0F / std::sqrt(static_cast<float>(kDim));
    float norm[kBlocks] = {};
    for (std::size_t b = 0; b < kBlocks; ++b) {
      float squares = 0.0F;
      const bool is_flat = std::abs(x[b * 256]) == std::abs(x[b * 256 + 1]);
      for (std::size_t i = 0; i < 256; ++i) {
        if (mistake == Mistake::short_sum && is_flat && i >= 224) break;
        squares += x[b * 256 + i] * x[b * 256 + i];
      }
      norm[b] = std::sqrt(squares / 256.0F);
    }
    for (std::size_t b = 0; b < kBlocks; ++b) {
      result.norms.push_back(norm[b]);
      float divisor = norm[b];
      if (mistake == Mistake::equal_norms && norm[b] > 4.0F * norm[1 - b]) divisor = norm[1 - b];
      const bool divides = norm[b] > oracles::kSmallestNorm || (mistake == Mistake::threshold_ignored && norm[b] > 0.0F) ||
                           (mistake == Mistake::zero_divided_by && norm[b] == 0.0F);
      const float factor = divides ? 1.0F / divisor : 0.0F;
      for (std::size_t i = 0; i < 256; ++i) {
        const float input = x[b * 256 + i] * factor;
        result.inputs.push_back(input);
        std::size_t index = 0;
        while (index + 1 < centroids.size()) {
          const float boundary = 0.5F * (centroids[index] + centroids[index + 1]);
          if (!(mistake == Mistake::ties_up ? boundary <= input : boundary < input)) break;
          ++index;
        }
        if (mistake == Mistake::outer_cells_lost) index = std::min(index, centroids.size() - 2);
        result.indices.push_back(static_cast<float>(index));
      }
    }
  }
  return result;
}

bool passes_quantize(std::string_view fixture, Mistake mistake) {
  // At 8 bits the outer cells lie 4.9 standard deviations out, where a few rows of normal numbers do not come.
  const fixtures::QuantizeRequest request{.kv_heads = kHeads, .head_dim = kDim, .bits = 8, .scale_factor_d512 = 1.0F, .seed = 3};
  const std::vector<float> src = fixtures::find_fixture(fixture).quantize(request);
  const Quantised written = quantised(src, request.bits, mistake);
  const families::QuantizedRows rows{kDim, true};
  return harness::judge(families::actual_rows(rows, written.indices, written.norms, written.inputs),
                        families::expected_rows(rows, oracles::quantize(request.shape(), src), request.bits))
      .passed();
}

std::vector<float> dequantised(const fixtures::DequantizeRequest& request, const fixtures::DequantizeInputs& inputs, Mistake mistake) {
  const std::span<const float> centroids = oracles::codebook(request.bits);
  std::vector<float> result;
  for (std::size_t head = 0; head < request.kv_heads; ++head) {
    const std::size_t position = head * request.kv_capacity + request.position;
    const float* norms = inputs.norms.data() + position * kBlocks;
    for (std::size_t i = 0; i < kDim; ++i) {
      const std::size_t index = inputs.codes[position * kDim + i];
      float norm = norms[i / 256];
      if (mistake == Mistake::equal_norms && norm > 4.0F * norms[1 - i / 256]) norm = norms[1 - i / 256];
      if (mistake == Mistake::overflowing && norm > 0x1p64F) norm = std::numeric_limits<float>::infinity();
      if (mistake == Mistake::zero_divided_by) norm = norm / norm * norm;
      float centroid = centroids[index];
      if (mistake == Mistake::wrong_entry && index + 1 == centroids.size()) centroid *= 1.001F;
      float value = centroid * (norm / request.scale_factor_d512);
      if (mistake == Mistake::flushed && std::fpclassify(value) == FP_SUBNORMAL) value = 0.0F;
      if (mistake == Mistake::nan_times_zero) value += 0.0F * inputs.norms[(position + 1) * kBlocks];
      result.push_back(value);
    }
  }
  return result;
}

bool passes_dequantize(std::string_view fixture, Mistake mistake) {
  const fixtures::DequantizeRequest request{
      .kv_heads = kHeads, .head_dim = kDim, .kv_capacity = 4, .position = 1, .bits = 8, .scale_factor_d512 = 1.0F, .seed = 3};
  const fixtures::DequantizeInputs inputs = fixtures::find_fixture(fixture).dequantize(request);
  return harness::judge(dequantised(request, inputs, mistake),
                        oracles::dequantize(request.shape(), request.bits, request.scale_factor_d512, inputs.codes, inputs.norms))
      .passed();
}

std::string name_of(const testing::TestParamInfo<Catch>& info) { return info.param.fixture; }

class QuantizeFixture : public testing::TestWithParam<Catch> {};

TEST_P(QuantizeFixture, ShowsAMistakeThatGaussDoesNot) {
  EXPECT_TRUE(passes_quantize(GetParam().fixture, Mistake::none));
  EXPECT_FALSE(passes_quantize(GetParam().fixture, GetParam().mistake));
  EXPECT_TRUE(passes_quantize("gauss", GetParam().mistake));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, QuantizeFixture,
                         testing::Values(Catch{"heavy", Mistake::outer_cells_lost}, Catch{"outlier", Mistake::clamped},
                                         Catch{"structured", Mistake::equal_norms}, Catch{"needle", Mistake::short_sum},
                                         Catch{"uniform", Mistake::equal_skipped}, Catch{"large", Mistake::half_input},
                                         Catch{"zero", Mistake::zero_divided_by}, Catch{"tiny", Mistake::threshold_ignored},
                                         Catch{"ties", Mistake::ties_up}, Catch{"edges", Mistake::wrong_cell}),
                         name_of);

class DequantizeFixture : public testing::TestWithParam<Catch> {};

TEST_P(DequantizeFixture, ShowsAMistakeThatGaussDoesNot) {
  EXPECT_TRUE(passes_dequantize(GetParam().fixture, Mistake::none));
  EXPECT_FALSE(passes_dequantize(GetParam().fixture, GetParam().mistake));
  EXPECT_TRUE(passes_dequantize("gauss", GetParam().mistake));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, DequantizeFixture,
                         testing::Values(Catch{"structured", Mistake::equal_norms}, Catch{"ladder", Mistake::wrong_entry},
                                         Catch{"large", Mistake::overflowing}, Catch{"zero", Mistake::zero_divided_by},
                                         Catch{"tiny", Mistake::flushed}, Catch{"poisoned", Mistake::nan_times_zero}),
                         name_of);

}  // namespace
}  // namespace assay::tests::fixture_catches_quantize_test
