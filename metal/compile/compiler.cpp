#include "metal/compile/compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "metal/compile/process.h"
#include "metal/compile/temporary_file.h"
#include "metal/errors.h"
#include "metal/run_time_file.h"
#include "metal/translate/limits.h"

namespace assay::metal::compile {

namespace {

// Macros that expand to macros, and files that include without end or read from a device: what no kernel needs to be preprocessed.
constexpr ProcessLimits kPreprocessing{translate::kLargestSource, std::uint64_t{4} << 30, 60};

// Templates without end and arrays of gigabytes, where a kernel takes a second and a few hundred megabytes.
constexpr ProcessLimits kCompiling{std::size_t{64} << 20, std::uint64_t{8} << 30, 120};

// Also of what has no size, as /proc/cpuinfo.
std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::filesystem::path shader_directory() { return run_time_file("share/assay/shader", ASSAY_SHADER_DIR); }

std::filesystem::path lockstep_pass() { return run_time_file("lib/assay/assay_lockstep.so", ASSAY_LOCKSTEP_PASS); }

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

// Our headers, the pass and the compiler: what else a compiled kernel depends on.
std::string hash_toolchain(const std::string& clang) {
  Hash hash;
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
  // -march=native means another processor on another machine.
  const std::string processors = text_of("/proc/cpuinfo");
  const auto flags = processors.find("flags");
  if (flags != std::string::npos) hash.add(processors.substr(flags, processors.find('\n', flags) - flags));
  return hash.hex();
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from == to) return;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

}  // namespace

Toolchain find_toolchain() { return {find_clang(), lockstep_pass(), shader_directory()}; }

Compiler::Compiler(CompileOptions options)
    : options_(std::move(options)), clang_(find_clang()), cache_(options_.cache_directory), toolchain_(hash_toolchain(clang_)) {}

std::string Compiler::preprocess(const std::filesystem::path& file, const std::string& display_name) const {
  std::vector<std::string> command = {clang_,
                                      "-E",
                                      "-x",
                                      "c++",
                                      "-std=c++17",
                                      "-nostdinc",
                                      "-undef",
                                      "-fno-show-column",
                                      "-fno-caret-diagnostics",
                                      "-Wno-everything",
                                      "-D__METAL__=1",
                                      "-D__METAL_MACOS__=1",
                                      fmt::format("-D__METAL_VERSION__={}", options_.metal_version)};
  for (const auto& definition : options_.definitions) command.push_back("-D" + definition);
  for (const auto& directory : options_.include_directories) command.push_back("-I" + directory.string());
  command.insert(command.end(), {"-I.", "-isystem", (shader_directory() / "include").string(), file.string()});
  auto result = run_process(command, kPreprocessing);
  if (result.is_cut) {
    throw CompileError(
        fmt::format("{}:1: error: the source has more than {} bytes once it is preprocessed", display_name, kPreprocessing.output_bytes));
  }
  if (result.exit_code > 128) {
    throw CompileError(fmt::format("{}:1: error: preprocessing was given up (signal {}): it takes more than {} s or {} bytes", display_name,
                                   result.exit_code - 128, kPreprocessing.processor_seconds, kPreprocessing.memory_bytes));
  }
  if (result.exit_code != 0) {
    replace_all(result.errors, file.string(), display_name);
    throw CompileError(explain_errors(result.errors));
  }
  replace_all(result.output, fmt::format("\"{}\"", file.string()), fmt::format("\"{}\"", display_name));
  return result.output;
}

std::vector<std::string> Compiler::language_flags() const {
  std::vector<std::string> flags = {"-x",
                                    "clcpp",
                                    "-cl-std=CLC++2021",
                                    "-cl-no-stdinc",
                                    "-O2",
                                    "-g",
                                    "-fno-limit-debug-info",
                                    "-fdebug-compilation-dir=/",  // places are whole paths, wherever the compiler is started
                                    "-fPIC",
                                    "-fdeclspec",
                                    "-fsigned-char",
                                    "-cl-single-precision-constant",
                                    "-fno-finite-loops",  // a kernel that never ends is to be seen, not tidied away
                                    "-fno-strict-float-cast-overflow",
                                    "-fstack-clash-protection",
                                    "-Xclang",
                                    "-ffloat16-excess-precision=none",
                                    "-Xclang",
                                    "-fbfloat16-excess-precision=none",
                                    "-Wno-everything",
                                    "-Wno-c++11-narrowing",
                                    "-fno-show-column",
                                    "-fno-caret-diagnostics",
                                    "-ferror-limit=8",
                                    "-ftemplate-backtrace-limit=4",
                                    options_.fp_contract ? "-ffp-contract=fast" : "-ffp-contract=off"};
#if defined(__x86_64__)
  // The machine's own bfloat conversions flush subnormals, and its half arithmetic is not needed: both are done in software.
  flags.insert(flags.end(), {"-march=native", "-mno-avx512bf16", "-mno-avx512fp16"});
#endif
  return flags;
}

std::filesystem::path Compiler::prelude() const {
  // Its name tells the headers' contents, so their dates do not count: a checkout that touches them must not make it useless.
  const std::vector<std::string> dateless = {"-Xclang", "-fno-pch-timestamp"};
  const std::string name =
      Hash().add(toolchain_).add(fmt::format("{} {}", fmt::join(language_flags(), " "), fmt::join(dateless, " "))).hex() + ".pch";
  return cache_.get(name, [&](const std::filesystem::path& output) {
    std::vector<std::string> command = {clang_};
    const auto flags = language_flags();
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), dateless.begin(), dateless.end());
    command.insert(command.end(), {"-Xclang", "-emit-pch", "-Xclang", "-fpch-instantiate-templates", "-c",
                                   (shader_directory() / "kernel.h").string(), "-o", output.string()});
    const auto result = run_process(command);
    if (result.exit_code != 0) throw EnvironmentError("assay's own shader headers do not compile:\n" + result.errors);
  });
}

