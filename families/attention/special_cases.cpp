// Makes the cases that the contract admits and no pair of values brings: rows that see nothing, low scores, numbers that narrow types do
// not hold, long contexts.
#include "families/attention/special_cases.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "families/attention/axes.h"
#include "families/attention/special_maker.h"

namespace assay::families::attention {
namespace {

class Numbers {
 public:
  explicit Numbers(SpecialMaker& maker) : maker_(maker), own_(maker.cases.own), longer_(maker.cases.longer) {}

  void add_all() {
    for (const Level& mask : maker_.levels_of("mask")) {
      const std::int64_t kind = mask.values[0].second;
      // The only query sees nothing.
      if (kind == 4 || kind == 5) {
        maker_.add(own_, {{kMask, kind}, {kQueries, 1}, {kKeys, 33}}, 3);
        add_single_keys(kind);
      }
      if (mask.values[1].second != 0) add_windows_behind(mask);
    }
    add_gigabytes(maker_);
    add_low_scores();
    add_parts(maker_);
    // Keys that a short does not hold, and where they begin and end for a query.
    maker_.add(own_, {{kQueries, 1}, {kKeys, 33000}}, 1, "one_key_far");
    add_far_windows();
    maker_.add(own_, {{kQueries, 1}, {kKeys, 2048}}, 1, "one_key_first");
    add_rows();
    // Numbers of keys, of heads times sizes, and of queries that 16 bits, 64 heads and 256 rows do not hold.
    add_keys(65600);
    maker_.add(longer_, {{kQueries, 1}, {kKeys, 65600}}, 1, "needle");
    maker_.add(longer_, {{kHeads, 80}, {kKvHeads, 8}, {kQueries, 1}, {kKeys, 129}}, 1);
    maker_.add(longer_, {{kQueries, 300}, {kKeys, 333}}, 1);
    maker_.add(longer_, {{kQueries, 300}, {kKeys, 300}}, 1);
    // Powers of two, and a length that is no multiple of any tile. Of more than 262,144 keys, each weighs so little that a sum in float may
    // lose it, unless one counts alone.
    std::vector<std::string_view>& longest = maker_.cases.longest;
    for (const std::int64_t keys : {65536, 65573, 131072, 262144, 524288, 1048576})
      maker_.add(longest, {{kQueries, 1}, {kKeys, keys}}, static_cast<int>(longest.size()) + 1, keys > 262144 ? "one_key_far" : "gauss");
  }

 private:
  // A query that sees one key, with a sink if there may be one: all splits but one see nothing, and seldom it is the first that does.
  void add_single_keys(std::int64_t mask) {
    const Level& blocks = maker_.levels_of("blocks").back();
    if (blocks.values[0].second < 2) return;
    for (const int seed : {1, 2}) {
      maker_.add(own_, {{kMask, mask}, {kQueries, 1}, {kKeys, 513}, maker_.levels_of("sinks").back().values[0], blocks.values[0]}, seed,
                 "mask_rows");
    }
  }

  // A window of a few keys at the end, and as many keys as splits: all splits but the last ones see nothing.
  void add_windows_behind(const Level& mask) {
    for (const Level& blocks : maker_.levels_of("blocks")) {
      const std::int64_t count = blocks.values[0].second;
      if (count < 8 || mask.values[1].second >= count) continue;
      maker_.add(own_, {mask.values[0], mask.values[1], {kQueries, 1}, {kKeys, count}, {kBlocks, count}}, 1);
    }
  }

  // With the smallest head size, of one head if there may be. In the gate if that is little work.
  void add_keys(std::int64_t keys) {
    constexpr std::int64_t kMostWork = std::int64_t{1} << 26;
    std::vector<Given> given = maker_.cheap();
    given.insert(given.end(), {{kQueries, 1}, {kKeys, keys}});
    const AxisValues values = maker_.values_of(given);
    const bool is_cheap = values[kHeads] * values[kKeys] * (values[kDk] + values[kDv]) <= kMostWork;
    maker_.add(is_cheap ? own_ : longer_, given, 1, "one_key_far");
  }

  void add_far_windows() {
    std::int64_t before = 0;
    for (const Level& mask : maker_.levels_of("mask")) {
      const std::int64_t kind = mask.values[0].second;
      const bool has_bounds = kind >= static_cast<std::int64_t>(Mask::causal) && kind <= static_cast<std::int64_t>(Mask::causal_window);
      if (kind == std::exchange(before, kind) || !has_bounds) continue;
      for (const std::int64_t queries : {std::int64_t{2}, maker_.first[kQueries]}) {
        if (maker_.add(own_, {mask.values[0], mask.values[1], {kQueries, queries}, {kKeys, 33000}}, 1)) break;
      }
    }
  }

