// Checks the results of the helpers of bf16_prefill, to the bit.
#include "families/bf16_prefill/helpers.h"

#include <algorithm>
#include <vector>

#include "metal/guarded_memory.h"
#include "oracles/arithmetic.h"

namespace assay::families {
namespace {

constexpr std::size_t kTileQueries = 8;
constexpr std::size_t kTileKeys = 64;
constexpr std::uint16_t kLowest = 0xfbff;  // half -65504
constexpr auto kPoison = static_cast<std::uint16_t>(metal::kPoisonWord & 0xffffU);

std::optional<std::uint64_t> written(std::uint16_t found) { return found == kPoison ? std::nullopt : std::optional<std::uint64_t>(found); }

}  // namespace

std::optional<BrokenPromise> find_pad_fault(const fixtures::DenseRequest& request, const fixtures::DenseInputs& inputs,
                                            std::span<const std::uint16_t> pad) {
  const oracles::DenseShape& shape = request.shape;
  const std::size_t first = shape.kv_len / kTileKeys * kTileKeys;
  const std::size_t heads = shape.batches * shape.kv_heads;
  std::size_t at = 0;
  for (const auto& [which, rows] : {std::pair(CacheRows::keys, &inputs.k), std::pair(CacheRows::values, &inputs.v)}) {
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t row = 0; row < kTileKeys; ++row) {
        const bool is_key = first + row < shape.kv_len;
        for (std::size_t i = 0; i < shape.head_dim; ++i, ++at) {
          const std::uint16_t wanted = is_key ? (*rows)[(head * shape.head_rows + first + row) * shape.head_dim + i] : std::uint16_t{0};
          if (pad[at] != wanted)
            return promise::WrongPadRow{which, head / shape.kv_heads, head % shape.kv_heads, row, i, written(pad[at]), wanted};
        }
      }
    }
  }
  for (std::size_t plane = 0; plane < shape.mask_batches * shape.mask_heads; ++plane) {
    for (std::size_t query = 0; query < shape.queries; ++query) {
      for (std::size_t column = 0; column < kTileKeys; ++column, ++at) {
        const std::size_t key = first + column;
        const std::uint16_t wanted = key < shape.kv_len ? inputs.mask[(plane * shape.queries + query) * shape.kv_len + key] : kLowest;
        if (pad[at] != wanted)
          return promise::WrongPadMask{plane / shape.mask_heads, plane % shape.mask_heads, query, column, written(pad[at]), wanted};
      }
    }
  }
  return std::nullopt;
}

std::optional<BrokenPromise> find_blk_fault(const fixtures::DenseRequest& request, const fixtures::DenseInputs& inputs,
                                            std::span<const std::uint8_t> blk) {
  const oracles::DenseShape& shape = request.shape;
  const std::size_t query_tiles = (shape.queries + kTileQueries - 1) / kTileQueries;
  const std::size_t key_tiles = (shape.kv_len + kTileKeys - 1) / kTileKeys;
  for (std::size_t index = 0; index < blk.size(); ++index) {
    const std::size_t key_tile = index % key_tiles;
    const std::size_t query_tile = index / key_tiles % query_tiles;
    const std::size_t plane = index / key_tiles / query_tiles;
    bool is_seen = (key_tile + 1) * kTileKeys > shape.kv_len;
    bool is_zero = !is_seen;
    for (std::size_t query = query_tile * kTileQueries; query < std::min(shape.queries, (query_tile + 1) * kTileQueries); ++query) {
      for (std::size_t key = key_tile * kTileKeys; key < std::min(shape.kv_len, (key_tile + 1) * kTileKeys); ++key) {
        const double value = oracles::half_value(inputs.mask[(plane * shape.queries + query) * shape.kv_len + key]);
        is_seen = is_seen || value > oracles::kInvisibleMask;
        is_zero = is_zero && value == 0.0;
      }
    }
    const std::uint8_t wanted = is_seen ? 1 : 0;
    if (blk[index] == wanted || (is_zero && blk[index] == 2)) continue;
    return promise::WrongTileClass{plane / shape.mask_heads, plane % shape.mask_heads, query_tile, key_tile, blk[index], wanted};
  }
  return std::nullopt;
}

}  // namespace assay::families
