#include "harness/run/verdict_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "harness/run/fault_members.h"

namespace assay::harness {
namespace {

// The largest value that may travel of each enumeration.
constexpr std::uint64_t largest(Status) { return static_cast<std::uint64_t>(Status::skipped); }
constexpr std::uint64_t largest(ElementFault) { return static_cast<std::uint64_t>(ElementFault::infinite); }
constexpr std::uint64_t largest(FaultKind) { return kFaultKinds - 1; }
template <typename T>
constexpr std::uint64_t largest(T value) {
  return static_cast<std::uint64_t>(last_of(value));
}

template <typename T>
concept Enumeration = std::is_enum_v<T>;

class Writer {
 public:
  template <std::unsigned_integral T>
  void operator()(const T& value) {
    word(value);
  }
  void operator()(const bool& value) { word(value ? 1 : 0); }
  void operator()(const std::int64_t& value) { word(std::bit_cast<std::uint64_t>(value)); }
  void operator()(const double& value) { word(std::bit_cast<std::uint64_t>(value)); }
  void operator()(const float& value) { word(std::bit_cast<std::uint32_t>(value)); }
  template <Enumeration T>
  void operator()(const T& value) {
    word(static_cast<std::uint64_t>(value));
  }
  void operator()(const std::string& text) {
    word(text.size());
    const std::span<const std::byte> characters = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), characters.begin(), characters.end());
  }
  template <typename T>
  void operator()(const std::optional<T>& value) {
    word(value ? 1 : 0);
    if (value) fields(*this, *value);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    word(values.size());
    for (const T& value : values) fields(*this, value);
  }

  std::vector<std::byte> bytes;

 private:
  void word(std::uint64_t value) {
    const auto raw = std::bit_cast<std::array<std::byte, sizeof(value)>>(value);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  }
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes), size_(bytes.size()) {}

  template <std::unsigned_integral T>
  void operator()(T& value) {
    value = static_cast<T>(word(std::numeric_limits<T>::max(), "number"));
  }
  void operator()(bool& value) { value = word(1, "truth value") != 0; }
  void operator()(std::int64_t& value) { value = std::bit_cast<std::int64_t>(word(std::numeric_limits<std::uint64_t>::max(), "number")); }
  void operator()(float& value) {
    value = std::bit_cast<float>(static_cast<std::uint32_t>(word(std::numeric_limits<std::uint32_t>::max(), "number")));
  }
  void operator()(double& value) { value = std::bit_cast<double>(word(std::numeric_limits<std::uint64_t>::max(), "number")); }
  template <Enumeration T>
  void operator()(T& value) {
    value = static_cast<T>(word(largest(T{}), "enumerator"));
  }
  void operator()(std::string& text) {
    const std::span<const std::byte> characters = take(count(1));
    text.assign(reinterpret_cast<const char*>(characters.data()), characters.size());
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    bool is_there = false;
    (*this)(is_there);
    if (is_there) fields(*this, value.emplace());
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    // Grown one by one: a count that lies meets the end of the message before it costs memory.
    for (std::size_t left = count(sizeof(std::uint64_t)); left != 0; --left) fields(*this, values.emplace_back());
  }

  void expect_end() const {
    if (!rest_.empty())
      throw MalformedVerdict(fmt::format("{} bytes behind the end of the verdict, which is at {}", rest_.size(), place()));
  }

 private:
  [[nodiscard]] std::size_t place() const { return size_ - rest_.size(); }

  std::span<const std::byte> take(std::size_t wanted) {
    if (wanted > rest_.size())
      throw MalformedVerdict(fmt::format("{} bytes are missing at byte {} of {}", wanted - rest_.size(), place(), size_));
    const std::span<const std::byte> taken = rest_.first(wanted);
    rest_ = rest_.subspan(wanted);
    return taken;
  }
  std::uint64_t word(std::uint64_t limit, const char* what) {
    const std::size_t start = place();
    std::array<std::byte, sizeof(std::uint64_t)> raw;
    std::ranges::copy(take(raw.size()), raw.begin());
    const auto value = std::bit_cast<std::uint64_t>(raw);
    if (value > limit) throw MalformedVerdict(fmt::format("{} {} at byte {} is above {}", what, value, start, limit));
    return value;
  }
  // Of elements that take at least `smallest` bytes each.
  std::size_t count(std::size_t smallest) {
    const std::size_t longest = rest_.size() < sizeof(std::uint64_t) ? 0 : (rest_.size() - sizeof(std::uint64_t)) / smallest;
    return static_cast<std::size_t>(word(longest, "count"));
  }

  std::span<const std::byte> rest_;
  std::size_t size_;
};

// What travels, told once for both directions. Every member is bound by name, so that a new one stops the build here.

template <typename Archive, typename... Members>
void each(Archive& archive, Members&... members) {
  (archive(members), ...);
}

// Numbers and texts in lists, or where they may be absent.
template <typename Archive, typename T>
  requires std::is_arithmetic_v<T> || std::same_as<std::remove_const_t<T>, std::string>
