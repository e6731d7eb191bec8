// Watches folders through inotify.
#include "cli/watched_files.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include "metal/errors.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

// IN_MODIFY is not among them: a file that is still open for writing is not saved yet.
constexpr std::uint32_t kWritten = IN_CLOSE_WRITE | IN_MOVED_TO;
constexpr std::uint32_t kUnsettled = IN_CREATE | IN_DELETE | IN_MOVED_FROM;
constexpr std::uint32_t kOfFolder = IN_DELETE_SELF | IN_MOVE_SELF;

[[noreturn]] void throw_cannot_watch(const std::string& what) {
  const std::string hint = errno == ENOSPC || errno == EMFILE ? " (the limits are in /proc/sys/fs/inotify)" : "";
  throw metal::EnvironmentError(fmt::format("cannot watch {}: {}{}", what, std::generic_category().message(errno), hint));
}

// The names to watch in each folder, so that nothing happens to the file unnoticed.
void add_names(std::map<fs::path, std::set<std::string>>& wanted, const fs::path& file) {
  std::error_code absent;
  fs::path path = file;
  while (!fs::is_directory(path.parent_path(), absent) && path.has_relative_path()) path = path.parent_path();
  wanted[path.parent_path()].insert(path.filename());
  if (!fs::is_symlink(file, absent)) return;
  const fs::path target = fs::canonical(file, absent);
  if (!absent) wanted[target.parent_path()].insert(target.filename());
}

}  // namespace

WatchedFiles::WatchedFiles() : descriptor_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (descriptor_.number() < 0) throw_cannot_watch("files");
}

// -1 if the folder has vanished.
int WatchedFiles::watch(const fs::path& folder) const {
  const int number = inotify_add_watch(descriptor_.number(), folder.c_str(), kWritten | kUnsettled | kOfFolder | IN_ONLYDIR);
  if (number < 0 && errno != ENOENT && errno != ENOTDIR) throw_cannot_watch(folder.string());
  return number;
}

void WatchedFiles::follow(const std::set<fs::path>& files) {
  std::map<fs::path, std::set<std::string>> wanted;
  for (const fs::path& file : files) add_names(wanted, file);
  std::map<int, std::set<std::string>> names;
  for (auto& [folder, of_folder] : wanted) {
    // Two paths may lead to one folder, which has one watch.
    if (const int number = watch(folder); number >= 0) names[number].merge(of_folder);
  }
  for (const auto& [number, unused] : names_) {
    if (!names.contains(number)) inotify_rm_watch(descriptor_.number(), number);
  }
  names_ = std::move(names);
}

WatchedFiles::Change WatchedFiles::take_changes() {
  Change change = Change::none;
  alignas(inotify_event) std::array<char, 16384> buffer;
  ssize_t count = 0;
  while ((count = read(descriptor_.number(), buffer.data(), buffer.size())) > 0) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      inotify_event event = {};
      std::memcpy(&event, &buffer.at(at), sizeof event);
      const char* name = event.len == 0 ? "" : &buffer.at(at + sizeof event);
      at += sizeof event + event.len;
      const bool is_lost = (event.mask & IN_Q_OVERFLOW) != 0;
      const auto folder = names_.find(event.wd);
      if (!is_lost && folder == names_.end()) continue;
      const bool is_of_folder = !is_lost && (event.mask & (kOfFolder | IN_IGNORED)) != 0;
      if (!is_lost && !is_of_folder && !folder->second.contains(name)) continue;
      const bool is_written = is_lost || (event.mask & kWritten) != 0;
      change = std::max(change, is_written ? Change::written : Change::unsettled);
      if ((event.mask & IN_IGNORED) != 0) names_.erase(folder);
    }
  }
  return change;
}

}  // namespace assay::cli
