// Makes the cases that the contract admits and no pair of values brings: rows that see nothing, low scores, offsets and numbers that narrow
// types do not hold, long contexts.
#include "families/attention/special_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "families/attention/axes.h"
#include "families/attention/contract.h"
#include "families/attention/layout.h"
#include "families/attention/names.h"

namespace assay::families::attention {
namespace {

// The name of a case with these values, without the variant.
std::string name_of(std::span<const std::int64_t> v, std::string_view fixture, int seed) {
  std::string name = fmt::format("{}/d{}x{}/b{}/h{}x{}/q{}/k{}", kStorageWords[static_cast<std::size_t>(v[kType])], v[kDk], v[kDv],
                                 v[kBatch], v[kHeads], v[kKvHeads], v[kQueries], v[kKeys]);
  const auto add = [&](AxisIndex axis, std::string_view prefix, std::span<const std::string_view> words) {
    if (v[axis] != 0) name += fmt::format("/{}{}", prefix, words[static_cast<std::size_t>(v[axis])]);
  };
  add(kKType, "k_", kKeyTypeWords);
  add(kVType, "v_", kKeyTypeWords);
  add(kOutType, "out_", kOutTypeWords);
  name += v[kMask] == 0 ? "/nomask" : fmt::format("/{}", kMaskWords[static_cast<std::size_t>(v[kMask])]);
  if (v[kWindow] != 0) name += fmt::format("{}", v[kWindow]);
  add(kMaskType, "mask_", kOutTypeWords);
  add(kMaskPlanes, "planes_", kPlaneWords);
  if (v[kMaskGaps] != 0) name += "/mask_gaps";
  add(kOffset, "offset_", kOffsetWords);
  if (v[kSoftcap] != 0) name += fmt::format("/cap{}", v[kSoftcap]);
  if (v[kSinks] != 0) name += v[kSinks] == 1 ? "/sinks" : "/sinks_typed";
  if (v[kScale] != 0) name += "/scale_one";
  if (v[kCache] == 1) name += fmt::format("/room{}", v[kRoom]);
  if (v[kCache] == 2) name += fmt::format("/ring{}room{}", v[kRingStart], v[kRoom]);
  if (v[kCache] == 3) name += fmt::format("/page{}room{}", v[kPage], v[kRoom]);
  add(kLayout, "", kLayoutWords);
  if (v[kSharedKv] != 0) name += "/shared_kv";
  if (v[kRagged] != 0) name += v[kRagged] == 1 ? "/ragged" : "/ragged_empty";
  add(kGaps, "gaps_", kGapWords);
  if (v[kBlocks] != 1) name += fmt::format("/blocks{}", v[kBlocks]);
  if (v[kNsg] != 1) name += fmt::format("/nsg{}", v[kNsg]);
  if (v[kFar] != 0) name += "/far";
  return name + fmt::format("/{}/s{}", fixture, seed);
}

// Makes the special cases of one variant from the first values that it supports.
class SpecialMaker {
 public:
  SpecialMaker(const std::vector<FactorTable>& tables, const kernels::Variant& variant)
      : tables_(tables), variant_(variant), limits_(variant.limits), first_(first_values(tables)) {}

