// The inputs of attention over bfloat keys and values: requests from the axes, fixture files, the minimum cost of a case, and
// properties of masks.
#include "families/shared/dense_inputs.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "families/bf16_prefill/contract.h"
#include "families/shared/omissions.h"
#include "families/shared/scales.h"
#include "fixtures/dense.h"
#include "fixtures/generators.h"
#include "fixtures/layout.h"
#include "oracles/arithmetic.h"
#include "oracles/dense_attention.h"

namespace assay::families {

namespace {

// Seeds whose case has its tensors without gaps where its name allows that, for hosts whose dispatches are compared with ours.
bool is_dense(const Case& test_case) { return test_case.seed % 4 == 3; }

// The gap between parts of tensors that could be adjacent; a multiple of the width of any load.
constexpr std::uint64_t kGapBytes = 64;

// Strides of a tensor over more than 2^31 bytes (axis far), which exists only on the device: with odd seeds heads are far apart, with even
// ones the tokens are, and their heads lie between them.
RowStrides far_strides(const Case& test_case, std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t heads) {
  constexpr std::uint64_t kFarBytes = (std::uint64_t{1} << 30U) + kGapBytes;
  const std::uint64_t near = row_bytes + kGapBytes;
  if (test_case.seed % 2 == 1) return {near, kFarBytes, heads * kFarBytes};
  return {kFarBytes, near, rows * kFarBytes};
}

// Query rows of a head adjacent, heads of a token adjacent, and gaps in either: chosen by the seed. All layouts differ if there are at
// least two rows.
RowStrides query_strides(const Case& test_case, const Bf16Parameters& p, std::uint64_t row_bytes) {
  if (p.is_far) return far_strides(test_case, row_bytes, p.queries, p.n_heads);
  if (is_dense(test_case)) return strides_of(row_bytes, p.queries, p.n_heads);
  if (test_case.seed % 4 == 0) {
    const std::uint64_t token = row_bytes + kGapBytes;
    const std::uint64_t head = p.queries * token + kGapBytes;
    return {token, head, p.n_heads * head + kGapBytes};
  }
  const std::uint64_t head = row_bytes + (test_case.seed % 4 == 2 ? kGapBytes : 0);
  const std::uint64_t token = p.n_heads * head;
  return {token, head, p.queries * token + kGapBytes};
}

// Strides of keys or values. Rows have no gaps, because `pad` copies nb11 bytes of each. After the room that the case gives each head
// there are `head_gap` rows between heads, and `batch_gap` rows between batches. The buffer ends with the room of the last head.
RowStrides row_strides(const Bf16Parameters& p, std::uint64_t room, std::uint64_t head_gap, std::uint64_t batch_gap) {
  const std::uint64_t head = kBf16RowBytes * (p.kv_len + room + head_gap);
  return {kBf16RowBytes, head, p.n_kv_heads * head + kBf16RowBytes * batch_gap};
}

// Strides of a cache laid out [kv_batches, tokens, G, 512]: the heads of a token lie together, with a gap behind each and behind all.
RowStrides token_strides(const Bf16Parameters& p, std::uint64_t room, std::uint64_t head_gap, std::uint64_t token_gap) {
  const std::uint64_t head = kBf16RowBytes + head_gap;
  const std::uint64_t token = p.n_kv_heads * head + token_gap;
  return {token, head, (p.kv_len + room) * token + kGapBytes};
}

// Between tokens of a cache: the token in its middle is behind byte 2^32, so that this is seen too where a kernel counts tokens from the
// first one of a tile.
std::uint64_t far_token_gap(const Bf16Parameters& p) {
  constexpr std::uint64_t kFarBytes = std::uint64_t{1} << 33U;
  return kFarBytes / std::max<std::uint64_t>(1, p.kv_len - 1) / kGapBytes * kGapBytes;
}

// bf16_vec_v1 reads beyond a row of the mask (docs/FINDINGS.md#5), so its declared failures depend on the next row. For such cases
// there are gaps only between planes.
RowStrides mask_strides(const Case& test_case, const Bf16Parameters& p) {
  const std::uint64_t row_bytes = 2 * std::uint64_t{p.kv_len};
  if (p.is_far) return far_strides(test_case, row_bytes, p.queries, p.mask_heads);
  if (is_dense(test_case)) return strides_of(row_bytes, p.queries, p.mask_heads);
  const bool rows_apart = test_case.family->name() == kBf16PrefillContract.name || p.kv_len % 32 == 0;
  const std::uint64_t token = row_bytes + (rows_apart ? kGapBytes : 0);
  const std::uint64_t head = p.queries * token + kGapBytes;
  return {token, head, p.mask_heads * head + kGapBytes};
}

// What the queries of a case can see.
struct Sight {
  std::uint64_t query_rows = 0;  // that see a key
  std::uint64_t pairs = 0;       // of a query row and a visible key
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

}  // namespace

fixtures::DenseRequest dense_request(const Case& test_case) {
  fixtures::DenseRequest request;
  oracles::DenseShape& shape = request.shape;
  shape.batches = test_case.size("batches");
  shape.heads = test_case.size("n_heads");
  shape.kv_heads = test_case.size("n_kv_heads");
  shape.queries = test_case.size("queries");
  shape.kv_len = test_case.size("kv_len");
  // Room of gigabytes exists only on the device; nothing generates or writes data for it.
  shape.head_rows = shape.kv_len + (test_case.fixture == "huge" ? 0 : test_case.size("kv_room"));
  shape.head_dim = kBf16HeadDim;
  request.mask = static_cast<fixtures::DenseMask>(test_case.at("mask_type"));
  if (request.mask != fixtures::DenseMask::none) {
    shape.mask_heads = test_case.size("mask_heads");
    shape.mask_batches = test_case.size("mask_batches");
  }
  shape.scale = score_scale(test_case, kBf16HeadDim);
  if (test_case.beyond == kSoftcapOmission) shape.softcap = kOmittedSoftcap;
  request.window = test_case.size("sliding_window");
  request.hides_with_lowest = test_case.at("hides_lowest") != 0;
  request.q_is_bfloat = test_case.family->name() == kBf16PrefillContract.name;
  request.seed = test_case.seed;
  return request;
}

Bf16Parameters dense_parameters(const Case& test_case, metal::ScalarType q_element) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(test_case.at(axis)); };
  Bf16Parameters p;
  p.batches = value("batches");
  p.n_heads = value("n_heads");
  p.n_kv_heads = value("n_kv_heads");
  p.queries = value("queries");
  p.kv_len = value("kv_len");
  p.is_far = value("far") != 0;
  p.q_element = q_element;
  p.q = query_strides(test_case, p, kBf16HeadDim * metal::size_of(q_element));
  const std::uint64_t room = value("kv_room");
  // Values are further apart than keys, so that using the strides of one for the other is wrong.
  p.k = is_dense(test_case) ? row_strides(p, room, 0, 0) : row_strides(p, room, 0, 1);
  p.v = is_dense(test_case) ? row_strides(p, room, 0, 0) : row_strides(p, room, 3, 2);
  if (value("kv_layout") == kTokensOfHeads) {
    const std::uint64_t far = p.is_far ? far_token_gap(p) : 0;
    p.k = token_strides(p, room, 0, far + kGapBytes);
    p.v = token_strides(p, room, kGapBytes, far + 3 * kGapBytes);
  }
  p.kv_batches = value("kv_batches");
  if (value("mask_type") != 0) {
    p.mask_batches = value("mask_batches");
    p.mask_heads = value("mask_heads");
    p.mask = mask_strides(test_case, p);
  }
  p.scale = score_scale(test_case, kBf16HeadDim);
  if (test_case.beyond == kSoftcapOmission) p.logit_softcap = kOmittedSoftcap;
  p.is_beyond = !test_case.beyond.empty();
  return p;
}

