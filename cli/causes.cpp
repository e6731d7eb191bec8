// Groups the failures of a run by cause, variant by variant.
#include "cli/causes.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/counted.h"
#include "base/text.h"
#include "cli/failure_keeper.h"
#include "cli/say.h"
#include "families/registry.h"
#include "kernels/variant.h"
#include "reports/triage_record.h"

namespace assay::cli {
namespace {

std::vector<std::filesystem::path> given_files(const std::vector<std::string>& against) {
  std::vector<std::filesystem::path> files;
  for (const std::string& file : against) {
    if (std::filesystem::is_directory(file)) {
      files.push_back(kernels::variant_from_path(file, {}, families::contracts()).source);
      continue;
    }
    if (!std::filesystem::is_regular_file(file)) throw std::invalid_argument(fmt::format("--against {}: there is no such file", file));
    files.emplace_back(file);
  }
  return files;
}

// Our own sources of the family.
std::vector<std::filesystem::path> relatives_of(const std::string& family) {
  std::vector<std::filesystem::path> files;
  for (const kernels::Variant& variant : kernels::find_variants(kernels::default_variants_directory(), families::contracts())) {
    if (variant.family == family) files.push_back(variant.source);
  }
  return files;
}

// Cases ran with the text that was compiled, and lines and edits are those of the text on disk.
void require_unchanged(const KernelTexts& texts, const std::string& variant) {
  const std::filesystem::path changed = texts.changed(variant);
  if (!changed.empty())
    throw harness::SourceChanged(
        fmt::format("{} was saved while {} was triaged: what was found is about two versions of it and is discarded; run it again",
                    base::on_one_line(changed.string()), variant));
}

// What is known before the page is: nobody has to wait for the lines to know the rest.
class Waiting {
 public:
  void say_first_answer(const harness::Finding& finding, double repair_seconds) {
    const harness::Classification& found = finding.classification;
    say(stderr,
        "assay: after {:.1f} s: {}{}{}; the smallest case: {}; now looking for the line, and up to {:g} s for a repair (--fast leaves "
        "this out)\n",
        seconds(), found.kind, found.says.empty() ? "" : ": ", found.says, harness::format_case(finding.minimal.test_case), repair_seconds);
    said_at_ = seconds();
  }

  void say_tried(std::size_t tried, std::size_t edits) {
    constexpr double often = 10;
    if (seconds() - said_at_ < often) return;
    said_at_ = seconds();
    say(stderr, "assay: after {:.0f} s: {} of {} small edits tried\n", said_at_, tried, edits);
  }