  SpecialCases make() {
    for (const Level& mask : levels_of("mask")) {
      const std::int64_t kind = mask.values[0].second;
      // The only query sees nothing.
      if (kind == 4 || kind == 5) {
        add(special_.own, {{kMask, kind}, {kQueries, 1}, {kKeys, 33}}, 3);
        add_single_keys(kind);
      }
      if (mask.values[1].second != 0) add_windows_behind(mask);
    }
    // In the narrowest type, whose elements an int does not count either.
    const AxisValues of_type = first_;
    first_[kType] = narrowest_type();
    add_gigabytes();
    first_ = of_type;
    add_low_scores();
    // Keys that a short does not hold, and where they begin and end for a query.
    add(special_.own, {{kQueries, 1}, {kKeys, 33000}}, 1, "one_key_far");
    add_far_windows();
    add(special_.own, {{kQueries, 1}, {kKeys, 2048}}, 1, "one_key_first");
    add_rows();
    // Numbers of keys, of heads times sizes, and of queries that 16 bits, 64 heads and 256 rows do not hold.
    add(special_.longer, {{kQueries, 1}, {kKeys, 65600}}, 1, "one_key_far");
    add(special_.longer, {{kQueries, 1}, {kKeys, 65600}}, 1, "needle");
    add(special_.longer, {{kHeads, 80}, {kKvHeads, 8}, {kQueries, 1}, {kKeys, 129}}, 1);
    add(special_.longer, {{kQueries, 300}, {kKeys, 333}}, 1);
    add(special_.longer, {{kQueries, 300}, {kKeys, 300}}, 1);
    // Powers of two, and a length that is no multiple of any tile. Of more than 262,144 keys, each weighs so little that a sum in float may
    // lose it, unless one counts alone.
    for (const std::int64_t keys : {65536, 65573, 131072, 262144, 524288, 1048576})
      add(special_.longest, {{kQueries, 1}, {kKeys, keys}}, static_cast<int>(special_.longest.size()) + 1,
          keys > 262144 ? "one_key_far" : "gauss");
    return std::move(special_);
  }

 private:
  [[nodiscard]] const std::vector<Level>& levels_of(std::string_view factor) const {
    return std::ranges::find(tables_, factor, &FactorTable::name)->levels;
  }

  // A query that sees one key, with a sink if there may be one: all splits but one see nothing, and seldom it is the first that does.
  void add_single_keys(std::int64_t mask) {
    const std::vector<Level>& sinks = levels_of("sinks");
    const std::vector<Level>& blocks = levels_of("blocks");
    if (sinks.empty() || blocks.empty() || blocks.back().values[0].second < 2) return;
    for (const int seed : {1, 2})
      add(special_.own, {{kMask, mask}, {kQueries, 1}, {kKeys, 513}, sinks.back().values[0], blocks.back().values[0]}, seed, "mask_rows");
  }

  // A window of a few keys at the end, and as many keys as splits: all splits but the last ones see nothing.
  void add_windows_behind(const Level& mask) {
    for (const Level& blocks : levels_of("blocks")) {
      const std::int64_t count = blocks.values[0].second;
      if (count < 8 || mask.values[1].second >= count) continue;
      add(special_.own, {mask.values[0], mask.values[1], {kQueries, 1}, {kKeys, count}, {kBlocks, count}}, 1);
    }
  }

  void add_far_windows() {
    std::int64_t before = 0;
    for (const Level& mask : levels_of("mask")) {
      const std::int64_t kind = mask.values[0].second;
      const bool has_bounds = kind >= static_cast<std::int64_t>(Mask::causal) && kind <= static_cast<std::int64_t>(Mask::causal_window);
      if (kind == std::exchange(before, kind) || !has_bounds) continue;
      for (const std::int64_t queries : {std::int64_t{2}, first_[kQueries]}) {
        if (add(special_.own, {mask.values[0], mask.values[1], {kQueries, queries}, {kKeys, 33000}}, 1)) break;
      }
    }
  }

  // The maximum of a thread, of simdgroups and of splits. A sink or a soft cap would keep it high.
  void add_low_scores() {
    if (first_[kSinks] != 0 || first_[kSoftcap] != 0) return;
    const std::vector<Given> given = {{kQueries, 1}, {kKeys, 33}};
    add(special_.own, given, 1, "below_sentinels");
    for (const AxisIndex axis : {kBlocks, kNsg}) {
      const std::vector<Level>& levels = levels_of(axes()[axis].name);
      const auto several = std::ranges::find_if(
          levels, [&](const Level& level) { return level.values[0].second > 1 && level.values[0].second != first_[axis]; });
      if (several != levels.end()) add(special_.own, {given[0], given[1], several->values[0]}, 1, "below_sentinels");
    }
  }

  [[nodiscard]] std::int64_t narrowest_type() const {
    for (const Storage type : {Storage::half, Storage::bfloat}) {
      const auto value = static_cast<std::int64_t>(type);
      const std::vector<Level>& types = levels_of("type");
      if (std::ranges::any_of(types, [&](const Level& level) { return level.values[0].second == value; })) return value;
    }
    return first_[kType];
  }

