// Runs a command and captures its output.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/sandbox.h"

namespace assay::base {

struct CommandResult {
  int exit_code = 0;  // 128 + signal if it was killed
  std::string output;
  std::string errors;
  bool is_cut = false;      // it exceeded the output limit, and was killed
  bool is_late = false;     // it exceeded the time limit, and was killed
  bool is_stopped = false;  // by CommandLimits::stop
  bool was_killed = false;  // by another process, with SIGKILL
};

// Limits for a command that reads untrusted files.
struct CommandLimits {
  std::size_t output_bytes = std::size_t{1} << 30;  // per output stream
  std::uint64_t memory_bytes = 0;                   // as in ProcessLimits
  std::uint64_t processor_seconds = 0;
  std::uint64_t seconds = 0;                // on the clock; 0: unlimited
  const std::atomic<bool>* stop = nullptr;  // the command is killed soon after this becomes true, for example in a handler of signals
};

// Runs `arguments` without standard input; the first is the program, looked up on PATH if it has no slash. Its environment has nothing but
// PATH, LANG and TMPDIR: `temporary_directory`, or this process's own if that is empty. It leads a process group of its own, which ends
// with it. With `reach` it is confined to that (sandbox.h). May be called from any thread. Throws ProcessRefused if it cannot be started.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& arguments, const CommandLimits& limits = {},
                                        const std::filesystem::path& temporary_directory = {}, const Reach* reach = nullptr);

}  // namespace assay::base
