// Carries out one load or store of a 64-bit ARM processor in its place: such a processor has no trap after the next instruction that a
// process may set for itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace assay::metal::execute {

// The registers of an interrupted thread, where a signal handler may read and change them.
struct ArmRegisters {
  std::uint64_t* general = nullptr;  // x0 to x30
  std::uint64_t* stack_pointer = nullptr;
  std::byte* vectors = nullptr;  // v0 to v31, 16 bytes each
};

// What an instruction does with memory: up to 64 bytes that follow each other, in parts that each belong to one register.
struct ArmAccess {
  struct Part {
    std::uint8_t number = 0;
    bool is_vector = false;
    std::uint8_t at = 0;      // offset in memory
    std::uint8_t bytes = 0;   // in memory
    std::uint8_t within = 0;  // offset in a vector register
    bool is_signed = false;   // a loaded number is extended by its sign, to
    bool is_wide = false;     // 64 bits, otherwise to 32
  };

  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  bool is_store = false;
  std::uint32_t cleared = 0;  // a bit for every vector register that a load sets to zero before its parts
  std::array<Part, 64> parts{};
  std::size_t part_count = 0;
  std::uint32_t base = 0;  // the register of the address; 31: the stack pointer
  std::optional<std::uint64_t> base_afterwards;
};

// Nothing for any other instruction, and for exclusive and atomic ones, which compiled kernels do not contain.
std::optional<ArmAccess> arm_access(std::uint32_t instruction, const ArmRegisters& registers);

// The memory must be there, or the process ends. Leaves the program counter to the caller.
void carry_out(const ArmAccess& access, const ArmRegisters& registers);

}  // namespace assay::metal::execute