  [[nodiscard]] bool admits(AxisIndex axis, std::int64_t value) const {
    const std::vector<std::int64_t> limit = limit_of(limits_, axis);
    return limit.empty() || std::ranges::find(limit, value) != limit.end();
  }

  // Byte offsets of more than 31 and 32 bits: by gaps between rows, with and without a mask, and by the room of each kind of cache.
  void add_gigabytes() {
    if (!admits(kFar, 1)) return;
    const std::vector<Level>& gaps = levels_of("gaps");
    if (!gaps.empty() && gaps.back().values[0].second != 0) add_far(gaps.back().values[0]);
    std::int64_t kind = 0;
    for (const Level& cache : levels_of("cache")) {
      if (cache.values[0].second == std::exchange(kind, cache.values[0].second)) continue;
      std::vector<Given> given = cache.values;
      for (const std::int64_t batches : {2, 1}) {
        given[1].second = gigabytes_of_room(cache, batches);
        if (given[1].second > 0 && add_to(given, batches)) break;
      }
      add_far_room(cache);
    }
  }

  // Sums of offsets first, then each term of them alone: a kernel may count one in a narrow type and add it in a wide one.
  void add_far(const Given& gaps) {
    const std::vector<Given> far = {gaps, {kFar, 1}};
    add_to_several(far);
    for (const Level& layout : levels_of("layout")) {
      const bool is_token_major = layout.values[0].second == static_cast<std::int64_t>(Layout::blhd);
      const std::vector<Given> laid = {gaps, {kFar, 1}, layout.values[0]};
      if (is_token_major) {
        add_far_tokens(laid);
      } else {
        add_far_heads(laid);
      }
      add_far_batches(laid);
    }
    const std::vector<Level>& planes = levels_of("mask_planes");
    if (planes.empty() || planes.back().values[0].second == 0) return;
    const std::int64_t kinds = planes.back().values[0].second;
    for (const std::int64_t mask : {4, 5}) {
      const std::vector<Given> masked = {gaps, {kFar, 1}, {kMask, mask}, planes.back().values[0], {kMaskGaps, 1}};
      add_to_several(masked);
      if ((kinds & 1) != 0) add_far_heads(masked);
      if ((kinds & 2) != 0) add_far_batches(masked);
    }
  }

  void add_far_heads(std::vector<Given> given) {
    if (several_heads() != nullptr) add_to(std::move(given), 1);
  }

  // One key/value head, so that nothing but the batch is far. The last of three is behind byte 2^32, the one before it behind 2^31.
  void add_far_batches(std::vector<Given> given) {
    if (one_head() == nullptr) return;
    given.insert(given.end(), one_head()->values.begin(), one_head()->values.end());
    given.emplace_back(kKeys, 65);
    for (const std::int64_t batches : {3, 2}) {
      given.emplace_back(kBatch, batches);
      if (add(special_.own, given, 1)) return;
    }
  }

  // One head of one batch, and two queries if there may be: those are as far apart as all keys are.
  void add_far_tokens(std::vector<Given> given) {
    if (one_head() == nullptr) return;
    given.insert(given.end(), one_head()->values.begin(), one_head()->values.end());
    given.insert(given.end(), {{kBatch, 1}, {kKeys, 65}});
    for (const std::int64_t queries : {std::int64_t{2}, first_[kQueries]}) {
      given.emplace_back(kQueries, queries);
      if (add(special_.own, given, 1)) return;
    }
  }

