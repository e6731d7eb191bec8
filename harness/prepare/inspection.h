// What a kernel file holds, without a family: which of its functions compile, what the host must bind, which constants they need.
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
  std::string refusal;               // why it is not; empty if it is, or if nobody tried
  std::vector<std::uint32_t> unset;  // function constants, by index, that it needs and nobody gave: it was compiled with made-up values
  metal::ArgumentLayout layout;      // of a compiled one
};

// Compiles one function. Constants that it needs and that `given` lacks get values of our own, so that its arguments can be told all the
// same. Throws metal::EnvironmentError.
[[nodiscard]] InspectedFunction inspect_function(const metal::Library& library, const metal::FunctionDeclaration& function,
                                                 const ConstantValues& given);

// These functions of the library, in their order, `jobs` at a time.
[[nodiscard]] std::vector<InspectedFunction> inspect_functions(const metal::Library& library,
                                                               const std::vector<metal::FunctionDeclaration>& functions,
                                                               const ConstantValues& given, unsigned jobs);

// The values of `NAME=VALUE` and `INDEX=VALUE`. Throws std::invalid_argument for a constant that the file does not declare, one that is
// given twice, and a value that does not fit its type.
[[nodiscard]] ConstantValues constants_of(const metal::Library& library, const std::vector<std::string>& assignments);

}  // namespace assay::harness
