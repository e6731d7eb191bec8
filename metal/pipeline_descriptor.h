// The kernel function and the constants of a pipeline.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "metal/function_constant.h"

namespace assay::metal {

// The arguments of Metal's `newComputePipelineState`. A host may build several libraries from one source with different preprocessor
// macros; `definitions` selects one of them.
struct PipelineDescriptor {
  std::string function;                                 // host name
  std::map<std::uint32_t, FunctionConstant> constants;  // by index
  std::vector<std::string> definitions = {};            // the library's CompileOptions::configuration

  friend bool operator==(const PipelineDescriptor&, const PipelineDescriptor&) = default;
  friend auto operator<=>(const PipelineDescriptor&, const PipelineDescriptor&) = default;
};

}  // namespace assay::metal
