// Recorded digests of the gate's outputs, for comparison with those of another machine or another day.
//
// The file has a line for each half of each variant's gate, as run by `--shard 1/2` and `2/2`: VARIANT HALF CASES DIGEST. Lines
// that begin with '#' are ignored. Digests add up (Summary::digest), so a whole gate, a variant and a shard of two are compared
// with the same lines.
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

// The sum of several cases in Summary::digest, and their number.
struct DigestSum {
  std::size_t cases = 0;
  std::uint64_t digest = 0;

  void add(const CaseDigest& one);
  friend bool operator==(const DigestSum&, const DigestSum&) = default;
};

inline constexpr std::size_t kRecordedShards = 2;

// By variant and number of the half, from 0.
using DigestTable = std::map<std::pair<std::string, std::size_t>, DigestSum>;

// Digests of a gate that ran as a whole, or as one shard of kRecordedShards of one variant; `cases` in the order of the selection.
// Throws std::invalid_argument for other shards, and for a shard of several variants, because it does not consist of halves of these.
[[nodiscard]] DigestTable digests_of(std::span<const CaseDigest> cases, const Shard& shard);

// The text of a table, which parse_digests() reads.
[[nodiscard]] std::string print_digests(const DigestTable& table);
// Throws std::invalid_argument with the number of the line.
[[nodiscard]] DigestTable parse_digests(std::string_view text);

// The halves without a record, such as those of a new variant.
[[nodiscard]] std::vector<std::string> unrecorded_digests(const DigestTable& recorded, const DigestTable& found);
// A sentence for each half that differs from its record.
[[nodiscard]] std::vector<std::string> differing_digests(const DigestTable& recorded, const DigestTable& found);

}  // namespace assay::harness
