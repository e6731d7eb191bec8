// The policy `checked` on copies of structs, vectors and arrays, between all address spaces, beside an argument that set_bytes() gave:
// each row that fires stands before its twin that does not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "tests/conformance/execute.h"

namespace assay::tests::checked_copies_test {
namespace {

using testing::HasSubstr;

struct CopyRow {
  std::string name;
  std::string body;
  std::uint32_t line = 0;  // of the body, from 1, where it is out of bounds; 0: nothing must be found
  std::string words = {};
  std::string helpers = {};
};

void PrintTo(const CopyRow& row, std::ostream* stream) { *stream << row.name; }

// 32 threads; in: 16 S of 12 bytes and 4 Q of 48; p, c, r: given by set_bytes(), 24, 16 and 12 bytes; out 384 bytes; sh 512.
const std::string kTypes =
    "struct S { uint a; uint b; uint c; }; struct P { uint n; uint m; uint2 k; float4 v; }; struct H { half d; uchar q[6]; }; "
    "struct B { uint low : 5; uint high : 27; uchar tag; }; struct V { float3 p; uint n; }; struct R { packed_float3 p; }; "
    "union U { float f[4]; uint4 u; }; struct N { S s[2]; uint2 x; }; ";

std::string source_of(const CopyRow& row) {
  std::string helpers = row.helpers;
  std::ranges::replace(helpers, '\n', ' ');
  return "#include <metal_stdlib>\nusing namespace metal; " + kTypes + helpers +
         "\nkernel void test(device uint* out [[buffer(0)]], device const uint* in [[buffer(1)]], constant P& p [[buffer(2)]], "
         "constant uint* c [[buffer(3)]], constant R& r [[buffer(4)]], device uint* io [[buffer(5)]], "
         "threadgroup uint* sh [[threadgroup(0)]], uint t [[thread_index_in_threadgroup]]) {\n" +
         row.body + "\n}\n";
}

class CheckedCopies : public ::testing::TestWithParam<CopyRow> {};

TEST_P(CheckedCopies, AreJudgedByWhatTheyTouch) {
  const CopyRow& row = GetParam();
  std::vector<std::uint32_t> in(96);
  for (std::uint32_t i = 0; i < in.size(); ++i) in[i] = i;
  Execution execution{.source = source_of(row),
                      .output_words = 128,
                      .inputs = {in, {3, 5, 0, 0, 1, 2, 3, 4}, {1, 2, 3, 4}, {7, 8, 9}, in},
                      .set_bytes = {2, 3, 4},
                      .threadgroup_bytes = 512};
  execution.options.policy = metal::Policy::checked;
  const auto checked = execute(execution);
  std::string all;
  for (const auto& finding : checked.hazards) all += finding.message + "\n";
  if (row.line != 0) {
    ASSERT_EQ(checked.hazards.size(), 1U) << all;
    EXPECT_EQ(checked.hazards[0].kind, metal::HazardKind::out_of_bounds) << all;
    EXPECT_EQ(checked.hazards[0].first.line, row.line + 3) << all;
    EXPECT_THAT(checked.hazards[0].message, HasSubstr(row.words));
    return;
  }
  EXPECT_EQ(all, "");
  execution.options.policy = metal::Policy::native;
  EXPECT_EQ(checked.output, execute(execution).output);
}

const std::string kFill = "for (uint i = t; i < 128; i += 32) sh[i] = i;\nthreadgroup_barrier(mem_flags::mem_threadgroup);\n";
const std::string kUse = "out[t] = p.n + c[3] + uint(r.p.z) + ";

INSTANTIATE_TEST_SUITE_P(
    Structs, CheckedCopies,
    ::testing::Values(
        CopyRow{"device_to_thread", "S s = ((device const S*)in)[t];\n" + kUse + "s.b;"},
        CopyRow{"device_to_thread_too_far", "S s = ((device const S*)in)[t + 1];\n" + kUse + "s.c;", 1, "'in' (buffer 1, 384 bytes)"},
        CopyRow{"device_to_device", "((device S*)out)[t] = ((device const S*)in)[t];\nif (p.n == 0) out[0] = 0;"},
        CopyRow{"device_to_device_too_far", "((device S*)out)[t] = ((device const S*)in)[t + 1];\nif (p.n == 0) out[0] = 0;", 1,
                "reads element 96, bytes 384..395 of 'in' (buffer 1, 384 bytes)"},
        CopyRow{"device_to_device_written_too_far", "((device S*)out)[t + 11] = ((device const S*)in)[t];\nif (p.n == 0) out[0] = 0;", 1,
                "of 'out' (buffer 0, 512 bytes)"},
        CopyRow{"device_to_itself", "S s = ((device S*)io)[t];\ns.a += p.n;\n((device S*)io)[t] = s;\nout[t] = s.a;"},
        CopyRow{"within_device", "if (t < 16) ((device S*)io)[31 - t] = ((device S*)io)[t];\nout[t] = p.n;"},
        CopyRow{"device_to_threadgroup", "((threadgroup S*)sh)[t] = ((device const S*)in)[t];\n" + kUse + "((threadgroup S*)sh)[t].c;"},
        CopyRow{"device_to_threadgroup_too_far", "((threadgroup S*)sh)[t] = ((device const S*)in)[t + 1];\n" + kUse + "0;", 1,
                "of 'in' (buffer 1, 384 bytes)"},
        CopyRow{"threadgroup_to_device", kFill + "((device S*)out)[t] = ((threadgroup S*)sh)[t];\nif (p.m == 0) out[0] = c[0];"},
        CopyRow{"constant_to_thread", "P copy = p;\nout[t] = copy.n + copy.m + uint(copy.v.w);"},
        CopyRow{"constant_to_threadgroup",
                "threadgroup P copy;\nif (t == 0) copy = p;\nthreadgroup_barrier(mem_flags::mem_threadgroup);\n"
                "out[t] = copy.n + uint(copy.v.w);"},
        CopyRow{"constant_to_device", "if (t < 3) ((device P*)out)[t] = p;\nelse out[32 + t] = 0;"},
        CopyRow{"constant_too_far", "P copy = (&p)[1];\nout[t] = copy.n;", 1, "'p' (buffer 2, 32 bytes)"},
        CopyRow{"an_array_of_set_bytes", "uint4 v = *(constant uint4*)c;\nout[t] = v.w;"},
        CopyRow{"an_array_of_set_bytes_too_far", "out[t] = c[t / 31 * 4];", 1, "element 4, bytes 16..19 of 'c' (buffer 3, 16 bytes)"},
        CopyRow{"exactly_its_size", "R copy = r;\nout[t] = uint(copy.p.z);"},
        CopyRow{"nested", "N n = ((device const N*)in)[t % 12];\n" + kUse + "n.s[t % 2].c + n.x.y;"},
        CopyRow{"nested_device_to_device", "if (t < 12) ((device N*)out)[t] = ((device const N*)in)[t];\nif (t < 4) out[100 + t] = p.n;"},
        CopyRow{"nested_too_far", "N n = ((device const N*)in)[t % 13];\n" + kUse + "n.s[t % 2].c + n.x.y;", 1,
                "'in' (buffer 1, 384 bytes)"},
        CopyRow{"of_half_and_bytes", "((device H*)out)[t] = ((device const H*)in)[t];\nout[64 + t] = p.n;"},
        CopyRow{"bit_fields",
                "threadgroup B* between = (threadgroup B*)sh;\nbetween[t] = ((device const B*)in)[t];\nB b = between[t];\nout[t] = b.high "
                "+ b.tag + p.n;"},
        CopyRow{"bit_fields_too_far", "B b = ((device const B*)in)[t + 17];\nout[t] = b.high + p.n;", 1, "'in' (buffer 1, 384 bytes)"},
        CopyRow{"a_union", "U u;\nu.u = ((device const uint4*)in)[t % 24];\nout[t] = as_type<uint>(u.f[t % 4]) + p.n;"},
        CopyRow{"unions", "((device U*)out)[t] = ((device const U*)in)[t % 24];\nif (p.n == 0) out[0] = 0;"},
        CopyRow{"as_type", "out[t] = as_type<uint>(as_type<half2>(in[t])) + as_type<uint4>(p.v).x;"},
        CopyRow{"a_struct_with_a_vector_of_three", "V v = ((device const V*)in)[t % 12];\n" + kUse + "v.n;"},
        CopyRow{"vectors_of_three",
                "threadgroup float3* between = (threadgroup float3*)sh;\nbetween[t] = ((device const float3*)in)[t % 24];\n" + kUse +
                    "as_type<uint>(between[t].z);"},
        // Of the 16 bytes of a float3 only 12 are read; the buffers end behind those.
        CopyRow{"a_vector_of_three_at_the_end", "float3 v = *(constant float3*)&r;\nout[t] = as_type<uint>(v.z);"},
        CopyRow{"a_vector_of_three_at_the_end_computed_with",
                "float3 v = *(constant float3*)&r * 2 + ((device const float3*)in)[t % 2];\nout[t] = as_type<uint>(v.z);"},
        CopyRow{"a_vector_of_three_that_is_copied_at_the_end",
                "threadgroup float3* between = (threadgroup float3*)sh;\nbetween[t] = *(constant float3*)&r;\nout[t] = "
                "as_type<uint>(between[t].z);"},
        CopyRow{"a_vector_of_three_behind_the_end", "float3 v = *((constant float3*)&r + 1);\nout[t] = as_type<uint>(v.z);", 1,
                "of 'r' (buffer 4, 12 bytes)"},
        CopyRow{"packed_vectors_of_three",
                "((device packed_float3*)out)[t] = ((device const packed_float3*)in)[t];\nif (p.n == 0) out[0] = 0;"},
        CopyRow{"packed_vectors_of_three_too_far",
                "((device packed_float3*)out)[t] = ((device const packed_float3*)in)[t + 1];\nif (p.n == 0) out[0] = 0;", 1,
                "'in' (buffer 1, 384 bytes)"}),
    [](const auto& info) { return info.param.name; });

const std::string kByValue = "static uint sum(S s) { return s.a + s.b + s.c; } static S make(device const S* s, uint i) { return s[i]; }";
const std::string kByReference =
    "static uint first(device const S& s) { S copy = s; return copy.a; } static void copy(device S& to, device const S& from) { to = from; "
    "} "
    "static uint of(constant P& p) { P copy = p; return copy.m; }";

INSTANTIATE_TEST_SUITE_P(
    Ways, CheckedCopies,
    ::testing::Values(
        CopyRow{"by_value", kUse + "sum(((device const S*)in)[t]);", 0, {}, kByValue},
        CopyRow{"returned", kUse + "sum(make((device const S*)in, t));", 0, {}, kByValue},
        CopyRow{"returned_to_device", "((device S*)out)[t] = make((device const S*)in, t);\nif (p.n == 0) out[0] = 0;", 0, {}, kByValue},
        CopyRow{"by_reference", kUse + "first(((device const S*)in)[t]) + of(p);", 0, {}, kByReference},
        CopyRow{"by_references", "copy(((device S*)out)[t], ((device const S*)in)[t]);\nif (p.n == 0) out[0] = 0;", 0, {}, kByReference},
        CopyRow{"of_two_buffers",
                "device const S* from = t % 2 == 0 ? (device const S*)in : (device const S*)io;\n((device S*)out)[t] = "
                "from[t];\nif (p.n == 0) out[0] = 0;"},
        CopyRow{"of_two_buffers_too_far",
                "device const S* from = t % 2 == 0 ? (device const S*)in : (device const S*)io;\n((device S*)out)[t] = from[t + 1];\nif "
                "(p.n == 0) out[0] = 0;",
                2, "of 'io' (buffer 5, 384 bytes)"},
        CopyRow{"of_a_loop",
                "S sum = {p.n, 0, 0};\nfor (uint i = 0; i < 4; ++i) { S s = ((device const S*)in)[(t + i) % 32]; sum.a += s.a; "
                "((device S*)out)[t] = s; }\nout[96 + t] = sum.a;"},
        CopyRow{"of_an_array_of_pointers",
                "device const S* from[2] = {(device const S*)in, (device const S*)io};\n((device S*)out)[t] = "
                "from[t % 2][t];\nif (p.n == 0) out[0] = 0;"},
        CopyRow{"of_a_pointer_in_a_struct",
                "struct { device const S* from; uint n; } view = {(device const S*)in, 32};\nS s = view.from[t % view.n];\n((device "
                "S*)out)[t] = s;\nif (p.n == 0) out[0] = 0;"},
        CopyRow{"of_a_table_of_the_program", "out[t] = kTable[t % 2].b + p.n;", 0, {}, "constant S kTable[2] = {{1, 2, 3}, {4, 5, 6}};"},
        CopyRow{"of_a_table_or_set_bytes",
                "constant uint* from = in[t] % 2 == 0 ? kTable : c;\nout[t] = from[t % 4];",
                0,
                {},
                "constant uint kTable[4] = {4, 5, 6, 7};"},
        CopyRow{"of_a_whole_table_or_set_bytes",
                "constant S* from = in[t] % 2 == 0 ? kTable : (constant S*)&r;\n((device S*)out)[t] = from[0];",
                0,
                {},
                "constant S kTable[2] = {{1, 2, 3}, {4, 5, 6}};"},
        CopyRow{"of_a_constant_or_a_device_pointer",
                "S own = {t, 1, 2};\nS s = in[t] % 2 == 0 ? own : ((device const S*)in)[t];\n((device S*)out)[t] = s;\nif (p.n == 0) "
                "out[0] = 0;"},
        CopyRow{"by_bytes",
                "for (uint i = 0; i < 12; ++i) ((device uchar*)out)[12 * t + i] = ((device const uchar*)in)[12 * t + i];\nif "
                "(p.n == 0) out[0] = 0;"},
        CopyRow{"exchanged_atomically",
                "atomic_uint device* a = (atomic_uint device*)io;\nout[t] = atomic_exchange_explicit(a + t, in[t] + p.n, "
                "memory_order_relaxed);"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace assay::tests::checked_copies_test
