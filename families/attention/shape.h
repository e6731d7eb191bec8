// A case of family `attention` in the words of its formula, and the axes that say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "families/family.h"
#include "kernels/variant.h"
#include "oracles/any_attention.h"

namespace assay::families::attention {

// Axes, in the order of the descriptor.
enum AxisIndex : std::size_t {
  kBatch,
  kHeads,
  kKvHeads,
  kQueries,
  kKeys,
  kDk,
  kDv,
  kType,
  kKType,
  kVType,
  kOutType,
  kMask,
  kWindow,
  kMaskType,
  kMaskPlanes,
  kMaskGaps,
  kOffset,
  kSoftcap,
  kSinks,
  kScale,
  kCache,
  kRoom,
  kRingStart,
  kPage,
  kLayout,
  kSharedKv,
  kRagged,
  kGaps,
  kBlocks,
  kNsg,
  kFar,
  kAxisCount
};

enum class Storage : std::uint8_t { float32, half, bfloat, q8_0, q4_0, q4_1 };
// Of the axes k_type and v_type, the first value of those that store blocks of 32 with a scale: "q8_0".
inline constexpr std::int64_t kFirstOfBlocks = 4;
enum class Mask : std::uint8_t { none, causal, window, causal_window, boolean, additive, alibi, causal_alibi };
enum class Cache : std::uint8_t { contiguous, capacity, ring, paged };
enum class Layout : std::uint8_t { bhld, blhd, packed };
enum class Gaps : std::uint8_t { none, kv, inputs, all };

struct Shape {
  std::size_t batches, heads, kv_heads, queries, keys, dk, dv;
  Storage q, k, v, out;
  Mask mask;
  std::size_t window;
  Storage mask_type;
  bool mask_per_head, mask_per_batch, mask_gaps;
  std::int64_t offset;  // query i is at position i + offset, in the longest batch
  bool is_at_end;       // of each batch: the last query is at its last key
  double softcap;
  bool sinks;
  Storage sink_type;
  float scale;
  Cache cache;
  std::size_t capacity;    // rows of a key/value head; for a paged cache, of the whole pages of the longest batch
  std::size_t ring_start;  // slot of key 0
  std::size_t page;
  Layout layout;
  std::size_t kv_batches;
  Gaps gaps;
  bool is_far;  // with the gaps, tensors have more than 2^32 bytes, and masks more than 2^31
  std::size_t blocks, nsg;
  std::vector<std::size_t> kv_len;  // of each batch
  std::uint64_t seed;

  // Pages of the longest batch.
  [[nodiscard]] std::size_t pages() const { return capacity / page; }
  // The slot of key j in the rows of its head; for a paged cache, before the block table.
  [[nodiscard]] std::size_t slot(std::size_t key) const { return cache == Cache::ring ? (ring_start + key) % capacity : key; }
  // The batch whose keys and values a batch reads.
  [[nodiscard]] std::size_t kv_batch(std::size_t batch) const { return batch % kv_batches; }
  // The position of a query among the keys of its batch.
  [[nodiscard]] std::int64_t position(std::size_t batch, std::size_t query) const;
  // Whether mask and window let query i of a batch see key j. Boolean and additive masks are not counted.
  [[nodiscard]] bool sees(std::size_t batch, std::size_t query, std::size_t key) const;
  [[nodiscard]] bool has_slopes() const { return mask == Mask::alibi || mask == Mask::causal_alibi; }
};

[[nodiscard]] Shape shape_of(std::span<const std::int64_t> values, std::uint64_t seed);
[[nodiscard]] inline Shape shape_of(const Case& test_case) { return shape_of(test_case.values, test_case.seed); }

// Whether every number in a row of so many coordinates has a place in the type: blocks have 32.
[[nodiscard]] bool has_whole_blocks(Storage type, std::size_t coordinates);

// Throws std::invalid_argument, naming the axes, for values that contradict each other.
void validate(const Case& test_case);

[[nodiscard]] oracles::AnyAttentionShape oracle_shape(const Shape& shape, const kernels::Variant& variant);

}  // namespace assay::families::attention
