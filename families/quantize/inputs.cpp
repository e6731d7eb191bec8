// The inputs of family `quantize`: requests from its axes, its fixture files, and the minimum cost of a case.
#include "families/quantize/inputs.h"

#include <vector>

#include "base/code_bytes.h"
#include "families/shared/scales.h"
#include "fixtures/generators.h"
#include "fixtures/layout.h"
#include "oracles/quantize.h"

namespace assay::families {

fixtures::QuantizeRequest quantize_request(const Case& about) {
  return {.kv_heads = about.size("num_kv_heads"),
          .head_dim = about.size("head_dim"),
          .bits = static_cast<int>(about.at("bits")),
          .scale_factor_d512 = scale_factor_d512(about),
          .seed = about.seed};
}

QuantizeParameters quantize_parameters(const Case& about) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(about.at(axis)); };
  return {.head_dim = value("head_dim"),
          .num_kv_heads = value("num_kv_heads"),
          .write_pos = value("write_pos"),
          .cache_capacity = value("cache_capacity"),
          .is_sliding = about.at("is_sliding") != 0,
          .scale_factor_d512 = scale_factor_d512(about),
          .codebook_bits = value("bits"),
          .rms_probe_enabled = about.at("rms_probe") != 0};
}

QuantizedRows quantized_rows(const Case& about) { return {about.size("head_dim"), about.at("rms_probe") != 0}; }

std::vector<float> quantize_inputs(const Case& about, const Source& source) {
  const fixtures::QuantizeRequest request = quantize_request(about);
  return source.is_file() ? fixtures::quantize_inputs(source.file, request, source.tensors) : source.generator->quantize(request);
}

FileRules quantize_files() {
  return {.inputs = [](const Case& about) { return fixtures::quantize_layout(quantize_request(about)); },
          .output_shape = [](const Case& about) -> std::vector<std::uint64_t> {
            return {quantize_request(about).kv_heads, quantized_rows(about).length()};
          },
          .generate =
              [](const Case& about, const fixtures::Fixture& fixture) {
                const fixtures::QuantizeRequest request = quantize_request(about);
                return fixtures::quantize_tensors(request, fixture.quantize(request));
              },
          .expect =
              [](const Case& about, const Source& source) {
                const fixtures::QuantizeRequest request = quantize_request(about);
                return expected_rows(quantized_rows(about), oracles::quantize(request.shape(), quantize_inputs(about, source)),
                                     request.bits);
              }};
}

Minimum quantize_minimum(const Case& about, const Source&) {
  const std::uint64_t heads = about.size("num_kv_heads");
  const std::uint64_t head_dim = about.size("head_dim");
  const std::uint64_t norms = head_dim / minimum::kBlock;
  const std::uint64_t row = minimum::kFloat * head_dim;
  const std::uint64_t written =
      base::code_bytes(about.size("bits"), head_dim) + minimum::kFloat * norms + (about.at("rms_probe") != 0 ? row : std::uint64_t{0});
  return minimum::of(heads * row, heads * written, heads * (minimum::rotation_flops(head_dim) + 3 * head_dim + norms));
}

}  // namespace assay::families
