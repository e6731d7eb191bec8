// `assay mutate`: plants small mistakes in a kernel and counts how many its suite detects.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/program_build.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "cli/workspace.h"
#include "harness/cases/suite.h"
#include "harness/ledger/shell_line.h"
#include "harness/mutate/campaign.h"
#include "harness/mutate/score.h"
#include "kernels/equivalent_mutants.h"
#include "reports/mutation.h"

namespace assay::cli {
namespace {

struct MutateOptions {
  Options common;  // --family, --limit, --constant, --variants, --set, --jobs
  std::string kernel;
  std::string suite = "gate";
  std::vector<std::string> policies = {"native", "checked"};
  std::uint64_t seed = 0;
  std::size_t max = std::numeric_limits<std::size_t>::max();
  std::vector<std::string> ids;
  double timeout = 10;
  double budget_minutes = 0;  // 0: none
  double minimum_score = 95;
  std::string json, markdown;
  bool list = false;
};

constexpr std::size_t kPlainMutants = 25;  // mutants between two progress lines that are not on a terminal

class CampaignProgress final : public harness::CampaignListener {
 public:
  void judged(const harness::Mutant& mutant, const harness::TrialResult& result, std::size_t done, std::size_t total) override {
    if (result.fate == harness::Fate::survived) ++survived_;
    const std::string line = fmt::format("{} of {} mutants, {} survived (including declared equivalents)", done, total, survived_);
    if (is_terminal_) {
      control(stderr, Control::clear_line);
      say(stderr, "{}  {} {}", line, to_string(result.fate), mutant.id());
      if (done == total) control(stderr, Control::clear_line);
    } else if (done % kPlainMutants == 0 && done != total) {
      say(stderr, "{}\n", line);
    }
    std::fflush(stderr);
  }

