// Runs clang and the linker, with limits.
#include "metal/compile/compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "base/file_state.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/run_time_file.h"
#include "base/text.h"
#include "metal/compile/error_lines.h"
#include "metal/compile/messages.h"
#include "metal/compile/temporary_file.h"
#include "metal/errors.h"
#include "metal/source_files.h"

namespace assay::metal::compile {

namespace {

// Limits for templates without end and arrays of gigabytes. A kernel takes a second and a few hundred megabytes.
constexpr base::CommandLimits kCompiling{std::size_t{64} << 20, std::uint64_t{4} << 30, 60, 300};

// At once: memory that grows by doubling would cost 2,000 page faults for the pass, which has 2 MB.
std::string text_of(const std::filesystem::path& file) {
  std::string text(std::filesystem::file_size(file), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

std::filesystem::path lockstep_pass() { return base::run_time_file("lib/assay/assay_lockstep.so"); }

std::string find_clang() {
  const char* wanted = std::getenv("ASSAY_CLANG");
  for (const std::string& candidate : {std::string(wanted == nullptr ? "" : wanted), std::string(ASSAY_CLANG),
                                       std::string("/usr/bin/clang++-19"), std::string("/usr/lib/llvm-19/bin/clang++")}) {
    if (!candidate.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw EnvironmentError(
      "no clang 19 on this machine, which compiles the kernels: install it with `apt-get install clang-19`, or set ASSAY_CLANG to its "
      "clang++");
}

// Our headers and the pass.
std::vector<std::filesystem::path> toolchain_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shader_directory())) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  files.push_back(lockstep_pass());
  return files;
}

std::string hash_of_contents(const std::vector<std::filesystem::path>& files) {
  base::Hash hash;
  for (const auto& file : files) hash.add(file.string()).add(text_of(file));
  return hash.hex();
}

// A name for these files as they are now. Nothing if one is not a plain file or has just changed.
std::optional<std::string> name_of_states(const std::vector<std::filesystem::path>& files) {
  base::Hash hash;
  for (const auto& file : files) {
    const std::optional<base::FileState> state = base::file_state(file);
    if (!state || !state->is_settled()) return std::nullopt;
    hash.add(file.string());
    for (const std::int64_t part : {state->device, state->inode, state->mode, state->size, state->changed_s, state->changed_ns})
      hash.add(std::to_string(part));
  }
  return hash.hex();
}

// A compiled kernel also depends on our headers, the pass and the compiler. To read the first two, which have 3 MB, takes a tenth of the
// time of one case, so their hash is kept in the cache as long as they stay the same files.
std::string hash_toolchain(const std::string& clang, const Cache& cache) {
  const std::vector<std::filesystem::path> files = toolchain_files();
  std::string contents;
  if (const std::optional<std::string> name = name_of_states(files)) {
    const auto entry = cache.get(*name + ".toolchain", [&](const std::filesystem::path& output) {
      std::ofstream(output, std::ios::binary) << hash_of_contents(files);
    });
    contents = text_of(entry);
    contents.resize(content_size(contents));
  } else {
    contents = hash_of_contents(files);
  }
  base::Hash hash;
  hash.add(contents);
  const auto compiler = std::filesystem::canonical(clang);
  const auto written = std::filesystem::last_write_time(compiler).time_since_epoch().count();
  hash.add(compiler.string()).add(std::to_string(std::filesystem::file_size(compiler))).add(std::to_string(written));
  return hash.hex();
}

#if defined(__x86_64__)
// A level instead of -march=native, so that every processor computes the same bits: newer processors convert and add bfloat and half
// with instructions that flush subnormals, and no level includes these.
std::string_view architecture_level() {
  if (__builtin_cpu_supports("x86-64-v4") != 0) return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3") != 0) return "x86-64-v3";
  return "x86-64-v2";
}
#elif defined(__aarch64__)
// The first level, for the same reason: later ones add and multiply half, and convert bfloat, with instructions of their own.
std::string_view architecture_level() { return "armv8-a"; }
#endif

}  // namespace

Toolchain find_toolchain() { return {find_clang(), lockstep_pass(), shader_directory()}; }

Compiler::Compiler(CompileOptions options)
    : options_(std::move(options)), clang_(find_clang()), cache_(options_.cache_directory), toolchain_(hash_toolchain(clang_, cache_)) {}

std::string Compiler::version() const {
  const std::filesystem::path entry = cache_.get(base::Hash().add(toolchain_).hex() + ".version", [&](const std::filesystem::path& output) {
    const base::CommandResult asked = run_tool({clang_, "--version"}, {});
    std::ofstream(output) << asked.output.substr(0, asked.output.find('\n'));
  });
  std::string text = base::read_file(entry).value_or("");
  text.resize(content_size(text));
  return text;
}

base::CommandResult run_tool(const std::vector<std::string>& arguments, base::Reach reach, const base::CommandLimits& limits,
                             const std::filesystem::path& temporary_directory) {
  std::error_code missing;
  const auto program = std::filesystem::canonical(arguments[0], missing);
  // A compiler outside of the system's folders has its libraries beside its bin/.
  const bool has_folder = program.parent_path().filename() == "bin";
  if (!missing) reach.programs.push_back(has_folder ? program.parent_path().parent_path() : program);
  reach.readable.insert(reach.readable.end(), {shader_directory(), lockstep_pass().parent_path()});
  try {
    base::CommandResult result = base::run_command(arguments, limits, temporary_directory, &reach);
    // Neither the compiler nor the source that it compiles sends signal 9.
    if (result.was_killed)
      throw EnvironmentError(fmt::format("{} was killed (signal 9), and not by assay: is memory short?", arguments[0]));
    return result;
  } catch (const base::ProcessRefused& refused) {
    throw EnvironmentError(refused.what());
  }
}

std::vector<std::string> Compiler::common_flags() const {
  return {"-x",
          "clcpp",
          "-cl-std=CLC++2021",
          "-cl-no-stdinc",
          fmt::format("-fplugin={}", lockstep_pass().string()),  // for an attribute (pass/device_members.cpp)
          "-O2",
          "-g",
          "-fno-limit-debug-info",
          "-fdebug-compilation-dir=/",  // makes paths absolute, wherever the compiler is started
          "-fdeclspec",
          "-fsigned-char",
          "-cl-single-precision-constant",
          "-fno-finite-loops",  // keeps endless loops, so that they are detected
          "-fno-strict-float-cast-overflow",
          "-fwrapv",  // as GPUs do: otherwise an offset that overflows int is computed in 64 bits where that is as fast, and is right
          "-fno-delete-null-pointer-checks",  // keeps accesses through null pointers, so that they are reported
          "-Xclang",
          "-ffloat16-excess-precision=none",
          "-Xclang",
          "-fbfloat16-excess-precision=none",
          "-Wno-everything",
          "-Wno-c++11-narrowing",
          "-mllvm",
          "-cgpp-huge-func=2000",  // functions of so many blocks are not searched as a whole again after each change
          "-fno-show-column",
          "-fno-caret-diagnostics",
          "-fno-crash-diagnostics",  // a crash writes no reproducer beside the cache entries
          "-ferror-limit=8",
          "-ftemplate-backtrace-limit=4"};
}

std::vector<std::string> Compiler::language_flags() const {
  std::vector<std::string> flags = common_flags();
  flags.insert(flags.end(),
               {"-fPIC", "-fstack-clash-protection", options_.fp_contract ? "-ffp-contract=fast-honor-pragmas" : "-ffp-contract=off"});
  // Each takes clang 2 to 4 % of its time. Without all three, bf16_vec_v2 runs 4 % longer, and no other kernel of the benchmark does.
  flags.insert(flags.end(), {"-fno-slp-vectorize", "-mllvm", "-disable-lsr", "-mllvm", "-enable-misched=false"});
#if defined(__x86_64__) || defined(__aarch64__)
  flags.push_back(fmt::format("-march={}", architecture_level()));
#endif
#if defined(__aarch64__)
  // clang offers OpenCL without half and without generic pointers there, unless asked.
  flags.insert(flags.end(), {"-Xclang", "-cl-ext=+all"});
  // A vector of 32 lanes takes eight registers there, so that large kernels have very many. Without these two, clang takes a quarter less.
  flags.insert(flags.end(), {"-mllvm", "-disable-machine-licm", "-mllvm", "-disable-machine-sink"});
#endif
  return flags;
}

std::filesystem::path Compiler::prelude(const std::vector<std::string>& flags, std::string_view header, std::string_view emit) const {
  // The name contains a hash of the headers, so their dates do not matter. A checkout that only touches them must not invalidate it.
  const std::vector<std::string> dateless = {"-Xclang", "-fno-pch-timestamp"};
  const std::string name =
      base::Hash().add(toolchain_).add(fmt::format("{} {}", fmt::join(flags, " "), fmt::join(dateless, " "))).hex() + ".pch";
  return cache_.get(name, [&](const std::filesystem::path& output) {
    std::vector<std::string> command = {clang_};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), dateless.begin(), dateless.end());
    command.insert(command.end(), {"-Xclang", "-emit-pch", "-Xclang", "-fpch-instantiate-templates", std::string(emit),
                                   (shader_directory() / header).string(), "-o", output.string()});
    const auto result = run_tool(command, cache_only());
    if (result.exit_code != 0) throw EnvironmentError("assay's own shader headers do not compile:\n" + result.errors);
  });
}

