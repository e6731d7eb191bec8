// Computes what every right kernel for attention holds at some point.
#include "families/shared/attention_landmarks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "families/mistakes.h"
#include "math/functions.h"

namespace assay::families {
namespace {

// Indices into Landmarks::list.
enum Index : std::size_t {
  kQuery,
  kKey,
  kKeyNorm,
  kKeyFactor,
  kPlainDot,
  kDot,
  kScaled,
  kCapped,
  kBias,
  kScore,
  kValue,
  kValueNorm,
  kValueFactor,
  kWeight,
  kFactoredWeight,
  kSum,
  kNumerator,
  kOutput,
  kCount
};

// More maxima than these are not tried as the one that a kernel subtracts: with too many, some value fits by chance.
constexpr std::size_t kMostMaxima = 48;

constexpr double kLowest = -std::numeric_limits<double>::infinity();

struct Scored {
  std::size_t key;
  double dot, scaled, capped, bias, score;
};

class Builder {
 public:
  Builder(const AttentionLandmarkShape& shape, std::span<const AttentionLandmarkRow> rows, std::span<const AttentionLandmarkHead> heads)
      : shape_(shape), rows_(rows), heads_(heads) {
    made_.list.resize(kCount);
    describe();
  }

  Landmarks build() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      made_.rows.push_back(rows_[i].row);
      add_row(i);
    }
    add_other_rows();
    return std::move(made_);
  }

 private:
  Landmark& at(Index index) { return made_.list[index]; }

  void describe() {
    const double scale = shape_.scale;
    const double root = std::sqrt(static_cast<double>(shape_.head_dim));
    const std::vector<LandmarkFactor> logs = {{std::numbers::log2e, "log2(e)"}};
    const std::vector<LandmarkFactor> scales = {{scale, "the scale"},
                                                {scale * std::numbers::log2e, "the scale times log2(e)"},
                                                {std::sqrt(std::abs(scale)), "the root of the scale"},
                                                {root, "the root of the head size"},
                                                {1 / root, "the inverse root of the head size"}};
    const auto set = [&](Index index, std::string_view name, std::vector<std::size_t> needs, std::vector<LandmarkFactor> factors) {
      at(index).name = name;
      at(index).needs = std::move(needs);
      at(index).factors = std::move(factors);
    };
    set(kQuery, "coordinate of the query", {}, scales);
    set(kKey, "coordinate of a key", {}, scales);
    set(kValue, "coordinate of a value", {}, {});
    set(kKeyNorm, "norm of a key", {}, {});
    set(kValueNorm, "norm of a value", {}, {});
    set(kBias, "mask value of a key", {}, logs);
    for (const Index index : {kQuery, kKey, kValue, kKeyNorm, kValueNorm, kBias}) at(index).is_loaded = true;
    set(kKeyFactor, "scaled norm of a key", {kKeyNorm}, {{scale, "the scale"}});
    set(kValueFactor, "scaled norm of a value", {kValueNorm}, {});
    set(kPlainDot, "dot product without norm", {kQuery}, scales);
    set(kDot, "dot product", {kQuery, kKey, kPlainDot, kKeyNorm, kKeyFactor}, scales);
    set(kScaled, "scaled score", {kDot}, logs);
    set(kCapped, "capped score", {kScaled}, logs);
    set(kScore, "score", {kScaled, kCapped, kBias}, logs);
    set(kWeight, "weight", {kScore}, {});
    set(kFactoredWeight, "weight times norm", {kWeight, kValueNorm, kValueFactor}, {});
    set(kSum, "sum of weights", {kWeight}, {});
    set(kNumerator, "weighted sum of values", {kWeight, kFactoredWeight, kValue}, {});
    for (const auto& [index, kind] :
         {std::pair(kScaled, mistake::kScale), std::pair(kCapped, mistake::kSoftcap), std::pair(kScore, mistake::kMask),
          std::pair(kWeight, mistake::kMaximum), std::pair(kSum, mistake::kUnnormalised), std::pair(kNumerator, mistake::kRescale),
          std::pair(kOutput, mistake::kUnnormalised)})
      at(index).mistake = kind;
    const bool is_quantised = std::ranges::any_of(heads_, [](const AttentionLandmarkHead& head) { return !head.key_factors.empty(); });
    at(kKey).is_optional = at(kValue).is_optional = is_quantised;
    for (const Index index : {kKeyNorm, kKeyFactor, kPlainDot, kCapped, kBias, kValueNorm, kValueFactor, kFactoredWeight})
      at(index).is_optional = true;
    set(kOutput, "output", {kSum, kNumerator}, {});
    if (shape_.softcap != 0) {
      at(kDot).factors.push_back({scale / shape_.softcap, "the scale over the cap"});
      at(kScaled).factors.push_back({1 / shape_.softcap, "the inverse cap"});
    }
    at(kScaled).faults = at(kScore).faults = faults_of_scores();
    // A key that was the highest so far has the weight 1, which says nothing.
    constexpr double most_weights = 0.8;
    at(kWeight).enough = at(kFactoredWeight).enough = most_weights;
  }

