#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <system_error>

namespace assay::cli {

CLI::Validator whole_number(std::uint64_t least) {
  const auto refusal = [least](std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= least) return {};
    return fmt::format("'{}' is no whole number from {} to {}", text, least, std::numeric_limits<std::uint64_t>::max());
  };
  return {refusal, ""};
}

namespace {

// What a script left out, as in --schedule "$SCHEDULE", is not taken for the default.
CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? std::string("is empty; leave the option out for its default") : std::string(); },
          ""};
}

}  // namespace

void add_selection(CLI::App& command, Options& options) {
  command.add_option("--family", options.family, "Only variants of this family; what a lone --kernel file implements")->type_name("NAME");
  command.add_option("--kernel", options.kernel, "A kernel of your own: a .metal file, or a directory with a variant.toml")
      ->type_name("FILE|DIR");
  add_lone(command, options);
  add_compilation(command, options);
  command.add_option("--variants", options.variants, "Directory to look for variants in, in place of ours (docs/VARIANT.md)")
      ->type_name("DIR");
  command.add_option("--seed", options.seed, "Added to the seeds of the suites' cases")->type_name("N")->check(whole_number());
  command
      .add_option("--shard", options.shard, "Only one of several parts of the selection; default: GTEST_SHARD_INDEX of GTEST_TOTAL_SHARDS")
      ->type_name("I/N");
}

void add_lone(CLI::App& command, Options& options) {
  command
      .add_option(
          "--limit", options.limits,
          "The only values of an axis (`assay support`) that a lone --kernel file is made for, as in codebook_bits=8; may be repeated")
      ->type_name("AXIS=VALUE[,VALUE...]")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--constant", options.constants,
                  "Value of a function constant of a lone --kernel file that the family does not set; may be repeated")
      ->type_name("NAME|INDEX=VALUE[,VALUE...]")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void add_compilation(CLI::App& command, Options& options) {
  command
      .add_option("-I,--include", options.includes,
                  "Folder that the kernel's #include may name files of, as its host says with -I; may be repeated")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("-D,--define", options.defines, "Macro that the kernel's host defines; may be repeated")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--metal-version", options.metal_version,
                  "Version of the language that the host asks for, as 3.1 or 310: what __METAL_VERSION__ is; default: 3.1")
      ->type_name("VERSION")
      ->check(not_empty());
}

void add_execution(CLI::App& command, Options& options) {
  command
      .add_option("--fixture", options.fixtures,
                  "Inputs from a fixture file (docs/FIXTURES.md), which cases call h5-<name of the file>; without a CASE, its own; may be "
                  "repeated")
      ->type_name("FILE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--set", options.fields, "Value of a struct field that the family does not know; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--schedule", options.schedule,
                  "Order of the simdgroups of a threadgroup: forward, reverse or random:N (which is compared with forward), or several "
                  "with commas, "
                  "whose bits must agree; default: forward, and all three where a threadgroup has several simdgroups")
      ->type_name("S[,S...]")
      ->check(not_empty());
  command
      .add_option("--policy", options.policy,
                  "native: kernels run as they are; checked: every access to memory is looked at, and races, accesses out of bounds and "
                  "reads of what nobody wrote are hazards; shadow: numbers carry what they would be without rounding, and errors are split "
                  "into rounding and logic; both are slower")
      ->check(CLI::IsMember({"native", "checked", "shadow"}));
  command.add_option("--threads", options.threads, "CPU threads of the simulator per case; 0: all cores")->type_name("N");
  command.add_option("--fp-contract", options.fp_contract, "Whether the compiler may fuse a*b+c")->check(CLI::IsMember({"off", "fast"}));
  command.add_option("--timeout", options.timeout, "Seconds after which a case is killed and its verdict is timeout; 0: none; default: 60")
      ->type_name("SECONDS");
  command
      .add_option(
          "--memory", options.memory,
          "GiB that a case may take before it is killed and its verdict is crashed; default: three quarters of the machine's, shared "
          "by the cases that run at a time")
      ->type_name("GIB")
      ->check(CLI::Range(0.01, 1e6));
}

void add_running(CLI::App& command, Options& options) {
  command.add_option("--jobs", options.jobs, "Cases at a time; default: one per core")->type_name("N")->check(CLI::Range(1U, 1024U));
  command.add_flag("--fail-fast", options.fail_fast, "Start no further case after a failure");
}

void add_recording(CLI::App& command, Options& options) {
  command.add_option("--ledger", options.ledger, "Where verdicts and figures are recorded; `none` for nowhere; default: your own ledger")
      ->type_name("FILE");
  command.add_flag(
      "--resume", options.resume,
      "Go on with the newest run of the same cases in the ledger, and run only those without a verdict; its summary and reports "
      "cover them all. Refused if a kernel, a compiler or assay has changed since");
  command
      .add_option(
          "--expect-digests", options.expected_digests,
          "Compare the digests of a gate's outputs, or of half of a variant's (--shard 1/2), with those of a file, and fail where bits "
          "differ")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  command.add_option("--record-digests", options.recorded_digests, "Write the digests of a gate's outputs, for --expect-digests")
      ->type_name("FILE");
  add_reports(command, options);
}

void add_reports(CLI::App& command, Options& options) {
  command.add_option("--junit", options.junit, "Write a JUnit report of the whole run")->type_name("FILE");
  command.add_option("--html", options.html, "Write the report as one HTML page, which needs no network")->type_name("FILE");
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