fixtures::DenseInputs dense_inputs(const Case& test_case, const Source& source) {
  fixtures::DenseRequest request = dense_request(test_case);
  // Keys for a quarter of the scale have four times the scores, -132,000.
  if (test_case.beyond == kBelowSentinelOmission) request.shape.scale /= 4.0F;
  fixtures::DenseInputs inputs =
      source.is_file() ? fixtures::dense_inputs(source.file, request, source.tensors) : source.generator->dense(request);
  // Batches that share keys and values have copies of those of the first.
  const std::size_t shared = test_case.at("kv_batches") == 0 ? 1 : test_case.size("batches") / test_case.size("kv_batches");
  const std::size_t batch_size = inputs.k.size() / test_case.size("batches");
  for (std::size_t batch = 0; batch < test_case.size("batches"); ++batch) {
    if (batch % shared == 0) continue;
    for (auto* rows : {&inputs.k, &inputs.v})
      std::copy_n(rows->data() + batch / shared * shared * batch_size, batch_size, rows->data() + batch * batch_size);
  }
  return inputs;
}

FileRules dense_files() {
  return {.inputs = [](const Case& test_case) { return fixtures::dense_layout(dense_request(test_case)); },
          .output_shape = [](const Case& test_case) -> std::vector<std::uint64_t> {
            const oracles::DenseShape shape = dense_request(test_case).shape;
            return {shape.batches, shape.heads, shape.queries, shape.head_dim};
          },
          .generate =
              [](const Case& test_case, const fixtures::Fixture& fixture) {
                if (test_case.fixture == "huge")
                  throw std::invalid_argument(
                      "fixture huge cannot be written to a file: its spare rows need gigabytes; gauss has the same data");
                const fixtures::DenseRequest request = dense_request(test_case);
                return fixtures::dense_tensors(request, fixture.dense(request));
              },
          .expect =
              [](const Case& test_case, const Source& source) {
                oracles::AttentionAccuracy accuracy;
                accuracy.output = oracles::bfloat_format();
                const fixtures::DenseInputs inputs = dense_inputs(test_case, source);
                return oracles::dense_attention(dense_request(test_case).shape, inputs.tensors(), accuracy);
              }};
}

