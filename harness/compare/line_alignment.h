// Maps the lines of one iteration of a source to those of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay::harness {

// A range of lines in which the two sources differ; lines from 1. A side without such lines has count 0, and the position is
// before its `first`.
struct LineHunk {
  std::uint32_t old_first = 1, old_count = 0;
  std::uint32_t new_first = 1, new_count = 0;
  friend bool operator==(const LineHunk&, const LineHunk&) = default;
};

struct LinePair {
  std::uint32_t old_line = 0, new_line = 0;  // from 1
  bool is_same = true;                       // equal except for blanks and comments; otherwise the lines only resemble each other
  friend bool operator==(const LinePair&, const LinePair&) = default;
};

struct LineAlignment {
  std::vector<LinePair> pairs;  // ascending on both sides; without lines that only contain blanks and comments
  std::vector<LineHunk> hunks;  // ascending; without those that only change blanks and comments
};

// The longest common subsequence of the lines, ignoring blanks and comments. Lines between two of its members are
// paired by resemblance.
[[nodiscard]] LineAlignment align_lines(std::span<const std::string> old_lines, std::span<const std::string> new_lines);

}  // namespace assay::harness
