// The kernel in which the tests of the policy `checked` set their bodies.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace assay::tests {

// Line 4 of the result is the first line of `body`; `helpers` stand on line 2, with any newlines.
inline std::string checked_kernel(std::string_view body, std::string helpers = {}) {
  std::ranges::replace(helpers, '\n', ' ');
  return "#include <metal_stdlib>\nusing namespace metal;" + helpers +
         "\nkernel void test(device uint* out [[buffer(0)]], device const uint* in "
         "[[buffer(1)]], "
         "device float* scratch [[buffer(2)]], device atomic_uint* counters [[buffer(3)]], threadgroup uint* sh [[threadgroup(0)]], uint t "
         "[[thread_index_in_threadgroup]], uint sg "
         "[[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint tg [[threadgroup_position_in_grid]]) {\n" +
         std::string(body) + "\n}\n";
}

inline const std::string kBarrier = "threadgroup_barrier(mem_flags::mem_threadgroup);\n";
inline const std::string kDevice = "threadgroup_barrier(mem_flags::mem_device);\n";
inline const std::string kFence = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);\n";
inline const std::string kUnfenced = "threadgroup_barrier(mem_flags::mem_none);\n";
inline const std::string kOut = "out[tg * 64 + t] = ";
inline const std::string kFloat = "const float x = float(in[t]);\n";  // 7

}  // namespace assay::tests
