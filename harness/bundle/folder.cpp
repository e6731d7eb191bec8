// The folder of a bundle that comes from elsewhere: reads plain files of it, and nothing that they lead to.
#include "harness/bundle/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace assay::harness {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int number() const { return number_; }
  void replace(int number) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }

 private:
  int number_;
};

}  // namespace

BundleError::BundleError(const std::filesystem::path& file, std::string_view what)
    : std::invalid_argument(fmt::format("{}: {}", file.string(), what)) {}

BundleFolder::BundleFolder(std::filesystem::path folder) : path_(std::move(folder)) {
  std::error_code error;
  if (!std::filesystem::is_directory(path_, error)) throw BundleError(path_, "is not the folder of a bundle");
}

std::string BundleFolder::read(std::string_view name, std::uint64_t exactly) const { return read(name, exactly, exactly); }
std::string BundleFolder::read_at_most(std::string_view name, std::uint64_t most) const { return read(name, 0, most); }

std::string BundleFolder::read(std::string_view name, std::uint64_t least, std::uint64_t most) const {
  const auto fail = [&](std::string_view what) -> void { throw BundleError(path_ / name, what); };
  Descriptor at(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto words = base::split(name, '/');
  for (std::size_t i = 0; at.number() >= 0 && i < words.size(); ++i) {
    // A pipe must not be waited for.
    const int kind = i + 1 < words.size() ? O_DIRECTORY : O_NONBLOCK | O_NOCTTY;
    at.replace(openat(at.number(), std::string(words[i]).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
  }
  if (at.number() < 0) {
    if (errno == ELOOP) fail("is a link; a bundle has none");
    if (errno == ENOENT) fail("is missing");
    // Also a link where a folder should be.
    fail(fmt::format("cannot be read as a file of the bundle ({})", std::strerror(errno)));
  }
  struct stat about = {};
  if (fstat(at.number(), &about) != 0) fail(fmt::format("cannot be read ({})", std::strerror(errno)));
  if (!S_ISREG(about.st_mode)) fail("is not a regular file");
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (least == most && size != most) fail(fmt::format("has {} bytes, but must have {}", size, most));
  if (size > most) fail(fmt::format("has {} bytes, but may have at most {}", size, most));
  std::string contents(size, '\0');
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = ::read(at.number(), contents.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("changed while it was read");
    done += static_cast<std::size_t>(count);
  }
  return contents;
}

}  // namespace assay::harness
