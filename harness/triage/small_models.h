// Models of the families that are no attention: reduce, fwht, quantize and dequantize.
#pragma once

#include <cstddef>
#include <vector>

#include "families/quantize/rows.h"
#include "fixtures/generators.h"
#include "harness/triage/cache_edit.h"
#include "harness/triage/model.h"
#include "oracles/fwht.h"

namespace assay::harness {

struct ReduceChange {
  bool keeps_output = false, keeps_sum = false;  // added without weights
  bool unnormalised = false;
  double lowest_maximum = -1.7e38;
  enum class Lost { nothing, first, last, above_first, upper_half };
  Lost lost = Lost::nothing;
  enum class Rows { own, first, next };
  Rows outputs_of = Rows::own, pairs_of = Rows::own;
  bool maxima_reversed = false, sums_reversed = false, sum_of_own = false, not_interleaved = false, columns_reversed = false;
  bool pairs_two_apart = false;  // those of a row are looked for as if each row had one workgroup
  enum class Precision { full, half, bfloat };
  Precision output = Precision::full, sum = Precision::full;
  double factor = 1;
};

class ReduceModel final : public Model {
 public:
  ReduceModel(const Case& about, const fixtures::Shelf& shelf);
  [[nodiscard]] std::vector<double> evaluate(const ReduceChange& change) const;

 private:
  oracles::PartialsShape shape_;
  std::vector<float> raw_;
};

// Of a rotation, wherever one is part of what a kernel does.
struct RotationChange {
  enum class Signs { as_asked, none, other_side, both_sides, bits_reversed, of_lower_half, inverted, shifted };
  Signs signs = Signs::as_asked;
  std::size_t missing_stage = 0;  // distance of the butterflies left out; 0: none are
  std::size_t turned_stage = 0;   // distance of those whose difference has the other sign
  enum class Turned { none, all, between_lanes, within_lanes };
  Turned turned = Turned::none;  // whole kinds of these
  enum class Order { natural, lanes_reversed, bits_reversed };
  Order order = Order::natural;
  double factor = 1;
};

// Rotates a row in place: H with the signs that the mode says, as the change has it.
void rotate_changed(std::span<double> row, oracles::FwhtMode mode, const RotationChange& change);

struct FwhtChange {
  RotationChange rotation;
  bool first_row_again = false, first_row_in_place = false, untouched = false;
  bool unnormalised = false;
  enum class Precision { full, half, bfloat };
  Precision precision = Precision::full;
};

class FwhtModel final : public Model {
 public:
  FwhtModel(const Case& about, const fixtures::Shelf& shelf);
  [[nodiscard]] std::vector<double> evaluate(const FwhtChange& change) const;
  [[nodiscard]] std::size_t head_dim() const { return dim_; }

 private:
  std::vector<float> data_;
  std::size_t dim_ = 0;
  oracles::FwhtMode mode_ = oracles::FwhtMode::plain;
};

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
  QuantizeModel(const Case& about, const fixtures::Shelf& shelf);
  [[nodiscard]] std::vector<double> evaluate(const QuantizeChange& change) const;
  [[nodiscard]] double input_unit() const;
  [[nodiscard]] std::size_t head_dim() const { return request_.head_dim; }

 private:
  fixtures::QuantizeRequest request_;
  families::QuantizedRows rows_;
  std::vector<float> src_;
};

struct DequantizeChange {
  CacheEdit edit;
  enum class Heads { own, first, next, reversed };
  Heads heads = Heads::own;
  bool fixed_root = false;  // norms divided by 16, whatever the scale factor
};

class DequantizeModel final : public Model {
 public:
  DequantizeModel(const Case& about, const fixtures::Shelf& shelf);
  [[nodiscard]] std::vector<double> evaluate(const DequantizeChange& change) const;
  [[nodiscard]] std::vector<double> learn_codebook(std::span<const double> actual) const override;
  [[nodiscard]] double divisor() const;

 private:
  [[nodiscard]] StoredSide stored(double divided_by) const;

  fixtures::DequantizeRequest request_;
  fixtures::DequantizeInputs inputs_;
};

}  // namespace assay::harness
