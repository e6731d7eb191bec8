// Float kernels of several shapes, and scenes for them: plain loops that share nothing with the oracle.
#include "tests/unit/any_attention_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <random>
#include <utility>

namespace assay::tests {
namespace {

using oracles::OutputFormat;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Row {
 public:
  Row(const AnyScene& scene, const AnyKernel& kernel, std::size_t batch, std::size_t head, std::size_t query)
      : scene_(scene), kernel_(kernel), shape_(scene.shape), head_(head), row_((batch * shape_.heads + head) * shape_.queries + query) {
    length_ = shape_.kv_len.empty() ? shape_.kv_rows : shape_.kv_len[batch];
    const std::size_t group = shape_.heads / shape_.kv_heads;
    const std::size_t kv_head = kernel.mistake == AnyMistake::kv_head_by_modulo ? head % shape_.kv_heads : head / group;
    first_ = ((shape_.kv_batch.empty() ? batch : shape_.kv_batch[batch]) * shape_.kv_heads + kv_head) * shape_.kv_rows;
    scale_ = static_cast<float>(shape_.scale);
    if (kernel.mistake == AnyMistake::scale_twice) scale_ *= scale_;
    const bool folds = kernel.base_two && shape_.softcap == 0.0;
    if (folds) scale_ *= std::numbers::log2e_v<float>;
    for (std::size_t c = 0; c < shape_.head_dim; ++c) {
      const float q = scene.q[row_ * shape_.head_dim + c];
      query_.push_back(kernel.scales_query ? in_format(kernel.query, q * scale_) : q);
    }
    for (std::size_t key = 0; key < length_; ++key) {
      if (bias(key) == -kInfinity || (kernel.mistake == AnyMistake::drops_key && key == kernel.which)) continue;
      keys_.push_back(key);
    }
    if (kernel.backwards) std::ranges::reverse(keys_);
    scores_.resize(length_);
    for (const std::size_t key : keys_) scores_[key] = score(key);
  }

  void run(AnyOutput& result) {
    std::vector<Partial> partials;
    for (std::size_t part = 0; part < kernel_.parts; ++part) partials.push_back(partial_of(keys_of(part)));
    Partial all = merged(partials);
    if (!scene_.sinks.empty() && kernel_.mistake != AnyMistake::no_sink) take_sink(all);
    const bool is_empty = all.sum == 0.0F;
    for (float& o : all.output) o = is_empty ? 0.0F : kernel_.divides ? o / all.sum : o * (1.0F / all.sum);
    result.output.insert(result.output.end(), all.output.begin(), all.output.end());
    if (shape_.lse == oracles::LogBase::none) return;
    float lse = kernel_.base_two ? all.maximum + std::log2(all.sum) : all.maximum + std::log(all.sum);
    if (kernel_.base_two && shape_.lse == oracles::LogBase::natural) lse *= std::numbers::ln2_v<float>;
    if (!kernel_.base_two && shape_.lse == oracles::LogBase::two) lse *= std::numbers::log2e_v<float>;
    result.lse.push_back(is_empty ? -kInfinity : lse);
  }

 private:
  struct Partial {
    float maximum = -kInfinity, sum = 0.0F;
    std::vector<float> output;
  };

  [[nodiscard]] float bias(std::size_t key) const { return scene_.bias.empty() ? 0.0F : scene_.bias[row_ * shape_.kv_rows + key]; }

  [[nodiscard]] float dot(std::size_t key) const {
    const std::size_t dim = shape_.head_dim;
    const auto k = [&](std::size_t c) { return in_format(kernel_.keys, scene_.k[(first_ + key) * dim + c]); };
    float sum = 0.0F;
    const auto add = [&](float& to, std::size_t c) { to = in_format(kernel_.dots, to + query_[c] * k(c)); };
    switch (kernel_.dot) {
      case AnyKernel::Dot::in_turn:
        for (std::size_t c = 0; c < dim; ++c) add(sum, c);
        return sum;
      case AnyKernel::Dot::backwards:
        for (std::size_t c = dim; c-- > 0;) sum = in_format(kernel_.dots, std::fma(query_[c], k(c), sum));
        return sum;
      case AnyKernel::Dot::blocks:
        for (std::size_t begin = 0; begin < dim; begin += 8) {
          float block = 0.0F;
          for (std::size_t c = begin; c < std::min(begin + 8, dim); ++c) add(block, c);
          sum = in_format(kernel_.dots, sum + block);
        }
        return sum;
      case AnyKernel::Dot::lanes: {
        std::vector<float> lanes(32, 0.0F);
        for (std::size_t c = 0; c < dim; ++c) add(lanes[c / 4 % 32], c);
        for (std::size_t half = 16; half > 0; half /= 2) {
          for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] = in_format(kernel_.dots, lanes[lane] + lanes[lane + half]);
        }
        return lanes[0];
      }
    }
    return sum;
  }

