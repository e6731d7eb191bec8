// Names and compares faults, and derives them from judgements.
#include "harness/findings/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "harness/findings/fault_members.h"

namespace assay::harness {
namespace {

constexpr std::array<std::string_view, kFaultKinds> kNames = {"above bound",
                                                              "not written",
                                                              "nan",
                                                              "infinite",
                                                              "guard written",
                                                              "logic",
                                                              "mistrusted",
                                                              "hazard",
                                                              "order dependence",
                                                              "input written",
                                                              "broken promise",
                                                              "wrong table",
                                                              "stored expectation",
                                                              "outside of oracle",
                                                              "refused by launch",
                                                              "refused by encoder",
                                                              "outside of limits",
                                                              "no function",
                                                              "misfit",
                                                              "unusable file",
                                                              "internal failure",
                                                              "killed",
                                                              "exited",
                                                              "out of memory",
                                                              "closed channel",
                                                              "vanished",
                                                              "malformed verdict",
                                                              "timeout",
                                                              "memory limit",
                                                              "known finding",
                                                              "like known finding",
                                                              "stale finding",
                                                              "missing finding",
                                                              "beyond finding",
                                                              "other bits",
                                                              "broken claim",
                                                              "not required",
                                                              "device fault",
                                                              "remark",
                                                              "told"};

// NaNs are equal if their bits are.
bool same(double one, double other) { return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other); }
bool same(float one, float other) { return std::bit_cast<std::uint32_t>(one) == std::bit_cast<std::uint32_t>(other); }
template <typename T>
bool same(const T& one, const T& other);
template <typename T>
bool same(const std::optional<T>& one, const std::optional<T>& other) {
  return one.has_value() == other.has_value() && (!one || same(*one, *other));
}
template <typename T>
bool same(const std::vector<T>& one, const std::vector<T>& other) {
  return std::ranges::equal(one, other, [](const T& a, const T& b) { return same(a, b); });
}

bool same(const families::PromiseValue& one, const families::PromiseValue& other) {
  return one.index() == other.index() &&
         std::visit([&](const auto& value) { return same(value, std::get<std::remove_cvref_t<decltype(value)>>(other)); }, one);
}
template <typename Key, typename T, typename Compare>
bool same(const std::map<Key, T, Compare>& one, const std::map<Key, T, Compare>& other) {
  return std::ranges::equal(one, other, [](const auto& a, const auto& b) { return a.first == b.first && same(a.second, b.second); });
}

// Compares the n-th member of one with the n-th member of the other.
template <typename T>
bool same(const T& one, const T& other) {
  if constexpr (HasMembers<const T>) {
    bool all = true;
    std::size_t outer = 0;
    const auto of_one = [&](const char*, const auto& member) {
      std::size_t inner = 0;
      const auto of_other = [&](const char*, const auto& counterpart) {
        if constexpr (std::is_same_v<decltype(member), decltype(counterpart)>) {
          if (inner == outer) all = all && same(member, counterpart);
        }
        ++inner;
      };
      visit_members(of_other, other);
      ++outer;
    };
    visit_members(of_one, one);
    return all;
  } else {
    return one == other;
  }
}

void add_if_any(std::vector<Fault>& faults, std::size_t count, Fault fault) {
  if (count != 0) faults.push_back(std::move(fault));
}

}  // namespace

std::string_view to_string(FaultKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

Fault::Fault() = default;
Fault::Fault(const Fault& other) = default;
Fault::Fault(Fault&& other) noexcept = default;
Fault& Fault::operator=(const Fault& other) = default;
Fault& Fault::operator=(Fault&& other) noexcept = default;
Fault::~Fault() = default;

std::string_view name_of(const Fault& fault) {
  const auto* broken = fault.as<fault::BrokenPromise>();
  return broken == nullptr ? to_string(fault.kind()) : std::string_view(broken->promise);
}

bool operator==(const Fault& one, const Fault& other) {
  if (one.kind() != other.kind() || one.schedule != other.schedule) return false;
  return std::visit([&](const auto& details) { return same(details, std::get<std::remove_cvref_t<decltype(details)>>(other.details)); },
                    one.details);
}

std::vector<Fault> faults_of(const Judgement& judgement) {
  std::vector<Fault> faults;
  add_if_any(faults, judgement.above_bound, fault::AboveBound{judgement.above_bound});
  add_if_any(faults, judgement.not_written, fault::NotWritten{judgement.not_written});
  add_if_any(faults, judgement.nans, fault::Nan{judgement.nans});
  add_if_any(faults, judgement.infs, fault::Infinite{judgement.infs});
  add_if_any(faults, judgement.guard_violations, fault::GuardWritten{judgement.guard_violations});
  return faults;
}

std::optional<fault::Logic> logic_of(const ErrorSplit& split) {
  if (split.above_bound == 0) return std::nullopt;
  return fault::Logic{split.above_bound, split.elements, split.max_logic_index, split.max_logic_ratio};
}

fault::Mistrusted fault_of(const Mistrust& mistrust) { return {mistrust.why, mistrust.elements, mistrust.uninformative, mistrust.limit}; }

fault::StoredExpectation fault_of_stored(std::string file, const Judgement& judgement) {
  fault::StoredExpectation fault{.file = std::move(file),
                                 .above_bound = judgement.above_bound,
                                 .not_written = judgement.not_written,
                                 .nans = judgement.nans,
                                 .infs = judgement.infs,
                                 .guard_words = judgement.guard_violations,
                                 .mistrusted = {}};
  if (judgement.mistrusted) fault.mistrusted = fault_of(*judgement.mistrusted);
  return fault;
}

namespace {

std::string places_of(const std::vector<fault::Finding>& findings) {
  std::string places;
  for (const fault::Finding& finding : findings) places += finding.place + ' ';
  return places;
}

// Kinds with a single possible subject.
std::string subject(const auto&) { return {}; }
std::string subject(const fault::Mistrusted& it) { return std::string(to_string(it.why)); }
// The same remark at another line has another cause.
std::string subject(const fault::Remark& it) { return fmt::format("{} {}:{}", metal::to_string(it.hazard), it.place.file, it.place.line); }
std::string subject(const fault::Hazard& it) { return std::string(metal::to_string(it.hazard)); }
std::string subject(const fault::InputWritten& it) { return it.argument; }
std::string subject(const fault::BrokenPromise& it) {
  const std::string_view word = families::promise_of(it).subject;
  return word.empty() ? it.promise : it.promise + ' ' + it.word(word);
}
std::string subject(const fault::WrongTable& it) { return it.table; }
std::string subject(const fault::OutsideOfLimits& it) { return it.axis; }
std::string subject(const fault::NoFunction& it) { return it.entry; }
std::string subject(const fault::Misfit& it) { return it.field; }
std::string subject(const fault::Killed& it) { return std::to_string(it.signal); }
std::string subject(const fault::Exited& it) { return std::to_string(it.status); }
std::string subject(const fault::KnownFinding& it) { return places_of(it.findings); }
std::string subject(const fault::LikeKnownFinding& it) { return places_of(it.findings); }
std::string subject(const fault::StaleFinding& it) { return it.finding.place; }
std::string subject(const fault::MissingFinding& it) { return it.finding.place; }
std::string subject(const fault::BeyondFinding& it) { return it.finding.place; }

}  // namespace

std::string subject_of(const Fault& fault) {
  return std::visit([](const auto& details) { return subject(details); }, fault.details);
}

bool has_kind(const std::vector<Fault>& faults, FaultKind kind) {
  return std::ranges::any_of(faults, [&](const Fault& fault) { return fault.kind() == kind; });
}

}  // namespace assay::harness
