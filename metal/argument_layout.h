// A kernel's arguments as the host sees them: names, indices and struct layouts, reflected from the kernel's source.
//
// Launch code binds by name through this header, so a kernel may order its buffers and its struct fields freely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::metal {

// The kind of a scalar in memory; `other` stands for types that are not Metal scalars (a vector, a nested struct).
enum class ScalarType { boolean, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16, float32, other };

[[nodiscard]] std::string_view to_string(ScalarType type);
// Bytes of one scalar; 0 for `other`.
[[nodiscard]] std::size_t size_of(ScalarType type);

// One field of a struct, with the compiler's layout. `count` > 1 for an array or a vector of `type`.
struct StructField {
  std::string name;
  std::string type_name;  // as in the source: "uint", "float4", "half[8]"
  ScalarType type = ScalarType::other;
  std::size_t count = 1;
  std::size_t offset = 0;  // bytes from the struct's start
  std::size_t size = 0;    // bytes
};

struct StructLayout {
  std::string name;
  std::size_t size = 0;  // bytes, padding included
  std::vector<StructField> fields;

  [[nodiscard]] const StructField* find(std::string_view field) const;
};

enum class AddressSpace { device, constant, threadgroup };

[[nodiscard]] std::string_view to_string(AddressSpace space);

// One argument that the host binds: a buffer (device or constant) or a threadgroup pointer.
struct BoundArgument {
  std::string name;
  AddressSpace space = AddressSpace::device;
  std::uint32_t index = 0;                 // [[buffer(index)]] or [[threadgroup(index)]]
  bool is_reference = false;               // `constant T&` instead of a pointer
  bool is_const = false;                   // the kernel cannot write through the argument
  std::string type_name;                   // the pointee
  ScalarType element = ScalarType::other;  // the pointee if it is a scalar, the component if it is a vector
  std::size_t element_count = 1;           // scalars in the pointee
  std::size_t size = 0;                    // bytes of the pointee
  std::optional<StructLayout> layout;      // of a struct pointee
};

// A constant array of the source.
struct ConstantTable {
  std::string name;
  std::string file;
  std::uint32_t line = 0;  // 0: unknown
  ScalarType type = ScalarType::other;
  std::vector<std::uint64_t> bits;  // of each element
};

// All arguments that the host must bind for one function.
struct ArgumentLayout {
  std::string function;  // host name
  std::string file;
  std::uint32_t line = 0;
  std::vector<BoundArgument> arguments;
  std::string vector_refusal;                // why SIMD-groups of the kernel cannot run as vectors (metal/engine.h); empty if they can
  std::size_t static_threadgroup_bytes = 0;  // threadgroup variables declared in the kernel's body
  std::uint32_t max_total_threads = 1024;    // [[max_total_threads_per_threadgroup(n)]], else Metal's limit
  std::vector<ConstantTable> tables = {};    // that the function reads

  // nullptr if there is no argument of that name (or of that space and index).
  [[nodiscard]] const BoundArgument* find(std::string_view argument) const;
  [[nodiscard]] const BoundArgument* find(AddressSpace space, std::uint32_t index) const;
};

// A value for a struct field, before it is converted to the type of the field.
struct FieldValue {
  enum class Kind { unsigned_integer, signed_integer, floating } kind = Kind::unsigned_integer;
  std::uint64_t bits = 0;  // the value as uint64, int64 or double, bit for bit

  static FieldValue of(std::uint64_t value);
  static FieldValue of(std::int64_t value);
  static FieldValue of(std::uint32_t value) { return of(std::uint64_t{value}); }
  static FieldValue of(std::int32_t value) { return of(std::int64_t{value}); }
  static FieldValue of(bool value) { return of(std::uint64_t{value}); }
  static FieldValue of(double value);
  static FieldValue of(float value) { return of(double{value}); }

  friend bool operator==(const FieldValue&, const FieldValue&) = default;
  friend auto operator<=>(const FieldValue&, const FieldValue&) = default;
};

// Packs `values` according to `layout`. Every element of an array or vector field gets the value of the field; bytes that no field
// covers are zero.
//
// Throws AbiMismatch (errors.h), before anything runs, in these cases: a field of the layout has no value; a value does not fit the
// field's type (a negative or too large integer, a floating value for an integer field); a field is a struct; the layout lacks a
// name in `required`.
[[nodiscard]] std::vector<std::byte> pack_struct(const StructLayout& layout, const std::map<std::string, FieldValue, std::less<>>& values,
                                                 std::span<const std::string_view> required);

}  // namespace assay::metal
