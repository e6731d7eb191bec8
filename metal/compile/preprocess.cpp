// Preprocesses sources with clang, or finds that this was done before.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"
#include "metal/compile/compiler.h"
#include "metal/compile/messages.h"
#include "metal/compile/reachable_text.h"
#include "metal/compile/temporary_file.h"
#include "metal/errors.h"
#include "metal/source_files.h"
#include "metal/translate/limits.h"

namespace assay::metal::compile {

namespace {

// Limits for macros that expand to macros, and for files that include without end or read from a device. No kernel needs as much
// to be preprocessed.
constexpr base::CommandLimits kPreprocessing{translate::kLargestSource, std::uint64_t{4} << 30, 60, 120};

std::string absolute_name(const std::filesystem::path& file) { return std::filesystem::absolute(file).lexically_normal().string(); }

// Removes lines that name `file` from the messages about how a file came to be included.
void remove_lines_from(std::string& messages, const std::string& file) {
  const std::string start = "In file included from " + file + ":";
  for (std::size_t at = 0; (at = messages.find(start, at)) != std::string::npos;) messages.erase(at, messages.find('\n', at) - at + 1);
}

// What temporary files are called in preprocessed text, which is kept longer than they are.
constexpr std::string_view kReachFile = "/assay/reach.h";
constexpr std::string_view kAllFiles = "/assay/all.metal";

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

// Names as the preprocessor writes them, and those for messages. Longest first, because one may be a prefix of another.
std::vector<std::pair<std::string, std::string>> names_of(const std::vector<SourceFile>& files) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const SourceFile& file : files) names.emplace_back(files.size() > 1 ? absolute_name(file.path) : file.path.string(), file.name);
  names.emplace_back(kReachFile, "<reach>");
  std::ranges::sort(names, [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  return names;
}

// As in a line marker.
std::string quoted(const std::filesystem::path& path) {
  std::string text;
  for (const char c : path.string()) text += c == '\\' || c == '"' ? std::string("\\") + c : std::string(1, c);
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

// The cache entry of the preprocessed text: a hash of all that it depends on. Nothing if no hash could be. Our own headers are part of the
// toolchain, and the last of the roots.
std::optional<std::string> Compiler::preprocessed_name(const std::vector<SourceFile>& files,
                                                       const std::vector<std::filesystem::path>& roots) const {
  base::Hash hash;
  hash.add("preprocessed").add(toolchain_).add(std::filesystem::current_path().string()).add(std::to_string(options_.metal_version));
  for (const auto* definitions : {&options_.definitions, &options_.configuration}) {
    hash.add(std::to_string(definitions->size()));
    for (const std::string& definition : *definitions) {
      if (may_depend_on_more(definition)) return std::nullopt;
      hash.add(definition);
    }
  }
  hash.add(std::to_string(options_.include_directories.size()));
  for (const auto& folder : options_.include_directories) hash.add(folder.string());
  hash.add(std::to_string(files.size()));
  for (const SourceFile& file : files) {
    if (is_text(file)) return std::nullopt;
    hash.add(file.path.string());
  }
  for (const auto& root : roots) hash.add(root.string());
  const std::optional<std::string> reachable = hash_of_reachable({roots.begin(), roots.end() - 1});
  if (!reachable) return std::nullopt;
  return hash.add(*reachable).hex() + ".i";
}

std::string Compiler::preprocess(const std::vector<SourceFile>& files) const {
  for (const SourceFile& file : files) {
    if (!is_text(file)) note_source_file(file.name, file.path);
  }
  const std::vector<std::filesystem::path> roots = reached_by(files);
  const std::optional<std::string> name = preprocessed_name(files, roots);
  std::string text;
  if (name && cache_.has(*name)) {
    text = base::read_file(cache_.directory() / *name).value_or("");
    text.resize(content_size(text));
  } else {
    text = run_preprocessor(files, roots);
    // Not if a file changed meanwhile: which of its contents was read is not known.
    if (name && preprocessed_name(files, roots) == name)
      static_cast<void>(cache_.get(*name, [&](const std::filesystem::path& output) { std::ofstream(output, std::ios::binary) << text; }));
  }
  return with_known_markers(text, names_of(files), std::string(kAllFiles), files.front().name, roots);
}

std::vector<std::string> Compiler::preprocessing_command(const std::filesystem::path& reach, const std::string& main) const {
  std::vector<std::string> command = {clang_,
                                      "-E",
                                      "-x",
                                      "c++",
                                      "-std=c++17",
                                      "-nostdinc",
                                      "-undef",
                                      "-fms-extensions",                                           // expands macros in pragmas
                                      fmt::format("-fplugin={}", find_toolchain().pass.string()),  // a pragma (pass/reach.cpp)
                                      "-include",
                                      reach.string(),
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
  return command;
}

std::string Compiler::run_preprocessor(const std::vector<SourceFile>& files, const std::vector<std::filesystem::path>& roots) const {
  const std::string& display_name = files.front().name;
  // A single file is preprocessed directly, because `#pragma once` and line markers behave differently in an included file.
  std::optional<TemporaryFile> all;
  if (files.size() > 1) all.emplace(cache_, including(files), ".metal");
  const TemporaryFile reach(cache_, reach_pragma(roots), ".h");
  base::Reach reachable{.programs = {}, .readable = roots, .writable = {}};
  reachable.readable.push_back(cache_.directory());
  for (const SourceFile& file : files) reachable.readable.push_back(file.path);
  auto result = run_tool(preprocessing_command(reach.path(), all ? all->path().string() : files.front().path.string()),
                         std::move(reachable), kPreprocessing);
  if (result.is_cut) {
    throw CompileError(
        fmt::format("{}:1: error: the source has more than {} bytes once it is preprocessed", display_name, kPreprocessing.output_bytes));
  }
  if (result.exit_code > 128) {
    throw CompileError(fmt::format("{}:1: error: preprocessing was given up (signal {}): it takes more than {} s or {} bytes", display_name,
                                   result.exit_code - 128, result.is_late ? kPreprocessing.seconds : kPreprocessing.processor_seconds,
                                   kPreprocessing.memory_bytes));
  }
  replace_all(result.output, quoted(reach.path()), kReachFile);
  if (all) replace_all(result.output, quoted(all->path()), kAllFiles);
  if (result.exit_code == 0) return std::move(result.output);

  const auto names = names_of(files);
  // Notes the files that messages may show lines of.
  static_cast<void>(with_known_markers(result.output, names, std::string(kAllFiles), display_name, roots));
  replace_all(result.errors, reach.path().string(), kReachFile);
  if (all) {
    replace_all(result.errors, all->path().string(), kAllFiles);
    remove_lines_from(result.errors, std::string(kAllFiles));
  }
  for (const auto& [path, name] : names) replace_all(result.errors, path, name);
  throw CompileError(explain_errors(result.errors));
}

}  // namespace assay::metal::compile
