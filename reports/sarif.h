// Annotations as SARIF 2.1.0, which code scanning services and editors read.
#pragma once

#include <span>
#include <string>

#include "reports/annotation.h"

namespace assay::reports {

// What made the annotations.
struct SarifRun {
  std::string version;                      // of assay
  std::string command = {};                 // as typed; empty: not known
  std::string started = {}, finished = {};  // UTC, ISO 8601; empty: not known
  bool is_complete = true;                  // false: the run was stopped, or nothing could be compiled
};

// One run with its rules. Files below the root are relative to %SRCROOT%; others have absolute URIs. Without a line, line 1 is named,
// because GitHub takes no result without one. A fingerprint depends on rule, file, subject and title, not on the line.
[[nodiscard]] std::string sarif(std::span<const Annotation> annotations, const SarifRun& run, const SourceRoot& root);

}  // namespace assay::reports
