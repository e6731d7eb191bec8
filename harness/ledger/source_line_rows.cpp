// Reads the lines of sources around places, and keeps those of a verdict in the ledger.
#include <algorithm>
#include <set>

#include "harness/ledger/source_excerpt.h"
#include "harness/ledger/store.h"
#include "metal/source_files.h"

namespace assay::harness {
namespace {

constexpr std::uint32_t kAround = 3;              // lines before a place and after it
constexpr std::size_t kMostPlaces = 16;           // of one case: a kernel that is wrong everywhere must not fill the ledger
constexpr std::uint32_t kLastLine = 100'000'000;  // a file may give its lines any numbers
constexpr std::size_t kMostSources = 64;          // that are kept in memory

std::vector<metal::SourceLocation> places_in(const Verdict& verdict) {
  std::vector<metal::SourceLocation> places;
  const auto add = [&](const metal::SourceLocation& place) {
    if (places.size() < kMostPlaces) places.push_back(place);
  };
  for (const Fault& fault : verdict.faults) {
    if (const auto* const table = fault.as<fault::WrongTable>()) add(table->place);
    if (const auto* const remark = fault.as<fault::Remark>()) add(remark->place);
  }
  for (const std::vector<metal::Hazard>* list : {&verdict.hazards, &verdict.remarks}) {
    for (const metal::Hazard& hazard : *list) {
      if (!hazard.lacks_line) add(hazard.first);
      if (hazard.second) add(*hazard.second);
    }
  }
  return places;
}

}  // namespace

std::vector<SourceLine> lines_around(std::span<const metal::SourceLocation> places, SourceTexts& texts) {
  std::set<std::pair<std::string, std::uint32_t>> wanted;
  for (const metal::SourceLocation& place : places) {
    if (place.line == 0 || place.line >= kLastLine) continue;
    for (std::uint32_t line = place.line > kAround ? place.line - kAround : 1; line <= place.line + kAround; ++line)
      wanted.emplace(place.file, line);
  }
  std::vector<SourceLine> lines;
  for (const auto& [file, line] : wanted) {
    if (texts.size() > kMostSources) texts.clear();
    const auto [source, is_new] = texts.try_emplace(file);
    if (is_new) source->second = metal::source_lines(file);
    if (line <= source->second.size()) lines.push_back({file, line, source->second[line - 1].substr(0, kLongestSourceLine)});
  }
  return lines;
}

void Ledger::Store::record_lines(RunId run, const std::string& name, const Verdict& verdict) {
  for (const SourceLine& line : lines_around(places_in(verdict), sources_))
    add_line->bind(run, name, line.file, line.line, line.text).run();
}

}  // namespace assay::harness
