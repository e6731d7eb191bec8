// Runs clang and the linker, with limits.
#include "metal/compile/compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/process.h"
#include "base/run_time_file.h"
#include "base/text.h"
#include "metal/compile/messages.h"
#include "metal/compile/temporary_file.h"
#include "metal/errors.h"
#include "metal/source_files.h"
#include "metal/translate/limits.h"

namespace assay::metal::compile {

namespace {

// Limits for macros that expand to macros, and for files that include without end or read from a device. No kernel needs as much
// to be preprocessed.
constexpr base::CommandLimits kPreprocessing{translate::kLargestSource, std::uint64_t{4} << 30, 60, 120};

// Limits for templates without end and arrays of gigabytes. A kernel takes a second and a few hundred megabytes.
constexpr base::CommandLimits kCompiling{std::size_t{64} << 20, std::uint64_t{4} << 30, 60, 300};

// Also reads files without a size, such as /proc/cpuinfo.
std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return base::read_all(stream);
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

// A compiled kernel also depends on our headers, the pass and the compiler.
std::string hash_toolchain(const std::string& clang) {
  base::Hash hash;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shader_directory())) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  files.push_back(lockstep_pass());
  for (const auto& file : files) hash.add(file.string()).add(text_of(file));
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
#endif

std::string absolute_name(const std::filesystem::path& file) { return std::filesystem::absolute(file).lexically_normal().string(); }

// Removes lines that name `file` from the messages about how a file came to be included.
void remove_lines_from(std::string& messages, const std::string& file) {
  const std::string start = "In file included from " + file + ":";
  for (std::size_t at = 0; (at = messages.find(start, at)) != std::string::npos;) messages.erase(at, messages.find('\n', at) - at + 1);
}

}  // namespace

Toolchain find_toolchain() { return {find_clang(), lockstep_pass(), shader_directory()}; }

Compiler::Compiler(CompileOptions options)
    : options_(std::move(options)), clang_(find_clang()), cache_(options_.cache_directory), toolchain_(hash_toolchain(clang_)) {}

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

namespace {

bool is_below(const std::filesystem::path& file, const std::filesystem::path& folder) {
  return std::ranges::mismatch(folder, file).in1 == folder.end();
}

// Says to the preprocessor where files may be (pass/reach.cpp).
std::string reach_pragma(const std::vector<std::filesystem::path>& roots) {
  std::string text = "#pragma assay_reach";
  for (const auto& root : roots) {
    text += " x";
    for (const char c : root.string()) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return text + "\n";
}

// The name in a line marker, without its quotation marks; nothing if the line is none.
std::optional<std::pair<std::size_t, std::size_t>> name_in_marker(std::string_view line) {
  const auto open = line.find('"');
  const auto close = line.rfind('"');
  if (!line.starts_with("# ") || open == std::string_view::npos || close == open) return std::nullopt;
  const auto number = line.substr(2, open - 2);
  if (number.empty() || number.find_first_not_of("0123456789 ") != std::string_view::npos) return std::nullopt;
  return std::pair(open + 1, close);
}

// `#line` puts any name into a line marker. A name that is no file of the kernel's is replaced by a name that no code opens.
std::string with_known_markers(std::string_view text, const std::vector<std::pair<std::string, std::string>>& names,
                               const std::string& main, const std::string& display_name, const std::vector<std::filesystem::path>& roots) {
  std::map<std::string, std::string, std::less<>> known;
  const auto shown = [&](std::string_view quoted) -> const std::string& {
    const auto [found, is_new] = known.try_emplace(std::string(quoted));
    if (!is_new) return found->second;
    std::string name;
    for (std::size_t at = 0; at < quoted.size(); ++at) name += quoted[at] == '\\' && at + 1 < quoted.size() ? quoted[++at] : quoted[at];
    const auto given = std::ranges::find(names, name, [](const auto& pair) { return pair.first; });
    std::error_code absent;
    const auto path = std::filesystem::canonical(name, absent);
    const bool is_file = !absent && std::filesystem::is_regular_file(path, absent);
    const bool is_reached = std::ranges::any_of(roots, [&](const auto& root) { return is_below(path, root); });
    if (given != names.end()) {
      name = given->second;
    } else if (name == main) {
      name = display_name;
    } else if (is_file && is_reached && !is_below(path, roots.back())) {
      note_source_file(name, path);
    } else if (!name.starts_with('<') || !name.ends_with('>') || name.find('/') != std::string::npos) {
      name = fmt::format("<{}>", std::filesystem::path(name).filename().string());
    }
    for (const char c : name) found->second += c == '\\' || c == '"' ? std::string("\\") + c : std::string(1, c);
    return found->second;
  };
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    if (const auto name = name_in_marker(line)) {
      result += line.substr(0, name->first);
      result += shown(line.substr(name->first, name->second - name->first));
      result += line.substr(name->second);
    } else {
      result += line;
    }
    text.remove_prefix(end);
  }
  return result;
}

// One file that includes all of them. Each file keeps its name, its lines, its `#pragma once` and the folder for its relative includes.
std::string including(const std::vector<SourceFile>& files) {
  std::string text;
  for (const SourceFile& file : files) {
    const std::string path = absolute_name(file.path);
    if (path.find_first_of("\"\n") != std::string::npos)
      throw CompileError(fmt::format("{}: error: a source of several cannot have a quotation mark or a line break in its path", file.name));
    text += fmt::format("#include \"{}\"\n", path);
  }
  return text;
}

}  // namespace

