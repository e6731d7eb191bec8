// The contents of fixture files: made from a case, loaded, and verified.
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

// The inputs of a generated case, with the oracle's expectation, which holds for every variant (no tightened depth). Throws
// std::invalid_argument if the launch code would reject the case.
[[nodiscard]] FileContents contents_of(const Case& test_case);

// All tensors in a file that its case uses, read and checked against the family's rules. Throws fixtures::FileError.
struct LoadedFile {
  FileCase file_case;
  std::vector<fixtures::Tensor> inputs;
  std::vector<fixtures::Tensor> expectation;  // empty, or expected/output and bound/output
};
enum class FilePart { all, inputs, expectation };
[[nodiscard]] LoadedFile load_file(const std::filesystem::path& file, FilePart part = FilePart::all);

// Errors in a file that can be read, a sentence each: inputs that differ from those of its generator, an expectation that differs from
// the oracle's. Empty if the file is correct.
[[nodiscard]] std::vector<std::string> verify_file(const std::filesystem::path& file, const LoadedFile& loaded);

}  // namespace assay::harness
