// The error bound of decode and dense attention, derived in README.md.
#include "oracles/attention_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/functions.h"
#include "oracles/codebook.h"

namespace assay::oracles {

namespace {

// Roundings from a stored norm and a centroid to the coordinate that a kernel multiplies with.
double dequantise_roundings(const DecodeShape& shape, const TurboQuantCache& cache, const ArithmeticProfile& profile) {
  const bool blocks = cache.norm_layout == NormLayout::one_per_block && shape.head_dim > 256;
  const double to_multiplier = blocks ? std::max(profile.divide_error, profile.reciprocal_error + 1.0) : profile.rsqrt_error + 1.0;
  return to_multiplier + 1.0;
}

// Roundings that a sum in one piece is allowed: 2^-12 of its magnitude above the fraction bar, and as much below. Twice that is half of
// where a bound has no meaning any more.
constexpr double kLongestSum = 4096.0;

bool is_weaker(const OutputFormat& format) { return format.significant_bits < float_format().significant_bits; }

// Below this distance from the largest score a weight is under 2^-150: masked slots live there (domain of the decode families).
constexpr double kVanishing = 104.0;

}  // namespace

double weakest_unit(const AttentionAccuracy& accuracy) {
  double unit = std::max({accuracy.output.unit(), accuracy.accumulator.unit(), accuracy.keys.unit(), accuracy.values.unit()});
  for (const OutputFormat& store : accuracy.stores) unit = std::max(unit, store.unit());
  return unit;
}

AttentionRoundings::AttentionRoundings(const DecodeShape& shape, const TurboQuantCache& cache, const AttentionAccuracy& accuracy,
                                       std::span<const std::size_t> visible)
    : profile(accuracy.profile), largest_centroid(oracles::largest_centroid(cache.bits)), head_dim(shape.head_dim), scale(shape.scale) {
  const bool blocks = cache.norm_layout == NormLayout::one_per_block && shape.head_dim > 256;
  multiplier_eta = 1.0 + (blocks ? std::max(1.0, 1.0 / static_cast<double>(cache.scale_factor_d512)) : 1.0);
  count(shape.kv_len, dequantise_roundings(shape, cache, profile), accuracy, visible);
}

AttentionRoundings::AttentionRoundings(std::size_t kv_len, std::size_t dim, float score_scale, const AttentionAccuracy& accuracy,
                                       std::span<const std::size_t> visible)
    : profile(accuracy.profile), largest_centroid(1.0), multiplier_eta(0.0), head_dim(dim), scale(score_scale) {
  count(kv_len, 0.0, accuracy, visible);
}

void AttentionRoundings::count(std::size_t kv_len, double dequantise, const AttentionAccuracy& accuracy,
                               std::span<const std::size_t> visible) {
  // The keys of a ring that is not full may be behind kv_len.
  const std::size_t end = std::max(kv_len, visible.empty() ? 0 : *std::ranges::max_element(visible) + 1);
  const std::size_t all_chunks = (end + kChunk - 1) / kChunk;
  std::vector<std::size_t> number(all_chunks, all_chunks);
  std::size_t found = 0;
  chunk_of.reserve(visible.size());
  for (const std::size_t slot : visible) {
    std::size_t& index = number[slot / kChunk];
    if (index == all_chunks) index = found++;
    chunk_of.push_back(index);
  }
  chunks = static_cast<double>(found);
  positions = chunks * static_cast<double>(kChunk);

  const double dot = static_cast<double>(std::min(accuracy.dot_depth ? profile.depth_of(*accuracy.dot_depth) : head_dim, head_dim));
  // Sums within a chunk, then a rescale and a sum for each further chunk on the way to the root of any merge tree. Or key after
  // key in one sum, which is rescaled for each further chunk.
  const double in_chunk = static_cast<double>(std::min(kv_len, kChunk)) - 1.0;
  const double merging = 2.0 * (chunks - 1.0);
  const double key_after_key = static_cast<double>(visible.size()) - 1.0 + chunks - 1.0;
  const double summing = std::max(in_chunk + merging, std::min(key_after_key, kLongestSum));
  const double normalise = std::max(profile.reciprocal_error + 1.0, profile.divide_error);
  score_gamma = gamma(dot + dequantise);
  key_eta = 0.0;
  if (is_weaker(accuracy.keys)) {
    score_gamma += accuracy.keys.unit() * (1.0 + score_gamma);
    key_eta = 0.5 * accuracy.keys.smallest_subnormal;
  }
  sum_gamma = gamma(summing);
  output_gamma = gamma(dequantise + 1.0 + summing + normalise);

  storage_theta = 0.0;
  storage_eta = 0.0;
  if (is_weaker(accuracy.accumulator)) {
    // So many sums for every chunk; for every further one a rescale, whose factor may be rounded before its product is.
    const std::size_t sums = (kChunk + accuracy.accumulator_keys - 1) / accuracy.accumulator_keys;
    const double roundings = chunks * static_cast<double>(sums) + merging;
    const double unit = accuracy.accumulator.unit();
    storage_theta = roundings * unit < 1.0 ? gamma(roundings, unit) : std::numeric_limits<double>::infinity();
    storage_eta = roundings * 0.5 * accuracy.accumulator.smallest_subnormal;
  }
  std::vector<OutputFormat> once = accuracy.stores;  // of each term or of their sum, which is the same
  once.push_back(accuracy.values);
  for (const OutputFormat& store : once) {
    if (!is_weaker(store)) continue;
    storage_theta += (1.0 + storage_theta) * store.unit();
    storage_eta += 0.5 * store.smallest_subnormal;
  }
  value_eta = is_weaker(accuracy.values) ? 0.5 * accuracy.values.smallest_subnormal : 0.0;
  storage_cap = storage_theta > 0.0 ? kStorageCap * weakest_unit(accuracy) : 0.0;
}

CappedScore capped_score(double score, double softcap, const ArithmeticProfile& profile) {
  const double capped = softcap * math::tanh(score / softcap);
  // The scaled score is rounded up to three times, its quotient twice (by division, or by a rounded reciprocal).
  const double doubt =
      gamma(5.0) * std::abs(score) + kFloatUnit * ((profile.tanh_error + 2.0) * std::abs(capped) + profile.tanh_absolute * softcap);
  return {capped, doubt};
}

WeightErrors weight_errors(const AttentionRoundings& roundings, std::span<const double> scores, std::span<const double> products,
                           std::span<const double> weights, double q_size, std::span<const double> mask_sizes,
                           std::span<const double> doubts) {
  const ArithmeticProfile& profile = roundings.profile;
  const double u = kFloatUnit;
  const double apply = gamma(3.0);
  const double scale = std::abs(static_cast<double>(roundings.scale));
  const double dim = static_cast<double>(roundings.head_dim);
  const double underflow =
      scale * roundings.key_eta * (1.0 + roundings.score_gamma) * q_size +
      scale * (profile.eta * ((roundings.multiplier_eta * roundings.largest_centroid + 1.0) * q_size + dim) + profile.eta_add * dim) +
      4.0 * profile.eta;
  const std::size_t count = scores.size();

  std::vector<double> error(count);
  double largest_error = 0.0;
  double largest_score = -std::numeric_limits<double>::infinity();
  std::vector<double> chunk_maximum(static_cast<std::size_t>(roundings.chunks), -std::numeric_limits<double>::infinity());
  for (std::size_t t = 0; t < count; ++t) {
    error[t] = scale * roundings.score_gamma * (1.0 + apply) * products[t] + apply * std::abs(scores[t]) + underflow;
    if (!mask_sizes.empty()) error[t] += apply * mask_sizes[t];
    if (!doubts.empty()) error[t] += (1.0 + apply) * doubts[t];
    largest_error = std::max(largest_error, error[t]);
    largest_score = std::max(largest_score, scores[t]);
    double& maximum = chunk_maximum[roundings.chunk_of[t]];
    maximum = std::max(maximum, scores[t]);
  }

  // Another chunk can raise the running maximum above the one of t's chunk, and so rescale t's weight by a rounded factor, only
  // if its own maximum gets above it; near the bottom, where masked slots lie, any chunk might.
  std::vector<double> sorted = chunk_maximum;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> rescales(chunk_maximum.size());
  for (std::size_t c = 0; c < rescales.size(); ++c) {
    const double reach = chunk_maximum[c] - 2.0 * largest_error;
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), reach);
    const bool vanishing = reach <= largest_score - kVanishing + 2.0 * largest_error;
    rescales[c] = vanishing ? static_cast<double>(sorted.size()) : static_cast<double>(sorted.end() - first);
    rescales[c] -= 1.0;
  }

  WeightErrors errors;
  errors.slack.resize(count);
  for (std::size_t t = 0; t < count; ++t) {
    const double distance = largest_score - scores[t];
    const double computed = distance + error[t] + largest_error;
    const double exponentials = 1.0 + rescales[roundings.chunk_of[t]];
    const double e = u * profile.exp_error;
    const double steep = u * profile.exp_error_per_unit * computed;
    // -log(1 - x) <= x / (1 - x), as the errors multiply and r_t stands in an exponent.
    const double r = error[t] + u * computed + exponentials * (e / (1.0 - e) + profile.eta) + steep / (1.0 - std::min(steep, 0.5));
    // A weight that vanished in double may still be multiplied by a huge e^r: from 1 on both go into one exponent.
    errors.slack[t] = r < 1.0 ? weights[t] * math::expm1(r) : math::exp(std::min(r - distance, 600.0));
    errors.total_slack += errors.slack[t];
    errors.smallest_sum += weights[t] * math::exp(-r);
  }
  return errors;
}