  // The maximum of a thread, of simdgroups and of splits. A sink or a soft cap would keep it high.
  void add_low_scores() {
    if (maker_.first[kSinks] != 0 || maker_.first[kSoftcap] != 0) return;
    const std::vector<Given> given = {{kQueries, 1}, {kKeys, 33}};
    maker_.add(own_, given, 1, "below_sentinels");
    for (const AxisIndex axis : {kBlocks, kNsg}) {
      if (const Level* several = maker_.several_of(axis)) maker_.add(own_, {given[0], given[1], several->values[0]}, 1, "below_sentinels");
    }
  }

  // Rows that 16 bits do not hold, and two keys: of one head, of all heads and batches, and of a merge.
  void add_rows() {
    constexpr std::int64_t kRows = 65600;
    add_queries(kRows);
    std::vector<Given> given = many_rows(kRows);
    if (given.empty()) return;
    given.emplace_back(kKeys, 2);
    const std::vector<Given> cheap = maker_.cheap();
    given.insert(given.begin(), cheap.begin(), cheap.end());
    const Level* several = maker_.several_of(kBlocks);
    const AxisValues values = maker_.values_of(given);
    // Inputs and expected values of large heads take most of the time, so that the gate has the case with a merge alone.
    const bool is_dear = several != nullptr && values[kDk] + values[kDv] > 256;
    if (is_dear) {
      maker_.add(longer_, given, 1);
    } else {
      add_many(given);
    }
    if (several == nullptr) return;
    given.push_back(several->values[0]);
    add_many(given);
  }

  // If queries have no limit. Under a causal mask, whose position is narrow too, from query 0 on if there may be: all then see a key.
  void add_queries(std::int64_t rows) {
    if (!maker_.limit_of(kQueries).empty()) return;
    std::vector<Given> given = maker_.cheap();
    given.insert(given.end(), {{kQueries, rows}, {kKeys, 2}});
    add_many(given);
    for (const Level& mask : maker_.levels_of("mask")) {
      const auto kind = static_cast<Mask>(mask.values[0].second);
      if (kind != Mask::causal && kind != Mask::causal_window) continue;
      given.insert(given.end(), mask.values.begin(), mask.values.end());
      given.emplace_back(kOffset, maker_.admits(kOffset, 1) ? 1 : maker_.first[kOffset]);
      add_many(given);
      break;
    }
  }

  // In the gate if threads are few; each takes about 0.3 us.
  void add_many(const std::vector<Given>& given) {
    constexpr std::int64_t kMostThreads = 10'000'000;
    const std::optional<std::int64_t> threads = maker_.threads_of(given);
    maker_.add(threads && *threads <= kMostThreads ? own_ : longer_, given, 1);
  }

  // Values with at least so many rows; none if the limits admit no such.
  [[nodiscard]] std::vector<Given> many_rows(std::int64_t rows) const {
    const auto whole = [](std::int64_t all, std::int64_t part) { return (all + part - 1) / part; };
    const std::vector<std::int64_t> queries = maker_.limit_of(kQueries);
    if (queries.empty() && maker_.several_heads() != nullptr) {
      const std::vector<Given>& heads = maker_.several_heads()->values;
      return {heads[0], heads[1], {kQueries, whole(rows, heads[0].second)}};
    }
    const std::int64_t most_queries = queries.empty() ? 1 << 16 : std::ranges::max(queries);
    const std::vector<std::int64_t> head_limit = maker_.limit_of(kHeads);
    const std::int64_t most_heads = head_limit.empty() ? axes()[kHeads].maximum : std::ranges::max(head_limit);
    const std::vector<std::int64_t> group_limit = maker_.limit_of(kKvHeads);
    for (std::int64_t batches = 1; batches <= axes()[kBatch].maximum; ++batches) {
      const std::int64_t least = whole(whole(rows, most_queries), batches);
      if (!maker_.admits(kBatch, batches) || least > most_heads) continue;
      const std::int64_t heads = head_limit.empty() ? least : most_heads;
      if (group_limit.empty()) return {{kBatch, batches}, {kHeads, heads}, {kKvHeads, 1}, {kQueries, most_queries}};
      const std::int64_t groups = group_limit.front();
      const std::int64_t divisible = head_limit.empty() ? whole(heads, groups) * groups : heads;
      if (divisible % groups == 0 && divisible <= most_heads)
        return {{kBatch, batches}, {kHeads, divisible}, {kKvHeads, groups}, {kQueries, most_queries}};
    }
    return {};
  }

  SpecialMaker& maker_;
  std::vector<std::string_view>&own_, &longer_;
};

}  // namespace

SpecialCases special_cases(const std::vector<FactorTable>& tables, const kernels::Variant& variant) {
  SpecialMaker maker(tables, variant);
  Numbers(maker).add_all();
  return std::move(maker.cases);
}

}  // namespace assay::families::attention
