// The policy `checked`: for every kind of finding kernels that show it, and twins of them that do not.
//
// Each row names the line of the body where the finding must be (and of the other party, where there is one), counted by hand.
#include <gtest/gtest.h>

#include "tests/conformance/checked_kernel.h"
#include "tests/conformance/checked_rows.h"

namespace assay::tests::checked_test {
namespace {

using metal::HazardKind;

// Word t of `counters`, by threadgroup 0.
const std::string kWriteWord = "if (tg == 0) ((device uint*)counters)[t] = t;\n";
std::string read_word(const std::string& index) { return "if (tg == 0) out[t] = ((device uint*)counters)[" + index + "];"; }

// The lanes that come last read what the others have written.
std::string the_last_simdgroup(const std::string& fence) {
  return "if (tg == 0) scratch[t] = 1.0f;\n" + fence +
         "const uint n = tg != 0 ? 0 : atomic_fetch_add_explicit(counters, 1u, memory_order_relaxed);\n" + fence +
         "if (n >= 39) out[t] = as_type<uint>(scratch[t ^ 32]);";
}

INSTANTIATE_TEST_SUITE_P(
    Bounds, Checked,
    ::testing::Values(
        CheckedRow{"one_element_too_far", HazardKind::out_of_bounds, kOut + "in[t + 1];", 1, 0,
                   "element 64, bytes 256..259 of 'in' (buffer 1, 256 bytes)"},
        CheckedRow{"the_last_element", HazardKind::out_of_bounds, kOut + "in[63 - t];"},
        CheckedRow{"behind_the_last_key_of_the_last_head", HazardKind::out_of_bounds,
                   std::string("uint sum = 0;\nfor (uint key = t % 16; key <= 16; ++key)\n") +
                       "if (key < 16 || t == 63) sum += in[t / 16 * 16 + key];\n" + kOut + "sum;",
                   3, 0, "lane 31 of simdgroup 1 reads element 64"},
        CheckedRow{
            "up_to_the_last_key_of_the_last_head", HazardKind::out_of_bounds,
            std::string("uint sum = 0;\nfor (uint key = t % 16; key < 16; ++key)\n") + "sum += in[t / 16 * 16 + key];\n" + kOut + "sum;"},
        CheckedRow{"before_the_start", HazardKind::out_of_bounds, kOut + "in[int(t) - 1];", 1, 0, "4 bytes before the start"},
        CheckedRow{"from_the_start_on", HazardKind::out_of_bounds, kOut + "in[max(int(t) - 1, 0)];"},
        CheckedRow{"written_too_far", HazardKind::out_of_bounds, "out[tg * 64 + t + 129] = 1;", 1, 0,
                   "writes element 256, bytes 1024..1027"},
        CheckedRow{"written_up_to_the_end", HazardKind::out_of_bounds, "out[tg * 64 + t + 128] = 1;"},
        CheckedRow{"of_threadgroup_memory", HazardKind::out_of_bounds, "sh[t + 193] = t;", 1, 0, "'sh' (threadgroup 0, 1024 bytes)"},
        CheckedRow{"threadgroup_memory_up_to_the_end", HazardKind::out_of_bounds, "sh[t + 192] = t;"},
        CheckedRow{"of_a_threadgroup_variable", HazardKind::out_of_bounds,
                   "threadgroup uint a[64];\nthreadgroup uint b[64];\nb[t] = t;\na[t + 1] = t;\n", 4, 0,
                   "'a' (threadgroup variable, 256 bytes)"},
        CheckedRow{"both_variables_whole", HazardKind::out_of_bounds,
                   "threadgroup uint a[64];\nthreadgroup uint b[64];\nb[t] = t;\na[t] = t;\n"},
        CheckedRow{"an_atomic_too_far", HazardKind::out_of_bounds, "atomic_fetch_add_explicit(counters + 64, 1u, memory_order_relaxed);", 1,
                   0, "changes element 64, bytes 256..259 of 'counters'"},
        CheckedRow{"an_atomic_at_the_end", HazardKind::out_of_bounds,
                   "atomic_fetch_add_explicit(counters + 63, 1u, memory_order_relaxed);"},
        CheckedRow{"a_struct_that_ends_before", HazardKind::out_of_bounds,
                   "struct S { uint a[3]; };\n" + kOut + "((device const S*)in)[t % 21].a[2];"},
        CheckedRow{"a_struct_that_ends_behind", HazardKind::out_of_bounds,
                   "struct S { uint a[3]; };\n" + kOut + "((device const S*)in)[t % 22].a[2];", 2, 0, "bytes 260..263"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    LocalArrays, Checked,
    ::testing::Values(
        CheckedRow{"read_too_far", HazardKind::out_of_bounds, "uint a[4] = {t, t + 1, t + 2, t + 3};\n" + kOut + "a[t / 15];", 2, 0,
                   "reads bytes 16..19 of a local array of 16 bytes"},
        CheckedRow{"read_to_the_end", HazardKind::out_of_bounds, "uint a[4] = {t, t + 1, t + 2, t + 3};\n" + kOut + "a[t / 16];"},
        CheckedRow{"read_before", HazardKind::out_of_bounds, "uint a[4] = {t, t + 1, t + 2, t + 3};\n" + kOut + "a[int(t % 4) - 1];", 2, 0,
                   "reads bytes -4..-1 of a local array"},
        CheckedRow{"written_too_far", HazardKind::out_of_bounds,
                   "uint a[4];\nfor (uint i = 0; i < 4 + t / 63; ++i)\na[i] = i + t;\n" + kOut + "a[t % 4];", 3, 0,
                   "writes bytes 16..19 of a local array of 16 bytes"},
        CheckedRow{"written_to_the_end", HazardKind::out_of_bounds,
                   "uint a[4];\nfor (uint i = 0; i < 4 + t / 64; ++i)\na[i] = i + t;\n" + kOut + "a[t % 4];"},
        CheckedRow{
            "far_outside", HazardKind::out_of_bounds,
            "float4 a[4];\nfor (uint i = 0; i < 4; ++i) a[i] = float4(i);\na[t / 63 * 1000] = float4(t);\n" + kOut + "uint(a[t % 4].x);", 3,
            0, "of a local array of 64 bytes"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    Pointers, Checked,
    ::testing::Values(
        CheckedRow{
            "of_a_struct", HazardKind::out_of_bounds,
            "struct S { device const uchar* bytes; } s = {(device const uchar*)in};\ns.bytes += 255 + (t == 63);\n" + kOut + "s.bytes[0];",
            3, 0, "byte 256"},
        CheckedRow{"of_a_struct_within", HazardKind::out_of_bounds,
                   "struct S { device const uchar* bytes; } s = {(device const uchar*)in};\ns.bytes += 255;\n" + kOut + "s.bytes[0];"},
        CheckedRow{"cast_and_moved", HazardKind::out_of_bounds,
                   "device const half* h = (device const half*)in + 2 * t;\n++h;\n++h;\n" + kOut + "uint(h[0]);", 4, 0, "bytes 256..257"},
        CheckedRow{"cast_and_moved_within", HazardKind::out_of_bounds,
                   "device const half* h = (device const half*)in + 2 * t;\n++h;\n" + kOut + "uint(h[0]);"},
        CheckedRow{"handed_to_a_helper", HazardKind::out_of_bounds,
                   "auto last = [](device const uint* p, uint n) {\nreturn p[n];\n};\n" + kOut + "last(in, 64);", 2, 0, "element 64"},
        CheckedRow{"handed_to_a_helper_within", HazardKind::out_of_bounds,
                   "auto last = [](device const uint* p, uint n) {\nreturn p[n];\n};\n" + kOut + "last(in, 63);"},
        CheckedRow{"a_reference", HazardKind::out_of_bounds, "device uint& r = out[256];\nr = 1;", 2, 0, "element 256"},
        CheckedRow{"a_reference_within", HazardKind::out_of_bounds, "device uint& r = out[255 - tg * 64 - t];\nr = 1;"},
        CheckedRow{"of_two_buffers", HazardKind::out_of_bounds,
                   "device const uint* p = t % 2 == 0 ? in : (device const uint*)counters;\n" + kOut + "p[64];", 2, 0, "element 64"},
        CheckedRow{"of_two_buffers_within", HazardKind::out_of_bounds,
                   "device const uint* p = t % 2 == 0 ? in : (device const uint*)counters;\n" + kOut + "p[63];"},
        CheckedRow{"an_array_in_a_threadgroup_struct", HazardKind::out_of_bounds, "threadgroup struct { uint a[32]; } s;\ns.a[t] = t;", 2,
                   0, "128 bytes"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    Uninitialised, Checked,
    ::testing::Values(
        CheckedRow{"scratch_before_it_is_written", HazardKind::uninitialised_read, kOut + "as_type<uint>(scratch[0]);", 1, 0,
                   "byte 0 is uninitialised"},
        CheckedRow{"a_local_array", HazardKind::uninitialised_read,
                   "uint a[4];\nfor (uint i = 0; i < 3; ++i) a[i] = t;\n" + kOut + "a[(t + 3) % 4];", 3, 0,
                   "reads bytes 12..15 of a local array, which it has not written"},
        CheckedRow{"a_local_array_that_is_written", HazardKind::uninitialised_read,
                   "uint a[4];\nfor (uint i = 0; i < 4; ++i) a[i] = t;\n" + kOut + "a[(t + 3) % 4];"},
        CheckedRow{"a_local_array_with_an_initialiser", HazardKind::uninitialised_read, "uint a[4] = {1};\n" + kOut + "a[(t + 3) % 4];"},
        CheckedRow{"a_local_array_in_each_round", HazardKind::uninitialised_read,
                   "uint sum = 0;\nfor (uint round = 0; round < 2; ++round) {\nfloat4 a[2];\nif (round == 0) a[t % 2] = 1.0f;\n"
                   "sum += uint(a[t % 2].x);\n}\n" +
                       kOut + "sum;",
                   5, 0, "of a local array"},
        CheckedRow{"scratch_that_is_written", HazardKind::uninitialised_read,
                   "if (tg == 0) scratch[t] = 1.0f;\nif (tg == 0) " + kOut + "as_type<uint>(scratch[t]);"},
        CheckedRow{"threadgroup_memory", HazardKind::uninitialised_read, "if (t < 63) sh[t] = t;\n" + kBarrier + kOut + "sh[t];", 3, 0,
                   "bytes 252..255 of 'sh'"},
        CheckedRow{"threadgroup_memory_whole", HazardKind::uninitialised_read, "sh[t] = t;\n" + kBarrier + kOut + "sh[63 - t];"},
        CheckedRow{"half_of_a_word", HazardKind::uninitialised_read,
                   "if (t == 0) ((threadgroup half*)sh)[0] = 1.0h;\nif (t == 0) " + kOut + "sh[0];", 2, 0, "byte 2 is uninitialised"},
        CheckedRow{"both_halves", HazardKind::uninitialised_read,
                   "((threadgroup half*)sh)[2 * t] = 1.0h;\n((threadgroup half*)sh)[2 * t + 1] = 1.0h;\n" + kOut + "sh[t];"},
        CheckedRow{"of_the_threadgroup_before", HazardKind::uninitialised_read, "if (tg == 0) sh[t] = t;\n" + kOut + "sh[t];", 2, 0,
                   "(threadgroup 1, 0, 0)"},
        CheckedRow{"one_component_missing", HazardKind::uninitialised_read,
                   "if (t == 0 && tg == 0) ((device float2*)scratch)[0].x = 1.0f;\nif (t == 0 && tg == 0) " + kOut +
                       "uint(((device float2*)scratch)[0].y);",
                   2, 0, "byte 4 is uninitialised"},
        CheckedRow{"one_component_read", HazardKind::uninitialised_read,
                   "if (t == 0 && tg == 0) ((device float2*)scratch)[0].x = 1.0f;\nif (t == 0 && tg == 0) " + kOut +
                       "uint(((device float2*)scratch)[0].x);"},
        CheckedRow{"an_atomic_nobody_set", HazardKind::uninitialised_read,
                   "threadgroup atomic_uint n;\natomic_fetch_add_explicit(&n, 1u, memory_order_relaxed);", 2, 0,
                   "byte 0 is uninitialised"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    Padding, Checked,
    ::testing::Values(
        CheckedRow{"of_a_struct", HazardKind::uninitialised_read,
                   "struct S { uchar a; uint b; };\nthreadgroup S s[64];\ns[t].a = 1;\ns[t].b = 2;\nS copy = s[t];\ns[t] = copy;\n" + kOut +
                       "s[t].b;"},
        CheckedRow{
            "of_a_struct_between_arrays", HazardKind::uninitialised_read,
            "struct S { uchar a; uint b; };\nthreadgroup S s[128];\ns[t].a = 1;\ns[t].b = 2;\ns[64 + t] = s[t];\n" + kOut + "s[64 + t].a;"},
        CheckedRow{"of_a_vector_of_three", HazardKind::uninitialised_read,
                   "threadgroup float3 v[64];\nv[t].x = 1;\nv[t].y = 2;\nv[t].z = 3;\nfloat3 copy = v[t];\nv[t] = copy * 2;\n" + kOut +
                       "uint(v[t].z);"},
        CheckedRow{"of_a_vector_of_three_between_arrays", HazardKind::uninitialised_read,
                   "threadgroup float3 v[128];\nv[t].x = 1;\nv[t].y = 2;\nv[t].z = 3;\nv[64 + t] = v[t];\n" + kOut + "uint(v[64 + t].z);"},
        CheckedRow{
            "of_a_vector_of_three_changed", HazardKind::uninitialised_read,
            "threadgroup float3 v[128];\nv[t].x = 1;\nv[t].y = 2;\nv[t].z = 3;\nfloat3 copy = v[t];\ncopy.x = 4;\nv[64 + t] = copy;\n" +
                kOut + "uint(v[64 + t].z);"},
        CheckedRow{"of_a_vector_of_three_a_component_is_missing", HazardKind::uninitialised_read,
                   "threadgroup float3 v[64];\nv[t].x = 1;\nv[t].y = 2;\nfloat3 copy = v[t] * 2;\n" + kOut + "uint(copy.z);", 4, 0,
                   "uninitialised"},
        CheckedRow{"packed_has_none", HazardKind::uninitialised_read,
                   "threadgroup packed_float3 v[64];\nv[t] = packed_float3(1, 2, 3);\nfloat3 copy = v[t];\n" + kOut + "uint(copy.z);"},
        CheckedRow{"neighbours_of_a_bfloat", HazardKind::uninitialised_read,
                   "threadgroup bfloat* b = (threadgroup bfloat*)sh;\nb[t] = bfloat(1.0f);\n" + kBarrier +
                       "bfloat2 pair = ((threadgroup bfloat2*)b)[t / 2];\n" + kOut + "uint(pair.y);"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    Alignment, Checked,
    ::testing::Values(
        CheckedRow{"float4_at_8_bytes", HazardKind::misaligned_access,
                   "const float4 v = ((device const float4*)(in + 2))[0];\n" + kOut + "as_type<uint>(v.w);", 1, 0, "a multiple of 16"},
        CheckedRow{"float4_at_16_bytes", HazardKind::misaligned_access,
                   "const float4 v = ((device const float4*)(in + 4))[0];\n" + kOut + "as_type<uint>(v.w);"},
        CheckedRow{"uint2_at_4_bytes", HazardKind::misaligned_access,
                   "const uint2 v = ((device const uint2*)(in + 1))[0];\n" + kOut + "v.y;", 1, 0, "a multiple of 8"},
        CheckedRow{"packed_at_4_bytes", HazardKind::misaligned_access,
                   "const uint2 v = ((device const packed_uint2*)(in + 1))[0];\n" + kOut + "v.y;"},
        CheckedRow{"a_word_at_2_bytes", HazardKind::misaligned_access, kOut + "*(device const uint*)((device const uchar*)in + 2);", 1, 0,
                   "a multiple of 4"},
        CheckedRow{"a_short_at_2_bytes", HazardKind::misaligned_access, kOut + "*(device const ushort*)((device const uchar*)in + 2);"},
        CheckedRow{"written_at_8_bytes", HazardKind::misaligned_access, "((threadgroup float4*)(sh + 8 * lane + 2))[0] = float4(1);", 1, 0,
                   "writes"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    ThreadgroupRaces, Checked,
    ::testing::Values(
        CheckedRow{"missing_threadgroup_barrier", HazardKind::threadgroup_race,
                   "sh[t] = t;\nsh[64 + t] = 0;\n" + kBarrier + "sh[t] = 1;\n" + kOut + "sh[t ^ 32];", 4, 5, "nothing orders them"},
        CheckedRow{"with_it", HazardKind::threadgroup_race,
                   "sh[t] = t;\nsh[64 + t] = 0;\n" + kBarrier + "sh[t] = 1;\n" + kBarrier + kOut + "sh[t ^ 32];"},
        CheckedRow{"a_simdgroup_barrier_does_not_do", HazardKind::threadgroup_race,
                   "sh[t] = t;\n" + kBarrier + "sh[t] = 1;\nsimdgroup_barrier(mem_flags::mem_threadgroup);\n" + kOut + "sh[t ^ 32];", 3, 5,
                   "between simdgroups"},
        CheckedRow{"read_before_the_next_write", HazardKind::threadgroup_race,
                   "for (uint i = 0; i < 3; ++i) {\nsh[t] = t + i;\n" + kBarrier + kOut + "sh[t ^ 32];\n}", 2, 4, "nothing orders them"},
        CheckedRow{"with_a_second_barrier", HazardKind::threadgroup_race,
                   "for (uint i = 0; i < 3; ++i) {\nsh[t] = t + i;\n" + kBarrier + kOut + "sh[t ^ 32];\n" + kBarrier + "}"},
        CheckedRow{"different_values_to_one_place", HazardKind::threadgroup_race, "sh[lane] = sg;", 1, 1, "writes"},
        CheckedRow{"neighbouring_bytes", HazardKind::threadgroup_race, "((threadgroup uchar*)sh)[t] = uchar(sg);"},
        CheckedRow{"a_plain_read_of_an_atomic", HazardKind::threadgroup_race,
                   "threadgroup atomic_uint n;\nif (t == 0) atomic_store_explicit(&n, 0u, memory_order_relaxed);\n" + kBarrier +
                       "if (sg == 1) atomic_fetch_add_explicit(&n, 1u, memory_order_relaxed);\nif (sg == 0) " + kOut +
                       "*(threadgroup uint*)&n;",
                   4, 5, "nothing orders them"},
        CheckedRow{"atomics", HazardKind::threadgroup_race,
                   "threadgroup atomic_uint n;\nif (t == 0) atomic_store_explicit(&n, 0u, memory_order_relaxed);\n" + kBarrier +
                       "atomic_fetch_add_explicit(&n, 1u, memory_order_relaxed);\n"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    UnfencedBarriers, Checked,
    ::testing::Values(
        CheckedRow{"mem_none", HazardKind::unfenced_barrier, "sh[t] = t;\n" + kUnfenced + kOut + "sh[t ^ 32];", 1, 3,
                   "test.metal:5 does not fence"},
        CheckedRow{"mem_threadgroup", HazardKind::unfenced_barrier, "sh[t] = t;\n" + kBarrier + kOut + "sh[t ^ 32];"},
        CheckedRow{"mem_device", HazardKind::unfenced_barrier,
                   "sh[t] = t;\nthreadgroup_barrier(mem_flags::mem_device);\n" + kOut + "sh[t ^ 32];", 1, 3, "test.metal:5 does not fence"},
        CheckedRow{"both_flags", HazardKind::unfenced_barrier,
                   "sh[t] = t;\nthreadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);\n" + kOut + "sh[t ^ 32];"},
        CheckedRow{"before_the_next_write", HazardKind::unfenced_barrier,
                   "for (uint i = 0; i < 3; ++i) {\nsh[t] = t + i;\n" + kBarrier + kOut + "sh[t ^ 32];\n" + kUnfenced + "}", 2, 4,
                   "does not fence"},
        CheckedRow{"of_what_needs_none", HazardKind::unfenced_barrier, "sh[t] = t;\n" + kUnfenced + kOut + "sh[t];"},
        CheckedRow{"of_two_barriers_one", HazardKind::unfenced_barrier, "sh[t] = t;\n" + kBarrier + kUnfenced + kOut + "sh[t ^ 32];"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    SimdgroupRaces, Checked,
    ::testing::Values(
        CheckedRow{"loop_carried_write_after_read", HazardKind::simdgroup_race,
                   "if (sg == 0) for (uint i = 0; i < 3; ++i) {\nsh[lane] = lane + i;\nsimdgroup_barrier(mem_flags::mem_threadgroup);\n" +
                       kOut + "sh[lane ^ 1];\n}",
                   2, 4, "within a simdgroup"},
        CheckedRow{"with_a_second_barrier", HazardKind::simdgroup_race,
                   "if (sg == 0) for (uint i = 0; i < 3; ++i) {\nsh[lane] = lane + i;\nsimdgroup_barrier(mem_flags::mem_threadgroup);\n" +
                       kOut + "sh[lane ^ 1];\nsimdgroup_barrier(mem_flags::mem_threadgroup);\n}"},
        CheckedRow{"neighbour_without_a_barrier", HazardKind::simdgroup_race, "sh[t] = t;\n" + kOut + "sh[t ^ 1];", 1, 2,
                   "within a simdgroup"},
        CheckedRow{"its_own_slot", HazardKind::simdgroup_race, "sh[t] = t;\n" + kOut + "sh[t];"},
        CheckedRow{"a_barrier_that_fences_device_memory", HazardKind::simdgroup_race,
                   "sh[t] = t;\nsimdgroup_barrier(mem_flags::mem_device);\n" + kOut + "sh[t ^ 1];", 1, 3, "within a simdgroup"},
        CheckedRow{"what_several_read", HazardKind::simdgroup_race,
                   "if (t == 31) sh[0] = 1;\n" + kBarrier + "if (sg == 0) " + kOut + "sh[0];\nif (t == 31) sh[0] = 2;", 3, 4, ""},
        CheckedRow{"what_several_read_behind_a_barrier", HazardKind::simdgroup_race,
                   "if (t == 31) sh[0] = 1;\n" + kBarrier + "if (sg == 0) " + kOut + "sh[0];\n" + kBarrier + "if (t == 31) sh[0] = 2;"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    DeviceRaces, Checked,
    ::testing::Values(
        CheckedRow{"two_threadgroups_one_element", HazardKind::device_race, "out[t] = tg;", 1, 1, "between threadgroups"},
        CheckedRow{"an_element_each", HazardKind::device_race, kOut + "tg;"},
        CheckedRow{"one_threadgroup_reads_anothers", HazardKind::device_race,
                   "if (tg == 0) scratch[t] = 1.0f;\nif (tg == 1) out[t] = as_type<uint>(scratch[63 - t]);", 1, 2, "between threadgroups"},
        CheckedRow{"each_reads_its_own", HazardKind::device_race, kOut + "tg;\nout[128 + tg * 64 + t] = out[tg * 64 + t];"},
        CheckedRow{"one_writes_what_another_read", HazardKind::device_race,
                   "if (tg == 0) out[t] = atomic_load_explicit(counters + t, memory_order_relaxed);\nif (tg == 1) *(device uint*)(counters "
                   "+ t) = 1;",
                   1, 2, "between threadgroups"},
        CheckedRow{"atomics", HazardKind::device_race, "atomic_fetch_add_explicit(counters + lane, 1u, memory_order_relaxed);"},
        CheckedRow{"one_writes_what_it_and_another_read", HazardKind::device_race,
                   "const uint v = atomic_load_explicit(counters + lane, memory_order_relaxed);\n" + kDevice +
                       "if (tg == 1 && sg == 1) *(device uint*)(counters + lane) = v;",
                   1, 3, "between threadgroups"},
        CheckedRow{"halves_of_a_word", HazardKind::device_race, "((device ushort*)out)[2 * t + tg] = 1;"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    DeviceRacesOfOneThreadgroup, Checked,
    ::testing::Values(
        CheckedRow{"two_simdgroups_one_element", HazardKind::threadgroup_race, "if (tg == 0) out[lane] = sg;", 1, 1,
                   "'out' (buffer 0, 1024 bytes), which lane 0 of simdgroup"},
        CheckedRow{"the_other_simdgroup_reads", HazardKind::threadgroup_race, kWriteWord + read_word("t ^ 32"), 1, 2, "between simdgroups"},
        CheckedRow{"the_other_simdgroup_reads_behind_a_barrier", HazardKind::threadgroup_race, kWriteWord + kDevice + read_word("t ^ 32")},
        CheckedRow{"the_other_simdgroup_reads_behind_a_barrier_of_other_memory", HazardKind::unfenced_barrier,
                   kWriteWord + kBarrier + read_word("t ^ 32"), 1, 3, ":5 does not fence device memory"},
        CheckedRow{"the_other_simdgroup_overwrites_what_was_read", HazardKind::threadgroup_race,
                   read_word("t") + "\n" + kBarrier + kDevice + read_word("t") + "\nif (tg == 0) ((device uint*)counters)[t ^ 32] = t;", 4,
                   5, "between simdgroups"},
        CheckedRow{"all_lanes_one_element", HazardKind::simdgroup_race, "if (tg == 0 && sg == 0) out[0] = lane;", 1, 1,
                   "within a simdgroup: lane 1 of simdgroup 0 writes element 0"},
        CheckedRow{"the_neighbour_reads", HazardKind::simdgroup_race, kWriteWord + read_word("t ^ 1"), 1, 2, "within a simdgroup"},
        CheckedRow{"the_neighbour_reads_behind_a_barrier", HazardKind::simdgroup_race,
                   kWriteWord + "simdgroup_barrier(mem_flags::mem_device);\n" + read_word("t ^ 1")},
        CheckedRow{"the_neighbour_reads_behind_a_barrier_of_other_memory", HazardKind::simdgroup_race,
                   kWriteWord + "simdgroup_barrier(mem_flags::mem_threadgroup);\n" + read_word("t ^ 1"), 1, 3, "within a simdgroup"},
        CheckedRow{"the_last_simdgroup_reads_behind_fences", HazardKind::threadgroup_race, the_last_simdgroup(kFence)},
        CheckedRow{"the_last_simdgroup_reads_without_fences", HazardKind::threadgroup_race, the_last_simdgroup(";\n"), 1, 5,
                   "between simdgroups"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    IdenticalWrites, Checked,
    ::testing::Values(CheckedRow{"of_two_simdgroups", HazardKind::identical_writes, "sh[lane] = lane;", 1, 1, "identical"},
                      CheckedRow{"of_one", HazardKind::identical_writes, "if (sg == 0) sh[lane] = lane;"},
                      CheckedRow{"of_two_threadgroups", HazardKind::identical_writes, "out[t] = t;", 1, 1, "identical"},
                      CheckedRow{"of_one_threadgroup", HazardKind::identical_writes, "if (tg == 0) out[t] = t;"},
                      CheckedRow{"of_all_lanes", HazardKind::identical_writes, "if (sg == 0) sh[0] = 3;", 1, 1, "identical"},
                      CheckedRow{"of_one_lane", HazardKind::identical_writes, "if (t == 0) sh[0] = 3;"},
                      CheckedRow{"of_all_lanes_to_device_memory", HazardKind::identical_writes, "if (tg == 0 && sg == 0) out[0] = 3;", 1, 1,
                                 "identical"},
                      CheckedRow{"of_two_simdgroups_to_device_memory", HazardKind::identical_writes, "if (tg == 0) out[lane] = lane;", 1, 1,
                                 "identical"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    NonfiniteResults, Checked,
    ::testing::Values(
        CheckedRow{"a_product", HazardKind::nonfinite_result, kFloat + kOut + "as_type<uint>(x * 1e38f);", 2, 0,
                   "infinity from finite operands"},
        CheckedRow{"a_large_product", HazardKind::nonfinite_result, kFloat + kOut + "as_type<uint>(x * 1e37f);"},
        CheckedRow{"a_half", HazardKind::nonfinite_result, kFloat + "const half h = half(x * 10000.0f);\n" + kOut + "as_type<ushort>(h);",
                   2, 0, "70000 converted to half"},
        CheckedRow{"a_large_half", HazardKind::nonfinite_result,
                   kFloat + "const half h = half(x * 9000.0f);\n" + kOut + "as_type<ushort>(h);"},
        CheckedRow{"a_bfloat", HazardKind::nonfinite_result,
                   kFloat + "const bfloat b = bfloat(x * 0.0f + 3.4e38f);\n" + kOut + "as_type<ushort>(b);", 2, 0, "converted to bfloat"},
        CheckedRow{"a_division_by_zero", HazardKind::nonfinite_result, kFloat + kOut + "as_type<uint>(1.0f / (x - 7.0f));", 2, 0,
                   "computes 1 / 0"},
        CheckedRow{"a_division", HazardKind::nonfinite_result, kFloat + kOut + "as_type<uint>(1.0f / (x - 6.0f));"},
        CheckedRow{"one_component", HazardKind::nonfinite_result,
                   kFloat + "const float4 v = float4(1, 2, 3, x) * 1e38f;\n" + kOut + "as_type<uint>(v.w);", 2, 0, "7 * 1e+38 (float)"},
        CheckedRow{"a_root", HazardKind::nonfinite_result, kFloat + kOut + "as_type<uint>(sqrt(x - 8.0f));", 2, 0,
                   "NaN from finite operands"},
        CheckedRow{"a_logarithm", HazardKind::nonfinite_result, kFloat + kOut + "as_type<uint>(log(x - 7.0f));", 2, 0,
                   "infinity from finite operands"},
        CheckedRow{"of_infinity", HazardKind::nonfinite_result,
                   kFloat + "const float m = max(-INFINITY, x);\n" + kOut + "as_type<uint>(exp(-INFINITY - m) + exp(-INFINITY));"},
        CheckedRow{"of_two_infinities", HazardKind::nonfinite_result,
                   kFloat + "const float m = x == 7.0f ? -INFINITY : x;\n" + kOut + "as_type<uint>(exp(-INFINITY - m));", 3, 0,
                   "computes -inf - -inf (float)"},
        CheckedRow{"of_zero_and_infinity", HazardKind::nonfinite_result,
                   kFloat + "const float2 v = float2(1.0f, x - 7.0f) * INFINITY;\n" + kOut + "as_type<uint>(v.y);", 2, 0,
                   "0 * inf (float)"},
        CheckedRow{"of_nan", HazardKind::nonfinite_result, kFloat + kOut + "as_type<uint>(x == 7.0f ? NAN * x : x);"}),
    kNameOfRow);

INSTANTIATE_TEST_SUITE_P(
    BarrierDivergence, Checked,
    ::testing::Values(CheckedRow{"half_a_simdgroup", HazardKind::barrier_divergence, "if (lane < 16) " + kBarrier, 1, 0, "16 lanes"},
                      CheckedRow{"one_threadgroup", HazardKind::barrier_divergence, "if (tg == 0) " + kBarrier},
                      CheckedRow{"one_simdgroup", HazardKind::barrier_divergence, "if (sg == 0) " + kBarrier, 1, 0, "had returned"},
                      CheckedRow{"a_simdgroup_barrier_of_one", HazardKind::barrier_divergence,
                                 "if (sg == 0) simdgroup_barrier(mem_flags::mem_threadgroup);"},
                      CheckedRow{"two_barriers", HazardKind::barrier_divergence,
                                 "if (sg == 0) {\n" + kBarrier + "} else {\n" + kBarrier + "}", 2, 4, "went to another"},
                      CheckedRow{"in_a_loop", HazardKind::barrier_divergence, "for (uint i = 0; i < tg; ++i) " + kBarrier}),
    kNameOfRow);

}  // namespace
}  // namespace assay::tests::checked_test
