// Remembers which files kernels are made of, and reads them.
#include "metal/source_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>
#include <mutex>
#include <string_view>

#include "base/descriptor.h"

namespace assay::metal {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;

struct Noted {
  std::mutex mutex;
  std::map<std::string, std::filesystem::path> files;
};
Noted& noted() {
  static Noted instance;
  return instance;
}

std::string text_of(const std::filesystem::path& path) {
  // It may have become a pipe since: that has no reader to wait for.
  const base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string text;
  std::array<char, 65536> chunk;
  for (ssize_t count = 0; text.size() < kLargestFile && (count = read(file.number(), chunk.data(), chunk.size())) > 0;)
    text.append(chunk.data(), static_cast<std::size_t>(count));
  return text;
}

}  // namespace

void note_source_file(const std::string& name, const std::filesystem::path& path) {
  const std::lock_guard lock(noted().mutex);
  noted().files[name] = std::filesystem::absolute(path);
}

std::vector<std::string> source_lines(const std::string& name) {
  std::filesystem::path path;
  {
    const std::lock_guard lock(noted().mutex);
    const auto found = noted().files.find(name);
    if (found == noted().files.end()) return {};
    path = found->second;
  }
  std::vector<std::string> lines;
  const std::string text = text_of(path);
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

}  // namespace assay::metal
