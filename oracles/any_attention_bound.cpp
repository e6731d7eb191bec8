// The bound of attention of any shape, derived in README.md, "Any attention".
#include "oracles/any_attention_bound.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "math/functions.h"

namespace assay::oracles {
namespace {

constexpr double kUnit = kFloatUnit;

// The bound is so many times the square root of the sum of squares of all roundings' largest errors.
constexpr double kDeviations = 4.0;
constexpr double kDeviations2 = kDeviations * kDeviations;

// Roundings to a declared format of which one is allowed to be wrong: as in attention_bound.cpp.
constexpr double kNarrowCap = 8.0;

// Shares of the sum below this may be lost whole when they are added to it.
constexpr double kNoticed = 4.0 * kUnit;

// What products of errors add: every single one is far below 2^-10 where a bound is informative.
constexpr double kSecondOrder = 1.0 + 0x1p-10;

bool is_narrow(const OutputFormat& format) { return format.significant_bits < float_format().significant_bits; }
double narrow_unit(const OutputFormat& format) { return is_narrow(format) ? format.unit() : 0.0; }
double narrow_spacing(const OutputFormat& format) { return is_narrow(format) ? format.smallest_subnormal : 0.0; }

double square(double x) { return x * x; }

// >= e^x - 1 for x < 1.
double grown(double x) { return x * (1.0 + x); }

// Exponents of doubts that leave nothing of a result; their squares, times those of values, are numbers still.
constexpr double kLargestDoubt = 100.0;

// Below this share, a sum of weights is in doubt altogether.
constexpr double kLeastSum = 0x1p-30;

// Levels of a merge tree: more partial results than threads of any grid.
constexpr double kMerges = 64.0;

// Spacings of floats next to a sum of 1, in the units that a kernel may choose for it.
constexpr std::array<double, 4> kSpacings = {2.0 * kUnit, 1.6875 * kUnit, 1.421875 * kUnit, 1.1875 * kUnit};

// A sine of period 1 within 0.06, for 0 <= x < 1: how phases add up needs no more.
double wave(double x) {
  const double half = x < 0.5 ? x : x - 0.5;
  const double arch = 16.0 * half * (0.5 - half);
  return x < 0.5 ? arch : -arch;
}
double fraction(double x) { return x - std::floor(x); }

}  // namespace

AnyAttentionAccuracy without_conversions(AnyAttentionAccuracy accuracy) {
  accuracy.keys = accuracy.values = accuracy.query = accuracy.dot = accuracy.scores = accuracy.weights = accuracy.accumulator =
      accuracy.statistics = float_format();
  accuracy.output = accuracy.lse_output = float_format();
  accuracy.stores.clear();
  return accuracy;
}

double weakest_unit(const AnyAttentionAccuracy& accuracy) {
  double unit = accuracy.output.unit();
  for (const OutputFormat* format : {&accuracy.keys, &accuracy.values, &accuracy.query, &accuracy.dot, &accuracy.scores, &accuracy.weights,
                                     &accuracy.accumulator, &accuracy.statistics}) {
    unit = std::max(unit, format->unit());
  }
  for (const OutputFormat& store : accuracy.stores) unit = std::max(unit, store.unit());
  return unit;
}

AnyRoundings::AnyRoundings(const AnyAttentionShape& shape, const AnyAttentionAccuracy& declared)
    : accuracy(declared),
      dim(static_cast<double>(shape.head_dim)),
      depth(static_cast<double>(
          std::min(declared.dot_depth ? declared.profile.depth_of(*declared.dot_depth) : shape.head_dim, shape.head_dim))),
      cap(shape.softcap),
      query_unit(std::max(kUnit, declared.query.unit())),
      dot_variance(square(std::max(kUnit, declared.dot.unit()))),
      underflow(std::abs(shape.scale) * dim * (2.0 * declared.profile.eta + declared.profile.eta_add) + 4.0 * declared.profile.eta),
      key_unit(narrow_unit(declared.keys)),
      key_loss(0.5 * std::abs(shape.scale) * narrow_spacing(declared.keys)) {}

double AnyRoundings::variance(const KeyScore& key, double distance) const {
  const double scaled2 = square(key.scaled);
  // Where products are alike, so are their roundings, and add up.
  const double alike = key.squares > 0.0 ? std::min(1.0, key.blocks / (static_cast<double>(kDotStep) * key.squares)) : 0.0;
  const double partial = std::max(key.prefix, scaled2 / 3.0 + key.squares / 6.0);
  const double chain = depth * partial + key.squares + square(0.5 * depth * square(alike)) * partial;
  const double slope2 = square(key.slope);
  double operations = scaled2 * slope2 + square(key.score) + square(distance) + 1.0;
  if (cap != 0.0) operations += (2.0 + square(accuracy.profile.tanh_error)) * square(key.capped) + 9.0 * square(cap);
  if (key.bias != 0.0) operations += square(key.score) + square(key.bias);
  double stored = square(key_unit) * slope2 * key.alike * key.squares;
  if (is_narrow(accuracy.scores)) {
    const double size = std::max({std::abs(key.scaled), std::abs(key.capped), std::abs(key.score)});
    stored = square(accuracy.scores.unit() * size) + square(0.5 * accuracy.scores.smallest_subnormal);
  }
  return kDeviations2 * (dot_variance * slope2 * chain + square(kUnit) * operations + stored);
}

double AnyRoundings::systematic(const KeyScore& key, double distance) const {
  const ArithmeticProfile& profile = accuracy.profile;
  const double exponential = std::max(0.0, profile.exp_error - 1.0) + profile.exp_error_per_unit * distance;
  return kUnit * (accuracy.bias_error * std::abs(key.bias) + exponential + profile.tanh_absolute * cap) + underflow;
}

void RowErrors::weigh(std::span<const KeyScore> scores, std::optional<double> sink) {
  largest_ = sink.value_or(-std::numeric_limits<double>::infinity());
  for (const KeyScore& key : scores) largest_ = std::max(largest_, key.score);
  keys_.resize(scores.size());
  sink_ = sink ? math::exp(*sink - largest_) : 0.0;
  sum_ = sink_;
  for (std::size_t t = 0; t < scores.size(); ++t) {
    keys_[t] = {.key = scores[t].key, .weight = math::exp(scores[t].score - largest_), .error = 0.0, .small = 0.0};
    sum_ += keys_[t].weight;
  }
  sink_ /= sum_;
  mean_score_ = sink_ * sink.value_or(0.0);
  mean_scaled_ = share_ = 0.0;
  for (std::size_t t = 0; t < scores.size(); ++t) {
    keys_[t].weight /= sum_;
    share_ += keys_[t].weight;
    mean_score_ += keys_[t].weight * scores[t].score;
    mean_scaled_ += keys_[t].weight * scores[t].scaled;
  }
  // Only a difference of scores that is one of scaled products too is unchanged by a common shift of these.
  if (roundings_.cap != 0.0) mean_scaled_ = 0.0;
}

// Equal scores have equal errors: how many share one; and how often a running maximum rises.
void RowErrors::count(std::span<const KeyScore> scores) {
  const std::size_t size = std::bit_ceil(8 * scores.size() + 8);
  const int shift = 32 - std::countr_zero(size);
  places_.resize(scores.size());
  counts_.assign(size, 0);
  std::size_t forward = 0, backward = 0;
  double maximum = -std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t < scores.size(); ++t) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(scores[t].score - largest_) + 0.0F);
    places_[t] = (bits * 2654435769U) >> shift;
    ++counts_[places_[t]];
    if (scores[t].score > maximum) maximum = scores[t].score, ++forward;
  }
  maximum = -std::numeric_limits<double>::infinity();
  for (std::size_t t = scores.size(); t-- > 0;) {
    if (scores[t].score > maximum) maximum = scores[t].score, ++backward;
  }
  rises_ = static_cast<double>(std::max(forward, backward) + 1);
}

