// Looks for usual names in what a repair changes.
#include "harness/triage/repair_words.h"

#include <cctype>
#include <utility>
#include <vector>

#include "families/mistake_words.h"
#include "harness/compare/source_words.h"
#include "harness/triage/hunks.h"

namespace assay::harness {
namespace {

std::optional<RepairWord> find_word(std::string_view text) {
  std::vector<std::string> words;
  for (const SourceWord& word : source_words(text)) words.emplace_back(word.text);
  for (const auto& [part, kind] : families::mistake_words()) {
    for (const std::string& word : words) {
      std::string lower = word;
      for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (lower.find(part) != std::string::npos) return RepairWord{kind, word};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<RepairWord> word_of_repair(const std::string& source, const std::string& repaired) {
  const std::optional<std::vector<Hunk>> hunks = hunks_between(source, repaired, true);
  if (!hunks) return std::nullopt;
  std::string changed;
  std::string around;
  for (const Hunk& hunk : *hunks) {
    changed += source.substr(hunk.begin, hunk.end - hunk.begin) + " " + hunk.other + " ";
    const std::size_t before = hunk.begin == 0 ? 0 : source.rfind('\n', hunk.begin - 1) + 1;
    around += source.substr(before, source.find('\n', hunk.end) - before) + " ";
  }
  if (std::optional<RepairWord> found = find_word(changed)) return found;
  return find_word(around);
}

}  // namespace assay::harness
