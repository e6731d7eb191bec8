// `assay man`: writes manual pages, for `cmake --install`.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/manual.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

struct ManOptions {
  const CLI::App* app = nullptr;
  std::string folder;
};

int write_pages(const ManOptions& options) {
  std::filesystem::create_directories(options.folder);
  for (const ManualPage& page : manual_pages(*options.app)) write_file(std::filesystem::path(options.folder) / page.name, page.text);
  return kExitPassed;
}

}  // namespace

void add_man(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(app, action, "man", "Write a manual page for each command into a folder", write_pages);
  command->group("");  // for cmake, not for people
  options->app = &app;
  command->add_option("DIR", options->folder, "The folder, which is made if needed")->required();
}

}  // namespace assay::cli
