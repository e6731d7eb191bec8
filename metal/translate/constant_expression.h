// Integer constant expressions as C++ computes them: literals, names, casts and operators, in the types that they have.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "metal/translate/cursor.h"

namespace assay::metal::translate {

struct IntegerType {
  unsigned bits = 32;  // 1 of a bool
  bool is_signed = true;
};

struct Integer {
  std::int64_t value = 0;  // the bits of an unsigned long
  IntegerType type;
};

[[nodiscard]] Integer converted(const Integer& integer, IntegerType type);

// What the names in an expression stand for; they are written as in the source, `::` included.
struct ConstantNames {
  std::function<std::optional<Integer>(const std::string&)> value = [](const std::string&) { return std::nullopt; };
  std::function<std::optional<IntegerType>(const std::string&)> type = [](const std::string&) { return std::nullopt; };
};

// The value of the tokens [first, last), or nothing if they are no such expression or have no value in C++.
[[nodiscard]] std::optional<Integer> evaluate(const Cursor& tokens, std::size_t first, std::size_t last, const ConstantNames& names);

// The type that the tokens [first, last) name, if it is an integer's.
[[nodiscard]] std::optional<IntegerType> integer_type(const Cursor& tokens, std::size_t first, std::size_t last,
                                                      const ConstantNames& names);

}  // namespace assay::metal::translate
