// `assay export`: writes cases as a bundle, for a device elsewhere.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/bundle/bundle.h"
#include "reports/bundle.h"
#include "reports/grouped.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  Options common;
  std::string folder;
  std::string math = "precise";
};

// The folder that is written. Equal contents are stored once.
class ExportFolder {
 public:
  explicit ExportFolder(fs::path folder) : folder_(std::move(folder)) {
    std::error_code error;
    if (fs::exists(folder_, error) && (!fs::is_directory(folder_, error) || !fs::is_empty(folder_, error)))
      throw std::invalid_argument(fmt::format("{}: exists already; choose a new or empty folder", folder_.string()));
    for (const char* name : {"sources", "inputs"}) fs::create_directories(folder_ / name);
  }

  std::string keep(std::string_view folder, std::span<const std::byte> contents, std::string_view suffix) {
    std::string name = harness::content_name(folder, contents, suffix);
    if (names_.insert(name).second) write(name, {reinterpret_cast<const char*>(contents.data()), contents.size()});
    return name;
  }

  void write(const std::string& name, std::string_view contents) {
    std::ofstream stream(folder_ / name, std::ios::binary);
    if (!stream.write(contents.data(), static_cast<std::streamsize>(contents.size())).flush())
      throw std::invalid_argument(fmt::format("{}: cannot be written ({})", (folder_ / name).string(), std::strerror(errno)));
    bytes_ += contents.size();
  }

  [[nodiscard]] std::size_t files() const { return names_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  fs::path folder_;
  std::set<std::string> names_;
  std::uint64_t bytes_ = 0;
};

int export_cases(const ExportOptions& options) {
  Workspace workspace = open_workspace(options.common);
  select(workspace, options.common, options.common.words);
  const std::vector<harness::Case>& selected = workspace.selection.cases;
  const harness::Workbench workbench(workspace.catalogue, selected, workbench_options(options.common, workspace));
  const fixtures::Shelf shelf = run_options(options.common).execution.shelf;
  for (const std::string& note : workspace.notes) say("note: {}\n", note);

  ExportFolder output(options.folder);
  const auto keep = [&](std::string_view folder, std::span<const std::byte> contents, std::string_view suffix) {
    return output.keep(folder, contents, suffix);
  };
  std::vector<harness::BundleCase> cases;
  std::size_t left_out = 0;
  std::string first;
  for (const harness::Case& test_case : selected) {
    const harness::PreparedVariant& prepared = workbench.find(test_case.variant);
    if (const std::string why = harness::why_not_bundled(prepared, test_case); !why.empty()) {
      if (left_out++ == 0) first = fmt::format("{}: {}", harness::format_case(test_case), why);
      continue;
    }
    cases.push_back(harness::make_bundle(prepared, test_case, shelf, keep));
  }
  if (left_out != 0) say("note: {} left out, the first is {}\n", reports::plural(left_out, "case"), first);
  if (cases.empty()) throw std::invalid_argument("no case is left to export");
  if (cases.size() > reports::kMostBundledCases)
    throw std::invalid_argument(fmt::format("a bundle has at most {} cases, but {} are selected; --shard I/N selects a part",
                                            reports::kMostBundledCases, cases.size()));
  // The last file, so that a folder without it is known to be incomplete.
  output.write(reports::kManifestFile,
               reports::bundle_manifest(options.math == "fast" ? harness::BundleMath::fast : harness::BundleMath::precise, cases).text);
  say("wrote {}: {}, {} of sources and inputs, {} bytes\n", options.folder, reports::plural(cases.size(), "case"),
      reports::plural(output.files(), "file"), reports::grouped(output.bytes()));
  return kExitPassed;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(
      app, action, "export", "Write cases as a bundle of files, to execute them on a device elsewhere (docs/BUNDLES.md)", export_cases);
  command->add_option("CASE", options->common.words, "Case name, glob or suite; may be omitted with --fixture");
  command->add_option("-o,--output", options->folder, "Folder to write: new, or empty")->required()->type_name("DIR");
  command->add_option("--math", options->math, "How the device compiles: precise, or fast as MTLCompileOptions has it by default")
      ->check(one_of({"precise", "fast"}))
      ->type_name("precise|fast");
  add_selection(*command, options->common);
  add_inputs(*command, options->common);
  command->footer(R"(examples
  assay export smoke -o bundle
  assay export 'tq4_v1/*/nwg16/*' -o bundle
  assay export smoke --kernel mine.metal --family FAMILY -o bundle
  tar czf bundle.tar.gz bundle                            to take it to a Mac, where runners/metal executes it
  assay judge bundle                                      once its results are in the folder)");
}

}  // namespace assay::cli
