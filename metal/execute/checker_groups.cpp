// The part of the checker for SIMD-groups that run as vectors: the accesses of all lanes at once.
#include <algorithm>
#include <bit>
#include <cstring>

#include "metal/execute/checker.h"
#include "metal/execute/lanes.h"

namespace assay::metal::execute {

namespace {

std::uint64_t word_of(const std::byte* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Whether the kernel's own test would let all of the accesses pass.
bool are_harmless(const abi::Quick& quick, std::uint64_t alignment, LaneMask lanes, const Checker::LaneAddresses& addresses) {
  std::uint64_t odd = 0;
  const std::uint64_t data = reinterpret_cast<std::uintptr_t>(quick.data);
  const auto look_at = [&](std::uint64_t address) {
    odd |= (address & (alignment - 1)) | static_cast<std::uint64_t>(address - data >= quick.limit);
  };
  if (addresses.all == nullptr) {
    // Between the first and the last of the lanes lie the others, unless addresses wrap.
    constexpr std::int64_t kLargestStep = std::int64_t{1} << 40;
    odd |= static_cast<std::uint64_t>(addresses.step > kLargestStep || addresses.step < -kLargestStep);
    look_at(word_of(addresses[static_cast<std::uint32_t>(std::countr_zero(lanes))]));
    look_at(word_of(addresses[static_cast<std::uint32_t>(std::bit_width(lanes) - 1)]));
    odd |= std::popcount(lanes) > 1 ? static_cast<std::uint64_t>(addresses.step) & (alignment - 1) : 0;
  } else {
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) look_at(word_of(addresses.all[std::countr_zero(rest)]));
  }
  return odd == 0;
}

// Whether each of the accesses lies in an object and is aligned.
bool are_within(const std::byte* data, std::size_t size, std::uint64_t alignment, LaneMask lanes, const Checker::LaneAddresses& addresses,
                std::size_t bytes) {
  if (size < bytes) return false;
  return are_harmless({.data = data, .limit = size - bytes + 1, .touched = 0, .hits = 0}, alignment, lanes, addresses);
}

// Sets the bits of bytes (abi::Quick::touched). Bits of neighbours are collected in one word first, because a processor reads slowly what
// it has just written in other words.
class Touch {
 public:
  explicit Touch(const abi::Quick& quick) : touched_(quick.touched) {}
  Touch(const Touch&) = delete;
  Touch& operator=(const Touch&) = delete;
  ~Touch() { flush(); }

  // At most kMost bytes.
  void add(std::uint64_t address, std::size_t bytes) {
    const std::uint64_t distance = address - (place_ << 3);
    if (distance > kBits - bytes) {
      flush();
      place_ = address >> 3;
      bits_ = ((std::uint64_t{1} << bytes) - 1) << (address & 7);
    } else {
      bits_ |= ((std::uint64_t{1} << bytes) - 1) << distance;
    }
  }
  void add_range(std::uint64_t address, std::size_t bytes) {
    const std::uint64_t last = address + bytes - 1;
    auto* first_place = place(address >> 3);
    auto* last_place = place(last >> 3);
    const auto from = static_cast<std::byte>(0xff << (address & 7));
    const auto to = static_cast<std::byte>(0xff >> (7 - (last & 7)));
    if (first_place == last_place) {
      *first_place |= from & to;
      return;
    }
    *first_place |= from;
    *last_place |= to;
    std::memset(first_place + 1, 0xff, static_cast<std::size_t>(last_place - first_place - 1));
  }
  static constexpr std::size_t kMost = 32;

