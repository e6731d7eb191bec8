// The triage rules of family `reduce`: its model with mistakes, cases near a failing one, and places in its partials.
#include "families/reduce/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "families/mistakes.h"
#include "families/shared/mistake_table.h"
#include "families/shared/precision.h"
#include "families/shared/probes.h"
#include "math/functions.h"

namespace assay::families {
namespace {

struct ReduceChange {
  bool keeps_output = false, keeps_sum = false;  // added without weights
  bool inverts_weights = false;                  // exp(maximum - own) for exp(own - maximum)
  bool unnormalised = false;
  double lowest_maximum = -1.7e38;
  enum class Lost { nothing, first, last, above_first, upper_half };
  Lost lost = Lost::nothing;
  enum class Rows { own, first, next };
  Rows outputs_of = Rows::own, pairs_of = Rows::own;
  bool maxima_reversed = false, sums_reversed = false, sum_of_own = false, not_interleaved = false, columns_reversed = false;
  bool pairs_two_apart = false;  // reads the pairs of a row as if each row had one workgroup
  Precision output = Precision::full, sum = Precision::full;
  double factor = 1;
};

class ReduceModel final : public Model {
 public:
  ReduceModel(const Case& test_case, const Source& source);
  [[nodiscard]] std::vector<double> evaluate(const ReduceChange& change) const;

