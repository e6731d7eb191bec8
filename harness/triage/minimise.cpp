// Reduces a failing case as long as it fails in the same way.
#include "harness/triage/minimise.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "harness/cases/case_size.h"
#include "harness/cases/file_case.h"
#include "harness/triage/case_name.h"
#include "harness/triage/ordered.h"

namespace assay::harness {
namespace {

constexpr std::size_t kMostTried = 400;  // per round

std::vector<std::int64_t> counts_below(std::int64_t count) {
  std::vector<std::int64_t> counts;
  for (std::int64_t n = 1; n < count; n = n < 5 ? n + 1 : n * 2) counts.push_back(n);
  if (count > 2) counts.push_back(count - 1);
  return counts;
}

class Neighbours {
 public:
  explicit Neighbours(const Case& test_case) : about_(test_case), size_(size_of(test_case)) {}

  void add(Case value) {
    const std::optional<std::string> name = name_of(value);
    if (name && size_of(value) < size_ && names_.insert(*name).second) cases_.push_back(std::move(value));
  }

  void add_axis(std::size_t axis, std::span<const std::int64_t> values) {
    for (const std::int64_t value : values) {
      Case next = about_;
      next.values[axis] = value;
      add(std::move(next));
    }
  }

  [[nodiscard]] std::vector<Case> take() {
    order_by(cases_, size_of);
    if (cases_.size() > kMostTried) cases_.resize(kMostTried);
    return std::move(cases_);
  }

 private:
  const Case& about_;
  double size_;
  std::set<std::string> names_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> smaller_cases(const Case& test_case, Smaller how) {
  Neighbours neighbours(test_case);
  const std::vector<Axis>& axes = test_case.family->axes;
  if (is_on_file(test_case)) {
    // For a captured case, only axes for how a host splits the work may change; the others must be those of its file.
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].is_launch_choice) neighbours.add_axis(i, counts_below(test_case.values[i]));
    }
    return neighbours.take();
  }
  if (test_case.family->triage.smaller != nullptr) {
    for (Case& smaller : test_case.family->triage.smaller(test_case, how)) neighbours.add(std::move(smaller));
  }
  if (how != Smaller::in_one_axis) return neighbours.take();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].tried == families::Tried::counts) neighbours.add_axis(i, counts_below(test_case.values[i]));
    if (!axes[i].values.empty()) neighbours.add_axis(i, axes[i].values);
    if (axes[i].tried == families::Tried::simplest) neighbours.add_axis(i, std::array{simplest_value(axes[i], test_case)});
  }
  Case next = test_case;
  next.fixture = "gauss";
  neighbours.add(next);
  next.fixture = test_case.fixture;
  next.seed = 1;
  neighbours.add(std::move(next));
  return neighbours.take();
}

bool fails_alike(const Verdict& one, const Verdict& other) {
  if (one.status != other.status) return false;
  if (one.status == Status::hazard) {
    // Under --strict, a case without a hazard may fail with its remarks.
    const auto of = [](const Verdict& verdict) { return verdict.hazards.empty() ? verdict.remarks : verdict.hazards; };
    if (of(one).empty() || of(other).empty()) return false;
    return of(one).front().kind == of(other).front().kind && of(one).front().first == of(other).front().first;
  }
  if (one.status != Status::failed) return true;
  // Elements behind the rows are those of a second output.
  const auto fault = [](const Verdict& verdict) {
    if (verdict.judgement.worst.empty()) return std::pair(ElementFault::none, false);
    const WorstElement& worst = verdict.judgement.worst.front();
    std::size_t rows = 1;
    for (const families::RowPart& part : verdict.test_case.family->triage.row_parts(verdict.test_case)) rows *= part.count;
    return std::pair(worst.fault, worst.index >= rows * std::max<std::size_t>(verdict.row_length, 1));
  };
  return fault(one) == fault(other);
}

Minimised minimise(Laboratory& laboratory, const Verdict& failure, std::chrono::duration<double> budget) {
  const auto start = std::chrono::steady_clock::now();
  const std::size_t before = laboratory.runs();
  Minimised result{.verdict = failure, .tried = 0};
  while (std::chrono::steady_clock::now() - start < budget) {
    const Verdict* found = nullptr;
    for (const Smaller how : {Smaller::in_one_axis, Smaller::in_length, Smaller::in_several, Smaller::in_seed}) {
      const std::vector<Case> smaller = smaller_cases(result.verdict.test_case, how);
      found = laboratory.first_failure(smaller, [&](const Verdict& verdict) { return fails_alike(verdict, failure); });
      if (found != nullptr || std::chrono::steady_clock::now() - start > budget) break;
    }
    if (found == nullptr) break;
    result.verdict = *found;
  }
  result.tried = laboratory.runs() - before;
  return result;
}

}  // namespace assay::harness
