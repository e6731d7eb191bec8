// The command as tests meet it: run with arguments, on kernel files of their own.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "tests/support/files.h"

namespace assay::tests {

struct Outcome {
  int status = -1;
  std::string output;  // stdout and stderr
};

inline Outcome run_command(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof(buffer), pipe)) outcome.output.append(buffer, count);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

// `environment`: "NAME=value ..." before the command.
inline Outcome run_under(const std::string& environment, const std::string& arguments) {
  return run_command(environment + " '" + ASSAY_BINARY_DIR + "/bin/assay' " + arguments);
}

inline Outcome run_assay(const std::string& arguments) { return run_under("", arguments); }

inline std::string independent_kernel() { return read_file(kRoot / "tests/kernels/independent_tq4.metal"); }

// A kernel file of its own per test, removed with it.
class Cli : public TestInFolder {
 protected:
  // The kernel with one piece of its text replaced, which must be there once.
  std::string with(const std::string& from, const std::string& to) const { return write(replaced_once(independent_kernel(), from, to)); }
};

}  // namespace assay::tests
