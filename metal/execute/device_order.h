// The order between threadgroups of one dispatch: atomic operations on the same address, between barriers that fence device memory.
//
// An example is the idiom of the last threadgroup. Each threadgroup writes its part, passes a threadgroup_barrier(mem_device),
// and adds to a counter. The last one passes another such barrier and reads the parts of all. The barrier before the atomic
// operation releases the earlier accesses of the threadgroup. The barrier behind it acquires what others have released to that
// address. A read-modify-write operation adds to what was released there; a store replaces it. Threadgroups run one after the
// other, which defines "before".
#pragma once

#include <algorithm>
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
    met_.clear();
    acquired_.clear();
  }
  // Called for a threadgroup_barrier or an atomic_thread_fence that fences device memory.
  void fence() {
    fence_ = ++clock_;
    acquired_.insert(acquired_.end(), met_.begin(), met_.end());
    met_.clear();
  }
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

  // For mark_access(). `mine` is always a mark of the running threadgroup.
  [[nodiscard]] bool races(const Mark& earlier, const Mark& mine) const {
    return earlier.when != 0 && !is_own(earlier) && (earlier.who & mine.who & Mark::kAtomic) == 0 && !is_acquired(earlier.when);
  }
  [[nodiscard]] bool is_same_party(const Mark& a, const Mark& b) const { return is_own(a) && is_own(b); }
  void note_read(Cell& cell, const Mark& mine) const {
    if (cell.reader.when != 0 && !is_own(cell.reader)) cell.other_reader = cell.reader;
    cell.reader = mine;
  }

  // The number of the threadgroup, from 0, that ran at a time.
  [[nodiscard]] std::size_t threadgroup_of(std::uint32_t when) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(firsts_, when) - firsts_.begin()) - 1;
  }

 private:
  // By the first clock of a threadgroup: the clock before which its accesses are released.
  using Released = std::unordered_map<std::uint32_t, std::uint32_t>;

  [[nodiscard]] bool is_own(const Mark& mark) const { return mark.when >= firsts_.back(); }
  [[nodiscard]] bool is_acquired(std::uint32_t when) const {
    if (acquired_.empty()) return false;
    const std::uint32_t first = firsts_[threadgroup_of(when)];
    return std::ranges::any_of(acquired_, [&](const auto& released) {
      const auto found = released->find(first);
      return found != released->end() && when < found->second;
    });
  }

  std::uint32_t clock_ = 0;
  std::uint32_t fence_ = 0;            // the running threadgroup's next atomic write releases accesses before this clock
  std::vector<std::uint32_t> firsts_;  // clock at the start of each threadgroup
  std::unordered_map<const void*, std::shared_ptr<Released>> held_;
  std::vector<std::shared_ptr<Released>> met_, acquired_;  // by the running threadgroup; a fence moves `met_` into `acquired_`
};

}  // namespace assay::metal::execute
