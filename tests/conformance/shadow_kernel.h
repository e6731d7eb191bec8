// The kernel in which the tests of the policy `shadow` set their bodies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metal/devices/simulator.h"

namespace assay::tests {

inline constexpr std::uint32_t kLinesBeforeShadowBody = 5;

// `x` is in[lane] = 1 + lane/64; out, hout and bout are one zeroed buffer of 32 elements, scratch another; sh has 1 KiB.
inline std::string shadow_kernel(std::string_view body) {
  return "#include <metal_stdlib>\nusing namespace metal;\nstruct Pair { float a; half b; }; struct Three { float a, b, c; }; struct Mixed "
         "{ float a; int n; float b; }; static Three three(float v) { Three t = {v, 2 * v, 3 * v}; return t; } static Mixed mixed(float v) "
         "{ Mixed m = {v, 3, 2 * v}; return m; } static void set(thread float* p, uint i, "
         "float v) { "
         "p[i] = v; }\n"
         "kernel void test(device float* out [[buffer(0)]], device half* hout [[buffer(1)]], device bfloat* bout [[buffer(2)]], device "
         "const "
         "float* in [[buffer(3)]], device float* scratch [[buffer(4)]], threadgroup float* sh [[threadgroup(0)]], uint lane "
         "[[thread_index_in_threadgroup]]) {\nconst float x = in[lane];\n" +
         std::string(body) + "\n}\n";
}

struct ShadowedRun {
  std::vector<std::uint32_t> bits;  // of the output
  std::vector<double> shadows;
  std::vector<metal::SourceLocation> lost;
  std::vector<metal::LineRounding> roundings;
  std::optional<metal::ErrorBirth> birth;
};

// The body on 32 lanes, `dispatches` times on the same buffers.
ShadowedRun run_shadowed(std::string_view body, metal::FloatType type, int dispatches = 1,
                         metal::SimulatorOptions options = {.policy = metal::Policy::shadow});
std::vector<std::uint32_t> run_native(std::string_view body);

}  // namespace assay::tests
