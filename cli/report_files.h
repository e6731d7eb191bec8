// Reports in the files and on the streams that the command line asks for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/options.h"
#include "harness/ledger/ledger.h"
#include "metal/errors.h"
#include "reports/formats.h"

namespace assay::cli {

// --format, with the formats that have this renderer.
template <typename Renderer>
void add_format(CLI::App& command, std::string& name, Renderer reports::Format::* renderer) {
  std::string help;
  std::vector<std::string> names;
  for (const reports::Format* format : reports::formats_with(renderer)) {
    names.emplace_back(format->name);
    help += (help.empty() ? "" : ", ") + names.back();
    if (!format->says.empty()) help += " (" + std::string(format->says) + ")";
  }
  command.add_option("--format", name, help + "; default: " + name)->check(one_of(names));
}

// `file`: a source of the report. The root is $GITHUB_WORKSPACE if that contains the file, else the git checkout around it, else the
// working directory.
[[nodiscard]] reports::ReportContext report_context(const std::string& file);
// Of the sources of a run, and of the runs before it if the format shows them.
[[nodiscard]] reports::ReportContext report_context(const reports::Format& format, const harness::Ledger& ledger,
                                                    const harness::RunRecord& run, const std::vector<harness::CaseRecord>& cases);

// Print and write what one of the renderers returned; the commands of a format for GitHub's runner stay commands.
void say_report(const reports::Format& format, const std::string& text);
void write_report(const std::string& file, const reports::Format& format, const std::string& text);

// Empties the report files that the options name: a report of an earlier run must not be mistaken for this one. Throws
// std::invalid_argument if one cannot be written.
void empty_reports(const Options& options);
void write_reports(const Options& options, const harness::Ledger& ledger, harness::RunId run);
// Where the kernel under test does not compile, there is no run. Formats that say nothing of compilations leave an empty file.
void write_reports(const Options& options, const metal::CompileError& error);

}  // namespace assay::cli
