// Names scalar types, and packs structs by field name.
#include "metal/argument_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "metal/errors.h"

namespace assay::metal {

namespace {

struct ScalarInfo {
  ScalarType type;
  std::string_view name;
  std::size_t bytes;
};

constexpr ScalarInfo kScalars[] = {
    {ScalarType::boolean, "boolean", 1}, {ScalarType::int8, "int8", 1},         {ScalarType::uint8, "uint8", 1},
    {ScalarType::int16, "int16", 2},     {ScalarType::uint16, "uint16", 2},     {ScalarType::int32, "int32", 4},
    {ScalarType::uint32, "uint32", 4},   {ScalarType::int64, "int64", 8},       {ScalarType::uint64, "uint64", 8},
    {ScalarType::float16, "float16", 2}, {ScalarType::bfloat16, "bfloat16", 2}, {ScalarType::float32, "float32", 4},
    {ScalarType::other, "other", 0}};

const ScalarInfo& info(ScalarType type) {
  return *std::find_if(std::begin(kScalars), std::end(kScalars), [&](const ScalarInfo& scalar) { return scalar.type == type; });
}

bool is_signed(ScalarType type) {
  return type == ScalarType::int8 || type == ScalarType::int16 || type == ScalarType::int32 || type == ScalarType::int64;
}
bool is_floating(ScalarType type) { return type == ScalarType::float32 || type == ScalarType::float16 || type == ScalarType::bfloat16; }

std::string describe(const FieldValue& value) {
  switch (value.kind) {
    case FieldValue::Kind::unsigned_integer:
      return fmt::format("{}", value.bits);
    case FieldValue::Kind::signed_integer:
      return fmt::format("{}", std::bit_cast<std::int64_t>(value.bits));
    case FieldValue::Kind::floating:
      return fmt::format("{}", std::bit_cast<double>(value.bits));
  }
  return {};
}

[[noreturn]] void does_not_fit(const StructLayout& layout, const StructField& field, const FieldValue& value, std::string_view why) {
  throw AbiMismatch(fmt::format("field '{}' of struct '{}' is of type {}, which cannot hold {}: {}", field.name, layout.name,
                                field.type_name, describe(value), why));
}

double as_double(const FieldValue& value) {
  switch (value.kind) {
    case FieldValue::Kind::unsigned_integer:
      return static_cast<double>(value.bits);
    case FieldValue::Kind::signed_integer:
      return static_cast<double>(std::bit_cast<std::int64_t>(value.bits));
    case FieldValue::Kind::floating:
      return std::bit_cast<double>(value.bits);
  }
  return 0;
}

// The bytes of the field for an integer value, as the low bytes of a 64-bit word.
std::uint64_t integer_bits(const StructLayout& layout, const StructField& field, const FieldValue& value) {
  const bool negative = value.kind == FieldValue::Kind::signed_integer && std::bit_cast<std::int64_t>(value.bits) < 0;
  const unsigned bits = field.type == ScalarType::boolean ? 1 : static_cast<unsigned>(8 * size_of(field.type));
  if (is_signed(field.type)) {
    const std::int64_t limit = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
    const auto number = std::bit_cast<std::int64_t>(value.bits);
    const bool too_large = negative ? number < -limit - 1 : value.bits > static_cast<std::uint64_t>(limit);
    if (too_large) does_not_fit(layout, field, value, "out of range");
  } else if (negative || (bits < 64 && value.bits >> bits != 0)) {
    does_not_fit(layout, field, value, negative ? "the field is unsigned" : "out of range");
  }
  return value.bits;
}

std::uint64_t floating_bits(const StructLayout& layout, const StructField& field, const FieldValue& value) {
  if (field.type != ScalarType::float32) does_not_fit(layout, field, value, "only 32-bit floating fields are filled from the host");
  return std::bit_cast<std::uint32_t>(static_cast<float>(as_double(value)));
}

}  // namespace

std::string_view to_string(ScalarType type) { return info(type).name; }
std::size_t size_of(ScalarType type) { return info(type).bytes; }

std::string_view to_string(AddressSpace space) {
  switch (space) {
    case AddressSpace::device:
      return "device";
    case AddressSpace::constant:
      return "constant";
    case AddressSpace::threadgroup:
      return "threadgroup";
  }
  return "?";
}

const StructField* StructLayout::find(std::string_view field) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const StructField& candidate) { return candidate.name == field; });
  return found == fields.end() ? nullptr : &*found;
}

const BoundArgument* ArgumentLayout::find(std::string_view argument) const {
  const auto found =
      std::find_if(arguments.begin(), arguments.end(), [&](const BoundArgument& candidate) { return candidate.name == argument; });
  return found == arguments.end() ? nullptr : &*found;
}

const BoundArgument* ArgumentLayout::find(AddressSpace space, std::uint32_t index) const {
  const bool threadgroup = space == AddressSpace::threadgroup;
  const auto found = std::find_if(arguments.begin(), arguments.end(), [&](const BoundArgument& candidate) {
    return candidate.index == index && (candidate.space == AddressSpace::threadgroup) == threadgroup;
  });
  return found == arguments.end() ? nullptr : &*found;
}

FieldValue FieldValue::of(std::uint64_t value) { return {Kind::unsigned_integer, value}; }
FieldValue FieldValue::of(std::int64_t value) { return {Kind::signed_integer, std::bit_cast<std::uint64_t>(value)}; }
FieldValue FieldValue::of(double value) { return {Kind::floating, std::bit_cast<std::uint64_t>(value)}; }

std::vector<std::byte> pack_struct(const StructLayout& layout, const std::map<std::string, FieldValue, std::less<>>& values,
                                   std::span<const std::string_view> required) {
  for (const auto name : required) {
    if (layout.find(name) == nullptr) {
      std::vector<std::string_view> present;
      for (const auto& field : layout.fields) present.push_back(field.name);
      throw AbiMismatch(fmt::format("struct '{}' has no field '{}'; it has: {}", layout.name, name, fmt::join(present, ", ")));
    }
  }
  std::vector<std::byte> bytes(layout.size);
  for (const auto& field : layout.fields) {
    // A part of a field that is a struct. The struct is handled as a whole.
    if (field.name.find('.') != std::string::npos) continue;
    const auto value = values.find(field.name);
    if (value == values.end()) {
      std::vector<std::string_view> known;
      for (const auto& [name, unused] : values) known.push_back(name);
      throw AbiMismatch(fmt::format("field '{}' ({}) of struct '{}' has no value; the names known here are: {}", field.name,
                                    field.type_name, layout.name, fmt::join(known, ", ")));
    }
    if (field.type == ScalarType::other) {
      throw AbiMismatch(
          fmt::format("field '{}' of struct '{}' is of type {}, which cannot be filled by name", field.name, layout.name, field.type_name));
    }
    const bool floating_value = value->second.kind == FieldValue::Kind::floating;
    if (floating_value != is_floating(field.type)) {
      does_not_fit(layout, field, value->second,
                   floating_value ? "the contract's value is floating" : "the contract's value is an integer");
    }
    const std::uint64_t bits =
        is_floating(field.type) ? floating_bits(layout, field, value->second) : integer_bits(layout, field, value->second);
    for (std::size_t element = 0; element < field.count; ++element)
      std::memcpy(bytes.data() + field.offset + element * size_of(field.type), &bits, size_of(field.type));
  }
  return bytes;
}

}  // namespace assay::metal
