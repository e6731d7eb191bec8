// The last accesses to memory, and the races between them. There is one cell per granule, the largest unit that divides all accesses.
//
// Each cell keeps the last write, and the last two reads by different parties, because one of these may be the next writer. A party is a
// simdgroup; cells of device memory also keep the last read by another threadgroup.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace assay::metal::execute {

// One access to a cell.
struct Mark {
  static constexpr std::uint32_t kThread = 0x3ff;
  static constexpr std::uint32_t kAtomic = 0x400;
  static constexpr std::uint32_t kSeveral = 0x800;  // other lanes of the simdgroup accessed the cell too
  static constexpr std::uint32_t kAccessShift = 12;

  std::uint32_t when = 0;  // by the clock of the order that it belongs to; 0: never
  std::uint32_t who = 0;   // access << kAccessShift | kSeveral | kAtomic | thread in the threadgroup

  [[nodiscard]] std::uint32_t access() const { return who >> kAccessShift; }
  [[nodiscard]] std::uint32_t thread() const { return who & kThread; }
  [[nodiscard]] std::uint32_t simdgroup() const { return (who & kThread) / 32; }
};

struct Cell {
  Mark writer, reader, other_reader;
};

struct DeviceCell : Cell {
  Mark outside_reader;
};

// Cells of device memory by number, allocated on first use.
class Cells {
 public:
  [[nodiscard]] DeviceCell load(std::size_t number) { return at(number); }
  void store(std::size_t number, const DeviceCell& cell) { at(number) = cell; }

 private:
  DeviceCell& at(std::size_t number) {
    const std::size_t page = number / kPageCells;
    if (page >= pages_.size() || !pages_[page]) add_page(page);
    return (*pages_[page])[number % kPageCells];
  }
  static constexpr std::size_t kPageCells = 1024;
  using Page = std::array<DeviceCell, kPageCells>;
  void add_page(std::size_t page) {
    if (page >= pages_.size()) pages_.resize(page + 1);
    pages_[page] = std::make_unique<Page>();
  }
  std::vector<std::unique_ptr<Page>> pages_;
};

// The last threadgroup_barrier that did not fence the memory in question, if none that fences it came later.
struct UnfencedBarrier {
  std::uint32_t when = 0;  // 0: none
  std::uint32_t site = 0;
};

// Adds a read to the last reads of a cell. Reads before `first` are those of an earlier threadgroup, whose slots may be taken. Those of the
// simdgroup's own lanes since `own_fence` become a mark of several lanes.
inline void note_own_read(Cell& cell, const Mark& mine, std::uint32_t first, std::uint32_t own_fence) {
  Mark& reader = cell.reader;
  if (reader.when < first || reader.simdgroup() == mine.simdgroup()) {
    const bool adds = reader.when >= own_fence && (reader.thread() != mine.thread() || (reader.who & Mark::kSeveral) != 0);
    reader = {mine.when, mine.who | (adds ? Mark::kSeveral : 0)};
  } else {
    cell.other_reader = reader;
    reader = mine;
  }
}

// Whether two accesses of one threadgroup are by the same lane, or by lanes of one simdgroup that `own_fence` orders.
inline bool is_ordered_within_simdgroup(const Mark& earlier, const Mark& mine, std::uint32_t own_fence) {
  if (earlier.simdgroup() != mine.simdgroup()) return false;
  return earlier.when < own_fence || (earlier.thread() == mine.thread() && (earlier.who & Mark::kSeveral) == 0);
}

// The order of accesses to the memory of one threadgroup: a clock that every barrier advances.
struct ThreadgroupOrder {
  std::uint32_t clock = 0;
  std::uint32_t first = 0;                     // older accesses are those of an earlier threadgroup
  std::uint32_t fence = 0;                     // older accesses are ordered for the whole threadgroup
  std::array<std::uint32_t, 32> own_fences{};  // the same for each simdgroup, among its own lanes
  UnfencedBarrier unfenced;

  void begin() {
    first = fence = ++clock;
    own_fences.fill(clock);
    unfenced = {};
  }
  void barrier(bool fences, std::uint32_t site) {
    ++clock;
    if (!fences) {
      unfenced = {clock, site};
      return;
    }
    fence = clock;
    own_fences.fill(clock);
    unfenced = {};
  }
  void simdgroup_barrier(std::uint32_t simdgroup, bool fences) {
    if (fences) own_fences[simdgroup] = ++clock;
  }

  [[nodiscard]] bool races(const Mark& earlier, const Mark& mine) const {
    if (earlier.when < fence || (earlier.who & mine.who & Mark::kAtomic) != 0) return false;
    return !is_ordered_within_simdgroup(earlier, mine, own_fences[mine.simdgroup()]);
  }
  [[nodiscard]] static bool is_same_party(const Mark& a, const Mark& b) { return a.simdgroup() == b.simdgroup(); }

  void note_read(Cell& cell, const Mark& mine) const { note_own_read(cell, mine, first, own_fences[mine.simdgroup()]); }
  template <typename LookAt>
  static void for_each_reader(const Cell& cell, const LookAt& look_at) {
    look_at(cell.reader);
    look_at(cell.other_reader);
  }
};

// Marks an access to `count` cells from `first` on. Returns the mark of an access with which it races, preferably one of another party;
// `when` is 0 if there is none.
template <typename AllCells, typename Order>
Mark mark_access(AllCells& cells, std::size_t first, std::size_t count, const Order& order, const Mark& mine, bool reads, bool writes) {
  Mark rival;
  const auto look_at = [&](const Mark& earlier) {
    if (order.races(earlier, mine) && (rival.when == 0 || order.is_same_party(rival, mine))) rival = earlier;
  };
  for (std::size_t index = first; index < first + count; ++index) {
    auto cell = cells.load(index);
    look_at(cell.writer);
    if (writes) {
      order.for_each_reader(cell, look_at);
      cell.writer = mine;
    }
    if (reads) order.note_read(cell, mine);
    cells.store(index, cell);
  }
  return rival;
}

}  // namespace assay::metal::execute
