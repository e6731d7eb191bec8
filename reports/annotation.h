// What reports for other programs say about lines of sources: hazards, causes, failing cases, compile errors. SARIF and the commands of
// GitHub are made of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"
#include "reports/compilation.h"
#include "reports/source_root.h"
#include "reports/triage_json.h"

namespace assay::reports {

enum class Level : std::uint8_t { note, warning, error };

struct RelatedPlace {
  metal::SourceLocation place;
  std::string text;
};

struct Annotation {
  Level level = Level::error;
  std::string rule;             // kind of the statement: "hazard/race-between-simdgroups", "failed", "compile-error"
  std::string rule_says;        // the kind in a sentence
  std::string subject;          // what it is about besides the place: a variant, a line of the source
  std::string title;            // one line
  std::string message;          // several lines
  metal::SourceLocation place;  // the path from the root, absolute if it lies elsewhere. Line 0: not known. No file: about no file
  std::vector<RelatedPlace> related;
};

// Causes that triage found; hazards, each place once with the number of its cases; failing cases without either, similar ones as one; cases
// without a verdict; remarks, which are errors where a case fails for one. Known failures and skipped cases have none.
[[nodiscard]] std::vector<Annotation> annotations_of(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases,
                                                     const SourceRoot& root);

// The first error of every line, with the functions that it concerns; its notes are related places, its message has the other errors of
// the line. And remarks about the source.
[[nodiscard]] std::vector<Annotation> annotations_of(const Compilation& compilation, const SourceRoot& root);

// The findings of `assay triage`.
[[nodiscard]] std::vector<Annotation> annotations_of(std::span<const TriagedVariant> variants, const SourceRoot& root);

}  // namespace assay::reports
