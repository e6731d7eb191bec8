// The functions that a compiled kernel may call by name, beside those of math/kernel_functions.h: operations for which the compiler calls
// the C library or its own. None of them writes but to the memory that it is given, or goes elsewhere than back to its caller.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace assay::metal {

inline constexpr auto kProvidedFunctions = std::to_array<std::string_view>(
    {// Floating-point operations that have no instruction.
     "fmod", "fmodf", "fma", "fmaf", "fmin", "fminf", "fmax", "fmaxf", "ldexp", "ldexpf", "round", "roundf", "roundeven", "roundevenf",
     "rint", "rintf", "trunc", "truncf", "floor", "floorf", "ceil", "ceilf", "nearbyint", "nearbyintf", "sqrt", "sqrtf",
     // Copies and comparisons of memory.
     "memcpy", "memmove", "memset", "memcmp", "bcmp",
     // Integers of 128 bits, half and bfloat.
     "__udivti3", "__umodti3", "__divti3", "__modti3", "__multi3", "__ashlti3", "__lshrti3", "__ashrti3", "__popcountdi2", "__truncsfbf2",
     "__truncdfbf2", "__truncsfhf2", "__truncdfhf2", "__extendhfsf2", "__extendhfdf2"});

[[nodiscard]] constexpr bool is_provided(std::string_view name) {
  return std::ranges::find(kProvidedFunctions, name) != kProvidedFunctions.end();
}

}  // namespace assay::metal
