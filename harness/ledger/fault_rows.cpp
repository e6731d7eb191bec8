// Converts faults to named values, and validates the values that it reads.
#include "harness/ledger/fault_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "harness/findings/fault_fields.h"

namespace assay::harness {
namespace {

constexpr const char* kNan = "nan";
constexpr const char* kNegativeNan = "-nan";

class ValueWriter {
 public:
  template <typename T>
  void operator()(const char* name, const T& value) {
    write(prefix_ + name, value);
  }
  template <typename Details>
  void members_of(const Details& details) {
    visit_members(*this, details);
  }
  void members_of(const fault::BrokenPromise& broken) {
    for (const auto& [name, value] : broken.values) std::visit([&](const auto& known) { write(name, known); }, value);
  }

  FaultValues values;

 private:
  template <typename T>
  void write(const std::string& key, const T& value) {
    if constexpr (HasMembers<const T>) {
      const std::string outer = std::exchange(prefix_, key + '.');
      visit_members(*this, value);
      prefix_ = outer;
    } else if constexpr (std::is_enum_v<T>) {
      values.emplace(key, std::string(to_string(value)));
    } else if constexpr (std::is_integral_v<T>) {
      values.emplace(key, static_cast<std::int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) {
        values.emplace(key, std::string(std::signbit(value) ? kNegativeNan : kNan));
      } else {
        values.emplace(key, static_cast<double>(value));
      }
    } else {
      values.emplace(key, value);
    }
  }
  template <typename T>
  void write(const std::string& key, const std::optional<T>& value) {
    if (value) write(key, *value);
  }
  template <typename T>
  void write(const std::string& key, const std::vector<T>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) write(fmt::format("{}[{}]", key, i), list[i]);
  }

  std::string prefix_;
};

class ValueReader {
 public:
  explicit ValueReader(const FaultValues& values) : values_(values) {}

  template <typename T>
  void operator()(const char* name, T& value) {
    read(prefix_ + name, value);
  }

  template <typename Details>
  void members_of(Details& details) {
    visit_members(*this, details);
  }
  // `broken` names its promise.
  void members_of(fault::BrokenPromise& broken) {
    for (const families::PromiseField& field : families::find_promise(broken.promise)->fields) {
      const std::string name(field.name);
      if (field.is_optional && !is_there(name)) continue;
      families::PromiseValue value = families::value_of(field.type);
      std::visit([&](auto& known) { read(name, known); }, value);
      broken.values.emplace(name, std::move(value));
    }
  }

  [[nodiscard]] std::size_t taken() const { return taken_; }

 private:
  template <typename T>
  void read(const std::string& key, T& value) {
    if constexpr (HasMembers<T>) {
      const std::string outer = std::exchange(prefix_, key + '.');
      visit_members(*this, value);
      prefix_ = outer;
    } else if constexpr (std::is_enum_v<T>) {
      const auto& name = take<std::string>(key);
      for (std::uint64_t i = 0; i <= largest(T{}); ++i) {
        value = static_cast<T>(i);
        if (to_string(value) == name) return;
      }
      throw std::invalid_argument(fmt::format("the invalid value '{}' for '{}'", name, key));
    } else if constexpr (std::same_as<T, bool>) {
      value = take<std::int64_t>(key) != 0;
    } else if constexpr (std::is_integral_v<T>) {
      const std::int64_t number = take<std::int64_t>(key);
      // Numbers of 64 bits always fit: unsigned ones are stored bit for bit in the ledger's signed numbers.
      if (sizeof(T) < sizeof(number) && !std::in_range<T>(number))
        throw std::invalid_argument(fmt::format("{} for '{}', which is out of range", number, key));
      value = static_cast<T>(number);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (const auto found = values_.find(key); found != values_.end() && std::holds_alternative<std::string>(found->second)) {
        const auto& name = take<std::string>(key);
        if (name != kNan && name != kNegativeNan)
          throw std::invalid_argument(fmt::format("'{}' for '{}', which is not a number", name, key));
        value = std::copysign(std::numeric_limits<T>::quiet_NaN(), name == kNan ? T{1} : T{-1});
      } else {
        value = static_cast<T>(take<double>(key));
      }
    } else {
      value = take<std::string>(key);
    }
  }
  template <typename T>
  void read(const std::string& key, std::optional<T>& value) {
    if (is_there(key)) read(key, value.emplace());
  }
  template <typename T>
  void read(const std::string& key, std::vector<T>& list) {
    for (std::string of_next = key + "[0]"; is_there(of_next); of_next = fmt::format("{}[{}]", key, list.size()))
      read(of_next, list.emplace_back());
  }

  // Whether there is a value for the key, or for one of its members.
  [[nodiscard]] bool is_there(const std::string& key) const {
    if (values_.contains(key)) return true;
    const auto member = values_.lower_bound(key + '.');
    return member != values_.end() && member->first.starts_with(key + '.');
  }
  template <typename T>
  const T& take(const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) throw std::invalid_argument(fmt::format("no '{}'", key));
    const T* value = std::get_if<T>(&found->second);
    if (value == nullptr) throw std::invalid_argument(fmt::format("a value of the wrong type for '{}'", key));
    ++taken_;
    return *value;
  }

  const FaultValues& values_;
  std::string prefix_;
  std::size_t taken_ = 0;
};

FaultDetails details_of(std::string_view name) {
  if (families::find_promise(name) != nullptr) return fault::BrokenPromise{std::string(name), {}};
  for (std::size_t i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    if (to_string(kind) == name && kind != FaultKind::broken_promise) return harness::details_of(kind);
  }
  throw std::invalid_argument(fmt::format("the unknown kind '{}'", name));
}

}  // namespace

FaultValues values_of(const Fault& fault) {
  ValueWriter writer;
  std::visit([&](const auto& details) { writer.members_of(details); }, fault.details);
  return std::move(writer.values);
}

Fault fault_from(std::string_view kind, std::string schedule, const FaultValues& values) {
  Fault fault;
  fault.details = details_of(kind);
  fault.schedule = std::move(schedule);
  ValueReader reader(values);
  std::visit([&](auto& details) { reader.members_of(details); }, fault.details);
  if (reader.taken() != values.size()) throw std::invalid_argument(fmt::format("values that do not belong to '{}'", kind));
  return fault;
}

}  // namespace assay::harness
