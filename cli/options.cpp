// Defines the options that several commands share.
#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <random>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/nearest_word.h"
#include "base/sandbox.h"
#include "base/text.h"
#include "oracles/arithmetic.h"
#include "reports/formats.h"

namespace assay::cli {

CLI::Validator whole_number(std::uint64_t least) {
  const auto refusal = [least](std::string& text) -> std::string {
    if (const auto value = base::number_of<std::uint64_t>(text); value && *value >= least) return {};
    return fmt::format("'{}' is not an integer from {} to {}", text, least, std::numeric_limits<std::uint64_t>::max());
  };
  return {refusal, ""};
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string description = fmt::format("{{{}}}", fmt::join(words, ","));
  const auto refusal = [words = std::move(words)](std::string& text) -> std::string {
    if (std::ranges::find(words, text) != words.end()) return {};
    return fmt::format("'{}' is none of {}{}", text, fmt::join(words, ", "), base::did_you_mean(text, words));
  };
  return {refusal, description};
}

namespace {

// An empty value, as in --schedule "$SCHEDULE" with an unset variable, must not select the default silently.
CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? std::string("is empty; omit the option for its default") : std::string(); }, ""};
}

// An option of a recorded run that its replay repeats, unless it has its default.
struct ReplayOption {
  const char* name;
  std::variant<std::string Options::*, std::vector<std::string> Options::*, unsigned Options::*, double Options::*> member;
};
constexpr ReplayOption kReplayOptions[] = {{"--kernel", &Options::kernel},
                                           {"--family", &Options::family},
                                           {"--limit", &Options::limits},
                                           {"--constant", &Options::constants},
                                           {"--include", &Options::includes},
                                           {"--define", &Options::defines},
                                           {"--metal-version", &Options::metal_version},
                                           {"--variants", &Options::variants},
                                           {"--trust", &Options::trust},
                                           {"--fixture", &Options::fixtures},
                                           {"--set", &Options::fields},
                                           {"--device", &Options::device},
                                           {"--order", &Options::order},
                                           {"--math", &Options::math},
                                           {"--policy", &Options::policy},
                                           {"--engine", &Options::engine},
                                           {"--threads", &Options::threads},
                                           {"--timeout", &Options::timeout},
                                           {"--memory", &Options::memory},
                                           {"--fp-contract", &Options::fp_contract},
                                           {"--profile", &Options::profile}};

}  // namespace

void add_repeatable(CLI::App& command, const char* name, std::vector<std::string>& values, const char* type, const char* help) {
  command.add_option(name, values, help)->type_name(type)->expected(1)->take_all()->allow_extra_args(false);
}

void add_jobs(CLI::App& command, Options& options, const char* what) {
  command.add_option("--jobs", options.jobs, fmt::format("Number of {} at the same time; default: one per core", what))
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U));
}

namespace {

void set_sandbox(const std::string& mode) {
  base::set_sandbox_mode(mode == "off"       ? base::SandboxMode::off
                         : mode == "require" ? base::SandboxMode::required
                                             : base::SandboxMode::automatic);
  if (const std::string missing = base::missing_layers(); mode == "require" && !missing.empty())
    throw CLI::ValidationError("--sandbox require", fmt::format("this machine lacks layers of the sandbox: {}", missing));
}

}  // namespace

void add_selection(CLI::App& command, Options& options) {
  command
      .add_option("--family", options.family, "Select only variants of this family; with a --kernel file, the family that it implements")
      ->type_name("NAME");
  command.add_option("--kernel", options.kernel, "A kernel of your own: a .metal file, or a directory with a variant.toml")
      ->type_name("FILE|DIR");
  add_lone(command, options);
  add_compilation(command, options);
  command.add_option("--variants", options.variants, "Directory of variants to use instead of ours (docs/VARIANT.md)")->type_name("DIR");
  command.add_flag(
      "--strict", options.strict,
      "Let nothing in the variant.toml under test excuse the kernel: known findings, weaker accuracy, limits and "
      "superseded_by do not count, settings that choose other code are refused, and skipped cases are failures. run, gate, show and "
      "triage: implies --policy checked, and a case with a remark fails. check-dispatch: everything is a difference that it otherwise "
      "allows");
  command.add_flag("--abi", options.same_layout,
                   "Refuse a kernel whose parameter struct has its fields at other offsets than the contract's. Without this, fields are "
                   "filled by name, and a note reports another order");
  add_repeatable(command, "--trust", options.trust, "FILE|DIR|none",
                 "variant.toml of the base branch, or a folder of variants. Declarations in it still count under --strict. Implies "
                 "--strict; may be repeated; `none` trusts nothing");
  add_seed(command, options);
  command
      .add_option("--shard", options.shard, "Run only part I of N of the selection; default: from GTEST_SHARD_INDEX and GTEST_TOTAL_SHARDS")
      ->type_name("I/N");
}

