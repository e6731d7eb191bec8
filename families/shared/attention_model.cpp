// Evaluates attention with the switches of known mistakes.
#include "families/shared/attention_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "families/shared/attention_streams.h"
#include "families/shared/decode_inputs.h"
#include "families/shared/dense_inputs.h"
#include "oracles/arithmetic.h"
#include "oracles/codebook.h"
#include "oracles/fwht.h"

namespace assay::families {
namespace {

constexpr std::size_t kSlotsOfChunk = 32;

void change_signs(std::span<double> row, AttentionChange::Rotation rotation) {
  const int dim = static_cast<int>(row.size());
  for (int j = 0; j < dim; ++j) {
    int place = j;
    if (rotation == AttentionChange::Rotation::bits_reversed) place = j / 8 * 8 + 7 - j % 8;
    if (rotation == AttentionChange::Rotation::signs_of_half) place = j % 256;
    row[static_cast<std::size_t>(j)] *= oracles::rotation_sign(dim, place);
  }
}

void rotate(std::span<double> row, AttentionChange::Rotation rotation) {
  using enum AttentionChange::Rotation;
  if (rotation == none) return;
  const bool in_front = rotation != without_signs && rotation != signs_behind;
  if (in_front) change_signs(row, rotation);
  oracles::fwht_in_place(row, row.size(), oracles::FwhtMode::plain);
  if (rotation == signs_behind || rotation == signs_both) change_signs(row, rotation);
  if (rotation == unscaled) {
    for (double& value : row) value *= std::sqrt(static_cast<double>(row.size()));
  }
}

// The query whose product with a key is the score of a kernel that pairs their columns so.
void change_columns(const AttentionChange& change, std::span<double> query) {
  using enum AttentionChange::Columns;
  constexpr std::size_t lanes = 32, width = 4;
  const std::vector<double> right(query.begin(), query.end());
  std::ranges::fill(query, 0.0);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if ((change.columns == lower_lanes && lane >= lanes / 2) || (change.columns == upper_lanes && lane < lanes / 2)) continue;
    for (std::size_t step = 0; step < right.size() / (lanes * width); ++step) {
      if (change.columns == first_only && step > 0) continue;
      const std::size_t apart = change.columns == steps_of_16 ? lanes / 2 : change.columns == first_again ? 0 : lanes;
      const std::size_t right_one = (lane + lanes * step) * width;
      const std::size_t wrong_one = (lane + apart * step) * width;
      const std::size_t of_key = change.columns_of == AttentionChange::Sides::queries ? right_one : wrong_one;
      const std::size_t of_query = change.columns_of == AttentionChange::Sides::keys ? right_one : wrong_one;
      for (std::size_t c = 0; c < width; ++c) query[of_key + c] += right[of_query + c];
    }
  }
}

double dot(const double* a, const double* b, std::size_t count) { return std::inner_product(a, a + count, b, 0.0); }

}  // namespace

AttentionModel::AttentionModel(const Case& test_case, const oracles::DecodeShape& shape, fixtures::DecodeInputs inputs) {
  decode_ = std::make_shared<fixtures::DecodeInputs>(std::move(inputs));
  shape_ = shape;
  heads_ = shape_.heads;
  kv_heads_ = shape_.kv_heads;
  dim_ = shape_.head_dim;
  length_ = shape_.kv_len;
  rows_ = shape_.kv_capacity;
  scale_ = static_cast<double>(shape_.scale);
  workgroups_ = test_case.size("nwg");
  simdgroups_ = static_cast<std::size_t>(test_case.family->simdgroups(test_case));
  partials_ = workgroups_ > 1;
  chunk_ = kSlotsOfChunk;
  q_ = decode_->q;
  k_ = decoded(CacheEdit{}, true);
  v_ = decoded(CacheEdit{}, false);
}

AttentionModel::AttentionModel(const Case& test_case, const fixtures::DenseInputs& inputs, std::size_t simdgroups,
                               std::size_t keys_of_chunk) {
  const oracles::DenseShape shape = dense_request(test_case).shape;
  batches_ = shape.batches;
  heads_ = shape.heads;
  kv_heads_ = shape.kv_heads;
  queries_ = shape.queries;
  dim_ = shape.head_dim;
  length_ = shape.kv_len;
  rows_ = shape.head_rows;
  mask_heads_ = shape.mask_heads;
  mask_batches_ = shape.mask_batches;
  scale_ = static_cast<double>(shape.scale);
  simdgroups_ = simdgroups;
  chunk_ = keys_of_chunk;
  q_ = inputs.q;
  for (const std::uint16_t bits : inputs.k) k_.push_back(oracles::bfloat_value(bits));
  for (const std::uint16_t bits : inputs.v) v_.push_back(oracles::bfloat_value(bits));
  for (const std::uint16_t bits : inputs.mask) {
    const double value = oracles::half_value(bits);
    mask_.push_back(value > oracles::kInvisibleMask ? value : -std::numeric_limits<double>::infinity());
  }
}