// Roundings of a running sum that go the same way, as a number of equal addends squared. A sum is a multiple of the spacing of its floats,
// so the rounding of an addend depends on its remainder alone: as a point on a circle, remainders that are alike add up. The denominator is
// near 1, the numerator near the share of the keys.
double RowErrors::roundings_alike() const {
  double most = 0.0;
  const auto look = [&](double sum) {
    for (const double spacing : kSpacings) {
      double sine = 0.0, cosine = 0.0;
      for (const KeyTerm& key : keys_) {
        if (key.weight < kNoticed * sum) continue;
        const double phase = fraction(key.weight / (spacing * sum));
        sine += wave(phase);
        cosine += wave(fraction(phase + 0.25));
      }
      most = std::max(most, square(sine) + square(cosine));
    }
  };
  look(1.0);
  if (sink_ > 0.5) look(share_);
  // Random phases have the mean n, and rarely more than 4 n.
  return most / 4.0;
}

// Every rounding at its largest, all in one direction: u |partial sum| for each, and u |product|. `partial` is the mean square of the
// partial sums, `all` the sum of the sizes. No order needs more than three roundings for a key.
double RowErrors::worst(double partial, double all) const {
  const double keys = static_cast<double>(keys_.size());
  return std::min((keys + 2.0 * rises_ + kMerges) * std::sqrt(partial) + all, 3.0 * std::max(1.0, keys) * all);
}

// >= weight (e^off - 1)^2, for a weight e^-distance / sum.
double RowErrors::squared(double weight, double off, double distance) const {
  return off < 1.0 ? weight * square(grown(off)) : math::exp(std::min(2.0 * off - distance, kLargestDoubt)) / sum_;
}

