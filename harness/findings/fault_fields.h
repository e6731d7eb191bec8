// Archives faults for other processes (base/archive.h): the members in fault_members.h, in the same order.
#pragma once

#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <variant>

#include "base/archive.h"
#include "harness/findings/fault_members.h"
#include "harness/findings/metal_fields.h"

namespace assay::harness {

constexpr std::uint64_t largest(FaultKind) { return kFaultKinds - 1; }
constexpr std::uint64_t largest(Distrust) { return static_cast<std::uint64_t>(Distrust::uninformative); }

namespace fault {

// Archives the types with listed members. Archives find fields() in the namespace of these types.
template <typename Archive, HasMembers T>
  requires(!std::same_as<std::remove_const_t<T>, metal::SourceLocation>)
void fields(Archive& archive, T& value) {
  const auto visit = [&](const char*, auto& member) { archive(member); };
  visit_members(visit, value);
}

}  // namespace fault

void fields(auto& archive, base::OneOf<Fault> auto& value) {
  FaultKind kind = value.kind();
  archive(kind);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(value)>>) value.details = details_of(kind);
  archive(value.schedule);
  std::visit([&](auto& details) { archive(details); }, value.details);
}

}  // namespace assay::harness

// Archives find fields() in the namespace of the type.
namespace assay::families {

void fields(auto& archive, base::OneOf<BrokenPromise> auto& value) {
  auto& [promise, values] = value;
  each(archive, promise, values);
  if constexpr (std::is_const_v<std::remove_reference_t<decltype(value)>>) return;
  try {
    static_cast<void>(promise_of(value));
  } catch (const std::invalid_argument& error) {
    throw base::DamagedArchive(error.what());
  }
}

}  // namespace assay::families
