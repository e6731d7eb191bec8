// Decodes the loads and stores of the instruction set A64, by the tables of "Loads and Stores" in the Arm Architecture Reference Manual.
#include "metal/execute/arm_access.h"

#include <cstring>

namespace assay::metal::execute {

namespace {

constexpr std::uint32_t kNoRegister = 31;  // as an operand it is zero, as an address the stack pointer

// Bits [low, low + count) of an instruction.
constexpr std::uint32_t field(std::uint32_t instruction, unsigned low, unsigned count) {
  return instruction >> low & ((std::uint32_t{1} << count) - 1);
}
constexpr std::int64_t signed_field(std::uint32_t instruction, unsigned low, unsigned count) {
  const auto bits = static_cast<std::int64_t>(field(instruction, low, count));
  return bits - ((bits >> (count - 1)) << count);
}

std::uint64_t general(const ArmRegisters& registers, std::uint32_t number) { return number == kNoRegister ? 0 : registers.general[number]; }

class Decoder {
 public:
  Decoder(std::uint32_t instruction, const ArmRegisters& registers) : code_(instruction), registers_(registers) {
    access_.base = field(code_, 5, 5);
    base_ = access_.base == kNoRegister ? *registers.stack_pointer : registers.general[access_.base];
    access_.address = base_;
  }

  std::optional<ArmAccess> decode() {
    // DC ZVA, by which the C library sets memory to zero. A block never crosses a page, so that all of it is dropped.
    if ((code_ & 0xffffffe0U) == 0xd50b7420U) {
      access_.address = general(registers_, field(code_, 0, 5));
      access_.is_store = true;
      return access_;
    }
    bool is_known = false;
    if (field(code_, 27, 3) == 7 && field(code_, 25, 1) == 0) is_known = single();
    if (field(code_, 27, 3) == 5 && field(code_, 25, 1) == 0) is_known = pair();
    if (field(code_, 24, 6) == 8) is_known = ordered();
    if (field(code_, 31, 1) == 0 && field(code_, 24, 6) == 12) is_known = structures();
    if (field(code_, 31, 1) == 0 && field(code_, 24, 6) == 13) is_known = elements();
    return is_known ? std::optional(access_) : std::nullopt;
  }

 private:
  void add(const ArmAccess::Part& part) {
    access_.parts[access_.part_count++] = part;
    access_.bytes = std::uint32_t{part.at} + part.bytes;
  }
  void add_vector(std::uint32_t number, std::uint32_t at, std::uint32_t bytes, std::uint32_t within) {
    add({static_cast<std::uint8_t>(number), true, static_cast<std::uint8_t>(at), static_cast<std::uint8_t>(bytes),
         static_cast<std::uint8_t>(within), false, false});
  }
  void add_whole_vector(std::uint32_t number, std::uint32_t at, std::uint32_t bytes) {
    access_.cleared |= std::uint32_t{1} << number;
    add_vector(number, at, bytes, 0);
  }
  void add_general(std::uint32_t number, std::uint32_t at, std::uint32_t bytes, bool is_signed, bool is_wide) {
    add({static_cast<std::uint8_t>(number), false, static_cast<std::uint8_t>(at), static_cast<std::uint8_t>(bytes), 0, is_signed, is_wide});
  }

  // One register: ldr, str, ldur and so on.
  bool single() {
    const std::uint32_t size = field(code_, 30, 2), operation = field(code_, 22, 2), number = field(code_, 0, 5);
    const bool is_vector = field(code_, 26, 1) != 0;
    const std::uint32_t scale = is_vector ? size | (operation & 2U) << 1 : size;
    if (scale > 4) return false;
    if (!address_of_single(scale)) return false;
    const std::uint32_t bytes = 1U << scale;
    if (is_vector) {
      access_.is_store = (operation & 1U) == 0;
      add_whole_vector(number, 0, bytes);
      return true;
    }
    access_.is_store = operation == 0;
    if (operation >= 2 && size + operation > 4) return false;  // prefetches, which do not fault, and what does not exist
    add_general(number, 0, bytes, operation >= 2, operation == 2 || (operation == 1 && size == 3));
    return true;
  }

