// Runs pairs of cases, compares their verdicts, outputs and costs, and checks claims.
#include "harness/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "harness/cases/case_data.h"
#include "harness/cases/file_case.h"
#include "harness/compare/mailbox.h"
#include "harness/execute/execute_once.h"
#include "harness/findings/fault_text.h"
#include "harness/findings/known_finding.h"
#include "harness/findings/metal_fields.h"

namespace assay::harness {

void fields(auto& archive, base::OneOf<JudgedOutput> auto& value) {
  auto& [actual, expected, bound] = value;
  each(archive, actual, expected, bound);
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Whether a run left an output to compare. A run that never started, or that a hazard ended early, left none.
bool leaves_output(const Outcome& outcome) {
  const Status status = outcome.verdict.status;
  return !outcome.judged.actual.empty() && !outcome.verdict.is_internal && status != Status::hazard && status != Status::rejected &&
         status != Status::skipped;
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// The rank of a number in the order of its type, so that neighbouring numbers are one apart.
std::int64_t rank_of(float value, bool is_bfloat) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  const std::int64_t rank = bits < 0 ? -(std::int64_t{bits} & 0x7fffffff) : std::int64_t{bits};
  return is_bfloat ? rank / 0x10000 : rank;
}

double distance_in_ulps(double a, double b, bool is_bfloat) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0.0 : kInfinity;
  const std::int64_t apart = rank_of(static_cast<float>(a), is_bfloat) - rank_of(static_cast<float>(b), is_bfloat);
  return static_cast<double>(apart < 0 ? -apart : apart);
}

double distance_in_bounds(double a, double b, double bound) {
  if (std::isnan(a) && std::isnan(b)) return 0.0;
  return ratio_of(std::abs(a - b), bound);
}

void keep_larger(Distance& largest, const Distance& one) {
  if (one.value > largest.value) largest = one;
}

void hold_against(CaseComparison& result, const JudgedOutput& before, const JudgedOutput& after) {
  const Case& test_case = result.pair.new_case;
  const families::TriageRules& rules = test_case.family->triage;
  const std::size_t indices = rules.row_indices == nullptr ? 0 : rules.row_indices(test_case);
  const bool is_bfloat = std::ranges::any_of(test_case.family->contract.arguments, [](const kernels::ArgumentContract& argument) {
    return argument.role == kernels::ArgumentRole::output && argument.element == metal::ScalarType::bfloat16;
  });
  result.is_compared = true;
  result.elements = before.actual.size();
  for (std::size_t i = 0; i < before.actual.size(); ++i) {
    const double a = before.actual[i];
    const double b = after.actual[i];
    if (same_bits(a, b)) continue;
    ++result.differing;
    keep_larger(result.bounds, {distance_in_bounds(a, b, std::min(before.bound[i], after.bound[i])), i, a, b});
    if (i % result.row_length >= indices) keep_larger(result.ulps, {distance_in_ulps(a, b, is_bfloat), i, a, b});
  }
  result.is_same_bits = result.differing == 0 && result.old_side.digest == result.new_side.digest;
}

ComparedSide side_of(const Verdict& verdict) {
  return {verdict.status, verdict.faults, verdict.judgement.max_ratio, verdict.digest, verdict.counters};
}

// Collects the verdicts and outputs of both sides as they arrive.
class Collector final : public RunListener {
 public:
  Collector(std::span<const CasePair> pairs, const Workbench& workbench, metal::Policy policy, RunListener& listener)
      : workbench_(workbench), policy_(policy), listener_(listener), sides_(2 * pairs.size()) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      places_.emplace(format_case(pairs[i].old_case), 2 * i);
      places_.emplace(format_case(pairs[i].new_case), 2 * i + 1);
    }
  }

  void started(const Case& test_case) override { listener_.started(test_case); }
  void finished(const Verdict& verdict, const Summary& so_far) override {
    Verdict settled = verdict;
    settle_known_findings(workbench_.find(verdict.test_case.variant).known_findings, settled, policy_);
    const auto range = places_.equal_range(format_case(verdict.test_case));
    for (auto place = range.first; place != range.second; ++place) sides_[place->second] = settled;
    listener_.finished(settled, so_far);
  }
  bool tick() override { return listener_.tick(); }

  // Empty unless both sides have a verdict.
  [[nodiscard]] std::optional<CaseComparison> result(const CasePair& pair, std::size_t index) const {
    const std::optional<Verdict>& before = sides_[2 * index];
    const std::optional<Verdict>& after = sides_[2 * index + 1];
    if (!before || !after) return std::nullopt;
    CaseComparison comparison;
    comparison.pair = pair;
    comparison.old_side = side_of(*before);
    comparison.new_side = side_of(*after);
    comparison.row_length = after->row_length;
    return comparison;
  }

 private:
  const Workbench& workbench_;
  metal::Policy policy_;
  RunListener& listener_;
  std::multimap<std::string, std::size_t> places_;
  std::vector<std::optional<Verdict>> sides_;
};