double AttentionModel::norm_divisor() const {
  const bool by_factor = decode_ && decode_->norm_layout == oracles::NormLayout::one_per_block && dim_ == 512;
  return by_factor ? static_cast<double>(decode_->scale_factor_d512) : std::sqrt(static_cast<double>(dim_));
}

StoredSide AttentionModel::stored(bool of_keys) const {
  const fixtures::DecodeInputs& in = *decode_;
  return {.heads = kv_heads_,
          .capacity = rows_,
          .head_dim = dim_,
          .bits = in.bits,
          .norms_per_position = in.norm_layout == oracles::NormLayout::one_per_block ? dim_ / 256 : 1,
          .divisor = norm_divisor(),
          .codes = of_keys ? std::span<const std::uint8_t>(in.k_codes) : std::span<const std::uint8_t>(in.v_codes),
          .norms = of_keys ? std::span<const float>(in.k_norms) : std::span<const float>(in.v_norms),
          .other_norms = of_keys ? std::span<const float>(in.v_norms) : std::span<const float>(in.k_norms)};
}

std::vector<double> AttentionModel::learn_codebook(std::span<const double> actual) const {
  if (!is_decode() || length_ != 1) return {};
  return learn_centroids(stored(false), 0, shape_.ring_start, actual.first(dim_));
}

std::vector<double> AttentionModel::decoded(const CacheEdit& edit, bool of_keys) const {
  const fixtures::DecodeInputs& in = *decode_;
  const StoredSide side = stored(of_keys);
  std::vector<double> rows(kv_heads_ * rows_ * dim_);
  const std::size_t filled = std::min(rows_, std::max(in.filled_slots, length_));
  for (std::size_t head = 0; head < kv_heads_; ++head) {
    for (std::size_t slot = 0; slot < filled; ++slot)
      decode_slot(side, edit, head, slot, std::span(rows).subspan((head * rows_ + slot) * dim_, dim_));
  }
  return rows;
}

std::vector<double> AttentionModel::queries_of(const AttentionChange& change) const {
  using Rounding = AttentionChange::Rounding;
  std::vector<double> q(q_.begin(), q_.end());
  if (is_decode() && shape_.fused_rotation) {
    for (std::size_t row = 0; row < q.size() / dim_; ++row) rotate(std::span(q).subspan(row * dim_, dim_), change.rotation);
  }
  const bool to_half = is_decode() && change.query == Rounding::as_contract;
  if (change.query != Rounding::none) {
    for (double& value : q) value = to_half ? oracles::round_to_half(value) : oracles::round_to_bfloat(static_cast<float>(value));
  }
  if (change.columns != AttentionChange::Columns::all) {
    for (std::size_t row = 0; row < q.size() / dim_; ++row) change_columns(change, std::span(q).subspan(row * dim_, dim_));
  }
  return q;
}

std::size_t AttentionModel::mapped(HeadMap map, std::size_t head) const {
  switch (map) {
    case HeadMap::grouped:
      return head / (heads_ / kv_heads_);
    case HeadMap::modulo:
      return head % kv_heads_;
    case HeadMap::first:
      return 0;
    case HeadMap::last:
      return kv_heads_ - 1;
    case HeadMap::own_number:
      return std::min(head, kv_heads_ - 1);
    case HeadMap::divided:
      return std::min(head / kv_heads_, kv_heads_ - 1);
    case HeadMap::reversed:
      return kv_heads_ - 1 - head / (heads_ / kv_heads_);
    case HeadMap::next:
      return (head / (heads_ / kv_heads_) + 1) % kv_heads_;
  }
  return 0;
}

