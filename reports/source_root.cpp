// Finds the top of a repository, and paths from there.
#include "reports/source_root.h"

#include <system_error>
#include <utility>

namespace assay::reports {
namespace {

namespace fs = std::filesystem;

// Without links: a path that goes through one is below the root wherever the link leads.
fs::path plain(const fs::path& path) {
  std::error_code error;
  fs::path result = fs::absolute(path, error).lexically_normal();
  if (!result.has_filename()) result = result.parent_path();
  return error ? path : result;
}

fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path result = fs::weakly_canonical(plain(path), error);
  return error ? plain(path) : result;
}

// The path of `file` from `folder`; empty if it is not below.
fs::path below(const fs::path& folder, const fs::path& file) {
  if (folder.empty()) return {};
  fs::path relative = file.lexically_relative(folder);
  return relative.empty() || relative == "." || *relative.begin() == ".." ? fs::path() : relative;
}

}  // namespace

SourceRoot::SourceRoot(fs::path folder) : folder_(std::move(folder)) {}

SourceRoot SourceRoot::around(const fs::path& file, const fs::path& workspace, const fs::path& current) {
  const fs::path whole = current / file;
  if (!workspace.empty()) {
    for (const auto form : {plain, resolved}) {
      if (!below(form(workspace), form(whole)).empty()) return SourceRoot(form(workspace));
    }
  }
  if (file.empty()) return SourceRoot(plain(current));
  const fs::path start = plain(whole);
  for (fs::path folder = start; folder.has_relative_path(); folder = folder.parent_path()) {
    std::error_code error;
    if (fs::exists(folder / ".git", error)) return SourceRoot(folder);
  }
  return SourceRoot(plain(current));
}

std::string SourceRoot::path_of(const std::string& file) const {
  if (file.empty()) return {};
  const fs::path lexical = below(folder_, plain(file));
  if (!lexical.empty()) return lexical.generic_string();
  const fs::path real = below(resolved(folder_), resolved(file));
  return real.empty() ? plain(file).generic_string() : real.generic_string();
}

}  // namespace assay::reports
