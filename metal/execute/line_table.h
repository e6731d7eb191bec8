// Maps instructions of a compiled kernel to places in the user's source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::metal::execute {

// The line table (DWARF 4, .debug_line) of a shared object that metal/pass has processed: its line numbers are indices into
// abi::Module::places. Has no rows if the object has no table, or if its file is missing or damaged.
class LineTable {
 public:
  explicit LineTable(const std::string& object);

  // The index of the place of the instruction at `offset` from the load address of the object. Empty if the compiler made the
  // instruction from several places, or from none.
  [[nodiscard]] std::optional<std::uint32_t> place(std::uint64_t offset) const;

 private:
  struct Row {
    std::uint64_t offset;
    std::uint32_t place;  // 0: none
  };
  std::vector<Row> rows_;  // ascending; each row extends to the next
};

}  // namespace assay::metal::execute
