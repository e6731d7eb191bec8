// `assay compare`: runs two iterations of a kernel on a suite and finds where their computations diverge.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest_word.h"
#include "cli/commands.h"
#include "cli/device.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/run_watch.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/cases/suite.h"
#include "harness/compare/compare.h"
#include "harness/ledger/shell_line.h"
#include "reports/comparison.h"

namespace assay::cli {
namespace {

struct CompareOptions {
  Options common;
  std::string old_kernel, new_kernel;  // names or paths
  std::string suite = "gate";
  std::string json, markdown;
  bool same_bits = false;
  bool no_parting = false;
};

// Claims about a third variant are checked on this many cases, those with the least work.
constexpr std::size_t kClaimCases = 24;

struct Iteration {
  kernels::Variant variant;
  std::vector<std::string> notes;
  std::optional<OwnKernel> own = {};  // empty for one of our variants
};

Iteration iteration_of(const std::string& kernel, const CompareOptions& options) {
  Options one = options.common;
  one.words.clear();
  Workspace ours = open_workspace(one);
  const auto named = std::ranges::find(ours.catalogue, kernel, &kernels::Variant::name);
  if (named != ours.catalogue.end()) {
    if (!options.common.family.empty() && named->family != options.common.family)
      throw std::invalid_argument(fmt::format("{} is of family {}, not of {}", kernel, named->family, options.common.family));
    return {*named, {}};
  }
  if (!std::filesystem::exists(kernel)) {
    std::vector<std::string> names;
    for (const kernels::Variant& variant : ours.catalogue) names.push_back(variant.name);
    throw std::invalid_argument(fmt::format("'{}' is not a variant, file or directory{}; `assay list` prints the variants", kernel,
                                            base::did_you_mean(kernel, names)));
  }
  one.kernel = kernel;
  const bool is_lone = std::filesystem::is_regular_file(kernel) && std::filesystem::path(kernel).extension() != ".toml";
  if (!is_lone) {
    one.limits.clear();
    one.constants.clear();
  }
  Workspace workspace = open_workspace(one);
  if (is_lone) find_limits(workspace, one);
  Iteration iteration{workspace.catalogue.front(), {}, OwnKernel{kernel, workspace.catalogue.front().name}};
  // The compared kernel may have the name of one of our variants.
  for (const std::string& note : workspace.notes) {
    if (note != workspace.replaced_note) iteration.notes.push_back(note);
  }
  return iteration;
}

// The two kernels come first, under different names, followed by the variants whose helpers they may use.
std::vector<kernels::Variant> catalogue_of(Iteration& before, Iteration& after, const CompareOptions& options) {
  if (before.variant.name == after.variant.name) {
    before.variant.name += "@old";
    after.variant.name += "@new";
  }
  std::vector<kernels::Variant> catalogue = open_workspace(options.common).catalogue;
  std::erase_if(catalogue,
                [&](const kernels::Variant& variant) { return variant.name == before.variant.name || variant.name == after.variant.name; });
  catalogue.insert(catalogue.begin(), {before.variant, after.variant});
  return catalogue;
}

std::string command_of(const CompareOptions& options) {
  std::vector<std::string> words = {"assay", "compare", options.old_kernel, options.new_kernel};
  const auto add = [&](const char* name, std::string value) { words.insert(words.end(), {name, std::move(value)}); };
  if (!options.common.family.empty()) add("--family", options.common.family);
  if (options.suite != CompareOptions{}.suite) add("--suite", options.suite);
  if (options.common.seed != 0) add("--seed", fmt::to_string(options.common.seed));
  for (std::string& word : replay_options(options.common)) words.push_back(std::move(word));
  words.insert(words.end(), options.common.words.begin(), options.common.words.end());
  return harness::shell_line(words);
}

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options)
      : options_(options),
        common_(options.common),
        before_(iteration_of(options.old_kernel, options)),
        after_(iteration_of(options.new_kernel, options)) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    const ChosenDevice chosen = choose_device(options_.common);
    catalogue_ = catalogue_of(before_, after_, options_);
    for (const Iteration* iteration : {&before_, &after_}) {
      if (iteration->own) common_.own_kernels.emplace(iteration->variant.name, *iteration->own);
    }
    const harness::Pairing pairing = harness::pair_cases(
        {harness::parse_suite(options_.suite), options_.common.words, options_.common.seed}, before_.variant, after_.variant);
    if (pairing.pairs.empty())
      throw std::invalid_argument(
          fmt::format("{} and {} have no case in common: {}", before_.variant.name, after_.variant.name,
                      pairing.only_old.empty() ? pairing.only_new.front().reason : pairing.only_old.front().reason));
    harness::WorkbenchOptions preparing = workbench_options(options_.common, Workspace{});
    harness::RunOptions running = run_options(options_.common);
    use_device(chosen, preparing, running, pairing.pairs.size(), report_.notes);
    const harness::Workbench workbench(catalogue_, prepared_cases(pairing), preparing);

