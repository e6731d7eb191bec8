// A kernel continues after a misaligned access or one outside all memory: what it computes then, and what is reported.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "metal/compile/library.h"
#include "metal/guarded_memory.h"
#include "tests/conformance/execute.h"

namespace assay::tests::containment_test {
namespace {

using metal::HazardKind;
using metal::Policy;
using namespace ::testing;

constexpr Policy kPolicies[] = {Policy::native, Policy::checked, Policy::shadow};

// Lines of `body` count from 4; in: 0, 1, 2 ... 63.
Outcome run(const std::string& body, metal::SimulatorOptions options = {}, metal::Size3 threadgroups = {1, 1, 1}) {
  std::vector<std::uint32_t> in(64);
  std::iota(in.begin(), in.end(), 0U);
  return execute(
      {.source = "#include <metal_stdlib>\nusing namespace metal;\nkernel void test(device uint* out [[buffer(0)]], device const "
                 "uint* in [[buffer(1)]], device uint* io [[buffer(2)]], constant uint* c [[buffer(3)]], threadgroup uint* sh "
                 "[[threadgroup(0)]], uint t [[thread_index_in_threadgroup]], uint tg [[threadgroup_position_in_grid]]) {\n" +
                 body + "\n}\n",
       .output_words = 256,
       .inputs = {in, in, in},
       .set_bytes = {3},
       .threadgroups = threadgroups,
       .threadgroup_bytes = 1024,
       .options = options});
}

std::string text(const Outcome& outcome) {
  std::string all;
  for (const auto& hazard : outcome.hazards) all += fmt::format("{} x {}\n", hazard.count, hazard.message);
  return all;
}

struct MisalignedRow {
  std::string name;
  std::string body;
  std::uint32_t line = 0;  // from 1; 0: nothing is misaligned
  std::string words = {};
};
void PrintTo(const MisalignedRow& row, std::ostream* stream) { *stream << row.name; }

class Misaligned : public ::testing::TestWithParam<MisalignedRow> {};

TEST_P(Misaligned, IsReportedWithItsLineAndExecutedAsWritten) {
  const MisalignedRow& row = GetParam();
  for (const Policy policy : kPolicies) {
    auto outcome = run(row.body, {.policy = policy});
    // Wide stores of neighbouring threads overlap.
    std::erase_if(outcome.hazards, [](const metal::Hazard& hazard) { return !metal::is_defect(hazard.kind); });
    for (std::uint32_t t = 0; t < 8; ++t) EXPECT_EQ(outcome.output[t], t + 2) << t << " " << text(outcome);
    if (row.line == 0) {
      EXPECT_EQ(text(outcome), "");
      continue;
    }
    ASSERT_EQ(outcome.hazards.size(), 1U) << static_cast<int>(policy) << " " << text(outcome);
    EXPECT_EQ(outcome.hazards[0].kind, HazardKind::misaligned_access);
    EXPECT_EQ(outcome.hazards[0].first.line, row.line + 3);
    EXPECT_THAT(outcome.hazards[0].message, AllOf(HasSubstr(row.words), HasSubstr("a multiple of")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Accesses, Misaligned,
    ::testing::Values(
        MisalignedRow{"float4_read_at_8_bytes", "uint4 v = *(device const uint4*)(in + 2 + t % 2 * 0);\nout[t] = v.x + t;", 1, "bytes 8.."},
        MisalignedRow{"float4_read_at_16_bytes", "uint4 v = *(device const uint4*)(in + 4 + t % 2 * 0);\nout[t] = v.x + t - 2;"},
        MisalignedRow{"float4_read_at_any_bytes", "uint4 v = *(device const uint4*)(in + t + 2);\nout[t] = v.x;", 1, "bytes "},
        MisalignedRow{"packed_uint4_read", "uint4 v = *(device const packed_uint4*)(in + t + 2);\nout[t] = v.x;"},
        MisalignedRow{"uint2_read", "uint2 v = *(device const uint2*)(in + t + 1);\nout[t] = v.y;", 1,
                      "and the type requires a multiple of 8"},
        MisalignedRow{"from_bytes_set", "uint4 v = *(constant uint4*)(c + c[t + 2]);\nout[t] = v.x;", 1, "of 'c' (buffer 3, 256 bytes)"},
        MisalignedRow{"float4_stored",
                      "*(device uint4*)(out + t + 2) = uint4(t + 4);\nout[t % 2] = t % 2 + 2;\n"
                      "if (t == 0) for (uint i = 0; i < 8; ++i) out[i] = i + 2;",
                      1, "writes"},
        MisalignedRow{
            "struct_copied_to_device",
            "struct alignas(16) S { uint a[4]; };\ndevice S* s = (device S*)(io + 2 + t * 4 % 16);\n*s = *(device const S*)(in + t "
            "* 4 % 16);\nout[t] = io[t + 2] + 2;",
            3, "writes"},
        MisalignedRow{"of_threadgroup_memory",
                      "sh[t] = t;\nsh[t + 32] = t + 32;\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nuint4 v = *(threadgroup "
                      "uint4*)(sh + t + 2);\nout[t] = v.x;",
                      4, "reads"},
        MisalignedRow{"stored_to_threadgroup_memory",
                      "*(threadgroup uint4*)(sh + 2 + 4 * t) = uint4(t + 2);\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nout[t] = "
                      "sh[4 * t + 5];",
                      1, "writes"},
        MisalignedRow{"of_the_lane_itself_is_its_own_affair",
                      "uint a[16];\nfor (uint i = 0; i < 16; ++i) a[i] = i;\nuint4 v = *(thread "
                      "uint4*)(a + t % 8 + 2);\nout[t] = v.x;"},
        MisalignedRow{
            "uchar4_at_1_byte",
            "device const uchar* bytes = (device const uchar*)in;\nuchar4 v = *(device const uchar4*)(bytes + 4 * t + 1 + in[0]);\n"
            "out[t] = v.x + v.y + t + 2;",
            2, "a multiple of 4"},
        MisalignedRow{"an_atomic",
                      "device atomic_uint* a = (device atomic_uint*)((device uchar*)io + 2 + in[0]);\nif (t == 0) "
                      "atomic_fetch_add_explicit(a, 0u, memory_order_relaxed);\nout[t] = t + 2;",
                      2, "changes"},
        MisalignedRow{"moved_in_a_loop",
                      "device const uint* p = in + in[1];\nuint sum = 0;\nfor (uint i = 0; i < 4; ++i, p += 4)\nsum += ((device const "
                      "uint4*)p)->x;\nout[t] = sum - 28 + t + 2;",
                      4, "reads"},
        MisalignedRow{"moved_in_a_loop_by_16_bytes",
                      "device const uint* p = in;\nuint sum = 0;\nfor (uint i = 0; i < 4; ++i, p += 4)\nsum += ((device const "
                      "uint4*)p)->x;\nout[t] = sum - 24 + t + 2;"}),
    [](const auto& info) { return info.param.name; });

TEST(Misaligned, ABindingIsNamedByItsArgument) {
  const auto library = metal::Library::from_source(
      "#include <metal_stdlib>\nusing namespace metal;\nkernel void test(device float4* out [[buffer(0)]], device const float4* in "
      "[[buffer(1)]]) {\nout[0] = in[0] + in[1];\n}\n",
      "test.metal");
  for (const std::size_t offset : {std::size_t{16}, std::size_t{8}}) {
    metal::Simulator simulator({library});
    metal::Buffer output(16, "output");
    const std::vector<float> values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const auto input = metal::Buffer::of<float>(values);
    simulator.set_pipeline({"test", {}});
    simulator.set_buffer(0, {&output, 0});
    simulator.set_buffer(1, {input.get(), offset});
    simulator.dispatch_threadgroups({1, 1, 1}, {1, 1, 1});
    EXPECT_EQ(output.as<float>()[0], offset == 16 ? 4.0F + 8.0F : 2.0F + 6.0F);
    ASSERT_EQ(simulator.hazards().size(), offset == 16 ? 0U : 1U);
    if (offset == 16) continue;
    EXPECT_EQ(simulator.hazards()[0].kind, HazardKind::misaligned_access);
    EXPECT_THAT(simulator.hazards()[0].message, AllOf(HasSubstr("test.metal:3"), HasSubstr("'in'"), HasSubstr("byte 8"), HasSubstr("16")));
  }
}

constexpr std::uint32_t kPoison = metal::kReadPoisonWord;

TEST(Contained, AReadGetsPoisonAndTheLaneGoesOn) {
  const auto outcome = run("uint x = in[t < 3 ? 5000 + t : t];\nout[t] = x;");
  ASSERT_EQ(outcome.hazards.size(), 1U) << text(outcome);
  EXPECT_EQ(outcome.hazards[0].kind, HazardKind::invalid_access);
  EXPECT_EQ(outcome.hazards[0].first.line, 4U);
  EXPECT_EQ(outcome.hazards[0].count, 3U);
  EXPECT_THAT(outcome.hazards[0].message, HasSubstr("thread (0, 0, 0) reads byte 20000 of buffer 1 ('in'), which has 256"));
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.output[t], t < 3 ? kPoison : t);
}

TEST(Contained, AnAccessThatIsAlsoMisalignedIsReportedOnce) {
  const auto outcome = run("uint4 v = *(device const uint4*)(in + 5001 + t);\nout[t] = v.x;");
  ASSERT_EQ(outcome.hazards.size(), 1U) << text(outcome);
  EXPECT_EQ(outcome.hazards[0].kind, HazardKind::invalid_access);
}

TEST(Contained, AWriteIsDiscardedAndEachLineIsReportedOnce) {
  const auto outcome = run("io[5000 + t] = t;\nuint x = io[5000 + t];\nout[t] = x;\nif (t < 4) io[6000 + t] = 1;");
  ASSERT_EQ(outcome.hazards.size(), 3U) << text(outcome);
  for (const auto& hazard : outcome.hazards) EXPECT_EQ(hazard.kind, HazardKind::invalid_access);
  EXPECT_EQ(outcome.hazards[0].first.line, 4U);
  EXPECT_EQ(outcome.hazards[1].first.line, 5U);
  EXPECT_EQ(outcome.hazards[2].first.line, 7U);
  EXPECT_EQ(outcome.hazards[0].count, 32U);
  EXPECT_EQ(outcome.hazards[2].count, 4U);
  EXPECT_THAT(outcome.hazards[0].message, HasSubstr("writes byte 20000 of buffer 2 ('io')"));
  EXPECT_THAT(outcome.hazards[1].message, HasSubstr("reads byte 20000 of buffer 2 ('io')"));
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.output[t], kPoison) << "what was written there is not to be read";
}

TEST(Contained, WhatVectorsCopiesAndAtomicsDo) {
  const auto outcome =
      run("struct S { uint a[12]; };\nuint4 v = ((device const uint4*)in)[2000];\nout[t] = v.y;\nthreadgroup S* s = (threadgroup "
          "S*)sh;\nif (t < "
          "4) s[t] = ((device const S*)in)[1000 + t];\nif (t < 4) out[32 + t] = s[t].a[11];\nif (t == 9) out[64] = "
          "atomic_fetch_add_explicit((device atomic_uint*)io + 9000, 1u, memory_order_relaxed);\nout[96 + t] = c[2000];\nsh[8192 + t] = "
          "t;\nout[128 "
          "+ t] = 7;");
  std::vector<std::uint32_t> lines;
  for (const auto& hazard : outcome.hazards) lines.push_back(hazard.first.line);
  EXPECT_THAT(lines, testing::UnorderedElementsAre(5U, 8U, 10U, 11U, 12U)) << text(outcome);
  // A line that reads what it has to itself, and writes to another buffer.
  EXPECT_THAT(text(outcome), HasSubstr("reads byte 8000 of buffer 3 ('c')"));
  EXPECT_EQ(outcome.output[0], kPoison);
  EXPECT_EQ(outcome.output[33], kPoison);
  EXPECT_EQ(outcome.output[64], kPoison);
  EXPECT_EQ(outcome.output[96], kPoison);
  EXPECT_EQ(outcome.output[128 + 31], 7U);
}

TEST(Contained, FarFromAnyBufferToo) {
  const auto outcome = run("device uint* p = (device uint*)(ulong(in[7]) << 40);\nout[t] = p[t];\np[t] = 1;");
  ASSERT_EQ(outcome.hazards.size(), 2U) << text(outcome);
  EXPECT_THAT(outcome.hazards[0].message, HasSubstr("where no buffer is"));
  EXPECT_EQ(outcome.hazards[0].first.line, 5U);
  EXPECT_EQ(outcome.hazards[1].first.line, 6U);
  EXPECT_EQ(outcome.output[31], kPoison);
}

TEST(Contained, ANullPointerEndsItsThreadgroup) {
  const auto outcome = run("device uint* p = in[t] < 100 ? nullptr : io;\nout[t] = 1;\nout[t] = p[t];");
  ASSERT_EQ(outcome.hazards.size(), 1U) << text(outcome);
  EXPECT_THAT(outcome.hazards[0].message, AllOf(HasSubstr("test.metal:6"), HasSubstr("given up")));
}

// Far more of them than are reported one by one.
TEST(Contained, ALoopOfThemEndsWithTheSameNumbers) {
  const auto outcome = run("uint sum = 0;\nfor (uint i = 0; i < 4000; ++i)\nsum += in[3000 + 8 * i] == 0x7fd57fd5u;\nout[t] = sum;");
  ASSERT_EQ(outcome.hazards.size(), 1U) << text(outcome);
  EXPECT_EQ(outcome.hazards[0].first.line, 6U);
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.output[t], 4000U) << t << " " << text(outcome);
}

// Later threadgroups report each page that they read, and read the same.
TEST(Contained, OnlyTheFirstThreadgroupsCountEachAccess) {
  const auto outcome = run("out[tg * 32 + t] = in[5120 + t];", {}, {8, 1, 1});
  ASSERT_EQ(outcome.hazards.size(), 1U) << text(outcome);
  EXPECT_EQ(outcome.hazards[0].count, 4U * 32 + 4);
  for (std::uint32_t at = 0; at < 256; ++at) EXPECT_EQ(outcome.output[at], kPoison) << at;
  // Writes stay separate: what one of them leaves is not to be read.
  const auto written = run("io[5120 + t] = t;\nout[tg * 32 + t] = io[5120 + t];", {}, {8, 1, 1});
  ASSERT_EQ(written.hazards.size(), 2U) << text(written);
  EXPECT_EQ(written.hazards[0].count, 8U * 32);
  for (std::uint32_t at = 0; at < 256; ++at) EXPECT_EQ(written.output[at], kPoison) << at;
}

TEST(Contained, ResultsDoNotDependOnTheNumberOfCpuThreads) {
  const std::string body =
      "for (uint i = 0; i < 20; ++i) io[4000 + 32 * i + t] = tg + 1;\nuint x = 0;\nfor (uint i = 0; i < 20; ++i) x += io[4000 + 32 * i + "
      "t] != "
      "0x7fd57fd5u;\nif (tg % 2 == 1) x += in[t + tg * 2000] == 0x7fd57fd5u;\nout[tg * 32 + t] = x;";
  const auto expected = run(body, {}, {8, 1, 1});
  ASSERT_EQ(expected.hazards.size(), 3U) << text(expected);
  for (std::uint32_t at = 0; at < 256; ++at) EXPECT_EQ(expected.output[at], at / 32 % 2) << at;
  for (const unsigned threads : {2U, 4U, 7U}) {
    for (int round = 0; round < 5; ++round) {
      const auto outcome = run(body, {.threads = threads}, {8, 1, 1});
      EXPECT_EQ(outcome.output, expected.output);
      EXPECT_EQ(text(outcome), text(expected));
    }
  }
}

TEST(Contained, NothingIsLeftBehindInTheGuards) {
  for (int round = 0; round < 3; ++round) {
    const auto outcome = run("io[5000 + t] = 3;\nout[t] = io[5000 + t];");
    EXPECT_EQ(outcome.hazards.size(), 2U);
    EXPECT_EQ(outcome.output[0], kPoison);
    EXPECT_TRUE(run("out[t] = io[t];").hazards.empty());
  }
}

// Stores of all lanes take effect together: the report names the thread that computed the address, not the one that executes the store.
TEST(Contained, NamesTheThreadThatWroteThroughNull) {
  const auto outcome = run("device uint* p = t == 7 ? nullptr : io;\np[t] = in[t];\nout[t] = io[t];");
  ASSERT_EQ(outcome.hazards.size(), 1u);
  EXPECT_THAT(outcome.hazards[0].message, AllOf(HasSubstr("thread (7, 0, 0)"), HasSubstr("given up")));
}

// A null pointer that the compiler can see is one all the same: nothing that it leads to is folded away.
TEST(NullPointers, ThatTheCompilerSeesAreReported) {
  const std::string start = "#include <metal_stdlib>\nusing namespace metal;\nstruct S { int a, b; };\n";
  struct Row {
    std::string statement;
    std::string address;
  };
  for (const auto& [statement, address] : std::vector<Row>{{"device int* p = nullptr; out[0] = *p;", "0x0,"},
                                                           {"device int* p = nullptr; *p = 3;", "0x0,"},
                                                           {"device int* p = in[0] == 7 ? out : nullptr; *p = 3;", "0x0,"},
                                                           {"device S* p = nullptr; out[0] = p->b;", "0x4,"},
                                                           {"threadgroup int* p = nullptr; out[0] = p[2];", "0x8,"},
                                                           {"device const int* p = in[0] == 7 ? in : nullptr; out[0] = *p;", "0x0,"},
                                                           {"constant int* p = 0; if (in[0] == 7) p = 0; out[0] = *p;", "0x0,"}}) {
    const auto outcome =
        execute({.source = start + "kernel void test(device int* out, device const int* in) {\n" + statement + "\nout[1] = 5;\n}\n",
                 .inputs = {{1}},
                 .threads = {1, 1, 1}});
    ASSERT_EQ(outcome.hazards.size(), 1U) << statement;
    EXPECT_EQ(outcome.hazards[0].kind, metal::HazardKind::invalid_access) << statement;
    EXPECT_THAT(outcome.hazards[0].message, testing::HasSubstr("touched address " + address)) << statement;
    EXPECT_EQ(outcome.hazards[0].first.line, 5U) << statement;
  }
  // One that is asked first is none.
  const auto outcome = execute(
      {.source = start + "kernel void test(device int* out, device const int* in) {\ndevice const int* p = in[0] == 7 ? in : nullptr;\n"
                         "out[0] = p == nullptr ? 4 : *p;\n}\n",
       .inputs = {{1}},
       .threads = {1, 1, 1}});
  EXPECT_TRUE(outcome.hazards.empty());
  EXPECT_EQ(outcome.output[0], 4U);
}

}  // namespace
}  // namespace assay::tests::containment_test