bool AttentionModel::sees_slot(const AttentionChange& change, std::size_t slot) const {
  using enum AttentionChange::Lost;
  const auto n = static_cast<std::int64_t>(length_);
  const auto cap = static_cast<std::int64_t>(rows_);
  const auto at = static_cast<std::int64_t>(slot);
  const std::int64_t start = change.ring_ignored ? 0 : static_cast<std::int64_t>(shape_.ring_start);
  const std::int64_t wrapped = at < start ? change.wrap_delta : 0;
  const std::int64_t logical = (at - start - change.ring_delta - wrapped + 2 * cap) % cap;
  const std::int64_t true_logical = (at - static_cast<std::int64_t>(shape_.ring_start) + cap) % cap;
  const auto window = static_cast<std::int64_t>(shape_.sliding_window);
  const bool windowed = shape_.mask_type == oracles::MaskType::sliding_window || change.window_of_any_mask;
  std::int64_t first = 0;
  if (windowed && (window > 0 || change.window_of_zero) && !change.no_window)
    first = window < n ? std::clamp<std::int64_t>(n - window - change.window_delta, 0, n) : std::int64_t{0};
  if (at >= n + change.length_delta || logical >= n + change.length_delta || logical < first) return false;
  switch (change.lost) {
    case newest:
      return true_logical != n - 1;
    case oldest:
      return true_logical != 0;
    case oldest_visible:
      return true_logical != first;
    case first_slot:
      return slot != 0;
    case last_slot:
      return at != n - 1;
    default:
      return true;
  }
}

bool AttentionModel::sees_masked(const AttentionChange& change, const Row& row, std::size_t key, double& bias) const {
  using enum AttentionChange::Mask;
  if (change.lost == AttentionChange::Lost::newest && key + 1 == length_) return false;
  if (change.lost == AttentionChange::Lost::oldest && key == 0) return false;
  const bool in_tail = key >= length_ / chunk_ * chunk_;
  if (mask_.empty() || change.mask == ignored || (change.mask == ignored_in_tail && in_tail)) return true;
  std::size_t query = row.query;
  std::size_t column = key;
  std::size_t head = row.head % mask_heads_;
  std::size_t batch = row.batch % mask_batches_;
  switch (change.mask) {
    case transposed:
      if (queries_ == length_) std::swap(query, column);
      break;
    case column_before:
      if (column > 0) --column;
      break;
    case column_after:
      column = std::min(column + 1, length_ - 1);
      break;
    case row_before:
      if (query > 0) --query;
      break;
    case row_after:
      query = std::min(query + 1, queries_ - 1);
      break;
    case first_row:
      query = 0;
      break;
    case first_head:
      head = 0;
      break;
    case first_batch:
      batch = 0;
      break;
    default:
      break;
  }
  const double value = mask_[((batch * mask_heads_ + head) * queries_ + query) * length_ + column];
  bias = std::isfinite(value) && change.mask != hides_only ? value : 0.0;
  return std::isfinite(value) || change.mask == hidden_count;
}

bool AttentionModel::sees(const AttentionChange& change, const Row& row, std::size_t slot, double& bias) const {
  bias = 0;
  return is_decode() ? sees_slot(change, slot) : sees_masked(change, row, slot, bias);
}

// Distance in slots from the row's own key/value head to the head that `map` selects; modulo 2^64.
std::ptrdiff_t AttentionModel::slots_to_head(const Row& row, HeadMap map) const {
  if (map == HeadMap::grouped) return 0;
  return (static_cast<std::ptrdiff_t>(mapped(map, row.head)) - static_cast<std::ptrdiff_t>(row.key_head)) *
         static_cast<std::ptrdiff_t>(rows_);
}

std::size_t AttentionModel::empty_places(const AttentionChange& change, std::size_t behind) const {
  using enum AttentionChange::EmptyPlaces;
  if (is_decode() && change.mask == AttentionChange::Mask::hidden_count) return behind;
  switch (change.empty_places) {
    case pair_counts:
      return length_ % 2;
    case first_counts:
      return std::min<std::size_t>(behind, 1);
    case all_count:
      return behind;
    default:
      return 0;
  }
}

