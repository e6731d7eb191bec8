// Builds the kernels of the library surface, runs them and compares each component.
#include "tests/conformance/surface.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "metal/errors.h"
#include "tests/conformance/rows.h"

namespace assay::tests {

const char* const kBitsOfScalars = R"(
#define ASSAY_TEST_BITS(T, Same) \
  inline ulong bits(T v) { return ulong(as_type<Same>(v)); } \
  template <> inline T value<T>(ulong b) { return as_type<T>(Same(b)); }
template <typename T> T value(ulong b);
ASSAY_TEST_BITS(char, uchar) ASSAY_TEST_BITS(uchar, uchar) ASSAY_TEST_BITS(short, ushort) ASSAY_TEST_BITS(ushort, ushort)
ASSAY_TEST_BITS(int, uint) ASSAY_TEST_BITS(uint, uint) ASSAY_TEST_BITS(long, ulong) ASSAY_TEST_BITS(ulong, ulong)
ASSAY_TEST_BITS(half, ushort) ASSAY_TEST_BITS(bfloat, ushort) ASSAY_TEST_BITS(float, uint)
inline ulong bits(bool v) { return v ? 1 : 0; }
template <> inline bool value<bool>(ulong b) { return (b & 1) != 0; }
)";

namespace {

constexpr char kComponents[] = "xyzw";

// T and t stand alone where they name the type.
std::string with_type(std::string_view expression, const std::string& type) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string text;
  for (std::size_t at = 0; at < expression.size(); ++at) {
    const bool alone =
        expression[at] == 'T' && (at == 0 || !is_word(expression[at - 1])) && (at + 1 == expression.size() || !is_word(expression[at + 1]));
    text += alone ? type : std::string(1, expression[at]);
  }
  return text;
}

std::string vector_name(const std::string& scalar, int size) { return size == 1 ? scalar : fmt::format("{}{}", scalar, size); }

std::string block(const Surface& surface, const SurfaceRow& row, int size, std::size_t slot) {
  const std::string type = vector_name(surface.type, size);
  std::string text = "{ ";
  for (const char variable : kVariableNames) {
    text += fmt::format("const {} {} = {}(", type, variable, type);
    for (int component = 0; component < size; ++component) text += fmt::format("{}{}{}", component == 0 ? "" : ", ", variable, component);
    text += "); ";
  }
  for (const char variable : kVariableNames) text += fmt::format("(void){}; ", variable);
  const std::string result = vector_name(row.result.empty() ? surface.type : row.result, size);
  text +=
      fmt::format("const auto r = {}; static_assert(is_same_v<remove_cv_t<decltype(r)>, {}>); ", with_type(row.expression, type), result);
  for (int component = 0; component < size; ++component) {
    const std::string of = size == 1 ? "r" : fmt::format("r.{}", kComponents[component]);
    text += fmt::format("out[{} * threads + t] = bits({}); ", slot + static_cast<std::size_t>(component), of);
  }
  return text + "}\n";
}

// Each row has one size, by turn, and another turn for other types. ASSAY_TEST_SURFACE=1 (conformance.whole_surface) has all sizes: clang
// takes minutes for them.
std::vector<int> sizes_of(const Surface& surface, std::size_t row) {
  if (std::getenv("ASSAY_TEST_SURFACE") != nullptr) return surface.sizes;
  return {surface.sizes[(row + surface.type.size()) % surface.sizes.size()]};
}