double RowErrors::add(const Doubt& doubt) {
  const double deviation = std::sqrt(doubt.variance);
  const double error =
      doubt.multiplicity * (deviation < 1.0 ? square(doubt.weight * grown(deviation))
                                            : math::exp(std::min(2.0 * (deviation - doubt.distance), kLargestDoubt)) / square(sum_));
  errors_ += error;
  // e^x - 1 is no centred error: its mean is half of the variance.
  linear_ += squared(doubt.weight, doubt.centred + doubt.variance, doubt.distance);
  linear_lse_ += doubt.weight * (doubt.raw + doubt.centred + doubt.variance);
  const double loss = deviation + doubt.centred;
  shrunk_ += doubt.weight * (loss < 0x1p-7 ? 1.0 - loss : math::exp(-loss));
  return error;
}

void RowErrors::spread(std::span<const KeyScore> scores, std::optional<double> sink, double shared, double lost) {
  const double scale_unit = kUnit + (roundings_.query_unit > kUnit ? roundings_.query_unit : 0.0) + roundings_.key_unit * shared;
  const double statistics = narrow_unit(roundings_.accuracy.statistics);
  sums_ = lost_ = linear_ = linear_sink_ = linear_lse_ = shared_ = errors_ = shrunk_ = 0.0;
  double distance2 = 0.0, shares = 0.0, squares = square(sink_);
  double running = sink_, ahead = 0.0, behind = 0.0;
  for (std::size_t t = 0; t < scores.size(); ++t) {
    const KeyScore& key = scores[t];
    const double weight = keys_[t].weight, distance = largest_ - key.score;
    const double multiplicity = counts_[places_[t]];
    keys_[t].small = weight < kNoticed * share_ ? share_ : 0.0;
    if (keys_[t].small == 0.0) sums_ += multiplicity;
    if (weight < kNoticed) lost_ += std::min(weight, kUnit);
    distance2 += weight * square(distance);
    squares += square(weight);
    running += weight;
    ahead += square(running);
    behind += square(1.0 - running + weight);
    shares += multiplicity * square(weight);
    const double own =
        roundings_.systematic(key, distance) + lost * key.slope + statistics * std::max(std::abs(key.score), std::abs(largest_));
    const double centred =
        kUnit * 2.0 * std::abs(key.score - mean_score_) + scale_unit * key.slope * std::abs(key.scaled - mean_scaled_) + own;
    const double raw = kUnit * 2.0 * std::abs(key.score) + scale_unit * std::abs(key.scaled);
    keys_[t].error = add({weight, distance, multiplicity, roundings_.variance(key, distance), centred, raw});
    shared_ += squared(weight, kDeviations * roundings_.query_unit * key.slope * std::sqrt(key.squares), distance);
  }
  if (sink) {
    const double distance = largest_ - *sink;
    const double own =
        kUnit * (std::max(0.0, roundings_.accuracy.profile.exp_error - 1.0) + roundings_.accuracy.profile.exp_error_per_unit * distance) +
        statistics * std::max(std::abs(*sink), std::abs(largest_));
    const double of_keys = std::exchange(linear_, 0.0);
    add({sink_, distance, 1.0, kDeviations2 * square(kUnit) * (2.0 * square(*sink) + square(distance) + 1.0),
         kUnit * 2.0 * std::abs(*sink - mean_score_) + own, kUnit * 2.0 * std::abs(*sink)});
    linear_sink_ = std::sqrt(sink_ * std::exchange(linear_, of_keys));
    sums_ += 1.0;
    distance2 += sink_ * square(distance);
  }
  sums_ = std::max(sums_, roundings_alike()) + rises_ * (3.0 + 2.0 * distance2);
  const double partial = std::max(std::max(ahead, behind) / std::max(1.0, static_cast<double>(keys_.size())), 1.0 / 3.0 + squares / 6.0);
  denominator_ = std::min(kDeviations2 * sums_, square(worst(partial, 1.0)));
  alike_ = std::max(1.0, shares / squares);
  linear_ = std::sqrt(linear_);
}

void RowErrors::assess(std::span<const KeyScore> scores, std::optional<double> sink, double shared, double lost) {
  weigh(scores, sink);
  count(scores);
  spread(scores, sink, shared, lost);
}

