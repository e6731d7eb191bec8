// Whether NVIDIA's assembler accepts the PTX of a kernel, where it is installed.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/command.h"
#include "metal/compile/ptx.h"
#include "metal/errors.h"
#include "tests/support/files.h"

namespace assay::tests {

// Empty if there is none.
inline std::string ptxas() {
  for (const char* candidate : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"}) {
    if (access(candidate, X_OK) == 0) return candidate;
  }
  return {};
}

// What the assembler says against the text; empty if it accepts it, or is not installed.
inline std::string refusal_of_ptxas(const std::string& text) {
  if (ptxas().empty()) return {};
  const TemporaryFolder folder;
  const auto source = folder.path() / "kernel.ptx";
  std::ofstream(source, std::ios::binary) << text;
  const auto result = base::run_command({ptxas(), "-arch=sm_90", source.string(), "-o", (folder.path() / "kernel.cubin").string()});
  return result.exit_code == 0 ? std::string() : result.errors + result.output;
}

// With ASSAY_TEST_PTX in the environment, a test that executes a kernel also compiles it to PTX and has it assembled.
inline void expect_ptx(const metal::Library& library, const metal::PipelineDescriptor& descriptor) {
  if (std::getenv("ASSAY_TEST_PTX") == nullptr) return;
  try {
    EXPECT_EQ(refusal_of_ptxas(metal::compile::compile_ptx(library, descriptor).text), "") << library.name();
  } catch (const metal::Error& error) {
    ADD_FAILURE() << "no PTX: " << error.what();
  }
}

}  // namespace assay::tests
