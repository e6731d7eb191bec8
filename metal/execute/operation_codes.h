// The operation codes of metal/shader/runtime.h: the reduction, shuffle or atomic operation that a lane requests.
#pragma once

#include <cstdint>

namespace assay::metal::execute {

enum class Reduction : std::uint32_t {
  sum,
  product,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  prefix_inclusive_sum,
  prefix_exclusive_sum,
  prefix_inclusive_product,
  prefix_exclusive_product
};

enum class Shuffle : std::uint32_t {
  index,
  exchange_xor,
  up,
  down,
  rotate_up,
  rotate_down,
  fill_up,
  fill_down,
  broadcast,
  broadcast_first
};

enum class AtomicOperation : std::uint32_t { load, store, exchange, compare_exchange, add, subtract, bit_and, bit_or, bit_xor, min, max };

}  // namespace assay::metal::execute
