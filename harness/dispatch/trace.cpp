// Decodes the fields of traces, and puts their values into words.
#include "harness/dispatch/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace assay::harness {
namespace {

template <typename T>
T read(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

TraceNumber number(metal::ScalarType type, std::span<const std::byte> bytes) {
  using enum metal::ScalarType;
  switch (type) {
    case boolean:
      return bytes.front() != std::byte{0};
    case int8:
      return std::int64_t{read<std::int8_t>(bytes)};
    case int16:
      return std::int64_t{read<std::int16_t>(bytes)};
    case int32:
      return std::int64_t{read<std::int32_t>(bytes)};
    case int64:
      return read<std::int64_t>(bytes);
    case uint8:
      return std::uint64_t{read<std::uint8_t>(bytes)};
    case uint16:
    case float16:
    case bfloat16:
      return std::uint64_t{read<std::uint16_t>(bytes)};
    case uint32:
      return std::uint64_t{read<std::uint32_t>(bytes)};
    case uint64:
      return read<std::uint64_t>(bytes);
    case float32:
      return double{read<float>(bytes)};
    case other:
      break;
  }
  throw std::logic_error("only a field of scalar type has a number");
}

}  // namespace

std::string to_string(const TraceNumber& value) {
  // Fields are floats, and the shortest text of a float is what people write.
  if (const double* floating = std::get_if<double>(&value)) {
    const auto narrow = static_cast<float>(*floating);
    return static_cast<double>(narrow) == *floating ? fmt::format("{}", narrow) : fmt::format("{}", *floating);
  }
  return std::visit([](auto other) { return fmt::format("{}", other); }, value);
}

std::vector<TraceField> decode_fields(const metal::BoundArgument& argument, std::span<const std::byte> bytes) {
  std::vector<metal::StructField> layout;
  if (argument.layout) {
    layout = argument.layout->fields;
  } else {
    layout.push_back({argument.name, argument.type_name, argument.element, argument.element_count, 0, argument.size});
  }
  std::vector<TraceField> fields;
  for (const metal::StructField& field : layout) {
    const std::size_t size = metal::size_of(field.type);
    for (std::size_t i = 0; size != 0 && i < field.count; ++i) {
      const std::size_t offset = field.offset + i * size;
      if (offset + size > bytes.size()) break;
      fields.push_back({field.count == 1 ? field.name : fmt::format("{}[{}]", field.name, i), field.type_name, offset, size,
                        number(field.type, bytes.subspan(offset, size))});
    }
  }
  std::ranges::sort(fields, {}, &TraceField::offset);
  return fields;
}

}  // namespace assay::harness
