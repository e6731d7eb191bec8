// Finds the files that are read at run time: shader headers, the compiler's plugin, variants.
#pragma once

#include <filesystem>
#include <string_view>

namespace assay::metal {

// The path of a file or folder: `installed`, relative to a prefix ("share/assay/shader"), or `built`, absolute, in the tree that this
// library was built from. The prefix is $ASSAY_PREFIX if that is set; else the folder above that of the running program, if assay is
// installed there, wherever the prefix was moved to. A program of a build, and one of another project, takes `built` while that exists, and
// then the prefix that the build was configured with. If the file is found nowhere, returns `built`, for the caller's error message.
[[nodiscard]] std::filesystem::path run_time_file(std::string_view installed, std::string_view built);

}  // namespace assay::metal
