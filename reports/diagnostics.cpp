// Splits the text of a compilation's error into messages.
#include "reports/diagnostics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/text.h"

namespace assay::reports {
namespace {

struct Severity {
  std::string_view words;
  bool is_note;
};
constexpr std::array<Severity, 4> kSeverities = {
    {{": error: ", false}, {": fatal error: ", false}, {": note: ", true}, {": warning: ", true}}};

// "file:12" or "file" before the severity.
metal::SourceLocation place_at(std::string_view head) {
  const std::size_t colon = head.rfind(':');
  if (colon != std::string_view::npos && colon != 0) {
    if (const auto line = base::number_of<std::uint32_t>(head.substr(colon + 1))) return {std::string(head.substr(0, colon)), *line};
  }
  return {std::string(head), 0};
}

// A message may quote another one, so the first severity of the line counts.
std::optional<Diagnostic> diagnostic_in(std::string_view line) {
  std::size_t first = std::string_view::npos;
  const Severity* severity = nullptr;
  for (const Severity& one : kSeverities) {
    if (const std::size_t at = line.find(one.words); at < first) {
      first = at;
      severity = &one;
    }
  }
  // Quoted lines of the source begin with a blank.
  if (severity == nullptr || first == 0 || line.front() == ' ') return std::nullopt;
  return Diagnostic{place_at(line.substr(0, first)), severity->is_note, std::string(line.substr(first + severity->words.size())), ""};
}

}  // namespace

std::vector<Diagnostic> diagnostics_of(std::string_view text) {
  std::vector<Diagnostic> diagnostics;
  for (const std::string_view line : base::lines_of(text)) {
    if (std::optional<Diagnostic> next = diagnostic_in(line)) {
      diagnostics.push_back(*std::move(next));
    } else if (diagnostics.empty()) {
      diagnostics.push_back({{}, false, std::string(line), ""});
    } else {
      std::string& excerpt = diagnostics.back().excerpt;
      excerpt += (excerpt.empty() ? "" : "\n") + std::string(line);
    }
  }
  return diagnostics;
}

}  // namespace assay::reports
