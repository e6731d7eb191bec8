// Mistakes in reading a TurboQuant cache, which attention and dequantisation have in common.
#pragma once

#include <utility>

#include "families/mistakes.h"
#include "families/shared/cache_edit.h"

namespace assay::families {

// Calls add(class, what it does in words, function that makes the edit, rank) for each.
void add_cache_mistakes(const auto& add) {
  using Codes = CacheEdit::Codes;
  using Tables = CacheEdit::Table;
  using Norms = CacheEdit::Norms;
  for (const auto& [codes, says] : {std::pair{Codes::swapped_in_pairs, "indices of neighbouring coordinates are exchanged"},
                                    {Codes::pairs_exchanged, "pairs of indices are exchanged"},
                                    {Codes::fours_reversed, "four indices at a time are taken from the wrong end"},
                                    {Codes::eights_reversed, "eight indices at a time are taken from the wrong end"},
                                    {Codes::halves_exchanged, "the halves of a row are exchanged"},
                                    {Codes::halves_apart, "low nibbles make the lower half of a row, high ones the upper"},
                                    {Codes::low_nibbles, "both coordinates of a byte are taken from its low nibble"},
                                    {Codes::high_nibbles, "both coordinates of a byte are taken from its high nibble"},
                                    {Codes::neighbour, "the index of the next coordinate is taken"},
                                    {Codes::shifted_down, "indices are taken one bit too high"},
                                    {Codes::as_nibbles, "two coordinates are taken from one byte"}}) {
    add(mistake::kNibbles, says, [chosen = codes](CacheEdit& e) { e.codes = chosen; }, 0);
  }
  for (const auto& [tables, says] : {std::pair{Tables::bits_4, "indices are looked up among the centroids of 4 bits"},
                                     {Tables::bits_5, "indices are looked up among the centroids of 5 bits"},
                                     {Tables::bits_6, "indices are looked up among the centroids of 6 bits"},
                                     {Tables::bits_8, "indices are looked up among the centroids of 8 bits"},
                                     {Tables::uniform, "centroids are evenly spaced"},
                                     {Tables::mirrored, "centroids have the other sign"},
                                     {Tables::one_higher, "the next centroid is taken"},
                                     {Tables::one_lower, "the centroid before is taken"},
                                     {Tables::boundaries, "boundaries are taken for centroids"}}) {
    add(mistake::kCodebook, says, [chosen = tables](CacheEdit& e) { e.table = chosen; }, 0);
  }
  for (const auto& [norms, says] : {std::pair{Norms::first_block, "every block takes the norm of the first"},
                                    {Norms::last_block, "every block takes the norm of the last"},
                                    {Norms::other_block, "blocks take each other's norms"},
                                    {Norms::next_slot, "the norm of the next slot is taken"},
                                    {Norms::previous_slot, "the norm of the slot before is taken"},
                                    {Norms::other_head, "the norm of the next head is taken"},
                                    {Norms::one_per_position, "norms are found as if there were one per position"},
                                    {Norms::heads_too_close, "norms of a head are found as if there were one per position"},
                                    {Norms::blocks_summed, "the norm of the whole row is taken for a block's"},
                                    {Norms::none, "norms are left out"},
                                    {Norms::inverse, "a row is divided by its norm instead of multiplied"}}) {
    add(mistake::kNorm, says, [chosen = norms](CacheEdit& e) { e.norms = chosen; }, 0);
  }
}

}  // namespace assay::families
