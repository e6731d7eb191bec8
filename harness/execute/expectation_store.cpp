// Writes, reads and removes files of expectations: a number of elements, three arrays of doubles, the seal.
#include "harness/execute/expectation_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/program_build.h"
#include "base/user_key.h"
#include "metal/compile/cache.h"
#include "metal/errors.h"

namespace assay::kernels {

void fields(auto& archive, base::OneOf<Accuracy> auto& value) {
  auto& [dot_depth, accumulator, accumulator_keys, stores, merge_store, formats, reason] = value;
  base::each(archive, dot_depth, accumulator, accumulator_keys, stores, merge_store, formats);
}

}  // namespace assay::kernels

namespace assay::metal {

void fields(auto& archive, base::OneOf<FieldValue> auto& value) {
  auto& [kind, bits] = value;
  base::each(archive, kind, bits);
}

}  // namespace assay::metal

namespace assay::harness {
namespace {

namespace fs = std::filesystem;

// What to read and check a byte of a file takes, with a margin: measured 1.2 ns. An expectation is kept if computing it takes 15 times as
// long. In a gate that is an eighth of all bytes, and three quarters of the time of all oracles.
constexpr double kWorthKeeping = 20e-9;

// Larger expectations are not kept.
constexpr std::size_t kMostElements = std::size_t{1} << 21;

// Of so many files, keep() looks for old ones after one.
constexpr unsigned kTidyEvery = 64;

std::string_view bytes_of(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

std::string seal_of(const std::string& name, const oracles::Expected& expected) {
  return base::user_seal("expectation")
      .add(name)
      .add(bytes_of(expected.value))
      .add(bytes_of(expected.bound))
      .add(bytes_of(expected.magnitude))
      .hex();
}

// The C library chooses its functions by the processor, and they differ in the last bit.
std::string mathematics_of_machine() {
  std::string text(64, '\0');
#if defined(_CS_GNU_LIBC_VERSION)
  text.resize(std::min(text.size(), confstr(_CS_GNU_LIBC_VERSION, text.data(), text.size())));
#endif
#if defined(__x86_64__)
  text += fmt::format(" fma {} avx2 {} avx512 {}", __builtin_cpu_supports("fma"), __builtin_cpu_supports("avx2"),
                      __builtin_cpu_supports("avx512f"));
#elif defined(__aarch64__)
  text += " aarch64";
#endif
  return text;
}

bool read_into(int file, void* to, std::size_t size) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t count = ::read(file, at, size);
    if (count <= 0) return false;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool read_into(int file, std::vector<double>& values, std::size_t count) {
  values.resize(count);
  return read_into(file, values.data(), count * sizeof(double));
}

}  // namespace

std::string expectation_name(const Case& test_case, const kernels::Variant& variant, const oracles::ArithmeticProfile& profile,
                             std::string_view which) {
  static const std::string program = base::build_of_program() + " " + mathematics_of_machine();
  base::ArchiveWriter said;
  base::each(said, variant.accuracy, variant.reads_hidden, variant.settings, variant.fields);
  const std::string name = format_case(test_case);
  return base::Hash()
      .add(program)
      .add(which)
      .add(test_case.family->name())
      .add(std::string_view(name).substr(test_case.variant.size()))
      .add({reinterpret_cast<const char*>(said.bytes.data()), said.bytes.size()})
      .add(profile.name)
      .hex();
}

std::shared_ptr<const ExpectationStore> expectations_in_cache() {
  try {
    return std::make_shared<const ExpectationStore>(metal::compile::Cache({}).directory() / "expectations");
  } catch (const metal::EnvironmentError&) {
    return nullptr;  // whoever compiles a kernel reports it
  }
}

oracles::Expected ExpectationStore::get(const std::string& name, const std::function<oracles::Expected()>& compute) const {
  if (auto found = find(name)) return *std::move(found);
  const auto start = std::chrono::steady_clock::now();
  oracles::Expected expected = compute();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double bytes = 3.0 * sizeof(double) * static_cast<double>(expected.size());
  if (seconds > kWorthKeeping * bytes && expected.size() <= kMostElements) keep(name, expected);
  return expected;
}

std::optional<oracles::Expected> ExpectationStore::find(const std::string& name) const {
  const base::Descriptor file(open((folder_ / name).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::uint64_t count = 0;
  if (!read_into(file.number(), &count, sizeof count) || count > kMostElements) return std::nullopt;
  const std::uint64_t size = sizeof count + 3 * sizeof(double) * count + base::Hash::kHexDigits;
  if (static_cast<std::uint64_t>(status.st_size) != size) return std::nullopt;
  oracles::Expected expected;
  for (std::vector<double>* values : {&expected.value, &expected.bound, &expected.magnitude}) {
    if (!read_into(file.number(), *values, count)) return std::nullopt;
  }
  std::string seal(base::Hash::kHexDigits, '\0');
  if (!read_into(file.number(), seal.data(), seal.size())) return std::nullopt;
  try {
    if (seal != seal_of(name, expected)) return std::nullopt;
  } catch (const base::UserKeyError&) {
    return std::nullopt;
  }
  futimens(file.number(), nullptr);  // it was used now
  return expected;
}

void ExpectationStore::keep(const std::string& name, const oracles::Expected& expected) const {
  if (expected.bound.size() != expected.size() || expected.magnitude.size() != expected.size()) return;
  try {
    const std::string seal = seal_of(name, expected);
    mkdir(folder_.c_str(), 0700);
    std::string temporary = (folder_ / (name + ".XXXXXX")).string();
    const base::Descriptor made(mkostemp(temporary.data(), O_CLOEXEC));
    if (made.number() < 0) return;
    std::ofstream stream(temporary, std::ios::binary);
    const std::uint64_t count = expected.size();
    stream.write(reinterpret_cast<const char*>(&count), sizeof count);
    stream << bytes_of(expected.value) << bytes_of(expected.bound) << bytes_of(expected.magnitude) << seal;
    stream.close();
    std::error_code error;
    if (stream) fs::rename(temporary, folder_ / name, error);
    if (!stream || error) fs::remove(temporary, error);
  } catch (const base::UserKeyError&) {
    return;  // without a key nothing can be sealed
  }
  // The names are hashes, so that one in so many ends like this.
  if (std::stoul(name.substr(name.size() - 4), nullptr, 16) % kTidyEvery == 0) tidy();
}

void ExpectationStore::tidy() const {
  struct File {
    fs::file_time_type used;
    std::uint64_t size;
    fs::path path;
  };
  std::vector<File> files;
  std::uint64_t total = 0;
  std::error_code error;
  for (auto file = fs::directory_iterator(folder_, error); !error && file != fs::directory_iterator(); file.increment(error)) {
    std::error_code gone;  // ignored: another process may tidy at the same time
    const std::uint64_t size = file->file_size(gone);
    const fs::file_time_type used = file->last_write_time(gone);
    if (gone) continue;
    files.push_back({used, size, file->path()});
    total += size;
  }
  if (total <= limit_) return;
  std::ranges::sort(files, {}, &File::used);
  // Somewhat less than the limit, so that not every call finds it exceeded.
  for (auto file = files.begin(); file != files.end() && total > limit_ / 8 * 7; ++file) {
    std::error_code gone;
    fs::remove(file->path, gone);
    total -= file->size;
  }
}

}  // namespace assay::harness
