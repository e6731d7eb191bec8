// Which lines of one iteration of a source are those of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay::harness {

// A stretch in which the two differ; lines from 1. A side without lines of its own has count 0 and stands before its `first`.
struct LineHunk {
  std::uint32_t old_first = 1, old_count = 0;
  std::uint32_t new_first = 1, new_count = 0;
  friend bool operator==(const LineHunk&, const LineHunk&) = default;
};

struct LinePair {
  std::uint32_t old_line = 0, new_line = 0;  // from 1
  bool is_same = true;                       // but for blanks and comments; else the lines resemble each other
  friend bool operator==(const LinePair&, const LinePair&) = default;
};

struct LineAlignment {
  std::vector<LinePair> pairs;  // ascending on both sides; without lines that hold nothing but blanks and comments
  std::vector<LineHunk> hunks;  // ascending; without those that change nothing but blanks and comments
};

// The longest common subsequence of the lines, without blanks and comments; what lies between two of its lines is paired by resemblance.
[[nodiscard]] LineAlignment align_lines(std::span<const std::string> old_lines, std::span<const std::string> new_lines);

}  // namespace assay::harness
