// The known mistakes of attention.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "families/mistakes.h"
#include "families/shared/attention_model.h"
#include "families/shared/cache_mistakes.h"
#include "families/shared/mistake_table.h"

namespace assay::families {
namespace {

using Change = AttentionChange;
using Lost = Change::Lost;
using Twice = Change::Twice;

const AttentionModel& of(const Model& model) { return static_cast<const AttentionModel&>(model); }

using Table = MistakeTable<AttentionModel, AttentionChange>;

std::vector<double> likely_factors(const Model& model) {
  const AttentionModel& attention = of(model);
  const double scale = attention.score_scale();
  const double divisor = attention.norm_divisor();
  const double root = std::sqrt(static_cast<double>(attention.head_dim()));
  return {0.05,
          0.25,
          0.5,
          std::numbers::ln2,
          0.9,
          1.1,
          std::numbers::log2e,
          2.0,
          4.0,
          16.0,
          root,
          1.0 / root,
          scale,
          -1.0,
          0.0,
          divisor,
          1.0 / divisor,
          1.0 / scale,
          divisor * divisor,
          0.7071067811865476,
          1.4142135623730951};
}

void add_visibility(Table& table) {
  table.add(mistake::kWindow, "the window omits its oldest position", &Change::window_delta, -1);
  table.add(mistake::kWindow, "the window includes one position too many", &Change::window_delta, 1);
  table.add(mistake::kRing, "the ring starts one slot later", &Change::ring_delta, 1);
  table.add(mistake::kRing, "the ring starts one slot earlier", &Change::ring_delta, -1);
  table.add(mistake::kRing, "slots before the start of the ring are one position too early", &Change::wrap_delta, 1, 1);
  table.add(mistake::kRing, "slots before the start of the ring are one position too late", &Change::wrap_delta, -1, 1);
  table.add(mistake::kRing, "the start of the ring is ignored: slots are used as positions", &Change::ring_ignored, true, 2);
  table.add(mistake::kMask, "the window is ignored", &Change::no_window, true, 1);
  table.add(mistake::kMask, "the window is applied for every mask type", &Change::window_of_any_mask, true, 1);
  table.add(mistake::kMask, "a window of 0 hides everything", &Change::window_of_zero, true, 1);
  table.add(mistake::kMask, "masked positions of a chunk that is read count as visible", &Change::mask, Change::Mask::hidden_count, 1);
  table.add(mistake::kOldest, "the oldest visible position is skipped", &Change::lost, Lost::oldest_visible, 1);
  table.add(mistake::kOldest, "slot 0 is skipped", &Change::lost, Lost::first_slot, 2);
  table.add(mistake::kNewest, "the last slot is skipped", &Change::lost, Lost::last_slot, 1);
  for (const auto& [only, how] : {std::pair{Change::Only::causal, "a causal"}, {Change::Only::windowed, "a windowed"}}) {
    table.add(
        mistake::kNewest, std::string("the newest key is skipped, but only with ") + how + " mask",
        [chosen = only](Change& c) {
          c.lost = Lost::newest;
          c.only = chosen;
        },
        1);
  }
}

void add_masks(Table& table) {
  using Mask = Change::Mask;
  const auto mask = [&](std::string says, Mask which, int rank) { table.add(mistake::kMask, std::move(says), &Change::mask, which, rank); };
  mask("the mask is not applied", Mask::ignored, 0);
  mask("the mask is not applied to the keys after the last whole chunk", Mask::ignored_in_tail, 1);
  mask("the mask is read transposed", Mask::transposed, 1);
  mask("the mask of the previous key is applied", Mask::column_before, 1);
  mask("the mask of the next key is applied", Mask::column_after, 1);
  mask("the mask of the previous query is applied", Mask::row_before, 1);
  mask("the mask of the next query is applied", Mask::row_after, 1);
  mask("every query uses the mask of the first", Mask::first_row, 1);
  mask("every head uses the mask of the first", Mask::first_head, 1);
  mask("every batch uses the mask of the first", Mask::first_batch, 1);
  mask("the mask hides keys, but its finite values are not added to the scores", Mask::hides_only, 1);
  mask("masked keys count as visible", Mask::hidden_count, 1);
}

void add_keys(Table& table) {
  table.add(mistake::kNewest, "the newest key is skipped", &Change::lost, Lost::newest);
  table.add(mistake::kOldest, "the oldest key is skipped", &Change::lost, Lost::oldest);
  for (std::size_t c = 0; c < 4; ++c) {
    table.add(
        mistake::kChunk, "chunk " + std::to_string(c) + " is skipped",
        [c](Change& change) {
          change.lost = Lost::chunk;
          change.lost_chunk = c;
        },
        1);
  }
  table.add(mistake::kChunk, "the last chunk is skipped", &Change::lost, Lost::last_chunk);
  table.add(mistake::kChunk, "the keys after the last whole chunk are skipped", &Change::lost, Lost::tail);
  table.add(mistake::kChunk, "every second chunk is skipped", &Change::lost, Lost::odd_chunks, 2);
  table.add(mistake::kChunk, "chunks whose first position is masked are skipped", &Change::lost, Lost::chunk_if_first_hidden, 1);
  table.add(mistake::kChunk, "chunks with a masked position are skipped", &Change::lost, Lost::chunk_if_any_hidden, 1);
  table.add(mistake::kChunk, "the chunks after a completely masked chunk are skipped", &Change::lost, Lost::behind_hidden, 1);
  table.add(mistake::kChunk, "the first chunk counts twice", &Change::twice, Twice::first_chunk, 1);
  table.add(mistake::kChunk, "the last chunk counts twice", &Change::twice, Twice::last_chunk, 1);
  table.add(mistake::kChunk, "the keys after the last whole chunk count twice", &Change::twice, Twice::tail, 1);
  table.add(mistake::kChunk, "all simdgroups of a workgroup process the same chunks", &Change::order, Change::Order::same_for_simdgroups,
            1);
  table.add(mistake::kChunk, "the stride over chunks omits the number of simdgroups", &Change::order,
            Change::Order::stride_without_simdgroups, 1);
  table.add(mistake::kChunk, "the stride over chunks is one too large", &Change::order, Change::Order::stride_one_more, 2);
  using EmptyPlaces = Change::EmptyPlaces;
  table.add(mistake::kMask, "positions after the last key count with a score of 0", &Change::empty_places, EmptyPlaces::all_count, 1);
  table.add(mistake::kMask, "the first position after the last key counts with a score of 0", &Change::empty_places,
            EmptyPlaces::first_counts, 1);
  table.add(mistake::kMask, "the position that forms a pair with the last key counts with a score of 0", &Change::empty_places,
            EmptyPlaces::pair_counts, 1);
}

void add_heads(Table& table) {
  const auto both = [&](std::string says, HeadMap map, int rank) {
    table.add(mistake::kHead, std::move(says), [map](Change& c) { c.key_heads = c.value_heads = map; }, rank);
  };
  both("query head h uses key/value head h modulo their number, instead of one per group of query heads", HeadMap::modulo, 0);
  both("every query head uses the first key/value head", HeadMap::first, 1);
  both("query head h uses key/value head h", HeadMap::own_number, 1);
  both("query head h is divided by the number of key/value heads, instead of by the size of their groups", HeadMap::divided, 1);
  both("key/value heads are used in reverse order", HeadMap::reversed, 2);
  both("the next key/value head is used", HeadMap::next, 2);
  for (const auto& [map, how] :
       {std::pair{HeadMap::modulo, "head h modulo their number"}, {HeadMap::first, "the first head"}, {HeadMap::own_number, "head h"}}) {
    table.add(mistake::kHead, std::string("after the last whole chunk, query head h uses keys and values of ") + how, &Change::tail_heads,
              map, 1);
  }
  for (const auto& [map, how] : {std::pair{HeadMap::modulo, "from head h modulo their number"},
                                 {HeadMap::first, "from the first head"},
                                 {HeadMap::own_number, "from head h"},
                                 {HeadMap::next, "from the next head"}}) {
    table.add(mistake::kHead, std::string("query head h takes its keys ") + how + ", values are right", &Change::key_heads, map, 3);
    table.add(mistake::kHead, std::string("query head h takes its values ") + how + ", keys are right", &Change::value_heads, map, 3);
  }
  using Spacing = Change::HeadSpacing;
  table.add(
      mistake::kStride, "heads of keys and values are addressed kv_len rows apart, whatever their stride",
      [](Change& c) { c.key_spacing = c.value_spacing = Spacing::length; }, 1);
  table.add(mistake::kStride, "heads of keys are addressed kv_len rows apart, whatever their stride", &Change::key_spacing, Spacing::length,
            2);
  table.add(mistake::kStride, "heads of values are addressed kv_len rows apart, whatever their stride", &Change::value_spacing,
            Spacing::length, 2);
  table.add(mistake::kHead, "every head uses the query of the first", &Change::query_heads, HeadMap::first, 2);
  table.add(mistake::kHead, "every head uses the query of the next", &Change::query_heads, HeadMap::next, 3);
}

void add_scales(Table& table) {
  table.add_factor(mistake::kScale, "scores are scaled by an additional factor {}", likely_factors,
                   [](Change& c, double f) { c.score_factor = f; });
  table.add_factor(mistake::kScale, "the output is scaled by {}", likely_factors, [](Change& c, double f) { c.output_factor = f; });
  table.add_factor(
      mistake::kScale, "keys and values are both scaled by {}", likely_factors,
      [](Change& c, double f) {
        c.score_factor = f;
        c.output_factor = f;
      },
      1);
  table.add(mistake::kUnnormalised, "the output is not divided by the sum of the weights", &Change::unnormalised, true);
  table.add(mistake::kUnnormalised, "partial outputs are divided before they are merged", &Change::normalised_early, true, 1);
}

void add_softmax(Table& table) {
  table.add(mistake::kRescale, "the output so far is not rescaled when the maximum grows", &Change::keeps_output, true);
  table.add(mistake::kRescale, "the sum so far is not rescaled when the maximum grows", &Change::keeps_sum, true);
  table.add(
      mistake::kRescale, "neither the output nor the sum so far is rescaled when the maximum grows",
      [](Change& c) { c.keeps_output = c.keeps_sum = true; }, 1);
  table.add(mistake::kRescale, "what rescales the output and the sum so far is inverted: exp(new - old) in place of exp(old - new)",
            &Change::inverted, Change::Inverted::something);
  table.add(mistake::kRescale,
            "what rescales the output and the sum so far is inverted, also where nothing has been seen: exp(new - old) is infinite there",
            &Change::inverted, Change::Inverted::nothing, 1);
  table.add(mistake::kRescale, "the weights of merged parts are inverted: exp(maximum - own) in place of exp(own - maximum)",
            &Change::inverted, Change::Inverted::merges);
  table.add(mistake::kRescale, "simdgroups' outputs are added without weights", &Change::merges_output_as_is, true);
  table.add(mistake::kRescale, "simdgroups' sums are added without weights", &Change::merges_sum_as_is, true);
  table.add(
      mistake::kRescale, "simdgroups' outputs and sums are added without weights",
      [](Change& c) { c.merges_output_as_is = c.merges_sum_as_is = true; }, 1);
  table.add(mistake::kRescale, "a merged pair of simdgroups keeps the maximum of the first", &Change::merges_forget_maximum, true, 1);
  for (const double start : {0.0, -1.0, -100.0, -1000.0, -10000.0, -16384.0, -32752.0, -65504.0}) {
    const std::string number = std::to_string(static_cast<int>(start));
    table.add(mistake::kMaximum, "the running maximum starts at " + number, &Change::first_maximum, start);
    table.add(mistake::kMaximum, "the maximum over simdgroups starts at " + number, &Change::first_merge_maximum, start, 1);
  }
  using Stream = Change::Stream;
  table.add(mistake::kWorkgroup, "the last workgroup is skipped", &Change::lost_stream, Stream::last_workgroup);
  table.add(mistake::kWorkgroup, "the first workgroup is skipped", &Change::lost_stream, Stream::first_workgroup);
  table.add(mistake::kSimdgroup, "the last simdgroup is skipped", &Change::lost_stream, Stream::last_simdgroup);
  table.add(mistake::kSimdgroup, "the first simdgroup is skipped", &Change::lost_stream, Stream::first_simdgroup);
  table.add(mistake::kSimdgroup, "every second simdgroup is skipped", &Change::lost_stream, Stream::odd_simdgroups);
  table.add(mistake::kSimdgroup, "the upper half of the simdgroups is skipped", &Change::lost_stream, Stream::upper_simdgroups, 1);
}

void add_coordinates(Table& table) {
  using enum Change::Columns;
  for (const auto& [columns, says] :
       {std::pair{steps_of_16,
                  "lanes take every 16th column of four coordinates in place of every 32nd, of which some count twice and others never"},
        {first_again, "lanes take their first column of four coordinates again in place of the others"}}) {
    for (const auto& [sides, whose] : {std::pair{Change::Sides::both, "of queries and keys, "},
                                       {Change::Sides::keys, "of keys, "},
                                       {Change::Sides::queries, "of queries, "}}) {
      table.add(
          mistake::kStride, std::string(whose) + says,
          [chosen = columns, of = sides](Change& c) {
            c.columns = chosen;
            c.columns_of = of;
          },
          1);
    }
  }
  table.add(mistake::kCoordinates, "scores omit all but the first column of four coordinates of each lane", &Change::columns, first_only,
            1);
  table.add(mistake::kCoordinates, "scores omit the coordinates of the upper 16 lanes", &Change::columns, lower_lanes, 1);
  table.add(mistake::kCoordinates, "scores omit the coordinates of the lower 16 lanes", &Change::columns, upper_lanes, 1);
  for (const auto& [weight, below] : kSkippedWeights) {
    table.add(mistake::kSkipped, fmt::format("keys whose weight is below {} are skipped", weight), &Change::skips_below, below, 1);
  }
  for (const int below : {4, 5, 6, 8, 10, 12, 16, 20, 30}) {
    table.add(mistake::kSkipped, "keys whose score is " + std::to_string(below) + " below the maximum are skipped", &Change::skips_below,
              static_cast<double>(below), 1);
  }
}

void add_precision(Table& table) {
  for (const auto& [precision, name] : {std::pair{Precision::half, "half"}, {Precision::bfloat, "bfloat"}}) {
    const std::string in = std::string(" in ") + name;
    table.add(mistake::kHalf, "the output is accumulated" + in, &Change::output, precision);
    table.add(mistake::kHalf, "the sum of weights is accumulated" + in, &Change::sum, precision);
    table.add(mistake::kHalf, "weights are kept" + in, &Change::weights, precision, 1);
    table.add(mistake::kHalf, "scores are kept" + in, &Change::scores, precision, 1);
  }
  table.add(mistake::kRounding, "the query is not rounded", &Change::query, Change::Rounding::none, 1);
}

void add_cache(Table& table) {
  using Tables = CacheEdit::Table;
  using Slots = CacheEdit::Slots;
  const auto add = [&](std::string_view kind, const std::string& says, const auto& make, int rank) {
    table.add(kind, "keys and values: " + says, [=](Change& c) { make(c.keys), make(c.values); }, rank);
    table.add(kind, "keys: " + says, [=](Change& c) { make(c.keys); }, rank + 1);
    table.add(kind, "values: " + says, [=](Change& c) { make(c.values); }, rank + 1);
  };
  add_cache_mistakes(add);
  add(
      mistake::kNorm, "keys use the norms of values, or values the norms of keys",
      [](CacheEdit& e) { e.norms = CacheEdit::Norms::other_side; }, 0);
  for (const bool of_keys : {true, false}) {
    table.add_factor(
        mistake::kCodebook, std::string(of_keys ? "keys" : "values") + ": centroids are evenly spaced, with a step of {} times the largest",
        [](const Model&) { return std::vector<double>{0.9, 1.0, 1.1}; },
        [of_keys](Change& c, double f) {
          CacheEdit& edit = of_keys ? c.keys : c.values;
          edit.table = Tables::uniform;
          edit.factor = f;
        },
        2);
  }
  add(mistake::kStride, "the previous position is read", [](CacheEdit& e) { e.slots = Slots::previous; }, 2);
  add(mistake::kStride, "the next position is read", [](CacheEdit& e) { e.slots = Slots::next; }, 2);
  add(mistake::kStride, "every even position is read twice, odd positions never", [](CacheEdit& e) { e.slots = Slots::even; }, 2);

  using Rotation = Change::Rotation;
  for (const auto& [rotation, says] : {std::pair{Rotation::without_signs, "the rotation of the query omits the signs"},
                                       {Rotation::signs_behind, "the rotation of the query changes signs after the transform"},
                                       {Rotation::signs_both, "the rotation of the query changes signs before and after the transform"},
                                       {Rotation::bits_reversed, "bits of the sign table are read most significant first"},
                                       {Rotation::signs_of_half, "the upper half uses the signs of the lower"}}) {
    table.add(mistake::kSigns, says, &Change::rotation, rotation);
  }
  table.add(mistake::kSigns, "the query is not rotated", &Change::rotation, Rotation::none, 2);
  table.add(mistake::kScale, "the rotation of the query is not divided by sqrt(D)", &Change::rotation, Rotation::unscaled, 2);
}

}  // namespace

std::vector<Mistake> attention_mistakes_of_codebook(const std::vector<double>& codebook) {
  Table table;
  CacheEdit edit;
  edit.table = CacheEdit::Table::learned;
  edit.learned = codebook;
  constexpr int late = 4;  // ranks after every mistake that does not use the output itself
  table.add(mistake::kCodebook, "keys and values are looked up in another codebook", [=](Change& c) { c.keys = c.values = edit; }, late);
  table.add(mistake::kCodebook, "values are looked up in another codebook", [=](Change& c) { c.values = edit; }, late);
  return table.take();
}

std::vector<Mistake> attention_mistakes(bool is_decode) {
  Table table;
  if (is_decode) {
    add_visibility(table);
  } else {
    add_masks(table);
  }
  add_keys(table);
  add_heads(table);
  add_scales(table);
  add_softmax(table);
  add_coordinates(table);
  add_precision(table);
  if (is_decode) add_cache(table);
  return table.take();
}

}  // namespace assay::families
