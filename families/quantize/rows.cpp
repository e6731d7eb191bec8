// Assembles and describes rows of the results of quantisation.
#include "families/quantize/rows.h"

#include <fmt/format.h>

#include <stdexcept>

namespace assay::families {
namespace {

// Appends row `row` of a [rows, width] array.
template <typename T>
void append(std::vector<T>& to, std::span<const T> from, std::size_t row, std::size_t width) {
  const std::span<const T> part = from.subspan(row * width, width);
  to.insert(to.end(), part.begin(), part.end());
}

void append(oracles::Expected& to, const oracles::Expected& from, std::size_t row, std::size_t width) {
  append<double>(to.value, from.value, row, width);
  append<double>(to.bound, from.bound, row, width);
  append<double>(to.magnitude, from.magnitude, row, width);
}

template <typename Float>
std::vector<Float> rows_of(const QuantizedRows& rows, std::span<const Float> indices, std::span<const Float> norms,
                           std::span<const Float> inputs) {
  const std::size_t heads = indices.size() / rows.head_dim;
  if (indices.size() != heads * rows.head_dim || norms.size() != heads * rows.blocks() ||
      inputs.size() != (rows.has_inputs ? indices.size() : 0)) {
    throw std::invalid_argument(fmt::format("{} indices, {} norms and {} quantiser inputs make no rows of head_dim {}", indices.size(),
                                            norms.size(), inputs.size(), rows.head_dim));
  }
  std::vector<Float> actual;
  for (std::size_t head = 0; head < heads; ++head) {
    append<Float>(actual, indices, head, rows.head_dim);
    append<Float>(actual, norms, head, rows.blocks());
    if (rows.has_inputs) append<Float>(actual, inputs, head, rows.head_dim);
  }
  return actual;
}

}  // namespace

std::string QuantizedRows::describe(std::size_t place) const {
  if (is_index(place)) return fmt::format("index of coordinate {}", place);
  if (place < head_dim + blocks()) return fmt::format("norm of block {}", place - head_dim);
  return fmt::format("quantiser input of coordinate {}", place - head_dim - blocks());
}

oracles::Expected expected_rows(const QuantizedRows& rows, const oracles::QuantizedToken& token, int bits) {
  oracles::Expected indices;
  for (std::size_t i = 0; i < token.lowest.size(); ++i) {
    const double lowest = token.lowest[i];
    const double highest = token.highest[i];
    indices.value.push_back((lowest + highest) / 2.0);
    indices.bound.push_back(lowest == highest ? 0.0 : (highest - lowest + 1.0) / 2.0);
    indices.magnitude.push_back(static_cast<double>((1U << static_cast<unsigned>(bits)) - 1U));
  }
  oracles::Expected expected;
  for (std::size_t head = 0; head < indices.size() / rows.head_dim; ++head) {
    append(expected, indices, head, rows.head_dim);
    append(expected, token.norms, head, rows.blocks());
    if (rows.has_inputs) append(expected, token.inputs, head, rows.head_dim);
  }
  return expected;
}

std::vector<float> actual_rows(const QuantizedRows& rows, std::span<const float> indices, std::span<const float> norms,
                               std::span<const float> inputs) {
  return rows_of(rows, indices, norms, inputs);
}
std::vector<double> actual_rows(const QuantizedRows& rows, std::span<const double> indices, std::span<const double> norms,
                                std::span<const double> inputs) {
  return rows_of(rows, indices, norms, inputs);
}

}  // namespace assay::families
