// `assay bisect`: finds the commit of a git repository with which a kernel began to fail.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command.h"
#include "base/counted.h"
#include "base/sandbox.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/own_words.h"
#include "cli/repository.h"
#include "cli/say.h"
#include "harness/cases/suite.h"
#include "harness/findings/verdict.h"
#include "harness/ledger/ledger.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

// As many failing cases are compared; more would say the same again.
constexpr std::size_t kComparedCases = 3;
constexpr std::size_t kShownLines = 12;  // of a command that could not judge

struct BisectOptions {
  Options common;
  std::string good, bad;
  bool no_compare = false;
};

// The user asked to stop. The destructors on the way clean up.
struct Interrupted {};

// What the kernel of a commit is, in the words of `git bisect run`: exit status 0, 1, 125.
enum class Quality { good, bad, untestable };

struct Trial {
  Quality quality = Quality::untestable;
  std::string why;                  // "3 of 12 cases failed", or why it is untestable
  std::string output;               // of assay, if it could not judge
  std::vector<std::string> failed;  // names of cases
};

std::string_view word_of(Quality quality) {
  switch (quality) {
    case Quality::good:
      return "good";
    case Quality::bad:
      return "bad";
    case Quality::untestable:
      return "skip";
  }
  return "";
}

// Where the user's command line says the kernel is: in a tree of the repository, whichever commit it holds.
struct KernelPlace {
  fs::path repository;  // its top folder
  fs::path started_in;  // the folder in which the user called assay, relative to that; trials run there, so that options mean the same
  fs::path kernel;      // relative to that
};

KernelPlace place_of(const std::string& kernel) {
  const fs::path here = fs::current_path();
  const fs::path asked = (here / kernel).lexically_normal();
  // At present the kernel may be gone, and its folders as well.
  fs::path folder = asked.parent_path();
  while (!fs::is_directory(folder) && folder.has_relative_path()) folder = folder.parent_path();
  KernelPlace place;
  place.repository = working_tree_of(folder);
  const fs::path in_repository = (fs::canonical(folder) / asked.lexically_relative(folder)).lexically_relative(place.repository);
  const fs::path started = fs::canonical(here).lexically_relative(place.repository);
  const bool is_outside = started.empty() || *started.begin() == "..";
  place.started_in = is_outside ? "." : started;
  place.kernel = in_repository.lexically_relative(place.started_in).lexically_normal();
  if (place.kernel.empty()) place.kernel = in_repository;
  return place;
}

