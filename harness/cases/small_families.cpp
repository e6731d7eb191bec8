// The families with few axes: reduce and fwht.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "families/registry.h"
#include "harness/cases/family_rows.h"

namespace assay::harness {
namespace {

constexpr std::array<std::int64_t, 2> kHeadDims = {256, 512};
constexpr std::array<std::int64_t, 6> kRows = {1, 2, 5, 8, 32, 33};
constexpr std::size_t kEverydayRows = 5;
// Few, powers of two and their neighbours; then all the others up to the most that 1,024 threads can merge.
constexpr std::array<std::int64_t, 32> kWorkgroups = {1,  2,  3,  4,  7,  8,  15, 16, 31, 32, 5,  6,  9,  10, 11, 12,
                                                      13, 14, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
constexpr std::size_t kEverydayWorkgroups = 10;
constexpr std::array<std::int64_t, 8> kHeads = {1, 2, 3, 5, 8, 33, 64, 257};
constexpr std::size_t kEverydayHeads = 6;
constexpr std::array<std::string_view, 3> kModes = {"standalone", "premult", "undo"};

// A factor that is one axis, with a table of its values.
template <std::size_t N>
Factor factor_of(std::string_view name, std::size_t axis, const std::array<std::int64_t, N>& table, std::size_t everyday = N) {
  std::vector<std::string> labels;
  for (const std::int64_t value : table) labels.push_back(fmt::format("{}", value));
  return {name, labels, everyday,
          [axis, &table](std::size_t level, std::span<const std::int64_t> values) { return values[axis] == table[level]; }};
}

template <std::size_t N>
void set(std::int64_t& value, const std::array<std::int64_t, N>& table, int level) {
  value = level < 0 ? kOpen : table[static_cast<std::size_t>(level)];
}

// Every combination makes sense, and the dearest one costs little.
std::int64_t no_work(std::span<const std::int64_t>) { return 0; }

}  // namespace

Family reduce_family() {
  Family family;
  family.contract = &families::contract("reduce");
  family.about = "merge of the partial attention results of NWG workgroups";
  family.axes = {{.name = "head_dim", .minimum = 256, .maximum = 512, .initial = 256, .is_capability = true},
                 {"nrows", 0, 65536, 1},
                 {"nwg", 0, 1024, 16}};
  family.words = {{{{"d{head_dim}", {}}}}, {{{"rows{nrows}", {}}}}, {{{"nwg{nwg}", {}}}}};
  family.factors = {factor_of("head_dim", 0, kHeadDims), factor_of("nrows", 1, kRows, kEverydayRows),
                    factor_of("nwg", 2, kWorkgroups, kEverydayWorkgroups)};
  family.gate_strength = 3;
  family.realise = [](std::span<const int> levels, std::span<std::int64_t> values) {
    set(values[0], kHeadDims, levels[0]);
    set(values[1], kRows, levels[1]);
    set(values[2], kWorkgroups, levels[2]);
    return true;
  };
  family.work = no_work;
  family.has_fixture = [](const fixtures::Fixture& fixture) { return fixture.reduce != nullptr; };
  family.function_key = [](std::span<const std::int64_t> values) -> kernels::FunctionKey { return {fmt::format("d{}", values[0])}; };
  return family;
}

Family fwht_family() {
  Family family;
  family.contract = &families::contract("fwht");
  family.about = "fast Walsh-Hadamard transform of every head's row in place, with the rotation's signs before, after or not at all";
  family.axes = {{.name = "head_dim", .minimum = 256, .maximum = 512, .initial = 256, .is_capability = true},
                 {"num_heads", 0, 65536, 1},
                 {.name = "mode", .minimum = 0, .maximum = 2, .initial = 0, .is_capability = true}};
  family.words = {{{{"d{head_dim}", {}}}},
                  {{{"h{num_heads}", {}}}},
                  {{{"standalone", {{"mode", 0}}}, {"premult", {{"mode", 1}}}, {"undo", {{"mode", 2}}}}}};
  family.factors = {factor_of("head_dim", 0, kHeadDims),
                    factor_of("num_heads", 1, kHeads, kEverydayHeads),
                    {"mode", {kModes.begin(), kModes.end()}, kModes.size(), [](std::size_t level, std::span<const std::int64_t> values) {
                       return values[2] == static_cast<std::int64_t>(level);
                     }}};
  family.gate_strength = 3;
  family.realise = [](std::span<const int> levels, std::span<std::int64_t> values) {
    set(values[0], kHeadDims, levels[0]);
    set(values[1], kHeads, levels[1]);
    values[2] = levels[2] < 0 ? kOpen : levels[2];
    return true;
  };
  family.work = no_work;
  family.has_fixture = [](const fixtures::Fixture& fixture) { return fixture.fwht != nullptr; };
  family.function_key = [](std::span<const std::int64_t> values) -> kernels::FunctionKey {
    return {fmt::format("{}_d{}", kModes.at(static_cast<std::size_t>(values[2])), values[0])};
  };
  return family;
}

}  // namespace assay::harness
