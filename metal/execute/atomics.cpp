// Performs atomic operations by scalar type: old value, operand and new value.
#include "metal/execute/atomics.h"

#include <cstring>

#include "metal/execute/operation_codes.h"
#include "metal/execute/scalars.h"

namespace assay::metal::execute {

namespace {

template <typename T>
T apply(AtomicOperation operation, T old, T operand) {
  switch (operation) {
    case AtomicOperation::add:
      return add(old, operand);
    case AtomicOperation::subtract:
      if constexpr (is_floating<T>) {
        return static_cast<T>(static_cast<float>(old) - static_cast<float>(operand));
      } else {
        return static_cast<T>(static_cast<std::uint64_t>(old) - static_cast<std::uint64_t>(operand));
      }
    case AtomicOperation::min:
      return minimum(old, operand);
    case AtomicOperation::max:
      return maximum(old, operand);
    case AtomicOperation::load:
      return old;
    case AtomicOperation::bit_and:
    case AtomicOperation::bit_or:
    case AtomicOperation::bit_xor:
      if constexpr (!is_floating<T>) {
        if (operation == AtomicOperation::bit_and) return static_cast<T>(old & operand);
        if (operation == AtomicOperation::bit_or) return static_cast<T>(old | operand);
        return static_cast<T>(old ^ operand);
      }
      return operand;
    default:
      return operand;
  }
}

}  // namespace

void perform_atomics(SimdGroup& group, LaneMask participants) {
  for_each_lane(group, participants, [](Lane& lane) {
    const Request& request = lane.request;
    const auto operation = static_cast<AtomicOperation>(request.words[0]);
    with_scalar(static_cast<ScalarCode>(request.words[1]), [&]<typename T>(T) {
      const T old = load_scalar<T>(request.pointers[0]);
      const T operand = load_scalar<T>(request.pointers[1]);
      if (operation == AtomicOperation::compare_exchange) {
        if (std::memcmp(&old, &operand, sizeof(T)) == 0) store_scalar(request.pointers[0], load_scalar<T>(request.pointers[2]));
      } else if (operation != AtomicOperation::load) {
        store_scalar(request.pointers[0], apply(operation, old, operand));
      }
      store_scalar(request.pointers[1], old);
    });
  });
}

}  // namespace assay::metal::execute
