// Finds the files that are read at run time: shader headers, the compiler's plugin, variants.
#pragma once

#include <filesystem>
#include <string_view>

namespace assay::metal {

// Returns the path of a file or folder. `installed` is its path relative to a prefix ("share/assay/shader"); `built` is its absolute
// path in the tree that this library was built from.
//
// The prefix is $ASSAY_PREFIX if set. Otherwise it is the folder above that of the running program, if assay is installed there, even
// after the prefix was moved. Programs in a build tree, and those of other projects, use `built` if it exists, else the prefix that the
// build was configured with. If the file is found nowhere, returns `built`, for the caller's error message.
[[nodiscard]] std::filesystem::path run_time_file(std::string_view installed, std::string_view built);

}  // namespace assay::metal
