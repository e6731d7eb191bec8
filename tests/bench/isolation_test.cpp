// Holds what it costs that a kernel cannot harm anybody: cases in a worker process against the same cases in this one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <vector>

#include "families/registry.h"
#include "harness/cases/selection.h"
#include "harness/execute/execute.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "kernels/variant.h"

namespace assay::tests {
namespace {

constexpr double kLargestShare = 0.15;  // of the gate's time
constexpr std::size_t kEvery = 29;      // a prime: not in step with any axis

// CPU time of this process and of all that it has waited for.
double cpu_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return seconds;
}

// After every case that a worker has executed, while it waits for the next, executes the same case here: whatever the machine does to
// its own pace happens to both.
class Pacemaker final : public harness::RunListener {
 public:
  explicit Pacemaker(const harness::Workbench& workbench) : workbench_(workbench) {}
  void started(const harness::Case&) override {}
  void finished(const harness::Verdict& verdict, const harness::Summary&) override {
    passed += is_success(verdict.status) ? 1U : 0U;
    const double start = cpu_seconds();
    static_cast<void>(harness::execute_case(workbench_.find(verdict.about.variant), verdict.about, {}));
    bare_seconds += cpu_seconds() - start;
  }

  std::size_t passed = 0;
  double bare_seconds = 0;

 private:
  const harness::Workbench& workbench_;
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

TEST(Isolation, CostsASmallShareOfTheGate) {
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
  // What is read for the first time belongs to neither.
  static_cast<void>(harness::execute_case(workbench.find(cases.front().variant), cases.front(), {}));

  Pacemaker pacemaker(workbench);
  const double start = cpu_seconds();
  static_cast<void>(harness::run_cases(cases, workbench, {}, never, pacemaker));
  const double bare = pacemaker.bare_seconds;
  const double isolated = cpu_seconds() - start - bare;
  EXPECT_EQ(pacemaker.passed, cases.size());
  fmt::print("{} cases of the gate: in a worker {:.2f} s, in this process {:.2f} s of CPU: ratio {:.3f} (at most {})\n", cases.size(),
             isolated, bare, isolated / bare, 1 + kLargestShare);
  EXPECT_LE(isolated / bare, 1 + kLargestShare);
}

}  // namespace
}  // namespace assay::tests