void add_seed(CLI::App& command, Options& options) {
  const CLI::Validator chosen(
      [&options](std::string& word) {
        if (word != "random") return std::string();
        // Multiples of 1,000, because the seeds of a suite's cases are below that.
        word = fmt::to_string(1000 * (1 + std::random_device()() % 1'000'000U));
        options.is_seed_random = true;
        return std::string();
      },
      "");
  command
      .add_option("--seed", options.seed,
                  "Number added to the seeds of the suites' cases, for different data. A number other than 0 also adds cases with random "
                  "numbers of heads and rows, lengths and ring starts (docs/CASES.md). `random` chooses the number and prints it")
      ->type_name("N|random")
      ->transform(chosen)
      ->check(whole_number());
}

void add_lone(CLI::App& command, Options& options) {
  add_repeatable(
      command, "--limit", options.limits, "AXIS=VALUE[,VALUE...]",
      "The only values of an axis (`assay support`) that the --kernel file supports, for example codebook_bits=8; may be repeated");
  add_repeatable(command, "--constant", options.constants, "NAME|INDEX=VALUE[,VALUE...]",
                 "Value of a function constant of the --kernel file that the family does not set; may be repeated");
}

void add_compilation(CLI::App& command, Options& options) {
  command
      .add_option_function<std::string>("--sandbox", set_sandbox,
                                        "Layers around kernels and the compiler: `auto` uses those that this machine has, `require` "
                                        "refuses to run without all of them, `off` uses none (docs/SECURITY.md)")
      ->type_name("auto|require|off")
      ->check(one_of({"auto", "require", "off"}));
  add_repeatable(command, "-I,--include", options.includes, "DIR",
                 "Folder in which the kernel's #include directives are looked up; may be repeated");
  add_repeatable(command, "-D,--define", options.defines, "NAME[=VALUE]",
                 "Macro that the host defines when it compiles the kernel; may be repeated");
  command
      .add_option("--metal-version", options.metal_version,
                  "Metal version that the host compiles for, for example 3.1 or 310; sets __METAL_VERSION__; default: 3.1")
      ->type_name("VERSION")
      ->check(not_empty());
}

void add_inputs(CLI::App& command, Options& options) {
  add_repeatable(command, "--fixture", options.fixtures, "FILE",
                 "Fixture file (docs/FIXTURES.md) with inputs, named h5-<name of the file> in cases; without CASE, runs the cases of the "
                 "file; may be "
                 "repeated");
  add_repeatable(command, "--set", options.fields, "NAME=VALUE",
                 "Value of a struct field that the family does not define; may be repeated");
}

void add_execution(CLI::App& command, Options& options) {
  add_inputs(command, options);
  command
      .add_option("--schedule", options.schedule,
                  "Order in which the simdgroups of a threadgroup run: forward, reverse, random:N (compared with forward), or several "
                  "separated by commas, "
                  "whose outputs must be bit-identical; default: forward, or all three if a threadgroup has several simdgroups")
      ->type_name("S[,S...]")
      ->check(not_empty());
  command
      .add_option("--policy", options.policy,
                  "native: run kernels without checks; checked: check every memory access, and report races, out-of-bounds accesses and "
                  "uninitialised reads as hazards; shadow: compute every number also without rounding, and split each error "
                  "into rounding and logic; checked and shadow are slower")
      ->each([&options](const std::string&) { options.is_policy_chosen = true; })
      ->check(one_of({"native", "checked", "shadow"}));
  command
      .add_option("--engine", options.engine,
                  "vector: run a simdgroup as one thread of vectors, where the kernel has such a form; fibers: run each lane on its own "
                  "stack, several times slower; both: run each case both ways, and fail where the outputs differ; default: vector")
      ->check(one_of({"vector", "fibers", "both"}));
  command.add_option("--threads", options.threads, "CPU threads per case; 0: all cores")->type_name("N");
  command.add_option("--fp-contract", options.fp_contract, "fast: the compiler may fuse a*b+c into one rounding; default: off")
      ->check(one_of({"off", "fast"}));
  command.add_option("--timeout", options.timeout, "Seconds after which a case is killed and its verdict is timeout; 0: none; default: 60")
      ->type_name("SECONDS");
  command
      .add_option("--memory", options.memory,
                  "Memory limit of a case in GiB; a case above it is killed, with the verdict crashed; default: three quarters of the "
                  "machine's memory, divided "
                  "among the cases that run at the same time")
      ->type_name("GIB")
      ->check(CLI::Range(0.01, 1e6));
}