std::vector<Case> interleaved(std::span<const CasePair> pairs) {
  std::vector<Case> cases;
  for (const CasePair& pair : pairs) {
    cases.push_back(pair.old_case);
    cases.push_back(pair.new_case);
  }
  return cases;
}

std::string skip_reason(const ComparedSide& side) { return side.faults.empty() ? "it is skipped" : reason_of(side); }

}  // namespace

bool CaseComparison::broke() const { return old_side.status == Status::passed && !is_success(new_side.status); }
bool CaseComparison::healed() const {
  return old_side.status != Status::passed && old_side.status != Status::skipped && new_side.status == Status::passed;
}

ComparedCases compare_cases(std::span<const CasePair> pairs, const Workbench& workbench, const RunOptions& options,
                            const std::atomic<bool>& stop, RunListener& listener) {
  const Mailbox mailbox;
  const CaseFunction execute = [&](const Case& test_case) {
    ExecutionOptions execution = options.execution;
    execution.keep_output = true;
    const Outcome outcome = execute_with_output(workbench.find(test_case.variant), test_case, execution);
    if (leaves_output(outcome)) mailbox.leave(format_case(test_case), outcome.judged);
    return outcome.verdict;
  };
  const std::vector<Case> cases = interleaved(pairs);
  Collector collector(pairs, workbench, options.execution.policy, listener);
  const Summary summary = run_cases(cases, execute, options, stop, collector);

  ComparedCases compared;
  compared.stopped = summary.stopped;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::optional<CaseComparison> result = collector.result(pairs[i], i);
    if (!result) continue;
    const auto before = mailbox.take<JudgedOutput>(format_case(pairs[i].old_case));
    const auto after = mailbox.take<JudgedOutput>(format_case(pairs[i].new_case));
    const bool old_skipped = result->old_side.status == Status::skipped;
    const bool new_skipped = result->new_side.status == Status::skipped;
    if (old_skipped && new_skipped) {
      ++compared.skipped;
      continue;
    }
    if (old_skipped || new_skipped) {
      const CasePair& pair = pairs[i];
      old_skipped ? compared.only_new.push_back({format_case(pair.new_case), skip_reason(result->old_side)})
                  : compared.only_old.push_back({format_case(pair.old_case), skip_reason(result->new_side)});
      continue;
    }
    if (before && after) {
      // If the axes of the two differ, their data may differ too. Then each case belongs to its own kernel alone.
      if (before->expected != after->expected) {
        const std::string reason = "the storage differs, so the expected values differ";
        compared.only_old.push_back({format_case(pairs[i].old_case), reason});
        compared.only_new.push_back({format_case(pairs[i].new_case), reason});
        continue;
      }
      hold_against(*result, *before, *after);
    }
    compared.cases.push_back(std::move(*result));
  }
  return compared;
}

namespace {
bool is_meant(const kernels::Claim& claim, const Case& test_case) {
  return std::ranges::all_of(claim.where, [&](const auto& condition) { return test_case.at(condition.first) == condition.second; });
}
}  // namespace

std::vector<CasePair> claimed_pairs(const kernels::Claim& claim, const kernels::Variant& claimant, const kernels::Variant& other,
                                    std::span<const CaseComparison> cases, bool is_claimant_new, std::size_t most) {
  std::vector<CasePair> pairs;
  for (const CaseComparison& one : cases) {
    CasePair pair;
    pair.new_case = is_claimant_new ? one.pair.new_case : one.pair.old_case;
    pair.old_case = pair.new_case;
    pair.old_case.variant = other.name;
    if (is_meant(claim, pair.new_case) && !is_on_file(pair.new_case) && within_limits(other, pair.old_case) &&
        within_limits(claimant, pair.new_case))
      pairs.push_back(std::move(pair));
  }
  std::ranges::sort(pairs, {}, [](const CasePair& pair) {
    return std::pair(pair.new_case.family->work(pair.new_case.values), format_case(pair.new_case));
  });
  pairs.resize(std::min(pairs.size(), most));
  return pairs;
}

std::vector<CaseComparison> claimed_cases(const kernels::Claim& claim, std::span<const CaseComparison> cases, bool is_claimant_new) {
  std::vector<CaseComparison> meant;
  for (const CaseComparison& one : cases) {
    if (is_meant(claim, is_claimant_new ? one.pair.new_case : one.pair.old_case)) meant.push_back(one);
  }
  return meant;
}