  bool address_of_single(std::uint32_t scale) {
    if (field(code_, 24, 1) != 0) {
      access_.address = base_ + (std::uint64_t{field(code_, 10, 12)} << scale);
      return true;
    }
    const std::uint32_t mode = field(code_, 10, 2);
    if (field(code_, 21, 1) != 0) {
      if (mode != 2) return false;  // atomic operations
      std::uint64_t offset = general(registers_, field(code_, 16, 5));
      const std::uint32_t extension = field(code_, 13, 3);
      if (extension == 2) offset = static_cast<std::uint32_t>(offset);
      if (extension == 6) offset = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(offset)});
      access_.address = base_ + (offset << (field(code_, 12, 1) != 0 ? scale : 0));
      return true;
    }
    const auto moved = base_ + static_cast<std::uint64_t>(signed_field(code_, 12, 9));
    if (mode != 1) access_.address = moved;
    if (mode == 1 || mode == 3) access_.base_afterwards = moved;
    return true;
  }

  // Two registers: ldp, stp and so on.
  bool pair() {
    const std::uint32_t size = field(code_, 30, 2), mode = field(code_, 23, 2);
    const bool is_vector = field(code_, 26, 1) != 0, is_load = field(code_, 22, 1) != 0;
    const bool is_signed = !is_vector && size == 1;
    if (size == 3 || (is_signed && !is_load)) return false;
    const std::uint32_t bytes = is_vector ? 4U << size : size == 2 ? 8 : 4;
    const auto moved = base_ + static_cast<std::uint64_t>(signed_field(code_, 15, 7) * std::int64_t{bytes});
    if (mode != 1) access_.address = moved;
    if (mode == 1 || mode == 3) access_.base_afterwards = moved;
    access_.is_store = !is_load;
    const std::array<std::uint32_t, 2> numbers = {field(code_, 0, 5), field(code_, 10, 5)};
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (is_vector)
        add_whole_vector(numbers[i], i * bytes, bytes);
      else
        add_general(numbers[i], i * bytes, bytes, is_signed, is_signed || bytes == 8);
    }
    return true;
  }

  // ldar, stlr.
  bool ordered() {
    if (field(code_, 23, 1) == 0 || field(code_, 21, 1) != 0) return false;
    const std::uint32_t size = field(code_, 30, 2);
    access_.is_store = field(code_, 22, 1) == 0;
    add_general(field(code_, 0, 5), 0, 1U << size, false, size == 3);
    return true;
  }

  // Whole registers whose elements alternate in memory: ld1 to ld4, st1 to st4.
  bool structures() {
    std::uint32_t repeats = 1, alternating = 1;
    switch (field(code_, 12, 4)) {
      case 0:
        alternating = 4;
        break;
      case 4:
        alternating = 3;
        break;
      case 8:
        alternating = 2;
        break;
      case 2:
        repeats = 4;
        break;
      case 6:
        repeats = 3;
        break;
      case 10:
        repeats = 2;
        break;
      case 7:
        break;
      default:
        return false;
    }
    if (field(code_, 21, 1) != 0) return false;
    const std::uint32_t element = 1U << field(code_, 10, 2), whole = field(code_, 30, 1) != 0 ? 16 : 8, first = field(code_, 0, 5);
    access_.is_store = field(code_, 22, 1) == 0;
    if (alternating == 1) {
      for (std::uint32_t i = 0; i < repeats; ++i) add_whole_vector((first + i) % 32, i * whole, whole);
    } else {
      for (std::uint32_t within = 0; within < whole; within += element) {
        for (std::uint32_t i = 0; i < alternating; ++i) {
          access_.cleared |= std::uint32_t{1} << (first + i) % 32;
          add_vector((first + i) % 32, within * alternating + i * element, element, within);
        }
      }
    }
    move_base();
    return true;
  }

  // One element of each of one to four registers, or a load into all elements of them (ld1r).
  bool elements() {
    const std::uint32_t code = field(code_, 13, 3), size = field(code_, 10, 2), half = field(code_, 30, 1), bit = field(code_, 12, 1);
    const std::uint32_t count = ((code & 1U) << 1 | field(code_, 21, 1)) + 1, first = field(code_, 0, 5);
    std::uint32_t scale = code >> 1;
    const bool is_repeated = scale == 3;
    std::uint32_t index = 0;
    if (is_repeated)
      scale = size;
    else if (scale == 0)
      index = half << 3 | bit << 2 | size;
    else if (scale == 1)
      index = half << 2 | bit << 1 | size >> 1;
    else if ((size & 1U) == 0)
      index = half << 1 | bit;
    else
      scale = 3, index = half;
    const std::uint32_t bytes = 1U << scale;
    access_.is_store = field(code_, 22, 1) == 0;
    if (is_repeated && access_.is_store) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t number = (first + i) % 32;
      if (!is_repeated) {
        add_vector(number, i * bytes, bytes, index * bytes);
        continue;
      }
      access_.cleared |= std::uint32_t{1} << number;
      for (std::uint32_t within = 0; within < (half != 0 ? 16U : 8U); within += bytes) add_vector(number, i * bytes, bytes, within);
    }
    move_base();
    return true;
  }

  // Of instructions that move their address behind what they access, or by another register.
  void move_base() {
    if (field(code_, 23, 1) == 0) return;
    const std::uint32_t by = field(code_, 16, 5);
    access_.base_afterwards = base_ + (by == kNoRegister ? access_.bytes : registers_.general[by]);
  }

  std::uint32_t code_;
  ArmRegisters registers_;
  ArmAccess access_;
  std::uint64_t base_ = 0;
};

