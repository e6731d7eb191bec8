// Cases near another one, for triage: made by setting axes.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "families/family.h"

namespace assay::families {

// Ignores axes that the family lacks.
inline void put(Case& test_case, const Settings& settings) {
  for (const auto& [axis, value] : settings) {
    if (test_case.family->has_axis(axis)) test_case.values[test_case.family->axis_index(axis)] = value;
  }
}

class Probes {
 public:
  // Sets everything to its simplest value, except capabilities of the kernel.
  Probes(const Case& test_case, const Settings& simplest) : base_(test_case) {
    base_.seed = 1;
    base_.fixture = "gauss";
    put(base_, simplest);
  }

  void add(const Settings& settings, std::string_view fixture) {
    Case next = base_;
    put(next, settings);
    next.fixture = fixture;
    cases_.push_back(std::move(next));
  }

  [[nodiscard]] std::vector<Case> take() { return std::move(cases_); }

 private:
  Case base_;
  std::vector<Case> cases_;
};

[[nodiscard]] inline std::int64_t other_dim(const Case& test_case) { return test_case.at("head_dim") == 256 ? 512 : 256; }

// For a family that reads or writes one position of a cache: the first positions of small caches.
[[nodiscard]] std::vector<Case> smaller_positions(const Case& test_case, std::string_view position);

// A group of steps in one axis.
[[nodiscard]] std::vector<ShrinkStep> steps_of(std::string_view axis, std::initializer_list<std::int64_t> values);

// "head 3, coordinate 300 (block 1 of 256)", for a buffer of rows of floats.
[[nodiscard]] Place place_in_rows(const Case& test_case, std::uint64_t byte);

}  // namespace assay::families
