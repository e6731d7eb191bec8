// `assay doctor`: checks that this machine has what the other commands need, one line per check, each with advice on failure.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/counted.h"
#include "base/processors.h"
#include "base/sandbox.h"
#include "base/user_key.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "cli/workspace.h"
#include "harness/execute/gpu_process.h"
#include "harness/ledger/ledger.h"
#include "harness/ledger/sqlite.h"
#include "metal/buffer.h"
#include "metal/compile/cache.h"
#include "metal/compile/compiler.h"
#include "metal/compile/library.h"
#include "metal/devices/simulator.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kMegabyte = 1024.0 * 1024.0;

// The result of a check; a failed check throws the problem and its remedy.
struct MachineCheck {
  const char* name;
  std::function<std::string()> run;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string check_compiler() {
  const metal::compile::Toolchain toolchain = metal::compile::find_toolchain();
  const auto result = metal::compile::run_tool({toolchain.clang.string(), "--version"}, {});
  const std::string version = first_line(result.output);
  if (result.exit_code != 0 || version.find("version 19.") == std::string::npos) {
    throw std::runtime_error(fmt::format("{} is not clang 19 ({}); install it with `apt-get install clang-19`, or set ASSAY_CLANG",
                                         toolchain.clang.string(), version.empty() ? first_line(result.errors) : version));
  }
  return fmt::format("{}: {}", toolchain.clang.string(), version);
}

std::string check_plugin() {
  const metal::compile::Toolchain toolchain = metal::compile::find_toolchain();
  if (!fs::is_regular_file(toolchain.pass)) {
    throw std::runtime_error(fmt::format("{} is missing; rebuild with ./assay", toolchain.pass.string()));
  }
  // An empty C file is enough to make clang load the plugin.
  const auto result =
      metal::compile::run_tool({toolchain.clang.string(), fmt::format("-fplugin={}", toolchain.pass.string()),
                                fmt::format("-fpass-plugin={}", toolchain.pass.string()), "-x", "c", "-c", "/dev/null", "-o", "/dev/null"},
                               {});
  if (result.exit_code != 0) {
    throw std::runtime_error(
        fmt::format("clang cannot load {}: {}; rebuild with ./assay", toolchain.pass.string(), first_line(result.errors)));
  }
  return toolchain.pass.string();
}

std::string check_cache() {
  const metal::compile::Cache cache("");
  static_cast<void>(base::user_seal("doctor"));  // a key that cannot be used is reported here
  std::uintmax_t bytes = 0;
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(cache.directory())) {
    std::error_code error;
    const std::uintmax_t size = entry.file_size(error);
    if (error) continue;  // removed by another run in the meantime
    bytes += size;
    ++files;
  }
  const fs::space_info space = fs::space(cache.directory());
  return fmt::format("{}: {} files, {:.1f} MB; {:.0f} MB free; key {}", cache.directory().string(), files,
                     static_cast<double>(bytes) / kMegabyte, static_cast<double>(space.available) / kMegabyte,
                     base::user_key_file().string());
}

// The result of this kernel needs every lane, so it tests translator, plugin, loader and lockstep execution.
std::string check_kernel() {
  constexpr const char* source = R"(#include <metal_stdlib>
using namespace metal;
kernel void doctor(device float* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  out[lane] = simd_sum(float(lane)) + float(lane);
}
)";
  const auto library = metal::Library::from_source(source, "doctor.metal");
  metal::Buffer out(32 * sizeof(float), "out");
  metal::Simulator simulator({library});
  simulator.set_pipeline({"doctor", {}});
  simulator.set_buffer(0, {&out});
  simulator.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  const auto values = out.as<float>();
  for (std::size_t lane = 0; lane < values.size(); ++lane) {
    const float expected = 496.0F + static_cast<float>(lane);
    if (values[lane] != expected) {
      throw std::runtime_error(
          fmt::format("lane {} gave {}, expected {}; delete the kernel cache and rebuild with ./assay", lane, values[lane], expected));
    }
  }
  return "compiled and run, all 32 lanes right";
}

std::string check_variants(const Options& options) {
  const Workspace workspace = open_workspace(options);
  if (workspace.catalogue.empty()) throw std::runtime_error("no variant found; pass a directory with --variants or ASSAY_VARIANTS");
  std::string names;
  for (const kernels::Variant& variant : workspace.catalogue) names += (names.empty() ? "" : ", ") + variant.name;
  return fmt::format("{}: {}", options.variants.empty() ? kernels::default_variants_directory().string() : options.variants, names);
}

std::string check_ledger() {
  const fs::path file = harness::Ledger::default_file();
  if (!fs::exists(file)) return fmt::format("{}: the first run will create it; SQLite {}", file.string(), harness::sqlite_version());
  const harness::Ledger ledger = harness::Ledger::open_existing(file);
  return fmt::format("{}: {}, {:.1f} MB; SQLite {}", file.string(), base::counted(ledger.runs().size(), "run"),
                     static_cast<double>(fs::file_size(file)) / kMegabyte, harness::sqlite_version());
}

std::string check_machine() {
  utsname system{};
  if (uname(&system) != 0) throw std::runtime_error("the system reports no name");
  const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * page / kMegabyte;
  const double free = static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * page / kMegabyte;
  const unsigned usable = base::usable_processors();
  const unsigned all = std::max(usable, std::thread::hardware_concurrency());
  const std::string cores = usable == all ? fmt::format("{}", all) : fmt::format("{} of {}", usable, all);
  return fmt::format("{} {} {}, {} cores, {:.0f} MB of memory, {:.0f} MB unused", system.sysname, system.release, system.machine, cores,
                     memory, free);
}

// A missing layer is no failure: the others hold.
std::string check_sandbox() {
  const std::string missing = base::missing_layers();
  return missing.empty() ? "every layer holds" : fmt::format("not on this machine: {}", missing);
}

// No GPU is no failure: every command works without one.
std::string check_gpu() {
  const harness::FoundGpu found = harness::find_gpu({.kind = metal::DeviceChoice::Kind::cuda});
  return found.description.empty() ? fmt::format("none for --device cuda: {}", found.problem) : found.description;
}

std::string check_terminal() {
  const char* term = std::getenv("TERM");
  return fmt::format("{}, TERM={}: progress is {}", isatty(STDOUT_FILENO) != 0 ? "a terminal" : "no terminal", term == nullptr ? "" : term,
                     is_terminal(stdout) ? "a bar" : "plain lines");
}

int doctor(const Options& options) {
  const std::vector<MachineCheck> checks = {
      {"version", version_text}, {"compiler", check_compiler}, {"plugin", check_plugin},
      {"cache", check_cache},    {"kernel", check_kernel},     {"variants", [&options] { return check_variants(options); }},
      {"ledger", check_ledger},  {"sandbox", check_sandbox},   {"machine", check_machine},
      {"gpu", check_gpu},        {"terminal", check_terminal},
  };
  int status = kExitPassed;
  for (const MachineCheck& check : checks) {
    try {
      const std::string found = check.run();
      say("ok    {:<9} {}\n", check.name, found);
    } catch (const std::exception& error) {
      status = kExitUsage;
      say("FAIL  {:<9} {}\n", check.name, error.what());
    }
  }
  return status;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "doctor", "Check that this machine has what assay needs: compiler, cache, a kernel that runs", doctor);
  command->add_option("--variants", options->variants, "Directory of variants to use instead of ours")->type_name("DIR");
  command->footer(R"(examples
  assay doctor
  assay doctor --variants my/kernels

exit status
  0 nothing is missing   2 something is missing; its line says what to do)");
}

}  // namespace assay::cli
