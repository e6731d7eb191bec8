// The inputs of family `reduce`: requests from its axes, its fixture files, and the minimum cost of a case.
#include "families/reduce/inputs.h"

#include <vector>

#include "fixtures/generators.h"
#include "fixtures/layout.h"
#include "oracles/reduce.h"

namespace assay::families {

fixtures::ReduceRequest reduce_request(const Case& test_case) {
  return {{test_case.size("nrows"), test_case.size("head_dim"), test_case.size("nwg")}, test_case.seed};
}

ReduceParameters reduce_parameters(const Case& test_case) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(test_case.at(axis)); };
  return {.nrows = value("nrows"), .head_dim = value("head_dim"), .nwg = value("nwg")};
}

std::vector<float> reduce_inputs(const Case& test_case, const Source& source) {
  const fixtures::ReduceRequest request = reduce_request(test_case);
  return source.is_file() ? fixtures::reduce_inputs(source.file, request, source.tensors) : source.generator->reduce(request);
}

FileRules reduce_files() {
  return {
      .inputs = [](const Case& test_case) { return fixtures::reduce_layout(reduce_request(test_case)); },
      .output_shape = [](const Case& test_case) -> std::vector<std::uint64_t> {
        const oracles::PartialsShape shape = reduce_request(test_case).shape;
        return {shape.rows, shape.head_dim};
      },
      .generate =
          [](const Case& test_case, const fixtures::Fixture& fixture) {
            const fixtures::ReduceRequest request = reduce_request(test_case);
            return fixtures::reduce_tensors(request, fixture.reduce(request));
          },
      .expect = [](const Case& test_case,
                   const Source& source) { return oracles::reduce(reduce_request(test_case).shape, reduce_inputs(test_case, source)); }};
}

Minimum reduce_minimum(const Case& test_case, const Source&) {
  const std::uint64_t rows = test_case.size("nrows");
  const std::uint64_t nwg = test_case.size("nwg");
  const std::uint64_t head_dim = test_case.size("head_dim");
  return minimum::of(minimum::kFloat * rows * nwg * (head_dim + 2), minimum::kFloat * rows * head_dim, rows * nwg * (2 * head_dim + 4));
}

}  // namespace assay::families
