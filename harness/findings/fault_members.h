// The names of the members of every kind of fault, listed once for the wire, the ledger and comparisons. Every member is bound by name,
// so that a new one breaks the build here.
#pragma once

#include <concepts>
#include <type_traits>

#include "harness/findings/fault.h"

namespace assay::harness {

template <typename T, typename Details>
concept DetailsOf = std::same_as<std::remove_const_t<T>, Details>;

template <typename Visit, DetailsOf<metal::SourceLocation> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [file, line] = details;
  visit("file", file);
  visit("line", line);
}

template <typename Visit, DetailsOf<fault::AboveBound> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [count] = details;
  visit("count", count);
}

template <typename Visit, DetailsOf<fault::NotWritten> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [count] = details;
  visit("count", count);
}

template <typename Visit, DetailsOf<fault::Nan> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [count] = details;
  visit("count", count);
}

template <typename Visit, DetailsOf<fault::Infinite> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [count] = details;
  visit("count", count);
}

template <typename Visit, DetailsOf<fault::GuardWritten> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [words] = details;
  visit("words", words);
}

template <typename Visit, DetailsOf<fault::Logic> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [wrong, elements, worst, ratio] = details;
  visit("wrong", wrong);
  visit("elements", elements);
  visit("worst", worst);
  visit("ratio", ratio);
}

template <typename Visit, DetailsOf<fault::Mistrusted> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [why, elements, uninformative, limit] = details;
  visit("why", why);
  visit("elements", elements);
  visit("uninformative", uninformative);
  visit("limit", limit);
}

template <typename Visit, DetailsOf<fault::Hazard> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [hazard, function, message, place, is_output_right] = details;
  visit("hazard", hazard);
  visit("function", function);
  visit("message", message);
  visit("place", place);
  visit("is_output_right", is_output_right);
}

template <typename Visit, DetailsOf<fault::DifferingElement> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [index, row, coordinate, first, other] = details;
  visit("index", index);
  visit("row", row);
  visit("coordinate", coordinate);
  visit("first", first);
  visit("other", other);
}

template <typename Visit, DetailsOf<fault::OrderDependence> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [first, other, places, count, size, unit] = details;
  visit("first", first);
  visit("other", other);
  visit("places", places);
  visit("count", count);
  visit("size", size);
  visit("unit", unit);
}

template <typename Visit, DetailsOf<fault::InputWritten> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [argument] = details;
  visit("argument", argument);
}

template <typename Visit, DetailsOf<fault::ThreadgroupBehindLast> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [heads] = details;
  visit("heads", heads);
}

template <typename Visit, DetailsOf<fault::IdleWorkgroup> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [workgroup, head, kv_len, slots, part, coordinate, left] = details;
  visit("workgroup", workgroup);
  visit("head", head);
  visit("kv_len", kv_len);
  visit("slots", slots);
  visit("part", part);
  visit("coordinate", coordinate);
  visit("left", left);
}

template <typename Visit, DetailsOf<fault::StraySlot> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [part, slot, head, wanted] = details;
  visit("part", part);
  visit("slot", slot);
  visit("head", head);
  visit("wanted", wanted);
}

template <typename Visit, DetailsOf<fault::OldCache> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [byte, head, first, first_before, second, second_before] = details;
  visit("byte", byte);
  visit("head", head);
  visit("first", first);
  visit("first_before", first_before);
  visit("second", second);
  visit("second_before", second_before);
}

template <typename Visit, DetailsOf<fault::StoredExpectation> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [file, above_bound, not_written, nans, infs, guard_words, mistrusted] = details;
  visit("file", file);
  visit("above_bound", above_bound);
  visit("not_written", not_written);
  visit("nans", nans);
  visit("infs", infs);
  visit("guard_words", guard_words);
  visit("mistrusted", mistrusted);
}

template <typename Visit, DetailsOf<fault::WrongPadRow> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [rows, batch, head, row, coordinate, found, wanted] = details;
  visit("rows", rows);
  visit("batch", batch);
  visit("head", head);
  visit("row", row);
  visit("coordinate", coordinate);
  visit("found", found);
  visit("wanted", wanted);
}

template <typename Visit, DetailsOf<fault::WrongPadMask> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [batch, head, query, column, found, wanted] = details;
  visit("batch", batch);
  visit("head", head);
  visit("query", query);
  visit("column", column);
  visit("found", found);
  visit("wanted", wanted);
}

