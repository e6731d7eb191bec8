// Checks the bounds, initialisation, alignment and order of every access.
#include "metal/execute/checker.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "metal/execute/lanes.h"
#include "metal/guarded_memory.h"

namespace assay::metal::execute {

namespace {

constexpr std::size_t kBitsInByte = 8;

// From mem_flags.
constexpr std::uint32_t kFencesDevice = 1;
constexpr std::uint32_t kFencesThreadgroup = 2;

bool reads(const abi::Access& access) { return (access.kind & abi::kReads) != 0; }
bool writes(const abi::Access& access) { return (access.kind & abi::kWrites) != 0; }

std::uint32_t thread_of(const Lane& lane) { return lane.builtins[abi::kThreadIndexInThreadgroup][0]; }

// The number of bytes of a read that must be initialised.
std::size_t bytes_wanted(const abi::Access& access, std::size_t bytes) {
  if ((access.kind & abi::kCopiesPadding) != 0) return 0;
  return (access.kind & abi::kCopiesWhole) != 0 ? bytes / 4 * 3 : bytes;
}

}  // namespace

std::uint32_t Checker::mark_of(std::uint32_t number, std::uint32_t thread) const {
  return number << Mark::kAccessShift | ((module_.accesses[number].kind & abi::kAtomically) != 0 ? Mark::kAtomic : 0) | thread;
}

Checker::Checker(const abi::Module& module, const ArgumentLayout& layout, std::span<const Binding> bindings, WrittenBytes& written,
                 AccessLog* log)
    : module_(module),
      log_(log),
      objects_(abi::kThreadgroupVariable + module.variable_count),
      group_reads_(module.access_count),
      findings_(module),
      quick_(module.access_count),
      tallies_(module.access_count),
      meetings_(module.site_count),
      block_counts_(module.block_count) {
  bind(layout, bindings, written);
  find_granules();
  make_quick();
}

void Checker::bind(const ArgumentLayout& layout, std::span<const Binding> bindings, WrittenBytes& written) {
  for (std::uint32_t index = 0; index < bindings.size(); ++index) {
    const Binding& binding = bindings[index];
    if (binding.data == nullptr) continue;
    Object& object = objects_[index];
    object.data = binding.data;
    object.size = binding.size;
    const BoundArgument* argument = layout.find(AddressSpace::device, index);
    object.is_device = argument != nullptr;
    if (argument == nullptr) argument = layout.find(AddressSpace::constant, index);
    object.name = fmt::format("'{}' (buffer {}, {} bytes)", argument == nullptr ? "?" : argument->name, index, binding.size);
    if (argument != nullptr) object.element_bytes = argument->size;
    if (binding.buffer == nullptr) continue;
    object.buffer = binding.buffer;
    object.first = static_cast<std::size_t>(binding.data - binding.buffer->device_address());
    if (!binding.buffer->host_has_written()) object.written = &written[binding.buffer->id()];
    if ((module_.written_buffers >> index & 1U) != 0) device_cells_[binding.buffer];
  }
  // A buffer may be bound at several indices and be written through only one of them.
  for (Object& object : std::span(objects_).first(abi::kMaxBuffers)) {
    const auto found = device_cells_.find(object.buffer);
    if (object.buffer != nullptr && found != device_cells_.end()) object.cells = &found->second;
  }
  for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
    const BoundArgument* argument = layout.find(AddressSpace::threadgroup, index);
    if (argument == nullptr) continue;
    objects_[abi::kThreadgroupArgument + index].name = argument->name;
    objects_[abi::kThreadgroupArgument + index].element_bytes = argument->size;
  }
}

// The largest powers of two that divide the address and the size of every access.
void Checker::find_granules() {
  constexpr std::uint32_t kLargest = 16;
  std::uint32_t device = kLargest;
  std::uint32_t threadgroup = kLargest;
  for (const abi::Access& access : std::span(module_.accesses, module_.access_count)) {
    if (access.kind == 0) continue;
    const std::uint32_t divisor = access.bytes == 0 ? 1 : (access.alignment | access.bytes) & -(access.alignment | access.bytes);
    if (access.object < abi::kThreadgroupArgument) device = std::min(device, divisor);
    if (access.object >= abi::kAnyObject) threadgroup = std::min(threadgroup, divisor);
  }
  device_shift_ = static_cast<unsigned>(std::countr_zero(device));
  threadgroup_shift_ = static_cast<unsigned>(std::countr_zero(threadgroup));
}

// A read of a buffer that the host has written and no kernel writes can only be wrong by being out of bounds. The kernel
// tests that itself.
void Checker::make_quick() {
  if (log_ != nullptr) return;
  for (std::uint32_t number = module_.site_count; number < module_.access_count; ++number) {
    const abi::Access& access = module_.accesses[number];
    if (access.object >= abi::kMaxBuffers || access.bytes == 0) continue;
    const Object& object = objects_[access.object];
    if (object.data == nullptr || object.size < access.bytes || object.written != nullptr || object.cells != nullptr) continue;
    abi::Quick& quick = quick_[number];
    quick.data = object.data;
    quick.limit = object.size - access.bytes + 1;
    // Reads of constant memory are not counted as a cost: their bits are discarded.
    const std::byte* start = object.data - object.first;
    TouchedBytes& bits = object.is_device && object.buffer != nullptr ? touched(number, *object.buffer)
                                                                      : unnoted_.emplace_back(object.first + object.size + kBitsInByte);
    quick.touched = reinterpret_cast<std::uintptr_t>(bits.bits()) - (reinterpret_cast<std::uintptr_t>(start) >> 3);
  }
}

