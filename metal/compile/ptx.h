// Compiles a Metal function to PTX, the assembly language of NVIDIA GPUs.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "metal/compile/library.h"
#include "metal/pipeline_descriptor.h"

namespace assay::metal::compile {

struct PtxOptions {
  // What a lane stores, the other lanes of its SIMD-group see at once, as on the simulator. Otherwise only where the kernel says so.
  bool keeps_lockstep = false;
  // As Metal's fast mathematics: approximate functions, fused multiply-adds, subnormals flushed to zero.
  bool is_fast = false;
  std::string architecture = "sm_90";  // as ptxas names it

  friend auto operator<=>(const PtxOptions&, const PtxOptions&) = default;
};

struct PtxKernel {
  std::string text;                     // a module with the entry cuda_abi::kEntry, whose parameter is a cuda_abi::Launch
  std::uint32_t threadgroup_bytes = 0;  // of threadgroup variables, padded to 16; threadgroup arguments come behind them
};

// Compiles one function with its constants, or takes it from the cache. Its arguments are those of Library::pipeline() for the same
// descriptor. Throws PipelineError, CompileError and EnvironmentError.
[[nodiscard]] PtxKernel compile_ptx(const Library& library, const PipelineDescriptor& descriptor, const PtxOptions& options = {});

// From the first library that offers the function, as find_pipeline() (metal/devices/pipelines.h). Throws what that throws.
[[nodiscard]] PtxKernel compile_ptx(const std::vector<std::shared_ptr<Library>>& libraries, const PipelineDescriptor& descriptor,
                                    const PtxOptions& options = {});

// Reads an entry of the cache. Throws EnvironmentError if it is none.
[[nodiscard]] PtxKernel read_ptx(const std::filesystem::path& entry);

}  // namespace assay::metal::compile
