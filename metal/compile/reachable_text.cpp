// Reads the folders of a source.
#include "metal/compile/reachable_text.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string>
#include <system_error>

#include "base/hash.h"
#include "base/text.h"

namespace assay::metal::compile {
namespace {

namespace fs = std::filesystem;

// Reading more would take longer than the preprocessor.
constexpr std::size_t kMostReadEntries = 300;
constexpr std::uint64_t kMostReadBytes = std::uint64_t{4} << 20;

bool is_below_any(const fs::path& file, const std::vector<fs::path>& folders) {
  return std::ranges::any_of(folders, [&](const fs::path& folder) { return std::ranges::mismatch(folder, file).in1 == folder.end(); });
}

class Reader {
 public:
  explicit Reader(const std::vector<fs::path>& folders) : folders_(folders) {}

  // False if the hash cannot say everything.
  bool add_folder(const fs::path& folder) {
    std::vector<fs::path> paths;
    std::error_code error;
    for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
      paths.push_back(entry->path());
      if (++entries_ > kMostReadEntries) return false;
    }
    if (error) return false;
    std::ranges::sort(paths);  // the system's order is not always the same
    hash_.add(std::to_string(paths.size()));
    return std::ranges::all_of(paths, [&](const fs::path& path) { return add(path); });
  }

  [[nodiscard]] std::string hex() const { return hash_.hex(); }

 private:
  bool add(const fs::path& path) {
    struct stat status = {};
    if (lstat(path.c_str(), &status) != 0) return false;
    hash_.add(path.string()).add(std::to_string(status.st_mode));
    if (S_ISDIR(status.st_mode)) return add_folder(path);
    if (S_ISLNK(status.st_mode)) return add_link(path);
    if (!S_ISREG(status.st_mode)) return true;  // refused wherever it is included
    bytes_ += static_cast<std::uint64_t>(status.st_size);
    if (bytes_ > kMostReadBytes) return false;
    const auto text = base::read_file(path);
    if (!text || may_depend_on_more(*text)) return false;
    hash_.add(*text);
    return true;
  }

  // A link's target is read where it stands, if that is one of the folders.
  bool add_link(const fs::path& path) {
    std::error_code error;
    const fs::path target = fs::canonical(path, error);
    if (error || !is_below_any(target, folders_)) return false;
    hash_.add(target.string());
    return true;
  }

  const std::vector<fs::path>& folders_;
  base::Hash hash_;
  std::size_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

bool may_depend_on_more(std::string_view text) {
  // A line may be continued within a word.
  std::string joined;
  if (text.find("\\\n") != std::string_view::npos || text.find("\\\r") != std::string_view::npos) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text.substr(at, 2) == "\\\n") {
        ++at;
      } else if (text.substr(at, 3) == "\\\r\n") {
        at += 2;
      } else {
        joined += text[at];
      }
    }
    text = joined;
  }
  constexpr std::array<std::string_view, 4> kWords = {"__has_include", "__DATE__", "__TIME", "../"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::optional<std::string> hash_of_reachable(const std::vector<fs::path>& folders) {
  Reader reader(folders);
  if (!std::ranges::all_of(folders, [&](const fs::path& folder) { return reader.add_folder(folder); })) return std::nullopt;
  return reader.hex();
}

}  // namespace assay::metal::compile
