// The files on which the verdicts about a kernel depend.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "cli/options.h"
#include "kernels/variant.h"

namespace assay::cli {

// The absolute paths of the sources of the --kernel, its variant.toml, the reference of family custom, the --fixture files, and whatever
// the sources include, directly or through other files. Files that do not exist are named too if they would be included once they exist.
// Conditions of the preprocessor are ignored, so these may be more files than the compiler reads. A file that cannot be read has no
// includes, and while a variant.toml is invalid, only the files that --kernel itself names are known.
[[nodiscard]] std::set<std::filesystem::path> kernel_files(const Options& options);
// The same for a variant with its compile settings, without fixture files.
[[nodiscard]] std::set<std::filesystem::path> kernel_files(const kernels::Variant& variant);

// The text of a file as this looks for includes in it; empty for what is no regular file, or a huge one.
[[nodiscard]] std::string text_of_kernel_file(const std::filesystem::path& file);

}  // namespace assay::cli