// The folders that the files may include from, without links.
std::vector<std::filesystem::path> Compiler::reached_by(const std::vector<SourceFile>& files) const {
  std::vector<std::filesystem::path> roots;
  const auto add = [&](const std::filesystem::path& folder) {
    std::error_code absent;
    auto root = std::filesystem::canonical(folder.empty() ? "." : folder, absent);
    if (!absent && std::ranges::find(roots, root) == roots.end()) roots.push_back(std::move(root));
  };
  for (const SourceFile& file : files) {
    if (is_text(file)) continue;
    add(file.path.parent_path());
    if (!base::is_inside(file.path.parent_path(), file.path))
      throw CompileError(fmt::format("{}:1: error: the file is a link that leads out of its folder: name the file itself", file.name));
  }
  for (const auto& folder : options_.include_directories) add(folder);
  add(shader_directory() / "include");
  return roots;
}

std::string Compiler::preprocess(const std::vector<SourceFile>& files) const {
  const std::string& display_name = files.front().name;
  // A single file is preprocessed directly, because `#pragma once` and line markers behave differently in an included file.
  std::optional<TemporaryFile> all;
  if (files.size() > 1) all.emplace(cache_, including(files), ".metal");
  const std::string main = all ? all->path().string() : files.front().path.string();
  // Names as the preprocessor writes them, longest first, because one may be a prefix of another.
  std::vector<std::pair<std::string, std::string>> names;
  for (const SourceFile& file : files) {
    names.emplace_back(all ? absolute_name(file.path) : file.path.string(), file.name);
    if (!is_text(file)) note_source_file(file.name, file.path);
  }
  const std::vector<std::filesystem::path> roots = reached_by(files);
  const TemporaryFile reach(cache_, reach_pragma(roots), ".h");
  names.emplace_back(reach.path().string(), "<reach>");  // with the file's own name, no cache entry would ever be found again
  std::ranges::sort(names, [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  std::vector<std::string> command = {clang_,
                                      "-E",
                                      "-x",
                                      "c++",
                                      "-std=c++17",
                                      "-nostdinc",
                                      "-undef",
                                      "-fms-extensions",                                     // expands macros in pragmas
                                      fmt::format("-fplugin={}", lockstep_pass().string()),  // a pragma (pass/reach.cpp)
                                      "-include",
                                      reach.path().string(),
                                      "-fno-show-column",
                                      "-fno-caret-diagnostics",
                                      "-Wno-everything",
                                      "-D__METAL__=1",
                                      "-D__METAL_MACOS__=1",
                                      fmt::format("-D__METAL_VERSION__={}", options_.metal_version)};
  for (const auto& definition : options_.definitions) command.push_back("-D" + definition);
  for (const auto& definition : options_.configuration) command.push_back("-D" + definition);
  for (const auto& directory : options_.include_directories) command.push_back("-I" + directory.string());
  command.insert(command.end(), {"-isystem", (shader_directory() / "include").string(), main});
  base::Reach reachable{.programs = {}, .readable = roots, .writable = {}};
  reachable.readable.push_back(cache_.directory());
  for (const SourceFile& file : files) reachable.readable.push_back(file.path);
  auto result = run_tool(command, std::move(reachable), kPreprocessing);
  if (result.is_cut) {
    throw CompileError(
        fmt::format("{}:1: error: the source has more than {} bytes once it is preprocessed", display_name, kPreprocessing.output_bytes));
  }
  if (result.exit_code > 128) {
    throw CompileError(fmt::format("{}:1: error: preprocessing was given up (signal {}): it takes more than {} s or {} bytes", display_name,
                                   result.exit_code - 128, result.is_late ? kPreprocessing.seconds : kPreprocessing.processor_seconds,
                                   kPreprocessing.memory_bytes));
  }
  result.output = with_known_markers(result.output, names, main, display_name, roots);
  if (result.exit_code != 0) {
    if (all) remove_lines_from(result.errors, main);
    for (const auto& [path, name] : names) replace_all(result.errors, path, name);
    throw CompileError(explain_errors(result.errors));
  }
  return std::move(result.output);
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
          "-fno-show-column",
          "-fno-caret-diagnostics",
          "-fno-crash-diagnostics",  // a crash writes no reproducer beside the cache entries
          "-ferror-limit=8",
          "-ftemplate-backtrace-limit=4"};
}

std::vector<std::string> Compiler::language_flags() const {
  std::vector<std::string> flags = common_flags();
  flags.insert(flags.end(), {"-fPIC", "-fstack-clash-protection", options_.fp_contract ? "-ffp-contract=fast" : "-ffp-contract=off"});
#if defined(__x86_64__)
  flags.push_back(fmt::format("-march={}", architecture_level()));
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
      base::Hash().add(toolchain_).add(flags()).add(fmt::format("{}", fmt::join(linker_flags(), " "))).add(source).hex() + ".so";
  return cache_.get(name, [&](const std::filesystem::path& output) {
    std::vector<std::string> command = language_flags();
    const TemporaryFile object(cache_, "", ".o");
    command.insert(command.end(), {"-include-pch", prelude(language_flags(), "kernel.h", "-c").string(), "-c"});
    run_clang(std::move(command), source, function, object.path());
    link(object.path(), output);
  });
}

void Compiler::run_clang(std::vector<std::string> command, std::string_view source, std::string_view function,
                         const std::filesystem::path& output) const {
  const TemporaryFile input(cache_, source, ".clcpp");
  command.insert(command.begin(), clang_);
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
  if (result.exit_code != 0) throw CompileError(explain_errors(result.errors));
}

}  // namespace assay::metal::compile
