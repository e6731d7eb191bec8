// What each family puts into a fixture file: one row per family. Internal to harness/run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "fixtures/layout.h"
#include "harness/cases/case.h"
#include "oracles/expected.h"

namespace assay::harness {

struct FileFamily {
  std::string_view family;
  void (*validate)(const Case&);  // throws std::invalid_argument for what the launch code refuses
  std::vector<fixtures::TensorSpec> (*inputs)(const Case&);
  std::vector<std::uint64_t> (*output_shape)(const Case&);
  std::vector<fixtures::Tensor> (*generate)(const Case&);
  // The oracle on inputs as stored; throws fixtures::FileError if a value in them is forbidden.
  oracles::Expected (*expect)(const Case&, const std::filesystem::path& file, std::span<const fixtures::Tensor> inputs);
};

// Throws std::logic_error for a family without a row.
[[nodiscard]] const FileFamily& file_family(std::string_view family);

}  // namespace assay::harness
