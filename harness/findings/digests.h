// Digests of the gate's outputs as they were recorded, to be compared with those of another machine or another day.
//
// The file has a line for each half of each variant's gate, as `--shard 1/2` and `2/2` run it: VARIANT HALF CASES DIGEST; what begins with
// '#' is left out. Digests add up (Summary::digest), so that a whole gate, a variant and a shard of two are all held to the same lines.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cases/selection.h"

namespace assay::harness {

struct CaseDigest {
  std::string name;          // of the case
  std::uint64_t digest = 0;  // of its outputs: Verdict::digest
};

// What several cases add to Summary::digest, and how many they are.
struct DigestSum {
  std::size_t cases = 0;
  std::uint64_t digest = 0;

  void add(const CaseDigest& one);
  friend bool operator==(const DigestSum&, const DigestSum&) = default;
};

inline constexpr std::size_t kRecordedShards = 2;

// By variant and place of the half, from 0.
using DigestTable = std::map<std::pair<std::string, std::size_t>, DigestSum>;

// Of a gate that ran as a whole or as one shard of kRecordedShards of one variant; `cases` in the order of the selection. Throws
// std::invalid_argument for other shards, and for a shard of several variants, whose halves are not those of each.
[[nodiscard]] DigestTable digests_of(std::span<const CaseDigest> cases, const Shard& shard);

[[nodiscard]] std::string print_digests(const DigestTable& table);
// Throws std::invalid_argument with the number of the line.
[[nodiscard]] DigestTable parse_digests(std::string_view text);

// The halves of which nothing is recorded: those of a variant that was added.
[[nodiscard]] std::vector<std::string> unrecorded_digests(const DigestTable& recorded, const DigestTable& found);
// A sentence for each half that is recorded otherwise.
[[nodiscard]] std::vector<std::string> differing_digests(const DigestTable& recorded, const DigestTable& found);

}  // namespace assay::harness
