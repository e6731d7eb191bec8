// Running a command and collecting what it prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace assay::base {

struct CommandResult {
  int exit_code = 0;  // 128 + signal if it was killed
  std::string output;
  std::string errors;
  bool is_cut = false;      // it printed more than it may, and was killed
  bool was_killed = false;  // by somebody else, with SIGKILL
};

// What a command that works on other people's files may take.
struct CommandLimits {
  std::size_t output_bytes = std::size_t{1} << 30;  // of each of its two streams
  std::uint64_t memory_bytes = 0;                   // as in ProcessLimits
  std::uint64_t processor_seconds = 0;
};

// Runs `arguments` (the first is the program, looked up on PATH if it has no slash) with no standard input; files of its own that are not
// to last it puts into `temporary_directory`, or where this process would if that is empty. May be called from any thread. Throws
// ProcessRefused if it cannot be started.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& arguments, const CommandLimits& limits = {},
                                        const std::filesystem::path& temporary_directory = {});

}  // namespace assay::base
