// The triage rules of family `fwht`: its model with mistakes, cases near a failing one, and places in its rows.
#include "families/fwht/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "families/mistakes.h"
#include "families/shared/mistake_table.h"
#include "families/shared/precision.h"
#include "families/shared/probes.h"
#include "families/shared/rotation_change.h"
#include "oracles/codebook.h"

namespace assay::families {
namespace {

struct FwhtChange {
  RotationChange rotation;
  bool first_row_again = false, first_row_in_place = false, untouched = false;
  bool unnormalised = false;
  Precision precision = Precision::full;
};

class FwhtModel final : public Model {
 public:
  FwhtModel(const Case& test_case, const Source& source);
  [[nodiscard]] std::vector<double> evaluate(const FwhtChange& change) const;
  [[nodiscard]] std::vector<double> row_lengths() const override { return {static_cast<double>(dim_)}; }
  // The signs of the coordinates, 1 or -1, with which the first row comes out.
  [[nodiscard]] std::vector<double> learn_codebook(std::span<const double> actual) const override;

 private:
  std::vector<float> data_;
  std::size_t dim_ = 0;
  oracles::FwhtMode mode_ = oracles::FwhtMode::plain;
};

FwhtModel::FwhtModel(const Case& test_case, const Source& source)
    : data_(fwht_inputs(test_case, source)), dim_(fwht_request(test_case).head_dim), mode_(fwht_mode(test_case)) {}

std::vector<double> FwhtModel::evaluate(const FwhtChange& change) const {
  std::vector<double> result(data_.begin(), data_.end());
  for (std::size_t row = 0; row < result.size() / dim_; ++row) {
    const std::span<double> own = std::span(result).subspan(row * dim_, dim_);
    if (change.untouched || (change.first_row_in_place && row > 0)) continue;
    if (change.first_row_again) std::copy_n(data_.begin(), dim_, own.begin());
    RotationChange rotation = change.rotation;
    if (change.unnormalised) rotation.factor *= std::sqrt(static_cast<double>(dim_));
    const std::size_t times = change.first_row_in_place ? result.size() / dim_ : 1;
    for (std::size_t time = 0; time < times; ++time) rotate_changed(own, mode_, rotation);
    for (double& value : own) value = rounded(value, change.precision);
  }
  return result;
}

std::vector<double> FwhtModel::learn_codebook(std::span<const double> actual) const {
  if (mode_ == oracles::FwhtMode::plain || actual.size() < dim_) return {};
  std::vector<double> before(data_.begin(), data_.begin() + static_cast<std::ptrdiff_t>(dim_));
  std::vector<double> behind(actual.begin(), actual.begin() + static_cast<std::ptrdiff_t>(dim_));
  // The transform is its own inverse, so signs stand between the two either way.
  rotate_changed(mode_ == oracles::FwhtMode::signs_last ? before : behind, oracles::FwhtMode::plain, {});
  double largest = 0;
  for (const double value : before) largest = std::max(largest, std::abs(value));
  std::vector<double> signs(dim_);
  constexpr double nearly = 1e-3;
  for (std::size_t j = 0; j < dim_; ++j) {
    const double right = oracles::rotation_sign(static_cast<int>(dim_), static_cast<int>(j));
    const double learned = behind[j] * before[j] < 0 ? -1.0 : 1.0;
    // Of a value that is hardly more than 0, the sign is unknown.
    signs[j] = std::abs(before[j]) > nearly * largest ? learned : right;
    if (!(std::abs(behind[j] - signs[j] * before[j]) <= nearly * largest)) return {};
  }
  return signs;
}

std::vector<Mistake> mistakes_of_signs(const std::vector<double>& signs) {
  std::size_t wrong = 0, first = 0;
  for (std::size_t j = signs.size(); j-- > 0;) {
    if (signs[j] == oracles::rotation_sign(static_cast<int>(signs.size()), static_cast<int>(j))) continue;
    ++wrong;
    first = j;
  }
  if (wrong == 0) return {};
  MistakeTable<FwhtModel, FwhtChange> table;
  constexpr int late = 4;  // behind every mistake that does not use the output itself
  table.add(
      mistake::kSigns, fmt::format("{} of {} coordinates have the wrong sign, the first is coordinate {}", wrong, signs.size(), first),
      [signs](FwhtChange& c) { c.rotation.learned = signs; }, late);
  return table.take();
}

std::vector<Mistake> fwht_mistakes() {
  MistakeTable<FwhtModel, FwhtChange> table;
  add_rotation(table, [](FwhtChange& c) -> RotationChange& { return c.rotation; });
  table.add(mistake::kUnnormalised, "the transform is not divided by sqrt(D)", &FwhtChange::unnormalised, true);
  table.add_factor(mistake::kScale, "the output is scaled by {}", usual_factors, [](FwhtChange& c, double f) { c.rotation.factor = f; }, 1);
  table.add(mistake::kHead, "every head uses the first row", &FwhtChange::first_row_again, true);
  table.add(mistake::kHead, "every head transforms the first row in its place", &FwhtChange::first_row_in_place, true);
  table.add(mistake::kNotWritten, "rows are left unchanged", &FwhtChange::untouched, true, 1);
  table.add(mistake::kHalf, "results are stored in half", &FwhtChange::precision, Precision::half);
  table.add(mistake::kHalf, "results are stored in bfloat", &FwhtChange::precision, Precision::bfloat);
  return table.take();
}

std::vector<Case> fwht_probes(const Case& test_case) {
  Probes probes(test_case, {{"num_heads", 1}});
  for (const std::int64_t mode : {0, 1, 2}) {
    probes.add({{"mode", mode}}, "gauss");
    probes.add({{"mode", mode}, {"num_heads", 3}}, "gauss");
    probes.add({{"mode", mode}, {"head_dim", other_dim(test_case)}}, "gauss");
  }
  for (const std::string_view fixture : {"uniform", "needle", "heavy", "cancel"}) probes.add({{"num_heads", 2}}, fixture);
  return probes.take();
}

}  // namespace

TriageRules fwht_triage() {
  return {.model = [](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
            return std::make_shared<FwhtModel>(test_case, source);
          },
          .mistakes = fwht_mistakes,
          .codebook_mistakes = mistakes_of_signs,
          .probes = fwht_probes,
          .steps = {steps_of("num_heads", {1, 2}), steps_of("head_dim", {256})},
          .followed = "data",
          .place = place_in_rows,
          .row_parts = [](const Case& test_case) -> std::vector<RowPart> { return {{"heads", test_case.size("num_heads")}}; }};
}

}  // namespace assay::families
