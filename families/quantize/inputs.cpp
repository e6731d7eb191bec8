// The inputs of family `quantize`: requests from its axes, its fixture files, and the minimum cost of a case.
#include "families/quantize/inputs.h"

#include <vector>

#include "base/code_bytes.h"
#include "families/shared/scales.h"
#include "fixtures/generators.h"
#include "fixtures/layout.h"
#include "oracles/quantize.h"

namespace assay::families {

fixtures::QuantizeRequest quantize_request(const Case& test_case) {
  return {.kv_heads = test_case.size("num_kv_heads"),
          .head_dim = test_case.size("head_dim"),
          .bits = static_cast<int>(test_case.at("bits")),
          .scale_factor_d512 = scale_factor_d512(test_case),
          .seed = test_case.seed};
}

QuantizeParameters quantize_parameters(const Case& test_case) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(test_case.at(axis)); };
  return {.head_dim = value("head_dim"),
          .num_kv_heads = value("num_kv_heads"),
          .write_pos = value("write_pos"),
          .cache_capacity = value("cache_capacity"),
          .is_sliding = test_case.at("is_sliding") != 0,
          .scale_factor_d512 = scale_factor_d512(test_case),
          .codebook_bits = value("bits"),
          .rms_probe_enabled = test_case.at("rms_probe") != 0,
          .is_beyond = !test_case.beyond.empty()};
}

QuantizedRows quantized_rows(const Case& test_case) { return {test_case.size("head_dim"), test_case.at("rms_probe") != 0}; }

std::vector<float> quantize_inputs(const Case& test_case, const Source& source) {
  const fixtures::QuantizeRequest request = quantize_request(test_case);
  return source.is_file() ? fixtures::quantize_inputs(source.file, request, source.tensors) : source.generator->quantize(request);
}

FileRules quantize_files() {
  return {.inputs = [](const Case& test_case) { return fixtures::quantize_layout(quantize_request(test_case)); },
          .output_shape = [](const Case& test_case) -> std::vector<std::uint64_t> {
            return {quantize_request(test_case).kv_heads, quantized_rows(test_case).length()};
          },
          .generate =
              [](const Case& test_case, const fixtures::Fixture& fixture) {
                const fixtures::QuantizeRequest request = quantize_request(test_case);
                return fixtures::quantize_tensors(request, fixture.quantize(request));
              },
          .expect =
              [](const Case& test_case, const Source& source) {
                const fixtures::QuantizeRequest request = quantize_request(test_case);
                return expected_rows(quantized_rows(test_case), oracles::quantize(request.shape(), quantize_inputs(test_case, source)),
                                     request.bits);
              }};
}

Minimum quantize_minimum(const Case& test_case, const Source&) {
  const std::uint64_t heads = test_case.size("num_kv_heads");
  const std::uint64_t head_dim = test_case.size("head_dim");
  const std::uint64_t norms = head_dim / minimum::kBlock;
  const std::uint64_t row = minimum::kFloat * head_dim;
  const std::uint64_t written = base::code_bytes(test_case.size("bits"), head_dim) + minimum::kFloat * norms +
                                (test_case.at("rms_probe") != 0 ? row : std::uint64_t{0});
  return minimum::of(heads * row, heads * written, heads * (minimum::rotation_flops(head_dim) + 3 * head_dim + norms));
}

}  // namespace assay::families
