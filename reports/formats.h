// The formats of reports: the only list of them. A format has its names, help and options wherever the command offers it from here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ledger/ledger.h"
#include "reports/compilation.h"
#include "reports/other_runs.h"
#include "reports/source_root.h"
#include "reports/triage_json.h"

namespace assay::reports {

struct ReportContext {
  SourceRoot root;
  std::string version;    // of assay
  OtherRuns others = {};  // for formats that show other runs
};

// What `assay triage` found.
struct TriageResult {
  std::span<const TriagedVariant> variants;
  std::span<const std::string> notes, remarks;
};

struct Format {
  std::string_view name;  // of --format NAME
  std::string_view says;  // in the help of --format, which lists all; empty: the name says it
  std::string_view file;  // the help of the option --NAME FILE of run, gate, merge and judge; empty: they have none
  bool shows_other_runs;  // what became of the cases in earlier runs, and a run to compare with
  bool is_commands;       // lines for the runner of GitHub, which must reach it as commands

  // Renderers; null where the format does not exist.
  std::string (*of_run)(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases, const ReportContext& context);
  std::string (*of_compilation)(const Compilation& compilation, const ReportContext& context);
  std::string (*of_triage)(const TriageResult& result, const ReportContext& context);
};

[[nodiscard]] std::span<const Format> formats();
// Throws std::invalid_argument.
[[nodiscard]] const Format& find_format(std::string_view name);

// Those that have this renderer: "text, junit, html (one page, no network)" for help, and the names alone.
template <typename Renderer>
[[nodiscard]] std::vector<const Format*> formats_with(Renderer Format::* renderer) {
  std::vector<const Format*> having;
  for (const Format& format : formats()) {
    if (format.*renderer != nullptr) having.push_back(&format);
  }
  return having;
}

}  // namespace assay::reports
