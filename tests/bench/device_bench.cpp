// The benchmark program, and what the kernels of every family take on a GPU.
//
//   assay_bench --device cuda --benchmark_filter=device/
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/device.h"
#include "cli/options.h"
#include "harness/execute/execute.h"
#include "harness/findings/fault_text.h"
#include "harness/prepare/workbench.h"
#include "metal/devices/device.h"
#include "tests/bench/family_cases.h"

namespace assay::tests {
namespace {

// The time is that of the kernels, as the GPU measures it. Copies and the process that has the GPU are in the time of the CPU.
void run_on_device(benchmark::State& state, const std::string& name, const metal::DeviceChoice& device) {
  const harness::Case test_case = find_case(name);
  harness::WorkbenchOptions preparing;
  preparing.device = device;
  const harness::Workbench workbench(catalogue(), {&test_case, 1}, preparing);
  harness::ExecutionOptions options;
  options.device = device;
  for ([[maybe_unused]] auto _ : state) {
    const harness::Verdict verdict = harness::execute_case(workbench.find(test_case.variant), test_case, options);
    if (!harness::is_success(verdict.status)) return state.SkipWithError(reason_of(verdict).c_str());
    state.SetIterationTime(verdict.simulator_seconds);
  }
}

// Takes "--device NAME" out of the arguments; empty if it is not there.
std::string take_device(std::vector<char*>& arguments) {
  const auto found = std::ranges::find(arguments, std::string_view("--device"), [](const char* word) { return std::string_view(word); });
  if (found == arguments.end() || found + 1 == arguments.end()) return {};
  std::string name = *(found + 1);
  arguments.erase(found, found + 2);
  return name;
}

void add_device_benchmarks(const std::string& name) {
  cli::Options options;
  options.device = name;
  const cli::ChosenDevice chosen = cli::choose_device(options);
  if (!chosen.device.is_gpu()) return;
  std::printf("executed on %s\n", chosen.description.c_str());
  for (const std::string& test_case : family_cases()) {
    benchmark::RegisterBenchmark(fmt::format("device/{}/{}", test_case.substr(0, test_case.find('/')), name).c_str(), run_on_device,
                                 test_case, chosen.device)
        ->Unit(benchmark::kMicrosecond)
        ->UseManualTime();
  }
}

int run_benchmarks(std::vector<char*> arguments) {
  try {
    if (const std::string device = take_device(arguments); !device.empty()) add_device_benchmarks(device);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay: %s\n", error.what());
    return cli::kExitUsage;
  }
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return cli::kExitUsage;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return cli::kExitPassed;
}

}  // namespace
}  // namespace assay::tests

int main(int count, char** arguments) { return assay::tests::run_benchmarks({arguments, arguments + count}); }
