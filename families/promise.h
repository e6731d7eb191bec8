// Promises of a family's contract that values alone do not reveal: a kernel may break them although all judged elements are right.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::families {

enum class ValueType : std::uint8_t { count, number, word };
// In the order of ValueType.
using PromiseValue = std::variant<std::uint64_t, double, std::string>;

[[nodiscard]] inline PromiseValue value_of(ValueType type) {
  if (type == ValueType::count) return std::uint64_t{0};
  return type == ValueType::number ? PromiseValue(0.0) : PromiseValue(std::string());
}

struct BrokenPromise {
  std::string promise;  // Promise::id
  std::map<std::string, PromiseValue, std::less<>> values;

  [[nodiscard]] bool has(std::string_view name) const { return values.contains(name); }
  // Only for values of that name and type.
  [[nodiscard]] std::uint64_t count(std::string_view name) const { return std::get<std::uint64_t>(values.find(name)->second); }
  [[nodiscard]] double number(std::string_view name) const { return std::get<double>(values.find(name)->second); }
  [[nodiscard]] const std::string& word(std::string_view name) const { return std::get<std::string>(values.find(name)->second); }
};

struct PromiseField {
  std::string_view name;
  ValueType type = ValueType::count;
  bool is_optional = false;
};

// The evidence of triage that a broken promise explains too, so that it decides first.
enum class Explains : std::uint8_t {
  guards,     // writes outside of the outputs
  unwritten,  // elements that were never written
  rough_fit,  // mistakes that explain only a part of the error
};

struct PromiseMistake {
  std::string_view kind;  // one of the classes in families/mistakes.h
  std::string_view says;
};

struct Promise {
  const char* id;  // for its breach, in ledgers: "idle workgroup"
  std::vector<PromiseField> fields;
  std::string (*text)(const BrokenPromise& broken);
  std::string_view subject = {};  // the word that separates breaches in summaries of a run; empty: none does
  // The mistake that triage reports; nothing if the breach does not show one. Null: it never does.
  std::optional<PromiseMistake> (*mistake)(const BrokenPromise& broken, bool is_output_right) = nullptr;
  Explains explains = Explains::rough_fit;
};

// Searches the promises of all families; nullptr if there is none of that name.
[[nodiscard]] const Promise* find_promise(std::string_view id);
// Throws std::invalid_argument if there is no such promise, or if its fields have other names or types than the values.
[[nodiscard]] const Promise& promise_of(const BrokenPromise& broken);

}  // namespace assay::families