std::uint64_t extended(const ArmAccess::Part& part, std::uint64_t value) {
  if (!part.is_signed || part.bytes == sizeof value) return value;
  const unsigned bits = part.bytes * 8U;
  if ((value >> (bits - 1) & 1U) != 0) value |= ~std::uint64_t{0} << bits;
  return part.is_wide ? value : static_cast<std::uint32_t>(value);
}

}  // namespace

std::optional<ArmAccess> arm_access(std::uint32_t instruction, const ArmRegisters& registers) {
  return Decoder(instruction, registers).decode();
}

void carry_out(const ArmAccess& access, const ArmRegisters& registers) {
  constexpr std::size_t kVectorBytes = 16;
  std::array<std::byte, 64> memory{};
  auto* place = reinterpret_cast<std::byte*>(access.address);
  if (!access.is_store) {
    std::memcpy(memory.data(), place, access.bytes);
    for (std::uint32_t number = 0; number < 32; ++number) {
      if ((access.cleared >> number & 1U) != 0) std::memset(registers.vectors + number * kVectorBytes, 0, kVectorBytes);
    }
  }
  for (std::size_t i = 0; i < access.part_count; ++i) {
    const ArmAccess::Part& part = access.parts[i];
    std::byte* in_vector = registers.vectors + part.number * kVectorBytes + part.within;
    std::byte* in_memory = memory.data() + part.at;
    std::uint64_t value = 0;
    if (part.is_vector && access.is_store) {
      std::memcpy(in_memory, in_vector, part.bytes);
    } else if (part.is_vector) {
      std::memcpy(in_vector, in_memory, part.bytes);
    } else if (access.is_store) {
      value = general(registers, part.number);
      std::memcpy(in_memory, &value, part.bytes);
    } else if (part.number != kNoRegister) {
      std::memcpy(&value, in_memory, part.bytes);
      registers.general[part.number] = extended(part, value);
    }
  }
  if (access.is_store) std::memcpy(place, memory.data(), access.bytes);
  if (!access.base_afterwards) return;
  (access.base == kNoRegister ? *registers.stack_pointer : registers.general[access.base]) = *access.base_afterwards;
}

}  // namespace assay::metal::execute
