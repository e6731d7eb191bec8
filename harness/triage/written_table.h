// Recognises a table of the contract in the numbers of a source, in whatever form they are written there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "families/family.h"
#include "harness/mutate/source.h"

namespace assay::harness {

// A number of the source that differs from the contract's entry in its place.
struct WrittenEntry {
  std::size_t offset = 0, length = 0;  // in the source, with its sign
  std::uint64_t index = 0;             // in the contract's table
  double value = 0, wanted = 0;        // in units of the contract
  std::string right;                   // what should stand there
};

struct WrittenTable {
  std::size_t size = 0;               // of its numbers
  std::vector<WrittenEntry> entries;  // those that differ
};

// Numbers that follow each other in the source, whatever stands between them (commas, constructors of vectors, `case 3: return`), are the
// table if three quarters of them nearly equal it. They may have a factor (also integers of a fixed point), be the bits of floats, and, up
// to 16, stand in any order; with a factor or in another order, half must be exactly right. Those that differ from it nowhere are left out.
// Empty for a table of bytes, or of less than eight entries.
[[nodiscard]] std::vector<WrittenTable> find_written_tables(const Source& source, const families::ContractTable& wanted);

}  // namespace assay::harness