    report_.command = command_of(options_);
    report_.replay_options = replay_options(options_.common);
    report_.suite = options_.suite;
    report_.old_variant = before_.variant;
    report_.new_variant = after_.variant;
    add_notes(workbench);
    {
      RunWatch watch(common_, 2 * pairing.pairs.size(), interrupt_);
      report_.cases = harness::compare_cases(pairing.pairs, workbench, running, interrupt_.stop(), watch);
    }
    report_.cases.only_old.insert(report_.cases.only_old.begin(), pairing.only_old.begin(), pairing.only_old.end());
    report_.cases.only_new.insert(report_.cases.only_new.begin(), pairing.only_new.begin(), pairing.only_new.end());
    if (!report_.cases.stopped) look_closer(workbench, running);
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    say("{}", reports::comparison_text(report_));
    if (!options_.json.empty()) write_file(options_.json, reports::comparison_json(report_));
    if (!options_.markdown.empty()) write_file(options_.markdown, reports::comparison_markdown(report_));
    return status();
  }

 private:
  // Forwards the request to stop a run, and prints nothing.
  class Quiet final : public harness::RunListener {
   public:
    explicit Quiet(const InterruptGuard& interrupt) : interrupt_(interrupt) { interrupt_.start_listening(); }
    ~Quiet() override { interrupt_.stop_listening(); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
    void started(const harness::Case&) override {}
    void finished(const harness::Verdict&, const harness::Summary&) override {}
    bool tick() override { return !interrupt_.end_at_once(); }

   private:
    const InterruptGuard& interrupt_;
  };

  [[nodiscard]] const kernels::Variant* third_party(const kernels::Claim& claim) const {
    if (claim.same_bits_as == before_.variant.name || claim.same_bits_as == after_.variant.name) return nullptr;
    const auto found = std::ranges::find(catalogue_, claim.same_bits_as, &kernels::Variant::name);
    return found == catalogue_.end() || found->family != before_.variant.family ? nullptr : &*found;
  }

  // Includes the cases of claims, so that everything is compiled before anything runs.
  [[nodiscard]] std::vector<harness::Case> prepared_cases(const harness::Pairing& pairing) const {
    std::vector<harness::Case> cases;
    for (const harness::CasePair& pair : pairing.pairs) {
      cases.push_back(pair.old_case);
      cases.push_back(pair.new_case);
      for (const kernels::Variant* claimant : {&before_.variant, &after_.variant}) {
        for (const kernels::Claim& claim : claimant->claims) {
          const kernels::Variant* third = third_party(claim);
          if (third == nullptr) continue;
          harness::Case of_third = pair.new_case;
          of_third.variant = third->name;
          if (harness::within_limits(*third, of_third)) cases.push_back(std::move(of_third));
        }
      }
    }
    return cases;
  }

  void add_notes(const harness::Workbench& workbench) {
    if (named_device(options_.common).is_gpu()) report_.notes.emplace_back("costs are not compared: only the simulator counts them");
    if (const std::string note = random_seed_note(options_.common); !note.empty()) report_.notes.push_back(note);
    note_missing_code(workbench, report_.notes);
    for (const Iteration* iteration : {&before_, &after_}) {
      report_.notes.insert(report_.notes.end(), iteration->notes.begin(), iteration->notes.end());
      const harness::PreparedVariant& prepared = workbench.find(iteration->variant.name);
      if (!prepared.weaker_storage.empty())
        report_.notes.push_back(fmt::format("declared accuracy of {}: {}", iteration->variant.name, prepared.weaker_storage));
    }
  }

  void look_closer(const harness::Workbench& workbench, const harness::RunOptions& running) {
    Quiet quiet(interrupt_);
    const std::atomic<bool>& stop = interrupt_.stop();
    try_claims(workbench, running, quiet);
    const bool is_gpu = running.execution.device.is_gpu();
    if (!is_gpu) report_.costs = harness::compare_costs(report_.cases.cases, workbench, running, stop, quiet);
    if (stop || options_.no_parting) return;
    report_.smallest = harness::smallest_differing(report_.cases.cases, workbench, running, stop, quiet);
    if (!report_.smallest || stop) return;
    if (is_gpu) {
      report_.parting.reason = "only the simulator records the values of lines; compare this case without --device";
      return;
    }
    report_.parting = harness::part(*report_.smallest, workbench, running, quiet);
  }

  void try_claims(const harness::Workbench& workbench, const harness::RunOptions& running, Quiet& quiet) {
    for (const bool is_new : {false, true}) {
      const kernels::Variant& claimant = is_new ? after_.variant : before_.variant;
      const kernels::Variant& other = is_new ? before_.variant : after_.variant;
      for (const kernels::Claim& claim : claimant.claims) {
        if (claim.same_bits_as.empty()) continue;  // not about a variant
        const kernels::Variant* third = third_party(claim);
        if (claim.same_bits_as != other.name && third == nullptr) {
          report_.notes.push_back(fmt::format("{} claims {}, but there is no such variant", claimant.name, claim.text));
          continue;
        }
        if (third == nullptr) {
          const std::vector<harness::CaseComparison> meant = harness::claimed_cases(claim, report_.cases.cases, is_new);
          report_.claims.push_back(harness::claim_result(claim, claimant.name, meant));
          continue;
        }
        const std::vector<harness::CasePair> pairs =
            harness::claimed_pairs(claim, claimant, *third, report_.cases.cases, is_new, kClaimCases);
        const harness::ComparedCases tried = harness::compare_cases(pairs, workbench, running, interrupt_.stop(), quiet);
        report_.claims.push_back(harness::claim_result(claim, claimant.name, tried.cases));
      }
    }
  }

  [[nodiscard]] int status() const {
    const std::vector<harness::CaseComparison>& cases = report_.cases.cases;
    const auto any = [&](const auto& is_one) { return std::ranges::any_of(cases, is_one); };
    if (any([](const harness::CaseComparison& one) { return one.broke(); })) return kExitFailed;
    // A case without output does not count as bit-identical.
    if (options_.same_bits && any([](const harness::CaseComparison& one) { return !one.is_compared || !one.is_same_bits; }))
      return kExitFailed;
    if (interrupt_.stop()) return kExitInterrupted;
    return cases.empty() ? kExitNothingPassed : kExitPassed;
  }

  const InterruptGuard interrupt_;
  const CompareOptions& options_;
  Options common_;  // also used for replay lines
  Iteration before_, after_;
  std::vector<kernels::Variant> catalogue_;
  reports::ComparisonRun report_;
};

