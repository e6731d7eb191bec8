// Lookup in codebooks and sign tables.
#include "oracles/codebook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "oracles/codebook_data.h"

namespace assay::oracles {

std::span<const float> codebook(int bits) {
  switch (bits) {
    case 4:
      return data::kCodebook4;
    case 5:
      return data::kCodebook5;
    case 6:
      return data::kCodebook6;
    case 8:
      return data::kCodebook8;
    default:
      throw std::invalid_argument(fmt::format("no codebook of {} bits; accepted: 4, 5, 6 and 8", bits));
  }
}

double largest_centroid(int bits) { return static_cast<double>(codebook(bits).back()); }

std::span<const std::uint8_t> sign_bits(int head_dim) {
  switch (head_dim) {
    case 256:
      return data::kSigns256;
    case 512:
      return data::kSigns512;
    default:
      throw std::invalid_argument(fmt::format("no sign table for head_dim {}; accepted: 256 and 512", head_dim));
  }
}

double rotation_sign(int head_dim, int j) {
  if (j < 0 || j >= head_dim) throw std::invalid_argument(fmt::format("coordinate {} outside of head_dim {}", j, head_dim));
  const auto byte = sign_bits(head_dim)[static_cast<std::size_t>(j / 8)];
  return ((byte >> (j % 8)) & 1) != 0 ? -1.0 : 1.0;
}

std::uint8_t quantize_coordinate(std::span<const float> centroids, double x) {
  std::size_t low = 0;
  std::size_t high = centroids.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const float boundary = 0.5F * (centroids[middle] + centroids[middle + 1]);
    if (static_cast<double>(boundary) < x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return static_cast<std::uint8_t>(low);
}

}  // namespace assay::oracles
