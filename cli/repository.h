// The git repository of the user, seen from outside: questions about it, and trees of it in folders of their own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

// What a command of git printed, and its exit status.
struct GitAnswer {
  int status = 0;
  std::string output, errors;  // without line breaks at their ends
};

// Runs git in a folder, without hooks and without asking anybody anything. Throws std::invalid_argument if there is no git.
[[nodiscard]] GitAnswer ask_git(const std::filesystem::path& folder, const std::vector<std::string>& arguments);

// The same for commands that must succeed: returns what it printed. Throws std::invalid_argument with the command and git's message.
std::string run_git(const std::filesystem::path& folder, const std::vector<std::string>& arguments);

// The top folder of the working tree that contains the folder. Throws std::invalid_argument if that is no working tree of git.
[[nodiscard]] std::filesystem::path working_tree_of(const std::filesystem::path& folder);

// The full name of the commit. Throws std::invalid_argument if the repository has no such revision.
[[nodiscard]] std::string commit_named(const std::filesystem::path& folder, const std::string& revision);

// "1a2b3c4 the first line of the message"
[[nodiscard]] std::string commit_line(const std::filesystem::path& folder, const std::string& commit);

// A temporary folder with working trees of a repository besides the user's own, which stays as it is. The destructor removes the folder
// and what git noted about the trees.
class WorkingTrees {
 public:
  explicit WorkingTrees(std::filesystem::path repository);
  ~WorkingTrees();
  WorkingTrees(const WorkingTrees&) = delete;
  WorkingTrees& operator=(const WorkingTrees&) = delete;

  // The commit's files in folder() / name. Throws as run_git().
  std::filesystem::path add(const std::string& name, const std::string& commit);
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path repository_, folder_;
  std::vector<std::filesystem::path> trees_;
};

}  // namespace assay::cli