ClaimResult claim_result(const kernels::Claim& claim, const std::string& claimant, std::span<const CaseComparison> cases) {
  ClaimResult result{claimant, claim.text, 0, 0, {}};
  for (const CaseComparison& one : cases) {
    if (!one.is_compared) continue;
    ++result.tried;
    if (one.is_same_bits) continue;
    if (++result.broken == 1) result.first_broken = format_case(one.pair.new_case);
  }
  return result;
}

// ---- costs

CostComparison compare_costs(std::span<const CaseComparison> cases, const Workbench& workbench, const RunOptions& options,
                             const std::atomic<bool>& stop, RunListener& listener) {
  std::vector<CasePair> pairs;
  CostComparison result;
  for (const CaseComparison& one : cases) {
    if (one.old_side.status == Status::passed && one.new_side.status == Status::passed) pairs.push_back(one.pair);
  }
  const auto work = [](const CasePair& pair) { return pair.new_case.family->work(pair.new_case.values); };
  // The most expensive cases tell most, but each must be cheap enough to run under `checked`.
  std::erase_if(pairs, [&](const CasePair& pair) { return work(pair) > kEverydayWork; });
  std::ranges::sort(pairs, {}, [&](const CasePair& pair) { return std::pair(-work(pair), format_case(pair.new_case)); });
  pairs.resize(std::min(pairs.size(), kCostCases));

  using Costs = std::pair<metal::Cost, families::Minimum>;
  const Mailbox mailbox;
  RunOptions running = options;
  running.execution.policy = metal::Policy::checked;
  const CaseFunction execute = [&](const Case& test_case) {
    const CaseCost cost = cost_of(workbench.find(test_case.variant), test_case, running.execution);
    mailbox.leave(format_case(test_case), Costs(cost.total, cost.minimum));
    Verdict verdict;
    verdict.test_case = test_case;
    verdict.status = Status::passed;
    return verdict;
  };
  const std::vector<Case> both = interleaved(pairs);
  static_cast<void>(run_cases(both, execute, running, stop, listener));
  for (const CasePair& pair : pairs) {
    const auto before = mailbox.take<Costs>(format_case(pair.old_case));
    const auto after = mailbox.take<Costs>(format_case(pair.new_case));
    if (!before || !after) continue;
    result.old_cost += before->first;
    const auto& [cost, minimum] = *after;
    result.new_cost += cost;
    result.minimum.bytes_read += minimum.bytes_read;
    result.minimum.bytes_written += minimum.bytes_written;
    result.minimum.distinct_bytes += minimum.distinct_bytes;
    result.minimum.flops += minimum.flops;
    result.cases.push_back(format_case(pair.new_case));
    const auto one = std::ranges::find(cases, pair, &CaseComparison::pair);
    const auto add = [](metal::ExecutionCounters& sum, const metal::ExecutionCounters& part) {
      sum.threadgroups += part.threadgroups;
      sum.collectives += part.collectives;
      sum.matrix_multiplies += part.matrix_multiplies;
    };
    add(result.old_counters, one->old_side.counters);
    add(result.new_counters, one->new_side.counters);
  }
  return result;
}

// ---- where they part

PartingResult part(const CasePair& pair, const Workbench& workbench, const RunOptions& options, RunListener& listener) {
  const Mailbox mailbox;
  const CaseFunction execute = [&](const Case& test_case) {
    const std::optional<Parting> parting = find_parting(workbench.find(pair.old_case.variant), pair.old_case,
                                                        workbench.find(test_case.variant), test_case, options.execution.shelf);
    mailbox.leave("parting", parting);
    Verdict verdict;
    verdict.test_case = test_case;
    verdict.status = Status::passed;
    return verdict;
  };
  struct Listener final : RunListener {
    explicit Listener(RunListener& outer) : next(outer) {}
    void started(const Case&) override {}
    void finished(const Verdict& verdict, const Summary&) override { reason = reason_of(verdict); }
    bool tick() override { return next.tick(); }
    RunListener& next;
    std::string reason = "it was interrupted";
  } watching(listener);
  const std::atomic<bool> never = false;
  static_cast<void>(run_cases(std::span(&pair.new_case, 1), execute, options, never, watching));
  auto parting = mailbox.take<std::optional<Parting>>("parting");
  if (!parting) return {{}, watching.reason};
  if (!*parting) return {{}, "no line that both sources share computes different values"};
  return {std::move(*parting), {}};
}

}  // namespace assay::harness