void Checker::begin_threadgroup(const ThreadgroupStart& start) {
  const bool is_first = device_order_.clock() == 0;
  device_order_.begin();
  position_ = start.position;
  knows_unwritten_ = true;
  ++period_;
  order_.begin();
  const auto part = [&](Object& object, std::size_t offset, std::size_t size) {
    object.data = start.memory.data() + offset;
    object.size = size;
    object.first = offset;
    object.is_threadgroup = true;
  };
  threadgroup_cells_.resize((start.memory.size() >> threadgroup_shift_) + 1);
  part(whole_threadgroup_, 0, start.memory.size());
  whole_threadgroup_.name = fmt::format("threadgroup memory ({} bytes)", start.memory.size());
  for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
    Object& argument = objects_[abi::kThreadgroupArgument + index];
    if (argument.name.empty()) continue;
    if (is_first) argument.name = fmt::format("'{}' (threadgroup {}, {} bytes)", argument.name, index, start.lengths[index]);
    part(argument, start.offsets[index], start.lengths[index]);
  }
  for (std::uint32_t index = 0; index < module_.variable_count; ++index) {
    const abi::Variable& variable = module_.variables[index];
    Object& object = objects_[abi::kThreadgroupVariable + index];
    part(object, variable.offset, variable.size);
    const std::string_view name = variable.name;
    object.name = name.empty() ? fmt::format("a threadgroup variable of {} bytes", variable.size)
                               : fmt::format("'{}' (threadgroup variable, {} bytes)", name, variable.size);
  }
}

void Checker::prepare(abi::Lane& lane) {
  lane.quick = quick_.data();
  lane.block_counts = block_counts_.data();
}

void Checker::threadgroup_barrier(std::uint32_t site, std::uint32_t flags) {
  ++period_;
  order_.barrier((flags & kFencesThreadgroup) != 0, site);
  if ((flags & kFencesDevice) == 0) device_order_.unfenced_barrier(site);
  fence(flags);
}

void Checker::fence(std::uint32_t flags) {
  if ((flags & kFencesDevice) != 0) device_order_.fence();
}

void Checker::simdgroup_barrier(std::uint32_t simdgroup, std::uint32_t flags) {
  ++period_;
  order_.simdgroup_barrier(simdgroup, (flags & kFencesThreadgroup) != 0);
  if ((flags & kFencesDevice) != 0) device_order_.simdgroup_fence(simdgroup);
}

// Null for the lane's own memory, the kernel's constants, and unmapped addresses. An access to the latter is a fault.
const Checker::Object* Checker::object_of(const Lane& lane, const abi::Access& access, const void* address) const {
  if (access.object != abi::kAnyObject) {
    const Object& object = objects_[access.object];
    return object.data == nullptr ? nullptr : &object;
  }
  if (lane.owns(address)) return nullptr;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto is_within = [at](const Object& object, std::size_t margin) {
    const auto data = reinterpret_cast<std::uintptr_t>(object.data);
    return object.data != nullptr && at + margin >= data && at < data + object.size + margin;
  };
  for (const std::size_t margin : {std::size_t{0}, GuardedMemory::kGuardBytes}) {
    if (is_within(whole_threadgroup_, margin)) return &whole_threadgroup_;
    for (const Object& object : std::span(objects_).first(abi::kMaxBuffers)) {
      if (is_within(object, margin)) return &object;
    }
  }
  return nullptr;
}

bool Checker::is_within(const Object& object, const void* address, std::size_t bytes) {
  // An address before the start gives a huge offset.
  const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(object.data);
  return offset <= object.size && bytes <= object.size - offset;
}

bool Checker::is_aligned(const abi::Access& access, const void* address) {
  return (reinterpret_cast<std::uintptr_t>(address) & (access.alignment - 1)) == 0;
}

void* Checker::access(const Lane& lane, std::uint32_t number, void* address, std::size_t bytes) {
  const abi::Access& access = module_.accesses[number];
  const Object* object = object_of(lane, access, address);
  if (object == nullptr || bytes == 0) return address;
  const bool is_followed = is_aligned(access, address);
  const bool is_inside = is_within(*object, address, bytes);
  if (!is_followed || !is_inside) [[unlikely]]
    report_place(lane, number, *object, address, bytes);
  if (!is_inside) [[unlikely]]
    return elsewhere(bytes);
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(address) - object->data);
  count(number, *object, object->first + offset, bytes);
  if (!is_followed) [[unlikely]] {
    if (writes(access)) wrote_misaligned(*object, offset, bytes);
    return address;
  }
  if (object->is_threadgroup) {
    check_threadgroup(lane, number, *object, offset, bytes, nullptr);
    return address;
  }
  if (log_ != nullptr) log_->record(address, bytes, writes(access));
  if (reads(access)) check_initialised(lane, number, *object, offset, bytes);
  if (object->cells != nullptr) {
    check_races(lane, number, *object, offset, bytes, nullptr);
    if ((access.kind & abi::kAtomically) != 0) device_order_.atomic(address, reads(access), writes(access));
  }
  if (writes(access) && object->written != nullptr) object->written->insert(object->first + offset, bytes);
  return address;
}

