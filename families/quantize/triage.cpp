// The triage rules of family `quantize`: its model with mistakes, cases near a failing one, and the meaning of its rows.
#include "families/quantize/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "families/mistakes.h"
#include "families/quantize/rows.h"
#include "families/shared/mistake_table.h"
#include "families/shared/probes.h"
#include "families/shared/rotation_change.h"
#include "oracles/codebook.h"

namespace assay::families {
namespace {

struct QuantizeChange {
  RotationChange rotation;
  bool rotates = true;
  enum class Codes { as_asked, swapped, one_higher, one_lower, fours_reversed, low_twice, shifted_up };
  Codes codes = Codes::as_asked;
  enum class Search { as_asked, ties_up, nearest_by_index, outer_lost, other_bits_8, other_bits_4, other_bits_5, other_bits_6, uniform };
  Search search = Search::as_asked;
  enum class Norms { own, other_block, first_block, of_whole_row, unrooted, stored_first, inverse_input };
  Norms norms = Norms::own;
  double input_factor = 1, norm_factor = 1;
  bool first_row_again = false;
  bool threshold_ignored = false, threshold_on_norm = false;
};

class QuantizeModel final : public Model {
 public:
  QuantizeModel(const Case& test_case, const Source& source);
  [[nodiscard]] std::vector<double> evaluate(const QuantizeChange& change) const;
  [[nodiscard]] double input_unit() const;
  [[nodiscard]] std::size_t head_dim() const { return request_.head_dim; }

