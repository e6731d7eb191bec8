// Atomics on device and threadgroup memory, from many threads at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/rows.h"

namespace assay::tests::atomics_test {
namespace {

const char* const kAtomics = "MSL 6.15, atomic functions";

TEST(Atomics, EachOperationFromOneThread) {
  check_rows(
      "atomics from one thread",
      {
          {"load and store",
           kAtomics,
           "device atomic_uint* a = (device atomic_uint*)o; atomic_store_explicit(a, U(0), memory_order_relaxed); atomic_store_explicit(a "
           "+ 1, "
           "atomic_load_explicit(a, memory_order_relaxed) + 1, memory_order_relaxed);",
           {7},
           {7, 8}},
          {"exchange",
           kAtomics,
           "o[0] = 3; device atomic_int* a = (device atomic_int*)o; o[1] = uint(atomic_exchange_explicit(a, I(0), memory_order_relaxed));",
           {n(-9)},
           {n(-9), 3}},
          {"fetch_add, fetch_sub return the old value",
           kAtomics,
           "o[0] = 10; device atomic_uint* a = (device atomic_uint*)o; o[1] = atomic_fetch_add_explicit(a, U(0), "
           "memory_order_relaxed); o[2] = atomic_fetch_sub_explicit(a, 2, memory_order_relaxed);",
           {5},
           {13, 10, 15}},
          {"fetch_and, fetch_or, fetch_xor",
           kAtomics,
           "o[0] = 0xff; device atomic_uint* a = (device atomic_uint*)o; o[1] = atomic_fetch_and_explicit(a, U(0), memory_order_relaxed); "
           "o[2] = "
           "atomic_fetch_or_explicit(a, 0x100u, memory_order_relaxed); o[3] = atomic_fetch_xor_explicit(a, 1u, memory_order_relaxed);",
           {0x0f},
           {0x10e, 0xff, 0x0f, 0x10f}},
          {"fetch_min, fetch_max are signed for atomic_int",
           kAtomics,
           "o[0] = 5; device atomic_int* a = (device atomic_int*)o; o[1] = uint(atomic_fetch_min_explicit(a, I(0), "
           "memory_order_relaxed)); o[2] = uint(atomic_fetch_max_explicit(a, 3, memory_order_relaxed));",
           {n(-4)},
           {3, 5, n(-4)}},
          {"fetch_min, fetch_max are unsigned for atomic_uint",
           kAtomics,
           "o[0] = 5; device atomic_uint* a = (device atomic_uint*)o; o[1] = atomic_fetch_min_explicit(a, U(0), "
           "memory_order_relaxed); o[2] = atomic_fetch_max_explicit(a, U(0), memory_order_relaxed);",
           {n(-4)},
           {n(-4), 5, 5}},
          {"compare_exchange succeeds",
           kAtomics,
           "o[0] = 5; uint e = U(0); o[1] = atomic_compare_exchange_weak_explicit((device atomic_uint*)o, &e, 9u, memory_order_relaxed, "
           "memory_order_relaxed); o[2] = e;",
           {5},
           {9, 1, 5}},
          {"compare_exchange fails and reports the value",
           kAtomics,
           "o[0] = 5; uint e = U(0); o[1] = atomic_compare_exchange_weak_explicit((device atomic_uint*)o, &e, 9u, "
           "memory_order_relaxed, memory_order_relaxed); o[2] = e;",
           {6},
           {5, 0, 5}},
          {"atomic_float: add, sub, exchange",
           kAtomics,
           "PUT(0, 1.5f); device atomic_float* a = (device atomic_float*)o; PUT(1, atomic_fetch_add_explicit(a, F(0), "
           "memory_order_relaxed)); "
           "PUT(2, atomic_fetch_sub_explicit(a, 0.25f, memory_order_relaxed)); PUT(3, atomic_exchange_explicit((device atomic_float*)(o + "
           "4), "
           "F(0), memory_order_relaxed)); atomic_store_explicit((device atomic_float*)(o + 3), F(0), memory_order_relaxed);",
           {f(2)},
           {f(3.25F), f(1.5F), f(3.5F), f(2), f(2)}},
          {"atomic_bool",
           kAtomics,
           "device atomic_bool* a = (device atomic_bool*)o; o[0] = 0; atomic_store_explicit(a, U(0) != 0, memory_order_relaxed); o[1] = "
           "atomic_load_explicit(a, "
           "memory_order_relaxed); o[2] = atomic_exchange_explicit(a, false, memory_order_relaxed);",
           {1},
           {0, 1, 1}},
          {"atomic_ulong: max and load",
           kAtomics,
           "device atomic_ulong* a = (device atomic_ulong*)o; o[0] = 1; o[1] = 0; atomic_max_explicit(a, ulong(U(0)) << 32, "
           "memory_order_relaxed); o[2] = "
           "uint(atomic_load_explicit(a, memory_order_relaxed) >> 32);",
           {3},
           {0, 3, 3}},
          {"atomic<T>, _atomic<T>, in a struct",
           "census: atomic<T> and _atomic<> in wrapper structs",
           "struct W { atomic<int> value; }; o[0] = 4; device W* w = (device W*)o; o[1] = "
           "uint(atomic_fetch_add_explicit(&(w[0].value), 3, memory_order_relaxed)); o[2] = "
           "uint(atomic_load_explicit((device _atomic<int>*)o, memory_order::memory_order_relaxed)); "
           "o[3] = U(0);",
           {1},
           {7, 4, 7, 1}},
          {"volatile pointers and qualified names",
           kAtomics,
           "o[0] = 1; volatile device metal::atomic_uint* a = (volatile device metal::atomic_uint*)o; o[1] = "
           "metal::atomic_fetch_add_explicit(a, U(0), metal::memory_order_relaxed);",
           {4},
           {5, 1}},
          {"fences",
           "MSL 6.15.3",
           "o[0] = U(0); atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device); "
           "atomic_thread_fence(mem_flags::mem_threadgroup, "
           "memory_order_acq_rel); o[1] = o[0];",
           {4},
           {4, 4}},
      });
}

TEST(Atomics, CountsFromEveryThreadOfEveryThreadgroup) {
  constexpr std::uint32_t kThreads = 1000;
  const auto out = run_kernel(R"(#include <metal_stdlib>
using namespace metal;
kernel void run(device atomic_uint* counters, device atomic_float* sum, device uint* tickets, uint i [[thread_position_in_grid]], uint lane [[thread_position_in_threadgroup]]) {
  threadgroup atomic_int local_count[2];
  if (lane < 2) atomic_store_explicit(&local_count[lane], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&local_count[i % 2], 1, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lane == 0) {
    atomic_fetch_add_explicit(&counters[0], uint(atomic_load_explicit(&local_count[0], memory_order_relaxed)), memory_order_relaxed);
    atomic_fetch_add_explicit(&counters[1], uint(atomic_load_explicit(&local_count[1], memory_order_relaxed)), memory_order_relaxed);
  }
  uint ticket = atomic_fetch_add_explicit(&counters[2], 1u, memory_order_relaxed);
  tickets[ticket] = i;
  uint seen = atomic_load_explicit(&counters[3], memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&counters[3], &seen, seen + i, memory_order_relaxed, memory_order_relaxed)) {}
  atomic_fetch_max_explicit(&counters[4], i, memory_order_relaxed);
  atomic_fetch_add_explicit(sum, 0.5f, memory_order_relaxed);
})",
                              "run", {Words(5, 0), Words(1, 0), Words(kThreads, ~0U)}, kThreads, 96);
  EXPECT_EQ(out[0], (Words{kThreads / 2, kThreads / 2, kThreads, kThreads * (kThreads - 1) / 2, kThreads - 1}));
  EXPECT_EQ(out[1][0], f(kThreads / 2.0F));
  // Every thread drew a ticket of its own.
  Words tickets = out[2];
  std::sort(tickets.begin(), tickets.end());
  for (std::uint32_t k = 0; k < kThreads; ++k) ASSERT_EQ(tickets[k], k);
}

TEST(Atomics, WhatMetalLacksDoesNotCompile) {
  const auto error = [](const char* statement) {
    return compile_error(std::string("#include <metal_stdlib>\nusing namespace metal;\nkernel void run(device atomic_float* f, device "
                                     "atomic_bool* b, device uint* o) { ") +
                             statement + " }",
                         "run");
  };
  EXPECT_NE(error("atomic_fetch_max_explicit(f, 1.0f, memory_order_relaxed);").find("needs an integer"), std::string::npos);
  EXPECT_NE(error("atomic_fetch_add_explicit(b, true, memory_order_relaxed);").find("no arithmetic on atomic_bool"), std::string::npos);
  EXPECT_NE(error("device atomic<half>* h = (device atomic<half>*)o; atomic_store_explicit(h, half(1), memory_order_relaxed);")
                .find("Metal has atomics of"),
            std::string::npos);
  EXPECT_EQ(error("atomic_fetch_add_explicit(f, 1.0f, memory_order_relaxed);"), "");
}

}  // namespace
}  // namespace assay::tests::atomics_test