  // As add_far(), by the room of a cache: heads, batches, the slots of a ring, and pages.
  void add_far_room(const Level& cache) {
    constexpr std::int64_t kFarBytes = std::int64_t{1} << 32U;
    const auto kind = static_cast<Cache>(cache.values[0].second);
    std::vector<Given> given = cache.values;
    AxisValues values = first_;
    const Shape shape = shape_of(values, 1);
    const std::int64_t rows = kFarBytes / std::min(row_bytes(shape.dk, shape.k), row_bytes(shape.dv, shape.v));
    if (kind == Cache::contiguous) return;
    if (kind == Cache::paged) {
      given[1].second = 2 * rows / kv_heads_of(several_heads());
      add_to(given, 1);
      return;
    }
    if (shape.layout != Layout::blhd && several_heads() != nullptr) {
      given[1].second = rows / (kv_heads_of(several_heads()) - 1) + 1;
      add_far_heads(given);
    }
    given[1].second = rows / (admits(kBatch, 3) ? 2 : 1) + 1;
    add_far_batches(given);
    if (kind != Cache::ring) return;
    // The keys are on both sides of the last slot.
    given[1].second = rows;
    given[2].second = rows + 32;
    add_far_tokens(given);
  }

  static std::int64_t row_bytes(std::size_t coordinates, Storage type) {
    const ElementSize element = element_size(type);
    return static_cast<std::int64_t>(coordinates / element.coordinates * element.bytes);
  }

  [[nodiscard]] std::int64_t kv_heads_of(const Level* heads) const { return heads == nullptr ? first_[kKvHeads] : heads->values[1].second; }

  // Rows behind the keys with which the last head, batch or half of the pages lies behind byte 2^31; 0 if nothing does that.
  [[nodiscard]] std::int64_t gigabytes_of_room(const Level& cache, std::int64_t batches) const {
    const std::int64_t heads = kv_heads_of(several_heads());
    AxisValues values = first_;
    values[kBatch] = batches;
    const Shape shape = shape_of(values, 1);
    const std::int64_t bytes = row_bytes(shape.dk, shape.k);
    constexpr std::int64_t kFarBytes = std::int64_t{1} << 31U;
    if (cache.values[0].second == static_cast<std::int64_t>(Cache::contiguous)) return 0;
    if (cache.values[0].second == static_cast<std::int64_t>(Cache::paged)) return 2 * kFarBytes / bytes / heads / batches;
    const std::int64_t before = shape.layout == Layout::blhd ? (batches - 1) * heads : batches * heads - 1;
    return before == 0 ? 0 : kFarBytes / bytes / before + 1;
  }

  // Rows of queries of all heads and batches that 16 bits do not hold, and two keys: by queries, or by heads and batches if queries have a
  // limit. In the gate if threads are few; each takes about 0.3 us.
  void add_rows() {
    constexpr std::int64_t kRows = 65600;
    constexpr std::int64_t kMostThreads = 5'000'000;
    std::vector<Given> given = many_rows(kRows);
    if (given.empty()) return;
    given.emplace_back(kKeys, 2);
    AxisValues values = first_;
    for (const auto& [axis, value] : given) values[axis] = value;
    const auto add_one = [&] {
      const std::optional<std::int64_t> threads = threads_of(values);
      add(threads && *threads <= kMostThreads ? special_.own : special_.longer, given, 1);
    };
    add_one();
    // And a merge of as many.
    const std::vector<Level>& splits = levels_of("blocks");
    const auto several = std::ranges::find_if(splits, [](const Level& level) { return level.values[0].second > 1; });
    if (several == splits.end() || several->values[0].second == first_[kBlocks]) return;
    given.push_back(several->values[0]);
    values[kBlocks] = several->values[0].second;
    add_one();
  }