  [[nodiscard]] float capped(float score) const {
    if (shape_.softcap == 0.0) return score;
    const auto cap = static_cast<float>(shape_.softcap);
    const float x = score / cap;
    if (!kernel_.tanh_by_exp) return cap * std::tanh(x);
    const float t = std::exp(2.0F * x);
    return std::isinf(t) ? cap : cap * ((t - 1.0F) / (t + 1.0F));
  }

  [[nodiscard]] float score(std::size_t key) const {
    float score = dot(key);
    if (!kernel_.scales_query) score *= scale_;
    const std::size_t next = kernel_.mistake == AnyMistake::bias_of_next_key && key + 1 < length_ ? key + 1 : key;
    float added = bias(next) == -kInfinity ? bias(key) : bias(next);
    const bool folds = kernel_.base_two && shape_.softcap == 0.0;
    if (folds) added *= std::numbers::log2e_v<float>;
    score = kernel_.mistake == AnyMistake::cap_after_bias ? capped(score + added) : capped(score) + added;
    if (kernel_.base_two && !folds) score *= std::numbers::log2e_v<float>;
    return in_format(kernel_.scores, score);
  }

  [[nodiscard]] float exponential(float x) const {
    float value = kernel_.base_two ? std::exp2(x) : std::exp(x);
    if (x == 0.0F || x == -kInfinity) return value;
    // Up or down by the last bits of x.
    const bool up = static_cast<std::int64_t>(static_cast<double>(x) * 1e7) % 2 == 0;
    for (int step = 0; step < kernel_.exp_steps; ++step) value = std::nextafter(value, up ? kInfinity : 0.0F);
    return value;
  }

  [[nodiscard]] std::vector<std::size_t> keys_of(std::size_t part) const {
    std::vector<std::size_t> keys;
    const std::size_t each = (keys_.size() + kernel_.parts - 1) / kernel_.parts;
    for (std::size_t t = 0; t < keys_.size(); ++t) {
      if ((kernel_.deals_in_turn ? t % kernel_.parts : t / each) == part) keys.push_back(keys_[t]);
    }
    return keys;
  }

  void rescale(Partial& partial, float factor) const {
    partial.sum = in_format(kernel_.statistics, partial.sum * factor);
    for (float& o : partial.output) o = in_format(kernel_.accumulator, o * factor);
  }

  [[nodiscard]] Partial partial_of(const std::vector<std::size_t>& keys) const {
    Partial partial;
    partial.output.assign(shape_.value_dim, 0.0F);
    if (keys.empty()) return partial;
    const std::size_t chunk = kernel_.chunk == 0 ? keys.size() : kernel_.chunk;
    for (std::size_t begin = 0; begin < keys.size(); begin += chunk) {
      const std::size_t end = std::min(begin + chunk, keys.size());
      float maximum = partial.maximum;
      for (std::size_t t = begin; t < end; ++t) maximum = std::max(maximum, scores_[keys[t]]);
      maximum = in_format(kernel_.statistics, maximum);
      if (begin > 0 && kernel_.mistake != AnyMistake::no_rescale) rescale(partial, exponential(partial.maximum - maximum));
      partial.maximum = maximum;
      for (std::size_t t = begin; t < end; ++t)
        add(partial, keys[t], (t - begin) % kernel_.accumulator_keys == kernel_.accumulator_keys - 1 || t + 1 == end);
      partial.sum = in_format(kernel_.statistics, partial.sum);
    }
    if (kernel_.normalises_parts) {
      for (float& o : partial.output) o /= partial.sum;
    }
    for (float& o : partial.output) o = in_format(kernel_.partials, o);
    return partial;
  }

