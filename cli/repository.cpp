// Asks git, and makes and removes temporary working trees.
#include "cli/repository.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/command.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kNotFound = 127;  // of `env`

std::string without_line_breaks(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

GitAnswer ask_git(const fs::path& folder, const std::vector<std::string>& arguments) {
  // A command has a clean environment: no $GIT_DIR of a hook that calls assay. Without a home, git would not know which repositories of
  // other users are trusted.
  std::vector<std::string> words = {"env", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat"};
  for (const char* name : {"HOME", "XDG_CONFIG_HOME"}) {
    if (const char* value = std::getenv(name)) words.push_back(fmt::format("{}={}", name, value));
  }
  words.insert(words.end(), {"git", "-C", folder.string(), "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=true"});
  words.insert(words.end(), arguments.begin(), arguments.end());
  base::CommandResult result = base::run_command(words);
  if (result.exit_code == kNotFound) throw std::invalid_argument("there is no git on PATH; install it (Debian: git)");
  return {result.exit_code, without_line_breaks(std::move(result.output)), without_line_breaks(std::move(result.errors))};
}

std::string run_git(const fs::path& folder, const std::vector<std::string>& arguments) {
  GitAnswer answer = ask_git(folder, arguments);
  if (answer.status != 0)
    throw std::invalid_argument(
        fmt::format("git {} failed: {}", fmt::join(arguments, " "), answer.errors.empty() ? answer.output : answer.errors));
  return std::move(answer.output);
}

fs::path working_tree_of(const fs::path& folder) {
  const GitAnswer answer = ask_git(folder, {"rev-parse", "--show-toplevel"});
  if (answer.status != 0 || answer.output.empty())
    throw std::invalid_argument(fmt::format("'{}' is not in a working tree of git{}", folder.string(),
                                            answer.errors.empty() ? "" : fmt::format(" ({})", answer.errors)));
  return answer.output;
}

std::string commit_named(const fs::path& folder, const std::string& revision) {
  const GitAnswer answer = ask_git(folder, {"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (answer.status != 0)
    throw std::invalid_argument(fmt::format("'{}' is not a revision of the repository {}", revision, folder.string()));
  return answer.output;
}

std::string commit_line(const fs::path& folder, const std::string& commit) {
  return run_git(folder, {"log", "--max-count=1", "--no-color", "--format=%h %s", commit});
}

WorkingTrees::WorkingTrees(fs::path repository) : repository_(std::move(repository)) {
  std::string pattern = fs::temp_directory_path() / "assay-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::invalid_argument(fmt::format("cannot create a temporary folder {}: {}", pattern, std::strerror(errno)));
  folder_ = pattern;
}

WorkingTrees::~WorkingTrees() {
  std::error_code ignored;
  try {
    for (const fs::path& tree : trees_) static_cast<void>(ask_git(repository_, {"worktree", "remove", "--force", tree.string()}));
    fs::remove_all(folder_, ignored);
    // If git could not remove one, it forgets it now that the folder is gone.
    if (!trees_.empty()) static_cast<void>(ask_git(repository_, {"worktree", "prune"}));
  } catch (const std::exception&) {
    fs::remove_all(folder_, ignored);
  }
}

fs::path WorkingTrees::add(const std::string& name, const std::string& commit) {
  const fs::path tree = folder_ / name;
  trees_.push_back(tree);
  run_git(repository_, {"worktree", "add", "--detach", tree.string(), commit});
  return tree;
}

}  // namespace assay::cli
