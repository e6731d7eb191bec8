// Where in the sources the cases and findings of a run are wrong, as far as it is known.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "harness/ledger/ledger.h"
#include "reports/source_root.h"

namespace assay::reports {

// Files are paths from the root. Line 0: only the file is known. An empty file: not even that.
class Places {
 public:
  Places(const harness::RunRecord& run, const SourceRoot& root);

  // The first defect that a check found, else the first remark for which the case fails, else the line that triage suspects, else the
  // source of the variant.
  [[nodiscard]] metal::SourceLocation of(const harness::CaseRecord& record) const;
  [[nodiscard]] metal::SourceLocation of(const harness::FindingRecord& finding) const;
  [[nodiscard]] metal::SourceLocation of_suspect(const std::string& variant, const harness::SuspectRecord& suspect) const;
  [[nodiscard]] metal::SourceLocation of_source(const std::string& variant) const;
  [[nodiscard]] metal::SourceLocation of(const metal::SourceLocation& place) const;

 private:
  const harness::RunRecord& run_;
  const SourceRoot& root_;
  std::map<std::string, std::string, std::less<>> sources_;  // file by variant
  std::map<std::string_view, std::size_t> causes_;           // index of the finding by case
};

// Names files in texts for people as a repository does, not by their paths on the machine of the run.
class SourceFiles {
 public:
  // `root` may be null.
  SourceFiles(const harness::RunRecord& run, const SourceRoot* root) : run_(run), root_(root) {}

  // The text about a case, with the absolute paths of its sources as paths from the root, and as names alone where they lie elsewhere.
  [[nodiscard]] std::string shortened(std::string text, const harness::CaseRecord& record) const;

 private:
  const harness::RunRecord& run_;
  const SourceRoot* root_;
};

// The first hazard for which a kernel is wrong, and whose line is known; null if there is none.
[[nodiscard]] const metal::Hazard* first_defect(const harness::CaseRecord& record);

}  // namespace assay::reports
