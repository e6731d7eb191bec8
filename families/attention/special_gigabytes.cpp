// Special cases whose offsets exceed 31 and 32 bits.
#include <algorithm>
#include <utility>

#include "families/attention/layout.h"
#include "families/attention/special_maker.h"

namespace assay::families::attention {
namespace {

class Gigabytes {
 public:
  explicit Gigabytes(SpecialMaker& maker) : maker_(maker) {}

  // Byte offsets of more than 31 and 32 bits: by gaps between rows, with and without a mask, and by the room of each kind of cache.
  void add_all() {
    if (!maker_.admits(kFar, 1)) return;
    const std::vector<Level>& gaps = maker_.levels_of("gaps");
    if (!gaps.empty() && gaps.back().values[0].second != 0) add_far(gaps.back().values[0]);
    std::int64_t kind = 0;
    for (const Level& cache : maker_.levels_of("cache")) {
      if (cache.values[0].second == std::exchange(kind, cache.values[0].second)) continue;
      std::vector<Given> given = cache.values;
      for (const std::int64_t batches : {2, 1}) {
        given[1].second = gigabytes_of_room(cache, batches);
        if (given[1].second > 0 && add_to(given, batches)) break;
      }
      add_far_room(cache);
    }
  }

 private:
  // Sums of offsets first, then each term of them alone: a kernel may count one in a narrow type and add it in a wide one.
  void add_far(const Given& gaps) {
    const std::vector<Given> far = {gaps, {kFar, 1}};
    add_to_several(far);
    for (const Level& layout : maker_.levels_of("layout")) {
      const bool is_token_major = layout.values[0].second == static_cast<std::int64_t>(Layout::blhd);
      const std::vector<Given> laid = {gaps, {kFar, 1}, layout.values[0]};
      if (is_token_major) {
        add_far_tokens(laid);
      } else {
        add_far_heads(laid);
      }
      add_far_batches(laid);
    }
    const std::vector<Level>& planes = maker_.levels_of("mask_planes");
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
    if (maker_.several_heads() != nullptr) add_to(std::move(given), 1);
  }

  // One key/value head, so that nothing but the batch is far. The last of three is behind byte 2^32, the one before it behind 2^31.
  void add_far_batches(std::vector<Given> given) {
    if (maker_.one_head() == nullptr) return;
    given.insert(given.end(), maker_.one_head()->values.begin(), maker_.one_head()->values.end());
    given.emplace_back(kKeys, 65);
    for (const std::int64_t batches : {3, 2}) {
      given.emplace_back(kBatch, batches);
      if (maker_.add(maker_.cases.own, given, 1)) return;
    }
  }

  // One head of one batch, and two queries if there may be: those are as far apart as all keys are.
  void add_far_tokens(std::vector<Given> given) {
    if (maker_.one_head() == nullptr) return;
    given.insert(given.end(), maker_.one_head()->values.begin(), maker_.one_head()->values.end());
    given.insert(given.end(), {{kBatch, 1}, {kKeys, 65}});
    for (const std::int64_t queries : {std::int64_t{2}, maker_.first[kQueries]}) {
      given.emplace_back(kQueries, queries);
      if (maker_.add(maker_.cases.own, given, 1)) return;
    }
  }

  // As add_far(), by the room of a cache: heads, batches, the slots of a ring, and pages.
  void add_far_room(const Level& cache) {
    constexpr std::int64_t kFarBytes = std::int64_t{1} << 32U;
    const auto kind = static_cast<Cache>(cache.values[0].second);
    std::vector<Given> given = cache.values;
    AxisValues values = maker_.first;
    const Shape shape = shape_of(values, 1);
    const std::int64_t rows = kFarBytes / std::min(row_bytes(shape.dk, shape.k), row_bytes(shape.dv, shape.v));
    if (kind == Cache::contiguous) return;
    if (kind == Cache::paged) {
      given[1].second = 2 * rows / kv_heads_of(maker_.several_heads());
      add_to(given, 1);
      return;
    }
    if (shape.layout != Layout::blhd && maker_.several_heads() != nullptr) {
      given[1].second = rows / (kv_heads_of(maker_.several_heads()) - 1) + 1;
      add_far_heads(given);
    }
    given[1].second = rows / (maker_.admits(kBatch, 3) ? 2 : 1) + 1;
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

  [[nodiscard]] std::int64_t kv_heads_of(const Level* heads) const {
    return heads == nullptr ? maker_.first[kKvHeads] : heads->values[1].second;
  }

  // Rows behind the keys with which the last head, batch or half of the pages lies behind byte 2^31; 0 if nothing does that.
  [[nodiscard]] std::int64_t gigabytes_of_room(const Level& cache, std::int64_t batches) const {
    const std::int64_t heads = kv_heads_of(maker_.several_heads());
    AxisValues values = maker_.first;
    values[kBatch] = batches;
    const Shape shape = shape_of(values, 1);
    const std::int64_t bytes = row_bytes(shape.dk, shape.k);
    constexpr std::int64_t kFarBytes = std::int64_t{1} << 31U;
    if (cache.values[0].second == static_cast<std::int64_t>(Cache::contiguous)) return 0;
    if (cache.values[0].second == static_cast<std::int64_t>(Cache::paged)) return 2 * kFarBytes / bytes / heads / batches;
    const std::int64_t before = shape.layout == Layout::blhd ? (batches - 1) * heads : batches * heads - 1;
    return before == 0 ? 0 : kFarBytes / bytes / before + 1;
  }

  // A short case with several key/value heads, if there are.
  bool add_to(std::vector<Given> given, std::int64_t batches) {
    given.insert(given.end(), {{kBatch, batches}, {kKeys, 65}});
    if (const Level* heads = maker_.several_heads()) given.insert(given.end(), heads->values.begin(), heads->values.end());
    return maker_.add(maker_.cases.own, given, 1);
  }

  // With two batches if that is possible.
  void add_to_several(const std::vector<Given>& given) {
    if (!add_to(given, 2)) add_to(given, 1);
  }

  SpecialMaker& maker_;
};

std::int64_t narrowest_type(const SpecialMaker& maker) {
  for (const Storage type : {Storage::half, Storage::bfloat}) {
    const auto value = static_cast<std::int64_t>(type);
    const std::vector<Level>& types = maker.levels_of("type");
    if (std::ranges::any_of(types, [&](const Level& level) { return level.values[0].second == value; })) return value;
  }
  return maker.first[kType];
}

}  // namespace

void add_gigabytes(SpecialMaker& maker) {
  // In the narrowest type, whose elements an int does not count either.
  const AxisValues of_type = maker.first;
  maker.first[kType] = narrowest_type(maker);
  Gigabytes(maker).add_all();
  maker.first = of_type;
}

}  // namespace assay::families::attention
