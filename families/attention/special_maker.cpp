// What all special cases of a variant are made with: its levels, its limits, and the name of a case.
#include "families/attention/special_maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "families/attention/axes.h"
#include "families/attention/contract.h"
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

const Level* found_in(const std::vector<Level>& levels, const auto& is_wanted) {
  const auto found = std::ranges::find_if(levels, is_wanted);
  return found == levels.end() ? nullptr : &*found;
}

}  // namespace

SpecialMaker::SpecialMaker(const std::vector<FactorTable>& tables, const kernels::Variant& variant)
    : first(first_values(tables)), tables_(tables), variant_(variant) {}

const std::vector<Level>& SpecialMaker::levels_of(std::string_view factor) const {
  return std::ranges::find(tables_, factor, &FactorTable::name)->levels;
}

const Level* SpecialMaker::several_of(AxisIndex axis) const {
  return found_in(levels_of(axes()[axis].name),
                  [&](const Level& level) { return level.values[0].second > 1 && level.values[0].second != first[axis]; });
}

const Level* SpecialMaker::most_of(AxisIndex axis) const {
  const std::vector<Level>& levels = levels_of(axes()[axis].name);
  const auto most = std::ranges::max_element(levels, {}, [](const Level& level) { return level.values[0].second; });
  return most == levels.end() || most->values[0].second < 2 ? nullptr : &*most;
}

bool SpecialMaker::admits(AxisIndex axis, std::int64_t value) const {
  const std::vector<std::int64_t> limit = limit_of(axis);
  return limit.empty() || std::ranges::find(limit, value) != limit.end();
}

const Level* SpecialMaker::several_heads() const {
  return found_in(levels_of("heads"), [](const Level& level) { return level.values[1].second > 1; });
}

const Level* SpecialMaker::one_head() const {
  return found_in(levels_of("heads"), [](const Level& level) { return level.values[1].second == 1; });
}

std::vector<Given> SpecialMaker::cheap() const {
  const auto size = [](const Level& level) { return level.values[0].second + level.values[1].second; };
  std::vector<Given> values;
  for (const std::string_view factor : {"dims", "heads"}) {
    const std::vector<Level>& levels = levels_of(factor);
    const Level& least = *std::ranges::min_element(levels, {}, size);
    values.insert(values.end(), least.values.begin(), least.values.end());
  }
  return values;
}

AxisValues SpecialMaker::values_of(const std::vector<Given>& given) const {
  AxisValues values = first;
  for (const auto& [axis, value] : given) values[axis] = value;
  return values;
}

std::vector<kernels::PlannedDispatch> SpecialMaker::launch_of(const std::vector<Given>& given) const {
  if (!variant_.launch) return {};
  try {
    const CaseNames of_case(shape_of(values_of(given), 1), variant_.setting("max_bias"));
    return kernels::plan_launch(*variant_.launch, kernels::LaunchNames(*variant_.launch, variant_.fields, of_case));
  } catch (const std::exception&) {
    return {};
  }
}

std::optional<std::int64_t> SpecialMaker::threads_of(const std::vector<Given>& given) const {
  std::uint64_t threads = 0;
  for (const kernels::PlannedDispatch& dispatch : launch_of(given))
    threads += dispatch.grid.count() * (dispatch.description->grid_counts_threads ? 1 : dispatch.threads.count());
  return threads == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(threads));
}

bool SpecialMaker::add(std::vector<std::string_view>& list, const std::vector<Given>& given, int seed, std::string_view fixture) {
  const AxisValues values = values_of(given);
  for (const kernels::AxisLimit& limit : variant_.limits) {
    const auto axis = std::ranges::find(axes(), limit.axis, &Axis::name) - axes().begin();
    if (std::cmp_equal(axis, axes().size()) ||
        std::ranges::find(limit.values, values[static_cast<std::size_t>(axis)]) == limit.values.end())
      return false;
  }
  if (!is_possible(values, first, values)) return false;
  const std::string name = name_of(values, fixture, seed);
  if (std::ranges::find(list, name) == list.end()) list.push_back(cases.names.emplace_back(name));
  return true;
}

bool SpecialMaker::add_row(std::vector<std::string_view>& list, std::vector<Given> given, int seed, std::string_view fixture) {
  given.emplace_back(kQueries, 1);
  if (add(list, given, seed, fixture)) return true;
  given.back().second = first[kQueries];
  return add(list, given, seed, fixture);
}

}  // namespace assay::families::attention