 private:
  static constexpr std::uint64_t kBits = 64;
  [[nodiscard]] std::byte* place(std::uint64_t byte) const { return reinterpret_cast<std::byte*>(byte + touched_); }
  void flush() const {
    if (bits_ == 0) return;
    std::uint64_t word = 0;
    std::memcpy(&word, place(place_), sizeof word);
    word |= bits_;
    std::memcpy(place(place_), &word, sizeof word);
  }
  std::uint64_t touched_;
  std::uint64_t place_ = 0, bits_ = 0;
};

}  // namespace

// Whether the group has just read the same.
bool Checker::read_again(const SimdGroup& group, std::uint32_t number, LaneMask lanes, const LaneAddresses& addresses) {
  if (last_group_ != &group) {
    last_group_ = &group;
    ++period_;
  }
  GroupRead& last = group_reads_[number];
  if (last.period == period_ && last.first == addresses.first && last.step == addresses.step && last.lanes == lanes) return true;
  last = {period_, addresses.first, addresses.step, lanes};
  return false;
}

// Reads that are known to be aligned and within an object in threadgroup memory.
void Checker::read_threadgroup(const SimdGroup& group, std::uint32_t number, LaneMask lanes, const Object& object,
                               const LaneAddresses& addresses, std::size_t bytes) {
  tallies_[number].threadgroup_accesses += static_cast<std::uint64_t>(std::popcount(lanes));
  if (read_again(group, number, lanes, addresses)) return;
  if (lanes == ~LaneMask{0} && addresses.step == static_cast<std::int64_t>(bytes)) {
    const auto range = range_of(group, number, object, addresses.first, bytes);
    if (range && threadgroup_cells_.read(*range, order_, knows_unwritten_)) return;
  }
  // Of lanes that read the same, the first and the last leave the marks of all.
  if (addresses.step == 0) lanes = (lanes & -lanes) | std::bit_floor(lanes);
  for_each_lane(group, lanes, [&](const Lane& lane) {
    check_threadgroup(lane, number, object, static_cast<std::size_t>(addresses[lane.index] - object.data), bytes, nullptr);
  });
}

std::optional<ThreadgroupCells::Range> Checker::range_of(const SimdGroup& group, std::uint32_t number, const Object& object,
                                                         const std::byte* first, std::size_t bytes) const {
  const std::size_t per_lane = bytes >> threadgroup_shift_;
  if (!std::has_single_bit(per_lane)) return std::nullopt;
  const std::uint32_t thread = group.lanes[0].builtins[abi::kThreadIndexInThreadgroup][0];
  return ThreadgroupCells::Range{.first = (object.first + static_cast<std::size_t>(first - object.data)) >> threadgroup_shift_,
                                 .count = per_lane * abi::kLanes,
                                 .shift = static_cast<unsigned>(std::countr_zero(per_lane)),
                                 .simdgroup = thread / abi::kLanes,
                                 .who = mark_of(number, thread)};
}

bool Checker::note_write(const SimdGroup& group, std::uint32_t number, std::byte* first, std::size_t bytes) {
  const abi::Access& access = module_.accesses[number];
  if (access.object == abi::kAnyObject || access.kind != abi::kWrites) return false;
  const Object& object = objects_[access.object];
  const LaneAddresses addresses{first, static_cast<std::int64_t>(bytes), nullptr};
  if (!object.is_threadgroup || !are_within(object.data, object.size, access.alignment, ~LaneMask{0}, addresses, bytes)) return false;
  const auto range = range_of(group, number, object, first, bytes);
  if (!range || !threadgroup_cells_.write(*range, order_)) return false;
  ++period_;
  tallies_[number].threadgroup_accesses += abi::kLanes;
  return true;
}

void Checker::access_all(const SimdGroup& group, std::uint32_t number, LaneMask lanes, const LaneAddresses& addresses, std::size_t bytes) {
  const abi::Access& access = module_.accesses[number];
  abi::Quick& quick = quick_[number];
  if (quick.limit != 0 && are_harmless(quick, access.alignment, lanes, addresses)) {
    quick.hits += static_cast<std::uint64_t>(std::popcount(lanes));
    const bool is_regular = addresses.all == nullptr;
    const bool is_dense = is_regular && addresses.step == static_cast<std::int64_t>(bytes) && lanes == ~LaneMask{0};
    Touch touch(quick);
    if (is_dense || bytes > Touch::kMost) {
      if (is_dense) return touch.add_range(word_of(addresses.first), bytes * abi::kLanes);
      for_each_lane(group, lanes, [&](const Lane& lane) { touch.add_range(word_of(addresses[lane.index]), bytes); });
      return;
    }
    if (is_regular && addresses.step == 0) return touch.add(word_of(addresses.first), bytes);
    for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
      touch.add(word_of(addresses[static_cast<std::uint32_t>(std::countr_zero(rest))]), bytes);
    return;
  }
  const Object* object = access.object == abi::kAnyObject ? nullptr : &objects_[access.object];
  if (object != nullptr && object->is_threadgroup && access.kind == abi::kReads && addresses.all == nullptr &&
      are_within(object->data, object->size, access.alignment, lanes, addresses, bytes))
    return read_threadgroup(group, number, lanes, *object, addresses, bytes);
  for_each_lane(group, lanes, [&](const Lane& lane) {
    std::byte* address = addresses[lane.index];
    const bool is_own = access.object == abi::kAnyObject && group.threadgroup->is_on_stack(group, address);
    if (!is_own) this->access(lane, number, address, bytes);
  });
}

}  // namespace assay::metal::execute