// What a child assay needs of this process's environment, besides what every command gets; whatever else is in it may be secret.
std::vector<std::string> environment_of_trials() {
  std::vector<std::string> variables;
  for (const char* name :
       {"HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "ASSAY_KEY", "ASSAY_CLANG", "ASSAY_PREFIX", "ASSAY_VARIANTS", "ASSAY_CORPUS"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    // A trial runs in another folder.
    const bool is_path = std::string_view(value).find('/') != std::string_view::npos;
    variables.push_back(fmt::format("{}={}", name, is_path ? fs::absolute(value).string() : value));
  }
  return variables;
}

class Bisection {
 public:
  explicit Bisection(const BisectOptions& options)
      : options_(options),
        place_(place_of(options.common.kernel)),
        good_(commit_named(place_.repository, options.good)),
        bad_(commit_named(place_.repository, options.bad)),
        trees_(place_.repository) {
    interrupt_.start_listening();
  }

  int run() {
    require_order();
    tree_ = trees_.add("after", good_);
    require(options_.good, good_, Quality::good);
    run_git(tree_, {"checkout", "--quiet", "--detach", bad_});
    last_bad_ = require(options_.bad, bad_, Quality::bad);

    run_git(tree_, {"bisect", "start", bad_, good_});
    while (true) {
      const std::string left = run_git(tree_, {"rev-list", "--count", "refs/bisect/bad", "--not", "--glob=refs/bisect/good-*"});
      if (left == "1") return say_first_bad(run_git(tree_, {"rev-parse", "refs/bisect/bad"}));
      say("{} commits left; ", left);
      const std::string commit = run_git(tree_, {"rev-parse", "HEAD"});
      Trial trial = try_commit(commit);
      const std::string word(word_of(trial.quality));
      if (trial.quality == Quality::bad) last_bad_ = std::move(trial);
      const GitAnswer next = ask_git(tree_, {"bisect", word});
      if (next.status == kOnlySkippedLeft) return say_suspects();
      if (next.status != 0) throw std::invalid_argument(fmt::format("git bisect {} failed: {}{}", word, next.output, next.errors));
    }
  }

 private:
  static constexpr int kOnlySkippedLeft = 2;  // exit status of `git bisect`

  void require_order() const {
    if (good_ == bad_)
      throw std::invalid_argument(fmt::format("--good {} and --bad {} are the same commit, {}", options_.good, options_.bad,
                                              commit_line(place_.repository, good_)));
    if (ask_git(place_.repository, {"merge-base", "--is-ancestor", bad_, good_}).status == 0)
      throw std::invalid_argument(
          fmt::format("--bad {} is older than --good {}; bisect searches for the commit that broke the kernel, not "
                      "for the one that repaired it",
                      options_.bad, options_.good));
  }

  // Tries an end of the range, which must be what the user says.
  Trial require(const std::string& revision, const std::string& commit, Quality wanted) {
    Trial trial = try_commit(commit);
    if (trial.quality == wanted) return trial;
    const std::string name = wanted == Quality::good ? "--good " : "--bad ";
    if (trial.quality == Quality::untestable)
      throw std::invalid_argument(fmt::format("{}{} cannot be judged: {}{}", name, revision, trial.why,
                                              trial.output.empty() ? "" : fmt::format("\n{}", trial.output)));
    throw std::invalid_argument(fmt::format("{}{} is not {}: {}", name, revision, word_of(wanted), trial.why));
  }

  // Judges the commit that the tree holds, and says how it is.
  Trial try_commit(const std::string& commit) {
    Trial trial = judge();
    if (trial.quality == Quality::bad)
      put_painted(stdout, Paint::failure, "bad");
    else
      put(stdout, word_of(trial.quality));
    say(" {} ({})\n", commit_line(place_.repository, commit), trial.why);
    std::fflush(stdout);
    return trial;
  }

  Trial judge() {
    const fs::path folder = tree_ / place_.started_in;
    if (!fs::exists(folder / place_.kernel)) return {Quality::untestable, fmt::format("there is no {}", place_.kernel.string()), {}, {}};
    const fs::path ledger = trees_.folder() / "ledger.sqlite";
    fs::remove(ledger);
    Options common = options_.common;
    common.kernel = place_.kernel.string();
    // Captured inputs are the same for every commit, and often not in the repository.
    for (std::string& fixture : common.fixtures) fixture = fs::absolute(fixture).string();
    std::vector<std::string> words = {"run", "--ledger", ledger.string()};
    for (std::vector<std::string> more : {replay_options(common), further_words(common), common.words})
      words.insert(words.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    const base::CommandResult result = run_assay(words, folder);
    const int status = result.exit_code;
    Trial trial;
    if (status == kExitPassed || status == kExitFailed) {
      trial.quality = status == kExitPassed ? Quality::good : Quality::bad;
      trial.why = count_failures(ledger, trial.failed);
      return trial;
    }
    trial.why = status == kExitNothingPassed ? "every case was skipped" : "it does not compile, or cannot be run";
    trial.output = last_lines(result.output + result.errors);
    if (status != kExitNothingPassed && status != kExitUsage)
      throw std::runtime_error(fmt::format("assay ended with exit status {}:\n{}", status, trial.output));
    return trial;
  }

  static std::string count_failures(const fs::path& file, std::vector<std::string>& failed) {
    const harness::Ledger ledger = harness::Ledger::open_existing(file);
    const std::vector<harness::RunRecord> runs = ledger.runs();
    if (runs.empty()) return "no case was recorded";
    std::size_t cases = 0;
    for (const harness::CaseRecord& record : ledger.cases(runs.back().id)) {
      ++cases;
      if (record.status && !harness::is_success(*record.status)) failed.push_back(record.name);
    }
    return fmt::format("{} of {} failed", failed.size(), base::counted(cases, "case"));
  }

  static std::string last_lines(const std::string& text) {
    std::vector<std::string_view> lines = base::lines_of(text);
    if (lines.size() > kShownLines) lines.erase(lines.begin(), lines.end() - kShownLines);
    return fmt::format("{}", fmt::join(lines, "\n"));
  }

  // This program again, in a folder. Throws Interrupted.
  base::CommandResult run_assay(const std::vector<std::string>& arguments, const fs::path& folder) const {
    std::vector<std::string> words = {"env", "--chdir=" + folder.string()};
    for (std::string& variable : environment_of_trials()) words.push_back(std::move(variable));
    words.push_back(fs::read_symlink("/proc/self/exe").string());
    words.insert(words.end(), arguments.begin(), arguments.end());
    base::CommandResult result = base::run_command(words, {.stop = &interrupt_.stop()});
    if (result.is_stopped || interrupt_.stop()) throw Interrupted();
    return result;
  }

  int say_first_bad(const std::string& commit) {
    say("\nfirst bad commit: {}\n", run_git(place_.repository, {"show", "--no-color", "--no-ext-diff", "--stat",
                                                                "--format=%H%n  %s%n  %an, %ad", "--date=short", commit}));
    if (!options_.no_compare) compare(commit);
    return kExitPassed;
  }

  int say_suspects() {
    const std::string commits =
        run_git(tree_, {"log", "--no-color", "--format=  %h %s", "refs/bisect/bad", "--not", "--glob=refs/bisect/good-*"});
    say("\nthe first bad commit is one of these; those between them cannot be judged:\n{}\n", commits);
    return kExitFailed;
  }

  // Compares the kernel before and after the commit on cases that fail.
  void compare(const std::string& commit) {
    Options common = options_.common;
    if (!common.includes.empty() || !common.fixtures.empty() || !common.trust.empty() || common.strict) {
      say("no comparison: `assay compare` knows no --fixture, --strict and --trust, and would look up --include for both kernels in one "
          "folder\n");
      return;
    }
    run_git(tree_, {"bisect", "reset", commit});
    const std::string parent = run_git(place_.repository, {"rev-parse", "--verify", commit + "^"});
    trees_.add("before", parent);
    common.kernel.clear();
    std::vector<std::string> words = {"compare"};
    // Names that a user can repeat once the trees are there again.
    for (const char* name : {"before", "after"}) words.push_back((name / place_.started_in / place_.kernel).lexically_normal().string());
    for (std::string& word : replay_options(common)) words.push_back(std::move(word));
    if (!common.family.empty()) words.insert(words.end(), {"--family", common.family});
    for (std::string& word : further_words(common)) {
      if (word != "--abi") words.push_back(std::move(word));
    }
    const std::size_t count = std::min(last_bad_.failed.size(), kComparedCases);
    words.insert(words.end(), last_bad_.failed.begin(), last_bad_.failed.begin() + static_cast<std::ptrdiff_t>(count));
    say("\nbefore and after, on {} of {} failing cases (git worktree add --detach before {}; git worktree add --detach after {})\n{}",
        count, last_bad_.failed.size(), parent.substr(0, 12), commit.substr(0, 12), run_assay(words, trees_.folder()).output);
  }

  const InterruptGuard interrupt_;
  const BisectOptions& options_;
  KernelPlace place_;
  std::string good_, bad_;  // commits
  WorkingTrees trees_;
  fs::path tree_;   // of the commit that is tried
  Trial last_bad_;  // of the first bad commit in the end
};

int bisect(const BisectOptions& options) {
  try {
    return Bisection(options).run();
  } catch (const Interrupted&) {
    return kExitInterrupted;
  }
}

}  // namespace

void add_bisect(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "bisect",
                 "Find the commit with which a kernel began to fail: tries commits between a good and a bad one, as `git bisect run` does, "
                 "in a working tree of its own, and compares the kernel before and after",
                 bisect);
  command->add_option("CASE", options->common.words, "Case name, glob or suite that decides; default: the gate");
  command->add_option("--good", options->good, "A commit whose kernel passes")->type_name("REV")->required();
  command->add_option("--bad", options->bad, "A later commit whose kernel fails")->type_name("REV")->required();
  add_selection(*command, options->common);
  command->get_option("--kernel")->required();
  command->remove_option(command->get_option("--shard"));  // a part of the cases could miss those that fail
  add_execution(*command, options->common);
  add_profile(*command, options->common);
  add_jobs(*command, options->common, "cases to run");
  command->add_flag("--no-compare", options->no_compare, "Do not compare the kernel before and after the commit");
  command->footer(R"(examples
  assay bisect --good v1.2 --bad HEAD --kernel kernels/mine smoke
  assay bisect --good HEAD~20 --bad HEAD --kernel mine.metal --family FAMILY 'tq4_v1/d256/*'

A commit without the kernel, or whose kernel does not compile, is skipped. Your checkout, its index and a bisection of your own are not
touched.

exit status
  0 the first bad commit was found   1 it is one of several, because those between them cannot be judged
  2 bad usage or environment, no repository, the good revision fails or the bad one passes   130 stopped by Ctrl-C or SIGTERM)");
}

}  // namespace assay::cli