 private:
  fixtures::QuantizeRequest request_;
  QuantizedRows rows_;
  std::vector<float> src_;
};

QuantizeModel::QuantizeModel(const Case& test_case, const Source& source)
    : request_(quantize_request(test_case)), rows_(quantized_rows(test_case)), src_(quantize_inputs(test_case, source)) {}

double QuantizeModel::input_unit() const { return request_.head_dim == 256 ? 16.0 : static_cast<double>(request_.scale_factor_d512); }

std::uint8_t search(std::span<const float> centroids, double x, QuantizeChange::Search how) {
  using enum QuantizeChange::Search;
  if (how == uniform) {
    const auto last = static_cast<double>(centroids.size() - 1);
    const double step = 2.0 * static_cast<double>(centroids.back()) / last;
    return static_cast<std::uint8_t>(std::clamp(std::round((x + static_cast<double>(centroids.back())) / step), 0.0, last));
  }
  std::uint8_t index = oracles::quantize_coordinate(centroids, x);
  if (how == ties_up && index + 1U < centroids.size() && static_cast<double>(0.5F * (centroids[index] + centroids[index + 1U])) == x)
    ++index;
  if (how == outer_lost && index + 1U == centroids.size()) --index;
  return index;
}

std::span<const float> searched_table(int bits, QuantizeChange::Search how) {
  using enum QuantizeChange::Search;
  switch (how) {
    case other_bits_4:
      return oracles::codebook(4);
    case other_bits_5:
      return oracles::codebook(5);
    case other_bits_6:
      return oracles::codebook(6);
    case other_bits_8:
      return oracles::codebook(8);
    default:
      return oracles::codebook(bits);
  }
}

std::vector<double> norms_of(std::span<const double> row, const QuantizeChange& change) {
  const std::size_t blocks = row.size() / 256;
  std::vector<double> norms;
  double whole = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    double squares = 0;
    for (std::size_t j = b * 256; j < (b + 1) * 256; ++j) squares += row[j] * row[j];
    whole += squares;
    norms.push_back(blocks == 1 ? std::sqrt(squares) : std::sqrt(squares / 256.0));
  }
  switch (change.norms) {
    case QuantizeChange::Norms::other_block:
      std::ranges::reverse(norms);
      break;
    case QuantizeChange::Norms::first_block:
      std::ranges::fill(norms, norms.front());
      break;
    case QuantizeChange::Norms::of_whole_row:
      std::ranges::fill(norms, std::sqrt(whole / (blocks == 1 ? 1.0 : 256.0)));
      break;
    case QuantizeChange::Norms::unrooted:
      for (double& norm : norms) norm *= norm;
      break;
    default:
      break;
  }
  return norms;
}

std::vector<double> QuantizeModel::evaluate(const QuantizeChange& change) const {
  using Codes = QuantizeChange::Codes;
  const std::size_t dim = request_.head_dim;
  const std::size_t blocks = dim / 256;
  const std::span<const float> table = searched_table(request_.bits, change.search);
  const auto largest = static_cast<std::uint8_t>(oracles::codebook(request_.bits).size() - 1);
  std::vector<double> result;
  for (std::size_t head = 0; head < request_.kv_heads; ++head) {
    const std::span<const float> own = std::span(src_).subspan(change.first_row_again ? 0 : head * dim, dim);
    std::vector<double> row(own.begin(), own.end());
    if (change.rotates) rotate_changed(row, oracles::FwhtMode::signs_first, change.rotation);
    const std::vector<double> norms = norms_of(row, change);
    std::vector<double> inputs(dim);
    std::vector<std::uint8_t> indices(dim);
    for (std::size_t j = 0; j < dim; ++j) {
      const double norm = norms[j / 256];
      const double least = change.threshold_ignored ? 0.0 : static_cast<double>(oracles::kSmallestNorm);
      const double multiplier = change.norms == QuantizeChange::Norms::inverse_input ? norm : norm > least ? 1.0 / norm : 0.0;
      inputs[j] = row[j] * multiplier * input_unit() * change.input_factor;
      indices[j] = std::min(search(table, inputs[j], change.search), largest);
      if (change.codes == Codes::one_higher) indices[j] = std::min<std::uint8_t>(static_cast<std::uint8_t>(indices[j] + 1), largest);
      if (change.codes == Codes::one_lower && indices[j] > 0) --indices[j];
      if (change.codes == Codes::shifted_up) indices[j] = static_cast<std::uint8_t>((indices[j] * 2) & largest);
    }
    for (std::size_t j = 0; j < dim; ++j) {
      std::size_t from = j;
      if (change.codes == Codes::swapped) from = j ^ 1U;
      if (change.codes == Codes::fours_reversed) from = j ^ 3U;
      if (change.codes == Codes::low_twice) from = j & ~std::size_t{1};
      result.push_back(static_cast<double>(indices[from]));
    }
    for (std::size_t b = 0; b < blocks; ++b) {
      const double norm = norms[b];
      const bool dropped = change.threshold_on_norm && !(norm > static_cast<double>(oracles::kSmallestNorm));
      result.push_back(dropped ? 0.0 : norm * change.norm_factor);
    }
    if (rows_.has_inputs) result.insert(result.end(), inputs.begin(), inputs.end());
  }
  return result;
}

std::vector<Mistake> quantize_mistakes() {
  MistakeTable<QuantizeModel, QuantizeChange> table;
  using Change = QuantizeChange;
  using Codes = Change::Codes;
  using Search = Change::Search;
  using Norms = Change::Norms;
  add_rotation(table, [](Change& c) -> RotationChange& { return c.rotation; });
  table.add(mistake::kSigns, "the row is not rotated", &Change::rotates, false, 2);
  table.add(mistake::kRounding, "an input on a boundary gets the upper cell", &Change::search, Search::ties_up);
  table.add(mistake::kRounding, "the largest index is never used", &Change::search, Search::outer_lost, 1);
  table.add(mistake::kRounding, "indices are one too large", &Change::codes, Codes::one_higher, 1);
  table.add(mistake::kRounding, "indices are one too small", &Change::codes, Codes::one_lower, 1);
  table.add(mistake::kNibbles, "indices of neighbouring coordinates are swapped", &Change::codes, Codes::swapped);
  table.add(mistake::kNibbles, "each group of four indices is written in reverse", &Change::codes, Codes::fours_reversed, 1);
  table.add(mistake::kNibbles, "the even coordinate is written twice", &Change::codes, Codes::low_twice, 1);
  table.add(mistake::kNibbles, "indices are shifted up by one bit when written", &Change::codes, Codes::shifted_up, 1);
  for (const auto& [search, bits] :
       {std::pair{Search::other_bits_4, "4"}, {Search::other_bits_5, "5"}, {Search::other_bits_6, "6"}, {Search::other_bits_8, "8"}}) {
    table.add(mistake::kCodebook, std::string("the centroids of ") + bits + " bits are used for the search", &Change::search, search);
  }
  table.add(mistake::kCodebook, "centroids are evenly spaced", &Change::search, Search::uniform);
  table.add(mistake::kNorm, "blocks use each other's norms", &Change::norms, Norms::other_block);
  table.add(mistake::kNorm, "every block uses the norm of the first", &Change::norms, Norms::first_block);
  table.add(mistake::kNorm, "every block uses the norm of the whole row", &Change::norms, Norms::of_whole_row);
  table.add(mistake::kNorm, "the square of the norm is used as the norm", &Change::norms, Norms::unrooted, 1);
  table.add(mistake::kScale, "coordinates are multiplied by the norm", &Change::norms, Norms::inverse_input, 1);
  table.add_factor(
      mistake::kScale, "the quantiser's inputs are scaled by {}",
      [](const Model& model) {
        std::vector<double> factors = usual_factors(model);
        const double unit = static_cast<const QuantizeModel&>(model).input_unit();
        for (const double more : {unit, 1.0 / unit, 16.0 / unit}) factors.push_back(more);
        return factors;
      },
      [](Change& c, double f) { c.input_factor = f; });
  table.add_factor(mistake::kScale, "the norm is stored scaled by {}", usual_factors, [](Change& c, double f) { c.norm_factor = f; });
  table.add(mistake::kUnnormalised, "the transform is not divided by sqrt(D), and only the norm is compensated", &Change::norm_factor, 16.0,
            1);
  table.add(mistake::kUnnormalised, "the transform of 512 is not divided by sqrt(D), and only the norm is compensated",
            &Change::norm_factor, std::sqrt(512.0), 1);
  table.add(mistake::kHead, "every head quantises the first row", &Change::first_row_again, true);
  table.add(mistake::kRounding, "inputs are divided even by norms below 1e-10", &Change::threshold_ignored, true, 2);
  table.add(mistake::kRounding, "norms below 1e-10 are stored as 0", &Change::threshold_on_norm, true, 2);
  return table.take();
}

std::vector<Case> quantize_probes(const Case& test_case) {
  Probes probes(test_case, {{"num_kv_heads", 1}, {"write_pos", 0}, {"cache_capacity", 1}, {"is_sliding", 0}, {"rms_probe", 0}});
  probes.add({}, "gauss");
  probes.add({{"num_kv_heads", 3}, {"write_pos", 1}, {"cache_capacity", 4}}, "gauss");
  probes.add({{"rms_probe", 1}}, "gauss");
  probes.add({{"write_pos", 5}, {"cache_capacity", 4}, {"is_sliding", 1}}, "gauss");
  for (const std::string_view fixture : {"structured", "ties", "heavy", "tiny", "zero", "outlier"})
    probes.add({{"num_kv_heads", 2}, {"rms_probe", 1}}, fixture);
  probes.add({{"head_dim", other_dim(test_case)}}, "gauss");
  probes.add({{"head_dim", 512}, {"scale_factor_d512", 16}, {"rms_probe", 1}}, "gauss");
  return probes.take();
}

std::vector<Case> smaller_quantize(const Case& test_case, Smaller how) {
  return how == Smaller::in_one_axis ? smaller_positions(test_case, "write_pos") : std::vector<Case>();
}

// For example "of a row: indices of 3 coordinates, norm of block 1, 0 quantiser inputs".
std::string describe_places(const Case& test_case, const std::set<std::size_t>& places) {
  const QuantizedRows rows = quantized_rows(test_case);
  std::size_t indices = 0;
  std::size_t inputs = 0;
  std::set<std::string> norms;
  for (const std::size_t place : places) {
    if (rows.is_index(place)) {
      ++indices;
    } else if (place < rows.head_dim + rows.blocks()) {
      norms.insert(rows.describe(place));
    } else {
      ++inputs;
    }
  }
  return fmt::format("in a row: indices of {} coordinates{}{}", indices,
                     norms.empty() ? std::string(", no norm") : fmt::format(", {}", fmt::join(norms, ", ")),
                     rows.has_inputs ? fmt::format(", {} quantiser inputs", inputs) : std::string());
}

}  // namespace

TriageRules quantize_triage() {
  return {.model = [](const Case& test_case, const Source& source) -> std::shared_ptr<const Model> {
            return std::make_shared<QuantizeModel>(test_case, source);
          },
          .mistakes = quantize_mistakes,
          .probes = quantize_probes,
          .smaller = smaller_quantize,
          .steps = {steps_of("num_kv_heads", {1, 2}), steps_of("head_dim", {256})},
          .followed = "src",
          .place = place_in_rows,
          .row_parts = [](const Case& test_case) -> std::vector<RowPart> { return {{"heads", test_case.size("num_kv_heads")}}; },
          .row_indices = [](const Case& test_case) { return test_case.size("head_dim"); },
          .describe_places = describe_places};
}

}  // namespace assay::families
