// The library function by function and type by type: one expression, evaluated for a scalar type and its vectors of two to four components,
// component by component against what the host computes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::tests {

// A number's bits, in the low end.
using Bits = std::uint64_t;

constexpr std::size_t kVariables = 6;
constexpr std::string_view kVariableNames = "xyzups";

// The values of the variables x, y, z, u, p, s, in this order, of one thread and component.
using Values = std::array<Bits, kVariables>;

struct SurfaceRow {
  std::string expression;  // of x, y, z, u, p, s, each of the type under test; `T` stands for that type
  std::string result;      // the result's scalar type; empty: the type under test
  std::function<Bits(const Values&)> expected;
  // Instead, of a function that looks at other lanes: `lanes` are the values of all threads.
  std::function<Bits(const std::vector<Values>& lanes, std::size_t lane)> across = {};
};

struct Surface {
  std::string type;  // a scalar type of Metal
  std::vector<SurfaceRow> rows;
  std::vector<Values> values;  // a thread each; component c of thread t is that of thread t + c
  std::function<bool(const SurfaceRow&, Bits actual, Bits expected)> agrees = {};  // by default, to the bit
  std::string prologue = {};
  std::vector<int> sizes = {1, 2, 3, 4};  // how many components; only with ASSAY_TEST_SURFACE are all tried with every row
};

// Compiles and runs it as one kernel, and compares every component of every thread. Also checks the results' types.
void check_surface(const Surface& surface);

// Nearest number of `precision` bits with exponents as `minimum` ... `maximum` (of numbers in [1, 2)), ties to even.
long double rounded(long double value, int precision, int minimum, int maximum);

// Of the types half, bfloat and float.
[[nodiscard]] Bits encode(const std::string& type, long double value);
[[nodiscard]] long double decode(const std::string& type, Bits bits);

// Code that turns a value of any scalar type into its bits, and back.
extern const char* const kBitsOfScalars;

}  // namespace assay::tests
