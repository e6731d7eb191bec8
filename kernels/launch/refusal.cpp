#include "kernels/launch/refusal.h"

#include <fmt/format.h>

#include <stdexcept>

namespace assay::kernels {

void require_head_dim(std::uint64_t head_dim) {
  if (head_dim != 256 && head_dim != 512) {
    throw std::invalid_argument(fmt::format("head_dim = {}: the kernels exist for 256 and 512", head_dim));
  }
}

void require_positive(std::string_view field, std::uint64_t value) {
  if (value == 0) throw std::invalid_argument(fmt::format("{} = 0: at least 1 is needed", field));
}

void require_nwg(std::uint64_t nwg) {
  if (nwg < 1 || nwg > 32) throw std::invalid_argument(fmt::format("nwg = {}: accepted are 1 .. 32", nwg));
}

void require_size(std::string_view argument, metal::BufferView view, std::uint64_t bytes, std::string_view shape) {
  if (view.size() < bytes) {
    throw std::invalid_argument(fmt::format("{}: the buffer holds {} bytes, but {} needs {} bytes", argument, view.size(), shape, bytes));
  }
}

}  // namespace assay::kernels
