// What this processor could do: the limit to which docs/PERFORMANCE.md compares the reference case. Compiled for this processor alone.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>

namespace assay::tests {
namespace {

// Chains of dependent operations: more than the units and their latencies can have in flight on today's processors.
constexpr std::size_t kChains = 16;
constexpr std::size_t kFloats = 16;
using Vector = float __attribute__((vector_size(kFloats * sizeof(float))));

// Fused multiply-adds of one core, on registers only. The counter has the same unit as `products` of the reference case, which needs two of
// them for each of its products: one for the score, one for the value.
void BM_multiply_adds(benchmark::State& state) {
  std::array<Vector, kChains> sums{};
  Vector factor = Vector{} + 0.999F;
  Vector term = Vector{} + 1e-3F;
  constexpr std::size_t rounds = 1000;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(factor);
    benchmark::DoNotOptimize(term);
    for (std::size_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
      for (std::size_t i = 0; i < kChains; ++i) sums[i] = sums[i] * factor + term;
    }
    benchmark::DoNotOptimize(sums);
  }
  state.counters["products"] = benchmark::Counter(rounds * kChains * kFloats, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_multiply_adds)->MeasureProcessCPUTime();

}  // namespace
}  // namespace assay::tests