  void add(Partial& partial, std::size_t key, bool rounds) const {
    const float weight = exponential(scores_[key] - partial.maximum);
    const float rounded = in_format(kernel_.weights, weight);
    partial.sum += kernel_.sums_rounded_weights ? rounded : weight;
    std::size_t from = key;
    if (kernel_.mistake == AnyMistake::exchanges_values) {
      from = key == kernel_.which ? key + 1 : key == kernel_.which + 1 ? key - 1 : key;
    }
    const float* const v = scene_.v.data() + (first_ + from) * shape_.value_dim;
    for (std::size_t j = 0; j < shape_.value_dim; ++j) {
      partial.output[j] += rounded * in_format(kernel_.values, v[j]);
      if (rounds) partial.output[j] = in_format(kernel_.accumulator, partial.output[j]);
    }
  }

  [[nodiscard]] Partial joined(const Partial& a, const Partial& b) const {
    if (a.maximum == -kInfinity) return b;
    if (b.maximum == -kInfinity) return a;
    Partial result{.maximum = std::max(a.maximum, b.maximum), .sum = 0.0F, .output = std::vector<float>(shape_.value_dim)};
    const float of_a = exponential(a.maximum - result.maximum), of_b = exponential(b.maximum - result.maximum);
    result.sum = a.sum * of_a + b.sum * of_b;
    const float in_a = kernel_.normalises_parts ? of_a * a.sum / result.sum : of_a;
    const float in_b = kernel_.normalises_parts ? of_b * b.sum / result.sum : of_b;
    for (std::size_t j = 0; j < shape_.value_dim; ++j) result.output[j] = a.output[j] * in_a + b.output[j] * in_b;
    return result;
  }

  [[nodiscard]] Partial merged(std::vector<Partial> partials) const {
    if (kernel_.merges_in_tree) {
      for (std::size_t step = 1; step < partials.size(); step *= 2) {
        for (std::size_t i = 0; i + step < partials.size(); i += 2 * step) partials[i] = joined(partials[i], partials[i + step]);
      }
    } else {
      for (std::size_t i = 1; i < partials.size(); ++i) partials[0] = joined(partials[0], partials[i]);
    }
    Partial all = partials[0];
    if (kernel_.normalises_parts && all.maximum != -kInfinity) {
      for (float& o : all.output) o *= all.sum;
    }
    return all;
  }

  void take_sink(Partial& all) const {
    const float sink = scene_.sinks[head_] * (kernel_.base_two ? std::numbers::log2e_v<float> : 1.0F);
    const float maximum = std::max(all.maximum, sink);
    const float factor = all.maximum == -kInfinity ? 0.0F : exponential(all.maximum - maximum);
    const float weight = exponential(sink - maximum);
    all.sum = all.sum * factor + weight;
    for (std::size_t j = 0; j < shape_.value_dim; ++j) {
      all.output[j] *= factor;
      if (kernel_.mistake == AnyMistake::sink_has_value) all.output[j] += weight * scene_.v[first_ * shape_.value_dim + j];
    }
    all.maximum = maximum;
  }

  const AnyScene& scene_;
  const AnyKernel& kernel_;
  const oracles::AnyAttentionShape& shape_;
  std::size_t head_, row_, length_ = 0, first_ = 0;
  float scale_ = 0.0F;
  std::vector<float> query_, scores_;
  std::vector<std::size_t> keys_;
};

}  // namespace

