#include "harness/run/minimum.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/code_bytes.h"
#include "fixtures/dense.h"
#include "harness/cases/file_case.h"
#include "harness/run/case_data.h"
#include "oracles/arithmetic.h"
#include "oracles/dense_attention.h"

namespace assay::harness {
namespace {

constexpr std::uint64_t kFloat = 4;  // bytes
constexpr std::uint64_t kBfloat = 2;
constexpr std::uint64_t kHalf = 2;
constexpr std::uint64_t kBlock = 256;  // coordinates that share a norm

std::uint64_t axis(const Case& about, std::string_view name) { return static_cast<std::uint64_t>(about.at(name)); }

Minimum of(std::uint64_t bytes_read, std::uint64_t bytes_written, std::uint64_t flops) {
  return {bytes_read, bytes_written, bytes_read + bytes_written, flops};
}

std::uint64_t rotation_flops(std::uint64_t head_dim) {
  return head_dim * (static_cast<std::uint64_t>(std::countr_zero(head_dim)) + 1);  // a power of two
}

Minimum of_decode(const Case& about, std::uint64_t bits, std::uint64_t norms, bool rotates) {
  constexpr std::int64_t kSlidingWindow = 2;
  const std::uint64_t head_dim = axis(about, "head_dim");
  const std::uint64_t heads = axis(about, "n_heads");
  const std::uint64_t window = axis(about, "sliding_window");
  std::uint64_t visible = axis(about, "kv_len");
  if (about.at("mask_type") == kSlidingWindow && window > 0) visible = std::min(visible, window);
  const std::uint64_t rows = kFloat * heads * head_dim;
  const std::uint64_t cache = 2 * axis(about, "n_kv_heads") * visible * (base::code_bytes(bits, head_dim) + kFloat * norms);
  return of(rows + cache, rows, heads * visible * (4 * head_dim + 2 * norms + 3) + (rotates ? heads * rotation_flops(head_dim) : 0));
}

Minimum of_tq4(const Case& about, const fixtures::Shelf&) {
  return of_decode(about, 4, about.at("block_norms") != 0 ? axis(about, "head_dim") / kBlock : 1, false);
}

Minimum of_tqhb(const Case& about, const fixtures::Shelf&) {
  return of_decode(about, axis(about, "codebook_bits"), axis(about, "head_dim") / kBlock, about.at("fuse_fwht_pre") != 0);
}

Minimum of_reduce(const Case& about, const fixtures::Shelf&) {
  const std::uint64_t rows = axis(about, "nrows");
  const std::uint64_t nwg = axis(about, "nwg");
  const std::uint64_t head_dim = axis(about, "head_dim");
  return of(kFloat * rows * nwg * (head_dim + 2), kFloat * rows * head_dim, rows * nwg * (2 * head_dim + 4));
}

Minimum of_fwht(const Case& about, const fixtures::Shelf&) {
  const std::uint64_t heads = axis(about, "num_heads");
  const std::uint64_t bytes = kFloat * heads * axis(about, "head_dim");
  return {bytes, bytes, bytes, heads * rotation_flops(axis(about, "head_dim"))};
}

Minimum of_quantize(const Case& about, const fixtures::Shelf&) {
  const std::uint64_t heads = axis(about, "num_kv_heads");
  const std::uint64_t head_dim = axis(about, "head_dim");
  const std::uint64_t norms = head_dim / kBlock;
  const std::uint64_t row = kFloat * head_dim;
  const std::uint64_t written =
      base::code_bytes(axis(about, "bits"), head_dim) + kFloat * norms + (about.at("rms_probe") != 0 ? row : std::uint64_t{0});
  return of(heads * row, heads * written, heads * (rotation_flops(head_dim) + 3 * head_dim + norms));
}

Minimum of_dequantize(const Case& about, const fixtures::Shelf&) {
  const std::uint64_t heads = axis(about, "num_kv_heads");
  const std::uint64_t head_dim = axis(about, "head_dim");
  const std::uint64_t norms = head_dim / kBlock;
  return of(heads * (base::code_bytes(axis(about, "bits"), head_dim) + kFloat * norms), heads * kFloat * head_dim,
            heads * (head_dim + norms));
}

// What the queries of a bf16 case see.
struct Sight {
  std::uint64_t query_rows = 0;  // that see a key
  std::uint64_t pairs = 0;       // of a query row and a key
  std::uint64_t key_rows = 0;    // that any query sees
};

Sight sight_through(const oracles::DenseShape& shape, std::span<const std::uint16_t> mask) {
  const std::size_t queries = shape.batches * shape.heads * shape.queries;
  if (mask.empty()) return {queries, queries * shape.kv_len, shape.batches * shape.kv_heads * shape.kv_len};
  Sight sight;
  std::vector<bool> is_seen(shape.batches * shape.kv_heads * shape.kv_len);
  for (std::size_t batch = 0; batch < shape.batches; ++batch) {
    for (std::size_t head = 0; head < shape.heads; ++head) {
      const std::size_t plane = batch % shape.mask_batches * shape.mask_heads + head % shape.mask_heads;
      const std::size_t keys = (batch * shape.kv_heads + head / (shape.heads / shape.kv_heads)) * shape.kv_len;
      for (std::size_t query = 0; query < shape.queries; ++query) {
        const auto row = mask.subspan((plane * shape.queries + query) * shape.kv_len, shape.kv_len);
        std::uint64_t visible = 0;
        for (std::size_t key = 0; key < shape.kv_len; ++key) {
          if (!(oracles::half_value(row[key]) > oracles::kInvisibleMask)) continue;
          ++visible;
          is_seen[keys + key] = true;
        }
        sight.pairs += visible;
        if (visible != 0) ++sight.query_rows;
      }
    }
  }
  sight.key_rows = static_cast<std::uint64_t>(std::ranges::count(is_seen, true));
  return sight;
}

Minimum of_bf16(const Case& about, const fixtures::Shelf& shelf) {
  const fixtures::DenseRequest request = dense_request(about);
  const oracles::DenseShape& shape = request.shape;
  const std::vector<std::uint16_t> mask = is_on_file(about) ? dense_data(about, shelf).inputs.mask : fixtures::dense_mask(request);
  const Sight sight = sight_through(shape, mask);
  const std::uint64_t q_bytes = request.q_is_bfloat ? kBfloat : kFloat;
  const std::uint64_t read =
      sight.query_rows * shape.head_dim * q_bytes + 2 * sight.key_rows * shape.head_dim * kBfloat + mask.size() * kHalf;
  return of(read, shape.batches * shape.heads * shape.queries * shape.head_dim * kBfloat,
            sight.pairs * (4 * shape.head_dim + 3 + (mask.empty() ? 0 : 1)));
}

struct Row {
  std::string_view family;
  Minimum (*minimum)(const Case&, const fixtures::Shelf&);
};
constexpr Row kRows[] = {{"tq4", of_tq4},           {"tqhb", of_tqhb},         {"reduce", of_reduce},
                         {"fwht", of_fwht},         {"quantize", of_quantize}, {"dequantize", of_dequantize},
                         {"bf16_prefill", of_bf16}, {"bf16_vec", of_bf16}};

}  // namespace

Minimum minimum_of(const Case& about, const fixtures::Shelf& shelf) {
  const auto row = std::ranges::find(kRows, about.family->name(), &Row::family);
  if (row == std::end(kRows)) throw std::logic_error(fmt::format("nobody has said what family {} needs at least", about.family->name()));
  return row->minimum(about, shelf);
}

}  // namespace assay::harness
