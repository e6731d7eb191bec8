// Running a command and collecting what it prints.
#pragma once

#include <string>
#include <vector>

namespace assay::metal::compile {

struct ProcessResult {
  int exit_code = 0;  // 128 + signal if it was killed
  std::string output;
  std::string errors;
};

// Runs `arguments` (the first is the program, looked up on PATH if it has no slash) with no standard input. Throws
// EnvironmentError if it cannot be started.
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& arguments);

}  // namespace assay::metal::compile
