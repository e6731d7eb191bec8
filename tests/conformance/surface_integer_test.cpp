// Every integer function for every integer type and its vectors.
//
// Expectations: MSL 6.3, evaluated on the host in integers of 128 bits.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <type_traits>

#include "tests/conformance/surface.h"

namespace assay::tests::surface_integer_test {
namespace {

__extension__ using Wide = __int128;
__extension__ using WideUnsigned = unsigned __int128;

template <typename T>
T saturated(Wide value) {
  const Wide low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(value, low, high));
}

template <typename T>
T multiply_high(T x, T y) {
  constexpr int kWidth = static_cast<int>(sizeof(T)) * 8;
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>((Wide{x} * Wide{y}) >> kWidth);
  else
    return static_cast<T>((WideUnsigned{x} * WideUnsigned{y}) >> kWidth);
}

// x * y + z of unsigned 64 bits is just below 2^128.
template <typename T>
T multiply_add_saturated(T x, T y, T z) {
  if constexpr (std::is_signed_v<T>) return saturated<T>(Wide{x} * Wide{y} + Wide{z});
  const WideUnsigned exact = static_cast<WideUnsigned>(x) * static_cast<WideUnsigned>(y) + static_cast<WideUnsigned>(z);
  const WideUnsigned high = std::numeric_limits<T>::max();
  return static_cast<T>(std::min(exact, high));
}

template <typename T>
T reversed(T x) {
  using U = std::make_unsigned_t<T>;
  U result = 0;
  for (std::size_t bit = 0; bit < sizeof(T) * 8; ++bit)
    if ((static_cast<U>(x) >> bit & 1) != 0) result = static_cast<U>(result | U{1} << (sizeof(T) * 8 - 1 - bit));
  return static_cast<T>(result);
}

// Four bits from bit 3, sign-extended for a signed type.
template <typename T>
T extracted(T x) {
  const int field = static_cast<int>(static_cast<std::make_unsigned_t<T>>(x) >> 3 & 15);
  return static_cast<T>(std::is_signed_v<T> && field > 7 ? field - 16 : field);
}

template <typename T>
struct Function {
  std::string expression;
  std::string result;
  T (*value)(T x, T y, T z);
};

template <typename T>
std::vector<Function<T>> functions(const std::string& unsigned_type) {
  using U = std::make_unsigned_t<T>;
  return {
      {"abs(x)", "", [](T x, T, T) { return static_cast<T>(x < 0 ? U{0} - static_cast<U>(x) : static_cast<U>(x)); }},
      {"absdiff(x, y)", unsigned_type, [](T x, T y, T) { return static_cast<T>(x > y ? Wide{x} - Wide{y} : Wide{y} - Wide{x}); }},
      {"addsat(x, y)", "", [](T x, T y, T) { return saturated<T>(Wide{x} + Wide{y}); }},
      {"subsat(x, y)", "", [](T x, T y, T) { return saturated<T>(Wide{x} - Wide{y}); }},
      {"clamp(x, min(y, z), max(y, z))", "", [](T x, T y, T z) { return std::clamp(x, std::min(y, z), std::max(y, z)); }},
      {"clz(x)", "", [](T x, T, T) { return static_cast<T>(std::countl_zero(static_cast<U>(x))); }},
      {"ctz(x)", "", [](T x, T, T) { return static_cast<T>(std::countr_zero(static_cast<U>(x))); }},
      {"popcount(x)", "", [](T x, T, T) { return static_cast<T>(std::popcount(static_cast<U>(x))); }},
      {"reverse_bits(x)", "", [](T x, T, T) { return reversed(x); }},
      {"extract_bits(x, 3u, 4u)", "", [](T x, T, T) { return extracted(x); }},
      {"insert_bits(x, y, 2u, 5u)", "",
       [](T x, T y, T) {
         return static_cast<T>((static_cast<U>(x) & static_cast<U>(~U{124})) | (static_cast<U>(static_cast<U>(y) << 2) & U{124}));
       }},
      {"hadd(x, y)", "", [](T x, T y, T) { return static_cast<T>((Wide{x} + Wide{y}) >> 1); }},
      {"rhadd(x, y)", "", [](T x, T y, T) { return static_cast<T>((Wide{x} + Wide{y} + 1) >> 1); }},
      {"mulhi(x, y)", "", [](T x, T y, T) { return multiply_high(x, y); }},
      {"madhi(x, y, z)", "", [](T x, T y, T z) { return static_cast<T>(static_cast<U>(multiply_high(x, y)) + static_cast<U>(z)); }},
      {"madsat(x, y, z)", "", [](T x, T y, T z) { return multiply_add_saturated(x, y, z); }},
      {"max(x, y)", "", [](T x, T y, T) { return std::max(x, y); }},
      {"min(x, y)", "", [](T x, T y, T) { return std::min(x, y); }},
      {"max3(x, y, z)", "", [](T x, T y, T z) { return std::max({x, y, z}); }},
      {"min3(x, y, z)", "", [](T x, T y, T z) { return std::min({x, y, z}); }},
      {"median3(x, y, z)", "", [](T x, T y, T z) { return std::max(std::min(x, y), std::min(std::max(x, y), z)); }},
      {"rotate(x, y)", "",
       [](T x, T y, T) { return static_cast<T>(std::rotl(static_cast<U>(x), static_cast<int>(static_cast<U>(y) & (sizeof(T) * 8 - 1)))); }},
      {"select(x, y, x < z)", "", [](T x, T y, T z) { return x < z ? y : x; }},
  };
}

// The low 24 bits of a factor.
template <typename T>
T low24(T x) {
  return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(x) << 8) >> 8);
}

