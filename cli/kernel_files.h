// The files on which the verdicts about a kernel depend.
#pragma once

#include <filesystem>
#include <set>

#include "cli/options.h"

namespace assay::cli {

// The absolute paths of the sources of the --kernel, its variant.toml, the reference of family custom, the --fixture files, and whatever
// the sources include, directly or through other files. Files that do not exist are named too if they would be included once they exist.
// Conditions of the preprocessor are ignored, so these may be more files than the compiler reads. A file that cannot be read has no
// includes, and while a variant.toml is invalid, only the files that --kernel itself names are known.
[[nodiscard]] std::set<std::filesystem::path> kernel_files(const Options& options);

}  // namespace assay::cli
