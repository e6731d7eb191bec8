// Decodes slots of a TurboQuant cache, with the switches of known mistakes.
#include "families/shared/cache_edit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/code_bytes.h"
#include "oracles/codebook.h"

namespace assay::families {
namespace {

std::uint8_t index_mask(int bits) { return static_cast<std::uint8_t>((1U << static_cast<unsigned>(bits)) - 1U); }

std::size_t stored_index(const StoredSide& side, std::size_t position, std::size_t coordinate) {
  const std::size_t dim = side.head_dim;
  if (side.bits == 4) {
    const std::uint8_t byte = side.codes[position * (dim / 2) + coordinate / 2];
    return coordinate % 2 == 0 ? byte & 0xFU : byte >> 4U;
  }
  return side.codes[position * dim + coordinate] & index_mask(side.bits);
}

std::size_t nibble(const StoredSide& side, std::size_t position, std::size_t byte_index, bool high) {
  const std::size_t row_bytes = base::code_bytes(side.bits, side.head_dim);
  const std::uint8_t byte = side.codes[position * row_bytes + byte_index];
  return high ? byte >> 4U : byte & 0xFU;
}

std::size_t index_of(const StoredSide& side, CacheEdit::Codes codes, std::size_t position, std::size_t j) {
  using enum CacheEdit::Codes;
  const std::size_t dim = side.head_dim;
  switch (codes) {
    case as_stored:
      return stored_index(side, position, j);
    case swapped_in_pairs:
      return stored_index(side, position, j ^ 1U);
    case pairs_exchanged:
      return stored_index(side, position, j ^ 2U);
    case fours_reversed:
      return stored_index(side, position, j ^ 3U);
    case eights_reversed:
      return stored_index(side, position, j ^ 7U);
    case halves_exchanged:
      return stored_index(side, position, j ^ (dim / 2));
    case halves_apart:
      return side.bits == 4 ? nibble(side, position, j % (dim / 2), j >= dim / 2) : stored_index(side, position, j);
    case low_nibbles:
      return side.bits == 4 ? nibble(side, position, j / 2, false) : stored_index(side, position, j);
    case high_nibbles:
      return side.bits == 4 ? nibble(side, position, j / 2, true) : stored_index(side, position, j);
    case neighbour:
      return stored_index(side, position, (j + 1) % dim);
    case shifted_down:
      return stored_index(side, position, j) >> 1U;
    case as_nibbles:
      return nibble(side, position, j / 2, j % 2 != 0);
  }
  return 0;
}

double centroid(const StoredSide& side, const CacheEdit& edit, std::size_t index) {
  using enum CacheEdit::Table;
  const std::span<const float> centroids = oracles::codebook(side.bits);
  const std::size_t last = centroids.size() - 1;
  const auto of_other = [&](int bits) {
    const std::span<const float> other = oracles::codebook(bits);
    return static_cast<double>(other[std::min(index, other.size() - 1)]);
  };
  switch (edit.table) {
    case learned:
      return edit.learned[std::min(index, edit.learned.size() - 1)];
    case own:
      return static_cast<double>(centroids[std::min(index, last)]);
    case bits_4:
      return of_other(4);
    case bits_5:
      return of_other(5);
    case bits_6:
      return of_other(6);
    case bits_8:
      return of_other(8);
    case uniform:
      return (2.0 * static_cast<double>(index) / static_cast<double>(last) - 1.0) * static_cast<double>(centroids[last]);
    case mirrored:
      return -static_cast<double>(centroids[std::min(index, last)]);
    case one_higher:
      return static_cast<double>(centroids[std::min(index + 1, last)]);
    case one_lower:
      return static_cast<double>(centroids[index == 0 ? 0 : std::min(index - 1, last)]);
    case boundaries:
      return index >= last ? static_cast<double>(centroids[last])
                           : 0.5 * (static_cast<double>(centroids[index]) + static_cast<double>(centroids[index + 1]));
  }
  return 0;
}

double norm_at(std::span<const float> norms, std::size_t index) { return static_cast<double>(norms[index % norms.size()]); }

double norm_of(const StoredSide& side, CacheEdit::Norms which, std::size_t head, std::size_t slot, std::size_t block) {
  using enum CacheEdit::Norms;
  const std::size_t per = side.norms_per_position;
  const std::size_t position = head * side.capacity + slot;
  const auto own_of = [&](std::size_t of_head, std::size_t of_slot, std::size_t of_block) {
    return norm_at(side.norms, (of_head * side.capacity + of_slot) * per + of_block);
  };
  switch (which) {
    case own:
      return own_of(head, slot, block);
    case first_block:
      return own_of(head, slot, 0);
    case last_block:
      return own_of(head, slot, per - 1);
    case other_block:
      return own_of(head, slot, per - 1 - block);
    case next_slot:
      return own_of(head, (slot + 1) % side.capacity, block);
    case previous_slot:
      return own_of(head, (slot + side.capacity - 1) % side.capacity, block);
    case other_side:
      return side.other_norms.empty() ? own_of(head, slot, block) : norm_at(side.other_norms, position * per + block);
    case other_head:
      return own_of((head + 1) % side.heads, slot, block);
    case one_per_position:
      return norm_at(side.norms, head * side.capacity * per + slot + block);
    case heads_too_close:
      return norm_at(side.norms, head * side.capacity + slot * per + block);
    case none:
      return 1.0;
    case blocks_summed: {
      double squares = 0;
      for (std::size_t b = 0; b < per; ++b) squares += own_of(head, slot, b) * own_of(head, slot, b);
      return std::sqrt(squares);
    }
    case inverse: {
      const double norm = own_of(head, slot, block);
      return norm == 0.0 ? 0.0 : 1.0 / norm;
    }
  }
  return 0;
}

std::size_t slot_of(const StoredSide& side, CacheEdit::Slots slots, std::size_t slot) {
  using enum CacheEdit::Slots;
  switch (slots) {
    case own:
      return slot;
    case previous:
      return slot == 0 ? 0 : slot - 1;
    case even:
      return slot & ~std::size_t{1};
    case next:
      return std::min(slot + 1, side.capacity - 1);
  }
  return slot;
}

}  // namespace

std::vector<double> learn_centroids(const StoredSide& side, std::size_t head, std::size_t slot, std::span<const double> row) {
  constexpr std::size_t least = 4;
  constexpr double agreement = 1e-3;
  const std::span<const float> own = oracles::codebook(side.bits);
  if (row.size() < least * own.size()) return {};
  std::vector<double> sums(own.size());
  std::vector<std::size_t> counts(own.size());
  const std::size_t position = head * side.capacity + slot;
  const auto of = [&](std::size_t j) {
    const std::size_t block = side.norms_per_position == 1 ? 0 : j / 256;
    return row[j] * side.divisor / norm_of(side, CacheEdit::Norms::own, head, slot, block);
  };
  for (std::size_t j = 0; j < row.size(); ++j) {
    const std::size_t index = stored_index(side, position, j);
    sums[index] += of(j);
    ++counts[index];
  }
  std::vector<double> learned;
  for (std::size_t i = 0; i < own.size(); ++i)
    learned.push_back(counts[i] == 0 ? static_cast<double>(own[i]) : sums[i] / static_cast<double>(counts[i]));
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (!(std::abs(of(j) - learned[stored_index(side, position, j)]) <= agreement)) return {};
  }
  return learned;
}

void decode_slot(const StoredSide& side, const CacheEdit& edit, std::size_t head, std::size_t slot, std::span<double> row) {
  const std::size_t source = slot_of(side, edit.slots, slot);
  const std::size_t position = head * side.capacity + source;
  // A row has at least as many coordinates as there are centroids.
  std::array<double, 256> centroids;
  for (std::size_t index = 0; index < std::size_t{1} << static_cast<unsigned>(side.bits); ++index)
    centroids[index] = centroid(side, edit, index);
  double multiplier = 0;
  for (std::size_t j = 0; j < side.head_dim; ++j) {
    const std::size_t block = side.norms_per_position == 1 ? 0 : j / 256;
    if (j % 256 == 0) multiplier = norm_of(side, edit.norms, head, source, block) / side.divisor * edit.factor;
    row[j] = centroids[index_of(side, edit.codes, position, j)] * multiplier;
  }
}

}  // namespace assay::families
