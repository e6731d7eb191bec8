// Reads the axes of family `attention`.
#include "families/attention/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "families/attention/contract.h"
#include "families/shared/refusal.h"

namespace assay::families::attention {
namespace {

// k_type and v_type: 0 is "same", then the storage types from float on.
Storage storage_or(std::int64_t value, Storage same) { return value == 0 ? same : static_cast<Storage>(value - 1); }

std::int64_t offset_of(std::int64_t kind, std::int64_t keys, std::int64_t queries) {
  if (kind == 1) return 0;
  const std::int64_t end = keys - queries;
  return kind == 0 ? end : end / 2;
}

}  // namespace

std::int64_t Shape::position(std::size_t batch, std::size_t query) const {
  const std::int64_t missing = is_at_end ? static_cast<std::int64_t>(keys) - static_cast<std::int64_t>(kv_len[batch]) : 0;
  return static_cast<std::int64_t>(query) + offset - missing;
}

bool Shape::sees(std::size_t batch, std::size_t query, std::size_t key) const {
  const auto other = static_cast<std::int64_t>(key);
  const bool is_causal = mask == Mask::causal || mask == Mask::causal_window || mask == Mask::causal_alibi;
  const bool is_windowed = mask == Mask::window || mask == Mask::causal_window;
  if (is_causal && other > position(batch, query)) return false;
  return !is_windowed || other > position(batch, query) - static_cast<std::int64_t>(window);
}

Shape shape_of(std::span<const std::int64_t> v, std::uint64_t seed) {
  const auto size = [&](AxisIndex axis) { return static_cast<std::size_t>(v[axis]); };
  Shape shape{};
  shape.batches = size(kBatch);
  shape.heads = size(kHeads);
  shape.kv_heads = size(kKvHeads);
  shape.queries = size(kQueries);
  shape.keys = size(kKeys);
  shape.dk = size(kDk);
  shape.dv = size(kDv);
  shape.q = static_cast<Storage>(v[kType]);
  shape.k = storage_or(v[kKType], shape.q);
  shape.v = storage_or(v[kVType], shape.k);
  shape.out = storage_or(v[kOutType], shape.q);
  shape.mask = static_cast<Mask>(v[kMask]);
  shape.window = size(kWindow);
  shape.mask_type = storage_or(v[kMaskType], shape.q);
  shape.mask_per_head = (v[kMaskPlanes] & 1) != 0;
  shape.mask_per_batch = (v[kMaskPlanes] & 2) != 0;
  shape.mask_gaps = v[kMaskGaps] != 0;
  shape.offset = offset_of(v[kOffset], v[kKeys], v[kQueries]);
  shape.softcap = static_cast<double>(v[kSoftcap]);
  shape.is_at_end = v[kOffset] == 0;
  shape.sinks = v[kSinks] != 0;
  shape.sink_type = v[kSinks] == 2 ? shape.q : Storage::float32;
  shape.scale = v[kScale] == 0 ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.dk))) : 1.0F;
  shape.cache = static_cast<Cache>(v[kCache]);
  shape.page = size(kPage);
  shape.capacity = shape.keys + size(kRoom);
  if (shape.cache == Cache::paged) shape.capacity = (shape.capacity + shape.page - 1) / shape.page * shape.page;
  shape.ring_start = size(kRingStart);
  shape.layout = static_cast<Layout>(v[kLayout]);
  shape.kv_batches = v[kSharedKv] != 0 ? 1 : shape.batches;
  shape.gaps = static_cast<Gaps>(v[kGaps]);
  shape.is_far = v[kFar] != 0;
  shape.blocks = size(kBlocks);
  shape.nsg = size(kNsg);
  shape.seed = seed;
  // A ragged batch: the last one has all keys, the first half of them or none, others a single key.
  for (std::size_t batch = 0; batch < shape.batches; ++batch) {
    const bool is_short = v[kRagged] != 0 && batch + 1 != shape.batches;
    const std::size_t first = v[kRagged] == 2 ? 0 : std::max<std::size_t>(1, shape.keys / 2);
    shape.kv_len.push_back(!is_short ? shape.keys : batch == 0 ? first : 1);
  }
  return shape;
}

