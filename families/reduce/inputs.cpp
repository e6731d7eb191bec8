// The inputs of family `reduce`: requests from its axes, its fixture files, and the minimum cost of a case.
#include "families/reduce/inputs.h"

#include <vector>

#include "fixtures/generators.h"
#include "fixtures/layout.h"
#include "oracles/reduce.h"

namespace assay::families {

fixtures::ReduceRequest reduce_request(const Case& about) {
  return {{about.size("nrows"), about.size("head_dim"), about.size("nwg")}, about.seed};
}

ReduceParameters reduce_parameters(const Case& about) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(about.at(axis)); };
  return {.nrows = value("nrows"), .head_dim = value("head_dim"), .nwg = value("nwg")};
}

std::vector<float> reduce_inputs(const Case& about, const Source& source) {
  const fixtures::ReduceRequest request = reduce_request(about);
  return source.is_file() ? fixtures::reduce_inputs(source.file, request, source.tensors) : source.generator->reduce(request);
}

FileRules reduce_files() {
  return {.inputs = [](const Case& about) { return fixtures::reduce_layout(reduce_request(about)); },
          .output_shape = [](const Case& about) -> std::vector<std::uint64_t> {
            const oracles::PartialsShape shape = reduce_request(about).shape;
            return {shape.rows, shape.head_dim};
          },
          .generate =
              [](const Case& about, const fixtures::Fixture& fixture) {
                const fixtures::ReduceRequest request = reduce_request(about);
                return fixtures::reduce_tensors(request, fixture.reduce(request));
              },
          .expect = [](const Case& about,
                       const Source& source) { return oracles::reduce(reduce_request(about).shape, reduce_inputs(about, source)); }};
}

Minimum reduce_minimum(const Case& about, const Source&) {
  const std::uint64_t rows = about.size("nrows");
  const std::uint64_t nwg = about.size("nwg");
  const std::uint64_t head_dim = about.size("head_dim");
  return minimum::of(minimum::kFloat * rows * nwg * (head_dim + 2), minimum::kFloat * rows * head_dim, rows * nwg * (2 * head_dim + 4));
}

}  // namespace assay::families
