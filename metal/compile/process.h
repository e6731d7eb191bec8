// Running a command and collecting what it prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace assay::metal::compile {

struct ProcessResult {
  int exit_code = 0;  // 128 + signal if it was killed
  std::string output;
  std::string errors;
  bool is_cut = false;  // it printed more than it may, and was killed
};

// What a command that works on other people's files may take.
struct ProcessLimits {
  std::size_t output_bytes = std::size_t{1} << 30;  // of each of its two streams
  std::uint64_t memory_bytes = 0;                   // address space; 0: what the machine has
  std::uint64_t processor_seconds = 0;              // 0: as long as it takes
};

// Runs `arguments` (the first is the program, looked up on PATH if it has no slash) with no standard input; files of its own that are not
// to last it puts into `temporary_directory`, or where this process would if that is empty. Throws EnvironmentError if it cannot be
// started.
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessLimits& limits = {},
                                        const std::filesystem::path& temporary_directory = {});

}  // namespace assay::metal::compile
