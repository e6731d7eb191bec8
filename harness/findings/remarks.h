// Remarks of the policy `checked`: what they do to a verdict under --strict, and similar ones of many cases as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/findings/verdict.h"
#include "metal/hazard.h"

namespace assay::harness {

// In a run in which remarks fail a case: a case that passed or failed as known and has remarks fails with the first of them. Any other
// failure gets it as a further fault. A case without remarks does not change.
void settle_remarks(Verdict& verdict);

// Adds the remarks of another run of the same case that the verdict does not have yet.
void take_remarks(Verdict& verdict, std::span<const metal::Hazard> others);

// Remarks of one kind, at the same line of one variant: of all its cases, functions, lanes, addresses and other accesses. Of two accesses
// the line further down counts.
struct RemarkGroup {
  std::string variant;
  metal::Hazard first;  // the first that was seen; its count is that of all
  std::set<std::string> functions;
  std::set<std::pair<std::string, std::uint32_t>> others;  // places of the other accesses, by file and line
  std::size_t cases = 0;
  std::string case_name;  // the first case
};

class RemarkGroups {
 public:
  void add(std::string_view variant, const std::string& case_name, std::span<const metal::Hazard> remarks);
  // Whether every one of these would join a group that there is.
  [[nodiscard]] bool has_all(std::string_view variant, std::span<const metal::Hazard> remarks) const;
  // In the order of variants, kinds and places.
  [[nodiscard]] std::vector<RemarkGroup> all() const;

 private:
  using Place = std::pair<std::string, std::uint32_t>;
  using Key = std::tuple<std::string, metal::HazardKind, Place>;
  [[nodiscard]] static Key key_of(std::string_view variant, const metal::Hazard& remark);

  std::map<Key, RemarkGroup> groups_;
};

// "k.metal:12: race within a simdgroup in f and 1 other function: ... (30 times in 5 cases; the other access is also at k.metal:9)".
[[nodiscard]] std::string text_of(const RemarkGroup& group);

}  // namespace assay::harness
