#include <cmath>
#include <utility>

#include "harness/triage/mistake_table.h"
#include "harness/triage/mistakes.h"
#include "harness/triage/mistakes_cache.h"
#include "harness/triage/small_models.h"

namespace assay::harness {
namespace {

std::vector<double> usual_factors(const Model&) {
  return {1.0 / 512,
          1.0 / 256,
          1.0 / 16,
          0.044194173824159216,
          0.25,
          0.5,
          std::numbers::sqrt2 / 2,
          0.9,
          1.1,
          std::numbers::sqrt2,
          2.0,
          4.0,
          16.0,
          22.627416997969522,
          256.0,
          512.0,
          -1.0};
}

template <typename Rows>
void add_rotation(Rows& table, const auto& of) {
  using Signs = RotationChange::Signs;
  using Order = RotationChange::Order;
  for (const auto& [signs, says] : {std::pair{Signs::none, "the signs are omitted"},
                                    {Signs::other_side, "signs are changed on the wrong side of the transform"},
                                    {Signs::both_sides, "signs are changed on both sides of the transform"},
                                    {Signs::bits_reversed, "bits of the sign table are read most significant first"},
                                    {Signs::of_lower_half, "the upper half uses the signs of the lower"},
                                    {Signs::inverted, "bits of the sign table are inverted"},
                                    {Signs::shifted, "each coordinate uses the sign of the next"}}) {
    table.add(mistake::kSigns, says, [&, chosen = signs](auto& c) { of(c).signs = chosen; });
  }
  for (std::size_t distance = 1; distance <= 256; distance *= 2) {
    const std::string at = std::to_string(distance);
    table.add(mistake::kUnknown, "the butterflies at distance " + at + " are missing", [&](auto& c) { of(c).missing_stage = distance; }, 1);
    table.add(
        mistake::kSigns, "the difference of the butterflies at distance " + at + " has the wrong sign",
        [&](auto& c) { of(c).turned_stage = distance; }, 1);
  }
  for (const auto& [which, says] :
       {std::pair{RotationChange::Turned::all, "the difference of all butterflies has the wrong sign"},
        {RotationChange::Turned::between_lanes, "the difference of butterflies between lanes has the wrong sign"},
        {RotationChange::Turned::within_lanes, "the difference of butterflies within lanes has the wrong sign"}}) {
    table.add(mistake::kSigns, says, [&, chosen = which](auto& c) { of(c).turned = chosen; }, 1);
  }
  table.add(
      mistake::kUnknown, "the result is written in bit-reversed order of the lanes", [&](auto& c) { of(c).order = Order::lanes_reversed; },
      2);
  table.add(mistake::kUnknown, "the result is written in bit-reversed order", [&](auto& c) { of(c).order = Order::bits_reversed; }, 2);
}

}  // namespace

std::vector<Mistake> reduce_mistakes() {
  MistakeTable<ReduceModel, ReduceChange> table;
  using Change = ReduceChange;
  using Lost = Change::Lost;
  using Rows = Change::Rows;
  using Precision = Change::Precision;
  table.add(mistake::kRescale, "workgroups' outputs are added without weights", [](Change& c) { c.keeps_output = true; });
  table.add(mistake::kRescale, "workgroups' sums are added without weights", [](Change& c) { c.keeps_sum = true; });
  table.add(mistake::kRescale, "all workgroups have equal weights", [](Change& c) { c.keeps_output = c.keeps_sum = true; });
  table.add(mistake::kUnnormalised, "the merged output is not divided by the sum", [](Change& c) { c.unnormalised = true; });
  table.add(
      mistake::kUnnormalised, "the merged output is divided by the first workgroup's sum alone", [](Change& c) { c.sum_of_own = true; }, 2);
  for (const double start : {0.0, -1.0, -100.0, -1000.0, -10000.0, -16384.0, -32752.0, -65504.0}) {
    table.add(mistake::kMaximum, "the common maximum starts at " + std::to_string(static_cast<int>(start)),
              [start](Change& c) { c.lowest_maximum = start; });
  }
  table.add(mistake::kWorkgroup, "the last workgroup is skipped", [](Change& c) { c.lost = Lost::last; });
  table.add(mistake::kWorkgroup, "the first workgroup is skipped", [](Change& c) { c.lost = Lost::first; });
  table.add(mistake::kWorkgroup, "all workgroups but the first are skipped", [](Change& c) { c.lost = Lost::above_first; }, 1);
  table.add(mistake::kWorkgroup, "the upper half of the workgroups is skipped", [](Change& c) { c.lost = Lost::upper_half; }, 1);
  table.add(mistake::kHead, "every row uses the outputs, sums and maxima of the first",
            [](Change& c) { c.outputs_of = c.pairs_of = Rows::first; });
  table.add(mistake::kHead, "every row uses the outputs, sums and maxima of the next",
            [](Change& c) { c.outputs_of = c.pairs_of = Rows::next; });
  table.add(mistake::kHead, "every row uses the sums and maxima of the first", [](Change& c) { c.pairs_of = Rows::first; }, 1);
  table.add(
      mistake::kHead, "sums and maxima are addressed as if each row had one workgroup", [](Change& c) { c.pairs_two_apart = true; }, 1);
  table.add(mistake::kHead, "every row uses the outputs of the first", [](Change& c) { c.outputs_of = Rows::first; }, 1);
  table.add(mistake::kRescale, "workgroups are weighted with each other's maxima", [](Change& c) { c.maxima_reversed = true; }, 1);
  table.add(mistake::kUnknown, "the sums of workgroups are exchanged", [](Change& c) { c.sums_reversed = true; }, 1);
  table.add(mistake::kUnknown, "each workgroup's row is read as contiguous", [](Change& c) { c.not_interleaved = true; }, 1);
  table.add(mistake::kNibbles, "each group of four columns is read in reverse", [](Change& c) { c.columns_reversed = true; }, 1);
  for (const auto& [precision, name] : {std::pair{Precision::half, "half"}, {Precision::bfloat, "bfloat"}}) {
    table.add(mistake::kHalf, std::string("outputs are added in ") + name, [p = precision](Change& c) { c.output = p; });
    table.add(mistake::kHalf, std::string("sums are added in ") + name, [p = precision](Change& c) { c.sum = p; });
  }
  table.add_factor(mistake::kScale, "the output is scaled by {}", usual_factors, [](Change& c, double f) { c.factor = f; });
  return table.take();
}

std::vector<Mistake> fwht_mistakes() {
  MistakeTable<FwhtModel, FwhtChange> table;
  using Precision = FwhtChange::Precision;
  add_rotation(table, [](FwhtChange& c) -> RotationChange& { return c.rotation; });
  table.add(mistake::kUnnormalised, "the transform is not divided by sqrt(D)", [](FwhtChange& c) { c.unnormalised = true; });
  table.add_factor(mistake::kScale, "the output is scaled by {}", usual_factors, [](FwhtChange& c, double f) { c.rotation.factor = f; }, 1);
  table.add(mistake::kHead, "every head uses the first row", [](FwhtChange& c) { c.first_row_again = true; });
  table.add(mistake::kHead, "every head transforms the first row in its place", [](FwhtChange& c) { c.first_row_in_place = true; });
  table.add(mistake::kNotWritten, "rows are left unchanged", [](FwhtChange& c) { c.untouched = true; }, 1);
  table.add(mistake::kHalf, "results are stored in half", [](FwhtChange& c) { c.precision = Precision::half; });
  table.add(mistake::kHalf, "results are stored in bfloat", [](FwhtChange& c) { c.precision = Precision::bfloat; });
  return table.take();
}

std::vector<Mistake> quantize_mistakes() {
  MistakeTable<QuantizeModel, QuantizeChange> table;
  using Change = QuantizeChange;
  using Codes = Change::Codes;
  using Search = Change::Search;
  using Norms = Change::Norms;
  add_rotation(table, [](Change& c) -> RotationChange& { return c.rotation; });
  table.add(mistake::kSigns, "the row is not rotated", [](Change& c) { c.rotates = false; }, 2);
  table.add(mistake::kRounding, "an input on a boundary gets the upper cell", [](Change& c) { c.search = Search::ties_up; });
  table.add(mistake::kRounding, "the largest index is never used", [](Change& c) { c.search = Search::outer_lost; }, 1);
  table.add(mistake::kRounding, "indices are one too large", [](Change& c) { c.codes = Codes::one_higher; }, 1);
  table.add(mistake::kRounding, "indices are one too small", [](Change& c) { c.codes = Codes::one_lower; }, 1);
  table.add(mistake::kNibbles, "indices of neighbouring coordinates are swapped", [](Change& c) { c.codes = Codes::swapped; });
  table.add(mistake::kNibbles, "each group of four indices is written in reverse", [](Change& c) { c.codes = Codes::fours_reversed; }, 1);
  table.add(mistake::kNibbles, "the even coordinate is written twice", [](Change& c) { c.codes = Codes::low_twice; }, 1);
  table.add(mistake::kNibbles, "indices are shifted up by one bit when written", [](Change& c) { c.codes = Codes::shifted_up; }, 1);
  for (const auto& [search, bits] :
       {std::pair{Search::other_bits_4, "4"}, {Search::other_bits_5, "5"}, {Search::other_bits_6, "6"}, {Search::other_bits_8, "8"}}) {
    table.add(mistake::kCodebook, std::string("the centroids of ") + bits + " bits are used for the search",
              [s = search](Change& c) { c.search = s; });
  }
  table.add(mistake::kCodebook, "centroids are evenly spaced", [](Change& c) { c.search = Search::uniform; });
  table.add(mistake::kNorm, "blocks use each other's norms", [](Change& c) { c.norms = Norms::other_block; });
  table.add(mistake::kNorm, "every block uses the norm of the first", [](Change& c) { c.norms = Norms::first_block; });
  table.add(mistake::kNorm, "every block uses the norm of the whole row", [](Change& c) { c.norms = Norms::of_whole_row; });
  table.add(mistake::kNorm, "the square of the norm is used as the norm", [](Change& c) { c.norms = Norms::unrooted; }, 1);
  table.add(mistake::kScale, "coordinates are multiplied by the norm", [](Change& c) { c.norms = Norms::inverse_input; }, 1);
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
  table.add(
      mistake::kUnnormalised, "the transform is not divided by sqrt(D), and only the norm is compensated",
      [](Change& c) { c.norm_factor = 16.0; }, 1);
  table.add(
      mistake::kUnnormalised, "the transform of 512 is not divided by sqrt(D), and only the norm is compensated",
      [](Change& c) { c.norm_factor = std::sqrt(512.0); }, 1);
  table.add(mistake::kHead, "every head quantises the first row", [](Change& c) { c.first_row_again = true; });
  table.add(mistake::kRounding, "inputs are divided even by norms below 1e-10", [](Change& c) { c.threshold_ignored = true; }, 2);
  table.add(mistake::kRounding, "norms below 1e-10 are stored as 0", [](Change& c) { c.threshold_on_norm = true; }, 2);
  return table.take();
}

std::vector<Mistake> dequantize_mistakes_of_codebook(const std::vector<double>& codebook) {
  MistakeTable<DequantizeModel, DequantizeChange> table;
  constexpr int late = 4;  // behind every mistake that is known without looking at the output
  table.add(
      mistake::kCodebook, "indices are looked up in another codebook",
      [&](DequantizeChange& c) {
        c.edit.table = CacheEdit::Table::learned;
        c.edit.learned = codebook;
      },
      late);
  return table.take();
}

std::vector<Mistake> dequantize_mistakes() {
  MistakeTable<DequantizeModel, DequantizeChange> table;
  using Change = DequantizeChange;
  add_cache_mistakes([&](std::string_view kind, const std::string& says, const auto& make, int rank) {
    table.add(kind, says, [&](Change& c) { make(c.edit); }, rank);
  });
  table.add(mistake::kUnknown, "the previous position is read", [](Change& c) { c.edit.slots = CacheEdit::Slots::previous; }, 1);
  table.add(mistake::kUnknown, "the next position is read", [](Change& c) { c.edit.slots = CacheEdit::Slots::next; }, 1);
  table.add(mistake::kHead, "every head uses the first key/value head", [](Change& c) { c.heads = Change::Heads::first; });
  table.add(mistake::kHead, "every head uses the next key/value head", [](Change& c) { c.heads = Change::Heads::next; });
  table.add(mistake::kHead, "heads are used in reverse order", [](Change& c) { c.heads = Change::Heads::reversed; });
  table.add(mistake::kScale, "norms are divided by 16, whatever the scale factor", [](Change& c) { c.fixed_root = true; });
  table.add_factor(
      mistake::kScale, "the output is scaled by {}",
      [](const Model& model) {
        std::vector<double> factors = usual_factors(model);
        const double divisor = static_cast<const DequantizeModel&>(model).divisor();
        for (const double more : {divisor, 1.0 / divisor, divisor * divisor}) factors.push_back(more);
        return factors;
      },
      [](Change& c, double f) { c.edit.factor = f; });
  return table.take();
}

}  // namespace assay::harness