const std::vector<std::string>& linker_flags() {
  // With -Bsymbolic, a variable of the kernel that is called as one of ours (`environ`) is the kernel's. Linkers differ in the tables of
  // names that they write unless asked; object_check.cpp reads DT_HASH.
  static const std::vector<std::string> flags = {"-shared",         "-Bsymbolic",       "-z", "noexecstack", "-x", "--eh-frame-hdr",
                                                 "--build-id=none", "--hash-style=both"};
  return flags;
}

// Calls the linker directly: clang would search for start files and libraries, which takes half as long as the compilation. A kernel
// only calls functions that each of our processes contains (ours, and a few of the C library and the compiler); they are found when the
// kernel is loaded.
void Compiler::link(const std::filesystem::path& object, const std::filesystem::path& output) {
  std::vector<std::string> command = {ASSAY_LD};
  command.insert(command.end(), linker_flags().begin(), linker_flags().end());
  command.insert(command.end(), {"-o", output.string(), object.string()});
  const auto result = run_tool(command, {.programs = {}, .readable = {}, .writable = {output.parent_path()}});
  if (result.exit_code != 0) throw EnvironmentError(fmt::format("{} cannot link a kernel:\n{}", ASSAY_LD, result.errors));
}

std::string Compiler::flags() const { return fmt::format("{}", fmt::join(language_flags(), " ")); }

