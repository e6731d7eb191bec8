// The order of accesses to device memory in one dispatch.
//
// Within a threadgroup, a threadgroup_barrier that fences device memory orders simdgroups, and such a simdgroup_barrier the lanes of one.
// An atomic_thread_fence counts as such a barrier: together with atomic operations it can order lanes, and which ones is not followed.
// Between threadgroups, atomic operations on the same address do, between barriers that fence device memory.
//
// An example is the idiom of the last threadgroup. Each threadgroup writes its part, passes a threadgroup_barrier(mem_device),
// and adds to a counter. The last one passes another such barrier and reads the parts of all. The barrier before the atomic
// operation releases the earlier accesses of the threadgroup. The barrier behind it acquires what others have released to that
// address. A read-modify-write operation adds to what was released there; a store replaces it. Threadgroups run one after the
// other, which defines "before".
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "metal/execute/race_marks.h"

namespace assay::metal::execute {

class DeviceOrder {
 public:
  void begin() {
    firsts_.push_back(++clock_);
    fence_ = clock_;
    own_fences_.fill(clock_);
    unfenced_ = {};
    met_.clear();
    acquired_.clear();
  }
  // Called for a threadgroup_barrier or an atomic_thread_fence that fences device memory.
  void fence() {
    fence_ = ++clock_;
    own_fences_.fill(clock_);
    unfenced_ = {};
    acquired_.insert(acquired_.end(), met_.begin(), met_.end());
    met_.clear();
  }
  void unfenced_barrier(std::uint32_t site) { unfenced_ = {++clock_, site}; }
  void simdgroup_fence(std::uint32_t simdgroup) { own_fences_[simdgroup] = ++clock_; }
  void atomic(const void* place, bool reads, bool writes) {
    std::shared_ptr<Released>& held = held_[place];
    if (reads && held && (met_.empty() || met_.back() != held)) met_.push_back(held);
    if (!writes) return;
    if (!reads || !held) held = std::make_shared<Released>();
    if (fence_ == firsts_.back()) return;
    for (const auto& others : acquired_) {
      if (others != held) held->insert(others->begin(), others->end());
    }
    (*held)[firsts_.back()] = fence_;
  }

  // The time of every access of the running threadgroup.
  [[nodiscard]] std::uint32_t clock() const { return clock_; }
  // Between two accesses of the running threadgroup; null if there is none.
  [[nodiscard]] const UnfencedBarrier* unfenced_since(const Mark& earlier) const {
    return is_own(earlier) && earlier.when < unfenced_.when ? &unfenced_ : nullptr;
  }

  // For mark_access(). `mine` is always a mark of the running threadgroup.
  [[nodiscard]] bool races(const Mark& earlier, const Mark& mine) const {
    if (earlier.when == 0 || (earlier.who & mine.who & Mark::kAtomic) != 0) return false;
    if (!is_own(earlier)) return !is_acquired(earlier.when);
    return earlier.when >= fence_ && !is_ordered_within_simdgroup(earlier, mine, own_fences_[mine.simdgroup()]);
  }
  [[nodiscard]] bool is_own(const Mark& mark) const { return mark.when >= firsts_.back(); }
  [[nodiscard]] bool is_same_party(const Mark& earlier, const Mark& mine) const {
    return is_own(earlier) && earlier.simdgroup() == mine.simdgroup();
  }
  void note_read(DeviceCell& cell, const Mark& mine) const {
    if (cell.reader.when != 0 && !is_own(cell.reader)) cell.outside_reader = cell.reader;
    note_own_read(cell, mine, firsts_.back(), own_fences_[mine.simdgroup()]);
  }
  template <typename LookAt>
  static void for_each_reader(const DeviceCell& cell, const LookAt& look_at) {
    look_at(cell.reader);
    look_at(cell.other_reader);
    look_at(cell.outside_reader);
  }

  // The number of the threadgroup, from 0, that ran at a time.
  [[nodiscard]] std::size_t threadgroup_of(std::uint32_t when) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(firsts_, when) - firsts_.begin()) - 1;
  }

 private:
  // By the first clock of a threadgroup: the clock before which its accesses are released.
  using Released = std::unordered_map<std::uint32_t, std::uint32_t>;

  [[nodiscard]] bool is_acquired(std::uint32_t when) const {
    if (acquired_.empty()) return false;
    const std::uint32_t first = firsts_[threadgroup_of(when)];
    return std::ranges::any_of(acquired_, [&](const auto& released) {
      const auto found = released->find(first);
      return found != released->end() && when < found->second;
    });
  }

  std::uint32_t clock_ = 0;
  std::uint32_t fence_ = 0;                     // the running threadgroup's next atomic write releases accesses before this clock
  std::array<std::uint32_t, 32> own_fences_{};  // the same for each simdgroup, among its own lanes
  UnfencedBarrier unfenced_;
  std::vector<std::uint32_t> firsts_;  // clock at the start of each threadgroup
  std::unordered_map<const void*, std::shared_ptr<Released>> held_;
  std::vector<std::shared_ptr<Released>> met_, acquired_;  // by the running threadgroup; a fence moves `met_` into `acquired_`
};

}  // namespace assay::metal::execute
