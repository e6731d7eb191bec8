// Rotates rows with the switches of known mistakes.
#include "families/shared/rotation_change.h"

#include <cmath>
#include <vector>

#include "oracles/codebook.h"

namespace assay::families {
namespace {

void change_signs(std::span<double> row, const RotationChange& change) {
  using enum RotationChange::Signs;
  const int dim = static_cast<int>(row.size());
  for (int j = 0; j < dim; ++j) {
    int place = j;
    if (change.signs == bits_reversed) place = j / 8 * 8 + 7 - j % 8;
    if (change.signs == of_lower_half) place = j % 256;
    if (change.signs == shifted) place = (j + 1) % dim;
    const auto at = static_cast<std::size_t>(j);
    const double sign = change.learned.size() == row.size() ? change.learned[at] : double{oracles::rotation_sign(dim, place)};
    row[at] *= sign * (change.signs == inverted ? -1.0 : 1.0);
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

}  // namespace assay::families
