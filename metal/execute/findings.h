// The findings of a checked dispatch, with equal ones merged.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "metal/hazard.h"
#include "metal/lane_abi.h"

namespace assay::metal::execute {

// A line of the user's source, as numbered in the module's tables.
struct Line {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  friend auto operator<=>(const Line&, const Line&) = default;
};

class Findings {
 public:
  explicit Findings(const abi::Module& module) : module_(module) {}

  // Counts a finding at one line or between two. The order of the two lines depends on the schedule, so both orders are the same
  // finding. `describe()` is called only for the first finding of a key. Returns the finding.
  template <typename Describe>
  Hazard& add(HazardKind kind, Line first, std::optional<Line> second, Describe&& describe) {
    const Key key{kind, second ? std::min(first, *second) : first, second ? std::max(first, *second) : first};
    if (last_ == nullptr || !(last_key_ == key)) {
      Hazard& hazard = found_[key];
      if (hazard.message.empty()) {
        hazard.kind = kind;
        hazard.count = 0;
        hazard.first = location(first);
        if (second) hazard.second = location(*second);
        hazard.message = fmt::format("{}:{}: {}", hazard.first.file, hazard.first.line, describe());
      }
      last_key_ = key;
      last_ = &hazard;
    }
    ++last_->count;
    return *last_;
  }

  [[nodiscard]] SourceLocation location(Line line) const { return {module_.files[line.file], line.line}; }

  // In an order that does not depend on the schedule.
  [[nodiscard]] std::vector<Hazard> all() const {
    std::vector<Hazard> hazards;
    for (const auto& [key, hazard] : found_) hazards.push_back(hazard);
    return hazards;
  }

 private:
  using Key = std::tuple<HazardKind, Line, Line>;
  const abi::Module& module_;
  std::map<Key, Hazard> found_;
  Key last_key_;
  Hazard* last_ = nullptr;
};

}  // namespace assay::metal::execute