 private:
  std::size_t survived_ = 0;
  bool is_terminal_ = is_terminal(stderr);
};

std::string command_of(const MutateOptions& options) {
  std::vector<std::string> words = {"assay", "mutate", options.kernel};
  const auto add = [&](const char* name, std::string value) { words.insert(words.end(), {name, std::move(value)}); };
  if (!options.common.family.empty()) add("--family", options.common.family);
  for (std::string& word : replay_options(options.common)) words.push_back(std::move(word));
  if (options.policies != MutateOptions{}.policies) add("--policies", fmt::format("{}", fmt::join(options.policies, ",")));
  if (options.suite != "gate") add("--suite", options.suite);
  if (options.max != std::numeric_limits<std::size_t>::max()) {
    add("--max", fmt::to_string(options.max));
    add("--seed", fmt::to_string(options.seed));
  }
  for (const std::string& id : options.ids) add("--mutant", id);
  return harness::shell_line(words);
}

// The name of a variant, or the path of a kernel.
harness::TrialSubject subject_of(const MutateOptions& options) {
  Options common = options.common;
  common.limits.clear();
  common.constants.clear();
  Workspace workspace = open_workspace(common);
  const bool is_known = std::ranges::find(workspace.catalogue, options.kernel, &kernels::Variant::name) != workspace.catalogue.end();
  if (!is_known || !options.common.limits.empty() || !options.common.constants.empty()) {
    common = options.common;
    if (!is_known) common.kernel = options.kernel;
    workspace = open_workspace(common);
  }
  find_limits(workspace, common);
  harness::TrialSubject subject;
  subject.variant = workspace.user_variant.empty() ? options.kernel : workspace.user_variant;
  const auto variant = std::ranges::find(workspace.catalogue, subject.variant, &kernels::Variant::name);
  if (!options.common.family.empty() && variant->family != options.common.family) {
    throw std::invalid_argument(fmt::format("{} is of family {}, not of {}", subject.variant, variant->family, options.common.family));
  }
  subject.cases = harness::suite_cases(harness::parse_suite(options.suite), *variant, 0);
  subject.policies.clear();
  for (const std::string& policy : options.policies) {
    if (std::ranges::count(options.policies, policy) > 1) throw std::invalid_argument(fmt::format("--policies: '{}' occurs twice", policy));
    subject.policies.push_back(metal::parse_policy(policy));
  }
  subject.fields = workbench_options(common, workspace).fields;
  subject.catalogue = std::move(workspace.catalogue);
  subject.profile = oracles::profile_named(common.profile);
  subject.judge_version = base::build_of_program();
  return subject;
}

std::vector<harness::Mutant> choose(const MutateOptions& options, const std::vector<harness::Mutant>& all) {
  if (options.ids.empty()) return harness::sample(all, options.max, options.seed);
  std::vector<harness::Mutant> chosen;
  for (const std::string& id : options.ids) {
    const auto found = std::ranges::find_if(all, [&](const harness::Mutant& mutant) { return mutant.id() == id; });
    if (found == all.end())
      throw std::invalid_argument(fmt::format("no mutant '{}'; `assay mutate {} --list` prints all mutants", id, options.kernel));
    chosen.push_back(*found);
  }
  return chosen;
}

int mutate(const MutateOptions& options) {
  require_writable(options.json);
  require_writable(options.markdown);
  const InterruptGuard interrupt;
  const auto start = std::chrono::steady_clock::now();
  harness::TrialSubject subject = subject_of(options);
  const kernels::Variant variant = *std::ranges::find(subject.catalogue, subject.variant, &kernels::Variant::name);
  const harness::Source source(kernels::read_text(variant.source), variant.source.lexically_normal().string());
  const std::vector<harness::Mutant> all = harness::make_mutants(source);
  const std::vector<harness::Mutant> mutants = choose(options, all);
  if (options.list) {
    for (const harness::Mutant& mutant : mutants) say("{}\n", diff_hunk(source, mutant));
    say("{}\n", base::counted(mutants.size(), "mutant"));
    return kExitPassed;
  }
  if (mutants.empty()) throw std::invalid_argument(fmt::format("{} contains nothing to mutate", source.name()));
  const std::vector<kernels::EquivalentMutant> declared = kernels::read_equivalent_mutants(variant.source);

  reports::MutationRun run;
  run.command = command_of(options);
  run.variant = variant.name;
  run.suite = options.suite;
  run.policies = options.policies;
  run.cases = subject.cases.size();
  run.all_mutants = all.size();
  run.minimum_score = options.minimum_score / 100;
  const harness::Trial trial(std::move(subject));

  harness::CampaignOptions campaign;
  campaign.jobs = job_count(options.common);
  campaign.timeout = std::chrono::duration<double>(options.timeout);
  if (options.budget_minutes > 0) campaign.budget = std::chrono::duration<double>(60 * options.budget_minutes);
  CampaignProgress progress;
  // Either signal stops the campaign after the running mutants, and prints the results so far.
  interrupt.start_listening();
  const std::vector<harness::TrialResult> results = harness::run_campaign(trial, source, mutants, campaign, interrupt.stop(), progress);
  interrupt.stop_listening();
  const harness::MutationScore score = harness::score_mutants(source, all, mutants, results, declared);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  say("{}", reports::mutation_text(run, source, score));
  if (!options.json.empty()) write_file(options.json, reports::mutation_json(run, source, score));
  if (!options.markdown.empty()) write_file(options.markdown, reports::mutation_markdown(run, source, score));
  if (interrupt.stop()) return kExitInterrupted;
  const bool is_faulty = std::ranges::any_of(score.mutants, [](const harness::JudgedMutant& judged) {
    return judged.result.fate == harness::Fate::unjudged && judged.result.cut != harness::Cut::out_of_budget;
  });
  if (is_faulty) return kExitInternal;
  if (!score.stale.empty() || !score.refuted.empty()) return kExitFailed;
  if (score.tally.unjudged != 0) return kExitUnfinished;
  if (score.tally.killed + score.tally.survived == 0) throw std::invalid_argument("every mutant is stillborn or equivalent: no score");
  return score.tally.score() >= run.minimum_score ? kExitPassed : kExitFailed;
}

}  // namespace

// Long because of its help texts.
void add_mutate(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "mutate",
                 "Plant small mistakes in a kernel, one at a time, and count how many its suite detects; results are stored, so "
                 "an interrupted run continues where it stopped",
                 mutate);
  command->add_option("KERNEL", options->kernel, "A variant's name, a .metal file, or a directory with a variant.toml")->required();
  command->add_option("--family", options->common.family, "Family that a .metal file implements")->type_name("NAME");
  add_lone(*command, options->common);
  add_compilation(*command, options->common);
  command->add_option("--variants", options->common.variants, "Directory of variants to use instead of ours")->type_name("DIR");
  add_repeatable(*command, "--set", options->common.fields, "NAME=VALUE",
                 "Value of a struct field that the family does not define; may be repeated");
  command->add_option("--suite", options->suite, "Cases that judge the mutants")->type_name("SUITE")->capture_default_str();
  command->add_option("--max", options->max, "Try at most N mutants, sampled with --seed")->type_name("N")->check(whole_number(1));
  command->add_option("--seed", options->seed, "Seed of the sample of --max")->type_name("N")->check(whole_number());
  command->add_option("--mutant", options->ids, "Try only this mutant (operator:line:column:number); may be repeated")->type_name("ID");
  command->add_option("--timeout", options->timeout, "Time limit of a case in seconds; at least ten times the slowest case of the original")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--policies", options->policies,
                   "Policies, separated by commas, tried in order until one kills the mutant: native (whole suite), checked and shadow "
                   "(only those cases "
                   "that are also in smoke, because these policies are much slower)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of({"native", "checked", "shadow"}))
      ->type_name("P[,P...]")
      ->capture_default_str();
  command
      ->add_option("--budget", options->budget_minutes,
                   "Start no more mutants after this many minutes; run the same command later to continue")
      ->type_name("MINUTES")
      ->check(CLI::Range(0.001, 1e6));
  add_profile(*command, options->common);
  add_jobs(*command, options->common, "mutants to try");
  command->add_option("--minimum-score", options->minimum_score, "Score in percent below which the exit status is 1")
      ->type_name("P")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command->add_option("--json", options->json, "Write everything as JSON")->type_name("FILE");
  command->add_option("--markdown", options->markdown, "Write the record as Markdown")->type_name("FILE");
  command->add_flag("--list", options->list, "Print the mutants as diffs, without trying them");
  command->footer(
      "examples\n"
      "  assay mutate reduce_v1                                        all mutants, with the gate and policy checked\n"
      "  assay mutate tq4_v1 --max 150 --markdown mutants.md           a sample, recorded in a file\n"
      "  assay mutate mine.metal --family FAMILY --budget 30           half an hour; repeat it to continue\n"
      "  assay mutate tqhb_v2 --mutant drop_barrier:318:9:1 --policies checked\n\n"
      "score = killed / (killed + survived); equivalent mutants and those that do not compile are not counted. Declare mutants that no\n"
      "test can tell from the original in equivalent.toml beside the source, with a reason (grammar: kernels/equivalent_mutants.h).\n\n"
      "policies: a mutant is killed by a verdict other than passed. Shadow compares values as native does and fails no case because of\n"
      "logic errors alone, so it is not among the default policies.\n\n"
      "Results are stored per executable of assay. The case that killed a mutant is stored for all executables: another executable\n"
      "tries that case first, so a mutant that is killed again costs little more than one case.\n\n"
      "exit status 0: score reached; 1: score not reached, or an entry of equivalent.toml fits no mutant or a killed one; 5: --budget\n"
      "ended before all mutants were judged; 2, 3, 130: as for other commands");
}

}  // namespace assay::cli
