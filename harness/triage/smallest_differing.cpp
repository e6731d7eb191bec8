#include <algorithm>
#include <functional>
#include <utility>

#include "harness/cases/file_case.h"
#include "harness/triage/compare.h"

namespace assay::harness {
namespace {

// One way to make a case smaller; false if the family has no such axis, or it is as small as that already.
using Shrink = std::function<bool(Case& about)>;

bool set(Case& about, std::string_view axis, std::int64_t value) {
  if (!about.family->has_axis(axis) || about.at(axis) <= value) return false;
  about.values[about.family->axis_index(axis)] = value;
  return true;
}

Shrink all_of(std::vector<std::pair<std::string_view, std::int64_t>> settings) {
  return [settings = std::move(settings)](Case& about) {
    bool is_smaller = false;
    for (const auto& [axis, value] : settings) is_smaller = set(about, axis, value) || is_smaller;
    return is_smaller;
  };
}

// So many keys, with a cache that just holds them, in order.
Shrink keys(std::int64_t count) {
  return [count](Case& about) {
    if (!set(about, "kv_len", count)) return false;
    set(about, "kv_capacity", count);
    set(about, "ring_start", 0);
    return true;
  };
}

// In each group the first that still differs is taken; the order is that of what makes a trace short and its reader glad.
std::vector<std::vector<Shrink>> steps() {
  std::vector<Shrink> lengths;
  for (const std::int64_t count : {1, 2, 8, 16, 31, 32, 33, 48, 64, 65, 96, 128, 256, 512, 1024, 2048}) lengths.push_back(keys(count));
  std::vector<Shrink> queries;
  for (const std::int64_t count : {1, 2, 8, 9, 16, 32}) queries.push_back(all_of({{"queries", count}}));
  std::vector<Shrink> workgroups;
  for (const std::int64_t count : {1, 2, 4, 8}) workgroups.push_back(all_of({{"nwg", count}}));
  return {{all_of({{"n_heads", 1}, {"n_kv_heads", 1}}), all_of({{"n_heads", 2}, {"n_kv_heads", 1}}),
           all_of({{"n_heads", 2}, {"n_kv_heads", 2}}), all_of({{"n_heads", 4}, {"n_kv_heads", 2}})},
          {all_of({{"num_heads", 1}}), all_of({{"num_heads", 2}})},
          {all_of({{"num_kv_heads", 1}}), all_of({{"num_kv_heads", 2}})},
          {all_of({{"nrows", 1}}), all_of({{"nrows", 2}})},
          {all_of({{"batches", 1}})},
          queries,
          {all_of({{"mask_type", 0}, {"sliding_window", 0}, {"mask_batches", 1}, {"mask_heads", 1}}),
           all_of({{"mask_batches", 1}, {"mask_heads", 1}})},
          {all_of({{"sliding_window", 0}})},
          {all_of({{"kv_room", 0}})},
          {all_of({{"ring_start", 0}})},
          lengths,
          workgroups,
          {all_of({{"nsg", 1}}), all_of({{"nsg", 2}})},
          {all_of({{"position", 0}, {"ring_start", 0}})},
          {all_of({{"head_dim", 256}})}};
}

std::int64_t work(const CasePair& pair) { return pair.new_case.family->work(pair.new_case.values); }

bool is_possible(const CasePair& pair, const Workbench& workbench) {
  const auto is_possible = [&](const Case& about) {
    return has_name(about) && within_limits(workbench.find(about.variant).variant, about);
  };
  return is_possible(pair.old_case) && is_possible(pair.new_case);
}

// A rounding shows by chance: what is smaller may need other data for it.
constexpr std::uint64_t kSeeds = 4;

// What is seen of a shrinking pair: whether to go on, and nothing else.
class Quiet final : public RunListener {
 public:
  explicit Quiet(RunListener& next) : next_(next) {}
  void started(const Case&) override {}
  void finished(const Verdict&, const Summary&) override {}
  bool tick() override { return next_.tick(); }

 private:
  RunListener& next_;
};

}  // namespace

std::optional<CasePair> smallest_differing(std::span<const CaseComparison> cases, const Workbench& workbench, const RunOptions& options,
                                           const std::atomic<bool>& stop, RunListener& listener) {
  std::vector<const CaseComparison*> differing;
  for (const CaseComparison& one : cases) {
    if (one.differs()) differing.push_back(&one);
  }
  if (differing.empty()) return std::nullopt;
  // What broke is what a reader wants to know of first.
  const auto* start =
      *std::ranges::min_element(differing, {}, [](const CaseComparison* one) { return std::pair(!one->broke(), work(one->pair)); });
  CasePair smallest = start->pair;
  const bool must_break = start->broke();
  Quiet quiet(listener);
  for (const std::vector<Shrink>& group : steps()) {
    std::vector<CasePair> candidates;
    for (const Shrink& smaller : group) {
      CasePair candidate = smallest;
      if (!smaller(candidate.old_case) || !smaller(candidate.new_case) || !is_possible(candidate, workbench)) continue;
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        if (seed != 0 && is_on_file(candidate.new_case)) break;
        candidates.push_back(candidate);
        candidates.back().old_case.seed += seed;
        candidates.back().new_case.seed += seed;
      }
    }
    if (candidates.empty() || stop) continue;
    const ComparedCases tried = compare_cases(candidates, workbench, options, stop, quiet);
    for (const CaseComparison& one : tried.cases) {
      if (!one.differs() || (must_break && !one.broke())) continue;
      smallest = one.pair;
      break;
    }
  }
  return smallest;
}

}  // namespace assay::harness
