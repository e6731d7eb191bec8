// Wrong rotations: the mistakes that fwht and quantize have in common.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "families/mistakes.h"
#include "oracles/fwht.h"

namespace assay::families {

// A change of a rotation, in any kernel that contains one.
struct RotationChange {
  enum class Signs { as_asked, none, other_side, both_sides, bits_reversed, of_lower_half, inverted, shifted };
  Signs signs = Signs::as_asked;
  std::vector<double> learned = {};  // 1 or -1 for each coordinate of a row of this length, in place of the table's; empty: none
  std::size_t missing_stage = 0;     // distance of the butterflies that are omitted; 0: none
  std::size_t turned_stage = 0;      // distance of the butterflies whose difference has the wrong sign
  enum class Turned { none, all, between_lanes, within_lanes };
  Turned turned = Turned::none;  // all butterflies of one kind
  enum class Order { natural, lanes_reversed, bits_reversed };
  Order order = Order::natural;
  double factor = 1;
};

// Rotates a row in place: H with the signs of the mode, modified by the change.
void rotate_changed(std::span<double> row, oracles::FwhtMode mode, const RotationChange& change);

// Calls table.add() for each mistake; `of` finds the rotation in a change.
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
    table.add(mistake::kSigns, says, [of, chosen = signs](auto& c) { of(c).signs = chosen; });
  }
  for (std::size_t distance = 1; distance <= 256; distance *= 2) {
    const std::string at = std::to_string(distance);
    table.add(
        mistake::kTransform, "the butterflies at distance " + at + " are missing", [=](auto& c) { of(c).missing_stage = distance; }, 1);
    table.add(
        mistake::kSigns, "the difference of the butterflies at distance " + at + " has the wrong sign",
        [=](auto& c) { of(c).turned_stage = distance; }, 1);
  }
  for (const auto& [which, says] :
       {std::pair{RotationChange::Turned::all, "the difference of all butterflies has the wrong sign"},
        {RotationChange::Turned::between_lanes, "the difference of butterflies between lanes has the wrong sign"},
        {RotationChange::Turned::within_lanes, "the difference of butterflies within lanes has the wrong sign"}}) {
    table.add(mistake::kSigns, says, [of, chosen = which](auto& c) { of(c).turned = chosen; }, 1);
  }
  table.add(
      mistake::kTransform, "the result is written in bit-reversed order of the lanes",
      [=](auto& c) { of(c).order = Order::lanes_reversed; }, 2);
  table.add(mistake::kTransform, "the result is written in bit-reversed order", [=](auto& c) { of(c).order = Order::bits_reversed; }, 2);
}

}  // namespace assay::families
