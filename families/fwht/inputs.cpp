// The inputs of family `fwht`: requests from its axes, its fixture files, and the minimum cost of a case.
#include "families/fwht/inputs.h"

#include <vector>

#include "fixtures/generators.h"
#include "fixtures/layout.h"
#include "oracles/fwht.h"

namespace assay::families {

fixtures::FwhtRequest fwht_request(const Case& test_case) {
  return {test_case.size("num_heads"), test_case.size("head_dim"), test_case.seed};
}

FwhtParameters fwht_parameters(const Case& test_case) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(test_case.at(axis)); };
  return {.head_dim = value("head_dim"), .num_heads = value("num_heads")};
}

oracles::FwhtMode fwht_mode(const Case& test_case) {
  switch (test_case.at("mode")) {
    case 1:
      return oracles::FwhtMode::signs_first;
    case 2:
      return oracles::FwhtMode::signs_last;
    default:
      return oracles::FwhtMode::plain;
  }
}

std::vector<float> fwht_inputs(const Case& test_case, const Source& source) {
  const fixtures::FwhtRequest request = fwht_request(test_case);
  return source.is_file() ? fixtures::fwht_inputs(source.file, request, source.tensors) : source.generator->fwht(request);
}

FileRules fwht_files() {
  return {.inputs = [](const Case& test_case) { return fixtures::fwht_layout(fwht_request(test_case)); },
          .output_shape = [](const Case& test_case) -> std::vector<std::uint64_t> {
            const fixtures::FwhtRequest request = fwht_request(test_case);
            return {request.heads, request.head_dim};
          },
          .generate =
              [](const Case& test_case, const fixtures::Fixture& fixture) {
                const fixtures::FwhtRequest request = fwht_request(test_case);
                return fixtures::fwht_tensors(request, fixture.fwht(request));
              },
          .expect =
              [](const Case& test_case, const Source& source) {
                return oracles::fwht(fwht_inputs(test_case, source), fwht_request(test_case).head_dim, fwht_mode(test_case));
              }};
}

Minimum fwht_minimum(const Case& test_case, const Source&) {
  const std::uint64_t heads = test_case.size("num_heads");
  const std::uint64_t bytes = minimum::kFloat * heads * test_case.size("head_dim");
  return {bytes, bytes, bytes, heads * minimum::rotation_flops(test_case.size("head_dim"))};
}

}  // namespace assay::families
