// The bound of decode and dense attention, in the terms of oracles/DECODE.md. Internal to oracles/.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "oracles/attention.h"

namespace assay::oracles {

// Slots per chunk of the contract, the unit of rescaling in an online softmax.
inline constexpr std::size_t kChunk = 32;

// Roundings to a storage format of which one is allowed to be wrong: eight of them are still a result, more is one that drowns.
inline constexpr double kStorageCap = 8.0;

// Roundings that the contract allows, in units of u, and what depends on shape and profile alone. `visible` are the slots (decode)
// or keys (dense) that take part, in the order of the scores.
struct AttentionRoundings {
  AttentionRoundings(const DecodeShape& shape, const TurboQuantCache& cache, const AttentionAccuracy& accuracy,
                     std::span<const std::size_t> visible);

  // For keys and values that are not quantised. `kv_len` keys in total.
  AttentionRoundings(std::size_t kv_len, std::size_t head_dim, float scale, const AttentionAccuracy& accuracy,
                     std::span<const std::size_t> visible);

  ArithmeticProfile profile;
  double largest_centroid;
  double score_gamma;     // of a score, on |scale| sum |q_i k_ti|
  double output_gamma;    // of a term of the output sum, on sum p_t |v_tj|
  double sum_gamma;       // of a term of the softmax denominator
  double key_eta;         // what a stored key's coordinate may lose below the normal numbers
  double multiplier_eta;  // underflows, in units of eta, on the way from a norm to the number that centroids are multiplied with
  double storage_theta;   // relative error that declared weaker storage adds to a term of the output sum; may be infinite
  double storage_eta;     // what its roundings may lose below the normal numbers: of the sum, with weights relative to the largest
  double storage_cap;     // limit of what weaker storage may add, in units of A_j, but for:
  double value_eta;       // what a stored value's coordinate may lose below the normal numbers
  double positions;       // slots that may take part, padding of the last chunk included
  double chunks;          // chunks that are not skipped
  std::size_t head_dim;
  float scale;
  std::vector<std::size_t> chunk_of;  // for each visible position, the index of its chunk among the `chunks`

 private:
  void count(std::size_t kv_len, double dequantise, const AttentionAccuracy& accuracy, std::span<const std::size_t> visible);
};

// A score s under a softcap c, c tanh(s / c), and by how much rounding s, tanh and the product may move it. The slope is at most 1, so the
// error of s itself is not larger than before.
struct CappedScore {
  double score = 0, doubt = 0;
};
[[nodiscard]] CappedScore capped_score(double score, double softcap, const ArithmeticProfile& profile);

// One query head: the possible error of each computed score and weight.
struct WeightErrors {
  std::vector<double> slack;  // p_t expm1(r_t) for weights p_t = e^(s_t - s_max), not normalised
  double total_slack = 0;     // its sum
  double smallest_sum = 0;    // sum of p_t e^(-r_t): the least denominator
};

// `scores` s_t, `products` sum_i |q_i k_ti|, `weights` e^(s_t - s_max), `q_size` sum_i |q_i|, `mask_sizes` |mask_t| of an additive mask
// (empty where it is 0 for all that is visible), `doubts` by how much a score is unknown besides (empty: not at all).
[[nodiscard]] WeightErrors weight_errors(const AttentionRoundings& roundings, std::span<const double> scores,
                                         std::span<const double> products, std::span<const double> weights, double q_size,
                                         std::span<const double> mask_sizes = {}, std::span<const double> doubts = {});

// Terms of the bound of one output element.
struct ElementSums {
  double value;      // o_j
  double magnitude;  // A_j = sum p_t |v_tj| / sum p_t
  double largest;    // >= |v_tj| of every key that is seen, and so >= any mean of them
  double deviation;  // sum_t slack_t |v_tj - o_j|
  double reach;      // >= sum over every position that is read of |v_tj - o_j|, without weights
};
// What a mean of values may have lost because each was rounded to a declared format below its normal numbers. 0 without `values`.
[[nodiscard]] double loss_of_values(const AttentionRoundings& roundings);
[[nodiscard]] double element_bound(const AttentionRoundings& roundings, const WeightErrors& errors, double weight_sum,
                                   const ElementSums& sums);

}  // namespace assay::oracles