AttentionChunks AttentionModel::chunks_of(const AttentionChange& change, const Row& row, const double* query, const double* keys) const {
  const bool hidden_count = is_decode() && change.mask == AttentionChange::Mask::hidden_count;
  const std::size_t count = (length_ + chunk_ - 1) / chunk_;
  const bool ragged = length_ % chunk_ != 0;
  AttentionChunks chunks(count);
  for (std::size_t c = 0; c < count; ++c) {
    const bool is_last = c + 1 == count;
    if (change.lost == AttentionChange::Lost::chunk && c == change.lost_chunk) continue;
    if (change.lost == AttentionChange::Lost::last_chunk && is_last) continue;
    if (change.lost == AttentionChange::Lost::tail && is_last && ragged) continue;
    if (change.lost == AttentionChange::Lost::odd_chunks && c % 2 != 0) continue;
    const bool twice = (change.twice == AttentionChange::Twice::first_chunk && c == 0) ||
                       (change.twice == AttentionChange::Twice::last_chunk && is_last) ||
                       (change.twice == AttentionChange::Twice::tail && is_last && ragged);
    bool any = false;
    const std::ptrdiff_t elsewhere = is_last && ragged ? slots_to_head(row, change.tail_heads) : 0;
    bool is_first_visible = true;
    bool is_all_visible = !(is_last && ragged);
    for (std::size_t slot = c * chunk_; slot < std::min((c + 1) * chunk_, length_); ++slot) {
      double bias = 0;
      const bool visible = sees(change, row, slot, bias);
      any = any || visible;
      is_all_visible = is_all_visible && visible;
      if (slot == c * chunk_) is_first_visible = visible;
      if (!visible && !hidden_count) continue;
      const std::size_t from = slot + static_cast<std::size_t>(elsewhere);
      double score = dot(query, keys + from * dim_, dim_) * scale_ * change.score_factor + bias;
      if (change.scores != Precision::full) score = rounded(score, change.scores);
      chunks[c].push_back({from, score, twice ? 2.0 : 1.0, false});
    }
    const bool is_skipped = (change.lost == AttentionChange::Lost::chunk_if_first_hidden && !is_first_visible) ||
                            (change.lost == AttentionChange::Lost::chunk_if_any_hidden && !is_all_visible);
    if (!any || is_skipped) {
      chunks[c].clear();
    } else if (is_last) {
      chunks[c].insert(chunks[c].end(), empty_places(change, count * chunk_ - length_), {0, 0.0, 1.0, true});
    }
  }
  return chunks;
}

bool AttentionModel::applies(const AttentionChange& change) const {
  switch (change.only) {
    case AttentionChange::Only::causal:
      return is_decode() && shape_.mask_type == oracles::MaskType::causal;
    case AttentionChange::Only::windowed:
      return is_decode() && shape_.mask_type == oracles::MaskType::sliding_window;
    default:
      return true;
  }
}

std::shared_ptr<const Model> AttentionModel::only_rows(const std::vector<bool>& rows) const {
  auto reduced = std::make_shared<AttentionModel>(*this);
  reduced->only_ = rows;
  return reduced;
}

std::vector<double> AttentionModel::evaluate(const AttentionChange& asked) const {
  const AttentionChange change = applies(asked) ? asked : AttentionChange{};
  const std::vector<double> q = queries_of(change);
  std::vector<double> edited_keys;
  std::vector<double> edited_values;
  if (is_decode() && change.keys != CacheEdit{}) edited_keys = decoded(change.keys, true);
  if (is_decode() && change.values != CacheEdit{}) edited_values = decoded(change.values, false);
  const std::vector<double>& keys = edited_keys.empty() ? k_ : edited_keys;
  const std::vector<double>& values = edited_values.empty() ? v_ : edited_values;
  const StreamShape shape = {.workgroups = workgroups_, .simdgroups = simdgroups_, .head_dim = dim_, .partials = partials_};
  std::vector<double> output(batches_ * heads_ * queries_ * dim_);
  for (std::size_t batch = 0; batch < batches_; ++batch) {
    for (std::size_t head = 0; head < heads_; ++head) {
      for (std::size_t query = 0; query < queries_; ++query) {
        const std::size_t row = (batch * heads_ + head) * queries_ + query;
        if (!only_.empty() && !only_[row]) continue;
        const std::size_t of_keys = mapped(change.key_heads, head);
        const std::size_t of_values = mapped(change.value_heads, head);
        const std::size_t q_head = change.query_heads == HeadMap::first  ? 0
                                   : change.query_heads == HeadMap::next ? (head + 1) % heads_
                                                                         : head;
        const double* q_row = q.data() + ((batch * heads_ + q_head) * queries_ + query) * dim_;
        const auto rows_of = [&](const std::vector<double>& cache, std::size_t kv_head, AttentionChange::HeadSpacing spacing) {
          const std::size_t apart = spacing == AttentionChange::HeadSpacing::length ? length_ : rows_;
          return cache.data() + (batch * kv_heads_ * rows_ + kv_head * apart) * dim_;
        };
        const AttentionChunks chunks =
            chunks_of(change, {batch, head, query, of_keys, of_values}, q_row, rows_of(keys, of_keys, change.key_spacing));
        attend(change, shape, chunks, rows_of(values, of_values, change.value_spacing), output.data() + row * dim_);
      }
    }
  }
  for (double& value : output) value *= change.output_factor;
  return output;
}

}  // namespace assay::families
