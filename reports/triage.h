// Writes the findings of triage as a Markdown page that can be pasted into an issue.
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
  std::string source_file, source_text;                             // of the variant, as it was triaged
  std::size_t failing = 0;                                          // failing cases that were given or found
  std::size_t selected = 0;                                         // number of cases that were run
  std::function<std::string(const std::string& case_name)> replay;  // returns the command that repeats a case
  std::vector<std::string> notes;
};

// A heading, and for each finding: class and line, smallest case with replay line, the repair as a diff, where the error occurs, the
// evidence for the class, known mistakes, hazards, source, worst elements.
[[nodiscard]] std::string triage_markdown(const TriagePage& page, std::span<const harness::Finding> findings);

}  // namespace assay::reports
