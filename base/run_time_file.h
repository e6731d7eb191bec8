// Finds the files that are read at run time: shader headers, the compiler's plugin, variants, the corpus of fixture files.
#pragma once

#include <filesystem>
#include <string_view>

namespace assay::base {

// Returns the absolute path, without symbolic links, of a file or folder that `installed` names relative to the prefix:
// "share/assay/shader". It need not exist; then the caller's error message has the path where it was expected.
//
// The prefix is $ASSAY_PREFIX if set; in a program of another project, the one from which find_package(assay) took the libraries, while
// it exists; otherwise the folder above that of the running program. A build tree has the layout of a prefix, so that its programs find
// their files in the same way as installed ones.
[[nodiscard]] std::filesystem::path run_time_file(std::string_view installed);

}  // namespace assay::base