std::string source_of(const Surface& surface, std::size_t& slots) {
  std::string text = fmt::format(
      "#include <metal_stdlib>\nusing namespace metal;\n{}{}\nkernel void surface(device ulong* out, device const ulong* in, uint t "
      "[[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {{\nconst uint threads = {};\n(void)lane;\n",
      kBitsOfScalars, surface.prologue, surface.values.size());
  for (int component = 0; component < 4; ++component) {
    for (std::size_t variable = 0; variable < kVariables; ++variable) {
      text += fmt::format("const {} {}{} = value<{}>(in[(t + {}) % threads * {} + {}]);\n", surface.type, kVariableNames[variable],
                          component, surface.type, component, kVariables, variable);
    }
  }
  slots = 0;
  for (std::size_t row = 0; row < surface.rows.size(); ++row) {
    for (const int size : sizes_of(surface, row)) {
      text += block(surface, surface.rows[row], size, slots);
      slots += static_cast<std::size_t>(size);
    }
  }
  return text + "}\n";
}

Bits at(const Words& words, std::size_t index) { return Bits{words[2 * index]} | Bits{words[2 * index + 1]} << 32; }

}  // namespace

void check_surface(const Surface& surface) {
  ASSERT_FALSE(surface.rows.empty() || surface.values.empty()) << surface.type;
  const std::size_t threads = surface.values.size();
  std::size_t slots = 0;
  const std::string source = source_of(surface, slots);
  Words in;
  for (const auto& values : surface.values) {
    for (const Bits value : values) {
      in.push_back(static_cast<std::uint32_t>(value));
      in.push_back(static_cast<std::uint32_t>(value >> 32));
    }
  }
  Words out;
  try {
    out = run_kernel(source, "surface", {Words(2 * slots * threads, 0xdeadbeef), in}, static_cast<std::uint32_t>(threads), 32)[0];
  } catch (const metal::Error& error) {
    FAIL() << surface.type << ": " << error.what();
  }
  std::size_t slot = 0, wrong = 0;
  for (std::size_t number = 0; number < surface.rows.size(); ++number) {
    const SurfaceRow& row = surface.rows[number];
    for (const int size : sizes_of(surface, number)) {
      for (std::size_t component = 0; component < static_cast<std::size_t>(size); ++component, ++slot) {
        auto shifted = surface.values;
        std::rotate(shifted.begin(), shifted.begin() + static_cast<std::ptrdiff_t>(component % threads), shifted.end());
        for (std::size_t t = 0; t < threads; ++t) {
          const Values& values = shifted[t];
          const Bits expected = row.across ? row.across(shifted, t) : row.expected(values), actual = at(out, slot * threads + t);
          if (surface.agrees ? surface.agrees(row, actual, expected) : actual == expected) continue;
          // A wrong function is wrong for most threads: some examples say it all.
          if (++wrong > 20) return;
          ADD_FAILURE() << fmt::format(
              "{} of {}, component {} at thread {} (x = {:#x}, y = {:#x}, z = {:#x}, u = {:#x}, p = {:#x}, s = {:#x})"
              ": is {:#x}, should be {:#x}",
              row.expression, vector_name(surface.type, size), component, t, values[0], values[1], values[2], values[3], values[4],
              values[5], actual, expected);
        }
      }
    }
  }
  EXPECT_EQ(slot, slots);
}

long double rounded(long double value, int precision, int minimum, int maximum) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), minimum);
  const long double unit = std::ldexp(1.0L, exponent - (precision - 1));
  const long double result = std::nearbyint(value / unit) * unit;
  const long double beyond = std::ldexp(1.0L, maximum + 1);
  return std::fabs(result) >= beyond ? std::copysign(std::numeric_limits<long double>::infinity(), value) : std::copysign(result, value);
}

Bits encode(const std::string& type, long double value) {
  if (type == "half") {
    return Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(static_cast<float>(rounded(value, 11, -14, 15))));
  }
  if (type == "bfloat") {
    return Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(static_cast<float>(rounded(value, 8, -126, 127))));
  }
  return std::bit_cast<std::uint32_t>(static_cast<float>(rounded(value, 24, -126, 127)));
}

long double decode(const std::string& type, Bits bits) {
  if (type == "half") return static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(static_cast<std::uint16_t>(bits)));
  if (type == "bfloat") return static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(static_cast<std::uint16_t>(bits)));
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

}  // namespace assay::tests
