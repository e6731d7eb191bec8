// The policy `checked`: for every kind of finding kernels that show it, and twins of them that do not.
//
// Each row names the line of the body where the finding must be (and of the other party, where there is one), counted by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "tests/conformance/execute.h"

namespace assay::conformance {
namespace {

using metal::HazardKind;
using testing::HasSubstr;

// Line 4 of the result is the first line of `body`.
std::string checked_kernel(std::string_view body) {
  return "#include <metal_stdlib>\nusing namespace metal;\nkernel void test(device uint* out [[buffer(0)]], device const uint* in "
         "[[buffer(1)]], "
         "device float* scratch [[buffer(2)]], device atomic_uint* counters [[buffer(3)]], threadgroup uint* sh [[threadgroup(0)]], uint t "
         "[[thread_index_in_threadgroup]], uint sg "
         "[[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint tg [[threadgroup_position_in_grid]]) {\n" +
         std::string(body) + "\n}\n";
}

struct CheckedRow {
  std::string name;
  HazardKind kind;
  std::string body;              // 2 threadgroups of 64 threads; out 256 words, in 64 words, scratch 64 unwritten floats, sh 1024 bytes
  std::uint32_t first_line = 0;  // in the body, from 1; 0: nothing must be found
  std::uint32_t second_line = 0;
  std::string words = {};  // of the message
};

void PrintTo(const CheckedRow& row, std::ostream* stream) { *stream << row.name; }

std::vector<metal::Hazard> findings_of(const std::string& body, const std::string& schedule = "forward") {
  return execute({.source = checked_kernel(body),
                  .output_words = 256,
                  .inputs = {std::vector<std::uint32_t>(64, 7), {}, std::vector<std::uint32_t>(64, 0)},
                  .unwritten_words = {{2, 64}},
                  .threadgroups = {2, 1, 1},
                  .threads = {64, 1, 1},
                  .threadgroup_bytes = 1024,
                  .options = {.schedule = metal::Schedule::parse(schedule), .policy = metal::Policy::checked}})
      .hazards;
}

class Checked : public ::testing::TestWithParam<CheckedRow> {};

TEST_P(Checked, FindsItWhereItIsAndNothingElse) {
  const CheckedRow& row = GetParam();
  for (const char* schedule : {"forward", "reverse"}) {
    const auto findings = findings_of(row.body, schedule);
    if (row.first_line == 0) {
      for (const auto& finding : findings) ADD_FAILURE() << schedule << ": " << finding.message;
      continue;
    }
    ASSERT_EQ(findings.size(), 1U) << schedule;
    EXPECT_EQ(findings[0].kind, row.kind) << findings[0].message;
    const std::uint32_t second = findings[0].second ? findings[0].second->line - 3 : 0;
    const bool is_swapped = findings[0].first.line - 3 == row.second_line;  // who comes first is the schedule's affair
    EXPECT_EQ(findings[0].first.line - 3, is_swapped ? row.second_line : row.first_line) << findings[0].message;
    EXPECT_EQ(second, is_swapped ? row.first_line : row.second_line) << findings[0].message;
    if (!is_swapped) EXPECT_THAT(findings[0].message, HasSubstr(row.words));
  }
}

const std::string kBarrier = "threadgroup_barrier(mem_flags::mem_threadgroup);\n";
const std::string kOut = "out[tg * 64 + t] = ";

INSTANTIATE_TEST_SUITE_P(
    Bounds, Checked,
    ::testing::Values(
        CheckedRow{"one_element_too_far", HazardKind::out_of_bounds, kOut + "in[t + 1];", 1, 0,
                   "bytes 256..259 of 'in' (buffer 1, 256 bytes)"},
        CheckedRow{"the_last_element", HazardKind::out_of_bounds, kOut + "in[63 - t];"},
        CheckedRow{"before_the_start", HazardKind::out_of_bounds, kOut + "in[int(t) - 1];", 1, 0, "4 bytes before the start"},
        CheckedRow{"written_too_far", HazardKind::out_of_bounds, "out[tg * 64 + t + 129] = 1;", 1, 0, "writes bytes 1024..1027"},
        CheckedRow{"one_byte_of_a_wide_load", HazardKind::out_of_bounds,
                   "device const packed_uint4* p = (device const packed_uint4*)(in + 61);\n" + kOut + "p[0].x;", 2, 0, "bytes 244..259"},
        CheckedRow{"a_wide_load_that_fits", HazardKind::out_of_bounds,
                   "device const packed_uint4* p = (device const packed_uint4*)(in + 60);\n" + kOut + "p[0].x;"},
        CheckedRow{
            "through_a_pointer_in_a_struct", HazardKind::out_of_bounds,
            "struct S { device const uchar* bytes; } s = {(device const uchar*)in};\ns.bytes += 255 + (t == 63);\n" + kOut + "s.bytes[0];",
            3, 0, "byte 256"},
        CheckedRow{"of_threadgroup_memory", HazardKind::out_of_bounds, "sh[t + 193] = t;", 1, 0, "'sh' (threadgroup 0, 1024 bytes)"},
        CheckedRow{"of_a_threadgroup_variable", HazardKind::out_of_bounds,
                   "threadgroup uint a[64];\nthreadgroup uint b[64];\nb[t] = t;\na[t + 1] = t;\n", 4, 0,
                   "a threadgroup variable of 256 bytes"},
        CheckedRow{"both_variables_whole", HazardKind::out_of_bounds,
                   "threadgroup uint a[64];\nthreadgroup uint b[64];\nb[t] = t;\na[t] = t;\n"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Uninitialised, Checked,
    ::testing::Values(CheckedRow{"scratch_before_it_is_written", HazardKind::uninitialised_read, kOut + "as_type<uint>(scratch[0]);", 1, 0,
                                 "nobody has written byte 0"},
                      CheckedRow{"scratch_that_is_written", HazardKind::uninitialised_read,
                                 "if (tg == 0) scratch[t] = 1.0f;\nif (tg == 0) " + kOut + "as_type<uint>(scratch[t]);"},
                      CheckedRow{"threadgroup_memory", HazardKind::uninitialised_read,
                                 "if (t < 63) sh[t] = t;\n" + kBarrier + kOut + "sh[t];", 3, 0, "bytes 252..255 of 'sh'"},
                      CheckedRow{"threadgroup_memory_whole", HazardKind::uninitialised_read,
                                 "sh[t] = t;\n" + kBarrier + kOut + "sh[63 - t];"},
                      CheckedRow{"half_of_a_word", HazardKind::uninitialised_read,
                                 "((threadgroup half*)sh)[2 * t] = 1.0h;\n" + kOut + "sh[t];", 2, 0, "and nobody has written byte 2"},
                      CheckedRow{"both_halves", HazardKind::uninitialised_read,
                                 "((threadgroup half*)sh)[2 * t] = 1.0h;\n((threadgroup half*)sh)[2 * t + 1] = 1.0h;\n" + kOut + "sh[t];"},
                      CheckedRow{"of_the_threadgroup_before", HazardKind::uninitialised_read, "if (tg == 0) sh[t] = t;\n" + kOut + "sh[t];",
                                 2, 0, "(threadgroup 1, 0, 0)"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Alignment, Checked,
    ::testing::Values(CheckedRow{"float4_at_8_bytes", HazardKind::misaligned_access, kOut + "((device const uint4*)(in + 2))[0].x;", 1, 0,
                                 "a multiple of 16"},
                      CheckedRow{"float4_at_16_bytes", HazardKind::misaligned_access, kOut + "((device const uint4*)(in + 4))[0].x;"},
                      CheckedRow{"float2_at_4_bytes", HazardKind::misaligned_access, kOut + "((device const uint2*)(in + 1))[0].x;", 1, 0,
                                 "a multiple of 8"},
                      CheckedRow{"packed_at_4_bytes", HazardKind::misaligned_access, kOut + "((device const packed_uint2*)(in + 1))[0].x;"},
                      CheckedRow{"a_word_at_2_bytes", HazardKind::misaligned_access,
                                 kOut + "*(device const uint*)((device const uchar*)in + 2);", 1, 0, "a multiple of 4"},
                      CheckedRow{"a_short_at_2_bytes", HazardKind::misaligned_access,
                                 kOut + "*(device const ushort*)((device const uchar*)in + 2);"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Races, Checked,
    ::testing::Values(
        CheckedRow{"missing_threadgroup_barrier", HazardKind::threadgroup_race,
                   "sh[t] = t;\nsh[64 + t] = 0;\n" + kBarrier + "sh[t] = 1;\n" + kOut + "sh[63 - t];", 4, 5, "which lane"},
        CheckedRow{"with_it", HazardKind::threadgroup_race, "sh[t] = t;\n" + kBarrier + kOut + "sh[63 - t];"},
        CheckedRow{"barrier_that_fences_nothing", HazardKind::threadgroup_race,
                   "sh[t] = t;\n" + kBarrier + "sh[t] = t + 1;\nthreadgroup_barrier(mem_flags::mem_none);\n" + kOut + "sh[63 - t];", 3, 5,
                   "between simdgroups"},
        CheckedRow{"read_before_the_next_write", HazardKind::threadgroup_race,
                   "for (uint i = 0; i < 3; ++i) {\nsh[t] = t + i;\n" + kBarrier + kOut + "sh[t ^ 32];\n}", 2, 4, "nothing orders them"},
        CheckedRow{"with_a_second_barrier", HazardKind::threadgroup_race,
                   "for (uint i = 0; i < 3; ++i) {\nsh[t] = t + i;\n" + kBarrier + kOut + "sh[t ^ 32];\n" + kBarrier + "}"},
        CheckedRow{"loop_carried_within_one_simdgroup", HazardKind::simdgroup_race,
                   "if (sg == 0) for (uint i = 0; i < 3; ++i) {\nsh[lane] = lane + i;\nsimdgroup_barrier(mem_flags::mem_threadgroup);\n" +
                       kOut + "sh[lane ^ 1];\n}",
                   2, 4, "within a simdgroup"},
        CheckedRow{"with_a_simdgroup_barrier", HazardKind::simdgroup_race,
                   "if (sg == 0) for (uint i = 0; i < 3; ++i) {\nsh[lane] = lane + i;\nsimdgroup_barrier(mem_flags::mem_threadgroup);\n" +
                       kOut + "sh[lane ^ 1];\nsimdgroup_barrier(mem_flags::mem_threadgroup);\n}"},
        CheckedRow{"different_values_to_one_place", HazardKind::threadgroup_race, "sh[lane] = sg;", 1, 1, "writes"},
        CheckedRow{"equal_values_to_one_place", HazardKind::identical_writes, "sh[lane] = lane;", 1, 1, "identical"},
        CheckedRow{"atomics", HazardKind::threadgroup_race,
                   "threadgroup atomic_uint n;\nif (t == 0) atomic_store_explicit(&n, 0u, memory_order_relaxed);\n" + kBarrier +
                       "atomic_fetch_add_explicit(&n, 1u, memory_order_relaxed);\n"},
        CheckedRow{"two_threadgroups_one_element", HazardKind::device_race, "out[t] = tg;", 1, 1, "between threadgroups"},
        CheckedRow{"an_element_each", HazardKind::device_race, kOut + "tg;"},
        CheckedRow{"one_threadgroup_reads_anothers", HazardKind::device_race,
                   "if (tg == 0) scratch[t] = 1.0f;\nif (tg == 1) out[t] = as_type<uint>(scratch[63 - t]);", 1, 2, "between threadgroups"},
        CheckedRow{"device_atomics", HazardKind::device_race, "atomic_fetch_add_explicit(counters + lane, 1u, memory_order_relaxed);"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace assay::conformance
