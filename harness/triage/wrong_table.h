// Repairs constant tables of a source by the values of its contract.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/triage/suspects.h"

namespace assay::harness {

// "entry 12 of table levels is 1.25653124, but 1.25623119 in the codebook of 4 bits; 1 of 16 entries differ". `table` has an entry.
[[nodiscard]] std::string difference_of(const fault::WrongTable& table);

// Tables that the source of a kernel does not have as an array of floats: as a `switch`, integers, a half. Their faults have no name of a
// table, and the place is that of the first number that differs.
[[nodiscard]] std::vector<fault::WrongTable> find_wrong_written_tables(const std::filesystem::path& file, const Case& test_case);

// `faults`: of a failing case; `given` as in EditSearch. Puts the contract's values where WrongTable faults say that others stand.
// Without suspects if there is no such fault, if the values are not written as numbers, or if no case of `given` passes with them.
[[nodiscard]] Blame blame_wrong_tables(const Laboratory& laboratory, std::span<const Fault> faults, std::span<const Case> given);

}  // namespace assay::harness
