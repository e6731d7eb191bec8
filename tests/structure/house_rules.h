// The rules of the house that a machine can check: which folder may include what, and what stands in the root.
//
// The tables of house_rules.cpp say the same as the one in docs/HACKING.md; change both or neither.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::tests {

struct Violation {
  std::string file;   // relative to the root
  unsigned line = 0;  // 0: the file as a whole
  std::string message;

  [[nodiscard]] std::string to_string() const;
};

// The folders of the root whose sources the rules cover, in order of dependency.
[[nodiscard]] std::span<const std::string_view> folders();

// Judges the length of a source: above kLongestSource lines it says at its top why, in a comment that begins with "Long because".
constexpr std::size_t kLongestSource = 400;
[[nodiscard]] bool is_too_long(std::string_view text);

// Judges one C++ source or header by its path (relative to the root, with '/') and its text.
[[nodiscard]] std::vector<Violation> check_source(std::string_view path, std::string_view text);

// Judges the names of the directories in the root. Hidden ones and build trees are ignored.
[[nodiscard]] std::vector<Violation> check_root(std::span<const std::string> directories);

}  // namespace assay::tests
