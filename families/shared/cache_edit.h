// Decoding of a stored TurboQuant position, with known ways to get it wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::families {

struct CacheEdit {
  enum class Codes {
    as_stored,
    swapped_in_pairs,  // coordinates 2 i and 2 i + 1; in 4 bits the nibbles of a byte
    pairs_exchanged,   // coordinates 4 i + {0, 1} and {2, 3}
    fours_reversed,    // coordinates 4 i + {0, 1, 2, 3}
    eights_reversed,
    halves_apart,  // the low nibbles are the lower half of a row, the high ones the upper half
    low_nibbles,   // both coordinates of a byte from its low nibble
    high_nibbles,
    neighbour,     // coordinate i + 1
    shifted_down,  // index >> 1
    as_nibbles,    // with more than 4 bits: read as if two coordinates shared a byte
    halves_exchanged,
  };
  enum class Table { own, bits_4, bits_5, bits_6, bits_8, uniform, mirrored, one_higher, one_lower, boundaries, learned };
  enum class Norms {
    own,
    first_block,
    last_block,
    other_block,
    next_slot,
    previous_slot,
    other_side,  // of values instead of keys, or the other way round
    other_head,
    one_per_position,  // indexed as if there were one per position
    heads_too_close,   // heads taken to be cap norms apart
    none,
    blocks_summed,
    inverse,
  };
  enum class Slots { own, previous, even, next };
  Codes codes = Codes::as_stored;
  Table table = Table::own;
  Norms norms = Norms::own;
  Slots slots = Slots::own;
  double factor = 1;
  std::vector<double> learned = {};  // the centroids of Table::learned

  friend bool operator==(const CacheEdit&, const CacheEdit&) = default;
};

// One side of a cache in its stored formats, as in oracles::TurboQuantCache.
struct StoredSide {
  std::size_t heads = 1, capacity = 1, head_dim = 256;
  int bits = 4;
  std::size_t norms_per_position = 1;
  double divisor = 16;  // of a norm
  std::span<const std::uint8_t> codes;
  std::span<const float> norms, other_norms;  // the second: those of the other side; may be empty
};

// The centroids with which a row must have been decoded from a slot, if its indices and norms are right: the means over the coordinates
// of each index, or the slot's own centroid for an index that does not occur. Empty if coordinates of one index disagree, or if there
// are fewer than four per index.
[[nodiscard]] std::vector<double> learn_centroids(const StoredSide& side, std::size_t head, std::size_t slot, std::span<const double> row);

// Writes the head_dim coordinates of a slot.
void decode_slot(const StoredSide& side, const CacheEdit& edit, std::size_t head, std::size_t slot, std::span<double> row);

}  // namespace assay::families
