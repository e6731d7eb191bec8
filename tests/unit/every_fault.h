// A fault of every kind, made from the list of kinds and of their members: one that is new is in every test that carries faults.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "families/registry.h"
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

inline harness::fault::BrokenPromise full_breach(const families::Promise& promise) {
  harness::fault::BrokenPromise broken{promise.id, {}};
  FaultFiller filler;
  for (const families::PromiseField& field : promise.fields) {
    families::PromiseValue value = families::value_of(field.type);
    std::visit([&](auto& known) { filler("", known); }, value);
    broken.values.emplace(field.name, std::move(value));
  }
  return broken;
}

// Without what may be absent.
inline harness::fault::BrokenPromise bare_breach(const families::Promise& promise) {
  harness::fault::BrokenPromise broken = full_breach(promise);
  for (const families::PromiseField& field : promise.fields) {
    if (field.is_optional) broken.values.erase(std::string(field.name));
  }
  return broken;
}

inline harness::Fault full_fault(harness::FaultKind kind) {
  harness::Fault fault;
  fault.details = harness::details_of(kind);
  fault.schedule = "reverse";
  const auto fill = []<typename Details>(Details& details) {
    FaultFiller filler;
    if constexpr (std::same_as<Details, harness::fault::BrokenPromise>)
      details = full_breach(*families::find_promise("idle workgroup"));
    else
      harness::visit_members(filler, details);
  };
  std::visit(fill, fault.details);
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
    if (kind != harness::FaultKind::broken_promise) faults.emplace_back().details = harness::details_of(kind);
  }
  for (const families::Family& family : families::all_families()) {
    for (const families::Promise& promise : family.promises) faults.insert(faults.end(), {full_breach(promise), bare_breach(promise)});
  }
  return faults;
}

}  // namespace assay::tests
