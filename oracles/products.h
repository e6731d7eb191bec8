// Sums of products in a fixed order, so that their bits are the same on every machine.
//
// Eigen does not guarantee that: it splits sums into blocks by the processor's cache sizes, and their order depends on its vector width.
// The compiler must not reorder these loops' sums, but can still vectorise them.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace assay::oracles {

// sum a[i] b[i] over `count` elements: eight sums of every eighth product, then a tree over them.
[[nodiscard]] double dot(const double* a, const double* b, std::size_t count);

// The four dot products of two pairs of rows, each computed like dot(), in a third of the time: {a0 b0, a0 b1, a1 b0, a1 b1}.
using RowPair = std::array<const double*, 2>;
[[nodiscard]] std::array<double, 4> dots(RowPair a, RowPair b, std::size_t count);

// Calls store(i, j, product) for every row i of `a` with every row j of `b`; rows of `count` elements, one behind the other.
template <typename Store>
void multiply_rows(const double* a, std::size_t a_rows, const double* b, std::size_t b_rows, std::size_t count, const Store& store) {
  const auto a_row = [&](std::size_t i) { return a + i * count; };
  const auto b_row = [&](std::size_t j) { return b + j * count; };
  std::size_t i = 0;
  for (; i + 2 <= a_rows; i += 2) {
    std::size_t j = 0;
    for (; j + 2 <= b_rows; j += 2) {
      const std::array<double, 4> products = dots({a_row(i), a_row(i + 1)}, {b_row(j), b_row(j + 1)}, count);
      store(i, j, products[0]);
      store(i, j + 1, products[1]);
      store(i + 1, j, products[2]);
      store(i + 1, j + 1, products[3]);
    }
    for (; j < b_rows; ++j) {
      store(i, j, dot(a_row(i), b_row(j), count));
      store(i + 1, j, dot(a_row(i + 1), b_row(j), count));
    }
  }
  for (; i < a_rows; ++i) {
    for (std::size_t j = 0; j < b_rows; ++j) store(i, j, dot(a_row(i), b_row(j), count));
  }
}

// sums[j] += sum over t of factors[t] term(row_of(t)[j], j), t ascending. A row is a pointer to as many elements as there are sums; terms
// are finite.
template <typename RowOf, typename Term>
void add_terms(std::span<double> sums, std::span<const double> factors, const RowOf& row_of, const Term& term) {
  double* const sum = sums.data();
  const std::size_t count = sums.size();
  std::size_t t = 0;
  // Four rows in one pass over the sums.
  for (; t + 4 <= factors.size(); t += 4) {
    const std::array<double, 4> f = {factors[t], factors[t + 1], factors[t + 2], factors[t + 3]};
    if (f == std::array<double, 4>{}) continue;  // weights that vanished
    const std::array<const double*, 4> row = {row_of(t), row_of(t + 1), row_of(t + 2), row_of(t + 3)};
    for (std::size_t j = 0; j < count; ++j) {
      sum[j] = sum[j] + f[0] * term(row[0][j], j) + f[1] * term(row[1][j], j) + f[2] * term(row[2][j], j) + f[3] * term(row[3][j], j);
    }
  }
  for (; t < factors.size(); ++t) {
    const double* const row = row_of(t);
    for (std::size_t j = 0; j < count; ++j) sum[j] += factors[t] * term(row[j], j);
  }
}

}  // namespace assay::oracles
