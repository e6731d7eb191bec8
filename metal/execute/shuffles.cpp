// Shuffles: determines where each lane's value comes from, and copies the values.
#include "metal/execute/shuffles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "metal/execute/operation_codes.h"

namespace assay::metal::execute {

namespace {

constexpr std::size_t kMaxShuffledBytes = 64;

struct Source {
  std::uint32_t lane = 0;
  bool from_fill = false;
};

// The lane that a value comes from; the lane itself where Metal leaves the result undefined. Only the fill modes use `modulo`.
Source shuffle_source(Shuffle mode, std::uint32_t lane, std::uint32_t width, std::uint32_t argument, std::uint32_t modulo,
                      LaneMask participants) {
  const std::uint32_t base = lane & ~(width - 1);
  const std::uint32_t within = lane - base;
  const auto in_group = [&](std::uint64_t other) -> Source {
    return other < width ? Source{base + static_cast<std::uint32_t>(other)} : Source{lane};
  };
  switch (mode) {
    case Shuffle::index:
    case Shuffle::broadcast:
      return in_group(argument);
    case Shuffle::exchange_xor:
      return in_group(within ^ argument);
    case Shuffle::up:
      return argument <= within ? Source{lane - argument} : Source{lane};
    case Shuffle::down:
      return in_group(std::uint64_t{within} + argument);
    case Shuffle::rotate_up:
      return in_group((within + width - argument % width) % width);
    case Shuffle::rotate_down:
      return in_group((std::uint64_t{within} + argument) % width);
    case Shuffle::fill_up:
    case Shuffle::fill_down: {
      const std::uint32_t length = std::clamp(modulo, 1u, width);
      const std::uint32_t segment = base + within / length * length;
      const std::uint32_t position = within % length;
      if (argument > length) return {lane};
      if (mode == Shuffle::fill_up) {
        return argument <= position ? Source{segment + position - argument} : Source{segment + position + length - argument, true};
      }
      return position + argument < length ? Source{segment + position + argument} : Source{segment + position + argument - length, true};
    }
    case Shuffle::broadcast_first:
      break;
  }
  const LaneMask in_base = participants >> base & (width == 32 ? ~LaneMask{0} : (LaneMask{1} << width) - 1);
  return {base + static_cast<std::uint32_t>(std::countr_zero(in_base))};
}

// Copies values of Size bytes; with kMaxShuffledBytes, of any size.
template <std::size_t Size>
void perform_sized_shuffle(SimdGroup& group, LaneMask participants, const Request& first) {
  const auto mode = static_cast<Shuffle>(first.words[0]);
  const std::size_t bytes = Size == kMaxShuffledBytes ? first.words[1] : Size;
  std::array<std::array<std::byte, Size>, abi::kLanes> values;
  std::array<std::array<std::byte, Size>, abi::kLanes> fills;
  const bool filling = mode == Shuffle::fill_up || mode == Shuffle::fill_down;
  for_each_lane(group, participants, [&](Lane& lane) {
    std::memcpy(values[lane.index].data(), lane.request.pointers[0], bytes);
    if (filling) std::memcpy(fills[lane.index].data(), lane.request.pointers[1], bytes);
  });
  for_each_lane(group, participants, [&](Lane& lane) {
    const auto& words = lane.request.words;
    const Source source = shuffle_source(mode, lane.index, words[2], words[3], words[4], participants);
    if ((participants >> source.lane & 1u) == 0) return;
    std::memcpy(lane.request.pointers[0], (source.from_fill ? fills : values)[source.lane].data(), bytes);
  });
}

}  // namespace

void perform_shuffle_word(SimdGroup& group, LaneMask participants, std::uint32_t operation) {
  const auto mode = static_cast<Shuffle>(operation & 0xff);
  const std::uint32_t width = operation >> 16;
  const auto values = group.values;
  for_each_lane(group, participants, [&](Lane& lane) {
    const Source source = shuffle_source(mode, lane.index, width, lane.request.words[0], width, participants);
    if ((participants >> source.lane & 1u) != 0) group.values[lane.index] = values[source.lane];
  });
}

// Common sizes are constants, so that copies are moves and not calls.
void perform_shuffle(SimdGroup& group, LaneMask participants, const Request& first) {
  switch (first.words[1]) {
    case 2:
      return perform_sized_shuffle<2>(group, participants, first);
    case 4:
      return perform_sized_shuffle<4>(group, participants, first);
    case 8:
      return perform_sized_shuffle<8>(group, participants, first);
    case 16:
      return perform_sized_shuffle<16>(group, participants, first);
    default:
      return perform_sized_shuffle<kMaxShuffledBytes>(group, participants, first);
  }
}

}  // namespace assay::metal::execute
