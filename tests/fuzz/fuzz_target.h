// What the fuzz targets share: a property that does not hold is a finding, and kinds of outcome are something that libFuzzer sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

// What libFuzzer calls with every input. 0: the input may go into the corpus.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace assay::tests {

// Ends the process where it does not hold, which libFuzzer records with the input. An unexpected exception ends it as well.
void require(bool holds, std::string_view what);

// Takes part in what libFuzzer calls coverage: without numbers and what stands in quotes, so that it distinguishes kinds of outcome and not
// inputs. In CI, where the libraries are not instrumented, it is most of what guides the fuzzer.
void note_outcome(std::string_view text);

// A file with these bytes, in memory where the machine has such files; the same one for every input of this process.
[[nodiscard]] const std::filesystem::path& scratch_file(std::string_view bytes);

[[nodiscard]] inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data), size);
}

}  // namespace assay::tests
