// Checks the results of the helpers of bf16_prefill, to the bit.
#include "families/bf16_prefill/helpers.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "families/shared/dense_cases.h"
#include "oracles/arithmetic.h"

namespace assay::families {
namespace {

constexpr std::size_t kQueriesOfTile = dense::kTileQueries;
constexpr std::size_t kKeysOfTile = dense::kTileKeys;
constexpr std::uint16_t kLowestHalf = 0xfbff;  // half -65504
constexpr const char* kPadRow = "wrong pad row";
constexpr const char* kPadMask = "wrong pad mask";
constexpr const char* kTileClass = "wrong tile class";

std::string found_text(const BrokenPromise& it) {
  return fmt::format("{}; expected {:#06x}", it.has("found") ? fmt::format("is {:#06x}", it.count("found")) : "was never written",
                     it.count("wanted"));
}

}  // namespace

std::vector<Promise> bf16_prefill_promises() {
  const PromiseField found = {"found", ValueType::count, true};
  return {{.id = kPadRow,
           .fields = {{"rows", ValueType::word}, {"batch"}, {"head"}, {"row"}, {"coordinate"}, found, {"wanted"}},
           .text =
               [](const BrokenPromise& it) {
                 return fmt::format("pad: {} of batch {}, key/value head {}: row {}, coordinate {} {}", it.word("rows"), it.count("batch"),
                                    it.count("head"), it.count("row"), it.count("coordinate"), found_text(it));
               },
           .subject = "rows"},
          {.id = kPadMask,
           .fields = {{"batch"}, {"head"}, {"query"}, {"column"}, found, {"wanted"}},
           .text =
               [](const BrokenPromise& it) {
                 return fmt::format("pad: mask of batch {}, head {}, query {}: column {} {}", it.count("batch"), it.count("head"),
                                    it.count("query"), it.count("column"), found_text(it));
               }},
          {.id = kTileClass,
           .fields = {{"batch"}, {"head"}, {"query_tile"}, {"key_tile"}, {"found"}, {"wanted"}},
           .text = [](const BrokenPromise& it) {
             return fmt::format("blk: batch {}, head {}, query tile {}, key tile {} is {}; expected {}", it.count("batch"),
                                it.count("head"), it.count("query_tile"), it.count("key_tile"), it.count("found"), it.count("wanted"));
           }}};
}

std::optional<BrokenPromise> find_pad_fault(const fixtures::DenseRequest& request, const fixtures::DenseInputs& inputs,
                                            const BufferResult& result, std::size_t shared) {
  const oracles::DenseShape& shape = request.shape;
  const std::span<const std::uint16_t> pad = result.of<std::uint16_t>();
  const auto broken = [&](BrokenPromise found, std::size_t place, std::uint64_t wanted) {
    if (result.written<std::uint16_t>(place)) found.values.emplace("found", pad[place]);
    found.values.emplace("wanted", wanted);
    return found;
  };
  const std::size_t first = shape.kv_len / kKeysOfTile * kKeysOfTile;
  const std::size_t heads = shape.batches / shared * shape.kv_heads;
  std::size_t at = 0;
  for (const auto& [which, rows] : {std::pair("keys", &inputs.k), std::pair("values", &inputs.v)}) {
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t in_inputs = head / shape.kv_heads * shared * shape.kv_heads + head % shape.kv_heads;
      for (std::size_t row = 0; row < kKeysOfTile; ++row) {
        const bool is_key = first + row < shape.kv_len;
        for (std::size_t i = 0; i < shape.head_dim; ++i, ++at) {
          const std::uint16_t wanted =
              is_key ? (*rows)[(in_inputs * shape.head_rows + first + row) * shape.head_dim + i] : std::uint16_t{0};
          if (pad[at] == wanted) continue;
          return broken(
              {kPadRow,
               {{"rows", which}, {"batch", head / shape.kv_heads}, {"head", head % shape.kv_heads}, {"row", row}, {"coordinate", i}}},
              at, wanted);
        }
      }
    }
  }
  for (std::size_t plane = 0; plane < shape.mask_batches * shape.mask_heads; ++plane) {
    for (std::size_t query = 0; query < shape.queries; ++query) {
      for (std::size_t column = 0; column < kKeysOfTile; ++column, ++at) {
        const std::size_t key = first + column;
        const std::uint16_t wanted = key < shape.kv_len ? inputs.mask[(plane * shape.queries + query) * shape.kv_len + key] : kLowestHalf;
        if (pad[at] == wanted) continue;
        return broken(
            {kPadMask, {{"batch", plane / shape.mask_heads}, {"head", plane % shape.mask_heads}, {"query", query}, {"column", column}}}, at,
            wanted);
      }
    }
  }
  return std::nullopt;
}

std::optional<BrokenPromise> find_blk_fault(const fixtures::DenseRequest& request, const fixtures::DenseInputs& inputs,
                                            const BufferResult& result) {
  const oracles::DenseShape& shape = request.shape;
  const std::span<const std::uint8_t> blk = result.of<std::uint8_t>();
  const std::size_t query_tiles = (shape.queries + kQueriesOfTile - 1) / kQueriesOfTile;
  const std::size_t key_tiles = (shape.kv_len + kKeysOfTile - 1) / kKeysOfTile;
  for (std::size_t index = 0; index < blk.size(); ++index) {
    const std::size_t key_tile = index % key_tiles;
    const std::size_t query_tile = index / key_tiles % query_tiles;
    const std::size_t plane = index / key_tiles / query_tiles;
    bool is_seen = (key_tile + 1) * kKeysOfTile > shape.kv_len;
    bool is_zero = !is_seen;
    for (std::size_t query = query_tile * kQueriesOfTile; query < std::min(shape.queries, (query_tile + 1) * kQueriesOfTile); ++query) {
      for (std::size_t key = key_tile * kKeysOfTile; key < std::min(shape.kv_len, (key_tile + 1) * kKeysOfTile); ++key) {
        const double value = oracles::half_value(inputs.mask[(plane * shape.queries + query) * shape.kv_len + key]);
        is_seen = is_seen || value > oracles::kInvisibleMask;
        is_zero = is_zero && value == 0.0;
      }
    }
    const std::uint8_t wanted = is_seen ? 1 : 0;
    if (blk[index] == wanted || (is_zero && blk[index] == 2)) continue;
    return BrokenPromise{kTileClass,
                         {{"batch", plane / shape.mask_heads},
                          {"head", plane % shape.mask_heads},
                          {"query_tile", query_tile},
                          {"key_tile", key_tile},
                          {"found", blk[index]},
                          {"wanted", wanted}}};
  }
  return std::nullopt;
}

}  // namespace assay::families
