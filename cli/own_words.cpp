// Writes options as words of a command line.
#include "cli/own_words.h"

#include <fmt/format.h>

#include "base/sandbox.h"

namespace assay::cli {

std::vector<std::string> further_words_for_names(const Options& options) {
  std::vector<std::string> words;
  if (!options.schedule.empty()) words.insert(words.end(), {"--schedule", options.schedule});
  if (options.same_layout) words.emplace_back("--abi");
  const base::SandboxMode mode = base::sandbox_mode();
  if (mode != base::SandboxMode::automatic) words.insert(words.end(), {"--sandbox", mode == base::SandboxMode::off ? "off" : "require"});
  return words;
}

std::vector<std::string> further_words(const Options& options) {
  std::vector<std::string> words = further_words_for_names(options);
  if (options.seed != 0) words.insert(words.end(), {"--seed", fmt::to_string(options.seed)});
  if (options.jobs != 0) words.insert(words.end(), {"--jobs", fmt::to_string(options.jobs)});
  return words;
}

}  // namespace assay::cli