 private:
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double said_at_ = 0;
};

// A version that does not compile explains nothing, and the user has to know that.
void require_compiles(harness::Laboratory& laboratory, const std::filesystem::path& against, const harness::Case& test_case) {
  // What does not compile in the kernel itself, and no case needs, need not compile in its other version either.
  if (!laboratory.problem(test_case).empty()) return;
  const std::string problem = laboratory.with_source(against).problem(test_case);
  if (!problem.empty())
    throw std::invalid_argument(fmt::format("--against {} is not a right version: it does not compile for {}\n{}", against.string(),
                                            harness::format_case(test_case), problem));
}

}  // namespace

void find_causes(const TriageSetting& setting, const Outcomes& outcomes, const InterruptGuard& interrupt,
                 const std::function<void(reports::TriagedVariant)>& tell) {
  std::vector<std::string> variants;
  for (const harness::Verdict& verdict : outcomes.failures) {
    if (std::ranges::find(variants, verdict.test_case.variant) == variants.end()) variants.push_back(verdict.test_case.variant);
  }
  for (const std::string& variant : variants) {
    if (interrupt.stop() && variant != variants.front()) return;
    std::vector<harness::Verdict> of_variant;
    std::ranges::copy_if(outcomes.failures, std::back_inserter(of_variant),
                         [&](const harness::Verdict& verdict) { return verdict.test_case.variant == variant; });
    const auto check_source = [&] { require_unchanged(setting.workspace.texts, variant); };
    harness::Laboratory laboratory({.catalogue = setting.workspace.catalogue,
                                    .variant = variant,
                                    .workbench = setting.bench,
                                    .run = setting.running,
                                    .check_source = check_source});
    harness::TriageOptions limits = setting.limits;
    limits.against = given_files(setting.against);
    std::ranges::copy_if(outcomes.passed, std::back_inserter(limits.passed),
                         [&](const harness::Case& test_case) { return test_case.variant == variant; });
    limits.relatives = relatives_of(laboratory.variant().family);
    for (const std::filesystem::path& file : limits.against) require_compiles(laboratory, file, of_variant.front().test_case);
    Waiting waiting;
    // In a log, the page itself comes soon enough. Lines are not drawn again, so any terminal will do.
    if (!limits.is_fast && isatty(fileno(stderr)) == 1) {
      limits.first_answer = [&](const harness::Finding& finding) { waiting.say_first_answer(finding, limits.repair_budget.count()); };
      limits.edits_tried = [&](std::size_t tried, std::size_t edits) { waiting.say_tried(tried, edits); };
    }
    reports::TriagedVariant found{.variant = variant, .page = {}, .findings = harness::triage(laboratory, of_variant, limits)};
    reports::TriagePage& page = found.page;
    page.subject = fmt::format("{} ({})", variant, laboratory.variant().source.string());
    page.source_file = laboratory.variant().source.string();
    page.source_text = kernels::read_text(laboratory.variant().source);
    check_source();
    page.failing = of_variant.size();
    page.selected = static_cast<std::size_t>(std::ranges::count(setting.workspace.selection.cases, variant, &harness::Case::variant));
    page.replay = [&options = setting.options](const std::string& name) { return replay_line(options, name); };
    page.notes = setting.workspace.notes;
    tell(std::move(found));
  }
}

std::vector<harness::FindingRecord> causes_of_run(const Options& options, const Workspace& workspace, const harness::Workbench& workbench,
                                                  const harness::RunOptions& running, const std::vector<std::string>& failing,
                                                  Outcomes outcomes, const InterruptGuard& interrupt) {
  std::set<std::string> missing(failing.begin(), failing.end());
  for (const harness::Verdict& verdict : outcomes.failures) missing.erase(harness::format_case(verdict.test_case));
  std::vector<harness::Case> again;
  std::ranges::copy_if(workspace.selection.cases, std::back_inserter(again),
                       [&](const harness::Case& test_case) { return missing.contains(harness::format_case(test_case)); });
  harness::RunOptions whole = running;
  whole.fail_fast = false;
  if (!again.empty()) {
    FailureKeeper keeper;
    static_cast<void>(harness::run_cases(again, workbench, whole, interrupt.stop(), keeper));
    std::ranges::move(keeper.outcomes.failures, std::back_inserter(outcomes.failures));
  }
  std::vector<harness::FindingRecord> records;
  if (outcomes.failures.empty() || interrupt.stop()) return records;
  say("triage of {} ...\n", base::counted(outcomes.failures.size(), "failing case"));
  std::fflush(stdout);
  const harness::WorkbenchOptions bench = workbench_options(options, workspace);
  const auto keep = [&](const reports::TriagedVariant& found) {
    for (const harness::Finding& finding : found.findings) {
      const harness::FindingRecord& record = records.emplace_back(reports::record_of(found.page, finding));
      say("cause: {}: {} of {} of {}{}; the smallest: {}\n", reports::headline_of(record), record.cases.size(),
          base::counted(record.failing, "failing case"), record.variant,
          record.diff.empty() ? "" : ", repaired by a change that reports show", record.replay);
    }
    std::fflush(stdout);
  };
  try {
    find_causes({.options = options, .workspace = workspace, .bench = bench, .running = whole, .against = {}, .limits = {}}, outcomes,
                interrupt, keep);
  } catch (const harness::SourceChanged& changed) {
    // The verdicts of the run stay.
    say(stderr, "assay: {}\n", changed.what());
  }
  return records;
}

}  // namespace assay::cli
