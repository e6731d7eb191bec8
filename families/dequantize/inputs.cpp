// The inputs of family `dequantize`: requests from its axes, its fixture files, and the minimum cost of a case.
#include "families/dequantize/inputs.h"

#include <vector>

#include "base/code_bytes.h"
#include "families/shared/scales.h"
#include "fixtures/generators.h"
#include "fixtures/layout.h"
#include "oracles/dequantize.h"

namespace assay::families {

fixtures::DequantizeRequest dequantize_request(const Case& test_case) {
  return {.kv_heads = test_case.size("num_kv_heads"),
          .head_dim = test_case.size("head_dim"),
          .kv_capacity = test_case.size("cache_capacity"),
          .position = test_case.size("read_pos"),
          .bits = static_cast<int>(test_case.at("bits")),
          .scale_factor_d512 = scale_factor_d512(test_case),
          .seed = test_case.seed};
}

DequantizeParameters dequantize_parameters(const Case& test_case) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(test_case.at(axis)); };
  return {.head_dim = value("head_dim"),
          .num_kv_heads = value("num_kv_heads"),
          .read_pos = value("read_pos"),
          .cache_capacity = value("cache_capacity"),
          .scale_factor_d512 = scale_factor_d512(test_case),
          .codebook_bits = value("bits")};
}

fixtures::DequantizeInputs dequantize_inputs(const Case& test_case, const Source& source) {
  const fixtures::DequantizeRequest request = dequantize_request(test_case);
  return source.is_file() ? fixtures::dequantize_inputs(source.file, request, source.tensors) : source.generator->dequantize(request);
}

FileRules dequantize_files() {
  return {.inputs = [](const Case& test_case) { return fixtures::dequantize_layout(dequantize_request(test_case)); },
          .output_shape = [](const Case& test_case) -> std::vector<std::uint64_t> {
            const fixtures::DequantizeRequest request = dequantize_request(test_case);
            return {request.kv_heads, request.head_dim};
          },
          .generate =
              [](const Case& test_case, const fixtures::Fixture& fixture) {
                const fixtures::DequantizeRequest request = dequantize_request(test_case);
                return fixtures::dequantize_tensors(request, fixture.dequantize(request));
              },
          .expect =
              [](const Case& test_case, const Source& source) {
                const fixtures::DequantizeRequest request = dequantize_request(test_case);
                const fixtures::DequantizeInputs inputs = dequantize_inputs(test_case, source);
                return oracles::dequantize(request.shape(), request.bits, request.scale_factor_d512, inputs.codes, inputs.norms);
              }};
}

Minimum dequantize_minimum(const Case& test_case, const Source&) {
  const std::uint64_t heads = test_case.size("num_kv_heads");
  const std::uint64_t head_dim = test_case.size("head_dim");
  const std::uint64_t norms = head_dim / minimum::kBlock;
  return minimum::of(heads * (base::code_bytes(test_case.size("bits"), head_dim) + minimum::kFloat * norms),
                     heads * minimum::kFloat * head_dim, heads * (head_dim + norms));
}

}  // namespace assay::families