double loss_of_values(const AttentionRoundings& roundings) {
  const double zeta = roundings.sum_gamma / (1.0 - roundings.sum_gamma);
  return (1.0 + zeta) * (1.0 + roundings.output_gamma) * roundings.value_eta;
}

double element_bound(const AttentionRoundings& roundings, const WeightErrors& errors, double weight_sum, const ElementSums& sums) {
  const ArithmeticProfile& profile = roundings.profile;
  const double size = std::abs(sums.value);
  const double from_weights = sums.deviation / errors.smallest_sum;
  // With any weights, the result is a weighted mean.
  const double largest_magnitude =
      std::min((sums.magnitude * weight_sum + size * errors.total_slack) / errors.smallest_sum + from_weights, sums.largest);
  const double zeta = roundings.sum_gamma / (1.0 - roundings.sum_gamma);
  const double from_sums = std::min(size + from_weights, sums.largest) * zeta + (1.0 + zeta) * roundings.output_gamma * largest_magnitude;

  const double c = roundings.largest_centroid;
  const double n = roundings.positions;
  const double products = profile.eta * (((roundings.multiplier_eta + 1.0) * c + 1.0) * n + 2.0 * roundings.chunks +
                                         size * roundings.chunks + 2.0 * sums.reach);
  const double additions = profile.eta_add * (n + roundings.chunks) * (1.0 + size);
  const double from_underflow = (products + additions) / errors.smallest_sum + 2.0 * profile.eta;
  // Weaker storage multiplies each term by a further 1 + theta on top of the roundings in from_sums.
  const double stored = (1.0 + zeta) * (1.0 + roundings.output_gamma) * roundings.storage_theta * largest_magnitude +
                        roundings.storage_eta * std::max(1.0, 1.0 / errors.smallest_sum);
  // The cap is for errors that grow with the context. A mean of values that lost at most value_eta each has lost no more, whatever its
  // size.
  const double from_storage =
      roundings.storage_cap > 0.0 ? std::min(stored, roundings.storage_cap * sums.magnitude + loss_of_values(roundings)) : 0.0;
  return from_weights + from_sums + from_underflow + from_storage;
}

}  // namespace assay::oracles
