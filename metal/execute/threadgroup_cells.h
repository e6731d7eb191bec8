// The cells of threadgroup memory (race_marks.h), each part of the marks in an array of its own, so that one loop over many cells compares
// eight of them at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "metal/execute/race_marks.h"

namespace assay::metal::execute {

class ThreadgroupCells {
 public:
  void resize(std::size_t count) {
    for (auto* part : {&writer_.when, &writer_.who, &reader_.when, &reader_.who, &other_reader_.when, &other_reader_.who})
      part->resize(count);
  }
  [[nodiscard]] Cell load(std::size_t cell) const { return {writer_.load(cell), reader_.load(cell), other_reader_.load(cell)}; }
  void store(std::size_t cell, const Cell& value) {
    writer_.store(cell, value.writer);
    reader_.store(cell, value.reader);
    other_reader_.store(cell, value.other_reader);
  }
  [[nodiscard]] bool is_written(std::size_t cell, const ThreadgroupOrder& order) const { return writer_.when[cell] >= order.first; }

  // Accesses of all lanes of a simdgroup that follow each other: cell i from `first` on belongs to lane i >> shift.
  struct Range {
    std::size_t first = 0, count = 0;
    unsigned shift = 0;
    std::uint32_t simdgroup = 0;
    std::uint32_t who = 0;  // of lane 0, not atomic
  };
  // Marks the accesses as mark_access() would, if none of them races and, for reads, all cells were written; otherwise changes nothing and
  // returns false.
  bool read(const Range& range, const ThreadgroupOrder& order, bool must_be_written);
  bool write(const Range& range, const ThreadgroupOrder& order);

 private:
  struct Marks {
    std::vector<std::uint32_t> when, who;
    [[nodiscard]] Mark load(std::size_t cell) const { return {when[cell], who[cell]}; }
    void store(std::size_t cell, const Mark& mark) { when[cell] = mark.when, who[cell] = mark.who; }
    [[nodiscard]] bool race(const Range& range, const ThreadgroupOrder& order) const;
  };
  Marks writer_, reader_, other_reader_;
};

}  // namespace assay::metal::execute