Minimum dense_minimum(const Case& test_case, const Source& source) {
  const fixtures::DenseRequest request = dense_request(test_case);
  const oracles::DenseShape& shape = request.shape;
  const std::vector<std::uint16_t> mask = source.is_file() ? dense_inputs(test_case, source).mask : fixtures::dense_mask(request);
  const Sight sight = sight_through(shape, mask);
  const std::uint64_t q_bytes = request.q_is_bfloat ? minimum::kBfloat : minimum::kFloat;
  const std::uint64_t read =
      sight.query_rows * shape.head_dim * q_bytes + 2 * sight.key_rows * shape.head_dim * minimum::kBfloat + mask.size() * minimum::kHalf;
  return minimum::of(read, shape.batches * shape.heads * shape.queries * shape.head_dim * minimum::kBfloat,
                     sight.pairs * (4 * shape.head_dim + 3 + (mask.empty() ? 0 : 1)));
}

// The largest index of a key that any query sees; -1 if there is none. Empty for masks from files.
std::optional<std::int64_t> last_seen(const Case& test_case, bool is_on_file) {
  if (is_on_file) return std::nullopt;
  const fixtures::DenseRequest request = dense_request(test_case);
  const auto kv_len = static_cast<std::int64_t>(request.shape.kv_len);
  if (request.mask == fixtures::DenseMask::none) return kv_len - 1;
  const std::vector<std::uint16_t> mask = fixtures::dense_mask(request);
  std::int64_t last = -1;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (oracles::half_value(mask[i]) > oracles::kInvisibleMask) last = std::max(last, static_cast<std::int64_t>(i) % kv_len);
  }
  return last;
}

// The largest number of keys that any query sees. Empty for masks from files.
std::optional<std::int64_t> most_seen(const Case& test_case, bool is_on_file) {
  const fixtures::DenseRequest request = dense_request(test_case);
  const auto kv_len = static_cast<std::int64_t>(request.shape.kv_len);
  if (request.mask == fixtures::DenseMask::none) return kv_len;
  if (is_on_file) return std::nullopt;
  const std::vector<std::uint16_t> mask = fixtures::dense_mask(request);
  std::int64_t most = 0;
  for (auto row = mask.begin(); row != mask.end(); row += kv_len) {
    most = std::max(most, static_cast<std::int64_t>(std::count_if(
                              row, row + kv_len, [](std::uint16_t bits) { return oracles::half_value(bits) > oracles::kInvisibleMask; })));
  }
  return most;
}

// The number of mask rows (one, without a mask) for which two simdgroups whose outputs are merged both see only -infinity. NSG
// simdgroups process the chunks of 32 keys in turn; g is merged with g + r for r = NSG / 2, NSG / 4, ..., 1.
std::optional<std::int64_t> idle_pairs(const Case& test_case, bool is_on_file) {
  constexpr std::size_t kChunk = 32;
  const auto nsg = static_cast<std::size_t>(test_case.at("nsg"));
  const fixtures::DenseRequest request = dense_request(test_case);
  const std::size_t kv_len = request.shape.kv_len;
  const auto is_idle = [&](const auto& sees) {
    std::vector<bool> meets(nsg);
    for (std::size_t key = 0; key < kv_len; ++key) {
      if (sees(key)) meets[key / kChunk % nsg] = true;
    }
    for (std::size_t r = nsg / 2; r > 0; r /= 2) {
      for (std::size_t g = 0; g < r; ++g) {
        if (!meets[g] && !meets[g + r]) return true;
        meets[g] = true;
      }
    }
    return false;
  };
  const std::int64_t without_mask = is_idle([](std::size_t) { return true; }) ? 1 : 0;
  if (request.mask == fixtures::DenseMask::none) return without_mask;
  // The contents of a mask from a file are unknown, but it can only hide keys.
  if (is_on_file) return without_mask == 0 ? std::nullopt : std::optional(without_mask);
  const std::vector<std::uint16_t> mask = fixtures::dense_mask(request);
  std::int64_t rows = 0;
  for (std::size_t first = 0; first < mask.size(); first += kv_len) {
    if (is_idle([&](std::size_t key) { return !std::isinf(oracles::half_value(mask[first + key])); })) ++rows;
  }
  return rows;
}

}  // namespace assay::families
