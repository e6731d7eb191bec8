// Files that the command line reads and writes, whole and at once.
#pragma once

#include <filesystem>
#include <string>

namespace assay::cli {

// Empty if it cannot be read.
[[nodiscard]] std::string read_file(const std::filesystem::path& file);

// Replaces what was there. Throws std::invalid_argument with the reason if it cannot be written.
void write_file(const std::filesystem::path& file, const std::string& text);

// Tells at once, before minutes have gone by, what write_file would tell at the end; an empty name asks for no file. Leaves what the file
// holds.
void require_writable(const std::filesystem::path& file);

// What the linker made of this executable's contents (its build ID), else their hash. Oracles, bounds, fixtures, suites and judge are all
// in it: any change of them is another judge.
[[nodiscard]] std::string build_of_assay();

}  // namespace assay::cli
