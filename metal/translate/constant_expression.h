// Integer constant expressions as C++ evaluates them: literals, names, casts and operators, in their C++ types.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "metal/translate/cursor.h"

namespace assay::metal::translate {

struct IntegerType {
  unsigned bits = 32;  // 1 for bool
  bool is_signed = true;
};

inline constexpr IntegerType kInt{32, true};

struct Integer {
  std::int64_t value = 0;  // for an unsigned type, its bits
  IntegerType type;
};

// Converts a value as C++ does: to a narrower type modulo its width, to bool by comparison with 0.
[[nodiscard]] Integer converted(const Integer& integer, IntegerType type);

// The meanings of names in an expression. Names are passed as written in the source, including `::`.
struct ConstantNames {
  std::function<std::optional<Integer>(const std::string&)> value = [](const std::string&) { return std::nullopt; };
  std::function<std::optional<IntegerType>(const std::string&)> type = [](const std::string&) { return std::nullopt; };
};

// The value of the tokens [first, last). Empty if they are not a constant expression, or have no value in C++.
[[nodiscard]] std::optional<Integer> evaluate(const Cursor& tokens, std::size_t first, std::size_t last, const ConstantNames& names);

// The integer type that the tokens [first, last) name; empty if they name none.
[[nodiscard]] std::optional<IntegerType> integer_type(const Cursor& tokens, std::size_t first, std::size_t last,
                                                      const ConstantNames& names);

}  // namespace assay::metal::translate
