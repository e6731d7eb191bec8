// Dot products whose order of summation does not depend on the processor.
#include "oracles/products.h"

#include <cstring>

namespace assay::oracles {
namespace {

// Operations apply to each of the eight elements, for any vector width of the processor.
constexpr std::size_t kLanes = 8;
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));

void load(Lanes& lanes, const double* place) { std::memcpy(&lanes, place, sizeof(lanes)); }

double total(const Lanes& sums, const double* a, const double* b, std::size_t done, std::size_t count) {
  std::array<double, kLanes> lanes;
  std::memcpy(lanes.data(), &sums, sizeof(sums));
  for (std::size_t lane = 0; done + lane < count; ++lane) lanes[lane] += a[done + lane] * b[done + lane];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace

double dot(const double* a, const double* b, std::size_t count) {
  Lanes sums = {};
  std::size_t i = 0;
  Lanes left;
  Lanes right;
  for (; i + kLanes <= count; i += kLanes) {
    load(left, a + i);
    load(right, b + i);
    sums += left * right;
  }
  return total(sums, a, b, i, count);
}

std::array<double, 4> dots(RowPair a, RowPair b, std::size_t count) {
  Lanes sums_00 = {};
  Lanes sums_01 = {};
  Lanes sums_10 = {};
  Lanes sums_11 = {};
  Lanes a0;
  Lanes a1;
  Lanes b0;
  Lanes b1;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    load(a0, a[0] + i);
    load(a1, a[1] + i);
    load(b0, b[0] + i);
    load(b1, b[1] + i);
    sums_00 += a0 * b0;
    sums_01 += a0 * b1;
    sums_10 += a1 * b0;
    sums_11 += a1 * b1;
  }
  return {total(sums_00, a[0], b[0], i, count), total(sums_01, a[0], b[1], i, count), total(sums_10, a[1], b[0], i, count),
          total(sums_11, a[1], b[1], i, count)};
}

}  // namespace assay::oracles
