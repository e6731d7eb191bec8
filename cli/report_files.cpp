// Writes reports in all formats to files and streams.
#include "cli/report_files.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cli/files.h"
#include "cli/say.h"

namespace assay::cli {

reports::ReportContext report_context(const std::string& file) {
  const char* const workspace = std::getenv("GITHUB_WORKSPACE");
  std::error_code error;  // a folder that is gone has no path, and a report needs none
  const std::filesystem::path current = std::filesystem::current_path(error);
  return {reports::SourceRoot::around(file, workspace == nullptr ? "" : workspace, current), ASSAY_VERSION};
}

reports::ReportContext report_context(const reports::Format& format, const harness::Ledger& ledger, const harness::RunRecord& run,
                                      const std::vector<harness::CaseRecord>& cases) {
  const auto& sources = run.description.environment.sources;
  reports::ReportContext context = report_context(sources.empty() ? std::string() : sources.front().file);
  if (format.shows_other_runs) context.others = reports::past_of(ledger, run, cases);
  return context;
}

void say_report(const reports::Format& format, const std::string& text) {
  if (format.is_commands) {
    put_annotations(stdout, text);
  } else {
    put(stdout, text);
  }
}

void write_report(const std::string& file, const reports::Format& format, const std::string& text) {
  if (format.is_commands) {
    write_annotations(file, text);
  } else {
    write_file(file, text);
  }
}

void empty_reports(const Options& options) {
  for (const auto& [name, file] : options.reports) {
    if (!file.empty()) write_file(file, "");
  }
}

void write_reports(const Options& options, const harness::Ledger& ledger, harness::RunId id) {
  const harness::RunRecord run = ledger.run(id);
  const std::vector<harness::CaseRecord> cases = ledger.cases(id);
  for (const auto& [name, file] : options.reports) {
    if (file.empty()) continue;
    const reports::Format& format = reports::find_format(name);
    write_report(file, format, format.of_run(run, cases, report_context(format, ledger, run, cases)));
  }
}

void write_reports(const Options& options, const metal::CompileError& error) {
  reports::Compilation compilation;
  compilation.file = options.kernel;
  compilation.libraries.emplace_back().failure = error.what();
  const reports::ReportContext context = report_context(options.kernel);
  for (const auto& [name, file] : options.reports) {
    if (file.empty()) continue;
    const reports::Format& format = reports::find_format(name);
    write_report(file, format, format.of_compilation == nullptr ? std::string() : format.of_compilation(compilation, context));
  }
}

}  // namespace assay::cli
