// Dispatches for a GPU as data: an encoder makes them, and the process that has the GPU carries them out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metal/cuda_abi.h"
#include "metal/size3.h"

namespace assay::metal::cuda {

// A kernel as PTX, or as code that the driver made of it, which a GPU keeps once it has it.
struct Kernel {
  std::string function;  // for messages: the host name
  std::string digest;    // of the text
  std::string text;      // empty if the GPU has it

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

struct Argument {
  std::uint32_t index = 0;              // [[buffer(index)]]
  std::optional<std::uint64_t> buffer;  // into the buffers of the work; none: `bytes`
  std::uint64_t offset = 0;
  std::string bytes;  // of set_bytes

  friend bool operator==(const Argument&, const Argument&) = default;
};

struct Dispatch {
  std::uint64_t kernel = 0;  // into the kernels of the work
  std::vector<Argument> arguments;
  std::vector<std::uint32_t> threadgroup_arguments;  // offsets in dynamic shared memory, by index
  std::uint32_t shared_bytes = 0;                    // of dynamic shared memory
  Size3 threadgroups, threads, total;                // as in cuda_abi::Launch

  friend bool operator==(const Dispatch&, const Dispatch&) = default;
};

// Dispatches, each of which sees what those before it wrote.
struct Work {
  std::vector<Kernel> kernels;
  std::vector<Dispatch> dispatches;

  friend bool operator==(const Work&, const Work&) = default;
};

}  // namespace assay::metal::cuda
