#include <cstddef>
#include <cstdint>
#include <span>

#include "families/dequantize/inputs.h"
#include "harness/run/cache_buffer.h"
#include "harness/run/case_data.h"
#include "harness/run/executors.h"
#include "harness/run/guarded_buffer.h"
#include "oracles/dequantize.h"

namespace assay::harness {
void execute_dequantize(Execution& execution) {
  Verdict& verdict = execution.verdict;
  families::DequantizeParameters parameters = families::dequantize_parameters(execution.about);
  parameters.offset_bits = execution.prepared.variant.offset_bits;

  const CaseData<fixtures::DequantizeInputs>& source =
      execution.kept.once([&] { return data_of(execution.about, execution.shelf, families::dequantize_inputs); });
  const fixtures::DequantizeInputs& inputs = source.inputs;
  const fixtures::DequantizeRequest request = families::dequantize_request(execution.about);

  const auto layout_of = [&](std::size_t bytes) -> CacheLayout {
    const std::size_t of_head = bytes / request.kv_heads;
    return {request.kv_heads, of_head, of_head / request.kv_capacity * inputs.filled_slots};
  };
  const std::span<const std::byte> codes_bytes = std::as_bytes(std::span(inputs.codes));
  const std::span<const std::byte> norms_bytes = std::as_bytes(std::span(inputs.norms));
  const CacheLayout codes_layout = layout_of(codes_bytes.size());
  const CacheLayout norms_layout = layout_of(norms_bytes.size());
  const auto packed = make_cache_buffer(codes_bytes, codes_layout, "packed");
  const auto norms = make_cache_buffer(norms_bytes, norms_layout, "norms");
  GuardedBuffer dst(std::size_t{parameters.num_kv_heads} * parameters.head_dim, "dst");
  const auto encode = [&](metal::ComputeEncoder& encoder) {
    families::encode_dequantize(encoder, execution.kernel, parameters, {{packed.get()}, {norms.get()}, dst.view()});
  };
  if (!execution.launch(encode)) return;

  const oracles::Expected& expected = expected_of(
      execution, [&] { return oracles::dequantize(request.shape(), request.bits, request.scale_factor_d512, inputs.codes, inputs.norms); });
  verdict.row_length = parameters.head_dim;
  const auto judge_by = [&](const oracles::Expected& by) { return judge(dst.values(), by, dst.guards(), execution.judging); };
  verdict.judgement = judge_by(expected);
  keep_shadowed(execution, dst.view(), dst.values(), expected);
  if (source.stored) judge_by_stored(verdict, *source.stored, expected, judge_by);
  add_to_digest(verdict.digest, dst.bytes());
  execution.output.assign(dst.values().begin(), dst.values().end());
  note_change(verdict, "packed", holds_still(*packed, codes_bytes, codes_layout));
  note_change(verdict, "norms", holds_still(*norms, norms_bytes, norms_layout));
}

}  // namespace assay::harness