float in_format(const OutputFormat& format, float value) {
  if (format.significant_bits == 11) return static_cast<float>(oracles::round_to_half(static_cast<double>(value)));
  if (format.significant_bits == 8) return static_cast<float>(oracles::round_to_bfloat(value));
  return value;
}

AnyOutput run_any_kernel(const AnyScene& scene, const AnyKernel& kernel) {
  AnyOutput result;
  for (std::size_t b = 0; b < scene.shape.batches; ++b) {
    for (std::size_t h = 0; h < scene.shape.heads; ++h) {
      for (std::size_t i = 0; i < scene.shape.queries; ++i) Row(scene, kernel, b, h, i).run(result);
    }
  }
  return result;
}

oracles::AnyAttentionInputs AnyScene::inputs() const {
  oracles::AnyAttentionInputs inputs{.q = q, .k = k, .v = v, .sinks = sinks, .bias = {}};
  if (!bias.empty()) {
    inputs.bias = [this](std::size_t b, std::size_t h, std::size_t i, std::span<double> row) {
      const std::size_t first = ((b * shape.heads + h) * shape.queries + i) * shape.kv_rows;
      for (std::size_t key = 0; key < row.size(); ++key) row[key] = static_cast<double>(bias[first + key]);
    };
  }
  return inputs;
}

oracles::AnyExpected AnyScene::exact(const oracles::AnyAttentionAccuracy& accuracy) const {
  return oracles::any_attention(shape, inputs(), accuracy);
}

const char* name_of(AnyRows rows) {
  constexpr const char* names[kAnyRows] = {"gauss",       "positive",   "equal_keys", "equal_all", "few_keys",      "needle",
                                           "ascending",   "descending", "drift",      "flip",      "constant_rows", "block_signs",
                                           "alternating", "loud",       "common",     "faint"};
  return names[static_cast<std::size_t>(rows)];
}

// The numbers of std::normal_distribution<float>. That of libstdc++ computes two logarithms of long double for each number that it asks
// for.
class Normal {
 public:
  float operator()(std::mt19937& random) {
    if (saved_) return *std::exchange(saved_, std::nullopt);
    const auto uniform = [&] {
      const float drawn = static_cast<float>(random()) / 0x1p32F;
      return 2.0F * (drawn < 1.0F ? drawn : std::nextafter(1.0F, 0.0F)) - 1.0F;
    };
    float x = 0.0F, y = 0.0F, squares = 0.0F;
    do {
      x = uniform();
      y = uniform();
      squares = x * x + y * y;
    } while (squares > 1.0F || squares == 0.0F);
    const float factor = std::sqrt(-2.0F * std::log(squares) / squares);
    saved_ = x * factor;
    return y * factor;
  }

 private:
  std::optional<float> saved_;
};

