// The names of the members of every kind of fault, listed once for the wire, the ledger and comparisons. As many members are bound as
// there are names, so that a new one breaks the build here.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "harness/findings/fault.h"

namespace assay::harness {

// In the order of the members. Null for what has no members of its own: numbers, texts, enumerations, lists and what may be absent.
template <typename T>
using Of = std::type_identity<T>;
template <typename T>
constexpr auto member_names(Of<T>) {
  return nullptr;
}
constexpr auto member_names(Of<metal::SourceLocation>) { return std::array{"file", "line"}; }
constexpr auto member_names(Of<fault::AboveBound>) { return std::array{"count"}; }
constexpr auto member_names(Of<fault::NotWritten>) { return std::array{"count"}; }
constexpr auto member_names(Of<fault::Nan>) { return std::array{"count"}; }
constexpr auto member_names(Of<fault::Infinite>) { return std::array{"count"}; }
constexpr auto member_names(Of<fault::GuardWritten>) { return std::array{"words"}; }
constexpr auto member_names(Of<fault::Logic>) { return std::array{"wrong", "elements", "worst", "ratio"}; }
constexpr auto member_names(Of<fault::Mistrusted>) { return std::array{"why", "elements", "uninformative", "limit"}; }
constexpr auto member_names(Of<fault::Hazard>) { return std::array{"hazard", "function", "message", "place", "is_output_right"}; }
constexpr auto member_names(Of<fault::DifferingElement>) { return std::array{"index", "row", "coordinate", "first", "other"}; }
constexpr auto member_names(Of<fault::OrderDependence>) { return std::array{"first", "other", "places", "count", "size", "unit"}; }
constexpr auto member_names(Of<fault::InputWritten>) { return std::array{"argument"}; }
constexpr auto member_names(Of<fault::BrokenPromise>) { return std::array{"promise", "values"}; }
constexpr auto member_names(Of<fault::TableEntry>) { return std::array{"index", "value", "wanted"}; }
constexpr auto member_names(Of<fault::WrongTable>) { return std::array{"table", "meaning", "place", "entries", "count", "size"}; }
constexpr auto member_names(Of<fault::StoredExpectation>) {
  return std::array{"file", "above_bound", "not_written", "nans", "infs", "guard_words", "mistrusted"};
}
constexpr auto member_names(Of<fault::OutsideOfOracle>) { return std::array{"message"}; }
constexpr auto member_names(Of<fault::RefusedByLaunch>) { return std::array{"message"}; }
constexpr auto member_names(Of<fault::RefusedByEncoder>) { return std::array{"message"}; }
constexpr auto member_names(Of<fault::OutsideOfLimits>) { return std::array{"file", "line", "axis", "accepted", "value", "words"}; }
constexpr auto member_names(Of<fault::NoFunction>) { return std::array{"entry", "source", "function", "others"}; }
constexpr auto member_names(Of<fault::Misfit>) { return std::array{"field", "message"}; }
constexpr auto member_names(Of<fault::UnusableFile>) { return std::array{"message"}; }
constexpr auto member_names(Of<fault::InternalFailure>) { return std::array{"message"}; }
constexpr auto member_names(Of<fault::Killed>) { return std::array{"signal", "words"}; }
constexpr auto member_names(Of<fault::Exited>) { return std::array{"status", "words"}; }
constexpr auto member_names(Of<fault::OutOfMemory>) { return std::array{"words"}; }
constexpr auto member_names(Of<fault::ClosedChannel>) { return std::array{"words"}; }
constexpr auto member_names(Of<fault::Vanished>) { return std::array{"words"}; }
constexpr auto member_names(Of<fault::MalformedVerdict>) { return std::array{"message", "words"}; }
constexpr auto member_names(Of<fault::Timeout>) { return std::array{"seconds"}; }
constexpr auto member_names(Of<fault::MemoryLimit>) { return std::array{"bytes", "limit"}; }
constexpr auto member_names(Of<fault::Finding>) { return std::array{"place", "when", "shows", "see"}; }
constexpr auto member_names(Of<fault::KnownFinding>) { return std::array{"findings"}; }
constexpr auto member_names(Of<fault::LikeKnownFinding>) { return std::array{"findings"}; }
constexpr auto member_names(Of<fault::StaleFinding>) { return std::array{"finding"}; }
constexpr auto member_names(Of<fault::MissingFinding>) { return std::array{"finding"}; }
constexpr auto member_names(Of<fault::BeyondFinding>) { return std::array{"finding"}; }
constexpr auto member_names(Of<fault::OtherBits>) { return std::array{"axis", "first", "other", "count", "size", "row", "coordinate"}; }
constexpr auto member_names(Of<fault::BrokenClaim>) { return std::array{"place", "claim", "ability"}; }
constexpr auto member_names(Of<fault::NotRequired>) { return std::array{"ability"}; }
constexpr auto member_names(Of<fault::DeviceFault>) { return std::array{"function", "error"}; }
constexpr auto member_names(Of<fault::Remark>) { return std::array{"hazard", "function", "message", "place", "others"}; }
constexpr auto member_names(Of<fault::Told>) { return std::array{"text"}; }

template <typename T>
concept HasMembers = !std::is_null_pointer_v<decltype(member_names(Of<std::remove_const_t<T>>()))>;

template <std::size_t kCount, typename Details>
auto members_of(Details& details) {
  if constexpr (kCount == 1) {
    auto& [a] = details;
    return std::tie(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = details;
    return std::tie(a, b);
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = details;
    return std::tie(a, b, c);
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = details;
    return std::tie(a, b, c, d);
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = details;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    auto& [a, b, c, d, e, f] = details;
    return std::tie(a, b, c, d, e, f);
  } else {
    auto& [a, b, c, d, e, f, g] = details;
    return std::tie(a, b, c, d, e, f, g);
  }
}

// Calls visit(name, member) for each.
template <typename Visit, HasMembers Details>
void visit_members(Visit& visit, Details& details) {
  constexpr auto names = member_names(Of<std::remove_const_t<Details>>());
  const auto each = [&](auto&... members) {
    const auto* name = names.data();
    (visit(*name++, members), ...);
  };
  std::apply(each, members_of<names.size()>(details));
}

// A fault of the kind with default values.
[[nodiscard]] inline FaultDetails details_of(FaultKind kind) {
  return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    FaultDetails details;
    static_cast<void>(((kIndex == static_cast<std::size_t>(kind) ? (details.emplace<kIndex>(), true) : false) || ...));
    return details;
  }(std::make_index_sequence<kFaultKinds>());
}

}  // namespace assay::harness
