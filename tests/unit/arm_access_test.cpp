// Loads and stores of 64-bit ARM, carried out by arm_access.cpp on any machine. On such a processor, the processor itself is asked as well.
#include "metal/execute/arm_access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>

namespace assay::tests::arm_access_test {
namespace {

using metal::execute::arm_access;
using metal::execute::ArmRegisters;

// clang-format off
#define ASSAY_INSTRUCTIONS(X) \
    X("ldr w1, [x0]", 0xb9400001U) \
    X("ldr x1, [x0, #8]!", 0xf8408c01U) \
    X("ldrsb x1, [x0], #-1", 0x389ff401U) \
    X("ldrsh w1, [x0, x2, lsl #1]", 0x78e27801U) \
    X("ldrsw x1, [x0, w3, sxtw #2]", 0xb8a3d801U) \
    X("ldur x1, [x0, #-7]", 0xf85f9001U) \
    X("strb w1, [x0, w3, uxtw]", 0x38234801U) \
    X("str wzr, [x0, #4]", 0xb900041fU) \
    X("ldp x1, x2, [x0, #16]", 0xa9410801U) \
    X("stp w1, w2, [x0], #8", 0x28810801U) \
    X("ldpsw x1, x2, [x0, #-8]!", 0x69ff0801U) \
    X("ldnp q0, q1, [x0]", 0xac400400U) \
    X("stp d0, d1, [x0, #-16]", 0x6d3f0400U) \
    X("ldr b0, [x0, #3]", 0x3d400c00U) \
    X("ldr h1, [x0, #2]", 0x7d400401U) \
    X("ldr s2, [x0, #4]", 0xbd400402U) \
    X("ldr d3, [x0], #8", 0xfc408403U) \
    X("ldr q0, [x0, x2]", 0x3ce26800U) \
    X("str q1, [x0, #-16]!", 0x3c9f0c01U) \
    X("ldar w1, [x0]", 0x88dffc01U) \
    X("stlr x1, [x0]", 0xc89ffc01U) \
    X("ld1 {v0.16b, v1.16b, v2.16b, v3.16b}, [x0]", 0x4c402000U) \
    X("ld1 {v7.4h}, [x0], #8", 0x0cdf7407U) \
    X("ld1 {v0.2d, v1.2d}, [x0], x2", 0x4cc2ac00U) \
    X("st1 {v1.8b, v2.8b, v3.8b}, [x0]", 0x0c006001U) \
    X("ld2 {v0.4s, v1.4s}, [x0]", 0x4c408800U) \
    X("ld3 {v0.8b, v1.8b, v2.8b}, [x0], #24", 0x0cdf4000U) \
    X("ld4 {v0.16b, v1.16b, v2.16b, v3.16b}, [x0], #64", 0x4cdf0000U) \
    X("st4 {v0.8h, v1.8h, v2.8h, v3.8h}, [x0]", 0x4c000400U) \
    X("st2 {v0.2s, v1.2s}, [x0]", 0x0c008800U) \
    X("ld1r {v0.4s}, [x0]", 0x4d40c800U) \
    X("ld2r {v0.8b, v1.8b}, [x0]", 0x0d60c000U) \
    X("ld4r {v0.2d, v1.2d, v2.2d, v3.2d}, [x0], #32", 0x4dffec00U) \
    X("ld1 {v0.b}[13], [x0]", 0x4d401400U) \
    X("ld1 {v1.h}[5], [x0], #2", 0x4ddf4801U) \
    X("ld1 {v2.s}[3], [x0]", 0x4d409002U) \
    X("ld1 {v3.d}[1], [x0]", 0x4d408403U) \
    X("st1 {v3.s}[2], [x0], x2", 0x4d828003U) \
    X("ld3 {v0.h, v1.h, v2.h}[6], [x0]", 0x4d407000U) \
    X("st4 {v0.d, v1.d, v2.d, v3.d}[1], [x0]", 0x4d20a400U) \
    X("dc zva, x0", 0xd50b7420U)
// clang-format on

struct Row {
  const char* text;
  std::uint32_t code;
};
#define ASSAY_ROW(text, code) Row{text, code},
constexpr std::array kRows = {ASSAY_INSTRUCTIONS(ASSAY_ROW)};
#undef ASSAY_ROW

constexpr std::size_t kMemory = 512;
constexpr std::size_t kMiddle = 256;  // where the address points

struct Machine {
  std::array<std::uint64_t, 31> general{};
  std::uint64_t stack_pointer = 0;
  alignas(16) std::array<std::byte, 512> vectors{};
  alignas(64) std::array<std::byte, kMemory> memory{};

