// The contents of a kernel file, without a family: which functions compile, what the host must bind, which constants they need.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/compile/library.h"

namespace assay::harness {

using ConstantValues = std::map<std::uint32_t, metal::FunctionConstant>;

struct InspectedFunction {
  metal::FunctionDeclaration declaration;
  bool is_compiled = false;
  std::string refusal;                      // why it does not compile; empty if it does, or if it was not compiled
  std::vector<std::uint32_t> unset;         // indices of required function constants that were not given; it was compiled with made-up
                                            // values for them
  metal::ArgumentLayout layout;             // if it compiled
  metal::PipelineDescriptor compiled = {};  // what was compiled then, with the made-up values
};

// Compiles one function. Required constants that `given` lacks get made-up values, so that the arguments can be reported
// anyway. Throws metal::EnvironmentError.
[[nodiscard]] InspectedFunction inspect_function(const metal::Library& library, const metal::FunctionDeclaration& function,
                                                 const ConstantValues& given);

// The same for these functions of the library, in this order, `jobs` at a time.
[[nodiscard]] std::vector<InspectedFunction> inspect_functions(const metal::Library& library,
                                                               const std::vector<metal::FunctionDeclaration>& functions,
                                                               const ConstantValues& given, unsigned jobs);

// Parses `NAME=VALUE` and `INDEX=VALUE`. Throws std::invalid_argument for a constant that the file does not declare or that is given
// twice, and for a value that does not fit its type.
[[nodiscard]] ConstantValues constants_of(const metal::Library& library, const std::vector<std::string>& assignments);

}  // namespace assay::harness
