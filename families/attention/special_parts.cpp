// Special cases of kernels that deal the keys to several simdgroups or blocks: parts that see nothing, and a last part that outweighs all
// others.
#include <algorithm>
#include <utility>
#include <vector>

#include "families/attention/special_maker.h"

namespace assay::families::attention {
namespace {

// A launch, and how many parts of the keys it has.
struct ValueSplit {
  std::vector<Given> values;
  std::int64_t parts;
};

// The most blocks; a few simdgroups and the most; and those that a launch has whose variant declares neither.
std::vector<ValueSplit> splits_of(const SpecialMaker& maker) {
  std::vector<ValueSplit> splits;
  for (const Level* level : {maker.most_of(kBlocks), maker.several_of(kNsg), maker.most_of(kNsg)}) {
    if (level == nullptr) continue;
    const std::vector<Given>& values = level->values;
    if (std::ranges::find(splits, values, &ValueSplit::values) == splits.end()) splits.push_back({values, values[0].second});
  }
  const std::vector<kernels::PlannedDispatch> launch = maker.launch_of({{kQueries, 1}, {kKeys, 2048}});
  const std::int64_t simdgroups = launch.empty() ? 1 : static_cast<std::int64_t>(launch.front().threads.count()) / 32;
  if (splits.empty() || simdgroups > 1) splits.push_back({{}, std::clamp<std::int64_t>(simdgroups, 2, 32)});
  return splits;
}

class Parts {
 public:
  Parts(SpecialMaker& maker, ValueSplit split) : maker_(maker), split_(std::move(split)) {}

  // With chunks of up to 256 keys, dealt in turn or side by side, the last key is in the last part, and every part has some.
  void add_dominating() { add(256, "one_key_above", {}); }

  // Chunks that see nothing before others that do, by the chunks of most kernels: with 32, 64 or 128 keys for each part, the first half of
  // the parts sees nothing, however chunks of as many keys are dealt.
  void add_masked(const std::vector<std::int64_t>& masks, const Given& sinks) {
    for (const std::int64_t keys : {32, 64, 128}) add(keys, "mask_late", {{kMask, masks.back()}, sinks});
    for (const std::int64_t mask : masks) {
      add(128, "mask_last", {{kMask, mask}, sinks});
      // Two chunks for each part, of which the last part sees the second one only.
      add(256, "mask_ends", {{kMask, mask}, sinks});
    }
  }

 private:
  // With so many keys for each part, or with the most that the limits admit.
  void add(std::int64_t keys, std::string_view fixture, std::vector<Given> given) {
    given.insert(given.end(), split_.values.begin(), split_.values.end());
    const std::vector<Given> cheap = maker_.cheap();
    given.insert(given.end(), cheap.begin(), cheap.end());
    const std::vector<std::int64_t> limit = maker_.limit_of(kKeys);
    const std::int64_t wanted = split_.parts * keys;
    given.emplace_back(kKeys, maker_.admits(kKeys, wanted) ? wanted : std::ranges::max(limit));
    maker_.add_row(maker_.cases.own, given, 1, fixture);
  }

  SpecialMaker& maker_;
  ValueSplit split_;
};

}  // namespace

void add_parts(SpecialMaker& maker) {
  std::vector<std::int64_t> masks;
  for (const Level& mask : maker.levels_of("mask")) {
    const std::int64_t kind = mask.values[0].second;
    if (kind == static_cast<std::int64_t>(Mask::boolean) || kind == static_cast<std::int64_t>(Mask::additive)) masks.push_back(kind);
  }
  const std::vector<Level>& sinks = maker.levels_of("sinks");
  for (const ValueSplit& split : splits_of(maker)) {
    Parts parts(maker, split);
    parts.add_dominating();
    if (masks.empty()) continue;
    parts.add_masked(masks, sinks.front().values[0]);
    parts.add_masked(masks, sinks.back().values[0]);
  }
}

}  // namespace assay::families::attention
