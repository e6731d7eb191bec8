// A fault of every kind, made from the list of kinds and of their members: one that is new is in every test that carries faults.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "harness/findings/fault.h"
#include "harness/findings/fault_fields.h"

namespace assay::tests {

// Gives every member a value that is no default and unlike the others'.
class FaultFiller {
 public:
  template <typename T>
  void operator()(const char*, T& value) {
    if constexpr (harness::HasMembers<T>) {
      harness::visit_members(*this, value);
    } else if constexpr (std::same_as<T, bool>) {
      value = true;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(largest(value));
    } else if constexpr (std::same_as<T, std::int64_t>) {
      value = -next();
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(next());
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(next()) + static_cast<T>(0.125);
    } else if constexpr (std::same_as<T, std::string>) {
      value = "it's text " + std::to_string(next());
    } else {
      fill(value);
    }
  }

 private:
  std::int64_t next() { return ++number_; }
  template <typename T>
  void fill(std::optional<T>& value) {
    (*this)("", value.emplace());
  }
  template <typename T>
  void fill(std::vector<T>& values) {
    values.resize(2);
    for (T& value : values) (*this)("", value);
  }

  std::int64_t number_ = 16;
};

inline harness::Fault full_fault(harness::FaultKind kind) {
  harness::Fault fault;
  fault.details = harness::details_of(kind);
  fault.schedule = "reverse";
  FaultFiller filler;
  std::visit([&](auto& details) { harness::visit_members(filler, details); }, fault.details);
  return fault;
}

inline std::vector<harness::FaultKind> every_kind() {
  std::vector<harness::FaultKind> kinds;
  for (std::size_t i = 0; i < harness::kFaultKinds; ++i) kinds.push_back(static_cast<harness::FaultKind>(i));
  return kinds;
}

// Each with all values, and with none.
inline std::vector<harness::Fault> faults_of_every_kind() {
  std::vector<harness::Fault> faults;
  for (const harness::FaultKind kind : every_kind()) {
    faults.push_back(full_fault(kind));
    faults.emplace_back().details = harness::details_of(kind);
  }
  return faults;
}

}  // namespace assay::tests
