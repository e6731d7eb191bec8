// Writes whole files for the command line.
#pragma once

#include <filesystem>
#include <string>

namespace assay::cli {

// Replaces the file by a document: printable(text). Throws std::invalid_argument with the reason if it cannot be written, and for "-": the
// standard output of commands that write files has lines for people.
void write_file(const std::filesystem::path& file, const std::string& text);

// The same with printable_annotations(text).
void write_annotations(const std::filesystem::path& file, const std::string& text);

// Checks early that write_file() will succeed, before minutes of work; accepts an empty name. Does not change the file. Throws
// std::invalid_argument.
void require_writable(const std::filesystem::path& file);

}  // namespace assay::cli
