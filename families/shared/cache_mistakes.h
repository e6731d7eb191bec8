// Mistakes in reading a TurboQuant cache, common to attention and dequantisation.
#pragma once

#include <utility>

#include "families/mistakes.h"
#include "families/shared/cache_edit.h"

namespace assay::families {

// Calls add(class, description, function that makes the edit, rank) for each.
void add_cache_mistakes(const auto& add) {
  using Codes = CacheEdit::Codes;
  using Tables = CacheEdit::Table;
  using Norms = CacheEdit::Norms;
  for (const auto& [codes, says] : {std::pair{Codes::swapped_in_pairs, "indices of neighbouring coordinates are swapped"},
                                    {Codes::pairs_exchanged, "pairs of indices are swapped"},
                                    {Codes::fours_reversed, "each group of four indices is read in reverse"},
                                    {Codes::eights_reversed, "each group of eight indices is read in reverse"},
                                    {Codes::halves_exchanged, "the halves of a row are swapped"},
                                    {Codes::halves_apart, "low nibbles form the lower half of a row, high nibbles the upper half"},
                                    {Codes::low_nibbles, "both coordinates of a byte are read from its low nibble"},
                                    {Codes::high_nibbles, "both coordinates of a byte are read from its high nibble"},
                                    {Codes::neighbour, "the index of the next coordinate is used"},
                                    {Codes::shifted_down, "indices are read one bit too high"},
                                    {Codes::as_nibbles, "two coordinates are read from one byte"}}) {
    add(mistake::kNibbles, says, [chosen = codes](CacheEdit& e) { e.codes = chosen; }, 0);
  }
  for (const auto& [tables, says] : {std::pair{Tables::bits_4, "indices are looked up among the centroids of 4 bits"},
                                     {Tables::bits_5, "indices are looked up among the centroids of 5 bits"},
                                     {Tables::bits_6, "indices are looked up among the centroids of 6 bits"},
                                     {Tables::bits_8, "indices are looked up among the centroids of 8 bits"},
                                     {Tables::uniform, "centroids are evenly spaced"},
                                     {Tables::mirrored, "centroids have the opposite sign"},
                                     {Tables::one_higher, "the next centroid is used"},
                                     {Tables::one_lower, "the previous centroid is used"},
                                     {Tables::boundaries, "boundaries are used as centroids"}}) {
    add(mistake::kCodebook, says, [chosen = tables](CacheEdit& e) { e.table = chosen; }, 0);
  }
  for (const auto& [norms, says] : {std::pair{Norms::first_block, "every block uses the norm of the first"},
                                    {Norms::last_block, "every block uses the norm of the last"},
                                    {Norms::other_block, "blocks use each other's norms"},
                                    {Norms::next_slot, "the norm of the next slot is used"},
                                    {Norms::previous_slot, "the norm of the previous slot is used"},
                                    {Norms::other_head, "the norm of the next head is used"},
                                    {Norms::one_per_position, "norms are addressed as if there were one per position"},
                                    {Norms::heads_too_close, "norms of a head are addressed as if there were one per position"},
                                    {Norms::blocks_summed, "the norm of the whole row is used for each block"},
                                    {Norms::none, "norms are omitted"},
                                    {Norms::inverse, "a row is divided by its norm instead of multiplied"}}) {
    add(mistake::kNorm, says, [chosen = norms](CacheEdit& e) { e.norms = chosen; }, 0);
  }
}

}  // namespace assay::families
