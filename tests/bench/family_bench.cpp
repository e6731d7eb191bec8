// What one case of every family costs: the kernel under each policy, its inputs and the oracle's expectation, its fixture file; and whole
// gates.
//
//   assay_bench --benchmark_filter=kernel/                       every family under every policy
//   assay_bench --benchmark_filter=gate/all --benchmark_out=gate.json --benchmark_out_format=json
//
// Two files of --benchmark_out are held against each other with Google Benchmark's tools/compare.py (docs/PERFORMANCE.md).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/hdf5_file.h"
#include "harness/cases/case.h"
#include "harness/cases/file_contents.h"
#include "harness/execute/execute.h"
#include "harness/findings/fault_text.h"
#include "harness/prepare/workbench.h"
#include "metal/devices/simulator.h"
#include "tests/bench/family_cases.h"

namespace assay::tests {
namespace {

namespace fs = std::filesystem;

// The dispatches of the case on its own buffers, again and again: what policies cost, and nothing else.
void run_kernel(benchmark::State& state, const std::string& name, metal::Policy policy) {
  const harness::Case test_case = find_case(name);
  const harness::Workbench workbench(catalogue(), {&test_case, 1}, {});
  const harness::PreparedVariant& prepared = workbench.find(test_case.variant);
  harness::ExecutionOptions options;
  options.schedules = {metal::Schedule{}};
  bool is_measured = false;  // some cases are launched twice
  options.launch = [&](metal::ComputeEncoder& judged, const harness::Encode& encode) {
    encode(judged);
    if (std::exchange(is_measured, true)) return;
    {
      metal::Simulator compiles(prepared.libraries, {.policy = policy});
      encode(compiles);
    }
    for ([[maybe_unused]] auto _ : state) {
      metal::Simulator simulator(prepared.libraries, {.policy = policy});
      encode(simulator);
    }
  };
  const harness::Verdict verdict = harness::execute_case(prepared, test_case, options);
  if (!harness::is_success(verdict.status)) state.SkipWithError(reason_of(verdict).c_str());
}

void run_oracle(benchmark::State& state, const std::string& name) {
  const harness::Case test_case = find_case(name);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(harness::contents_of(test_case));
}

// From the inputs to the verdict, as a worker of the gate does it: under the schedules that the gate would take.
void run_case(benchmark::State& state, const std::string& name) {
  const harness::Case test_case = find_case(name);
  const harness::Workbench workbench(catalogue(), {&test_case, 1}, {});
  for ([[maybe_unused]] auto _ : state) {
    const harness::Verdict verdict = harness::execute_case(workbench.find(test_case.variant), test_case, {});
    if (!harness::is_success(verdict.status)) return state.SkipWithError(reason_of(verdict).c_str());
  }
}

class FixtureFile {
 public:
  explicit FixtureFile(const std::string& name)
      : contents_(harness::contents_of(find_case(name))), path_(fs::temp_directory_path() / fmt::format("assay_bench_{}.h5", getpid())) {}
  ~FixtureFile() { fs::remove(path_); }
  FixtureFile(const FixtureFile&) = delete;
  FixtureFile& operator=(const FixtureFile&) = delete;

  void write() const { fixtures::write_file(path_, contents_.format, contents_.tensors); }
  [[nodiscard]] std::vector<fixtures::Tensor> read() const {
    std::vector<fixtures::TensorSpec> wanted;
    for (const fixtures::Tensor& tensor : contents_.tensors) wanted.push_back(tensor.spec);
    return fixtures::read_tensors(path_, wanted);
  }
  void report_bytes(benchmark::State& state) const {
    std::size_t bytes = 0;
    for (const fixtures::Tensor& tensor : contents_.tensors) bytes += tensor.bytes.size();
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * static_cast<std::int64_t>(state.iterations()));
  }

 private:
  harness::FileContents contents_;
  fs::path path_;
};

void write_fixture(benchmark::State& state, const std::string& name) {
  const FixtureFile file(name);
  for ([[maybe_unused]] auto _ : state) file.write();
  file.report_bytes(state);
}

void read_fixture(benchmark::State& state, const std::string& name) {
  const FixtureFile file(name);
  file.write();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(file.read());
  file.report_bytes(state);
}

// The command itself, kernels in its cache: the first, unmeasured, run puts them there.
void run_command(benchmark::State& state, const std::string& arguments) {
  const std::string command = fmt::format("'{}/bin/assay' {} --ledger none > /dev/null 2>&1", ASSAY_BINARY_DIR, arguments);
  const auto run = [&] {
    if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  };
  run();
  for ([[maybe_unused]] auto _ : state) run();
}

[[maybe_unused]] const bool is_registered = [] {
  using benchmark::RegisterBenchmark;
  struct PolicyName {
    const char* name;
    metal::Policy policy;
  };
  constexpr PolicyName policies[] = {
      {"native", metal::Policy::native}, {"checked", metal::Policy::checked}, {"shadow", metal::Policy::shadow}};
  for (const std::string& name : family_cases()) {
    const std::string variant = name.substr(0, name.find('/'));
    for (const auto& [policy_name, policy] : policies) {
      RegisterBenchmark(fmt::format("kernel/{}/{}", variant, policy_name).c_str(), run_kernel, name, policy)
          ->Unit(benchmark::kMillisecond)
          ->MeasureProcessCPUTime();
    }
    RegisterBenchmark(("oracle/" + variant).c_str(), run_oracle, name)->Unit(benchmark::kMillisecond);
    RegisterBenchmark(("case/" + variant).c_str(), run_case, name)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
  }
  const std::string& attention = family_cases().front();
  RegisterBenchmark("hdf5/write", write_fixture, attention)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("hdf5/read", read_fixture, attention)->Unit(benchmark::kMillisecond);
  RegisterBenchmark("command/one_case", run_command, "run " + attention)->Unit(benchmark::kMillisecond)->UseRealTime();
  RegisterBenchmark("gate/small", run_command, "run gate --family reduce")->Unit(benchmark::kSecond)->UseRealTime();
  RegisterBenchmark("gate/all", run_command, "gate")->Unit(benchmark::kSecond)->UseRealTime()->Iterations(1);
  return true;
}();

}  // namespace
}  // namespace assay::tests
