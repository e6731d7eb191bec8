// Describes a threadgroup, its lanes, addresses and invalid accesses in words.
#include <fmt/format.h>

#include <bit>
#include <csignal>

#include "metal/execute/faults.h"
#include "metal/execute/lanes.h"

namespace assay::metal::execute {

std::string Lane::name() const {
  const auto* position = builtins[abi::kThreadPositionInThreadgroup];
  return fmt::format("thread ({}, {}, {})", position[0], position[1], position[2]);
}

std::string Threadgroup::name() const {
  return fmt::format(" (threadgroup {}, {}, {})", launch_->position.x, launch_->position.y, launch_->position.z);
}

bool Threadgroup::has(const void* address, std::size_t bytes) const {
  const auto is_in = [&](const void* data, std::size_t size) {
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(data);
    return data != nullptr && offset < size && bytes <= size - offset;
  };
  if (is_in(memory_->data(), launch_->threadgroup_bytes)) return true;
  for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
    if (is_in((*launch_->buffers)[index], (*launch_->buffer_sizes)[index])) return true;
  }
  return false;
}

std::vector<Threadgroup::Memory> Threadgroup::memories() const {
  std::vector<Memory> all{{memory_->data(), launch_->threadgroup_bytes, "threadgroup memory",
                           fmt::format("threadgroup memory ({} bytes)", launch_->threadgroup_bytes), 1}};
  for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
    const auto* argument = launch_->layout->find(AddressSpace::device, index);
    if (argument == nullptr) argument = launch_->layout->find(AddressSpace::constant, index);
    if (argument == nullptr || (*launch_->buffers)[index] == nullptr) continue;
    all.push_back({static_cast<const std::byte*>((*launch_->buffers)[index]), (*launch_->buffer_sizes)[index],
                   fmt::format("buffer {} ('{}')", index, argument->name),
                   fmt::format("'{}' (buffer {}, {} bytes)", argument->name, index, (*launch_->buffer_sizes)[index]), argument->size,
                   std::uint32_t{1} << index});
  }
  return all;
}

// `buffers`: what the access may be to (Strays::buffers_of()), or 0. If it is one buffer, the address counts from there, however far it is;
// but an address in the pages that no process can map comes from a null pointer.
std::string Threadgroup::describe_address(const void* address, std::uint32_t buffers) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  constexpr std::uintptr_t kFirstMappable = 1U << 16U;
  const bool is_one = at >= kFirstMappable && std::has_single_bit(buffers) && buffers != std::uint32_t{1} << abi::kMaxBuffers;
  for (const Memory& memory : memories()) {
    const auto first = reinterpret_cast<std::uintptr_t>(memory.data);
    const std::size_t size = memory.size;
    const bool is_meant = (buffers & memory.bit) != 0;
    if (is_one && !is_meant) continue;
    // The pages of a buffer that the line does not name are the nearest by chance.
    const char* near = is_meant ? "" : "an address near ";
    if (at < first && (is_one || first - at <= GuardedMemory::kGuardBytes))
      return fmt::format("{}a byte {} before the start of {}", near, first - at, memory.name);
    if (at >= first + size && (is_one || at - first - size < GuardedMemory::kGuardBytes))
      return fmt::format("{}byte {} of {}, which has {}", near, at - first, memory.name, size);
  }
  return fmt::format("address {}, where no buffer is", address);
}

std::string Threadgroup::describe_bytes(const void* address, std::size_t bytes) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Memory& memory : memories()) {
    const auto offset = at - reinterpret_cast<std::uintptr_t>(memory.data);
    if (offset >= memory.size) continue;
    const std::string element = memory.element_bytes > 1 ? fmt::format("element {}, ", offset / memory.element_bytes) : std::string();
    return fmt::format("{}bytes {}..{} of {}", element, offset, offset + bytes - 1, memory.label);
  }
  return fmt::format("{} bytes from address {} on", bytes, address);
}

Hazard Threadgroup::invalid_access(const Fault& fault) {
  Hazard hazard;
  hazard.kind = HazardKind::invalid_access;
  const Lane* culprit = nullptr;
  for_each([&](const Lane& lane) {
    // The page below the stack is unmapped, so a fault there is a stack overflow.
    if (fault.stack_pointer >= lane.stack_bottom - StackPool::kStackBytes / 2 && fault.stack_pointer < lane.stack_top &&
        (lane.owns(fault.stack_pointer) || culprit == nullptr))
      culprit = &lane;
  });
  const bool overflow = culprit != nullptr && culprit->is_beyond_stack(fault.address);
  if (const Lane* wanted = overflow || !fault.address_known ? nullptr : strays_.lane_of(fault)) culprit = wanted;
  const std::string who = culprit == nullptr ? "a thread" : culprit->name();
  const std::string what =
      overflow                 ? fmt::format("needs more than the {} KiB of memory for its own variables", StackPool::kStackBytes >> 10)
      : fault.signal == SIGFPE ? std::string("met an arithmetic trap")
      : fault.signal == SIGILL ? std::string("met an instruction that ends it")
      : !fault.address_known   ? std::string("touched an address out of any range")
                               : "touched " + describe_address(fault.address, strays_.buffers_of(strays_.place_of(fault), fault.is_write));
  // A stack overflow has no line; the message names the kernel.
  if (!overflow) hazard.first = strays_.place_of(fault);
  hazard.lacks_line = !overflow && hazard.first.line == 0;
  hazard.message = fmt::format("invalid access: {} {}, and the threadgroup is given up{}", who, what, name());
  if (hazard.first.line != 0) hazard.message = fmt::format("{}:{}: {}", hazard.first.file, hazard.first.line, hazard.message);
  return hazard;
}

}  // namespace assay::metal::execute
