// Evaluates attention of any shape with the switches of known mistakes.
#include "families/attention/mistaken.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <utility>

#include "families/attention/job.h"
#include "math/functions.h"

namespace assay::families::attention {
namespace {

constexpr double kNotSeen = -std::numeric_limits<double>::infinity();

std::vector<double> with_poisoned_row(const std::vector<float>& rows, std::size_t dim) {
  std::vector<double> result(rows.begin(), rows.end());
  result.resize(rows.size() + dim, std::numeric_limits<double>::quiet_NaN());
  return result;
}

bool counts(Change::Coordinates which, std::size_t coordinate, std::size_t dim) {
  constexpr std::size_t block = 32;
  switch (which) {
    case Change::Coordinates::lower_half:
      return coordinate < dim / 2;
    case Change::Coordinates::upper_half:
      return coordinate >= dim / 2;
    case Change::Coordinates::all_but_last_block:
      return coordinate < (dim - 1) / block * block;
    case Change::Coordinates::first_block:
      return coordinate < block;
    case Change::Coordinates::one_in_two:
      return coordinate % 2 == 0;
    default:
      return true;
  }
}

double dot(const double* q, const double* k, std::size_t dim, Change::Coordinates which) {
  double sum = 0;
  if (which == Change::Coordinates::lower_twice) {
    for (std::size_t j = 0; j < dim; ++j) sum += q[j % ((dim + 1) / 2)] * k[j % ((dim + 1) / 2)];
    return sum;
  }
  for (std::size_t j = 0; j < dim; ++j) {
    if (counts(which, j, dim)) sum += q[j] * k[j];
  }
  return sum;
}

std::vector<double> in_other_nibbles(const std::vector<double>& rows, Change::Nibbles nibbles) {
  constexpr std::size_t block = 32;
  std::vector<double> result = rows;
  for (std::size_t first = 0; first + block <= rows.size(); first += block) {
    for (std::size_t i = 0; i < block; ++i) {
      const std::size_t apart = i / 2 + i % 2 * (block / 2);
      if (nibbles == Change::Nibbles::neighbours) {
        result[first + i] = rows[first + apart];
      } else {
        result[first + apart] = rows[first + i];
      }
    }
  }
  return result;
}

// Scale and minimum of a block, from the numbers that it says: one of them has the largest code (store_block in inputs.cpp).
struct BlockScale {
  double scale = 0, minimum = 0;
};
BlockScale scale_of(Storage type, std::span<const double> block) {
  const auto [low, high] = std::ranges::minmax(block);
  if (type == Storage::q4_1) return {(high - low) / 15, low};
  if (type == Storage::q4_0) return {(-low > high ? low : high) / -8, 0};
  return {std::max(-low, high) / 127, 0};
}

std::vector<double> with_other_scales(const std::vector<double>& rows, std::size_t dim, Storage type, Change::Scales scales) {
  constexpr std::size_t size = 32;
  if (scales == Change::Scales::own || type < Storage::q8_0 || dim % size != 0) return {};
  std::vector<double> result = rows;
  for (std::size_t row = 0; row < rows.size(); row += dim) {
    for (std::size_t first = 0; first < dim; first += size) {
      const std::size_t next = row + std::min(first + size, dim - size);
      const std::size_t from = scales == Change::Scales::of_next ? next : row;
      const BlockScale own = scale_of(type, std::span(rows).subspan(row + first, size));
      const BlockScale other = scale_of(type, std::span(rows).subspan(from, size));
      for (double& value : std::span(result).subspan(row + first, size))
        value = other.minimum + (own.scale == 0.0 ? 0.0 : other.scale * (value - own.minimum) / own.scale);
    }
  }
  return result;
}

std::int64_t moved(std::size_t key, Change::Neighbour neighbour) {
  const auto at = static_cast<std::int64_t>(key);
  return neighbour == Change::Neighbour::previous ? at - 1 : neighbour == Change::Neighbour::next ? at + 1 : at;
}

bool is_skipped(const AttentionChange& change, std::size_t chunk, std::size_t count, bool is_ragged) {
  using Lost = AttentionChange::Lost;
  const bool is_last = chunk + 1 == count;
  return (change.lost == Lost::chunk && chunk == change.lost_chunk) || (change.lost == Lost::last_chunk && is_last) ||
         (change.lost == Lost::tail && is_last && is_ragged) || (change.lost == Lost::odd_chunks && chunk % 2 != 0);
}

bool counts_twice(const AttentionChange& change, std::size_t chunk, std::size_t count, bool is_ragged) {
  using Twice = AttentionChange::Twice;
  const bool is_last = chunk + 1 == count;
  return (change.twice == Twice::first_chunk && chunk == 0) || (change.twice == Twice::last_chunk && is_last) ||
         (change.twice == Twice::tail && is_last && is_ragged);
}

}  // namespace

MistakenAttention::MistakenAttention(const Case& test_case, const Source& source, oracles::LogBase lse)
    : shape_(shape_of(test_case)),
      inputs_(make_inputs(shape_, source, plain_variant())),
      lse_(lse),
      scale_(static_cast<double>(shape_.scale)) {
  q_ = with_poisoned_row(inputs_.q, shape_.dk);
  k_ = with_poisoned_row(inputs_.k, shape_.dk);
  v_ = with_poisoned_row(inputs_.v, shape_.dv);
}

std::size_t MistakenAttention::heads_of(HeadMap map, std::size_t head) const {
  const std::size_t own = head / (shape_.heads / shape_.kv_heads);
  switch (map) {
    case HeadMap::modulo:
      return head % shape_.kv_heads;
    case HeadMap::first:
      return 0;
    case HeadMap::last:
      return shape_.kv_heads - 1;
    case HeadMap::own_number:
      return std::min(head, shape_.kv_heads - 1);
    case HeadMap::divided:
      return std::min(head / shape_.kv_heads, shape_.kv_heads - 1);
    case HeadMap::reversed:
      return shape_.kv_heads - 1 - own;
    case HeadMap::next:
      return (own + 1) % shape_.kv_heads;
    default:
      return own;
  }
}

std::size_t MistakenAttention::place(std::size_t batch, std::size_t head, std::int64_t key, AttentionChange::HeadSpacing spacing) const {
  const std::size_t rows = shape_.kv_batches * shape_.kv_heads * shape_.keys;
  const std::size_t index = batch * shape_.kv_heads + head;
  if (spacing == AttentionChange::HeadSpacing::room) {
    const bool is_inside = key >= 0 && key < static_cast<std::int64_t>(shape_.keys);
    return is_inside ? index * shape_.keys + static_cast<std::size_t>(key) : rows;
  }
  const std::size_t at = index * shape_.keys + static_cast<std::size_t>(std::max<std::int64_t>(key, 0));
  const std::size_t slot = at % shape_.capacity;
  return slot < shape_.keys ? at / shape_.capacity * shape_.keys + slot : rows;
}

std::int64_t MistakenAttention::in_ring(Change::Ring ring, std::int64_t key) const {
  if (ring == Change::Ring::own || shape_.cache != Cache::ring) return key;
  const auto capacity = static_cast<std::int64_t>(shape_.capacity);
  if (ring == Change::Ring::turns_early) {
    const auto start = static_cast<std::int64_t>(shape_.ring_start);
    return ((start + key) % static_cast<std::int64_t>(shape_.keys) - start + capacity) % capacity;
  }
  const std::int64_t moved = ring == Change::Ring::ignored ? -static_cast<std::int64_t>(shape_.ring_start)
                             : ring == Change::Ring::later ? 1
                                                           : -1;
  return (key + moved + capacity) % capacity;
}

std::int64_t MistakenAttention::position(const Change& change, const Row& row, std::size_t query) const {
  const auto number = static_cast<std::int64_t>(query);
  if (change.starts_at_first) return number;
  return change.is_at_end_of_longest ? number + shape_.offset : shape_.position(row.batch, query);
}

bool MistakenAttention::sees(const Change& change, const Row& row, std::size_t key) const {
  using Lost = AttentionChange::Lost;
  const bool is_causal = shape_.mask == Mask::causal || shape_.mask == Mask::causal_window || shape_.mask == Mask::causal_alibi;
  const bool is_windowed = shape_.mask == Mask::window || shape_.mask == Mask::causal_window;
  const auto at = static_cast<std::int64_t>(key);
  const auto in_tile = [&](std::size_t size, bool is_last) {
    if (size == 0) return row.query;
    const std::size_t first = row.query / size * size;
    return is_last ? std::min(first + size, shape_.queries) - 1 : first;
  };
  const std::int64_t newest = position(change, row, in_tile(change.ends_with_first_of, false)) + change.offset;
  if (is_causal && !change.is_not_causal && at > newest) return false;
  const std::int64_t oldest = position(change, row, in_tile(change.begins_with_last_of, true)) + change.offset -
                              static_cast<std::int64_t>(shape_.window) - change.window;
  if (is_windowed && !change.has_no_window && at <= oldest) return false;
  if (change.online.lost == Lost::oldest && key == 0) return false;
  if (change.online.lost == Lost::newest && key + 1 == shape_.kv_len[row.batch]) return false;
  return change.online.lost != Lost::oldest_visible || !is_windowed || at != oldest + 1;
}

double MistakenAttention::stored_bias(const Change& change, const Row& row, std::size_t key) const {
  using Read = AttentionChange::Mask;
  const Read read = change.online.mask;
  if (inputs_.mask.empty() || read == Read::ignored) return 0;
  std::size_t query = row.query;
  std::size_t column = key;
  std::size_t head = shape_.mask_per_head && read != Read::first_head ? row.head : 0;
  std::size_t batch = shape_.mask_per_batch && read != Read::first_batch ? row.batch : 0;
  if (read == Read::transposed && shape_.queries == shape_.keys) std::swap(query, column);
  if (read == Read::column_before && column > 0) --column;
  if (read == Read::column_after) column = std::min(column + 1, shape_.keys - 1);
  if (read == Read::row_before && query > 0) --query;
  if (read == Read::row_after) query = std::min(query + 1, shape_.queries - 1);
  if (read == Read::first_row) query = 0;
  const std::size_t plane = batch * (shape_.mask_per_head ? shape_.heads : 1) + head;
  const auto value = static_cast<double>(inputs_.mask[(plane * shape_.queries + query) * shape_.keys + column]);
  if (!std::isfinite(value)) return read == Read::hidden_count ? 0.0 : kNotSeen;
  if (read == Read::hides_only) return 0;
  if (!shape_.has_slopes()) return value * change.bias;
  const std::size_t of = change.slopes == Change::Slopes::first  ? 0
                         : change.slopes == Change::Slopes::next ? (row.head + 1) % shape_.heads
                                                                 : row.head;
  return change.slopes == Change::Slopes::none ? 0.0 : value * change.bias * static_cast<double>(inputs_.slopes[of]);
}

double MistakenAttention::score(const Change& change, const Row& row, const double* query, std::size_t key, const double* key_row) const {
  const double bias = stored_bias(change, row, key);
  if (bias == kNotSeen) return kNotSeen;
  double score = dot(query, key_row, shape_.dk, change.coordinates);
  if (change.scales_bias) score += bias;
  score *= scale_ * change.scale;
  const double cap = shape_.softcap;
  const auto capped = [&](double x) {
    if (cap == 0.0 || change.cap == Change::Cap::ignored) return x;
    const double factor = change.capped_factor;
    return math::tanh(factor * x / (change.cap == Change::Cap::not_divided ? 1.0 : cap)) / factor *
           (change.cap == Change::Cap::without_factor ? 1.0 : cap);
  };
  if (change.cap == Change::Cap::behind_mask) return capped(score + (change.scales_bias ? 0.0 : bias)) * change.score;
  return (capped(score) + (change.scales_bias ? 0.0 : bias)) * change.score;
}

std::size_t MistakenAttention::sink_of(Change::Sinks sinks, const Row& row) const {
  using enum Change::Sinks;
  if (sinks == of_first) return 0;
  if (sinks == of_next) return (row.head + 1) % shape_.heads;
  if (sinks == of_row) return (row.head * shape_.queries + row.query) % shape_.heads;
  if (sinks == of_kv_head) return heads_of(HeadMap::grouped, row.head);
  return row.head;
}

void MistakenAttention::add_sink(const Change& change, const Row& row, AttentionChunks& chunks) const {
  using Sinks = Change::Sinks;
  if (inputs_.sinks.empty() || change.sinks == Sinks::ignored) return;
  double value = static_cast<double>(inputs_.sinks[sink_of(change.sinks, row)]) * (change.sinks == Sinks::scaled ? scale_ : 1.0) *
                 change.score * change.sink;
  for (const auto& chunk : chunks) {
    for (const AttentionEntry& entry : chunk) {
      if (change.sinks == Sinks::as_highest) value = std::max(value, entry.score);
    }
  }
  const double times = change.sink_times * (change.sinks == Sinks::in_each_part ? static_cast<double>(parts()) : 1.0);
  if (chunks.empty()) chunks.emplace_back();
  chunks.front().push_back({0, value, times, true});
}

AttentionChunks MistakenAttention::chunks_of(const Change& change, const Row& row, const Split& split, const double* keys) const {
  using Length = Change::Length;
  const std::size_t of = change.length == Length::of_first_batch ? 0 : change.length == Length::longest ? shape_.batches - 1 : row.batch;
  const auto all = static_cast<std::size_t>(
      std::clamp<std::int64_t>(static_cast<std::int64_t>(shape_.kv_len[of]) + change.keys, 0, static_cast<std::int64_t>(shape_.keys)));
  const std::size_t length = change.loses_remainder ? all / parts() * parts() : all;
  const std::size_t chunk = split.keys_of_chunk;
  const std::size_t count = (length + chunk - 1) / chunk;
  const bool is_ragged = length % chunk != 0;
  const std::size_t q_head = change.online.query_heads == HeadMap::first  ? 0
                             : change.online.query_heads == HeadMap::next ? (row.head + 1) % shape_.heads
                                                                          : row.head;
  const std::size_t q_batch = change.queries_of_first_batch ? 0 : row.batch;
  const std::size_t q_query = change.query_of_first_row ? 0 : row.query;
  const double* query = q_.data() + ((q_batch * shape_.heads + q_head) * shape_.queries + q_query) * shape_.dk;
  const std::size_t batch = shape_.kv_batch(row.batch);
  AttentionChunks chunks(count);
  for (std::size_t c = 0; c < count; ++c) {
    if (is_skipped(change.online, c, count, is_ragged)) continue;
    const HeadMap tail = c + 1 == count && is_ragged ? change.online.tail_heads : HeadMap::grouped;
    const HeadMap of_keys = tail != HeadMap::grouped ? tail : change.online.key_heads;
    const HeadMap of_values = tail != HeadMap::grouped ? tail : change.online.value_heads;
    for (std::size_t key = c * chunk; key < std::min((c + 1) * chunk, length); ++key) {
      using Lost = AttentionChange::Lost;
      if (change.online.lost == Lost::first_of_chunks && key % chunk == 0) continue;
      if (change.online.lost == Lost::last_of_chunks && key % chunk + 1 == chunk) continue;
      const auto hide = [&] {
        if (change.keeps_hidden) chunks[c].push_back({0, kNotSeen, 1.0, true});
      };
      if (!sees(change, row, key)) {
        hide();
        continue;
      }
      const std::size_t key_place = place(change.keys_of_first_batch ? 0 : batch, heads_of(of_keys, row.head),
                                          in_ring(change.ring_of_keys, moved(key, change.key_rows)), change.online.key_spacing);
      double value = score(change, row, query, key, keys + key_place * shape_.dk);
      if (value == kNotSeen) {
        hide();
        continue;
      }
      if (change.online.scores != Precision::full) value = rounded(value, change.online.scores);
      const std::size_t value_place = place(change.values_of_first_batch ? 0 : batch, heads_of(of_values, row.head),
                                            in_ring(change.ring_of_values, moved(key, change.value_rows)), change.online.value_spacing);
      chunks[c].push_back({value_place, value, counts_twice(change.online, c, count, is_ragged) ? 2.0 : 1.0, false});
    }
  }
  if (change.skips_below > 0) {
    double maximum = kNotSeen;
    for (auto& some : chunks) {
      for (const AttentionEntry& entry : some) maximum = std::max(maximum, entry.score);
      std::erase_if(some, [&](const AttentionEntry& entry) { return entry.score < maximum - change.skips_below; });
    }
  }
  add_sink(change, row, chunks);
  return chunks;
}

std::shared_ptr<const Model> MistakenAttention::only_rows(const std::vector<bool>& rows) const {
  auto reduced = std::make_shared<MistakenAttention>(*this);
  reduced->only_ = rows;
  return reduced;
}

std::vector<double> MistakenAttention::evaluate(const Change& change) const {
  std::vector<double> other_keys;
  std::vector<double> other_values;
  const auto has_nibbles = [](Storage type) { return type == Storage::q4_0 || type == Storage::q4_1; };
  if (has_nibbles(shape_.k) && change.nibbles_of_keys != Change::Nibbles::own) other_keys = in_other_nibbles(k_, change.nibbles_of_keys);
  if (has_nibbles(shape_.v) && change.nibbles_of_values != Change::Nibbles::own)
    other_values = in_other_nibbles(v_, change.nibbles_of_values);
  if (other_keys.empty()) other_keys = with_other_scales(k_, shape_.dk, shape_.k, change.scales_of_keys);
  if (other_values.empty()) other_values = with_other_scales(v_, shape_.dv, shape_.v, change.scales_of_values);
  const double* keys = other_keys.empty() ? k_.data() : other_keys.data();
  const double* values = other_values.empty() ? v_.data() : other_values.data();
  Split split = change.split;
  if (split.streams == 0) split.streams = parts();
  if (split.keys_of_chunk == 0) split.keys_of_chunk = std::max<std::size_t>(1, (shape_.keys + split.streams - 1) / split.streams);
  const StreamShape streams = {.workgroups = 1, .simdgroups = split.streams, .head_dim = shape_.dv, .partials = false};
  std::vector<double> output(shape_.batches * shape_.heads * shape_.queries * shape_.dv);
  std::vector<double> sums(output.size() / shape_.dv);
  std::size_t row = 0;
  for (std::size_t batch = 0; batch < shape_.batches; ++batch) {
    for (std::size_t head = 0; head < shape_.heads; ++head) {
      for (std::size_t query = 0; query < shape_.queries; ++query, ++row) {
        if (!only_.empty() && !only_[row]) continue;
        const AttentionChunks chunks = chunks_of(change, {batch, head, query}, split, keys);
        sums[row] = attend(change.online, streams, chunks, values, output.data() + row * shape_.dv) *
                    (lse_ == oracles::LogBase::two ? std::numbers::log2e : 1.0);
      }
    }
  }
  for (double& value : output) value *= change.online.output_factor;
  if (lse_ != oracles::LogBase::none) output.insert(output.end(), sums.begin(), sums.end());
  return output;
}

}  // namespace assay::families::attention
