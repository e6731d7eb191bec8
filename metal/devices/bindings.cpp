// Implements Metal's rules for bindings: indices, lengths, offsets, and the requirements of a kernel's arguments.
#include "metal/devices/bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "metal/errors.h"
#include "metal/limits.h"

namespace assay::metal::devices {

namespace {

void check_index(std::uint32_t index, std::string_view call) {
  if (index > kMaxBufferIndex) throw EncodeError(fmt::format("{}: index {} is not in 0..{}", call, index, kMaxBufferIndex));
}

const BoundArgument* buffer_argument(const ArgumentLayout& layout, std::uint32_t index) {
  const BoundArgument* argument = layout.find(AddressSpace::device, index);
  return argument != nullptr ? argument : layout.find(AddressSpace::constant, index);
}

std::string name_of(const ArgumentLayout& layout, const BoundArgument& argument) {
  return fmt::format("'{}': argument '{}' ({} index {}, {}:{})", layout.function, argument.name,
                     argument.space == AddressSpace::threadgroup ? "threadgroup" : "buffer", argument.index, layout.file, layout.line);
}

bool overlap(const Binding& a, const Binding& b) {
  return a.bound && b.bound && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

}  // namespace

void Bindings::set_buffer(std::uint32_t index, BufferView view) {
  check_index(index, "set_buffer");
  if (view.buffer == nullptr) throw EncodeError(fmt::format("set_buffer: no buffer given for index {}", index));
  if (view.offset > view.buffer->size())
    throw EncodeError(
        fmt::format("set_buffer: offset {} is behind the {} bytes of the buffer for index {}", view.offset, view.buffer->size(), index));
  Binding& binding = bindings_[index];
  binding = {};
  binding.view = view;
  binding.buffer_id = view.buffer->id();
  binding.is_set = true;
}

void Bindings::set_bytes(std::uint32_t index, std::span<const std::byte> bytes) {
  check_index(index, "set_bytes");
  if (bytes.empty() || bytes.size() > kMaxSetBytes)
    throw EncodeError(fmt::format("set_bytes: {} bytes for index {}; Metal takes 1 to {}", bytes.size(), index, kMaxSetBytes));
  Binding& binding = bindings_[index];
  auto memory = binding.bytes != nullptr && binding.bytes->size() == bytes.size() ? std::move(binding.bytes)
                                                                                  : std::make_unique<GuardedMemory>(bytes.size());
  std::ranges::copy(bytes, memory->data());
  binding = {};
  binding.bytes = std::move(memory);
  binding.is_set = true;
  binding.is_bytes = true;
}

void Bindings::set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) {
  check_index(index, "set_threadgroup_memory_length");
  if (bytes % kThreadgroupLengthMultiple != 0) {
    throw EncodeError(fmt::format("set_threadgroup_memory_length: {} bytes for index {} are not a multiple of {}", bytes, index,
                                  kThreadgroupLengthMultiple));
  }
  threadgroup_lengths_[index] = bytes;
}

void Bindings::choose(const ArgumentLayout& layout) {
  for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
    const BoundArgument* argument = buffer_argument(layout, index);
    Binding& binding = bindings_[index];
    binding.bound = binding.is_set && argument != nullptr;
    // Only for arguments of this kernel: a buffer that is still set for earlier dispatches may have been destroyed.
    if (binding.bound && !binding.is_bytes && !Buffer::exists(binding.buffer_id))
      throw EncodeError(fmt::format("{}: the buffer that was bound there does not exist any more", name_of(layout, *argument)));
  }
  for (const auto& argument : layout.arguments) {
    if (argument.space == AddressSpace::threadgroup) {
      if (threadgroup_lengths_[argument.index] == 0)
        throw EncodeError(
            fmt::format("{} has no threadgroup memory: set_threadgroup_memory_length was not called", name_of(layout, argument)));
      continue;
    }
    const Binding& binding = bindings_[argument.index];
    if (!binding.bound) throw EncodeError(fmt::format("{} is not bound", name_of(layout, argument)));
    if (binding.is_bytes && !argument.is_const) {
      throw EncodeError(fmt::format("{} is a writable device {}, which set_bytes cannot feed; use set_buffer", name_of(layout, argument),
                                    argument.is_reference ? "reference" : "pointer"));
    }
    if (argument.is_reference && binding.size() < argument.size) {
      throw EncodeError(fmt::format("{} is a {} of {} bytes, but only {} are bound", name_of(layout, argument), argument.type_name,
                                    argument.size, binding.size()));
    }
  }
}