bool has_whole_blocks(Storage type, std::size_t coordinates) { return type < Storage::q8_0 || coordinates % 32 == 0; }

void validate(const Case& test_case) {
  for (const std::string_view axis : {"b", "h", "g", "lq", "lk", "dk", "dv", "page_size", "blocks", "nsg"})
    require_positive(axis, static_cast<std::uint64_t>(test_case.at(axis)));
  if (test_case.at("h") % test_case.at("g") != 0)
    throw std::invalid_argument(fmt::format("g = {}: must divide h = {}", test_case.at("g"), test_case.at("h")));
  const Shape shape = shape_of(test_case);
  if (!has_whole_blocks(shape.k, shape.dk)) throw std::invalid_argument(fmt::format("dk = {}: blocks of k have 32 coordinates", shape.dk));
  if (!has_whole_blocks(shape.v, shape.dv)) throw std::invalid_argument(fmt::format("dv = {}: blocks of v have 32 coordinates", shape.dv));
  if (shape.cache == Cache::ring && shape.ring_start >= shape.capacity)
    throw std::invalid_argument(fmt::format("ring_start = {}: must be below the capacity, {}", shape.ring_start, shape.capacity));
  if (shape.is_far && shape.gaps == Gaps::none) throw std::invalid_argument("far: only with gaps between rows, which are then large");
  const bool is_windowed = shape.mask == Mask::window || shape.mask == Mask::causal_window;
  if (is_windowed != (shape.window != 0))
    throw std::invalid_argument(fmt::format("window = {}: only, and always, with a mask of windows", shape.window));
  if (shape.cache == Cache::paged && shape.kv_batches != shape.batches)
    throw std::invalid_argument("shared_kv = yes: the block table of a paged cache says what batches share");
  if (shape.has_slopes() && test_case.at("ragged") != 0 && shape.queries > 1)
    throw std::invalid_argument(fmt::format("lq = {}: ALiBi on a ragged batch has one query", shape.queries));
  if (shape.has_slopes() && test_case.at("ragged") != 0 && shape.sinks)
    throw std::invalid_argument("sinks: ALiBi on a ragged batch has none, because distances are from the end of the longest sequence");
  if (shape.layout != Layout::packed) return;
  const bool is_uniform = shape.queries == shape.keys && shape.k == shape.q && shape.v == shape.q && shape.dk == shape.dv;
  if (!is_uniform || shape.cache != Cache::contiguous || shape.kv_batches != shape.batches || test_case.at("room") != 0 ||
      shape.gaps == Gaps::kv || shape.gaps == Gaps::inputs)
    throw std::invalid_argument(
        "layout = packed: needs as many queries as keys, one type and one head size, no cache, and no gaps between inputs");
}

oracles::AnyAttentionShape oracle_shape(const Shape& shape, const kernels::Variant& variant) {
  oracles::AnyAttentionShape result;
  result.batches = shape.batches;
  result.heads = shape.heads;
  result.kv_heads = shape.kv_heads;
  result.queries = shape.queries;
  result.kv_rows = shape.keys;
  result.head_dim = shape.dk;
  result.value_dim = shape.dv;
  result.kv_len = shape.kv_len;
  for (std::size_t batch = 0; batch < shape.batches; ++batch) result.kv_batch.push_back(shape.kv_batch(batch));
  result.scale = static_cast<double>(shape.scale);
  result.softcap = shape.softcap;
  result.empty_row = static_cast<oracles::EmptyRow>(variant.setting("empty_row"));
  result.lse = static_cast<oracles::LogBase>(variant.setting("lse"));
  return result;
}

}  // namespace assay::families::attention
