// Everything that the preprocessor could read for a source, as a hash: if it is the same, so is the preprocessed text.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::metal::compile {

// The hash of all names, modes and contents below these folders, which must be canonical. An included file is one of them, and so is a file
// that would be found in its place from now on. Nothing if the preprocessed text may depend on anything else: on time, on files outside
// (`__has_include`, paths with `..`, links that lead out), or on more files than are worth reading.
[[nodiscard]] std::optional<std::string> hash_of_reachable(const std::vector<std::filesystem::path>& folders);

// Whether a source or definition with this text lets the preprocessed text depend on more than the files in its folders.
[[nodiscard]] bool may_depend_on_more(std::string_view text);

}  // namespace assay::metal::compile
