// The differences between a source and a correct one, token by token, and those that make the source wrong.
//
// Most wrong kernels are edited copies of correct ones. Blanks, comments and line breaks do not count as differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::harness {

// Bytes [begin, end) of the source correspond to `other` in the other source.
struct Hunk {
  std::size_t begin = 0, end = 0;
  std::string other;
  std::uint32_t line = 0;       // of the source, from 1: the first that differs
  std::uint32_t last_line = 0;  // the last; equal to `line` if something is missing
};

// In the order of the source; nullopt if the two have too little in common: fewer than half of the tokens, unless `related` says that one
// comes from the other.
[[nodiscard]] std::optional<std::vector<Hunk>> hunks_between(std::string_view source, std::string_view other, bool related = false);

// The other source with the names of this one, where names are all that differs: a name that the source does not have stands for one that
// the other does not have.
[[nodiscard]] std::string with_names_of(std::string_view source, const std::string& other);

// The source with these hunks replaced by the other source's text. Hunks as returned by hunks_between().
[[nodiscard]] std::string undone(std::string_view source, const std::vector<Hunk>& hunks);

// The hunks in order, with those that share lines grouped together.
[[nodiscard]] std::vector<std::vector<Hunk>> by_lines(const std::vector<Hunk>& hunks);

// A small set of hunks whose undoing makes `is_right` true, from which none can be left out; empty if undoing all of them does not, or if
// `may_go_on` is false before that is known. If more undone never breaks what less repairs, there is no smaller set, unless `may_go_on`
// became false. It is asked before each further try.
[[nodiscard]] std::vector<Hunk> blame(std::string_view source, const std::vector<Hunk>& hunks,
                                      const std::function<bool(const std::string&)>& is_right, const std::function<bool()>& may_go_on);

}  // namespace assay::harness
