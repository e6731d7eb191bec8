// Measures what the sandbox of kernels costs: cases of the gate with all of its layers against the same cases without any.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/sandbox.h"
#include "families/registry.h"
#include "harness/cases/selection.h"
#include "harness/execute/execute_job.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "kernels/variant.h"

namespace assay::tests::isolation_test {
namespace {

constexpr double kLargestShare = 0.05;  // of the gate's time
constexpr double kLongestStart = 0.02;  // seconds until a confined process runs
constexpr std::size_t kEvery = 97;      // a prime: not in step with any axis
constexpr int kRounds = 5;              // the fastest counts
constexpr int kMostRounds = 20;         // while the share is too large: what else runs here only adds to it

class Silent final : public harness::RunListener {
 public:
  void started(const harness::Case&) override {}
  void finished(const harness::Verdict& verdict, const harness::Summary&) override { passed += is_success(verdict.status) ? 1U : 0U; }

  std::size_t passed = 0;
};

// Keeps this process, and those that it forks meanwhile, on one processor: those of a virtual machine differ in pace by a quarter, each by
// what its neighbours do.
class OneProcessor {
 public:
  OneProcessor() {
    CPU_ZERO(&before_);
    const int current = sched_getcpu();
    if (current < 0 || sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(current), &one);
    is_pinned_ = sched_setaffinity(0, sizeof(one), &one) == 0;
  }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;
  ~OneProcessor() {
    if (is_pinned_) sched_setaffinity(0, sizeof(before_), &before_);
  }

 private:
  cpu_set_t before_;
  bool is_pinned_ = false;
};

// Of this process and of those that it has waited for, which have waited for theirs. Wall time would count what else runs here.
double processor_seconds() {
  double seconds = 0;
  for (const auto whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(whose, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return seconds;
}

TEST(Sandbox, CostsASmallShareOfTheGate) {
#ifndef __OPTIMIZE__
  GTEST_SKIP() << "the simulator's runtime is built without optimisation";
#endif
  const auto catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  harness::SelectionRequest request;
  request.words = {"gate"};
  request.shard = {.index = 0, .count = kEvery};
  const std::vector<harness::Case> cases = harness::select_cases(request, catalogue).cases;
  const harness::Workbench workbench(catalogue, cases, {});
  const std::atomic<bool> never = false;
  const OneProcessor one_processor;
  double with = std::numeric_limits<double>::infinity(), without = with;
  for (int round = 0; round < kRounds || (round < kMostRounds && with / without > 1 + kLargestShare); ++round) {
    for (const auto& [mode, fastest] : {std::pair{base::SandboxMode::off, &without}, std::pair{base::SandboxMode::automatic, &with}}) {
      base::set_sandbox_mode(mode);
      Silent listener;
      const double before = processor_seconds();
      static_cast<void>(harness::run_cases(cases, workbench, {}, never, listener));
      *fastest = std::min(*fastest, processor_seconds() - before);
      EXPECT_EQ(listener.passed, cases.size());
    }
  }
  fmt::print("{} cases of the gate: in the sandbox {:.2f} s of processor, without {:.2f} s: ratio {:.3f} (at most {}), {:.2f} ms a case\n",
             cases.size(), with, without, with / without, 1 + kLargestShare, 1e3 * (with - without) / static_cast<double>(cases.size()));
  EXPECT_LE(with / without, 1 + kLargestShare);
}

TEST(Sandbox, IsEnteredAtOnce) {
  base::prepare_sandbox();
  double fastest = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 20; ++round) {
    fastest = std::min(fastest, harness::timed([] { base::Process({.name = "confined"}, [](int) { base::confine_kernel(); }).wait(); }));
  }
  fmt::print("a confined process starts and ends in {:.2f} ms (at most {:.0f})\n", 1e3 * fastest, 1e3 * kLongestStart);
  EXPECT_LE(fastest, kLongestStart);
}

}  // namespace
}  // namespace assay::tests::isolation_test
