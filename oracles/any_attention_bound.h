// The statistical bound of attention of any shape, in the terms of oracles/ANY_ATTENTION.md. Internal to oracles/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oracles/any_attention.h"
#include "oracles/attention_tiles.h"

namespace assay::oracles {

// The score of a visible key, with what its error depends on. `scaled` is scale times the dot product, of whose terms `squares`,
// `prefix` and `blocks` are (KeyTiles::Products, times scale squared); `capped` follows the softcap, whose slope is `slope`; then the bias
// is added.
struct KeyScore {
  std::size_t key;
  double score, scaled, squares, prefix, blocks, capped, slope, bias;
  double alike;  // so many of its coordinates round alike, if keys are rounded
};

// What shape and declaration say, alike for all rows.
struct AnyRoundings {
  AnyRoundings(const AnyAttentionShape& shape, const AnyAttentionAccuracy& declared);

  // The variance of a score and of its exponential, in units where the bound is so many standard deviations; and the systematic part.
  [[nodiscard]] double variance(const KeyScore& key, double distance) const;
  [[nodiscard]] double systematic(const KeyScore& key, double distance) const;

  AnyAttentionAccuracy accuracy;
  double dim, depth, cap;
  double query_unit;    // of the rounding of q times the scale
  double dot_variance;  // of one rounding in a dot product
  double underflow;     // of a score
  double key_unit;      // of the declared rounding of keys; 0: none
  double key_loss;      // what it may lose below the normal numbers, of a score with a query of size 1
};

// One row: the weights, and how far they may be off.
class RowErrors {
 public:
  explicit RowErrors(const AnyRoundings& roundings) : roundings_(roundings) {}

  // Scores of visible keys, and of the sink. There is at least one of them. `shared` is the share of keys that round alike in a coordinate,
  // and `lost` what their rounding may lose of a score below the normal numbers.
  void assess(std::span<const KeyScore> scores, std::optional<double> sink, double shared = 0.0, double lost = 0.0);

  [[nodiscard]] std::span<const KeyTerm> keys() const { return keys_; }
  // Coordinate `lane` of a tile's sums. `alike` of its values round alike.
  struct Element {
    double value, bound, magnitude;
  };
  [[nodiscard]] Element element(const ValueTiles::Sums& sums, std::size_t lane, double largest, double size, double alike) const;
  // The logarithm of the sum of exponentials.
  [[nodiscard]] Element lse(LogBase base) const;

 private:
  void weigh(std::span<const KeyScore> scores, std::optional<double> sink);
  void count(std::span<const KeyScore> scores);
  void spread(std::span<const KeyScore> scores, std::optional<double> sink, double shared, double lost);
  // A key, or the sink: what its score may be off by.
  struct Doubt {
    double weight, distance, multiplicity, variance, centred, raw;
  };
  double add(const Doubt& doubt);
  [[nodiscard]] double roundings_alike() const;
  [[nodiscard]] double worst(double partial, double all) const;
  [[nodiscard]] double squared(double weight, double off, double distance) const;
  [[nodiscard]] double from_narrow_sums(double value, double magnitude, double partial) const;

  const AnyRoundings& roundings_;
  std::vector<KeyTerm> keys_;
  std::vector<std::uint32_t> places_, counts_;  // of each key, the place of its score in a table; how many share a place
  double largest_ = 0, sum_ = 0;                // of the scores; of the weights, of which the largest is 1
  double sink_ = 0;                             // its weight
  double share_ = 0;                            // the weight of all keys, which the numerator is a sum of
  double mean_score_ = 0, mean_scaled_ = 0;
  double rises_ = 0;        // of a running maximum
  double sums_ = 0;         // roundings of a running sum, as the variance counts them
  double denominator_ = 0;  // variance of the sum of weights, relative to it, in units of u^2
  double alike_ = 1;        // how many keys share a score, on average by the square of the weight
  double lost_ = 0;         // weights that a sum may not notice
  double linear_ = 0;       // mean square of the systematic errors of the keys' weights; their root after assess()
  double linear_sink_ = 0;  // what the sink's systematic error changes of an output of 1
  double linear_lse_ = 0;   // their mean size, with what is common to all
  double shared_ = 0;       // variance of what all keys share through the rounded query
  double errors_ = 0;       // sum of the keys' and the sink's KeyTerm::error
  double shrunk_ = 0;       // the least sum of weights, of 1
};

}  // namespace assay::oracles
