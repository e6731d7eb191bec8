// The policy `checked` on what kernels are made of, as their authors write it: each row that fires stands beside the twin that mends it.
#include <gtest/gtest.h>

#include "tests/conformance/checked_kernel.h"
#include "tests/conformance/checked_rows.h"
#include "tests/conformance/execute.h"

namespace assay::tests::checked_idioms_test {
namespace {

using metal::HazardKind;

const std::string kBoth = "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);\n";
const std::string kNothing = ";\n";

// Sums 64 partial results by halves.
std::string tree(const std::string& first, const std::string& in_loop) {
  return "threadgroup float partial[64]; partial[t] = 0; " + kBarrier + "partial[t] = float(in[t]);\n" + first +
         "for (uint s = 32; s > 0; s >>= 1) {\nif (t < s) partial[t] += partial[t + s];\n" + in_loop + "}\n" + kBarrier +
         "if (t == 0) out[tg] = as_type<uint>(partial[0]);";
}

// Every simdgroup's maximum, handed to the other.
std::string broadcast(const std::string& between) {
  return "sh[t] = 0; " + kBarrier + "const uint mine = simd_max(in[t]);\nif (lane == 0) sh[sg] = mine;\n" + between + kOut +
         "max(mine, sh[sg ^ 1]);";
}

// Tiles in turn, of which one is written while another may still be read.
std::string tiles(const std::string& tile) {
  return "for (uint i = 0; i < 4; ++i) {\nthreadgroup uint* tile = sh + 64 * (" + tile + ");\ntile[t] = t + i;\n" + kBarrier + kOut +
         "tile[t ^ 32];\n}";
}

INSTANTIATE_TEST_SUITE_P(
    ThreadgroupIdioms, Checked,
    ::testing::Values(
        CheckedRow{"a_tree_whose_inputs_are_not_there", HazardKind::threadgroup_race, tree(kNothing, kBarrier), 2, 5,
                   "nothing orders them"},
        CheckedRow{"a_tree_without_its_barrier", HazardKind::simdgroup_race, tree(kBarrier, kNothing), 5, 5, "within a simdgroup"},
        CheckedRow{"a_tree_that_fences_nothing", HazardKind::unfenced_barrier, tree(kDevice, kBarrier), 2, 5, "does not fence"},
        CheckedRow{"a_tree", HazardKind::threadgroup_race, tree(kBarrier, kBarrier)},
        CheckedRow{"a_maximum_too_early", HazardKind::threadgroup_race, broadcast("simdgroup_barrier(mem_flags::mem_threadgroup);\n"), 3, 5,
                   "between simdgroups"},
        CheckedRow{"a_maximum", HazardKind::threadgroup_race, broadcast(kBarrier)},
        CheckedRow{"one_tile_for_all", HazardKind::threadgroup_race, tiles("0"), 3, 5, "nothing orders them"},
        CheckedRow{"two_tiles_in_turn", HazardKind::threadgroup_race, tiles("i & 1")},
        CheckedRow{"two_tiles_out_of_turn", HazardKind::threadgroup_race, tiles("i >> 1 & 1"), 3, 5, "nothing orders them"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    ScratchIdioms, Checked,
    ::testing::Values(
        CheckedRow{"a_sum_that_nobody_started", HazardKind::uninitialised_read, "if (tg == 0) scratch[t] += 1.0f;", 1, 0,
                   "is uninitialised"},
        CheckedRow{"a_sum_that_was_started", HazardKind::uninitialised_read,
                   "if (tg == 0) scratch[t] = 0.0f;\nif (tg == 0) scratch[t] += 1.0f;"},
        CheckedRow{"partials_of_half_the_lanes", HazardKind::uninitialised_read,
                   "if (tg == 0 && t < 63) scratch[t] = 1.0f;\n" + kBoth + "if (tg == 0) " + kOut + "as_type<uint>(scratch[t]);", 3, 0,
                   "bytes 252..255"},
        CheckedRow{"partials_of_all_lanes", HazardKind::uninitialised_read,
                   "if (tg == 0 && t < 64) scratch[t] = 1.0f;\n" + kBoth + "if (tg == 0) " + kOut + "as_type<uint>(scratch[t]);"},
        CheckedRow{"a_vector_of_which_two_were_written", HazardKind::uninitialised_read,
                   "if (tg == 0 && lane == 0) ((device float2*)scratch)[2 * sg] = float2(1);\nif (tg == 0 && lane == 0) out[t] = "
                   "uint(((device float4*)scratch)[sg].w);",
                   2, 0, "is uninitialised"},
        CheckedRow{"a_vector_of_which_all_were_written", HazardKind::uninitialised_read,
                   "if (tg == 0 && lane == 0) ((device float4*)scratch)[sg] = float4(1);\nif (tg == 0 && lane == 0) out[t] = "
                   "uint(((device float4*)scratch)[sg].w);"},
        CheckedRow{"halves_at_2_bytes", HazardKind::misaligned_access,
                   "const half4 v = *(device const half4*)((device const half*)in + 2);\n" + kOut + "as_type<ushort>(v.x);", 1, 0,
                   "a multiple of 8"},
        CheckedRow{"halves_at_8_bytes", HazardKind::misaligned_access,
                   "const half4 v = *(device const half4*)((device const half*)in + 4);\n" + kOut + "as_type<ushort>(v.x);"}),
    kNameOfRow);

// Of each threadgroup 16 partial results; the last to come adds up those of all.
std::string last_comes(const std::string& release, const std::string& counter, const std::string& acquire,
                       const std::string& reader = "is_last") {
  return "threadgroup uint is_last;\nif (t < 16) out[tg * 16 + t] = t;\n" + release + "if (t == 0) is_last = atomic_fetch_add_explicit(" +
         counter + ", 1u, memory_order_relaxed) == 1;\n" + acquire + "if (" + reader + " && t < 16) out[128 + t] = out[t] + out[16 + t];";
}
// The first threadgroup says that its results are there.
std::string flag(const std::string& release, const std::string& store, const std::string& acquire) {
  return "threadgroup uint is_there;\nif (tg == 0) out[t] = t;\n" + release + "if (tg == 0 && t == 0) " + store +
         ";\nif (tg == 1 && t == 0) is_there = atomic_load_explicit(counters, memory_order_relaxed);\n" + acquire +
         "if (tg == 1 && is_there) out[64 + t] = out[63 - t];";
}
const std::string kSet = "atomic_store_explicit(counters, 1u, memory_order_relaxed)";

INSTANTIATE_TEST_SUITE_P(
    AtomicOrder, Checked,
    ::testing::Values(
        CheckedRow{"the_last_adds_up", HazardKind::device_race, last_comes(kDevice, "counters", kBoth)},
        CheckedRow{"the_last_adds_up_and_released_nothing", HazardKind::device_race, last_comes(kBarrier, "counters", kBoth), 2, 6,
                   "between threadgroups"},
        CheckedRow{"the_last_adds_up_and_acquired_nothing", HazardKind::device_race, last_comes(kDevice, "counters", kBarrier), 2, 6,
                   "between threadgroups"},
        CheckedRow{"the_last_adds_up_behind_fences", HazardKind::device_race, last_comes(kFence + kBarrier, "counters", kBarrier + kFence)},
        CheckedRow{"the_last_adds_up_behind_fences_of_other_memory", HazardKind::device_race,
                   last_comes(kFence + kBarrier, "counters",
                              kBarrier + "atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_device);\n"),
                   2, 8, "between threadgroups"},
        CheckedRow{"a_counter_each", HazardKind::device_race, last_comes(kDevice, "counters + tg", kBoth, "tg == 1"), 2, 6,
                   "between threadgroups"},
        CheckedRow{"a_flag", HazardKind::device_race, flag(kDevice, kSet, kBoth)},
        CheckedRow{"a_flag_set_too_early", HazardKind::device_race, flag(kBarrier, kSet, kBoth), 2, 7, "between threadgroups"},
        CheckedRow{"a_flag_seen_too_late", HazardKind::device_race, flag(kDevice, kSet, kBarrier), 2, 7, "between threadgroups"},
        CheckedRow{"a_histogram", HazardKind::device_race, "atomic_fetch_add_explicit(counters + in[t] % 8, t, memory_order_relaxed);"},
        CheckedRow{"a_histogram_without_atomics", HazardKind::device_race,
                   "if (sg == 0) ((device uint*)counters)[in[t] % 8 + lane] += t + 1;", 1, 1, "between threadgroups"}),
    kNameOfRow);

// What no argument, variable or stack holds: the processor reports these.
const std::string kFar = "(ulong(in[t]) << 40)";

INSTANTIATE_TEST_SUITE_P(
    InvalidAccesses, Checked,
    ::testing::Values(CheckedRow{"written_through_an_integer", HazardKind::invalid_access, "*(device uint*)" + kFar + " = 1;", 1, 0,
                                 "where no buffer is"},
                      CheckedRow{"written_through_an_address", HazardKind::invalid_access,
                                 "*(device uint*)(ulong)(out + tg * 64 + t) = 1;"},
                      CheckedRow{"read_through_an_integer", HazardKind::invalid_access, kOut + "*(device const uint*)" + kFar + ";", 1, 0,
                                 "where no buffer is"},
                      CheckedRow{"read_through_an_address", HazardKind::invalid_access, kOut + "*(device const uint*)(ulong)(in + t);"},
                      CheckedRow{"too_much_private_memory", HazardKind::invalid_access,
                                 "uint a[1 << 18];\nfor (uint i = 0; i < 1 << 18; ++i) a[i] = i + in[i % 64];\n" + kOut + "a[in[t] << 12];",
                                 kKernelLine, 0, "512 KiB"},
                      CheckedRow{"private_memory", HazardKind::invalid_access,
                                 "uint a[1 << 8];\nfor (uint i = 0; i < 1 << 8; ++i) a[i] = i + in[i % 64];\n" + kOut + "a[in[t] << 2];"}),
    kNameOfRow);

// Nothing is stored, and nothing meets: what is read only decides when the kernel ends.
TEST(CheckedIdioms, AKernelMayReadWithoutEverWriting) {
  for (const std::string body : {"while (true) { if (in[0] != 12345) return; }", "do { } while (in[0] == 12345 && sh[0] == 77);"}) {
    Execution execution{.source = checked_kernel(body), .inputs = {std::vector<std::uint32_t>(64, 1)}};
    execution.inputs.emplace_back(64);
    execution.inputs.emplace_back(64);
    execution.threadgroup_bytes = 256;
    execution.options.policy = metal::Policy::checked;
    EXPECT_EQ(failure(execution), "") << body;
  }
}

}  // namespace
}  // namespace assay::tests::checked_idioms_test
