// Reads and writes cache entries, each sealed with a checksum.
#include "metal/compile/cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "base/hash.h"
#include "metal/errors.h"

namespace assay::metal::compile {

namespace {

// Appended to an entry: a mark and the hash of everything before it. Readers of shared objects and precompiled headers follow the
// tables of these formats, so bytes after the end do no harm.
constexpr std::string_view kSeal = "\nassay-seal:";
constexpr std::size_t kSealBytes = kSeal.size() + base::Hash::kHexDigits;

constexpr std::string_view kTemporary = ".tmp";  // in the names of unfinished files: ours, TemporaryFile's and clang's

// Reads the file in one call: the precompiled headers have 9 MB, and every compilation checks their seal.
std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return {};
  std::string text(size, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

bool is_sound(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  if (text.size() < kSealBytes) return false;
  const std::string_view content = std::string_view(text).substr(0, text.size() - kSealBytes);
  const std::string_view seal = std::string_view(text).substr(content.size());
  return seal.starts_with(kSeal) && seal.substr(kSeal.size()) == base::Hash().add(content).hex();
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
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error || access(directory_.c_str(), W_OK) != 0) {
    throw EnvironmentError(fmt::format("the cache for compiled kernels, {}, cannot be written; set XDG_CACHE_HOME to a directory that can",
                                       directory_.string()));
  }
}

std::filesystem::path Cache::get(const std::string& name, const std::function<void(const std::filesystem::path&)>& make) const {
  const auto entry = directory_ / name;
  if (is_sound(entry)) return entry;
  // The search costs little next to a compilation, and once per process is often enough.
  static std::once_flag swept;
  std::call_once(swept, sweep, directory_);
  static std::atomic<unsigned> serial = 0;
  const auto temporary =
      directory_ / fmt::format("{}.{}.{}{}{}", entry.stem().string(), getpid(), serial++, kTemporary, entry.extension().string());
  struct Remover {
    const std::filesystem::path& path;
    ~Remover() {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
    }
  } remover{temporary};
  make(temporary);
  const std::string seal = std::string(kSeal) + base::Hash().add(read_file(temporary)).hex();
  std::ofstream stream(temporary, std::ios::binary | std::ios::app);
  stream << seal;
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(temporary, entry, error);
  if (!stream || error) throw EnvironmentError(fmt::format("cannot write {} ({}); is the disk full?", entry.string(), error.message()));
  return entry;
}

std::size_t content_size(std::string_view entry) { return entry.size() - std::min(entry.size(), kSealBytes); }

std::string entry_digest(const std::filesystem::path& entry) {
  const std::string text = read_file(entry);
  return base::Hash().add(std::string_view(text).substr(0, content_size(text))).hex();
}

}  // namespace assay::metal::compile
