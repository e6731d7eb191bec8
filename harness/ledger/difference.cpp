// Compares the cases of two runs.
#include "harness/ledger/difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

namespace assay::harness {
namespace {

using Index = std::map<std::string_view, const CaseRecord*>;

Index index_of(std::span<const CaseRecord> records) {
  Index index;
  for (const CaseRecord& record : records) index.emplace(record.name, &record);
  return index;
}

bool is_good(const CaseRecord& record) { return record.status && is_success(*record.status); }

// Two NaNs, or the same infinity, are no drift.
double drift_of(const CaseRecord& before, const CaseRecord& after) {
  const double a = before.judgement.max_ratio;
  const double b = after.judgement.max_ratio;
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double drift = std::abs(b - a);
  return std::isnan(drift) ? INFINITY : drift;
}

// Figures that are equal on every machine.
constexpr std::array kFigures = {std::pair{"device bytes read", &metal::Cost::device_bytes_read},
                                 std::pair{"device bytes written", &metal::Cost::device_bytes_written},
                                 std::pair{"distinct device bytes", &metal::Cost::distinct_device_bytes},
                                 std::pair{"threadgroup accesses", &metal::Cost::threadgroup_accesses},
                                 std::pair{"SIMD-group calls", &metal::Cost::simdgroup_calls},
                                 std::pair{"barriers", &metal::Cost::barriers},
                                 std::pair{"float operations", &metal::Cost::float_operations},
                                 std::pair{"half operations", &metal::Cost::half_operations},
                                 std::pair{"bfloat operations", &metal::Cost::bfloat_operations}};

std::vector<CostChange> changes_of(const metal::Cost& before, const metal::Cost& after) {
  std::vector<CostChange> changes;
  for (const auto& [name, figure] : kFigures) {
    if (before.*figure != after.*figure) changes.push_back({name, static_cast<double>(before.*figure), static_cast<double>(after.*figure)});
  }
  return changes;
}

}  // namespace

RunDifference difference_of(std::span<const CaseRecord> earlier, std::span<const CaseRecord> later, double drift) {
  RunDifference difference;
  const Index before = index_of(earlier);
  const Index after = index_of(later);
  for (const CaseRecord& record : earlier) {
    if (!after.contains(record.name)) difference.only_before.push_back(record.name);
  }
  metal::Cost cost_before, cost_after;
  for (const CaseRecord& now : later) {
    const auto found = before.find(now.name);
    if (found == before.end()) {
      difference.only_after.push_back(now.name);
      continue;
    }
    const CaseRecord& then = *found->second;
    ++difference.in_both;
    CaseChange change{now.name, then.status, now.status, then.judgement.max_ratio, now.judgement.max_ratio, now.faults};
    if (then.status != now.status) {
      auto& list = is_good(then) == is_good(now) ? difference.changed : is_good(now) ? difference.healed : difference.broke;
      list.push_back(std::move(change));
      continue;
    }
    if (!now.status) continue;
    if (then.digest != now.digest) ++difference.other_bits;
    if (then.cost && now.cost) {
      cost_before += *then.cost;
      cost_after += *now.cost;
    }
    const double moved = drift_of(then, now);
    if (moved > difference.largest_drift) {
      difference.largest_drift = moved;
      difference.largest_drift_case = now.name;
    }
    if (moved > drift) difference.drifted.push_back(std::move(change));
  }
  const auto distance = [](const CaseChange& change) {
    const double moved = std::abs(change.ratio_after - change.ratio_before);
    return std::isnan(moved) ? INFINITY : moved;
  };
  std::ranges::sort(difference.drifted, [&](const CaseChange& one, const CaseChange& other) {
    return std::pair(-distance(one), std::string_view(one.name)) < std::pair(-distance(other), std::string_view(other.name));
  });
  difference.costs = changes_of(cost_before, cost_after);
  return difference;
}

}  // namespace assay::harness