  // Values with at least so many rows; none if the limits admit no such.
  [[nodiscard]] std::vector<Given> many_rows(std::int64_t rows) const {
    const auto whole = [](std::int64_t all, std::int64_t part) { return (all + part - 1) / part; };
    const std::vector<std::int64_t> queries = limit_of(limits_, kQueries);
    if (queries.empty() && several_heads() != nullptr) {
      const std::int64_t heads = several_heads()->values[0].second;
      return {{kHeads, heads}, several_heads()->values[1], {kQueries, whole(rows, heads)}};
    }
    const std::int64_t most_queries = queries.empty() ? 1 << 16 : std::ranges::max(queries);
    const std::vector<std::int64_t> head_limit = limit_of(limits_, kHeads);
    const std::int64_t most_heads = head_limit.empty() ? axes()[kHeads].maximum : std::ranges::max(head_limit);
    const std::vector<std::int64_t> group_limit = limit_of(limits_, kKvHeads);
    for (std::int64_t batches = 1; batches <= axes()[kBatch].maximum; ++batches) {
      const std::int64_t least = whole(whole(rows, most_queries), batches);
      if (!admits(kBatch, batches) || least > most_heads) continue;
      const std::int64_t heads = head_limit.empty() ? least : most_heads;
      if (group_limit.empty()) return {{kBatch, batches}, {kHeads, heads}, {kKvHeads, 1}, {kQueries, most_queries}};
      const std::int64_t groups = group_limit.front();
      const std::int64_t divisible = head_limit.empty() ? whole(heads, groups) * groups : heads;
      if (divisible % groups == 0 && divisible <= most_heads)
        return {{kBatch, batches}, {kHeads, divisible}, {kKvHeads, groups}, {kQueries, most_queries}};
    }
    return {};
  }

  // Of all dispatches of a case; nothing if its launch cannot be computed.
  [[nodiscard]] std::optional<std::int64_t> threads_of(std::span<const std::int64_t> values) const {
    if (!variant_.launch) return std::nullopt;
    try {
      const CaseNames of_case(shape_of(values, 1), variant_.setting("max_bias"));
      const kernels::LaunchNames names(*variant_.launch, variant_.fields, of_case);
      std::uint64_t threads = 0;
      for (const kernels::PlannedDispatch& dispatch : kernels::plan_launch(*variant_.launch, names))
        threads += dispatch.grid.count() * (dispatch.description->grid_counts_threads ? 1 : dispatch.threads.count());
      return static_cast<std::int64_t>(threads);
    } catch (const std::exception&) {
      return std::nullopt;  // whoever runs the case is told
    }
  }

  [[nodiscard]] const Level* heads_if(const auto& is_wanted) const {
    const std::vector<Level>& heads = levels_of("heads");
    const auto found = std::ranges::find_if(heads, [&](const Level& level) { return is_wanted(level.values[1].second); });
    return found == heads.end() ? nullptr : &*found;
  }
  [[nodiscard]] const Level* several_heads() const {
    return heads_if([](std::int64_t count) { return count > 1; });
  }
  [[nodiscard]] const Level* one_head() const {
    return heads_if([](std::int64_t count) { return count == 1; });
  }

  // A short case with several key/value heads, if there are.
  bool add_to(std::vector<Given> given, std::int64_t batches) {
    given.insert(given.end(), {{kBatch, batches}, {kKeys, 65}});
    if (const Level* heads = several_heads()) given.insert(given.end(), heads->values.begin(), heads->values.end());
    return add(special_.own, given, 1);
  }

  // With two batches if that is possible.
  void add_to_several(const std::vector<Given>& given) {
    if (!add_to(given, 2)) add_to(given, 1);
  }

  // Only if [limits] admit it and it is possible. Returns whether it is.
  bool add(std::vector<std::string_view>& cases, const std::vector<Given>& given, int seed, std::string_view fixture = "gauss") {
    AxisValues values = first_;
    for (const auto& [axis, value] : given) values[axis] = value;
    for (const kernels::AxisLimit& limit : limits_) {
      const auto axis = std::ranges::find(axes(), limit.axis, &Axis::name) - axes().begin();
      if (std::cmp_equal(axis, axes().size()) ||
          std::ranges::find(limit.values, values[static_cast<std::size_t>(axis)]) == limit.values.end())
        return false;
    }
    if (!is_possible(values, first_)) return false;
    const std::string name = name_of(values, fixture, seed);
    if (std::ranges::find(cases, name) == cases.end()) cases.push_back(special_.names.emplace_back(name));
    return true;
  }

  const std::vector<FactorTable>& tables_;
  const kernels::Variant& variant_;
  std::span<const kernels::AxisLimit> limits_;
  AxisValues first_;
  SpecialCases special_;
};

}  // namespace

SpecialCases special_cases(const std::vector<FactorTable>& tables, const kernels::Variant& variant) {
  return SpecialMaker(tables, variant).make();
}

}  // namespace assay::families::attention
