// The parsed command line, and the groups of options that several commands share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace assay::cli {

// A kernel file or directory of the user, and its name in cases.
struct OwnKernel {
  std::string path;
  std::string name;
};

struct Options {
  std::vector<std::string> words;  // cases, globs, suites
  std::string family;
  std::string kernel;                  // a .metal file, a variant.toml or its directory
  std::string variants;                // directory to look for variants in; empty: the default
  std::vector<std::string> fields;     // --set name=value
  std::vector<std::string> limits;     // --limit axis=value,value
  std::vector<std::string> constants;  // --constant name=value, name=value,value of a vector
  std::vector<std::string> includes;   // --include folder
  std::vector<std::string> defines;    // --define NAME[=VALUE]
  std::string metal_version;           // "3.1" or "310"; empty: from variant.toml, else the default
  bool strict = false;
  bool same_layout = false;           // --abi
  std::vector<std::string> trust;     // --trust: descriptions of the base, or folders of them; implies strict
  std::vector<std::string> fixtures;  // --fixture: files of captured inputs
  std::string schedule;               // comma-separated; empty: each case chooses its own
  std::string device = "simulator";   // or "cuda", "cuda:1"
  std::string order = "as-written";   // of a GPU's lanes; or "lockstep"
  std::string math = "precise";       // of a GPU; or "fast"
  std::string policy = "native";
  bool is_policy_chosen = false;  // --policy was given
  std::string engine = "vector";
  std::string fp_contract = "off";
  std::string profile = "simulator";  // of the bounds
  unsigned threads = 1;
  double timeout = 60;  // seconds per case; 0: none
  unsigned jobs = 0;    // 0: one per core
  std::uint64_t seed = 0;
  bool is_seed_random = false;
  std::string shard;  // "2/4": the second of four parts; empty: from the environment, else everything
  bool fail_fast = false;
  bool triage = false;                             // search for the causes of failures at the end of a run
  bool estimate = false;                           // print what the selection costs, and run nothing
  std::string ledger;                              // a file, or "none"; empty: the user's own
  std::map<std::string, std::string> reports;      // file to write by the name of its format; empty: none
  std::string expected_digests, recorded_digests;  // files to compare with and to write; empty: none
  bool resume = false;
  bool last_failed = false, failed_first = false;             // which cases of the selection run, and in which order, by the ledger
  bool figures = false;                                       // print figures by family and fixture even where no terminal is
  std::map<std::string, OwnKernel, std::less<>> own_kernels;  // by the variant's name in this run; only for assay compare, which has two
  std::string executed_on;  // "elsewhere: Apple M2": where the outputs come from that are judged; empty: the simulator
  double memory = 0;        // GiB per case; 0: three quarters of the machine's, shared by the jobs
};

// Options that select cases: --family, --kernel, --limit, --constant, --variants, --strict, --trust, --seed, --shard, and those of
// add_compilation().
void add_selection(CLI::App& command, Options& options);
// --seed.
void add_seed(CLI::App& command, Options& options);
// Names the number that --seed random chose; empty without it.
[[nodiscard]] std::string random_seed_note(const Options& options);
// Options for a --kernel file without variant.toml: --limit, --constant.
void add_lone(CLI::App& command, Options& options);
// Options that set how the kernel is compiled: --include, --define, --metal-version.
void add_compilation(CLI::App& command, Options& options);
// Options for the execution of a case: --fixture, --set, --schedule, --policy, --threads, --fp-contract, --timeout, --memory.
void add_execution(CLI::App& command, Options& options);
// The first two of these, for commands that execute no kernel.
void add_inputs(CLI::App& command, Options& options);
// --profile, for commands that judge.
void add_profile(CLI::App& command, Options& options);
// The profile whose bounds apply: metal_fast for kernels that are compiled with fast mathematics, unless another one was named.
[[nodiscard]] std::string_view profile_of(const Options& options);
// Options for running many cases: --jobs, --figures, --fail-fast, --estimate.
void add_running(CLI::App& command, Options& options);
// --ledger.
void add_ledger(CLI::App& command, Options& options);
// Options for recording: --ledger, --resume, digests, and reports.
void add_recording(CLI::App& command, Options& options);
// Options for report files: --junit, --html ... (reports/formats.h).
void add_reports(CLI::App& command, Options& options);

// An option that may be repeated, with one value each time.
void add_repeatable(CLI::App& command, const char* name, std::vector<std::string>& values, const char* type, const char* help);
// --jobs; `what` are the things that run at the same time.
void add_jobs(CLI::App& command, Options& options, const char* what);

// The options, besides the case name and --schedule, that repeat a case of this run, as alternating names and values.
[[nodiscard]] std::vector<std::string> replay_options(Options options);
// Restores those of a recorded run that the command line does not set.
void take_replay_options(Options& options, const std::vector<std::string>& words);

// Accepts decimal integers from `least` to 2^64 - 1. CLI11 itself would read -1 as the largest number and print ranges as doubles.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t least = 0);

// Accepts these words only.
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> words);

// "assay 0.1.0, built by Clang 19.1.7 without assertions": what --version prints.
[[nodiscard]] std::string version_text();

// Exit statuses of the command.
inline constexpr int kExitPassed = 0;
inline constexpr int kExitFailed = 1;         // some case failed
inline constexpr int kExitUsage = 2;          // bad usage, environment or kernel file
inline constexpr int kExitInternal = 3;       // the harness itself failed
inline constexpr int kExitNothingPassed = 4;  // every selected case was skipped or failed as known
inline constexpr int kExitUnfinished = 5;     // a time budget ended before everything was judged
inline constexpr int kExitInterrupted = 130;  // stopped by Ctrl-C or SIGTERM; shells report SIGINT like this

}  // namespace assay::cli
