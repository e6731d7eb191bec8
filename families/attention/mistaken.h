// Attention of any shape as a kernel computes it, in double, with switches for mistakes.
//
// oracles/ define the exact result; this model computes the output of a kernel with a known mistake: which keys a query sees, from where it
// reads, and how it scores, rescales, merges and divides. With all switches off it is the oracle's value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "families/attention/inputs.h"
#include "families/mistakes.h"
#include "families/shared/attention_change.h"
#include "families/shared/attention_streams.h"

namespace assay::families::attention {

// How a kernel divides the keys of a query: streams in parallel, each of which takes every so-manieth chunk. 0: of the case, its blocks and
// simdgroups. Mistakes in the running maximum and its merges depend on it, and no kernel says how it does it.
struct Split {
  std::size_t streams = 1;
  std::size_t keys_of_chunk = 32;  // 0: the keys, divided among the streams
};

struct Change {
  // What the kernel does with the scores: lost and repeated chunks and streams, the running maximum, rescaling, merging, precision. Its
  // mask, head maps and head spacing count as well; the rest is about decode attention over a ring.
  AttentionChange online;
  Split split;

  double scale = 1;                                                                // factor on q k
  double score = 1;                                                                // factor on the scores with all that is added to them
  double bias = 1;                                                                 // factor on what a mask adds
  enum class Cap { as_given, ignored, behind_mask, without_factor, not_divided };  // tanh(s / cap), cap * tanh(s)
  Cap cap = Cap::as_given;
  double capped_factor = 1;  // scores are multiplied by it before the soft cap, and divided by it behind
  bool scales_bias = false;  // adds the mask to q k before the scale

  std::int64_t offset = 0;       // added to the causal offset
  bool starts_at_first = false;  // query i is at position i
  bool is_not_causal = false, has_no_window = false;
  std::int64_t window = 0;  // added to the window
  std::int64_t keys = 0;    // added to the number of keys
  enum class Length { own, of_first_batch, longest };
  Length length = Length::own;
  bool is_at_end_of_longest = false;  // positions of queries are those in the longest batch
  // Tiles of so many queries: the last key of a tile is that of its first query, or the first one that of its last query. 0: no tiles.
  std::size_t ends_with_first_of = 0, begins_with_last_of = 0;

  enum class Slopes { own, first, next, none };
  Slopes slopes = Slopes::own;
  // of_row: that of the row of the output, modulo their number; of_kv_head: that of the key/value head's number.
  enum class Sinks { own, ignored, of_first, of_next, of_row, of_kv_head, scaled, in_each_part, as_highest };
  Sinks sinks = Sinks::own;
  double sink = 1;        // factor on the sinks
  double sink_times = 1;  // how often each counts; greater than 0

  bool queries_of_first_batch = false, keys_of_first_batch = false, values_of_first_batch = false;
  bool query_of_first_row = false;
  // The coordinates of q and k that enter a score. Four coordinates a lane: those of 32 lanes.
  enum class Coordinates { all, lower_half, upper_half, all_but_last_block, first_block, one_in_two, lower_twice };
  Coordinates coordinates = Coordinates::all;
  // In blocks of 32 coordinates, as types of 4 bits have them: neighbours are read where coordinates 16 apart are stored, or the other way.
  enum class Nibbles { own, neighbours, apart };
  Nibbles nibbles_of_keys = Nibbles::own, nibbles_of_values = Nibbles::own;
  // Of types in blocks: a block's codes are multiplied by the scale of the first block of its row, or of the next one.
  enum class Scales { own, of_first, of_next };
  Scales scales_of_keys = Scales::own, scales_of_values = Scales::own;
  enum class Neighbour { none, previous, next };  // keys or values are those of the key before or behind
  Neighbour key_rows = Neighbour::none, value_rows = Neighbour::none;
  // Keys are divided among the parts of the launch, rounded down: no part has those that remain.
  bool loses_remainder = false;
  // Slots of a ring: its start is ignored, or one later or earlier; or slot 0 follows after as many slots as there are keys.
  enum class Ring { own, ignored, later, earlier, turns_early };
  Ring ring_of_keys = Ring::own, ring_of_values = Ring::own;
  bool keeps_hidden = false;  // hidden keys have a score of minus infinity, also where nothing else is in a chunk
  double skips_below = 0;     // keys whose score is so far below the maximum are skipped; 0: none
};

class MistakenAttention final : public Model {
 public:
  // `lse`: what the kernel's second output is.
  MistakenAttention(const Case& test_case, const Source& source, oracles::LogBase lse);

  // [B, H, queries, Dv], and behind it, if the kernel has a second output, [B, H, queries].
  [[nodiscard]] std::vector<double> evaluate(const Change& change) const;
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::vector<double> row_lengths() const override {
    return {static_cast<double>(shape_.dk), static_cast<double>(shape_.dv)};
  }
  [[nodiscard]] std::shared_ptr<const Model> only_rows(const std::vector<bool>& rows) const override;

 private:
  struct Row {
    std::size_t batch, head, query;
  };

  [[nodiscard]] std::size_t heads_of(HeadMap map, std::size_t head) const;
  [[nodiscard]] std::size_t sink_of(Change::Sinks sinks, const Row& row) const;
  // The key that is read at the place where another one's slot would be.
  [[nodiscard]] std::int64_t in_ring(Change::Ring ring, std::int64_t key) const;
  [[nodiscard]] std::int64_t position(const Change& change, const Row& row, std::size_t query) const;
  // The place of a key's row among those of k or v; the poisoned row for one in memory that holds none.
  [[nodiscard]] std::size_t place(std::size_t batch, std::size_t head, std::int64_t key, AttentionChange::HeadSpacing spacing) const;
  [[nodiscard]] bool sees(const Change& change, const Row& row, std::size_t key) const;
  // Minus infinity hides.
  [[nodiscard]] double stored_bias(const Change& change, const Row& row, std::size_t key) const;
  [[nodiscard]] double score(const Change& change, const Row& row, const double* query, std::size_t key, const double* key_row) const;
  [[nodiscard]] AttentionChunks chunks_of(const Change& change, const Row& row, const Split& split, const double* keys) const;
  void add_sink(const Change& change, const Row& row, AttentionChunks& chunks) const;
  // Of the launch.
  [[nodiscard]] std::size_t parts() const { return std::max<std::size_t>(1, shape_.blocks * shape_.nsg); }

  Shape shape_;
  Inputs inputs_;
  oracles::LogBase lse_ = oracles::LogBase::none;
  double scale_ = 1;
  std::vector<double> q_, k_, v_;  // as Inputs, with a row of NaN behind
  std::vector<bool> only_;         // by row of the output; empty: all
};

[[nodiscard]] std::vector<Mistake> attention_mistakes();

}  // namespace assay::families::attention