void fields(Archive& archive, T& value) {
  archive(value);
}

// Parts of faults, and places.
template <typename Archive, HasMembers T>
void fields(Archive& archive, T& value) {
  const auto visit = [&](const char*, auto& member) {
    if constexpr (HasMembers<std::remove_reference_t<decltype(member)>>) {
      fields(archive, member);
    } else {
      archive(member);
    }
  };
  visit_members(visit, value);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, Fault>
void fields(Archive& archive, T& value) {
  FaultKind kind = value.kind();
  archive(kind);
  if constexpr (!std::is_const_v<T>) value.details = details_of(kind);
  archive(value.schedule);
  std::visit([&](auto& details) { fields(archive, details); }, value.details);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, Mistrust>
void fields(Archive& archive, T& value) {
  auto& [why, elements, uninformative, limit] = value;
  each(archive, why, elements, uninformative, limit);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, WorstElement>
void fields(Archive& archive, T& value) {
  auto& [index, expected, actual, bound, ratio, fault] = value;
  each(archive, index, expected, actual, bound, ratio, fault);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, Judgement>
void fields(Archive& archive, T& value) {
  auto& [compared, above_bound, not_written, nans, infs, guard_violations, uninformative, distinct_expected, max_ratio, max_ratio_index,
         max_abs_error, max_rel_error, nmse, cosine, median_bound_ratio, worst, mistrusted] = value;
  each(archive, compared, above_bound, not_written, nans, infs, guard_violations, uninformative, distinct_expected, max_ratio,
       max_ratio_index, max_abs_error, max_rel_error, nmse, cosine, median_bound_ratio, worst, mistrusted);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, SplitElement>
void fields(Archive& archive, T& value) {
  auto& [index, actual, shadow, expected, bound, exact, exact_bound] = value;
  each(archive, index, actual, shadow, expected, bound, exact, exact_bound);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, ErrorSplit>
void fields(Archive& archive, T& value) {
  auto& [elements, discrete, above_bound, max_rounding_ratio, max_logic_ratio, max_rounding_index, max_logic_index, worst] = value;
  each(archive, elements, discrete, above_bound, max_rounding_ratio, max_logic_ratio, max_rounding_index, max_logic_index, worst);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, StageVerdict>
void fields(Archive& archive, T& value) {
  auto& [name, is_judged, passed, faults, judgement] = value;
  each(archive, name, is_judged, passed, faults);
  fields(archive, judgement);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, metal::Hazard>
void fields(Archive& archive, T& value) {
  auto& [kind, function, message, first, second, count] = value;
  each(archive, kind, function, message, second, count);
  fields(archive, first);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, metal::ExecutionCounters>
void fields(Archive& archive, T& value) {
  auto& [threadgroups, meeting_points, collectives, divergent_collectives, matrix_multiplies] = value;
  each(archive, threadgroups, meeting_points, collectives, divergent_collectives, matrix_multiplies);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, metal::Cost>
void fields(Archive& archive, T& value) {
  auto& [device_bytes_read, device_bytes_written, distinct_device_bytes, threadgroup_accesses, simdgroup_calls, barriers, float_operations,
         half_operations, bfloat_operations] = value;
  each(archive, device_bytes_read, device_bytes_written, distinct_device_bytes, threadgroup_accesses, simdgroup_calls, barriers,
       float_operations, half_operations, bfloat_operations);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, Verdict>
void fields(Archive& archive, T& value) {
  auto& [about, status, faults, note, schedules, is_internal, row_length, judgement, split, lost_shadows, stages, hazards, remarks, known,
         counters, cost, digest, oracle_seconds, simulator_seconds] = value;
  static_cast<void>(known);  // the supervisor finds it
  each(archive, status, faults, note, schedules, is_internal, row_length, split, lost_shadows, stages, hazards, remarks, cost, digest,
       oracle_seconds, simulator_seconds);
  fields(archive, judgement);
  fields(archive, counters);
}

}  // namespace

std::vector<std::byte> encode_faults(const std::vector<Fault>& faults) {
  Writer writer;
  writer(faults);
  return std::move(writer.bytes);
}

std::vector<Fault> decode_faults(std::span<const std::byte> bytes) {
  std::vector<Fault> faults;
  Reader reader(bytes);
  reader(faults);
  reader.expect_end();
  return faults;
}

std::vector<std::byte> encode_verdict(const Verdict& verdict) {
  Writer writer;
  fields(writer, verdict);
  return std::move(writer.bytes);
}

Verdict decode_verdict(std::span<const std::byte> bytes, const Case& about) {
  Verdict verdict;
  verdict.about = about;
  Reader reader(bytes);
  fields(reader, verdict);
  reader.expect_end();
  if (verdict.row_length == 0) throw MalformedVerdict("rows of no elements");
  if (verdict.status == Status::passed && !(verdict.judgement.passed() && verdict.hazards.empty() && verdict.faults.empty()))
    throw MalformedVerdict("a pass that its own figures contradict");
  return verdict;
}

}  // namespace assay::harness
