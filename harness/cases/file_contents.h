// Fixture files as a whole: made from a case, described, and verified against everything they claim.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fixtures/hdf5_file.h"
#include "harness/cases/file_case.h"

namespace assay::harness {

struct FileContents {
  fixtures::Attributes format;
  std::vector<fixtures::Tensor> tensors;  // inputs, then expected/output and bound/output, float64
};

// The inputs of a case that a generator makes, with the oracle's expectation, which holds for every variant (no tightened depth).
// Throws std::invalid_argument if the launch code would refuse the case.
[[nodiscard]] FileContents contents_of(const Case& about);

// Everything in a file that its case knows, read and held to the family's rules. Throws fixtures::FileError.
struct LoadedFile {
  FileCase about;
  std::vector<fixtures::Tensor> inputs;
  std::vector<fixtures::Tensor> expectation;  // empty, or expected/output and bound/output
};
[[nodiscard]] LoadedFile load_file(const std::filesystem::path& file);

// What is wrong with a file that can be read: inputs that its generator does not make, an expectation that the oracle does not share.
// Each a sentence; empty if all is as it says.
[[nodiscard]] std::vector<std::string> verify_file(const std::filesystem::path& file, const LoadedFile& loaded);

}  // namespace assay::harness
