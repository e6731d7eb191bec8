// The words that may stand next on a command line, for the completion of shells.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace assay::cli {

// `words`: the command line behind the program's name; the last one is being typed, and may be empty. Returns the words that may stand in
// its place: commands, options, and values of options and arguments (names of cases word by word, so that these end with '/'). Empty where
// a file is wanted, or anything.
[[nodiscard]] std::vector<std::string> completions(const CLI::App& app, std::span<const std::string> words);

// The values that an option accepts, if its help lists them: "native", "checked", "shadow". Else empty.
[[nodiscard]] std::vector<std::string> listed_values(const std::string& type_name);

}  // namespace assay::cli
