// The triage rules of family `fwht`: its model with mistakes, cases near a failing one, and places in its rows.
#include "families/fwht/inputs.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "families/mistakes.h"
#include "families/shared/mistake_table.h"
#include "families/shared/precision.h"
#include "families/shared/probes.h"
#include "families/shared/rotation_change.h"

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
          .probes = fwht_probes,
          .steps = {steps_of("num_heads", {1, 2}), steps_of("head_dim", {256})},
          .followed = "data",
          .place = place_in_rows,
          .row_parts = [](const Case& test_case) -> std::vector<RowPart> { return {{"heads", test_case.size("num_heads")}}; }};
}

}  // namespace assay::families
