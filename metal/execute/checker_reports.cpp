// Describes what the checker finds.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "metal/execute/checker.h"
#include "metal/execute/lanes.h"

namespace assay::metal::execute {

namespace {

std::string_view verb(const abi::Access& access) {
  if ((access.kind & abi::kWrites) == 0) return "reads";
  return (access.kind & abi::kReads) != 0 ? "changes" : "writes";
}

Line line_of(const abi::Access& access) { return {access.file, access.line}; }

std::string who(std::uint32_t thread) { return fmt::format("lane {} of simdgroup {}", thread % abi::kLanes, thread / abi::kLanes); }
std::string who(const Lane& lane) { return who(lane.builtins[abi::kThreadIndexInThreadgroup][0]); }

std::string bytes_text(std::size_t first, std::size_t count) {
  return count == 1 ? fmt::format("byte {}", first) : fmt::format("bytes {}..{}", first, first + count - 1);
}

}  // namespace

void Checker::report_place(const Lane& lane, std::uint32_t number, const Object& object, const void* address, std::size_t bytes) {
  if (leaves_out()) return;
  const abi::Access& access = module_.accesses[number];
  const auto offset = static_cast<const std::byte*>(address) - object.data;
  if (offset >= 0 && static_cast<std::size_t>(offset) + bytes <= object.size) {
    findings_.add(HazardKind::misaligned_access, line_of(access), std::nullopt, [&] {
      return fmt::format("misaligned access: {} {} {}, and the type requires a multiple of {}{}", who(lane), verb(access),
                         where(object, static_cast<std::size_t>(offset), bytes), access.alignment, threadgroup());
    });
    return;
  }
  Hazard& found = findings_.add(HazardKind::out_of_bounds, line_of(access), std::nullopt, [&] {
    return fmt::format("out of bounds: {} {} {}{}", who(lane), verb(access),
                       offset < 0 ? fmt::format("{} bytes from {} bytes before the start of {} on", bytes, -offset, object.name)
                                  : where(object, static_cast<std::size_t>(offset), bytes),
                       threadgroup());
  });
  if ((access.kind & abi::kWrites) == 0) return;
  const auto number_of_object = static_cast<std::size_t>(&object - objects_.data());
  if (object.is_threadgroup) {
    found.written |= kWroteBesideThreadgroupMemory;
  } else if (number_of_object < abi::kMaxBuffers) {
    found.written |= std::uint32_t{1} << number_of_object;
  }
}

void Checker::report_uninitialised(const Lane& lane, std::uint32_t number, const Object& object, std::size_t offset, std::size_t bytes,
                                   std::size_t missing) {
  if (leaves_out()) return;
  findings_.add(HazardKind::uninitialised_read, line_of(module_.accesses[number]), std::nullopt, [&] {
    return fmt::format("uninitialised read: {} reads {}, and byte {} is uninitialised{}", who(lane), where(object, offset, bytes),
                       offset + missing, threadgroup());
  });
}

void Checker::report_race(std::uint32_t number, const Object& object, std::size_t offset, std::size_t bytes, const void* source,
                          const Mark& mine, const Mark& rival) {
  const abi::Access& access = module_.accesses[number];
  const abi::Access& other = module_.accesses[rival.access()];
  const bool is_same_value =
      source != nullptr && ((access.kind | other.kind) & abi::kReads) == 0 && std::memcmp(object.data + offset, source, bytes) == 0;
  const bool is_outside = !object.is_threadgroup && !device_order_.is_own(rival);
  const bool is_within = !is_outside && ThreadgroupOrder::is_same_party(mine, rival);
  const UnfencedBarrier* unfenced = nullptr;
  if (!object.is_threadgroup) {
    unfenced = device_order_.unfenced_since(rival);
  } else if (rival.when < order_.unfenced.when) {
    unfenced = &order_.unfenced;
  }
  const HazardKind kind = is_same_value         ? HazardKind::identical_writes
                          : is_outside          ? HazardKind::device_race
                          : is_within           ? HazardKind::simdgroup_race
                          : unfenced != nullptr ? HazardKind::unfenced_barrier
                                                : HazardKind::threadgroup_race;
  if ((kind != HazardKind::identical_writes || !object.is_threadgroup) && leaves_out()) return;
  Hazard& race = findings_.add(kind, line_of(access), line_of(other), [&] {
    std::string party;
    if (is_outside) {
      party = fmt::format("thread {} of threadgroup number {}", rival.thread(), device_order_.threadgroup_of(rival.when));
    } else {
      party = (rival.who & Mark::kSeveral) != 0 ? fmt::format("several lanes of simdgroup {}", rival.simdgroup()) : who(rival.thread());
    }
    const SourceLocation second = findings_.location(line_of(other));
    std::string order = "nothing orders them";
    if (kind == HazardKind::unfenced_barrier) {
      const abi::Site& barrier = module_.sites[unfenced->site];
      order = fmt::format("the barrier between them at {}:{} does not fence {} memory", module_.files[barrier.file], barrier.line,
                          object.is_threadgroup ? "threadgroup" : "device");
    }
    return fmt::format("{}: {} {} {}, which {} {} at {}:{}, and {}{}", to_string(kind), who(mine.thread()), verb(access),
                       where(object, offset, bytes), party, verb(other), second.file, second.line, order, threadgroup());
  });
  if (race.count > 1) return;
  race.first_writes = (access.kind & abi::kWrites) != 0;
  race.second_writes = (other.kind & abi::kWrites) != 0;
}

std::string Checker::where(const Object& object, std::size_t offset, std::size_t bytes) const {
  const std::string element = object.element_bytes > 1 ? fmt::format("element {}, ", offset / object.element_bytes) : std::string();
  return fmt::format("{}{} of {}", element, bytes_text(offset, bytes), object.name);
}

std::string Checker::threadgroup() const { return fmt::format(" (threadgroup {}, {}, {})", position_.x, position_.y, position_.z); }

}  // namespace assay::metal::execute
