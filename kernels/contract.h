// The contract of a family as the host sees it: function names, arguments, struct fields.
//
// Launch code binds by these names, and variant.toml is checked against them. families/ defines the contracts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/devices/encoder.h"

namespace assay::kernels {

// The values of an axis with which a field has no effect.
struct NeutralValues {
  std::string_view axis = {};  // empty: the field always has one
  std::int64_t least = 0, greatest = 0;

  [[nodiscard]] bool contain(std::span<const std::int64_t> values) const {
    return std::ranges::all_of(values, [&](std::int64_t value) { return value >= least && value <= greatest; });
  }
};

// A field of a family's parameter struct. Fields are listed in the order of the contract.
struct FieldContract {
  std::string_view name;
  metal::ScalarType type;
  bool optional = false;  // a kernel's struct may lack it
  // A struct may also lack it if the declared limits of its variant admit only these values.
  NeutralValues neutral = {};
};

// The fields of a struct that starts with those of another.
template <std::size_t kFirst, std::size_t kMore>
constexpr auto joined(const std::array<FieldContract, kFirst>& first, const std::array<FieldContract, kMore>& more) {
  std::array<FieldContract, kFirst + kMore> all{};
  std::ranges::copy(more, std::ranges::copy(first, all.begin()).out);
  return all;
}

enum class ArgumentRole {
  parameters,  // a `constant` struct, filled field by field
  scalar,      // one `constant` integer
  input,       // a buffer that the kernel reads
  output,      // a buffer that the kernel writes (and may read)
};

struct ArgumentContract {
  std::string_view name;
  std::uint32_t index;  // [[buffer(index)]], used if no argument has this name
  ArgumentRole role;
  metal::ScalarType element;  // element type; packed indices (uint8) may be read through any integer type
  bool optional = false;      // a kernel may lack it
};

// One function of a family: its key in [entry], and its default name.
struct EntryContract {
  std::string_view key;
  std::string_view function;
};

// One compiled function: an entry and the values of its function constants, by index. Constants that a kernel does not declare are ignored.
struct FunctionKey {
  std::string entry;  // for a launch described as data, the function's name
  std::map<std::uint32_t, metal::FunctionConstant> constants = {};
  std::map<std::string, metal::FieldValue, std::less<>> named = {};  // constants by name or index, before their types are known

  friend bool operator==(const FunctionKey&, const FunctionKey&) = default;
  friend auto operator<=>(const FunctionKey&, const FunctionKey&) = default;
};

// "d256", or "d256 with function constant 50 = 8".
[[nodiscard]] std::string to_string(const FunctionKey& key);

// A function constant that launch code sets for each case.
struct ConstantContract {
  std::uint32_t index;
  std::string_view meaning;  // "whether there is a mask"
};

// The words of an axis in [limits], by value, for families whose variants describe their launch.
struct AxisWords {
  std::string_view axis;
  std::span<const std::string_view> words;  // empty: integers only
  bool is_feature = false;                  // without a limit, a variant supports only the value `first`
  bool is_required = false;                 // a variant must have a limit for it
  std::int64_t first = 0;
  std::string_view partner = {};  // the axis with which a limit may name pairs: its name for equal values, and "192x128"
};

// A name for a value of an axis whose other values are numbers, as [limits] and --limit say it.
struct NamedValue {
  std::string_view axis;
  std::string_view word;
  std::int64_t value = 0;
};

// A key of the table of a family in variant.toml: a word, stored as its index, or an integer from 0 on.
struct SettingContract {
  std::string_view name;
  std::span<const std::string_view> words;  // empty: an integer
  std::int64_t initial = 0;
  std::int64_t largest = 0;  // of an integer
};

struct FamilyContract {
  std::string_view name;
  std::span<const EntryContract> entries;
  std::span<const ArgumentContract> arguments;
  std::span<const FieldContract> fields;  // of the one argument with role `parameters`
  bool has_threadgroup_memory;            // [[threadgroup(0)]]
  std::span<const ConstantContract> constants = {};
  bool skips_hidden = false;  // kernels must not read wholly hidden chunks of keys, unless a variant declares reads_hidden
  // Every variant describes its own launch: functions, arguments and fields are those of its [[dispatch]].
  bool is_described = false;
  // Every variant describes its own axes, tensors, bounds and reference too (custom.h).
  bool is_custom = false;
  std::span<const AxisWords> axis_words = {};
  std::span<const SettingContract> settings = {};
  std::span<const std::string_view> accuracy_formats = {};  // keys of [accuracy] that name a format, besides those of all families
  std::span<const NamedValue> named_values = {};

  [[nodiscard]] const FieldContract* find_field(std::string_view field) const;
  [[nodiscard]] const EntryContract* find_entry(std::string_view key) const;
};

// All registered contracts, in display order, with unique names.
using Contracts = std::span<const FamilyContract>;

// Returns nullptr if there is no family of that name.
[[nodiscard]] const FamilyContract* find_contract(Contracts contracts, std::string_view family);

// The same, but throws std::invalid_argument with the list of names.
[[nodiscard]] const FamilyContract& require_contract(Contracts contracts, std::string_view family);

[[nodiscard]] std::vector<std::string_view> names_of(Contracts contracts);

}  // namespace assay::kernels