  [[nodiscard]] std::vector<LandmarkFactor> faults_of_scores() const {
    const double scale = shape_.scale;
    const double root = std::sqrt(static_cast<double>(shape_.head_dim));
    std::vector<LandmarkFactor> faults = {{1 / scale, "1 / scale: the scale is missing", true},
                                          {scale, "the scale, twice"},
                                          {std::numbers::ln2, "ln(2)"},
                                          {root, "the root of the head size"},
                                          {1 / root, "1 / the root of the head size"},
                                          {-1.0, "-1"},
                                          {2.0, "2"},
                                          {0.5, "1/2"}};
    faults.push_back({std::numbers::log2e * std::numbers::log2e, "log2(e), twice"});
    if (shape_.softcap != 0) {
      faults.push_back({shape_.softcap, "the cap"});
      faults.push_back({1 / shape_.softcap, "1 / cap: the cap is missing", true});
    }
    return faults;
  }

  [[nodiscard]] std::vector<Scored> scores_of(const AttentionLandmarkRow& row) const {
    std::vector<Scored> scored;
    for (std::size_t key = 0; key < row.bias.size(); ++key) {
      const double* stored = heads_[row.kv_head].keys.data() + key * shape_.head_dim;
      double dot = 0;
      for (std::size_t c = 0; c < shape_.head_dim; ++c) dot += row.query[c] * stored[c];
      const double scaled = shape_.scale * dot;
      const double capped = shape_.softcap == 0 ? scaled : shape_.softcap * math::tanh(scaled / shape_.softcap);
      const double bias = row.bias[key] == kLowest ? 0.0 : row.bias[key];
      scored.push_back({key, dot, scaled, capped, bias, capped + bias});
    }
    return scored;
  }

  static LandmarkElement element(std::size_t row, std::int64_t key, std::int64_t coordinate, std::vector<double> values) {
    return {.row = row, .key = key, .coordinate = coordinate, .head = -1, .values = std::move(values)};
  }

  void add_coordinates(Index index, std::size_t row, std::int64_t key, const double* numbers, std::size_t count) {
    for (std::size_t c = 0; c < count; ++c) at(index).elements.push_back(element(row, key, static_cast<std::int64_t>(c), {numbers[c]}));
  }

  void add_row(std::size_t i) {
    const AttentionLandmarkRow& row = rows_[i];
    add_coordinates(kQuery, i, -1, row.query.data(), shape_.head_dim);
    std::vector<Scored> seen, hidden;
    for (const Scored& one : scores_of(row)) (row.bias[one.key] == kLowest ? hidden : seen).push_back(one);
    const AttentionLandmarkHead& head = heads_[row.kv_head];
    for (const Scored& one : seen) {
      const auto key = static_cast<std::int64_t>(one.key);
      add_coordinates(kKey, i, key, head.keys.data() + one.key * shape_.head_dim, shape_.head_dim);
      add_coordinates(kValue, i, key, head.values.data() + one.key * shape_.value_dim, shape_.value_dim);
      at(kDot).elements.push_back(element(i, key, -1, {one.dot}));
      at(kScaled).elements.push_back(element(i, key, -1, {one.scaled}));
      // The cap is part of the score, and the bias is added behind it.
      if (shape_.softcap != 0) at(kCapped).elements.push_back(element(i, key, -1, {one.capped}));
      if (one.bias != 0) at(kBias).elements.push_back(element(i, key, -1, {one.bias}));
      at(kScore).elements.push_back(element(i, key, -1, {one.score}));
      if (head.key_factors.empty()) continue;
      at(kKeyNorm).elements.push_back(element(i, key, -1, {head.key_norms[one.key]}));
      at(kKeyFactor).elements.push_back(element(i, key, -1, {head.key_factors[one.key]}));
      at(kValueNorm).elements.push_back(element(i, key, -1, {head.value_norms[one.key]}));
      at(kValueFactor).elements.push_back(element(i, key, -1, {head.value_factors[one.key]}));
      if (const double factor = head.key_factors[one.key]; factor != 0)
        at(kPlainDot).elements.push_back(element(i, key, -1, {one.dot / factor}));
    }
    add_softmax(i, seen, hidden, head);
  }

