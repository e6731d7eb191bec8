// Runs the cases that triage tries, and caches their verdicts.
#include "harness/triage/laboratory.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/processors.h"
#include "families/described_launch.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

class VerdictCollector final : public RunListener {
 public:
  void started(const Case&) override {}
  void finished(const Verdict& verdict, const Summary&) override { verdicts.push_back(verdict); }

  std::vector<Verdict> verdicts;
};

bool has_output(const Verdict& verdict) {
  return verdict.status == Status::passed || verdict.status == Status::failed || is_expected_failure(verdict.status) ||
         verdict.status == Status::hazard || (verdict.status == Status::mistrusted && !verdict.is_internal);
}

}  // namespace

bool Observation::is_faulty(std::size_t element) const {
  return !(std::abs(actual[element] - expected.value[element]) <= expected.bound[element]);
}

Laboratory::Laboratory(LaboratoryOptions options) : options_(std::move(options)) {
  static_cast<void>(variant());
  options_.run.jobs = 1;
  // A case that triage reduces ends soon or never.
  constexpr std::chrono::duration<double> longest = std::chrono::seconds(20);
  if (options_.run.timeout.count() == 0 || options_.run.timeout > longest) options_.run.timeout = longest;
}

const kernels::Variant& Laboratory::variant() const {
  const auto found = std::ranges::find(options_.catalogue, options_.variant, &kernels::Variant::name);
  if (found == options_.catalogue.end()) throw std::invalid_argument(fmt::format("no variant '{}' to triage", options_.variant));
  return *found;
}

void Laboratory::check_source() const {
  if (options_.check_source) options_.check_source();
}

const Workbench* Laboratory::workbench(const Case& test_case) {
  check_source();
  const std::string functions = families::functions_text(test_case, variant());
  const auto [place, is_new] = workbenches_.try_emplace(functions);
  if (is_new) {
    try {
      auto workbench = std::make_unique<Workbench>(options_.catalogue, std::span(&test_case, 1), options_.workbench);
      std::string broken = broken_part(*workbench);
      if (broken.empty()) {
        place->second = std::move(workbench);
      } else {
        problems_[functions] = std::move(broken);
      }
    } catch (const metal::EnvironmentError&) {
      throw;
    } catch (const metal::Error& error) {
      problems_[functions] = error.what();
    } catch (const kernels::VariantError& error) {
      problems_[functions] = error.what();
    }
  }
  return place->second.get();
}

std::string Laboratory::broken_part(const Workbench& workbench) {
  const auto own = workbench.variants().find(options_.variant);
  if (own == workbench.variants().end()) return {};
  std::string broken;
  const auto look_at = [&](const auto& part) {
    if (is_version_ && !left_out_.contains(part.name) && broken.empty()) broken = part.reason;
    if (!is_version_) left_out_.insert(part.name);
  };
  for (const auto& library : own->second.libraries) {
    // Those of a lender are no part of the kernel.
    if (library->files() != own->second.variant.translation_unit()) continue;
    std::ranges::for_each(library->refused(), look_at);
    std::ranges::for_each(library->left_out(), look_at);
  }
  return broken;
}

std::string Laboratory::problem(const Case& test_case) {
  static_cast<void>(workbench(test_case));
  const auto found = problems_.find(families::functions_text(test_case, variant()));
  return found == problems_.end() ? std::string() : found->second;
}

const PreparedVariant* Laboratory::prepared(const Case& test_case) {
  const Workbench* bench = workbench(test_case);
  return bench == nullptr ? nullptr : &bench->find(test_case.variant);
}

std::vector<Verdict> Laboratory::run(std::span<const Case> cases, const Workbench& workbench, const RunOptions& options) {
  VerdictCollector collector;
  const std::atomic<bool> never = false;
  static_cast<void>(run_cases(cases, workbench, options, never, collector));
  runs_ += collector.verdicts.size();
  return std::move(collector.verdicts);
}

std::vector<Laboratory::Trial> Laboratory::try_choices(const Case& test_case, std::span<const std::uint32_t> choices,
                                                       std::optional<metal::Policy> policy) {
  const PreparedVariant* prepared = this->prepared(test_case);
  if (prepared == nullptr) return std::vector<Trial>(choices.size());
  RunOptions options = options_.run;
  if (policy) options.execution.policy = *policy;
  options.jobs = base::usable_processors();
  if (options.execution.schedules.empty()) options.execution.schedules = {metal::Schedule{}};
  // Verdicts name their case, and a case its place in the list by its seed.
  std::vector<Case> numbered(choices.size(), test_case);
  for (std::size_t i = 0; i < numbered.size(); ++i) numbered[i].seed = i;
  const CaseFunction execute = [&](const Case& one) {
    ExecutionOptions chosen = options.execution;
    chosen.choice = choices[one.seed];
    Verdict verdict = execute_case(*prepared, test_case, chosen);
    verdict.test_case = one;
    if (verdict.status == Status::passed) return verdict;
    // After a failure, a worker would be replaced.
    Verdict answer;
    answer.test_case = one;
    answer.status = Status::skipped;
    answer.digest = verdict.digest;
    answer.judgement = verdict.judgement;
    answer.judgement.worst.clear();
    answer.hazards = std::move(verdict.hazards);
    return answer;
  };
  VerdictCollector collector;
  const std::atomic<bool> never = false;
  static_cast<void>(run_cases(numbered, execute, options, never, collector));
  runs_ += collector.verdicts.size();
  std::vector<Trial> trials(choices.size());
  for (const Verdict& verdict : collector.verdicts) {
    Trial& trial = trials[verdict.test_case.seed];
    trial.passes = verdict.status == Status::passed;
    trial.digest = verdict.digest;
    const Judgement& judged = verdict.judgement;
    if (judged.compared > 0 && judged.not_written + judged.nans + judged.infs == 0) trial.error = judged.nmse;
    trial.hazards = verdict.hazards;
    trial.has_ended = trial.passes || verdict.status == Status::skipped;
  }
  return trials;
}

