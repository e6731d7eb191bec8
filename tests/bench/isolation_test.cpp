// Holds what it costs that a kernel cannot harm anybody: cases in processes of their own against the same cases in this one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "harness/cases/selection.h"
#include "harness/run/execute.h"
#include "harness/run/runner.h"
#include "harness/run/workbench.h"
#include "kernels/variant.h"

namespace assay::bench {
namespace {

constexpr double kLargestShare = 0.15;  // of the gate's time
constexpr std::size_t kEvery = 29;      // a prime: not in step with any axis
constexpr int kMostRounds = 5;

class Counter final : public harness::RunListener {
 public:
  void started(const harness::Case&) override {}
  void finished(const harness::Verdict& verdict, const harness::Summary&) override { passed += is_success(verdict.status) ? 1U : 0U; }
  std::size_t passed = 0;
};

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

template <typename Work>
double cost_of(Work&& work) {
  const double start = cpu_seconds();
  work();
  return cpu_seconds() - start;
}

TEST(Isolation, CostsASmallShareOfTheGate) {
#ifndef __OPTIMIZE__
  GTEST_SKIP() << "the simulator's runtime is built without optimisation";
#endif
  const auto catalogue = kernels::find_variants(kernels::default_variants_directory());
  harness::SelectionRequest request;
  request.words = {"gate"};
  request.shard = {.index = 0, .count = kEvery};
  const std::vector<harness::Case> cases = harness::select_cases(request, catalogue).cases;
  const harness::Workbench workbench(catalogue, cases, {});
  const std::atomic<bool> never = false;

  // What disturbs only adds: of each the smallest time counts, without what is read for the first time.
  double least_isolated = std::numeric_limits<double>::infinity();
  double least_bare = least_isolated;
  for (int round = 0; round < kMostRounds && !(least_isolated / least_bare <= 1 + kLargestShare); ++round) {
    Counter counter;
    const double isolated = cost_of([&] { static_cast<void>(harness::run_cases(cases, workbench, {}, never, counter)); });
    EXPECT_EQ(counter.passed, cases.size());
    const double bare = cost_of([&] {
      for (const harness::Case& about : cases) static_cast<void>(harness::execute_case(workbench.find(about.variant), about, {}));
    });
    least_isolated = std::min(least_isolated, isolated);
    least_bare = std::min(least_bare, bare);
  }
  fmt::print("{} cases of the gate: in workers {:.2f} s, in one process {:.2f} s of CPU: ratio {:.3f} (at most {})\n", cases.size(),
             least_isolated, least_bare, least_isolated / least_bare, 1 + kLargestShare);
  EXPECT_LE(least_isolated / least_bare, 1 + kLargestShare);
}

}  // namespace
}  // namespace assay::bench