 private:
  oracles::PartialsShape shape_;
  std::vector<float> raw_;
};

// Rounds to float, for mistakes that make numbers too small for float.
double in_float(double value) { return static_cast<double>(static_cast<float>(value)); }

std::size_t row_of(ReduceChange::Rows which, std::size_t row, std::size_t rows) {
  switch (which) {
    case ReduceChange::Rows::first:
      return 0;
    case ReduceChange::Rows::next:
      return (row + 1) % rows;
    default:
      return row;
  }
}

bool is_lost(const ReduceChange& change, std::size_t workgroup, std::size_t count) {
  using enum ReduceChange::Lost;
  switch (change.lost) {
    case first:
      return workgroup == 0;
    case last:
      return workgroup + 1 == count;
    case above_first:
      return workgroup > 0;
    case upper_half:
      return workgroup >= (count + 1) / 2;
    default:
      return false;
  }
}

ReduceModel::ReduceModel(const Case& test_case, const Source& source)
    : shape_(reduce_request(test_case).shape), raw_(reduce_inputs(test_case, source)) {}

std::vector<double> ReduceModel::evaluate(const ReduceChange& change) const {
  const std::size_t nwg = shape_.nwg;
  std::vector<double> result(shape_.rows * shape_.head_dim);
  const auto at = [&](std::size_t index) { return static_cast<double>(raw_[index]); };
  for (std::size_t row = 0; row < shape_.rows; ++row) {
    const std::size_t pairs = row_of(change.pairs_of, row, shape_.rows);
    const std::size_t outputs = row_of(change.outputs_of, row, shape_.rows);
    std::vector<double> sums(nwg);
    std::vector<double> maxima(nwg);
    double maximum = change.lowest_maximum;
    for (std::size_t w = 0; w < nwg; ++w) {
      const std::size_t too_near = shape_.sum_index(0, 0) + 2 * (row + w);
      sums[w] = at(change.pairs_two_apart ? too_near : shape_.sum_index(pairs, change.sums_reversed ? nwg - 1 - w : w));
      maxima[w] = at(change.pairs_two_apart ? too_near + 1 : shape_.max_index(pairs, change.maxima_reversed ? nwg - 1 - w : w));
      if (!is_lost(change, w, nwg)) maximum = std::max(maximum, maxima[w]);
    }
    const auto weight_of = [&](std::size_t w) {
      return in_float(math::exp(change.inverts_weights ? maximum - maxima[w] : maxima[w] - maximum));
    };
    double sum = 0;
    for (std::size_t w = 0; w < nwg; ++w) {
      if (is_lost(change, w, nwg)) continue;
      sum += in_float(sums[w] * (change.keeps_sum ? 1.0 : weight_of(w)));
    }
    if (change.sum_of_own) sum = sums[0] * math::exp(maxima[0] - maximum);
    sum = rounded(sum, change.sum);
    for (std::size_t j = 0; j < shape_.head_dim; ++j) {
      double value = 0;
      for (std::size_t w = 0; w < nwg; ++w) {
        if (is_lost(change, w, nwg)) continue;
        const std::size_t column = change.columns_reversed ? j ^ 3U : j;
        const std::size_t place =
            change.not_interleaved ? (outputs * nwg + w) * shape_.head_dim + column : shape_.output_index(outputs, w, column);
        value += in_float(at(place) * (change.keeps_output ? 1.0 : weight_of(w)));
      }
      value = rounded(value, change.output);
      const double inverse = sum == 0.0 ? 0.0 : in_float(1.0 / in_float(sum));
      result[row * shape_.head_dim + j] = value * (change.unnormalised ? 1.0 : inverse) * change.factor;
    }
  }
  return result;
}

std::vector<Mistake> reduce_mistakes() {
  MistakeTable<ReduceModel, ReduceChange> table;
  using Change = ReduceChange;
  using Lost = Change::Lost;
  using Rows = Change::Rows;
  table.add(mistake::kRescale, "workgroups' outputs are added without weights", &Change::keeps_output, true);
  table.add(mistake::kRescale, "workgroups' sums are added without weights", &Change::keeps_sum, true);
  table.add(mistake::kRescale, "all workgroups have equal weights", [](Change& c) { c.keeps_output = c.keeps_sum = true; });
  table.add(mistake::kRescale, "the weights of workgroups are inverted: exp(maximum - own) in place of exp(own - maximum)",
            &Change::inverts_weights, true);
  table.add(mistake::kUnnormalised, "the merged output is not divided by the sum", &Change::unnormalised, true);
  table.add(mistake::kUnnormalised, "the merged output is divided by the first workgroup's sum alone", &Change::sum_of_own, true, 2);
  for (const double start : {0.0, -1.0, -100.0, -1000.0, -10000.0, -16384.0, -32752.0, -65504.0}) {
    table.add(mistake::kMaximum, "the common maximum starts at " + std::to_string(static_cast<int>(start)), &Change::lowest_maximum, start);
  }
  table.add(mistake::kWorkgroup, "the last workgroup is skipped", &Change::lost, Lost::last);
  table.add(mistake::kWorkgroup, "the first workgroup is skipped", &Change::lost, Lost::first);
  table.add(mistake::kWorkgroup, "all workgroups but the first are skipped", &Change::lost, Lost::above_first, 1);
  table.add(mistake::kWorkgroup, "the upper half of the workgroups is skipped", &Change::lost, Lost::upper_half, 1);
  table.add(mistake::kHead, "every row uses the outputs, sums and maxima of the first",
            [](Change& c) { c.outputs_of = c.pairs_of = Rows::first; });
  table.add(mistake::kHead, "every row uses the outputs, sums and maxima of the next",
            [](Change& c) { c.outputs_of = c.pairs_of = Rows::next; });
  table.add(mistake::kHead, "every row uses the sums and maxima of the first", &Change::pairs_of, Rows::first, 1);
  table.add(mistake::kHead, "sums and maxima are addressed as if each row had one workgroup", &Change::pairs_two_apart, true, 1);
  table.add(mistake::kHead, "every row uses the outputs of the first", &Change::outputs_of, Rows::first, 1);
  table.add(mistake::kRescale, "workgroups are weighted with each other's maxima", &Change::maxima_reversed, true, 1);
  table.add(mistake::kRescale, "the sums of workgroups are exchanged", &Change::sums_reversed, true, 1);
  table.add(mistake::kStride, "each workgroup's row is read as contiguous", &Change::not_interleaved, true, 1);
  table.add(mistake::kNibbles, "each group of four columns is read in reverse", &Change::columns_reversed, true, 1);
  for (const auto& [precision, name] : {std::pair{Precision::half, "half"}, {Precision::bfloat, "bfloat"}}) {
    table.add(mistake::kHalf, std::string("outputs are added in ") + name, &Change::output, precision);
    table.add(mistake::kHalf, std::string("sums are added in ") + name, &Change::sum, precision);
  }
  table.add_factor(mistake::kScale, "the output is scaled by {}", usual_factors, [](Change& c, double f) { c.factor = f; });
  return table.take();
}

std::vector<Case> reduce_probes(const Case& test_case) {
  Probes probes(test_case, {{"nrows", 2}, {"nwg", 4}});
  for (const std::int64_t nwg : {1, 2, 3, 8, 31, 32}) probes.add({{"nwg", nwg}}, "gauss");
  probes.add({{"nrows", 5}}, "gauss");
  for (const std::string_view fixture : {"uniform", "needle", "all_negative", "all_negative_deep", "drift", "idle", "cancel"})
    probes.add({{"nrows", 3}}, fixture);
  probes.add({{"nwg", 32}}, "drift");
  probes.add({{"head_dim", other_dim(test_case)}}, "gauss");
  return probes.take();
}

Place place_in_partials(const Case& test_case, std::uint64_t byte) {
  const std::uint64_t element = byte / sizeof(float);
  const std::uint64_t nwg = test_case.size("nwg");
  const std::uint64_t row_size = test_case.size("head_dim") * nwg;
  const std::uint64_t outputs = test_case.size("nrows") * row_size;
  if (element < outputs) {
    const std::uint64_t column = element / 4;
    return {fmt::format("row {}, workgroup {}, coordinate {}", element / row_size, column % nwg,
                        column % (row_size / 4) / nwg * 4 + element % 4),
            {}};
  }
  const std::uint64_t pair = (element - outputs) / 2;
  return {fmt::format("row {}, workgroup {}, its {}", pair / nwg, pair % nwg, (element - outputs) % 2 == 0 ? "sum" : "maximum"), {}};
}

}  // namespace

TriageRules reduce_triage() {
  return {.model = [](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
            return std::make_shared<ReduceModel>(test_case, source);
          },
          .mistakes = reduce_mistakes,
          .probes = reduce_probes,
          .steps = {steps_of("nrows", {1, 2}), steps_of("nwg", {1, 2, 4, 8}), steps_of("head_dim", {256})},
          .followed = "htmp",
          .place = place_in_partials,
          .row_parts = [](const Case& test_case) -> std::vector<RowPart> { return {{"rows", test_case.size("nrows")}}; }};
}

}  // namespace assay::families
