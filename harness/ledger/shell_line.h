// Words as a line for a shell, for people to copy. Programs store and compare the words, not the line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::harness {

// In single quotes if a shell would interpret it.
[[nodiscard]] std::string shell_quoted(std::string_view text);

// "--kernel 'a b.metal' --family FAMILY"
[[nodiscard]] std::string shell_line(std::span<const std::string> words);

// The words of such a line. Only for ledgers of version 3 and before, which stored options in this form.
[[nodiscard]] std::vector<std::string> words_of_shell_line(std::string_view line);

}  // namespace assay::harness
