// Records failed properties and kinds of outcome of the fuzz targets.
#include "tests/fuzz/fuzz_target.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/digest.h"

namespace assay::tests {
namespace {

// libFuzzer clears this section before each input and reads it behind: an entry that is not zero is a feature. It refers to the section
// weakly, for which the linker alone would not keep it.
__attribute__((section("__libfuzzer_extra_counters"), used, retain)) std::array<std::uint8_t, 4096> outcomes;

}  // namespace

void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "a property does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void note_outcome(std::string_view text) {
  std::uint64_t digest = base::kEmptyDigest;
  bool quoted = false;
  for (const char c : text.substr(0, 400)) {
    if (c == '\'' || c == '"') quoted = !quoted;
    if (quoted || (c >= '0' && c <= '9')) continue;
    base::add_to_digest(digest, std::string_view(&c, 1));
  }
  outcomes[digest % outcomes.size()] = 1;
}

const std::filesystem::path& scratch_file(std::string_view bytes) {
  struct Scratch {
    std::filesystem::path file;
    Scratch() {
      const std::filesystem::path memory = "/dev/shm";
      const std::filesystem::path folder = access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
      file = folder / fmt::format("assay_fuzz_{}", getpid());
    }
    ~Scratch() {
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
    }
  };
  static const Scratch scratch;
  std::ofstream stream(scratch.file, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  require(static_cast<bool>(stream), "the scratch file can be written");
  return scratch.file;
}

}  // namespace assay::tests
