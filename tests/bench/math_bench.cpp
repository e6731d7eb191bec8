// What the functions of math/ cost kernels, per element: called for one, and for 32 at once.
//
//   assay_bench --benchmark_filter=math/ --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <random>
#include <string>

#include "math/kernel_functions.h"

namespace assay::tests {
namespace {

constexpr std::size_t kElements = 32, kNumbers = 64 * kElements;

struct alignas(64) Numbers : std::array<double, kNumbers> {};

Numbers floats_between(double low, double high) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> distribution(static_cast<float>(low), static_cast<float>(high));
  Numbers numbers;
  for (double& number : numbers) number = static_cast<double>(distribution(random));
  return numbers;
}

// Nanoseconds per element, as a counter.
void count_elements(benchmark::State& state) {
  state.counters["per_element"] =
      benchmark::Counter(static_cast<double>(kNumbers), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

template <auto one, auto batch>
void add_unary(const std::string& name, double low, double high) {
  benchmark::RegisterBenchmark(("math/" + name + "/one").c_str(), [low, high](benchmark::State& state) {
    Numbers x = floats_between(low, high), results;
    for ([[maybe_unused]] auto _ : state) {
      for (std::size_t i = 0; i < kNumbers; ++i) results[i] = one(x[i]);
      benchmark::DoNotOptimize(results.data());
    }
    count_elements(state);
  });
  benchmark::RegisterBenchmark(("math/" + name + "/batch").c_str(), [low, high](benchmark::State& state) {
    Numbers x = floats_between(low, high), results;
    for ([[maybe_unused]] auto _ : state) {
      for (std::size_t i = 0; i < kNumbers; i += kElements) batch(&x[i], &results[i]);
      benchmark::DoNotOptimize(results.data());
    }
    count_elements(state);
  });
}

template <auto one, auto batch>
void add_binary(const std::string& name, double low, double high) {
  benchmark::RegisterBenchmark(("math/" + name + "/one").c_str(), [low, high](benchmark::State& state) {
    Numbers x = floats_between(low, high), y = floats_between(-3, 3), results;
    for ([[maybe_unused]] auto _ : state) {
      for (std::size_t i = 0; i < kNumbers; ++i) results[i] = one(x[i], y[i]);
      benchmark::DoNotOptimize(results.data());
    }
    count_elements(state);
  });
  benchmark::RegisterBenchmark(("math/" + name + "/batch").c_str(), [low, high](benchmark::State& state) {
    Numbers x = floats_between(low, high), y = floats_between(-3, 3), results;
    for ([[maybe_unused]] auto _ : state) {
      for (std::size_t i = 0; i < kNumbers; i += kElements) batch(&x[i], &y[i], &results[i]);
      benchmark::DoNotOptimize(results.data());
    }
    count_elements(state);
  });
}

#define ASSAY_UNARY(name, low, high) add_unary<assay_math_##name, assay_math_batch_##name>(#name, low, high);
#define ASSAY_BINARY(name, low, high) add_binary<assay_math_##name, assay_math_batch_##name>(#name, low, high);
bool add_all() {
  ASSAY_UNARY(exp, -20, 0)
  ASSAY_UNARY(exp2, -30, 0)
  ASSAY_UNARY(exp10, -30, 30)
  ASSAY_UNARY(log, 0, 1e3)
  ASSAY_UNARY(log2, 0, 1e3)
  ASSAY_UNARY(log10, 0, 1e3)
  ASSAY_UNARY(sin, -1e3, 1e3)
  ASSAY_UNARY(cos, -1e3, 1e3)
  ASSAY_UNARY(tan, -10, 10)
  ASSAY_UNARY(asin, -1, 1)
  ASSAY_UNARY(acos, -1, 1)
  ASSAY_UNARY(atan, -50, 50)
  ASSAY_UNARY(sinh, -80, 80)
  ASSAY_UNARY(cosh, -80, 80)
  ASSAY_UNARY(tanh, -4, 4)
  ASSAY_UNARY(asinh, -50, 50)
  ASSAY_UNARY(acosh, 1, 50)
  ASSAY_UNARY(atanh, -1, 1)
  ASSAY_BINARY(pow, 0, 20)
  ASSAY_BINARY(atan2, -5, 5)
  return true;
}
#undef ASSAY_UNARY
#undef ASSAY_BINARY
[[maybe_unused]] const bool is_added = add_all();

}  // namespace
}  // namespace assay::tests
