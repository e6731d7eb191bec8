// Metal's scalars on the host: how SIMD-group functions and matrices read, compute and store them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace assay::metal::execute {

// The scalar codes of metal/shader/runtime.h.
enum class ScalarCode : std::uint32_t { int8, uint8, int16, uint16, int32, uint32, int64, uint64, half, bfloat, float32 };

using Half = _Float16;

// bfloat16: the upper half of a float, rounded to nearest even. Arithmetic is float arithmetic with rounded results.
class Bfloat {
 public:
  Bfloat() = default;
  Bfloat(float value) : bits_(round(value)) {}
  operator float() const { return std::bit_cast<float>(std::uint32_t{bits_} << 16); }

 private:
  static std::uint16_t round(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
  std::uint16_t bits_ = 0;
};

// Calls `visit(T{})` with the host type of a scalar code.
template <typename Visit>
decltype(auto) with_scalar(ScalarCode code, Visit&& visit) {
  switch (code) {
    case ScalarCode::int8:
      return visit(std::int8_t{});
    case ScalarCode::uint8:
      return visit(std::uint8_t{});
    case ScalarCode::int16:
      return visit(std::int16_t{});
    case ScalarCode::uint16:
      return visit(std::uint16_t{});
    case ScalarCode::int32:
      return visit(std::int32_t{});
    case ScalarCode::uint32:
      return visit(std::uint32_t{});
    case ScalarCode::int64:
      return visit(std::int64_t{});
    case ScalarCode::uint64:
      return visit(std::uint64_t{});
    case ScalarCode::half:
      return visit(Half{});
    case ScalarCode::bfloat:
      return visit(Bfloat{});
    case ScalarCode::float32:
      break;
  }
  return visit(float{});
}

template <typename T>
inline constexpr bool is_floating = std::is_same_v<T, float> || std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

template <typename T>
T load_scalar(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

template <typename T>
void store_scalar(void* address, T value) {
  std::memcpy(address, &value, sizeof value);
}

// Each operation is rounded once; integers wrap.
template <typename T>
T add(T a, T b) {
  if constexpr (is_floating<T>) {
    return static_cast<T>(static_cast<float>(a) + static_cast<float>(b));
  } else {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  }
}

template <typename T>
T multiply(T a, T b) {
  if constexpr (is_floating<T>) {
    return static_cast<T>(static_cast<float>(a) * static_cast<float>(b));
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
}

// If one operand is NaN, the other one.
template <typename T>
T minimum(T a, T b) {
  if constexpr (is_floating<T>) {
    const float x = static_cast<float>(a), y = static_cast<float>(b);
    return y < x || x != x ? b : a;
  } else {
    return b < a ? b : a;
  }
}

template <typename T>
T maximum(T a, T b) {
  if constexpr (is_floating<T>) {
    const float x = static_cast<float>(a), y = static_cast<float>(b);
    return x < y || x != x ? b : a;
  } else {
    return a < b ? b : a;
  }
}

}  // namespace assay::metal::execute
