// The common part of the jobs of bf16_prefill and bf16_vec: strided inputs, a bfloat output, and its expectation.
#include "families/shared/dense_job.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "families/shared/attention_accuracy.h"
#include "families/shared/dense_inputs.h"
#include "families/shared/strided_rows.h"
#include "oracles/dense_attention.h"

namespace assay::families {
namespace {

std::vector<std::uint16_t> bfloats(std::span<const float> values) {
  std::vector<std::uint16_t> bits;
  bits.reserve(values.size());
  for (const float value : values) bits.push_back(fixtures::bfloat_bits(static_cast<double>(value)));
  return bits;
}

// Whether the mask hides every key from every query. The expected output then consists of zeros only.
bool hides_everything(const std::vector<std::uint16_t>& mask) {
  return std::ranges::none_of(mask, [](auto bits) { return oracles::half_value(bits) > oracles::kInvisibleMask; });
}

// Every n-th batch, from the first on.
std::vector<std::uint16_t> every_batch(std::span<const std::uint16_t> rows, std::size_t batches, std::size_t n) {
  const std::size_t size = rows.size() / batches;
  std::vector<std::uint16_t> kept;
  for (std::size_t batch = 0; batch < batches; batch += n) {
    const auto one = rows.subspan(batch * size, size);
    kept.insert(kept.end(), one.begin(), one.end());
  }
  return kept;
}

struct DenseData {
  fixtures::DenseInputs inputs;
  std::vector<std::uint16_t> q_bits;  // the queries as bfloat, for kernels that read bfloat
  std::vector<std::uint16_t> k, v;    // one batch of those that share it, if several do
};

// What a kernel may read of the inputs, which can have room behind that.
void state_needed_bytes(DenseJob& made, const Bf16Parameters& p) {
  const std::size_t q_row_bytes = kBf16HeadDim * metal::size_of(p.q_element);
  made.job.buffers[made.buffers.q].needed = bytes_needed(p.q, q_row_bytes, p.queries, p.n_heads, p.batches);
  made.job.buffers[made.buffers.k].needed = bytes_needed(p.k, kBf16RowBytes, p.kv_len, p.n_kv_heads, p.key_batches());
  made.job.buffers[made.buffers.v].needed = bytes_needed(p.v, kBf16RowBytes, p.kv_len, p.n_kv_heads, p.key_batches());
  if (made.buffers.mask)
    made.job.buffers[*made.buffers.mask].needed =
        bytes_needed(p.mask, 2 * std::uint64_t{p.kv_len}, p.queries, p.mask_heads, p.mask_batches);
}

}  // namespace

DenseJob dense_job(const JobRequest& request, const Bf16Parameters& p, std::int64_t nsg) {
  const fixtures::DenseRequest shape = dense_request(request.test_case);
  auto data = std::make_shared<DenseData>();
  data->inputs = dense_inputs(request.test_case, request.source);
  if (shape.q_is_bfloat) data->q_bits = bfloats(data->inputs.q);
  const std::shared_ptr<const fixtures::DenseInputs> inputs(data, &data->inputs);

  DenseJob made{.job = {.inputs = data, .row_length = shape.shape.head_dim}, .buffers = {}, .request = shape, .inputs = inputs};
  Job& job = made.job;
  const auto q_bytes = shape.q_is_bfloat ? std::as_bytes(std::span(data->q_bits)) : std::as_bytes(std::span(inputs->q));
  made.buffers.q = job.add(strided_buffer("q", q_bytes,
                                          {.batches = p.batches,
                                           .heads = p.n_heads,
                                           .rows = p.queries,
                                           .row_bytes = kBf16HeadDim * metal::size_of(p.q_element),
                                           .strides = p.q,
                                           .is_sparse = p.is_far}));
  // The data includes rows behind the last key, unless the room is too large for that.
  const std::size_t rows_behind = p.kv_len + request.test_case.size("kv_room") - shape.shape.head_rows;
  const bool is_far = p.is_far && request.test_case.at("kv_layout") == kTokensOfHeads;
  const auto add_cache = [&](std::string_view argument, const auto& values, const RowStrides& strides) {
    return job.add(strided_buffer(argument, std::as_bytes(std::span(values)),
                                  {.batches = p.key_batches(),
                                   .heads = p.n_kv_heads,
                                   .rows = shape.shape.head_rows,
                                   .row_bytes = kBf16RowBytes,
                                   .strides = strides,
                                   .rows_behind = rows_behind,
                                   .is_sparse = rows_behind != 0 || is_far}));
  };
  if (const std::size_t shared = p.batches / p.key_batches(); shared > 1) {
    data->k = every_batch(data->inputs.k, p.batches, shared);
    data->v = every_batch(data->inputs.v, p.batches, shared);
    made.buffers.k = add_cache("k", data->k, p.k);
    made.buffers.v = add_cache("v", data->v, p.v);
  } else {
    made.buffers.k = add_cache("k", inputs->k, p.k);
    made.buffers.v = add_cache("v", inputs->v, p.v);
  }
  if (p.has_mask()) {
    made.buffers.mask = job.add(strided_buffer("mask", std::as_bytes(std::span(inputs->mask)),
                                               {.batches = p.mask_batches,
                                                .heads = p.mask_heads,
                                                .rows = p.queries,
                                                .row_bytes = 2 * std::size_t{p.kv_len},
                                                .strides = p.mask,
                                                .is_sparse = p.is_far}));
    job.constant_is_expected = hides_everything(inputs->mask);
  }
  state_needed_bytes(made, p);
  JobBuffer dst = output_buffer("dst", std::size_t{p.batches} * p.n_heads * p.queries * kBf16RowBytes);
  dst.element = metal::ScalarType::bfloat16;
  made.buffers.dst = job.add(std::move(dst));

  job.judged = {made.buffers.dst};
  const oracles::AttentionAccuracy accuracy = attention_accuracy(request.variant.accuracy, oracles::bfloat_format(), nsg, request.profile);
  job.expect = [=] { return oracles::dense_attention(shape.shape, inputs->tensors(), accuracy); };
  job.expect_exact = [=] { return oracles::dense_attention(shape.shape, inputs->tensors(), without_conversions(accuracy)); };
  job.expectation_may_be_kept = true;
  job.informative_ratio = informative_ratio(accuracy);
  job.declared_loss = declared_loss(accuracy);
  job.output_spacing = accuracy.output.smallest_subnormal;
  return made;
}

}  // namespace assay::families
