// Reads and writes cache entries, each sealed with a checksum.
#include "metal/compile/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>

#include "base/descriptor.h"
#include "base/file_state.h"
#include "base/hash.h"
#include "base/user_key.h"
#include "metal/errors.h"

namespace assay::metal::compile {

namespace {

// Appended to an entry: a mark and the keyed hash of its name and everything before it. Readers of shared objects and precompiled headers
// follow the tables of these formats, so bytes after the end do no harm.
constexpr std::string_view kSeal = "\nassay-seal:";
constexpr std::size_t kSealBytes = kSeal.size() + base::Hash::kHexDigits;

constexpr std::string_view kTemporary = ".tmp";  // in the names of unfinished files: ours, TemporaryFile's and clang's

constexpr off_t kLargestEntry = off_t{1} << 30;  // bytes; the precompiled headers have 9 MB

// Empty if the path is not a plain file (a symbolic link, for example) or cannot be read. Root can read everything, but its compiler
// gives that right up.
std::string read_file(const std::filesystem::path& path) {
  const base::Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || (status.st_mode & S_IRUSR) == 0 ||
      status.st_size > kLargestEntry)
    return {};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t size = 0;
  for (ssize_t count = 1; count > 0 && size < text.size(); size += static_cast<std::size_t>(std::max<ssize_t>(count, 0)))
    count = read(file.number(), text.data() + size, text.size() - size);
  text.resize(size);
  return text;
}

std::string seal_of(std::string_view name, std::string_view content) {
  return std::string(kSeal) + base::user_seal("cache entry").add(name).add(content).hex();
}

bool has_its_seal(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  const std::size_t size = content_size(text);
  return text.size() > kSealBytes &&
         std::string_view(text).substr(size) == seal_of(path.filename().string(), std::string_view(text).substr(0, size));
}

// An entry that had its seal is not read again while it stays the same file: a search for repairs compiles hundreds of kernels with one
// file of precompiled headers.
bool is_sound(const std::filesystem::path& path) {
  static std::mutex mutex;
  static std::map<std::string, base::FileState> known;
  const std::optional<base::FileState> state = base::file_state(path);
  if (!state) return false;
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(path.string()); found != known.end() && found->second == *state) return true;
  if (!has_its_seal(path)) return false;
  if (state->is_settled()) known.insert_or_assign(path.string(), *state);
  return true;
}

// Removes files that a killed process or its compiler left behind. No compilation takes an hour.
void sweep(const std::filesystem::path& directory) {
  const auto oldest = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::error_code error;
  for (auto file = std::filesystem::directory_iterator(directory, error); !error && file != std::filesystem::directory_iterator();
       file.increment(error)) {
    std::error_code gone;  // ignored: another process may sweep at the same time
    if (file->path().filename().string().find(kTemporary) == std::string::npos) continue;
    if (file->last_write_time(gone) < oldest && !gone) std::filesystem::remove(file->path(), gone);
  }
}

std::filesystem::path default_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') return std::filesystem::path(cache) / "assay";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return std::filesystem::path(home) / ".cache" / "assay";
  throw EnvironmentError("no place for compiled kernels: neither XDG_CACHE_HOME nor HOME is set");
}

}  // namespace

Cache::Cache(std::filesystem::path directory) : directory_(directory.empty() ? default_directory() : std::move(directory)) {
  const auto refuse = [&](std::string_view problem) {
    throw EnvironmentError(fmt::format("the cache for compiled kernels, {}, {}", directory_.string(), problem));
  };
  std::error_code error;
  std::filesystem::create_directories(directory_.parent_path(), error);
  mkdir(directory_.c_str(), 0700);
  const base::Descriptor folder(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status = {};
  if (folder.number() >= 0 && fstat(folder.number(), &status) == 0 && status.st_uid != geteuid()) {
    refuse(fmt::format(
        "belongs to another user (uid {}), who could exchange kernels; remove it, or set XDG_CACHE_HOME to a directory of your own",
        status.st_uid));
  }
  // What lies in it from before is believed only with its seal.
  const bool is_private = folder.number() >= 0 && ((status.st_mode & 077U) == 0 || fchmod(folder.number(), 0700) == 0);
  if (!is_private || access(directory_.c_str(), W_OK) != 0) refuse("cannot be written; set XDG_CACHE_HOME to a directory that can");
}

std::filesystem::path Cache::make_temporary(std::string_view stem, std::string_view extension) const {
  const std::string suffix = fmt::format("{}{}", kTemporary, extension);
  std::string path = (directory_ / fmt::format("{}.XXXXXX{}", stem, suffix)).string();
  const base::Descriptor file(mkostemps(path.data(), static_cast<int>(suffix.size()), O_CLOEXEC));
  if (file.number() < 0) throw EnvironmentError(fmt::format("cannot write {}: {}", path, std::system_category().message(errno)));
  return path;
}

bool Cache::has(const std::string& name) const { return is_sound(directory_ / name); }

std::filesystem::path Cache::get(const std::string& name, const std::function<void(const std::filesystem::path&)>& make) const {
  const auto entry = directory_ / name;
  if (is_sound(entry)) return entry;
  // The search costs little next to a compilation, and once per process is often enough.
  static std::once_flag swept;
  std::call_once(swept, sweep, directory_);
  const auto temporary = make_temporary(entry.stem().string(), entry.extension().string());
  struct Remover {
    const std::filesystem::path& path;
    ~Remover() {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
    }
  } remover{temporary};
  make(temporary);
  const std::string seal = seal_of(name, read_file(temporary));
  std::ofstream stream(temporary, std::ios::binary | std::ios::app);
  stream << seal;
  stream.close();
  std::error_code error;
  if (stream) {
    std::filesystem::rename(temporary, entry, error);
    // A folder in its place.
    if (error && std::filesystem::remove_all(entry) > 0) std::filesystem::rename(temporary, entry, error);
  }
  if (!stream || error) throw EnvironmentError(fmt::format("cannot write {} ({}); is the disk full?", entry.string(), error.message()));
  return entry;
}

std::size_t content_size(std::string_view entry) { return entry.size() - std::min(entry.size(), kSealBytes); }

std::string entry_digest(const std::filesystem::path& entry) {
  const std::string text = read_file(entry);
  return base::Hash().add(std::string_view(text).substr(0, content_size(text))).hex();
}

}  // namespace assay::metal::compile