// What narrow storage of the running output, of the running sum and of finished outputs adds; `partial` is the mean square of a partial
// sum.
double RowErrors::from_narrow_sums(double value, double magnitude, double partial) const {
  const AnyAttentionAccuracy& accuracy = roundings_.accuracy;
  const double size = std::abs(value);
  const double keys = static_cast<double>(keys_.size());
  double added = 0.0;
  if (is_narrow(accuracy.accumulator)) {
    const double roundings = std::ceil(keys / static_cast<double>(accuracy.accumulator_keys)) + 2.0 * rises_;
    const double unit = accuracy.accumulator.unit();
    added += unit * (size + kDeviations * std::sqrt(roundings * alike_ * partial)) +
             roundings * 0.5 * accuracy.accumulator.smallest_subnormal / std::min(1.0, sum_);
  }
  double theta = 1.0;
  for (const OutputFormat& store : accuracy.stores) {
    theta *= 1.0 + narrow_unit(store);
    added += 0.5 * narrow_spacing(store);
  }
  added += (theta - 1.0) * magnitude;
  if (is_narrow(accuracy.statistics)) added += size * accuracy.statistics.unit() * (1.0 + kDeviations * std::sqrt(keys * alike_));
  return std::min(added, kNarrowCap * weakest_unit(accuracy) * magnitude);
}

RowErrors::Element RowErrors::element(const ValueTiles::Sums& sums, std::size_t lane, double largest, double size, double alike) const {
  const AnyAttentionAccuracy& accuracy = roundings_.accuracy;
  const ArithmeticProfile& profile = accuracy.profile;
  const double value = sums.value[lane], magnitude = sums.magnitude[lane], squares = sums.squares[lane];
  const double value2 = square(value), magnitude2 = square(magnitude);
  // Of the keys' values about the output, by weight. The sink's value is 0, which is all of the output away.
  const double spread = std::max(0.0, sums.square[lane] - value2 * (1.0 + sink_));
  const double keys = static_cast<double>(keys_.size());

  const double from_weights = std::max(0.0, sums.errors[lane] - 2.0 * value * sums.error[lane] + value2 * errors_) + shared_ * spread;
  const double random = value2 / 3.0 + squares / 6.0;
  const double partial = sums.prefix[lane] + random;
  const double in_sums = square(kUnit) * std::min(kDeviations2 * (sums_ * partial + squares),
                                                  square(worst(std::max({sums.prefix[lane], sums.suffix[lane], random}), magnitude)));
  const double in_denominator = square(kUnit) * value2 * denominator_;
  const double weight_unit = narrow_unit(accuracy.weights);
  const double in_weights = square(weight_unit) * std::min(kDeviations2 * alike_ * squares, magnitude2);
  const double in_values = square(narrow_unit(accuracy.values)) * std::min(kDeviations2 * alike * squares, magnitude2);
  const double normalise = std::max(profile.reciprocal_error + 1.0, profile.divide_error);
  double off = std::sqrt(from_weights + in_sums + in_denominator + in_weights + in_values) + linear_ * std::sqrt(spread) +
               linear_sink_ * std::abs(value) + (normalise * kUnit + weight_unit) * std::abs(value) + sums.small[lane] +
               lost_ * std::abs(value);
  // The result is a weighted mean with any weights.
  off = std::min(off / std::max(shrunk_, kLeastSum), 2.0 * largest);

  const double losses =
      profile.eta * (keys * (4.0 + std::abs(value)) + 2.0 * size) + profile.eta_add * 2.0 * keys * (1.0 + std::abs(value));
  off += losses / (sum_ * std::max(shrunk_, kLeastSum)) + 2.0 * profile.eta;
  off += 0.5 * narrow_spacing(accuracy.weights) * (size + keys * std::abs(value)) / sum_;
  off += 0.5 * narrow_spacing(accuracy.values);
  off += from_narrow_sums(value, magnitude, partial);
  return {.value = value, .bound = accuracy.output.widen(value, off * kSecondOrder), .magnitude = magnitude};
}

RowErrors::Element RowErrors::lse(LogBase base) const {
  const AnyAttentionAccuracy& accuracy = roundings_.accuracy;
  const ArithmeticProfile& profile = accuracy.profile;
  const double keys = static_cast<double>(keys_.size());
  const double log_sum = math::log(sum_);
  double value = largest_ + log_sum;
  double magnitude = std::abs(largest_) + log_sum;
  double off = std::sqrt(errors_ + shared_ + square(kUnit) * denominator_) + linear_lse_ + lost_ +
               kUnit * (profile.log_error * log_sum + profile.log_absolute + std::abs(largest_) + std::abs(value)) +
               narrow_unit(accuracy.weights) + 0.5 * narrow_spacing(accuracy.weights) * keys / sum_;
  if (is_narrow(accuracy.statistics)) {
    off += accuracy.statistics.unit() *
           (std::min(kNarrowCap, 1.0 + kDeviations * std::sqrt(keys * alike_)) + std::abs(largest_) + std::abs(value));
  }
  if (base == LogBase::two) {
    value *= std::numbers::log2e;
    magnitude *= std::numbers::log2e;
    off = off * std::numbers::log2e + 2.0 * kUnit * magnitude;
  }
  return {.value = value, .bound = accuracy.lse_output.widen(value, off * kSecondOrder), .magnitude = magnitude};
}

}  // namespace assay::oracles