// Long because it is a list of kinds of rows.
AnyScene any_scene(const oracles::AnyAttentionShape& shape, AnyRows rows, std::uint32_t seed) {
  AnyScene scene{.shape = shape, .q = {}, .k = {}, .v = {}, .sinks = {}, .bias = {}};
  std::mt19937 random(seed);
  Normal normal;
  const std::size_t n = shape.kv_rows, dim = shape.head_dim;
  scene.q.resize(shape.batches * shape.heads * shape.queries * dim);
  scene.k.resize(shape.batches * shape.kv_heads * n * dim);
  scene.v.resize(shape.batches * shape.kv_heads * n * shape.value_dim);
  for (auto* tensor : {&scene.q, &scene.k, &scene.v}) {
    for (float& x : *tensor) x = normal(random);
  }
  // The length of a query along which a key of the same direction has a score of 1.
  const float unit = static_cast<float>(1.0 / (shape.scale * static_cast<double>(dim)));
  const auto towards = [&](std::size_t row, float score) {  // all queries are about equal then
    for (std::size_t c = 0; c < dim; ++c)
      scene.k[row * dim + c] = score * unit * (1.0F + 0.01F * normal(random)) * (c % 2 == 0 ? 1.0F : -1.0F);
  };
  const auto same_queries = [&] {
    for (std::size_t i = 0; i < scene.q.size(); ++i) scene.q[i] = (1.0F + 0.01F * scene.q[i]) * (i % dim % 2 == 0 ? 1.0F : -1.0F);
  };
  const std::size_t all_rows = shape.batches * shape.kv_heads * n;
  const auto each_value = [&](auto change) {
    for (std::size_t row = 0; row < all_rows; ++row) {
      for (std::size_t j = 0; j < shape.value_dim; ++j) change(scene.v[row * shape.value_dim + j], row % n);
    }
  };
  using enum AnyRows;
  if (rows == needle || rows == ascending || rows == descending || rows == common || rows == faint) same_queries();
  for (std::size_t row = 0; row < all_rows; ++row) {
    const auto key = static_cast<float>(row % n), count = static_cast<float>(n);
    if (rows == equal_keys || rows == equal_all)
      std::copy_n(scene.k.begin(), dim, scene.k.begin() + static_cast<std::ptrdiff_t>(row * dim));
    if (rows == equal_all)
      std::copy_n(scene.v.begin(), shape.value_dim, scene.v.begin() + static_cast<std::ptrdiff_t>(row * shape.value_dim));
    if (rows == few_keys && row >= 5) {
      std::copy_n(scene.k.begin() + static_cast<std::ptrdiff_t>(row % 5 * dim), dim,
                  scene.k.begin() + static_cast<std::ptrdiff_t>(row * dim));
      std::copy_n(scene.v.begin() + static_cast<std::ptrdiff_t>(row % 5 * shape.value_dim), shape.value_dim,
                  scene.v.begin() + static_cast<std::ptrdiff_t>(row * shape.value_dim));
    }
    if (rows == needle) towards(row, row % n == n / 2 ? 25.0F : normal(random));
    if (rows == ascending) towards(row, 12.0F * key / count);
    if (rows == descending) towards(row, -12.0F * key / count);
    if (rows == common) towards(row, 3000.0F + 0.5F * normal(random));
    if (rows == faint) {
      for (std::size_t c = 0; c < dim; ++c) {
        scene.k[row * dim + c] = (row % n == 0 ? 9.0F : 0.3F) * unit * (c % 2 == 0 ? 1.0F : -1.0F);
      }
    }
    if (rows == constant_rows || rows == block_signs) {
      const float size = 0.4F * normal(random);
      for (std::size_t c = 0; c < dim; ++c) scene.k[row * dim + c] = rows == block_signs && c >= dim / 2 ? -0.9F * size : size;
    }
  }
  if (rows == constant_rows || rows == block_signs) {
    for (std::size_t i = 0; i < scene.q.size(); ++i) scene.q[i] = scene.q[i / dim * dim];
  }
  if (rows == loud) {
    for (float& x : scene.q) x *= 100.0F;
  }
  if (rows == positive) each_value([](float& v, std::size_t) { v = std::abs(v); });
  if (rows == drift) each_value([n](float& v, std::size_t key) { v = v * 0.1F + 10.0F * static_cast<float>(key) / static_cast<float>(n); });
  if (rows == flip) each_value([n](float& v, std::size_t key) { v = key < n / 2 ? std::abs(v) : -std::abs(v); });
  if (rows == alternating) each_value([](float& v, std::size_t key) { v = key % 2 == 0 ? std::abs(v) : -std::abs(v); });
  return scene;
}

double largest_ratio(const std::vector<float>& output, const oracles::Expected& exact, const OutputFormat& format) {
  double largest = output.size() == exact.size() ? 0.0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(output.size(), exact.size()); ++i) {
    const auto value = static_cast<double>(in_format(format, output[i]));
    if (value == exact.value[i]) continue;
    const double ratio = std::abs(value - exact.value[i]) / exact.bound[i];
    largest = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(largest, ratio);
  }
  return largest;
}

double median_sharpness(const oracles::Expected& exact) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < exact.size(); ++i) ratios.push_back(exact.bound[i] / exact.magnitude[i]);
  std::ranges::nth_element(ratios, ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2));
  return ratios[ratios.size() / 2];
}

}  // namespace assay::tests