  Machine() {
    std::uint8_t next = 0;
    for (std::byte& byte : memory) byte = static_cast<std::byte>(next = static_cast<std::uint8_t>(next * 5 + 0x91));
    for (std::byte& byte : vectors) byte = static_cast<std::byte>(next = static_cast<std::uint8_t>(next * 5 + 0x37));
    std::iota(general.begin(), general.end(), 0x8877665544332211U);
    general[0] = reinterpret_cast<std::uint64_t>(memory.data() + kMiddle);
    general[2] = 48;
    general[3] = 0xfffffff8U;  // -8 in 32 bits
  }
  ArmRegisters registers() { return {general.data(), &stack_pointer, vectors.data()}; }
  // The vector register's bytes.
  [[nodiscard]] const std::byte* vector(std::size_t number) const { return vectors.data() + 16 * number; }
  [[nodiscard]] std::uint64_t moved() const { return general[0] - reinterpret_cast<std::uint64_t>(memory.data() + kMiddle); }
};

// strb with an unsigned 32-bit offset of 4 GiB is only decoded.
bool is_far(const Row& row) { return std::string(row.text).find("uxtw") != std::string::npos; }

Machine emulated(const Row& row) {
  Machine machine;
  const auto access = arm_access(row.code, machine.registers());
  EXPECT_TRUE(access) << row.text;
  if (access && !is_far(row)) carry_out(*access, machine.registers());
  return machine;
}
const Row& row_of(std::string_view text) {
  const auto found = std::ranges::find_if(kRows, [&](const Row& row) { return row.text == text; });
  EXPECT_NE(found, kRows.end()) << text;
  return *found;
}

TEST(ArmAccess, NumbersAreExtended) {
  Machine machine;
  machine.memory[kMiddle] = std::byte{0xfe};
  carry_out(*arm_access(0x389ff401U, machine.registers()), machine.registers());  // ldrsb x1, [x0], #-1
  EXPECT_EQ(machine.general[1], ~std::uint64_t{1});
  EXPECT_EQ(machine.moved(), ~std::uint64_t{0});
  Machine other;
  std::fill_n(other.memory.data() + kMiddle + 96, 2, std::byte{0x80});
  carry_out(*arm_access(0x78e27801U, other.registers()), other.registers());  // ldrsh w1, [x0, x2, lsl #1]
  EXPECT_EQ(other.general[1], 0xffff8080U);
  EXPECT_EQ(emulated(row_of("ldr w1, [x0]")).general[1] >> 32, 0U);
}

TEST(ArmAccess, OffsetsOf32BitsMayBeNegative) {
  Machine machine;
  EXPECT_EQ(arm_access(0xb8a3d801U, machine.registers())->address, machine.general[0] - 32);           // ldrsw x1, [x0, w3, sxtw #2]
  EXPECT_EQ(arm_access(0x38234801U, machine.registers())->address, machine.general[0] + 0xfffffff8U);  // strb w1, [x0, w3, uxtw]
}

TEST(ArmAccess, StructuresAlternate) {
  const Machine before;
  const Machine machine = emulated(row_of("ld4 {v0.16b, v1.16b, v2.16b, v3.16b}, [x0], #64"));
  for (std::size_t at = 0; at < 64; ++at) EXPECT_EQ(machine.vector(at % 4)[at / 4], before.memory[kMiddle + at]) << at;
  EXPECT_EQ(machine.moved(), 64U);
}

TEST(ArmAccess, OneElementLeavesTheOthers) {
  const Machine before;
  const Machine machine = emulated(row_of("ld1 {v1.h}[5], [x0], #2"));
  EXPECT_EQ(std::memcmp(machine.vector(1), before.vector(1), 10), 0);
  EXPECT_EQ(std::memcmp(machine.vector(1) + 10, before.memory.data() + kMiddle, 2), 0);
  EXPECT_EQ(std::memcmp(machine.vector(1) + 12, before.vector(1) + 12, 4), 0);
  EXPECT_EQ(machine.moved(), 2U);
}

TEST(ArmAccess, WholeRegistersAreClearedBehindWhatIsLoaded) {
  const Machine machine = emulated(row_of("ldr h1, [x0, #2]"));
  EXPECT_TRUE(std::all_of(machine.vector(1) + 2, machine.vector(2), [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(ArmAccess, AZeroedBlockTouchesNothing) {
  Machine machine;
  const auto access = arm_access(0xd50b7420U, machine.registers());
  ASSERT_TRUE(access);
  EXPECT_TRUE(access->is_store);
  EXPECT_EQ(access->part_count, 0U);
  EXPECT_EQ(access->bytes, 0U);
}

// A prefetch, atomic and exclusive operations, an addition.
TEST(ArmAccess, OthersAreNotKnown) {
  Machine machine;
  for (const std::uint32_t code : {0xf9800000U, 0xb8210002U, 0x885f7c01U, 0x88047c01U, 0x88a17c02U, 0x8b010000U})
    EXPECT_FALSE(arm_access(code, machine.registers())) << std::hex << code;
}

#if defined(__aarch64__)
// Each instruction and a return; and a function that runs one of them with the first registers of a Machine.
#define ASSAY_STUB(text, code) text "\n ret\n"
asm(".text\n assay_arm_stubs:\n" ASSAY_INSTRUCTIONS(ASSAY_STUB));
asm(R"(
  assay_arm_run:
  stp x29, x30, [sp, #-16]!
  stp x19, x20, [sp, #-16]!
  stp d8, d9, [sp, #-16]!
  mov x19, x0
  mov x20, x1
  mov x9, x2
  ldp q0, q1, [x9]
  ldp q2, q3, [x9, #32]
  ldr q7, [x9, #112]
  ldp x0, x1, [x19]
  ldp x2, x3, [x19, #16]
  blr x20
  stp x0, x1, [x19]
  stp x2, x3, [x19, #16]
  stp q0, q1, [x9]
  stp q2, q3, [x9, #32]
  str q7, [x9, #112]
  ldp d8, d9, [sp], #16
  ldp x19, x20, [sp], #16
  ldp x29, x30, [sp], #16
  ret
)");
#undef ASSAY_STUB
extern "C" const std::uint32_t assay_arm_stubs[];
extern "C" void assay_arm_run(std::uint64_t* general, const std::uint32_t* stub, std::byte* vectors);

TEST(ArmAccess, TheProcessorDoesTheSame) {
  for (std::size_t number = 0; number < kRows.size(); ++number) {
    const Row& row = kRows[number];
    EXPECT_EQ(assay_arm_stubs[2 * number], row.code) << row.text;
    if (is_far(row) || row.code == 0xd50b7420U) continue;
    Machine real;
    assay_arm_run(real.general.data(), &assay_arm_stubs[2 * number], real.vectors.data());
    const Machine machine = emulated(row);
    EXPECT_EQ(machine.memory, real.memory) << row.text;
    EXPECT_EQ(machine.vectors, real.vectors) << row.text;
    EXPECT_EQ(machine.moved(), real.moved()) << row.text;
    EXPECT_TRUE(std::equal(machine.general.begin() + 1, machine.general.end(), real.general.begin() + 1)) << row.text;
  }
}
#endif

}  // namespace
}  // namespace assay::tests::arm_access_test
