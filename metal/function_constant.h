// The value of a `[[function_constant(n)]]`, and the types that it may have: Metal's scalars and vectors of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::metal {

// One number of a constant.
using ConstantScalar = std::variant<bool, std::int64_t, double>;

// The components of a vector constant, in order.
struct ConstantVector {
  std::vector<ConstantScalar> components;

  friend bool operator==(const ConstantVector&, const ConstantVector&) = default;
  friend auto operator<=>(const ConstantVector&, const ConstantVector&) = default;
};

// Converted to the constant's declared type when the pipeline is created.
using FunctionConstant = std::variant<bool, std::int64_t, double, ConstantVector>;

// The components of a vector, or the single number.
[[nodiscard]] std::vector<ConstantScalar> components_of(const FunctionConstant& value);
// The reverse: a number from one component, a vector from several.
[[nodiscard]] FunctionConstant constant_of_components(std::span<const ConstantScalar> components);

// "true", "-3", "0.5"; for a vector "(1, 2)".
[[nodiscard]] std::string to_string(const ConstantScalar& value);
[[nodiscard]] std::string to_string(const FunctionConstant& value);

// The contents of a declared type.
struct FunctionConstantType {
  enum class Scalar { boolean, integer, floating } scalar = Scalar::integer;
  std::uint32_t components = 1;

  // Whether the number converts to a component of the type: integers convert to floating-point numbers, other kinds do not convert.
  [[nodiscard]] bool takes(const ConstantScalar& value) const;
  friend bool operator==(const FunctionConstantType&, const FunctionConstantType&) = default;
};

// Reads a type in Metal's words: `uint`, `unsigned int`, `metal::half3`, `vec<float, 2>`. Empty for any other name.
[[nodiscard]] std::optional<FunctionConstantType> function_constant_type(std::string_view type);

}  // namespace assay::metal
