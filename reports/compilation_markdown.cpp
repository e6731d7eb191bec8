// A compilation as Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "reports/compilation.h"
#include "reports/compilation_errors.h"
#include "reports/grouped.h"
#include "reports/markdown_text.h"

namespace assay::reports {
namespace {

constexpr std::size_t kMostErrors = 10;
constexpr std::size_t kMostFunctions = 5;
constexpr std::size_t kLongestExcerpt = 1000;

std::string functions_text(const std::vector<std::string>& functions) {
  if (functions.empty()) return {};
  std::string text = fmt::format(" ({} {} not compile: ", plural(functions.size(), "function"), functions.size() == 1 ? "does" : "do");
  for (std::size_t i = 0; i < std::min(kMostFunctions, functions.size()); ++i) text += (i == 0 ? "" : ", ") + prose(functions[i]);
  if (functions.size() > kMostFunctions) text += fmt::format(" and {}", plural(functions.size() - kMostFunctions, "other"));
  return text + ")";
}

std::string error_text(const CompilationError& it, const SourceRoot& root) {
  const std::string place =
      it.error.place.line == 0 ? std::string() : fmt::format("{}:{}: ", prose(root.path_of(it.error.place.file)), it.error.place.line);
  std::string text = fmt::format("- {}{}{}\n", place, prose(it.error.text), functions_text(it.functions));
  if (!it.error.excerpt.empty()) text += "\n" + code_block(it.error.excerpt.substr(0, kLongestExcerpt)) + "\n";
  return text;
}

}  // namespace

std::string compilation_markdown(const Compilation& compilation, const SourceRoot& root) {
  const std::string file = prose(root.path_of(compilation.file));
  if (compilation.is_sound()) return fmt::format("## assay: {} compiles\n\n{}.\n", file, plural(compilation.functions(), "function"));
  std::string text = fmt::format("## assay: {} does not compile\n\n", file);
  const std::vector<CompilationError> errors = errors_of(compilation);
  if (errors.empty()) return text + "The file has no kernel.\n";
  for (std::size_t i = 0; i < std::min(kMostErrors, errors.size()); ++i) text += error_text(errors[i], root);
  if (errors.size() > kMostErrors) text += fmt::format("- ... and {}\n", plural(errors.size() - kMostErrors, "further error"));
  return text;
}

}  // namespace assay::reports