  // Weights exp(s - m) for every maximum m that a kernel may have when it meets the key, and the sums for the maximum of all.
  void add_softmax(std::size_t i, const std::vector<Scored>& seen, const std::vector<Scored>& hidden, const AttentionLandmarkHead& head) {
    if (seen.empty()) return;
    std::vector<double> maxima;
    for (const Scored& one : seen) maxima.push_back(one.score);
    const std::optional<double> sink = rows_[i].sink;
    if (sink) maxima.push_back(*sink);
    std::ranges::sort(maxima, std::ranges::greater());
    const double top = maxima.front();
    maxima.resize(std::min(maxima.size(), kMostMaxima));
    // A key's own score as the maximum gives 1, whatever the score: that says nothing.
    const auto weights = [&](double score) {
      std::vector<double> values = {math::exp(score - top)};
      for (const double maximum : maxima) {
        if (maximum > score && maximum != top) values.push_back(math::exp(score - maximum));
      }
      return values;
    };
    double sum = sink ? math::exp(*sink - top) : 0.0;
    std::vector<double> numerator(shape_.value_dim);
    // The rounding of a score is that of a weight times the size of the score.
    double largest = 1;
    for (const Scored& one : seen) largest = std::max(largest, std::abs(one.score));
    at(kWeight).maxima.resize(rows_.size());
    at(kWeight).maxima[i] = top;
    for (const Scored& one : seen) {
      at(kWeight).elements.push_back(element(i, static_cast<std::int64_t>(one.key), -1, weights(one.score)));
      at(kWeight).elements.back().coarseness = largest;
      if (!head.value_factors.empty()) {
        LandmarkElement factored = at(kWeight).elements.back();
        for (double& value : factored.values) value *= head.value_factors[one.key];
        at(kFactoredWeight).elements.push_back(std::move(factored));
      }
      const double weight = math::exp(one.score - top);
      sum += weight;
      for (std::size_t c = 0; c < shape_.value_dim; ++c) numerator[c] += weight * head.values[one.key * shape_.value_dim + c];
    }
    for (const Scored& one : hidden) {
      if (std::isfinite(one.score)) at(kWeight).others.push_back(element(i, static_cast<std::int64_t>(one.key), -1, weights(one.score)));
    }
    at(kSum).elements.push_back(element(i, -1, -1, {sum}));
    for (std::size_t c = 0; c < shape_.value_dim; ++c) {
      const auto coordinate = static_cast<std::int64_t>(c);
      at(kNumerator).elements.push_back(element(i, -1, coordinate, {numerator[c], numerator[c] / sum}));
      at(kOutput).elements.push_back(element(i, -1, coordinate, {numerator[c] / sum}));
    }
  }

  // Keys, values and norms of all heads, to say which of them a kernel reads instead.
  void add_other_rows() {
    constexpr std::size_t most = std::size_t{1} << 19;
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      for (const auto& [index, norms] : {std::pair(kKeyNorm, &heads_[h].key_norms), std::pair(kValueNorm, &heads_[h].value_norms)}) {
        for (std::size_t key = 0; key < norms->size(); ++key) {
          if (!std::isfinite((*norms)[key])) continue;
          at(index).others.push_back(element(0, static_cast<std::int64_t>(key), -1, {(*norms)[key]}));
          at(index).others.back().head = static_cast<std::int64_t>(h);
        }
      }
      for (const auto& [index, numbers, width] :
           {std::tuple(kKey, &heads_[h].keys, shape_.head_dim), std::tuple(kValue, &heads_[h].values, shape_.value_dim)}) {
        for (std::size_t j = 0; j < numbers->size() && at(index).others.size() < most; ++j) {
          if (!std::isfinite((*numbers)[j])) continue;
          at(index).others.push_back({.row = 0,
                                      .key = static_cast<std::int64_t>(j / width),
                                      .coordinate = static_cast<std::int64_t>(j % width),
                                      .head = static_cast<std::int64_t>(h),
                                      .values = {(*numbers)[j]}});
        }
      }
    }
  }

  const AttentionLandmarkShape& shape_;
  std::span<const AttentionLandmarkRow> rows_;
  std::span<const AttentionLandmarkHead> heads_;
  Landmarks made_;
};

}  // namespace

Landmarks attention_landmarks(const AttentionLandmarkShape& shape, std::span<const AttentionLandmarkRow> rows,
                              std::span<const AttentionLandmarkHead> heads) {
  return Builder(shape, rows, heads).build();
}

}  // namespace assay::families
