// Repeats failing cases with the bounds of weaker storage.
#include "cli/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "harness/cases/case.h"
#include "harness/execute/execute.h"
#include "reports/shared_by_failures.h"

namespace assay::cli {
namespace {

struct Declaration {
  std::string text;
  kernels::Accuracy accuracy;
};

std::vector<Declaration> declarations_of(const kernels::Variant& variant, const std::string& format) {
  std::vector<Declaration> all;
  for (const std::string_view key : variant.contract->accuracy_formats) {
    all.push_back({fmt::format("{} = \"{}\"", key, format), variant.accuracy});
    all.back().accuracy.formats.insert_or_assign(std::string(key), format);
  }
  all.push_back({fmt::format("stores = [\"{}\"]", format), variant.accuracy});
  all.back().accuracy.stores = {format};
  if (format == "half") {
    all.push_back({"accumulator = \"half\"", variant.accuracy});
    all.back().accuracy.accumulator = "half";
  }
  return all;
}

class Tally final : public harness::RunListener {
 public:
  Tally(reports::StorageTrial& trial, const std::atomic<bool>& stop) : trial_(trial), stop_(stop) {}
  void started(const harness::Case& /*test_case*/) override {}
  void finished(const harness::Verdict& verdict, const harness::Summary& /*so_far*/) override {
    const auto& mistrusted = verdict.judgement.mistrusted;
    if (verdict.status == harness::Status::passed) {
      ++trial_.passed;
      trial_.largest_ratio = std::max(trial_.largest_ratio, verdict.judgement.max_ratio);
    } else if (verdict.status == harness::Status::mistrusted && mistrusted && verdict.judgement.above_bound == 0) {
      ++trial_.loose;
    } else {
      ++trial_.failed;
    }
  }
  [[nodiscard]] bool tick() override { return !stop_; }

 private:
  reports::StorageTrial& trial_;
  const std::atomic<bool>& stop_;
};

reports::StorageTrial try_declaration(const Declaration& declaration, const harness::PreparedVariant& prepared,
                                      std::span<const harness::Case> cases, const harness::RunOptions& running,
                                      const std::atomic<bool>& stop) {
  kernels::Variant declared = prepared.variant;
  declared.accuracy = declaration.accuracy;
  harness::ExecutionOptions execution = running.execution;
  execution.judged_as = &declared;
  const harness::CaseFunction execute = [&](const harness::Case& one) { return harness::execute_case(prepared, one, execution); };
  reports::StorageTrial trial{.declaration = declaration.text};
  Tally tally(trial, stop);
  // The worst cases come first and refute nearly every wrong declaration.
  const std::size_t first = std::min<std::size_t>(4, cases.size());
  static_cast<void>(harness::run_cases(cases.first(first), execute, running, stop, tally));
  if (trial.failed < 2 && !stop) static_cast<void>(harness::run_cases(cases.subspan(first), execute, running, stop, tally));
  return trial;
}

}  // namespace

std::vector<std::string> storage_hints(std::span<const harness::Case> cases, const harness::Workbench& workbench,
                                       const harness::RunOptions& running, const std::atomic<bool>& stop,
                                       std::span<const harness::CaseRecord> records) {
  std::vector<std::string> hints;
  harness::RunOptions all = running;
  all.fail_fast = false;
  for (const auto& [name, prepared] : workbench.variants()) {
    if (!prepared.weaker_storage.empty() || stop) continue;
    std::vector<harness::CaseRecord> own;
    std::ranges::copy_if(records, std::back_inserter(own), [&](const harness::CaseRecord& record) { return record.variant == name; });
    std::vector<harness::Case> repeated;
    for (const harness::CaseRecord* record : reports::failures_to_repeat(own)) {
      const auto found = std::ranges::find(cases, record->name, [](const harness::Case& one) { return harness::format_case(one); });
      if (found != cases.end()) repeated.push_back(*found);
    }
    if (repeated.empty()) continue;
    for (const char* format : {"half", "bf16"}) {
      std::vector<reports::StorageTrial> trials;
      for (const Declaration& one : declarations_of(prepared.variant, format))
        trials.push_back(try_declaration(one, prepared, repeated, all, stop));
      std::string hint = stop ? std::string() : reports::storage_hint(name, std::move(trials));
      if (hint.empty()) continue;
      hints.push_back(std::move(hint));
      break;  // a coarser format explains all that a finer one does
    }
  }
  return hints;
}

}  // namespace assay::cli