std::filesystem::path Compiler::shared_object(std::string_view source, std::string_view function) const {
  const std::string name =
      base::Hash().add(toolchain_).add(flags()).add(fmt::format("{}", fmt::join(linker_flags(), " "))).add(source).hex();
  return cache_.get(name + ".so", [&](const std::filesystem::path& output) {
    throw_kept_errors(name);
    std::vector<std::string> command = language_flags();
    const TemporaryFile object(cache_, "", ".o");
    command.insert(command.end(), {"-include-pch", prelude(language_flags(), "kernel.h", "-c").string(), "-c"});
    run_clang(std::move(command), source, function, name, object.path());
    link(object.path(), output);
  });
}

std::optional<std::string> Compiler::kept_text(const std::string& entry) const {
  if (!cache_.has(entry)) return std::nullopt;
  std::optional<std::string> text = base::read_file(cache_.directory() / entry);
  if (text) text->resize(content_size(*text));
  return text;
}

void Compiler::keep_text(const std::string& entry, std::string_view text) const {
  (void)cache_.get(entry, [&](const std::filesystem::path& output) { std::ofstream(output, std::ios::binary) << text; });
}

void Compiler::throw_kept_errors(const std::string& name) const {
  if (const auto kept = kept_text(name + ".errors")) throw CompileError(*kept);
}

void Compiler::run_clang(std::vector<std::string> command, std::string_view source, std::string_view function, const std::string& name,
                         const std::filesystem::path& output) const {
  const TemporaryFile input(cache_, source, ".clcpp");
  command.insert(command.begin(), clang_);
  // Whoever compiles many edits of a kernel together wants to know each that is wrong.
  if (source.find("__assay_choice() ==") != std::string_view::npos) command.emplace_back("-ferror-limit=0");
  command.insert(command.end(), {fmt::format("-fpass-plugin={}", lockstep_pass().string()),
                                 "-fno-temp-file",  // a pass that refuses a kernel would leave one behind
                                 input.path().string(), "-o", output.string()});
  const auto result = run_tool(command, cache_only(), kCompiling, cache_.directory());
  if (result.is_cut || result.is_late || result.exit_code == 128 + SIGXCPU || result.errors.find("out of memory") != std::string::npos)
    throw CompileLimitExceeded(fmt::format("'{}' was not compiled: it takes more time or memory than a kernel may ({} s, {} GiB)", function,
                                           kCompiling.processor_seconds, kCompiling.memory_bytes >> 30));
  if (result.exit_code == 128 + SIGXFSZ)
    throw CompileLimitExceeded(
        fmt::format("'{}' was not compiled: its code and data take more than {} MiB", function, base::kLargestFile >> 20));
  if (result.exit_code > 128)
    throw CompileError(fmt::format("{}: clang crashed while it compiled '{}' (signal {}):\n{}", input.path().string(), function,
                                   result.exit_code - 128, result.errors));
  if (result.exit_code == 0) return;
  const std::string errors = explain_errors(result.errors);
  if (are_about_sources(result.errors)) keep_text(name + ".errors", errors);
  throw CompileError(errors);
}

}  // namespace assay::metal::compile
