// Manual pages in the format of man(7), from the tree of commands.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace assay::cli {

struct ManualPage {
  std::string name;  // "assay-run.1"
  std::string text;
};

// A page for assay itself, then one for each command that its help lists; commands of commands are sections of their page.
[[nodiscard]] std::vector<ManualPage> manual_pages(const CLI::App& app);

}  // namespace assay::cli
