// What the reference case costs: the scalar loop, the simulator and the oracle, and what comes before a kernel runs.
//
//   assay_bench                                   everything
//   assay_bench --benchmark_filter=interleaved    the ratios that issue 2 limits, in one run
#include <benchmark/benchmark.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include "kernels/variant.h"
#include "metal/compile/library.h"
#include "tests/bench/interleaved.h"
#include "tests/bench/matrix_setup.h"
#include "tests/bench/scalar_attention.h"
#include "tests/bench/tq4_setup.h"

namespace assay::tests {
namespace {

constexpr const char* kFunction = "flash_attn_vec_tq_dk256";

// One for all benchmarks: the kernel is compiled once, and all of them see the same bits at the same addresses.
Tq4Setup& reference_setup() {
  static Tq4Setup setup(reference_shape());
  return setup;
}

// Products of the scores, heads times keys times D: every evaluation does as many again for the values.
void report_products(benchmark::State& state) {
  const oracles::DecodeShape shape = reference_shape();
  const auto products = static_cast<double>(shape.heads * shape.kv_len * shape.head_dim);
  state.counters["products"] = benchmark::Counter(products, benchmark::Counter::kIsIterationInvariantRate);
}

void BM_scalar_tq4(benchmark::State& state) {
  Tq4Setup& setup = reference_setup();
  for ([[maybe_unused]] auto _ : state) setup.run_scalar();
  report_products(state);
  state.SetLabel(scalar_attention_flags().empty() ? "not built with the yardstick's flags" : std::string(scalar_attention_flags()));
}
BENCHMARK(BM_scalar_tq4)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

void BM_simulator_tq4(benchmark::State& state) {
  Tq4Setup& setup = reference_setup();
  for ([[maybe_unused]] auto _ : state) setup.run_simulator();
  if (!setup.hazards().empty()) state.SkipWithError(setup.hazards().front().message.c_str());
  report_products(state);
  state.counters["meeting_points"] =
      benchmark::Counter(static_cast<double>(setup.counters().meeting_points), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_simulator_tq4)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

void BM_oracle_tq4(benchmark::State& state) {
  Tq4Setup& setup = reference_setup();
  for ([[maybe_unused]] auto _ : state) setup.run_oracle();
  report_products(state);
}
BENCHMARK(BM_oracle_tq4)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// The time shown is that of a whole round; the ratios are medians over the rounds.
void BM_interleaved_tq4(benchmark::State& state) {
  Tq4Setup& setup = reference_setup();
  Interleaved interleaved({{"scalar", [&] { setup.run_scalar(); }},
                           {"simulator", [&] { setup.run_simulator(); }},
                           {"checked", [&] { setup.run_simulator(metal::Policy::checked); }},
                           {"oracle", [&] { setup.run_oracle(); }}});
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime(interleaved.round());
  for (const char* name : {"scalar", "simulator", "checked", "oracle"}) {
    state.counters[std::string(name) + "_ms"] = interleaved.timing(name).median * 1e3;
  }
  state.counters["simulator/scalar"] = interleaved.ratio("simulator", "scalar");
  state.counters["checked/scalar"] = interleaved.ratio("checked", "scalar");
  state.counters["oracle/simulator"] = interleaved.ratio("oracle", "simulator");
}
BENCHMARK(BM_interleaved_tq4)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(21);

void BM_simdgroup_matrix(benchmark::State& state) {
  MatrixSetup setup(1, 1, 4096);
  for ([[maybe_unused]] auto _ : state) setup.run();
  if (!setup.hazards().empty()) state.SkipWithError(setup.hazards().front().message.c_str());
  state.counters["multiplies"] = benchmark::Counter(static_cast<double>(setup.multiplies()), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_simdgroup_matrix)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

// Preprocessing is another process, so what counts here and below is the clock on the wall.
void BM_translate(benchmark::State& state) {
  const auto path = kernels::default_variants_directory() / "tq4_v1" / "kernel.metal";
  std::ifstream file(path);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  if (source.empty()) throw std::runtime_error("cannot read " + path.string());
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(metal::Library::from_source(source, "tq4.metal"));
}
BENCHMARK(BM_translate)->Unit(benchmark::kMillisecond)->UseRealTime();

// A pipeline that an earlier run left in the cache: found, loaded and reflected, not compiled.
void BM_cached_pipeline(benchmark::State& state) {
  const auto path = kernels::default_variants_directory() / "tq4_v1" / "kernel.metal";
  benchmark::DoNotOptimize(metal::Library::from_file(path)->pipeline({kFunction, {}}));
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    const std::shared_ptr<metal::Library> library = metal::Library::from_file(path);
    state.ResumeTiming();
    benchmark::DoNotOptimize(library->pipeline({kFunction, {}}));
  }
}
BENCHMARK(BM_cached_pipeline)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace assay::tests
