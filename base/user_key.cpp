// Reads and makes the key file.
#include "base/user_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

#include "base/descriptor.h"

namespace assay::base {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyBytes = 32;

struct Key {
  std::array<std::byte, kKeyBytes> bytes{};

  Key() = default;
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key() { sodium_memzero(bytes.data(), bytes.size()); }
};

[[noreturn]] void refuse(const fs::path& file, std::string_view problem) {
  throw UserKeyError(fmt::format("the key {}, which seals cache and ledgers, {}", file.string(), problem));
}

[[noreturn]] void refuse_system(const fs::path& file, std::string_view doing, int error) {
  refuse(file, fmt::format("cannot be {}: {}; set ASSAY_KEY to a file that can be written, or that holds your key", doing,
                           std::system_category().message(error)));
}

// Nothing if there is no such file.
std::optional<Key> read_key(const fs::path& file) {
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (descriptor.number() < 0) {
    if (errno == ENOENT) return std::nullopt;
    refuse_system(file, "read", errno);
  }
  struct stat status = {};
  Key key;
  if (fstat(descriptor.number(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != kKeyBytes ||
      read(descriptor.number(), key.bytes.data(), kKeyBytes) != kKeyBytes)
    refuse(file, "is not a file of 32 bytes; remove it, and a new one is made");
  if (status.st_uid != geteuid() || (status.st_mode & 077U) != 0)
    refuse(file, "could be read by other users; remove it, and a new one is made");
  return key;
}

// Two processes may do this at once: the first one's key stays.
void make_key(const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  std::string temporary = file.string() + ".XXXXXX";
  const Descriptor descriptor(mkostemp(temporary.data(), O_CLOEXEC));
  if (descriptor.number() < 0) refuse_system(file, "made", errno);
  Key key;
  randombytes_buf(key.bytes.data(), kKeyBytes);
  const bool is_written = write(descriptor.number(), key.bytes.data(), kKeyBytes) == kKeyBytes;
  const bool is_placed = is_written && (link(temporary.c_str(), file.c_str()) == 0 || errno == EEXIST);
  const int problem = errno;
  unlink(temporary.c_str());
  if (!is_placed) refuse_system(file, "made", problem);
}

}  // namespace

fs::path user_key_file() {
  if (const char* file = std::getenv("ASSAY_KEY"); file != nullptr && *file != '\0') return file;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && fs::path(state).is_absolute())
    return fs::path(state) / "assay" / "key";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0')
    throw UserKeyError("no place for the key that seals cache and ledgers: none of ASSAY_KEY, XDG_STATE_HOME and HOME is set");
  return fs::path(home) / ".local" / "state" / "assay" / "key";
}

Hash user_seal(std::string_view purpose) {
  const fs::path file = user_key_file();
  std::optional<Key> key = read_key(file);
  if (!key) {
    make_key(file);
    key = read_key(file);
  }
  if (!key) refuse(file, "was removed while it was made");
  Hash hash(key->bytes);
  hash.add(purpose);
  return hash;
}

}  // namespace assay::base
