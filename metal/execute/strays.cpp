// Reports invalid and misaligned accesses, and lets the kernel continue.
#include "metal/execute/strays.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <sstream>

#include "metal/compile/module.h"
#include "metal/execute/lanes.h"

namespace assay::metal::execute {

namespace {

// In the first threadgroups of a dispatch, invalid accesses are reported one by one, up to a number for each threadgroup. After these,
// and in all later threadgroups, pages that were read stay mapped. A threadgroup ends after kMost accesses: a fault takes some fifty
// microseconds.
constexpr std::uint64_t kThreadgroupsInFull = 4;
constexpr std::uint64_t kReportedEach = 32;
constexpr std::uint64_t kMost = 16384;

// Limit of instructions that are reported separately: the compiler may make dozens from one line.
constexpr std::size_t kMostInstructions = 4096;

bool covers(const void* first, std::uint64_t bytes, const Fault& fault) {
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  // Of an address that no processor has, the fault does not tell which one it is.
  constexpr unsigned kUsedBits = 48;
  constexpr std::uintptr_t kUpper = ~std::uintptr_t{0} >> kUsedBits;
  if (!fault.address_known) return begin >> kUsedBits != 0 && begin >> kUsedBits != kUpper;
  // If a vector extends over two pages, the fault may be at the start of the second page.
  return reinterpret_cast<std::uintptr_t>(fault.address) - begin < bytes;
}

}  // namespace

void Strays::begin_threadgroup(std::uint64_t number) {
  incidents.begin_threadgroup(number);
  reported_each_ = number < kThreadgroupsInFull ? kReportedEach : 0;
  strays_.clear();
  strays_.reserve(kMostInstructions);
  count_ = 0;
}

bool Strays::is_of_kernel(const void* instruction) const {
  Dl_info kernel{};
  Dl_info found{};
  return dladdr(reinterpret_cast<const void*>(threadgroup_.module().entry), &kernel) != 0 && dladdr(instruction, &found) != 0 &&
         kernel.dli_fbase == found.dli_fbase;
}

// The place where the kernel called the function that copies memory, which keeps little on the stack.
const void* Strays::caller(const Fault& fault) const {
  if (fault.caller != nullptr && is_of_kernel(fault.caller)) return static_cast<const std::byte*>(fault.caller) - 1;
  constexpr std::size_t kMostWords = 16;
  const auto words = std::span(static_cast<void* const*>(fault.stack_pointer), kMostWords);
  const auto found = std::ranges::find_if(words, [this](const void* word) { return is_of_kernel(word); });
  return found == words.end() ? nullptr : static_cast<const std::byte*>(*found) - 1;
}

Strays::Stray Strays::stray_of(const Fault& fault) const {
  Stray stray{nullptr, 0, nullptr, fault.address, fault.is_write, 1};
  threadgroup_.for_each([&](const Lane& lane) {
    if (lane.owns(fault.stack_pointer)) stray.lane = &lane;
  });
  if (is_of_kernel(fault.instruction)) {
    stray.instruction = fault.instruction;
    return stray;
  }
  // The runtime made the access for a lane: the one that is about to wait. Where lanes meet, it may be another lane than the one whose
  // stack is in use.
  const Lane* wants = nullptr;
  threadgroup_.for_each([&](const Lane& lane) {
    const Request& request = lane.request;
    const bool may_be = &lane == stray.lane || (lane.group == running_group && (lane.group->waiting >> lane.index & 1U) != 0);
    if (wants != nullptr || !may_be) return;
    const auto service = threadgroup_.module().sites[lane.group->sites[lane.index]].service;
    const std::uint64_t bytes = service == abi::kAtomic ? sizeof(std::uint64_t) : request.bytes;
    // Other requests leave some pointers unused.
    const auto touches = [&](const void* first) { return (first != nullptr || service == abi::kStore) && covers(first, bytes, fault); };
    if (touches(request.pointers[0]) || touches(request.pointers[1])) wants = &lane;
  });
  if (wants != nullptr) {
    stray.lane = wants;
    stray.site = wants->group->sites[wants->index] + 1;
  } else {
    stray.instruction = caller(fault);
  }
  return stray;
}

Containment Strays::contain(const Fault& fault) {
  const Stray stray = stray_of(fault);
  // A fault that is neither the kernel's nor made for it is an error of ours, and must not be hidden.
  if (stray.lane == nullptr || (stray.instruction == nullptr && stray.site == 0)) return Containment::end;
  if (count_ == kMost || stray.lane->is_beyond_stack(fault.address)) return Containment::end;
  const auto known =
      std::ranges::find_if(strays_, [&](const Stray& other) { return other.instruction == stray.instruction && other.site == stray.site; });
  if (known == strays_.end() && strays_.size() == kMostInstructions) return Containment::end;
  threadgroup_.run_alone();
  ++count_;
  if (known != strays_.end()) {
    ++known->count;
  } else {
    strays_.push_back(stray);
  }
  return count_ > reported_each_ ? Containment::pages : Containment::once;
}

void Strays::report() {
  for (const Stray& stray : strays_) {
    incidents.add(HazardKind::invalid_access, place_of(stray), stray.count, [&] {
      return fmt::format("invalid access: {} {} {}{}", stray.lane->name(), stray.is_write ? "writes" : "reads",
                         threadgroup_.describe_address(stray.address, buffers_of(place_of(stray), stray.is_write)), threadgroup_.name());
    });
  }
  strays_.clear();
}

void Strays::misaligned(const Lane& lane, std::uint32_t number, const void* address) {
  const abi::Access& access = threadgroup_.module().accesses[number];
  // Outside of all memory, alignment does not matter; if the access faults, that is reported.
  if (!threadgroup_.has(address, std::max(access.bytes, 1U))) return;
  incidents.add(HazardKind::misaligned_access, location(access.file, access.line), 1, [&] {
    const bool is_write = (access.kind & abi::kWrites) != 0;
    const bool is_read = (access.kind & abi::kReads) != 0;
    return fmt::format("misaligned access: {} {} {}, and the type requires a multiple of {}{}", lane.name(),
                       !is_write ? "reads"
                       : is_read ? "changes"
                                 : "writes",
                       threadgroup_.describe_bytes(address, std::max(access.bytes, 1U)), access.alignment, threadgroup_.name());
  });
}

void Strays::unset(const Lane& lane, std::uint32_t number, std::uint64_t offset) {
  const abi::Access& access = threadgroup_.module().accesses[number];
  const std::uint64_t size = access.alignment;
  if (access.bytes > size || offset > size - access.bytes) {
    const auto first = static_cast<std::int64_t>(offset);
    incidents.add(HazardKind::out_of_bounds, location(access.file, access.line), 1, [&] {
      return fmt::format("out of bounds: {} {} bytes {}..{} of a local array of {} bytes{}", lane.name(),
                         (access.kind & abi::kWrites) != 0 ? "writes" : "reads", first, first + access.bytes - 1, size,
                         threadgroup_.name());
    });
    return;
  }
  incidents.add(HazardKind::uninitialised_read, location(access.file, access.line), 1, [&] {
    return fmt::format("uninitialised read: {} reads bytes {}..{} of a local array, which it has not written{}", lane.name(), offset,
                       offset + access.bytes - 1, threadgroup_.name());
  });
}

void Strays::narrowed(const Lane& lane, std::uint32_t number, const Narrowing& narrowing) {
  const abi::Access& access = threadgroup_.module().accesses[number];
  incidents.add(HazardKind::lost_index_bits, location(access.file, access.line), 1, [&] {
    const bool is_signed = (narrowing.type & abi::kSignedIndex) != 0;
    const std::uint32_t bits = narrowing.type & ~abi::kSignedIndex;
    const char* type = bits == 8 ? "char" : bits == 16 ? "short" : "int";
    const auto text = [&](std::uint64_t value) {
      return is_signed ? fmt::to_string(static_cast<std::int64_t>(value)) : fmt::to_string(value);
    };
    return fmt::format("lost index bits: {} converts {} to {}{}, of which {} is left{}", lane.name(), text(narrowing.value),
                       is_signed ? "" : "u", type, text(narrowing.kept), threadgroup_.name());
  });
}

// The lines are those that pass/provenance.cpp wrote.
std::uint32_t Strays::buffers_of(const SourceLocation& place, bool is_write) const {
  std::istringstream lines(threadgroup_.module().reflection);
  for (std::string text; std::getline(lines, text);) {
    std::istringstream words(text);
    std::string kind;
    std::string file;
    std::uint32_t read = 0, written = 0;
    std::uint32_t line = 0;
    if (!(words >> kind >> read >> written >> line) || kind != "buffers" || line != place.line) continue;
    if (std::getline(words >> std::ws, file); file == place.file) return is_write ? written : read;
  }
  return 0;
}

SourceLocation Strays::location(std::uint32_t file, std::uint32_t line) const { return {threadgroup_.module().files[file], line}; }

SourceLocation Strays::place_of(const Fault& fault) { return place_of(stray_of(fault)); }

SourceLocation Strays::place_of(const Stray& stray) {
  const abi::Module& module = threadgroup_.module();
  if (stray.site != 0) return location(module.sites[stray.site - 1].file, module.sites[stray.site - 1].line);
  Dl_info object{};
  if (stray.instruction == nullptr || dladdr(stray.instruction, &object) == 0) return {};
  const auto found = tables_.try_emplace(object.dli_fname, compile::bytes_of_loaded(object.dli_fname)).first;
  const auto offset = static_cast<const std::byte*>(stray.instruction) - static_cast<const std::byte*>(object.dli_fbase);
  const auto place = found->second.place(static_cast<std::uint64_t>(offset));
  if (!place || *place > module.place_count) return {};
  return location(module.places[*place - 1].file, module.places[*place - 1].line);
}

}  // namespace assay::metal::execute
