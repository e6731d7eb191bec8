// Reductions as butterflies of fixed order and prefix scans, with the same bits on every machine.
#include "metal/execute/reductions.h"

#include <algorithm>
#include <array>
#include <bit>

#include "metal/execute/operation_codes.h"
#include "metal/execute/scalars.h"

namespace assay::metal::execute {

namespace {

// Combines neighbours: element i of the first `Count` becomes the combination of elements 2 i and 2 i + 1.
template <std::size_t Count, typename T, typename Combine>
void combine_pairs(std::array<T, abi::kLanes>& values, Combine combine) {
  std::array<T, Count> pairs;
  for (std::size_t i = 0; i < Count; ++i) pairs[i] = combine(values[2 * i], values[2 * i + 1]);
  std::copy(pairs.begin(), pairs.end(), values.begin());
}

// Every lane of a butterfly ends with the same bits, because each step is commutative. So only the lower one of each pair is computed.
template <typename T, typename Combine>
void butterfly(std::array<T, abi::kLanes>& values, std::uint32_t width, Combine combine) {
  // Counts are constants, so that each step is a few vector instructions.
  if (width > 1) combine_pairs<16>(values, combine);
  if (width > 2) combine_pairs<8>(values, combine);
  if (width > 4) combine_pairs<4>(values, combine);
  if (width > 8) combine_pairs<2>(values, combine);
  if (width > 16) combine_pairs<1>(values, combine);
  if (width == abi::kLanes) return values.fill(values[0]);
  for (std::uint32_t lane = abi::kLanes; lane-- > 0;) values[lane] = values[lane / width];
}

template <typename T, typename Combine>
void scan(std::array<T, abi::kLanes>& values, LaneMask participants, std::uint32_t width, T identity, bool inclusive, Combine combine) {
  T running = identity;
  for (std::uint32_t lane = 0; lane < abi::kLanes; ++lane) {
    if (lane % width == 0) running = identity;
    if ((participants >> lane & 1u) == 0) continue;
    const T before = running;
    running = combine(running, values[lane]);
    values[lane] = inclusive ? running : before;
  }
}

template <typename T>
T reduction_identity(Reduction operation) {
  switch (operation) {
    case Reduction::product:
    case Reduction::prefix_inclusive_product:
    case Reduction::prefix_exclusive_product:
      return static_cast<T>(1);
    case Reduction::min:
      if constexpr (is_floating<T>) {
        return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      } else {
        return std::numeric_limits<T>::max();
      }
    case Reduction::max:
      if constexpr (is_floating<T>) {
        return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      } else {
        return std::numeric_limits<T>::lowest();
      }
    case Reduction::bit_and:
      if constexpr (is_floating<T>) {
        return T{};
      } else {
        return static_cast<T>(~T{});
      }
    default:
      return static_cast<T>(0);
  }
}

template <typename T>
void reduce(std::array<T, abi::kLanes>& values, LaneMask participants, Reduction operation, std::uint32_t width) {
  const T identity = reduction_identity<T>(operation);
  switch (operation) {
    case Reduction::sum:
      return butterfly(values, width, add<T>);
    case Reduction::product:
      return butterfly(values, width, multiply<T>);
    case Reduction::min:
      return butterfly(values, width, minimum<T>);
    case Reduction::max:
      return butterfly(values, width, maximum<T>);
    case Reduction::prefix_inclusive_sum:
      return scan(values, participants, width, identity, true, add<T>);
    case Reduction::prefix_exclusive_sum:
      return scan(values, participants, width, identity, false, add<T>);
    case Reduction::prefix_inclusive_product:
      return scan(values, participants, width, identity, true, multiply<T>);
    case Reduction::prefix_exclusive_product:
      return scan(values, participants, width, identity, false, multiply<T>);
    default:
      break;
  }
  if constexpr (!is_floating<T>) {
    if (operation == Reduction::bit_and) return butterfly(values, width, [](T a, T b) { return static_cast<T>(a & b); });
    if (operation == Reduction::bit_or) return butterfly(values, width, [](T a, T b) { return static_cast<T>(a | b); });
    return butterfly(values, width, [](T a, T b) { return static_cast<T>(a ^ b); });
  }
}

}  // namespace

void perform_reduce(SimdGroup& group, LaneMask participants, const Request& first) {
  const auto operation = static_cast<Reduction>(first.words[0]);
  const std::uint32_t count = first.words[2];
  const std::uint32_t width = first.words[3];
  with_scalar(static_cast<ScalarCode>(first.words[1]), [&]<typename T>(T) {
    for (std::uint32_t component = 0; component < count; ++component) {
      std::array<T, abi::kLanes> values;
      values.fill(reduction_identity<T>(operation));
      for_each_lane(group, participants, [&](Lane& lane) {
        values[lane.index] = load_scalar<T>(static_cast<std::byte*>(lane.request.pointers[0]) + component * sizeof(T));
      });
      reduce(values, participants, operation, width);
      for_each_lane(group, participants, [&](Lane& lane) {
        store_scalar(static_cast<std::byte*>(lane.request.pointers[0]) + component * sizeof(T), values[lane.index]);
      });
    }
  });
}

void perform_reduce_word(SimdGroup& group, LaneMask participants, std::uint32_t code) {
  const auto operation = static_cast<Reduction>(code & 0xff);
  const std::uint32_t width = code >> 16;
  with_scalar(static_cast<ScalarCode>(code >> 8 & 0xff), [&]<typename T>(T) {
    if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
      auto values = std::bit_cast<std::array<T, abi::kLanes>>(group.values);
      const T identity = reduction_identity<T>(operation);
      for (LaneMask absent = ~participants; absent != 0; absent &= absent - 1)
        values[static_cast<std::size_t>(std::countr_zero(absent))] = identity;
      reduce(values, participants, operation, width);
      const auto results = std::bit_cast<std::array<std::uint32_t, abi::kLanes>>(values);
      if (participants == ~LaneMask{0}) {
        group.values = results;
      } else {
        for_each_lane(group, participants, [&](Lane& lane) { group.values[lane.index] = results[lane.index]; });
      }
    }
  });
}

}  // namespace assay::metal::execute