std::string Compiler::flags() const { return fmt::format("{}", fmt::join(language_flags(), " ")); }

std::filesystem::path Compiler::shared_object(std::string_view source, std::string_view function) const {
  const std::string name = Hash().add(toolchain_).add(flags()).add(source).hex() + ".so";
  return cache_.get(name, [&](const std::filesystem::path& output) {
    const TemporaryFile input(cache_, source, ".clcpp");
    std::vector<std::string> command = {clang_};
    const auto flags = language_flags();
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(),
                   {"-include-pch", prelude().string(), fmt::format("-fpass-plugin={}", lockstep_pass().string()), input.path().string(),
                    "-shared", "-nostdlib++", "-Wl,-z,noexecstack", "-Wl,-x", "-lm", "-o", output.string()});
    const auto result = run_process(command, kCompiling, cache_.directory());
    if (result.is_cut || result.exit_code == 128 + SIGXCPU || result.errors.find("out of memory") != std::string::npos)
      throw CompileError(fmt::format("'{}' was not compiled: clang takes more than {} s or {} GiB for it", function,
                                     kCompiling.processor_seconds, kCompiling.memory_bytes >> 30));
    if (result.exit_code > 128)
      throw CompileError(fmt::format("{}: clang crashed while it compiled '{}' (signal {}):\n{}", input.path().string(), function,
                                     result.exit_code - 128, result.errors));
    if (result.exit_code != 0) throw CompileError(explain_errors(result.errors));
  });
}

namespace {

struct Message {
  std::string file;
  std::string line;
  std::string severity;  // "error", "note", ...
  std::string text;
};

// `<file>:<line>: <severity>: <text>`
std::optional<Message> parse_message(std::string_view line) {
  for (const std::string_view severity : {": error: ", ": fatal error: ", ": note: ", ": warning: "}) {
    const auto at = line.find(severity);
    if (at == std::string_view::npos) continue;
    const auto place = line.substr(0, at);
    const auto colon = place.rfind(':');
    if (colon == std::string_view::npos) continue;
    const auto number = place.substr(colon + 1);
    if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos) continue;
    return Message{std::string(place.substr(0, colon)), std::string(number), std::string(severity.substr(2, severity.size() - 4)),
                   std::string(line.substr(at + severity.size()))};
  }
  return std::nullopt;
}

std::string in_metal_words(std::string text) {
  const std::pair<std::string_view, std::string_view> words[] = {{"__attribute__((opencl_global_device)) ", "device "},
                                                                 {"__global_device ", "device "},
                                                                 {"const __global ", "constant "},
                                                                 {"__global const ", "constant "},
                                                                 {"__global ", "constant "},
                                                                 {"__local ", "threadgroup "},
                                                                 {"*__private", "*"},
                                                                 {"&__private", "&"},
                                                                 {"__private ", "thread "},
                                                                 {"__constant ", "constant "},
                                                                 {"C++ for OpenCL", "Metal"},
                                                                 {"OpenCL", "Metal"},
                                                                 {"__generic ", ""},
                                                                 {"assay_name_", ""},
                                                                 {"__bf16", "bfloat"},
                                                                 {"__assay::", ""}};
  for (const auto& [from, to] : words) {
    replace_all(text, from, to);
  }
  return text;
}

bool is_ours(const std::string& file) { return file.starts_with(shader_directory().string()); }

std::string source_line(const Message& message) {
  std::ifstream stream(message.file);
  std::string line;
  for (long number = std::strtol(message.line.c_str(), nullptr, 10); number > 0 && std::getline(stream, line); --number) {
    if (number == 1) return fmt::format("{:>6} | {}\n", message.line, line);
  }
  return {};
}

}  // namespace

std::string explain_errors(std::string_view messages) {
  std::vector<Message> all;
  std::string rest;
  for (std::size_t start = 0; start < messages.size();) {
    const auto end = std::min(messages.find('\n', start), messages.size());
    const auto line = messages.substr(start, end - start);
    if (auto message = parse_message(line)) {
      all.push_back(std::move(*message));
    } else if (line.find("generated.") == std::string_view::npos) {
      rest += std::string(line) + "\n";
    }
    start = end + 1;
  }
  std::string result;
  for (std::size_t index = 0; index < all.size(); ++index) {
    Message message = all[index];
    const bool is_error = message.severity.ends_with("error");
    if (is_error && is_ours(message.file)) {
      for (std::size_t note = index + 1; note < all.size() && all[note].severity == "note"; ++note) {
        if (is_ours(all[note].file)) continue;
        message.file = all[note].file;
        message.line = all[note].line;
        break;
      }
    }
    if (!is_error && is_ours(message.file)) continue;
    result +=
        fmt::format("{}:{}: {}: {}\n{}", message.file, message.line, message.severity, in_metal_words(message.text), source_line(message));
  }
  if (result.empty()) result = rest;
  while (result.ends_with('\n')) result.pop_back();
  return result;
}

}  // namespace assay::metal::compile
