// What a source differs in from a right one, token by token, and the difference that makes it wrong.
//
// Most wrong kernels are edited copies of right ones. Blanks, comments and line breaks do not count as differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::harness {

// Bytes [begin, end) of the source stand where the other one has `other`.
struct Hunk {
  std::size_t begin = 0, end = 0;
  std::string other;
  std::uint32_t line = 0;       // of the source, from 1: the first that differs
  std::uint32_t last_line = 0;  // the last; line itself where something is missing
};

// In the order of the source; nullopt if they have too little in common for a comparison to say anything.
[[nodiscard]] std::optional<std::vector<Hunk>> hunks_between(std::string_view source, std::string_view other);

// The source with these places as the other one has them. Hunks as hunks_between() returns them.
[[nodiscard]] std::string undone(std::string_view source, const std::vector<Hunk>& hunks);

// The smallest set of hunks found whose undoing makes `is_right` true; empty if undoing all of them does not. Asks `is_right` at most
// `most` times.
[[nodiscard]] std::vector<Hunk> blame(std::string_view source, const std::vector<Hunk>& hunks,
                                      const std::function<bool(const std::string&)>& is_right, std::size_t most);

}  // namespace assay::harness
