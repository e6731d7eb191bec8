// Builds the matrix kernel, its inputs and its exact result.
#include "tests/bench/matrix_setup.h"

#include <array>
#include <cstddef>

namespace assay::tests {
namespace {

constexpr std::size_t kSide = 8;
constexpr const char* kMatrixFunction = "accumulate_products";
constexpr const char* kSource = R"(
#include <metal_stdlib>
using namespace metal;

kernel void accumulate_products(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                                device float* out [[buffer(2)]], constant uint& count [[buffer(3)]],
                                uint threadgroup_index [[threadgroup_position_in_grid]],
                                uint simdgroup_index [[simdgroup_index_in_threadgroup]],
                                uint simdgroups [[simdgroups_per_threadgroup]]) {
  simdgroup_float8x8 left, right;
  simdgroup_load(left, a, 8);
  simdgroup_load(right, b, 8);
  simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  for (uint i = 0; i < count; ++i) simdgroup_multiply_accumulate(sum, left, right, sum);
  simdgroup_store(sum, out + 64 * (threadgroup_index * simdgroups + simdgroup_index), 8);
}
)";

// -3 .. 3 without symmetry: a transposed or permuted product shows.
int left(std::size_t row, std::size_t column) { return static_cast<int>((row * 5 + column * 3 + row * column) % 7) - 3; }
int right(std::size_t row, std::size_t column) { return static_cast<int>((row * 2 + column * 6 + row * row) % 7) - 3; }

std::unique_ptr<metal::Buffer> filled(int (*element)(std::size_t, std::size_t), const char* label) {
  std::array<float, kSide * kSide> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(element(i / kSide, i % kSide));
  return metal::Buffer::of(std::span<const float>(values), label);
}

}  // namespace

MatrixSetup::MatrixSetup(std::uint32_t threadgroups, std::uint32_t simdgroups_per_threadgroup, std::uint32_t multiplies_per_simdgroup)
    : threadgroups_(threadgroups),
      simdgroups_per_threadgroup_(simdgroups_per_threadgroup),
      multiplies_per_simdgroup_(multiplies_per_simdgroup),
      library_(metal::Library::from_source(kSource, "accumulate_products.metal")),
      a_(filled(left, "a")),
      b_(filled(right, "b")),
      out_(std::make_unique<metal::Buffer>(std::size_t{threadgroups} * simdgroups_per_threadgroup * kSide * kSide * sizeof(float), "out")) {
  static_cast<void>(library_->pipeline({kMatrixFunction, {}}));
}

void MatrixSetup::run() {
  metal::SimulatorOptions options;
  options.threads = 1;
  metal::Simulator simulator({library_}, options);
  simulator.set_pipeline({kMatrixFunction, {}});
  simulator.set_buffer(0, {a_.get()});
  simulator.set_buffer(1, {b_.get()});
  simulator.set_buffer(2, {out_.get()});
  simulator.set_bytes(3, std::as_bytes(std::span(&multiplies_per_simdgroup_, 1)));
  simulator.dispatch_threadgroups({threadgroups_, 1, 1}, {32 * simdgroups_per_threadgroup_, 1, 1});
  hazards_ = simulator.hazards();
  counters_ = simulator.counters();
}

std::vector<float> MatrixSetup::expected() const {
  std::vector<float> values;
  for (std::uint32_t simdgroup = 0; simdgroup < threadgroups_ * simdgroups_per_threadgroup_; ++simdgroup) {
    for (std::size_t i = 0; i < kSide * kSide; ++i) {
      std::int64_t product = 0;
      for (std::size_t k = 0; k < kSide; ++k) product += std::int64_t{left(i / kSide, k)} * right(k, i % kSide);
      values.push_back(static_cast<float>(product * multiplies_per_simdgroup_));
    }
  }
  return values;
}

}  // namespace assay::tests
