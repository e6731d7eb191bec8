// Converts the words that a user types to cases: case names, globs over case names, suites.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/suite.h"
#include "kernels/variant.h"

namespace assay::harness {

// More machines are not realistic, and a report of all missing shards stays readable.
inline constexpr std::size_t kMostShards = 65536;

// One of several parts of a selection that run separately: the cases at positions index, index + count, ... of it.
struct Shard {
  std::size_t index = 0;  // from 0
  std::size_t count = 1;
};

// Parses "2/4", the second of four. Throws std::invalid_argument.
[[nodiscard]] Shard parse_shard(std::string_view text);
// From the values of GTEST_SHARD_INDEX (from 0) and GTEST_TOTAL_SHARDS; both empty: everything. Throws std::invalid_argument.
[[nodiscard]] Shard parse_shard(std::string_view index, std::string_view count);

struct SelectionRequest {
  std::vector<std::string> words;  // case names, globs ('*' also matches '/'; '?'; matched against the whole gate), suites
  std::string family;              // only variants of this family; empty: all
  std::uint64_t seed = 0;          // shifts the seeds of the suites' cases
  Shard shard = {};
};

struct Selection {
  std::vector<Case> cases;    // in the order of the words, each case once; only those of the shard
  std::size_t selected = 0;   // before the shard was taken; never 0
  std::string digest;         // hash of their names in order (of repeated ones, of the first), hex: equal for equal selections
  std::size_t left_out = 0;   // number of cases of suites that are excluded by [limits] of their variant
  std::vector<Suite> suites;  // the suites that were requested as a whole
  Shard shard = {};           // the shard that was taken
  double seconds = 0;         // of processor time that the whole selection takes, before the shard was taken (effort.h)
};

// With a family but no words: the family's gate. Throws std::invalid_argument, naming the word, for an unknown variant, a name that
// does not parse, a glob or suite that selects nothing, a seed that no word uses, and for an empty request. A shard may be empty.
[[nodiscard]] Selection select_cases(const SelectionRequest& request, std::span<const kernels::Variant> variants);

// Leaves only the cases that `is_wanted`, as a selection of its own; `selected` and `suites` stay, so that it does not pass for the whole.
void keep_cases(Selection& selection, const std::function<bool(const Case&)>& is_wanted);

// Whether a word is the name of a case, so neither a suite nor a glob.
[[nodiscard]] bool names_one_case(std::string_view word);

// Whether `text` matches `pattern`, in which '*' stands for any characters and '?' for one.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace assay::harness
