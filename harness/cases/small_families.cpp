// The families with few axes: reduce and fwht.
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "harness/cases/family_rows.h"

namespace assay::harness {
namespace {

constexpr std::array<std::int64_t, 2> kHeadDims = {256, 512};
constexpr std::array<std::int64_t, 5> kRows = {1, 2, 5, 8, 32};
constexpr std::array<std::int64_t, 10> kWorkgroups = {1, 2, 3, 4, 7, 8, 15, 16, 31, 32};
constexpr std::array<std::int64_t, 6> kHeads = {1, 2, 3, 5, 8, 33};

template <typename Table>
std::vector<std::string> numbers(const Table& table) {
  std::vector<std::string> result;
  for (const std::int64_t value : table) result.push_back(fmt::format("{}", value));
  return result;
}

template <std::size_t N>
void set(std::int64_t& value, const std::array<std::int64_t, N>& table, int level) {
  if (level >= 0) value = table[static_cast<std::size_t>(level)];
}

// Every factor is a class of its own, so that the suites meet all triples of factors.
template <std::size_t N>
Classifier by_value(std::string_view name, std::size_t axis, const std::array<std::int64_t, N>& table) {
  return {name, numbers(table), [axis, table](std::span<const std::int64_t> values) {
            for (std::size_t i = 0; i < N; ++i) {
              if (table[i] == values[axis]) return static_cast<int>(i);
            }
            return -1;
          }};
}

}  // namespace

Family reduce_family() {
  Family family;
  family.contract = &kernels::family_contract("reduce");
  family.about = "merge of the partial attention results of NWG workgroups";
  family.axes = {{"head_dim", 256, 512, 256}, {"nrows", 0, 65536, 1}, {"nwg", 0, 1024, 16}};
  family.words = {{{{"d{head_dim}", {}}}}, {{{"rows{nrows}", {}}}}, {{{"nwg{nwg}", {}}}}};
  family.factors = {{"head_dim", numbers(kHeadDims)}, {"nrows", numbers(kRows)}, {"nwg", numbers(kWorkgroups)}};
  family.realise = [](std::span<const int> levels, std::span<std::int64_t> values) {
    set(values[0], kHeadDims, levels[0]);
    set(values[1], kRows, levels[1]);
    set(values[2], kWorkgroups, levels[2]);
    return true;
  };
  family.class_factors = {0, 1, 2};
  family.fixtures_are_classes = true;
  family.classifiers = {by_value("head_dim", 0, kHeadDims), by_value("nrows", 1, kRows), by_value("nwg", 2, kWorkgroups)};
  family.has_fixture = [](const fixtures::Fixture& fixture) { return fixture.reduce != nullptr; };
  family.entry_key = [](std::span<const std::int64_t> values) { return fmt::format("d{}", values[0]); };
  return family;
}

Family fwht_family() {
  static constexpr std::array<std::int64_t, 3> kModes = {0, 1, 2};
  Family family;
  family.contract = &kernels::family_contract("fwht");
  family.about = "fast Walsh-Hadamard transform of every head's row in place, with the rotation's signs before, after or not at all";
  family.axes = {{"head_dim", 256, 512, 256}, {"num_heads", 0, 65536, 1}, {"mode", 0, 2, 0}};
  family.words = {{{{"d{head_dim}", {}}}},
                  {{{"h{num_heads}", {}}}},
                  {{{"standalone", {{"mode", 0}}}, {"premult", {{"mode", 1}}}, {"undo", {{"mode", 2}}}}}};
  family.factors = {{"head_dim", numbers(kHeadDims)}, {"num_heads", numbers(kHeads)}, {"mode", {"standalone", "premult", "undo"}}};
  family.realise = [](std::span<const int> levels, std::span<std::int64_t> values) {
    set(values[0], kHeadDims, levels[0]);
    set(values[1], kHeads, levels[1]);
    set(values[2], kModes, levels[2]);
    return true;
  };
  family.class_factors = {0, 1, 2};
  family.fixtures_are_classes = true;
  family.classifiers = {by_value("head_dim", 0, kHeadDims), by_value("num_heads", 1, kHeads), by_value("mode", 2, kModes)};
  family.has_fixture = [](const fixtures::Fixture& fixture) { return fixture.fwht != nullptr; };
  family.entry_key = [](std::span<const std::int64_t> values) {
    constexpr std::array<std::string_view, 3> modes = {"standalone", "premult", "undo"};
    return fmt::format("{}_d{}", modes.at(static_cast<std::size_t>(values[2])), values[0]);
  };
  return family;
}

}  // namespace assay::harness
