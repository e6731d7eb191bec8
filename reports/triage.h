// Findings of triage as Markdown: a page that can be pasted into an issue.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/triage/triage.h"

namespace assay::reports {

struct TriagePage {
  std::string subject;                                              // variant and file
  std::size_t failing = 0;                                          // cases that were given, or failed among those selected
  std::size_t selected = 0;                                         // cases that were run to find them
  std::function<std::string(const std::string& case_name)> replay;  // the command that repeats a case
  std::vector<std::string> notes;
};

// A heading, and for each finding: class and line, smallest case with its replay, where it shows, fits, hazards, source, worst elements.
[[nodiscard]] std::string triage_markdown(const TriagePage& page, std::span<const harness::Finding> findings);

}  // namespace assay::reports
