// Runs the reference of a variant in a sandbox, without a cache. Internal to custom_reference.cpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "families/custom/custom_reference.h"

namespace assay::families {

using CustomInputs = std::vector<std::vector<double>>;  // by tensor

// Throws fixtures::FileError that names the description.
[[noreturn]] void fail_reference(const CustomVariant& of, std::string_view what);

// Whether the reference returns the bound of an output.
[[nodiscard]] bool gives_bound(const CustomVariant& of, std::size_t output);
// An answer as one list of numbers: the expected values of all outputs, then the bounds.
[[nodiscard]] std::size_t numbers_in_answer(const CustomCase& asked);
[[nodiscard]] ReferenceAnswer split_answer(const CustomCase& asked, std::span<const double> numbers);

[[nodiscard]] ReferenceAnswer answer_in_file(const CustomCase& asked, const std::filesystem::path& file);
// One call for cases of one variant.
[[nodiscard]] std::vector<ReferenceAnswer> ask_command(std::span<const CustomCase* const> cases, std::span<const CustomInputs> inputs);
[[nodiscard]] ReferenceAnswer ask_library(const CustomCase& asked, const CustomInputs& inputs);

}  // namespace assay::families