std::uint32_t Bindings::place_threadgroup_arguments(const ArgumentLayout& layout, std::span<std::uint32_t> offsets) const {
  std::size_t used = layout.static_threadgroup_bytes;
  for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
    if (layout.find(AddressSpace::threadgroup, index) == nullptr) continue;
    offsets[index] = static_cast<std::uint32_t>(std::min(used, kMaxThreadgroupBytes));
    used += threadgroup_lengths_[index];
  }
  if (used > kMaxThreadgroupBytes) {
    throw EncodeError(fmt::format(
        "'{}' ({}:{}) needs {} bytes of threadgroup memory ({} declared in the kernel, {} set by the encoder), and Metal allows {}",
        layout.function, layout.file, layout.line, used, layout.static_threadgroup_bytes, used - layout.static_threadgroup_bytes,
        kMaxThreadgroupBytes));
  }
  return static_cast<std::uint32_t>(used);
}

std::uint32_t Bindings::kept_buffers(const abi::Module& module) const {
  std::uint32_t result = 0;
  for (std::uint32_t written = 0; written < abi::kMaxBuffers; ++written) {
    if ((module.written_buffers >> written & 1u) == 0 || !bindings_[written].bound) continue;
    for (std::uint32_t read = 0; read < abi::kMaxBuffers; ++read) {
      if ((module.read_buffers & module.present_buffers) >> read & 1u && overlap(bindings_[written], bindings_[read]))
        result |= 1u << written;
    }
  }
  return result;
}

const Binding* Bindings::labelled(std::string_view label) const {
  const auto found = std::ranges::find_if(
      bindings_, [&](const Binding& binding) { return binding.buffer() != nullptr && binding.buffer()->label() == label; });
  return found == bindings_.end() ? nullptr : &*found;
}

std::vector<Hazard> Bindings::misaligned(const abi::Module& module, const ArgumentLayout& layout) const {
  std::vector<Hazard> found;
  for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
    const std::uint32_t required = module.alignments[index];
    const Binding& binding = bindings_[index];
    if (required <= 1 || binding.buffer() == nullptr || reinterpret_cast<std::uintptr_t>(binding.data()) % required == 0) continue;
    const auto* argument = buffer_argument(layout, index);
    Hazard& hazard = found.emplace_back();
    hazard.kind = HazardKind::misaligned_access;
    hazard.message =
        fmt::format("misaligned access: buffer {} ('{}') is bound from byte {} of '{}' on, and its type requires a multiple of {}", index,
                    argument == nullptr ? "?" : argument->name, binding.view.offset, binding.buffer()->label(), required);
  }
  return found;
}

std::vector<Hazard> Bindings::take_stray_writes(const ArgumentLayout& layout) const {
  std::vector<Hazard> found;
  for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
    Buffer* buffer = bindings_[index].buffer();
    if (buffer == nullptr) continue;
    const auto side = buffer->take_stray_write();
    if (!side) continue;
    const auto* argument = layout.find(AddressSpace::device, index);
    Hazard& hazard = found.emplace_back();
    hazard.kind = HazardKind::invalid_access;
    hazard.lacks_line = true;
    hazard.written = std::uint32_t{1} << index;
    hazard.message = fmt::format("invalid access: a thread wrote {} the {} bytes of buffer {} ('{}')", *side, buffer->size(), index,
                                 argument == nullptr ? buffer->label() : argument->name);
  }
  return found;
}

}  // namespace assay::metal::devices
