#include "harness/triage/small_models.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "families/dequantize/inputs.h"
#include "families/fwht/inputs.h"
#include "families/quantize/inputs.h"
#include "families/reduce/inputs.h"
#include "harness/run/case_data.h"
#include "math/functions.h"
#include "oracles/arithmetic.h"
#include "oracles/codebook.h"

namespace assay::harness {
namespace {

template <typename Precision>
double rounded_to(double value, Precision precision) {
  switch (precision) {
    case Precision::half:
      return oracles::round_to_half(value);
    case Precision::bfloat:
      return oracles::round_to_bfloat(static_cast<float>(value));
    default:
      return value;
  }
}

// Of a mistake that makes numbers too small, what is left of them in float.
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

}  // namespace

ReduceModel::ReduceModel(const Case& about, const fixtures::Shelf& shelf)
    : shape_(families::reduce_request(about).shape), raw_(data_of(about, shelf, families::reduce_inputs).inputs) {}

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
    double sum = 0;
    for (std::size_t w = 0; w < nwg; ++w) {
      if (is_lost(change, w, nwg)) continue;
      sum += in_float(sums[w] * (change.keeps_sum ? 1.0 : in_float(math::exp(maxima[w] - maximum))));
    }
    if (change.sum_of_own) sum = sums[0] * math::exp(maxima[0] - maximum);
    sum = rounded_to(sum, change.sum);
    for (std::size_t j = 0; j < shape_.head_dim; ++j) {
      double value = 0;
      for (std::size_t w = 0; w < nwg; ++w) {
        if (is_lost(change, w, nwg)) continue;
        const std::size_t column = change.columns_reversed ? j ^ 3U : j;
        const std::size_t place =
            change.not_interleaved ? (outputs * nwg + w) * shape_.head_dim + column : shape_.output_index(outputs, w, column);
        value += in_float(at(place) * (change.keeps_output ? 1.0 : in_float(math::exp(maxima[w] - maximum))));
      }
      value = rounded_to(value, change.output);
      const double inverse = sum == 0.0 ? 0.0 : in_float(1.0 / in_float(sum));
      result[row * shape_.head_dim + j] = value * (change.unnormalised ? 1.0 : inverse) * change.factor;
    }
  }
  return result;
}

namespace {

void change_signs(std::span<double> row, const RotationChange& change) {
  using enum RotationChange::Signs;
  const int dim = static_cast<int>(row.size());
  for (int j = 0; j < dim; ++j) {
    int place = j;
    if (change.signs == bits_reversed) place = j / 8 * 8 + 7 - j % 8;
    if (change.signs == of_lower_half) place = j % 256;
    if (change.signs == shifted) place = (j + 1) % dim;
    row[static_cast<std::size_t>(j)] *= oracles::rotation_sign(dim, place) * (change.signs == inverted ? -1.0 : 1.0);
  }
}

std::size_t reversed_bits(std::size_t value, std::size_t count) {
  std::size_t result = 0;
  for (std::size_t bit = 1; bit < count; bit *= 2) {
    result = result * 2 + (value & 1U);
    value /= 2;
  }
  return result;
}

}  // namespace

void rotate_changed(std::span<double> row, oracles::FwhtMode mode, const RotationChange& change) {
  using Signs = RotationChange::Signs;
  bool in_front = mode == oracles::FwhtMode::signs_first;
  bool behind = mode == oracles::FwhtMode::signs_last;
  if (change.signs == Signs::none) in_front = behind = false;
  if (change.signs == Signs::other_side) std::swap(in_front, behind);
  if (change.signs == Signs::both_sides) in_front = behind = in_front || behind;
  if (in_front) change_signs(row, change);
  for (std::size_t distance = 1; distance < row.size(); distance *= 2) {
    if (distance == change.missing_stage) continue;
    using Turned = RotationChange::Turned;
    const bool within_lane = distance < row.size() / 32;
    const bool is_turned = distance == change.turned_stage || change.turned == Turned::all ||
                           change.turned == (within_lane ? Turned::within_lanes : Turned::between_lanes);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if ((i & distance) != 0) continue;
      const double a = row[i];
      const double b = row[i + distance];
      row[i] = a + b;
      row[i + distance] = is_turned ? b - a : a - b;
    }
  }
  const double factor = change.factor / std::sqrt(static_cast<double>(row.size()));
  for (double& value : row) value *= factor;
  if (behind) change_signs(row, change);
  if (change.order == RotationChange::Order::natural) return;
  const std::vector<double> natural(row.begin(), row.end());
  const std::size_t group = row.size() / 32;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::size_t from = change.order == RotationChange::Order::bits_reversed ? reversed_bits(i, row.size())
                                                                                  : reversed_bits(i / group, 32) * group + i % group;
    row[i] = natural[from];
  }
}

FwhtModel::FwhtModel(const Case& about, const fixtures::Shelf& shelf)
    : data_(data_of(about, shelf, families::fwht_inputs).inputs),
      dim_(families::fwht_request(about).head_dim),
      mode_(families::fwht_mode(about)) {}

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
    for (double& value : own) value = rounded_to(value, change.precision);
  }
  return result;
}

QuantizeModel::QuantizeModel(const Case& about, const fixtures::Shelf& shelf)
    : request_(families::quantize_request(about)),
      rows_(families::quantized_rows(about)),
      src_(data_of(about, shelf, families::quantize_inputs).inputs) {}

double QuantizeModel::input_unit() const { return request_.head_dim == 256 ? 16.0 : static_cast<double>(request_.scale_factor_d512); }

namespace {

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

}  // namespace

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

DequantizeModel::DequantizeModel(const Case& about, const fixtures::Shelf& shelf)
    : request_(families::dequantize_request(about)), inputs_(data_of(about, shelf, families::dequantize_inputs).inputs) {}

double DequantizeModel::divisor() const { return request_.head_dim == 256 ? 16.0 : static_cast<double>(request_.scale_factor_d512); }

StoredSide DequantizeModel::stored(double divided_by) const {
  return {.heads = request_.kv_heads,
          .capacity = request_.kv_capacity,
          .head_dim = request_.head_dim,
          .bits = request_.bits,
          .norms_per_position = request_.head_dim / 256,
          .divisor = divided_by,
          .codes = inputs_.codes,
          .norms = inputs_.norms,
          .other_norms = {}};
}

std::vector<double> DequantizeModel::learn_codebook(std::span<const double> actual) const {
  return learn_centroids(stored(divisor()), 0, request_.position, actual.first(request_.head_dim));
}

std::vector<double> DequantizeModel::evaluate(const DequantizeChange& change) const {
  using Heads = DequantizeChange::Heads;
  const std::size_t dim = request_.head_dim;
  const StoredSide side = stored(change.fixed_root ? 16.0 : divisor());
  std::vector<double> result(request_.kv_heads * dim);
  for (std::size_t head = 0; head < request_.kv_heads; ++head) {
    std::size_t from = head;
    if (change.heads == Heads::first) from = 0;
    if (change.heads == Heads::next) from = (head + 1) % request_.kv_heads;
    if (change.heads == Heads::reversed) from = request_.kv_heads - 1 - head;
    decode_slot(side, change.edit, from, request_.position, std::span(result).subspan(head * dim, dim));
  }
  return result;
}

}  // namespace assay::harness
