// The files that kernels are made of: lines of no other file are shown.
//
// Places in messages, reports and traces name files, and a kernel may put any name there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::metal {

// From now on `name` stands for that file in this process.
void note_source_file(const std::string& name, const std::filesystem::path& path);

// The lines of a file that was noted by this name; none for any other, and none of what is not a regular file. May be called from any
// thread.
[[nodiscard]] std::vector<std::string> source_lines(const std::string& name);

}  // namespace assay::metal