int compare(const CompareOptions& options) {
  require_writable(options.json);
  require_writable(options.markdown);
  return Comparison(options).run();
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "compare",
                 "Compare two iterations of a kernel on the same cases: differing bits, new failures and repaired cases, declared claims, "
                 "costs side by side, and the first chunk and source line where they diverge",
                 compare);
  command->add_option("OLD", options->old_kernel, "A variant's name, a directory with a variant.toml, or a .metal file with --family")
      ->required();
  command->add_option("NEW", options->new_kernel, "The newer kernel, in the same form")->required();
  command->add_option("CASE", options->common.words,
                      "Compare only these: case names, or globs over the suite's cases, written for either variant");
  command->add_option("--suite", options->suite, "Suite to take the cases from; superseded variants also use the whole suite")
      ->type_name("SUITE")
      ->capture_default_str();
  command->add_option("--family", options->common.family, "Family that a .metal file implements")->type_name("NAME");
  add_lone(*command, options->common);
  add_compilation(*command, options->common);
  command->add_option("--variants", options->common.variants, "Directory of variants to use instead of ours")->type_name("DIR");
  add_seed(*command, options->common);
  add_execution(*command, options->common);
  add_device(*command, options->common);
  add_profile(*command, options->common);
  command->remove_option(command->get_option("--fixture"));
  add_jobs(*command, options->common, "cases to run");
  command->add_flag("--same-bits", options->same_bits, "Count every differing bit as a failure");
  command->add_flag("--no-parting", options->no_parting, "Do not search for the line where they diverge");
  command->add_option("--json", options->json, "Write everything as JSON")->type_name("FILE");
  command->add_option("--markdown", options->markdown, "Write the comparison as Markdown, for a pull request")->type_name("FILE");
  command->footer(R"(examples
  assay compare tq4_v1 mine/new --suite smoke
  assay compare old.metal new.metal --family FAMILY --json compare.json
  assay compare tqhb_v1 tqhb_v2 'tqhb_v1/d256/*'
  assay compare tq4_v1 mine.metal --family FAMILY --same-bits  for a change that must not change any output
  assay compare tq4_v1 mine/new --suite long --device cuda     long contexts, on a GPU

exit status
  0 no case that passed with OLD fails with NEW   1 some do (with --same-bits: or some bit differs)
  2, 3, 4, 130 as for other commands)");
}

}  // namespace assay::cli
