// The inputs of family `dequantize`: requests from its axes, its fixture files, and the minimum cost of a case.
#include "families/dequantize/inputs.h"

#include <vector>

#include "base/code_bytes.h"
#include "families/shared/scales.h"
#include "fixtures/generators.h"
#include "fixtures/layout.h"
#include "oracles/dequantize.h"

namespace assay::families {

fixtures::DequantizeRequest dequantize_request(const Case& about) {
  return {.kv_heads = about.size("num_kv_heads"),
          .head_dim = about.size("head_dim"),
          .kv_capacity = about.size("cache_capacity"),
          .position = about.size("read_pos"),
          .bits = static_cast<int>(about.at("bits")),
          .scale_factor_d512 = scale_factor_d512(about),
          .seed = about.seed};
}

DequantizeParameters dequantize_parameters(const Case& about) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(about.at(axis)); };
  return {.head_dim = value("head_dim"),
          .num_kv_heads = value("num_kv_heads"),
          .read_pos = value("read_pos"),
          .cache_capacity = value("cache_capacity"),
          .scale_factor_d512 = scale_factor_d512(about),
          .codebook_bits = value("bits")};
}

fixtures::DequantizeInputs dequantize_inputs(const Case& about, const Source& source) {
  const fixtures::DequantizeRequest request = dequantize_request(about);
  return source.is_file() ? fixtures::dequantize_inputs(source.file, request, source.tensors) : source.generator->dequantize(request);
}

FileRules dequantize_files() {
  return {.inputs = [](const Case& about) { return fixtures::dequantize_layout(dequantize_request(about)); },
          .output_shape = [](const Case& about) -> std::vector<std::uint64_t> {
            const fixtures::DequantizeRequest request = dequantize_request(about);
            return {request.kv_heads, request.head_dim};
          },
          .generate =
              [](const Case& about, const fixtures::Fixture& fixture) {
                const fixtures::DequantizeRequest request = dequantize_request(about);
                return fixtures::dequantize_tensors(request, fixture.dequantize(request));
              },
          .expect =
              [](const Case& about, const Source& source) {
                const fixtures::DequantizeRequest request = dequantize_request(about);
                const fixtures::DequantizeInputs inputs = dequantize_inputs(about, source);
                return oracles::dequantize(request.shape(), request.bits, request.scale_factor_d512, inputs.codes, inputs.norms);
              }};
}

Minimum dequantize_minimum(const Case& about, const Source&) {
  const std::uint64_t heads = about.size("num_kv_heads");
  const std::uint64_t head_dim = about.size("head_dim");
  const std::uint64_t norms = head_dim / minimum::kBlock;
  return minimum::of(heads * (base::code_bytes(about.size("bits"), head_dim) + minimum::kFloat * norms), heads * minimum::kFloat * head_dim,
                     heads * (head_dim + norms));
}

}  // namespace assay::families
