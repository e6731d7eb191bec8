// The switches of a model of attention: the changes that known mistakes make to the computation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "families/shared/cache_edit.h"
#include "families/shared/precision.h"

namespace assay::families {

// How query heads select their key/value heads.
enum class HeadMap { grouped, modulo, first, last, own_number, divided, reversed, next };

struct AttentionChange {
  // Which keys are visible. The first four members are for decode attention, where a ring maps slots to positions.
  std::int64_t window_delta = 0, ring_delta = 0, length_delta = 0;
  std::int64_t wrap_delta = 0;  // only for slots before the ring's start
  bool no_window = false, window_of_any_mask = false, ring_ignored = false, window_of_zero = false;
  enum class Lost {
    nothing,
    newest,
    oldest,
    oldest_visible,
    first_slot,
    last_slot,
    chunk,
    last_chunk,
    tail,
    odd_chunks,
    behind_hidden,
    chunk_if_first_hidden,
    chunk_if_any_hidden,
    first_of_chunks,
    last_of_chunks
  };
  Lost lost = Lost::nothing;
  std::size_t lost_chunk = 0;
  enum class Twice { nothing, first_chunk, last_chunk, tail };
  Twice twice = Twice::nothing;
  // Empty places of the last chunk behind the end, with score 0 and value 0. `pair_counts`: a place counts if it shares a pair with the
  // last key, so if n is odd.
  enum class EmptyPlaces { ignored, pair_counts, first_counts, all_count };
  EmptyPlaces empty_places = EmptyPlaces::ignored;
  enum class Only { always, causal, windowed };  // makes the change only with this mask of decode attention
  Only only = Only::always;
  // For an additive mask, in dense attention.
  enum class Mask {
    as_given,
    ignored,
    transposed,
    column_before,
    column_after,
    row_before,
    row_after,
    first_row,
    first_head,
    first_batch,
    ignored_in_tail,
    hides_only,
    hidden_count
  };
  Mask mask = Mask::as_given;

  // Which data are used.
  HeadMap tail_heads = HeadMap::grouped;  // for keys and values behind the last complete chunk
  HeadMap key_heads = HeadMap::grouped, value_heads = HeadMap::grouped, query_heads = HeadMap::own_number;
  CacheEdit keys, values;
  // The distance between the heads of a cache, in rows: the room of a head, or kv_len.
  enum class HeadSpacing { room, length };
  HeadSpacing key_spacing = HeadSpacing::room, value_spacing = HeadSpacing::room;
  enum class Rotation { as_asked, none, without_signs, signs_behind, signs_both, bits_reversed, signs_of_half, unscaled };
  Rotation rotation = Rotation::as_asked;
  enum class Rounding { as_contract, none, to_bfloat };
  Rounding query = Rounding::as_contract;

  // How the output is computed.
  double score_factor = 1, output_factor = 1;
  double first_maximum = -1.7e38;                              // initial value of every running maximum
  double first_merge_maximum = -1.7e38;                        // initial value of the maximum over simdgroups
  bool keeps_output = false, keeps_sum = false;                // not rescaled when the maximum grows
  bool merges_output_as_is = false, merges_sum_as_is = false;  // results of simdgroups added without weights
  bool merges_forget_maximum = false;                          // the result of two simdgroups keeps the maximum of the first
  bool merges_without_sums = false;                            // normalised results are weighed by their maxima only
  bool rescales_new_output = false;                            // the factor of the output so far also changes what is added to it
  // Results of simdgroups are merged two by two, so that two without a key, whose maxima are minus infinity, give NaN.
  enum class Pairs { none, halves, in_turn };
  Pairs pairs = Pairs::none;
  double weight_exponent = 1, rescale_exponent = 1;  // factors on the exponents of weights, and of what rescales
  // What rescales is inverted: exp(new - old). With `nothing` also where nothing has been seen, whose 0 times infinity is NaN.
  enum class Inverted { never, something, nothing, merges };
  Inverted inverted = Inverted::never;
  double skips_below = 0;  // keys whose score is so far below the maximum so far weigh nothing; 0: none
  // The columns of four coordinates that enter a score, if 32 lanes share them: lane l has every 32nd column from l on; with
  // `steps_of_16`, as many columns, every 16th.
  enum class Columns { all, steps_of_16, first_again, first_only, lower_lanes, upper_lanes };
  Columns columns = Columns::all;
  enum class Sides { both, keys, queries };  // whose columns are these; those of the other one are right
  Sides columns_of = Sides::both;
  Precision output = Precision::full, sum = Precision::full, weights = Precision::full, scores = Precision::full;
  bool unnormalised = false, normalised_early = false;
  enum class Stream { nothing, first_workgroup, last_workgroup, first_simdgroup, last_simdgroup, upper_simdgroups, odd_simdgroups };
  Stream lost_stream = Stream::nothing;
  enum class Order { in_turn, same_for_simdgroups, stride_without_simdgroups, stride_one_more };
  Order order = Order::in_turn;
};

}  // namespace assay::families
