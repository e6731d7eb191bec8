#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/run/case_data.h"
#include "harness/run/executors.h"
#include "harness/run/guarded_buffer.h"
#include "kernels/launch/dequantize.h"
#include "oracles/dequantize.h"

namespace assay::harness {
namespace {

kernels::DequantizeParameters parameters_of(const Case& about) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(about.at(axis)); };
  return {.head_dim = value("head_dim"),
          .num_kv_heads = value("num_kv_heads"),
          .read_pos = value("read_pos"),
          .cache_capacity = value("cache_capacity"),
          .scale_factor_d512 = scale_factor_d512(about),
          .codebook_bits = value("bits")};
}

}  // namespace

void validate_dequantize(const Case& about) { kernels::validate(parameters_of(about)); }

// All threads of a head are independent of each other, and yet several simdgroups take turns.
std::int64_t simdgroups_of_dequantize(const Case& about) { return about.at("head_dim") / 32; }

void execute_dequantize(Execution& execution) {
  Verdict& verdict = execution.verdict;
  kernels::DequantizeParameters parameters = parameters_of(execution.about);
  parameters.offset_bits = execution.prepared.variant.offset_bits;

  const CaseData<fixtures::DequantizeInputs> source = dequantize_data(execution.about, execution.shelf);
  const fixtures::DequantizeInputs& inputs = source.inputs;
  const fixtures::DequantizeRequest request = dequantize_request(execution.about);
  oracles::Expected expected;
  verdict.oracle_seconds =
      timed([&] { expected = oracles::dequantize(request.shape(), request.bits, request.scale_factor_d512, inputs.codes, inputs.norms); });

  const auto packed = metal::Buffer::of(std::span<const std::uint8_t>(inputs.codes), "packed");
  const auto norms = metal::Buffer::of(std::span<const float>(inputs.norms), "norms");
  GuardedBuffer dst(expected.size(), "dst");
  verdict.simulator_seconds = timed(
      [&] { kernels::encode_dequantize(execution.simulator, execution.kernel, parameters, {{packed.get()}, {norms.get()}, dst.view()}); });

  verdict.row_length = parameters.head_dim;
  const auto judge_by = [&](const oracles::Expected& by) { return judge(dst.values(), by, dst.guards(), execution.judging); };
  verdict.judgement = judge_by(expected);
  if (source.stored) judge_by_stored(verdict, *source.stored, expected, judge_by);
  add_to_digest(verdict.digest, dst.bytes());
  execution.output.assign(dst.values().begin(), dst.values().end());
  check_unchanged(verdict, "packed", *packed, std::as_bytes(std::span(inputs.codes)));
  check_unchanged(verdict, "norms", *norms, std::as_bytes(std::span(inputs.norms)));
}

}  // namespace assay::harness
