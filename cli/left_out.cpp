// Lists what the kernels of a run were compiled without.
#include "cli/left_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assay::cli {

std::vector<std::string> left_out_of(const harness::Workbench& workbench, const std::string& variant) {
  std::set<std::string> sentences;
  for (const auto& [name, prepared] : workbench.variants()) {
    if (!variant.empty() && name != variant) continue;
    for (const auto& library : prepared.libraries) {
      const auto add = [&](const auto& part) {
        sentences.insert(fmt::format("{} does not compile and is left out, because no selected case needs it: {}", part.name,
                                     part.reason.substr(0, part.reason.find('\n'))));
      };
      // Those of a lender are no part of the kernel.
      if (library->files() != prepared.variant.translation_unit()) continue;
      std::ranges::for_each(library->refused(), add);
      std::ranges::for_each(library->left_out(), add);
    }
  }
  return {sentences.begin(), sentences.end()};
}

}  // namespace assay::cli