bool Checker::may_write(const Lane& lane, std::uint32_t number, void* address, std::size_t bytes) {
  const abi::Access& access = module_.accesses[number];
  const Object* object = object_of(lane, access, address);
  if (object == nullptr) return true;
  const bool is_inside = is_within(*object, address, bytes);
  if (!is_inside || !is_aligned(access, address)) report_place(lane, number, *object, address, bytes);
  return is_inside;
}

// Marks for races cover whole granules. A misaligned write touches parts of granules and leaves no marks. Its bytes
// count as initialised.
void Checker::wrote_misaligned(const Object& object, std::size_t offset, std::size_t bytes) {
  if (object.is_threadgroup) {
    knows_unwritten_ = false;
  } else if (object.written != nullptr) {
    object.written->insert(object.first + offset, bytes);
  }
}

void Checker::wrote(const Lane& lane, std::uint32_t number, const void* address, const void* source, std::size_t bytes) {
  const Object* object = object_of(lane, module_.accesses[number], address);
  if (object == nullptr || bytes == 0) return;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - object->data);
  count(number, *object, object->first + offset, bytes);
  if (!is_aligned(module_.accesses[number], address)) return wrote_misaligned(*object, offset, bytes);
  if (object->is_threadgroup) return check_threadgroup(lane, number, *object, offset, bytes, source);
  if (log_ != nullptr) log_->record(address, bytes, true);
  if (object->cells != nullptr) check_races(lane, number, *object, offset, bytes, source);
  if (object->written != nullptr) object->written->insert(object->first + offset, bytes);
}

// Memory for a forbidden read: poison, which stays until the kernel has read it.
std::byte* Checker::elsewhere(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  if (elsewhere_bytes_ < bytes) {
    elsewhere_bytes_ = std::max(bytes, std::size_t{1024});
    elsewhere_.push_back(std::make_unique<std::byte[]>(elsewhere_bytes_ + kAlignment));
  }
  auto* start = elsewhere_.back().get();
  start += (kAlignment - reinterpret_cast<std::uintptr_t>(start) % kAlignment) % kAlignment;
  for (std::size_t at = 0; at < bytes; at += sizeof(kReadPoisonWord))
    std::memcpy(start + at, &kReadPoisonWord, std::min(sizeof(kReadPoisonWord), bytes - at));
  return start;
}

void Checker::check_initialised(const Lane& lane, std::uint32_t number, const Object& object, std::size_t offset, std::size_t bytes) {
  if (object.written == nullptr) return;
  const std::size_t wanted = bytes_wanted(module_.accesses[number], bytes);
  const std::size_t missing = object.written->first_missing(object.first + offset, wanted);
  if (missing != wanted) report_uninitialised(lane, number, object, offset, bytes, missing);
}

void Checker::check_threadgroup(const Lane& lane, std::uint32_t number, const Object& object, std::size_t offset, std::size_t bytes,
                                const void* source) {
  const abi::Access& access = module_.accesses[number];
  const std::size_t first = (object.first + offset) >> threadgroup_shift_;
  const std::size_t count = bytes >> threadgroup_shift_;
  if (reads(access) && knows_unwritten_) {
    std::size_t written = 0;
    while (written < count && threadgroup_cells_.is_written(first + written, order_)) ++written;
    const std::size_t missing = written << threadgroup_shift_;
    if (missing < bytes_wanted(access, bytes)) [[unlikely]]
      report_uninitialised(lane, number, object, offset, bytes, missing);
  }
  if (writes(access)) ++period_;
  const Mark mine{order_.clock, mark_of(number, thread_of(lane))};
  const Mark rival = mark_access(threadgroup_cells_, first, count, order_, mine, reads(access), writes(access));
  if (rival.when != 0) [[unlikely]]
    report_race(number, object, offset, bytes, source, mine, rival);
}

void Checker::check_races(const Lane& lane, std::uint32_t number, const Object& object, std::size_t offset, std::size_t bytes,
                          const void* source) {
  const abi::Access& access = module_.accesses[number];
  const std::size_t first = (object.first + offset) >> device_shift_;
  const Mark mine{device_order_.clock(), mark_of(number, thread_of(lane))};
  const Mark rival = mark_access(*object.cells, first, bytes >> device_shift_, device_order_, mine, reads(access), writes(access));
  if (rival.when != 0) [[unlikely]]
    report_race(number, object, offset, bytes, source, mine, rival);
}

}  // namespace assay::metal::execute
