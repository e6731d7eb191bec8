// Makes failures of remarks, and groups them.
#include "harness/findings/remarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/counted.h"
#include "harness/findings/fault_text.h"

namespace assay::harness {

void settle_remarks(Verdict& verdict) {
  if (verdict.remarks.empty() || verdict.is_internal || verdict.status == Status::skipped) return;
  // A known finding accounts for what it declares, and remarks cannot be declared.
  if (is_success(verdict.status)) {
    verdict.status = Status::hazard;
    verdict.known.clear();
  }
  const metal::Hazard& first = verdict.remarks.front();
  verdict.faults.emplace_back(fault::Remark{first.kind, first.function, first.message, first.first, verdict.remarks.size() - 1});
}

void take_remarks(Verdict& verdict, std::span<const metal::Hazard> others) {
  // Which of the two accesses came first depends on the schedule.
  const auto is_same = [](const metal::Hazard& one, const metal::Hazard& other) {
    return one.kind == other.kind && one.function == other.function &&
           ((one.first == other.first && one.second == other.second) || (one.first == other.second && one.second == other.first));
  };
  for (const metal::Hazard& remark : others) {
    if (std::ranges::none_of(verdict.remarks, [&](const metal::Hazard& known) { return is_same(known, remark); }))
      verdict.remarks.push_back(remark);
  }
}

namespace {

std::pair<std::string, std::uint32_t> place_of(const std::optional<metal::SourceLocation>& where) {
  return where ? std::pair(where->file, where->line) : std::pair(std::string(), std::uint32_t{0});
}

}  // namespace

// Which of the two accesses came first depends on the case.
RemarkGroups::Key RemarkGroups::key_of(std::string_view variant, const metal::Hazard& remark) {
  return {std::string(variant), remark.kind, std::max(place_of(remark.first), place_of(remark.second))};
}

void RemarkGroups::add(std::string_view variant, const std::string& case_name, std::span<const metal::Hazard> remarks) {
  std::set<Key> counted;  // several functions of one case may have the same remark
  for (const metal::Hazard& remark : remarks) {
    Key key = key_of(variant, remark);
    const auto [found, is_new] = groups_.try_emplace(key, RemarkGroup{std::string(variant), remark, {}, {}, 0, case_name});
    if (!is_new) found->second.first.count += remark.count;
    found->second.functions.insert(remark.function);
    if (remark.second) found->second.others.insert(std::min(place_of(remark.first), place_of(remark.second)));
    if (counted.insert(std::move(key)).second) ++found->second.cases;
  }
}

bool RemarkGroups::has_all(std::string_view variant, std::span<const metal::Hazard> remarks) const {
  return std::ranges::all_of(remarks, [&](const metal::Hazard& remark) { return groups_.contains(key_of(variant, remark)); });
}

std::vector<RemarkGroup> RemarkGroups::all() const {
  std::vector<RemarkGroup> groups;
  for (const auto& [key, group] : groups_) groups.push_back(group);
  return groups;
}

std::string text_of(const RemarkGroup& group) {
  metal::Hazard named = group.first;
  if (const std::size_t others = group.functions.size() - 1; others != 0)
    named.function += " and " + base::counted(others, "other function");
  // The message names that of the first.
  std::vector<std::string> others;
  for (const auto& other : group.others) {
    if (other != std::min(place_of(group.first.first), place_of(group.first.second)))
      others.push_back(fmt::format("{}:{}", other.first, other.second));
  }
  return fmt::format("{} ({} in {}{})", hazard_text(named), base::counted(named.count, "time"), base::counted(group.cases, "case"),
                     others.empty() ? std::string() : fmt::format("; the other access is also at {}", fmt::join(others, ", ")));
}

}  // namespace assay::harness
