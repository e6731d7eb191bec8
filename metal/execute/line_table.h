// Maps instructions of a compiled kernel to places in the user's source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::metal::execute {

// The table of lines (DWARF 4, .debug_line) of a shared object that metal/pass has numbered: its lines are numbers of abi::Module::places.
// An object without one, or whose file is gone or damaged, has no rows.
class LineTable {
 public:
  explicit LineTable(const std::string& object);

  // The number of the place of the instruction at `offset` from where the object is loaded; nothing if the compiler made the instruction
  // of several places, or of none.
  [[nodiscard]] std::optional<std::uint32_t> place(std::uint64_t offset) const;

 private:
  struct Row {
    std::uint64_t offset;
    std::uint32_t place;  // 0: none
  };
  std::vector<Row> rows_;  // ascending; each holds up to the next
};

}  // namespace assay::metal::execute