const Verdict& Laboratory::verdict(const Case& test_case) {
  const std::string name = format_case(test_case);
  if (const auto known = verdicts_.find(name); known != verdicts_.end()) return known->second;
  const Workbench* bench = workbench(test_case);
  Verdict verdict;
  verdict.test_case = test_case;
  verdict.status = Status::skipped;
  if (bench != nullptr) {
    std::vector<Verdict> verdicts = run(std::span(&test_case, 1), *bench, options_.run);
    if (!verdicts.empty()) verdict = std::move(verdicts.front());
  }
  return verdicts_.emplace(name, std::move(verdict)).first->second;
}

void Laboratory::prefetch(std::span<const Case> cases) {
  std::map<std::string, std::vector<Case>> by_functions;
  for (const Case& test_case : cases) {
    if (!verdicts_.contains(format_case(test_case))) by_functions[families::functions_text(test_case, variant())].push_back(test_case);
  }
  RunOptions options = options_.run;
  options.jobs = base::usable_processors();
  for (const auto& [functions, some] : by_functions) {
    const Workbench* bench = workbench(some.front());
    if (bench == nullptr) continue;
    for (Verdict& verdict : run(some, *bench, options)) verdicts_.emplace(format_case(verdict.test_case), std::move(verdict));
  }
}

const Verdict* Laboratory::first_failure(std::span<const Case> cases, const std::function<bool(const Verdict&)>& matters) {
  RunOptions until_failure = options_.run;
  until_failure.fail_fast = true;
  std::size_t next = 0;
  while (next < cases.size()) {
    const std::string functions = families::functions_text(cases[next], variant());
    std::size_t end = next;
    while (end < cases.size() && families::functions_text(cases[end], variant()) == functions &&
           !verdicts_.contains(format_case(cases[end])))
      ++end;
    if (end == next) {
      const Verdict& known = verdict(cases[next++]);
      if (!is_success(known.status) && matters(known)) return &known;
      continue;
    }
    const Workbench* bench = workbench(cases[next]);
    if (bench == nullptr) {
      next = end;
      continue;
    }
    std::size_t done = 0;
    for (Verdict& one : run(cases.subspan(next, end - next), *bench, until_failure)) {
      ++done;
      const std::string name = format_case(one.test_case);
      const Verdict& kept = verdicts_.insert_or_assign(name, std::move(one)).first->second;
      if (!is_success(kept.status) && matters(kept)) return &kept;
    }
    next += std::max<std::size_t>(done, 1);
  }
  return nullptr;
}

Verdict Laboratory::verdict_under(const Case& test_case, metal::Policy policy) {
  const Workbench* bench = workbench(test_case);
  Verdict verdict;
  verdict.test_case = test_case;
  verdict.status = Status::skipped;
  if (bench == nullptr) return verdict;
  RunOptions options = options_.run;
  options.execution.policy = policy;
  std::vector<Verdict> verdicts = run(std::span(&test_case, 1), *bench, options);
  return verdicts.empty() ? verdict : std::move(verdicts.front());
}

std::optional<Observation> Laboratory::observe(const Case& test_case, metal::Policy policy) {
  Observation observation;
  observation.test_case = test_case;
  observation.verdict = verdict(test_case);
  if (!has_output(observation.verdict)) return std::nullopt;
  Kept kept;
  ExecutionOptions options = options_.run.execution;
  options.policy = policy;
  options.keep_output = true;
  const metal::Schedule schedule = options.schedules.empty() ? metal::Schedule{} : options.schedules.front();
  JudgedOutput judged = execute_once(workbench(test_case)->find(test_case.variant), test_case, options, schedule, kept).judged;
  if (judged.actual.empty()) return std::nullopt;
  observation.actual = std::move(judged.actual);
  observation.expected = {std::move(judged.expected), std::move(judged.bound), {}};
  return observation;
}

Laboratory Laboratory::with_source(const std::filesystem::path& source) const {
  LaboratoryOptions options = options_;
  kernels::replace_source(*std::ranges::find(options.catalogue, options.variant, &kernels::Variant::name), source);
  Laboratory version(std::move(options));
  version.is_version_ = true;
  version.left_out_ = left_out_;
  return version;
}

}  // namespace assay::harness
