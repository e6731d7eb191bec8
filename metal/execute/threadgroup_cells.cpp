// Marks many cells of threadgroup memory at a time. The loops have no branches, so that the compiler makes vectors of them.
#include "metal/execute/threadgroup_cells.h"

namespace assay::metal::execute {

namespace {

constexpr std::uint32_t kSimdgroup = Mark::kThread & ~std::uint32_t{31};

// Whether two marks are of different lanes, or one of them of several.
std::uint32_t differ(std::uint32_t earlier, std::uint32_t mine) { return ((earlier ^ mine) & Mark::kThread) | (earlier & Mark::kSeveral); }

}  // namespace

// ThreadgroupOrder::races for any of the cells.
bool ThreadgroupCells::Marks::race(const Range& range, const ThreadgroupOrder& order) const {
  const std::uint32_t* earlier_when = when.data() + range.first;
  const std::uint32_t* earlier_who = who.data() + range.first;
  const std::uint32_t fence = order.fence, own_fence = order.own_fences[range.simdgroup];
  std::uint32_t any = 0;
  for (std::uint32_t cell = 0; cell < range.count; ++cell) {
    const std::uint32_t mine = range.who + (cell >> range.shift);
    const bool is_other_group = ((earlier_who[cell] ^ mine) & kSimdgroup) != 0;
    const bool is_unordered_here = (differ(earlier_who[cell], mine) != 0) & (earlier_when[cell] >= own_fence);
    any |= static_cast<std::uint32_t>((earlier_when[cell] >= fence) & (is_other_group | is_unordered_here));
  }
  return any != 0;
}

bool ThreadgroupCells::read(const Range& range, const ThreadgroupOrder& order, bool must_be_written) {
  if (must_be_written) {
    const std::uint32_t* written = writer_.when.data() + range.first;
    std::uint32_t missing = 0;
    for (std::size_t cell = 0; cell < range.count; ++cell) missing |= static_cast<std::uint32_t>(written[cell] < order.first);
    if (missing != 0) return false;
  }
  if (writer_.race(range, order)) return false;
  // ThreadgroupOrder::note_read.
  std::uint32_t* reader_when = reader_.when.data() + range.first;
  std::uint32_t* reader_who = reader_.who.data() + range.first;
  std::uint32_t* other_when = other_reader_.when.data() + range.first;
  std::uint32_t* other_who = other_reader_.who.data() + range.first;
  const std::uint32_t clock = order.clock, first = order.first, own_fence = order.own_fences[range.simdgroup];
  for (std::uint32_t cell = 0; cell < range.count; ++cell) {
    const std::uint32_t mine = range.who + (cell >> range.shift);
    const std::uint32_t was_when = reader_when[cell], was_who = reader_who[cell];
    const bool is_replaced = (was_when < first) | (((was_who ^ mine) & kSimdgroup) == 0);
    const bool adds = (was_when >= own_fence) & (differ(was_who, mine) != 0);
    other_when[cell] = is_replaced ? other_when[cell] : was_when;
    other_who[cell] = is_replaced ? other_who[cell] : was_who;
    reader_when[cell] = clock;
    reader_who[cell] = mine | ((is_replaced & adds) ? Mark::kSeveral : 0);
  }
  return true;
}

bool ThreadgroupCells::write(const Range& range, const ThreadgroupOrder& order) {
  if (writer_.race(range, order) || reader_.race(range, order) || other_reader_.race(range, order)) return false;
  std::uint32_t* when = writer_.when.data() + range.first;
  std::uint32_t* who = writer_.who.data() + range.first;
  for (std::uint32_t cell = 0; cell < range.count; ++cell) {
    when[cell] = order.clock;
    who[cell] = range.who + (cell >> range.shift);
  }
  return true;
}

}  // namespace assay::metal::execute