void add_profile(CLI::App& command, Options& options) {
  const std::span<const std::string_view> names = oracles::profile_names();
  command
      .add_option(
          "--profile", options.profile,
          "What the bounds allow the device: simulator (this one), metal (what the specification of Metal allows), metal_fast (with "
          "fast mathematics); default: simulator (oracles/PROFILES.md)")
      ->type_name("NAME")
      ->check(one_of(std::vector<std::string>(names.begin(), names.end())));
}

std::string_view profile_of(const Options& options) {
  return options.math == "fast" && options.profile == Options{}.profile ? std::string_view("metal_fast")
                                                                        : std::string_view(options.profile);
}

void add_running(CLI::App& command, Options& options) {
  add_jobs(command, options, "cases to run");
  command.add_flag("--figures", options.figures,
                   "Print the largest error/bound by family and fixture before the summary; on a terminal, this is the default");
  command.add_flag("--fail-fast", options.fail_fast, "Start no more cases after a failure");
  command.add_flag("--estimate", options.estimate,
                   "Print how much processor time the cases take and into how many shards to split them, and run nothing");
}

void add_ledger(CLI::App& command, Options& options) {
  command
      .add_option("--ledger", options.ledger,
                  "Database that records verdicts and figures; `none` records nothing; default: your own ledger")
      ->type_name("FILE");
}
void add_recording(CLI::App& command, Options& options) {
  add_ledger(command, options);
  command.add_flag("--resume", options.resume,
                   "Continue the newest run of the same cases in the ledger: run only those without a verdict; the summary and reports "
                   "cover all of them. Rejected if a kernel, the compiler or assay has changed since");
  command
      .add_option(
          "--expect-digests", options.expected_digests,
          "Compare the digests (hashes) of a gate's outputs with those in a file, and fail if they differ. With --shard 1/2: only those of "
          "the first half of each variant's cases")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  command
      .add_option("--record-digests", options.recorded_digests,
                  "Write the digests (hashes) of a gate's outputs to a file, for --expect-digests")
      ->type_name("FILE");
  add_reports(command, options);
}

void add_reports(CLI::App& command, Options& options) {
  for (const reports::Format& format : reports::formats()) {
    if (format.file.empty()) continue;
    const std::string name(format.name);
    command.add_option("--" + name, options.reports[name], std::string(format.file))->type_name("FILE");
  }
}

std::string random_seed_note(const Options& options) {
  return options.is_seed_random ? fmt::format("the seed is random; --seed {} selects the same cases again", options.seed) : "";
}

std::vector<std::string> replay_options(Options options) {
  if (options.strict && options.trust.empty()) options.trust = {"none"};  // implies --strict, which has no value
  std::vector<std::string> words;
  for (const auto& [name, member] : kReplayOptions) {
    if (std::string_view(name) == "--family" && options.kernel.empty()) continue;
    const auto add = [&]<typename T>(T Options::* of) {
      if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        for (const std::string& value : options.*of) words.insert(words.end(), {name, value});
      } else if (options.*of != Options{}.*of) {
        words.insert(words.end(), {name, fmt::format("{}", options.*of)});
      }
    };
    std::visit(add, member);
  }
  return words;
}

void take_replay_options(Options& options, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    const auto take = [&]<typename T>(T Options::* of) {
      if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        (options.*of).push_back(value);
      } else if (options.*of != Options{}.*of) {
        return;  // set by the command line
      } else if constexpr (std::is_same_v<T, std::string>) {
        options.*of = value;
      } else {
        options.*of = base::number_of<T>(value).value_or(options.*of);
      }
    };
    const auto* const found = std::ranges::find(kReplayOptions, words[i], &ReplayOption::name);
    if (found != std::end(kReplayOptions)) std::visit(take, found->member);
  }
}

std::string version_text() {
#ifdef NDEBUG
  constexpr const char* build = "without assertions";
#else
  constexpr const char* build = "with assertions";
#endif
  return fmt::format("assay {}, built by {} {}", ASSAY_VERSION, __VERSION__, build);
}

}  // namespace assay::cli