template <typename Visit, DetailsOf<fault::WrongTileClass> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [batch, head, query_tile, key_tile, found, wanted] = details;
  visit("batch", batch);
  visit("head", head);
  visit("query_tile", query_tile);
  visit("key_tile", key_tile);
  visit("found", found);
  visit("wanted", wanted);
}

template <typename Visit, DetailsOf<fault::WrongMerge> Details>
void visit_members(Visit&, Details&) {
  static_assert(std::is_empty_v<fault::WrongMerge>);
}

template <typename Visit, DetailsOf<fault::OutsideOfOracle> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [message] = details;
  visit("message", message);
}

template <typename Visit, DetailsOf<fault::RefusedByLaunch> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [message] = details;
  visit("message", message);
}

template <typename Visit, DetailsOf<fault::RefusedByEncoder> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [message] = details;
  visit("message", message);
}

template <typename Visit, DetailsOf<fault::OutsideOfLimits> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [file, line, axis, accepted, value] = details;
  visit("file", file);
  visit("line", line);
  visit("axis", axis);
  visit("accepted", accepted);
  visit("value", value);
}

template <typename Visit, DetailsOf<fault::NoFunction> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [entry, source, function, others] = details;
  visit("entry", entry);
  visit("source", source);
  visit("function", function);
  visit("others", others);
}

template <typename Visit, DetailsOf<fault::Misfit> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [field, message] = details;
  visit("field", field);
  visit("message", message);
}

template <typename Visit, DetailsOf<fault::UnusableFile> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [message] = details;
  visit("message", message);
}

template <typename Visit, DetailsOf<fault::InternalFailure> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [message] = details;
  visit("message", message);
}

template <typename Visit, DetailsOf<fault::Killed> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [signal, words] = details;
  visit("signal", signal);
  visit("words", words);
}

template <typename Visit, DetailsOf<fault::Exited> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [status, words] = details;
  visit("status", status);
  visit("words", words);
}

template <typename Visit, DetailsOf<fault::OutOfMemory> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [words] = details;
  visit("words", words);
}

template <typename Visit, DetailsOf<fault::ClosedChannel> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [words] = details;
  visit("words", words);
}

template <typename Visit, DetailsOf<fault::Vanished> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [words] = details;
  visit("words", words);
}

template <typename Visit, DetailsOf<fault::MalformedVerdict> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [message, words] = details;
  visit("message", message);
  visit("words", words);
}

template <typename Visit, DetailsOf<fault::Timeout> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [seconds] = details;
  visit("seconds", seconds);
}

template <typename Visit, DetailsOf<fault::MemoryLimit> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [bytes, limit] = details;
  visit("bytes", bytes);
  visit("limit", limit);
}

template <typename Visit, DetailsOf<fault::Finding> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [place, when, shows, see] = details;
  visit("place", place);
  visit("when", when);
  visit("shows", shows);
  visit("see", see);
}

template <typename Visit, DetailsOf<fault::KnownFinding> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [findings] = details;
  visit("findings", findings);
}

template <typename Visit, DetailsOf<fault::LikeKnownFinding> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [findings] = details;
  visit("findings", findings);
}

template <typename Visit, DetailsOf<fault::StaleFinding> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [finding] = details;
  visit("finding", finding);
}

template <typename Visit, DetailsOf<fault::MissingFinding> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [finding] = details;
  visit("finding", finding);
}

template <typename Visit, DetailsOf<fault::BeyondFinding> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [finding] = details;
  visit("finding", finding);
}

template <typename Visit, DetailsOf<fault::Told> Details>
void visit_members(Visit& visit, Details& details) {
  auto& [text] = details;
  visit("text", text);
}

struct IdleVisit {
  void operator()(const char*, const auto&) const {}
};
// A type whose members are listed here, in contrast to numbers, texts, enumerations, lists and optionals.
template <typename T>
concept HasMembers = requires(T& details, IdleVisit& visit) { visit_members(visit, details); };

// A fault of the kind with default values.
[[nodiscard]] inline FaultDetails details_of(FaultKind kind) {
  return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    FaultDetails details;
    static_cast<void>(((kIndex == static_cast<std::size_t>(kind) ? (details.emplace<kIndex>(), true) : false) || ...));
    return details;
  }(std::make_index_sequence<kFaultKinds>());
}

}  // namespace assay::harness
