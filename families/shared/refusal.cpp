// Throws the refusals that launch functions share.
#include "families/shared/refusal.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace assay::families {

void require_head_dim(std::uint64_t head_dim) {
  if (head_dim != 256 && head_dim != 512) {
    throw std::invalid_argument(fmt::format("head_dim = {}: must be 256 or 512", head_dim));
  }
}

void require_positive(std::string_view field, std::uint64_t value) {
  if (value == 0) throw std::invalid_argument(fmt::format("{} = 0: must be at least 1", field));
}

void require_nwg(std::uint64_t nwg) {
  if (nwg < 1 || nwg > 32) throw std::invalid_argument(fmt::format("nwg = {}: must be from 1 to 32", nwg));
}

void require_codebook_bits(std::uint64_t bits) {
  if (bits != 4 && bits != 5 && bits != 6 && bits != 8) {
    throw std::invalid_argument(fmt::format("codebook_bits = {}: must be 4, 5, 6 or 8", bits));
  }
}

void require_slot(std::string_view field, std::uint64_t position, std::uint64_t capacity, std::string_view unless) {
  if (position >= capacity) {
    throw std::invalid_argument(fmt::format("{} = {} is not below cache_capacity = {}{}", field, position, capacity, unless));
  }
}

void require_scale_factor(float scale_factor_d512, std::uint64_t head_dim) {
  if (head_dim == 512 && !(scale_factor_d512 > 0.0F && std::isfinite(scale_factor_d512))) {
    throw std::invalid_argument(fmt::format("scale_factor_d512 = {} with head_dim = 512: must be positive and finite", scale_factor_d512));
  }
}

void require_reachable(std::string_view what, std::uint64_t bytes, std::uint32_t offset_bits) {
  const std::uint64_t limit = std::uint64_t{1} << 32;
  if (bytes > limit && offset_bits < 64) {
    throw std::invalid_argument(
        fmt::format("{} = {} bytes, but the kernel's {}-bit offsets reach {} bytes", what, bytes, offset_bits, limit));
  }
}

metal::BufferView require_size(std::string_view argument, metal::BufferView view, std::uint64_t bytes, std::string_view shape) {
  if (view.size() < bytes) {
    throw std::invalid_argument(fmt::format("{}: the buffer holds {} bytes, but {} needs {} bytes", argument, view.size(), shape, bytes));
  }
  view.needed = bytes;
  return view;
}

}  // namespace assay::families
