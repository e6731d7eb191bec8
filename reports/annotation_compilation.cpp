// Makes annotations of a compilation.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "reports/annotation.h"
#include "reports/compilation_errors.h"
#include "reports/grouped.h"

namespace assay::reports {
namespace {

constexpr std::size_t kMostNamed = 5;  // functions

std::string functions_line(const std::vector<std::string>& functions) {
  if (functions.empty()) return {};
  const auto named = std::span(functions).first(std::min(functions.size(), kMostNamed));
  const std::size_t others = functions.size() - named.size();
  return fmt::format("{} {} not compile: {}{}\n", plural(functions.size(), "function"), functions.size() == 1 ? "does" : "do",
                     fmt::join(named, ", "), others == 0 ? "" : fmt::format(" and {}", plural(others, "other")));
}

// The quoted source without its line number, which changes with every line above it.
std::string quoted_line(const std::string& excerpt) {
  const std::size_t bar = excerpt.find('|');
  return bar == std::string::npos ? std::string() : excerpt.substr(bar, excerpt.find('\n', bar) - bar);
}

Annotation error_annotation(const CompilationError& it, const Compilation& compilation, const SourceRoot& root) {
  const Diagnostic& error = it.error;
  Annotation result{.rule = "compile-error",
                    .rule_says = "The kernel does not compile as Metal, or needs what the simulator does not have.",
                    .subject = quoted_line(error.excerpt),
                    .title = error.text,
                    .message = error.text + "\n" + (error.excerpt.empty() ? "" : error.excerpt + "\n") + functions_line(it.functions),
                    .place = {root.path_of(error.place.file.empty() ? compilation.file : error.place.file), error.place.line},
                    .related = {}};
  for (const Diagnostic& note : it.notes) {
    result.message += fmt::format("{}:{}: {}\n", note.place.file, note.place.line, note.text);
    if (note.place.line != 0) result.related.push_back({{root.path_of(note.place.file), note.place.line}, note.text});
  }
  return result;
}

}  // namespace

std::vector<Annotation> annotations_of(const Compilation& compilation, const SourceRoot& root) {
  std::vector<Annotation> annotations;
  // What clang says of a line behind the first error is mostly a consequence of it.
  std::map<std::pair<std::string, std::uint32_t>, std::size_t> by_line;
  for (const CompilationError& it : errors_of(compilation)) {
    Annotation next = error_annotation(it, compilation, root);
    const auto [first, is_new] = by_line.try_emplace({next.place.file, next.place.line}, annotations.size());
    if (is_new || next.place.line == 0)
      annotations.push_back(std::move(next));
    else
      annotations[first->second].message += "on the same line: " + it.error.text + "\n";
  }
  for (const CompiledLibrary& library : compilation.libraries) {
    for (const metal::SourceNote& note : library.notes)
      annotations.push_back({.level = Level::note,
                             .rule = "source-note",
                             .rule_says = "A remark about the source that no check of a run reports.",
                             .subject = {},
                             .title = note.text,
                             .message = note.text + "\n",
                             .place = {root.path_of(note.file), note.line},
                             .related = {}});
  }
  if (compilation.functions() == 0 && annotations.empty())
    annotations.push_back({.rule = "compile-error",
                           .rule_says = "The kernel does not compile as Metal, or needs what the simulator does not have.",
                           .subject = {},
                           .title = "the file has no kernel",
                           .message = "the file has no kernel\n",
                           .place = {root.path_of(compilation.file), 0},
                           .related = {}});
  return annotations;
}

}  // namespace assay::reports
