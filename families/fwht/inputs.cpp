// The inputs of family `fwht`: requests from its axes, its fixture files, and the minimum cost of a case.
#include "families/fwht/inputs.h"

#include <vector>

#include "fixtures/generators.h"
#include "fixtures/layout.h"
#include "oracles/fwht.h"

namespace assay::families {

fixtures::FwhtRequest fwht_request(const Case& about) { return {about.size("num_heads"), about.size("head_dim"), about.seed}; }

FwhtParameters fwht_parameters(const Case& about) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(about.at(axis)); };
  return {.head_dim = value("head_dim"), .num_heads = value("num_heads")};
}

oracles::FwhtMode fwht_mode(const Case& about) {
  switch (about.at("mode")) {
    case 1:
      return oracles::FwhtMode::signs_first;
    case 2:
      return oracles::FwhtMode::signs_last;
    default:
      return oracles::FwhtMode::plain;
  }
}

std::vector<float> fwht_inputs(const Case& about, const Source& source) {
  const fixtures::FwhtRequest request = fwht_request(about);
  return source.is_file() ? fixtures::fwht_inputs(source.file, request, source.tensors) : source.generator->fwht(request);
}

FileRules fwht_files() {
  return {.inputs = [](const Case& about) { return fixtures::fwht_layout(fwht_request(about)); },
          .output_shape = [](const Case& about) -> std::vector<std::uint64_t> {
            const fixtures::FwhtRequest request = fwht_request(about);
            return {request.heads, request.head_dim};
          },
          .generate =
              [](const Case& about, const fixtures::Fixture& fixture) {
                const fixtures::FwhtRequest request = fwht_request(about);
                return fixtures::fwht_tensors(request, fixture.fwht(request));
              },
          .expect =
              [](const Case& about, const Source& source) {
                return oracles::fwht(fwht_inputs(about, source), fwht_request(about).head_dim, fwht_mode(about));
              }};
}

Minimum fwht_minimum(const Case& about, const Source&) {
  const std::uint64_t heads = about.size("num_heads");
  const std::uint64_t bytes = minimum::kFloat * heads * about.size("head_dim");
  return {bytes, bytes, bytes, heads * minimum::rotation_flops(about.size("head_dim"))};
}

}  // namespace assay::families
