// Computes, reads, writes and compares digests of the gate's outputs.
#include "harness/findings/digests.h"

#include <fmt/format.h>

#include <sstream>
#include <stdexcept>

#include "base/digest.h"

namespace assay::harness {

namespace {

std::string name_of_half(const DigestTable::key_type& half) {
  return fmt::format("{} {}/{}", half.first, half.second + 1, kRecordedShards);
}

}  // namespace

void DigestSum::add(const CaseDigest& one) {
  digest += base::digest_of(one.name, one.digest);
  ++cases;
}

DigestTable digests_of(std::span<const CaseDigest> cases, const Shard& shard) {
  if (shard.count != 1 && shard.count != kRecordedShards) {
    throw std::invalid_argument(fmt::format("digests are recorded only for whole gates and for shards 1/2 and 2/2, not for shard {}/{}",
                                            shard.index + 1, shard.count));
  }
  DigestTable table;
  std::map<std::string, std::size_t> counts;
  for (const CaseDigest& one : cases) {
    const std::string variant = one.name.substr(0, one.name.find('/'));
    const std::size_t place = counts[variant]++;
    table[{variant, shard.count == 1 ? place % kRecordedShards : shard.index}].add(one);
  }
  if (shard.count != 1 && counts.size() > 1) {
    throw std::invalid_argument(fmt::format(
        "digests are recorded for each half of each variant, but this shard splits the cases of {} variants together", counts.size()));
  }
  return table;
}

std::string print_digests(const DigestTable& table) {
  std::string text = "# Digests of the gate's outputs (harness/findings/digests.h). Recorded by: assay gate --record-digests FILE\n";
  DigestSum all;
  for (const auto& [half, sum] : table) {
    text += fmt::format("{} {} {:016x}\n", name_of_half(half), sum.cases, sum.digest);
    all.cases += sum.cases;
    all.digest += sum.digest;
  }
  return text + fmt::format("# all: {} cases, {:016x}\n", all.cases, all.digest);
}

DigestTable parse_digests(std::string_view text) {
  DigestTable table;
  std::istringstream lines{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string variant, half, more;
    DigestSum sum;
    words >> variant >> half >> std::dec >> sum.cases >> std::hex >> sum.digest;
    const bool is_read = !words.fail() && !(words >> more);
    if (!is_read) throw std::invalid_argument(fmt::format("line {}: '{}' is not VARIANT HALF CASES DIGEST", number, line));
    const Shard shard = parse_shard(half);
    if (shard.count != kRecordedShards || !table.emplace(std::pair(variant, shard.index), sum).second) {
      throw std::invalid_argument(fmt::format("line {}: '{}' is not a half of {}, or occurs twice", number, half, variant));
    }
  }
  return table;
}

std::vector<std::string> unrecorded_digests(const DigestTable& recorded, const DigestTable& found) {
  std::vector<std::string> names;
  for (const auto& [half, sum] : found) {
    if (!recorded.contains(half)) names.push_back(name_of_half(half));
  }
  return names;
}

std::vector<std::string> differing_digests(const DigestTable& recorded, const DigestTable& found) {
  std::vector<std::string> sentences;
  for (const auto& [half, sum] : found) {
    const auto known = recorded.find(half);
    if (known == recorded.end() || known->second == sum) continue;
    sentences.push_back(fmt::format("{}: {} cases, {:016x}; recorded: {} cases, {:016x}", name_of_half(half), sum.cases, sum.digest,
                                    known->second.cases, known->second.digest));
  }
  return sentences;
}

}  // namespace assay::harness
