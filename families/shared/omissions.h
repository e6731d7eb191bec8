// What the contracts of several attention families leave out, and the numbers of cases about it.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "families/omission.h"

namespace assay::families {

inline constexpr std::string_view kSoftcapOmission = "softcap";
inline constexpr float kOmittedSoftcap = 2.0F;  // of cases about it, near their scores
inline constexpr std::string_view kPartialRingOmission = "partial_ring";
inline constexpr std::string_view kBelowSentinelOmission = "below_sentinel";

// Results of other orders of simdgroups, which several families are asked for alike.
[[nodiscard]] inline Omission omitted_schedules() {
  return {.id = "same_bits_for_every_schedule",
          .sentence =
              "Simdgroups take turns in at most three orders, forward, reverse and one at random, and only in cases that cost "
              "little. Threadgroups never change their order.",
          .ability = "give the same bits for every order of simdgroups",
          .same_bits = SameBits{}};
}

// Omissions of both contracts, followed by those of one of them.
[[nodiscard]] inline std::vector<Omission> joined(std::vector<Omission> all, const std::vector<Omission>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

[[nodiscard]] inline std::vector<Omission> decode_omissions() {
  return {
      {.id = "scales", .sentence = "The scale is 1 / sqrt(D) or 1, unless a fixture file has another one."},
      {.id = "infinite_inputs",
       .sentence = "Queries, rotated, are at most 65504. They are finite, and so are the norms of visible positions. No norm is negative."},
      {.id = "scores_below_sentinel",
       .sentence = "Visible scores are above -65400, and no hidden score exceeds the largest visible one of its head by 65400: the usual "
                   "mask value -65504 acts like minus infinity."},
      {.id = "long_contexts",
       .sentence =
           "No sequence has more than 4,096 positions in the gate, and more than 65,600 in `full`. No cache has more than 2^32 bytes "
           "of indices."},
      {.id = "many_heads", .sentence = "There are at most 80 query heads."},
      {.id = "nwg_above_32", .sentence = "`nwg` is at most 32, because the merge has a lane for each workgroup."},
      {.id = "concurrent_dispatches",
       .sentence = "Dispatches run one after the other, with a barrier in front of the merge. Buffers begin at multiples of 4 KiB."},
  };
}

[[nodiscard]] inline Omission omitted_nwg_bits() {
  return {.id = "same_bits_for_every_nwg",
          .sentence = "Results with different `nwg` are compared with the oracle, and not with each other.",
          .ability = "give the same bits for every nwg",
          .same_bits = SameBits{"nwg", {1, 2, 3, 4, 8, 16, 31, 32}}};
}

// Of attention over bfloat, with the names of its cases.
[[nodiscard]] inline Omission omitted_low_scores(std::vector<std::string_view> cases) {
  return {.id = kBelowSentinelOmission,
          .sentence = "A key whose score is below -65504 is not the only visible one.",
          .ability = "give a key with a score below -65504, the usual mask value, its weight",
          .cases = std::move(cases)};
}

[[nodiscard]] inline std::vector<Omission> dense_omissions() {
  return {
      {.id = "alibi", .sentence = "There is no ALiBi: `max_bias`, `m0`, `m1` and `n_head_log2` are 0."},
      {.id = "scales", .sentence = "The scale is 1 / sqrt(512) or 1, unless a fixture file has another one."},
      {.id = "infinite_inputs", .sentence = "Queries, and visible keys and values, are finite."},
      {.id = "scores_below_sentinel", .sentence = "No score is below -35,000, so that a mask value of -65504 acts like minus infinity."},
      {.id = "mask_values",
       .sentence = "Mask values between -32752 and -1000 do not occur, and none is above 1000. A mask has a value for each query and key: "
                   "`ne31` is the number of queries."},
      {.id = "mask_planes", .sentence = "Heads and batches of a mask divide those of the queries."},
      {.id = "interleaved_rows",
       .sentence =
           "The 512 coordinates of a row are adjacent, and strides are multiples of a load of four values. The output has no gaps."},
      {.id = "long_contexts",
       .sentence = "There are at most 4,096 keys and 64 queries in the gate, and 65,600 keys or 65,544 queries in `full`."},
      {.id = "many_heads", .sentence = "There are at most 80 heads and 4 batches."},
      {.id = "concurrent_dispatches", .sentence = "Dispatches run one after the other. Outputs and caches begin at multiples of 4 KiB."},
  };
}

}  // namespace assay::families
