// Reduces a differing pair of cases, axis by axis.
#include <algorithm>
#include <utility>

#include "harness/cases/file_case.h"
#include "harness/compare/compare.h"

namespace assay::harness {
namespace {

// Returns false if the step has no effect, because the values are already as small.
bool shrink(const families::ShrinkStep& step, Case& test_case) {
  bool is_smaller = false;
  for (const auto& [axis, value] : step.settings) {
    if (test_case.family->has_axis(axis) && test_case.at(axis) > value) {
      test_case.values[test_case.family->axis_index(axis)] = value;
      is_smaller = true;
    }
    if (step.first_alone && !is_smaller) return false;
  }
  return is_smaller;
}

std::int64_t work(const CasePair& pair) { return pair.new_case.family->work(pair.new_case.values); }

bool is_possible(const CasePair& pair, const Workbench& workbench) {
  const auto is_possible = [&](const Case& test_case) {
    return has_name(test_case) && within_limits(workbench.find(test_case.variant).variant, test_case);
  };
  return is_possible(pair.old_case) && is_possible(pair.new_case);
}

// Rounding differences occur by chance, so a smaller case may need other data to show one.
constexpr std::uint64_t kSeeds = 4;

// Forwards only tick(), so that the runs of the reduction are not reported.
class Quiet final : public RunListener {
 public:
  explicit Quiet(RunListener& next) : next_(next) {}
  void started(const Case&) override {}
  void finished(const Verdict&, const Summary&) override {}
  bool tick() override { return next_.tick(); }

 private:
  RunListener& next_;
};

}  // namespace

std::optional<CasePair> smallest_differing(std::span<const CaseComparison> cases, const Workbench& workbench, const RunOptions& options,
                                           const std::atomic<bool>& stop, RunListener& listener) {
  std::vector<const CaseComparison*> differing;
  for (const CaseComparison& one : cases) {
    if (one.differs()) differing.push_back(&one);
  }
  if (differing.empty()) return std::nullopt;
  // A pair that broke is of more interest than other differences.
  const auto* start =
      *std::ranges::min_element(differing, {}, [](const CaseComparison* one) { return std::pair(!one->broke(), work(one->pair)); });
  CasePair smallest = start->pair;
  const bool must_break = start->broke();
  Quiet quiet(listener);
  for (const std::vector<families::ShrinkStep>& group : smallest.new_case.family->triage.steps) {
    std::vector<CasePair> candidates;
    for (const families::ShrinkStep& step : group) {
      CasePair candidate = smallest;
      if (!shrink(step, candidate.old_case) || !shrink(step, candidate.new_case) || !is_possible(candidate, workbench)) continue;
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        if (seed != 0 && is_on_file(candidate.new_case)) break;
        candidates.push_back(candidate);
        candidates.back().old_case.seed += seed;
        candidates.back().new_case.seed += seed;
      }
    }
    if (candidates.empty() || stop) continue;
    const ComparedCases tried = compare_cases(candidates, workbench, options, stop, quiet);
    for (const CaseComparison& one : tried.cases) {
      if (!one.differs() || (must_break && !one.broke())) continue;
      smallest = one.pair;
      break;
    }
  }
  return smallest;
}

}  // namespace assay::harness