template <typename T>
std::vector<Function<T>> functions_of_24_bits() {
  const auto product = [](T x, T y, T) { return static_cast<T>(Wide{low24(x)} * Wide{low24(y)}); };
  const auto sum = [](T x, T y, T z) { return static_cast<T>(Wide{low24(x)} * Wide{low24(y)} + Wide{z}); };
  return {{"mul24(x, y)", "", product}, {"mad24(x, y, z)", "", sum}};
}

template <typename T>
Bits bits_of(T value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}

// Edges, numbers around powers of two, and random ones.
template <typename T>
std::vector<Values> samples(std::uint32_t seed) {
  std::mt19937_64 engine(seed);
  const auto edges = std::to_array<T>({0, 1, static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                                       static_cast<T>(std::numeric_limits<T>::max() - 1), 2, 7});
  std::vector<Values> values(96);
  for (std::size_t t = 0; t < values.size(); ++t) {
    for (auto& value : values[t]) {
      const std::uint64_t random = engine();
      value =
          bits_of(t < 48 && random % 2 == 0 ? edges[random / 2 % edges.size()] : static_cast<T>(random >> (random % 5 * sizeof(T) * 2)));
    }
  }
  return values;
}

template <typename T>
void check(const std::string& type, const std::string& unsigned_type) {
  Surface surface{type, {}, samples<T>(static_cast<std::uint32_t>(sizeof(T)) * 2 + std::is_signed_v<T>)};
  auto all = functions<T>(unsigned_type);
  if constexpr (sizeof(T) == 4) {
    for (auto& function : functions_of_24_bits<T>()) all.push_back(function);
  }
  for (const auto& function : all) {
    surface.rows.push_back({function.expression, function.result, [value = function.value](const Values& v) {
                              return bits_of(value(static_cast<T>(v[0]), static_cast<T>(v[1]), static_cast<T>(v[2])));
                            }});
  }
  check_surface(surface);
}

TEST(Surface, IntegerFunctionsOfEightBits) {
  check<std::int8_t>("char", "uchar");
  check<std::uint8_t>("uchar", "uchar");
}
TEST(Surface, IntegerFunctionsOf16Bits) {
  check<std::int16_t>("short", "ushort");
  check<std::uint16_t>("ushort", "ushort");
}
TEST(Surface, IntegerFunctionsOf32Bits) {
  check<std::int32_t>("int", "uint");
  check<std::uint32_t>("uint", "uint");
}
TEST(Surface, IntegerFunctionsOf64Bits) {
  check<std::int64_t>("long", "ulong");
  check<std::uint64_t>("ulong", "ulong");
}

// The harness itself: a wrong expectation must fail.
TEST(Surface, AWrongExpectationIsReported) {
  testing::TestPartResultArray results;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    check_surface(
        {.type = "int", .rows = {{"max(x, y)", "", [](const Values& v) { return v[0]; }}}, .values = {{1, 2}, {4, 3}}, .sizes = {1}});
  }
  ASSERT_GT(results.size(), 0);
  EXPECT_NE(std::string(results.GetTestPartResult(0).message()).find("max(x, y) of int, component 0 at thread 0"), std::string::npos)
      << results.GetTestPartResult(0).message();
}

}  // namespace
}  // namespace assay::tests::surface_integer_test
