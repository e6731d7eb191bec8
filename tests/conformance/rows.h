// Tables of conformance rows: one row is one construct of the language, with an expectation that does not come from us.
//
// All rows of a table are compiled into one kernel, because a pipeline costs a third of a second. Inputs go in through a
// buffer, so that the compiler cannot evaluate a row itself.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <Eigen/Core>

namespace assay::tests {

using Words = std::vector<std::uint32_t>;

// Run by one thread. The body writes words to o[0..] and reads its inputs from i[0..]. In bodies, F(k), I(k), U(k) and H(k)
// are input k as float, int, uint and (its low half) half; PUT(k, v) stores a 32-bit value, PUTH(k, v) a 16-bit one.
struct Row {
  std::string construct;
  std::string source;  // of the expectation
  std::string body;
  Words inputs;
  Words expected;
};

// Run by the 32 lanes of one SIMD-group. The body reads the lane's input from i[lane] (F(lane), ...) and writes o[lane];
// `expected` gives the word of each lane from the inputs of all, or nothing for a lane that must not write.
struct LaneRow {
  std::string construct;
  std::string source;
  std::string body;
  Words inputs;  // 32 words
  std::function<std::vector<std::uint32_t>(const Words&)> expected;
};

// Compile and run a table and compare every word. `prologue` is MSL ahead of the kernel (helpers, structs).
void check_rows(std::string_view table, const std::vector<Row>& rows, std::string_view prologue = {});
void check_lane_rows(std::string_view table, const std::vector<LaneRow>& rows, std::string_view prologue = {});

// Runs the kernel `name` of `source` over `threads` threads in threadgroups of at most `threads_per_threadgroup`, with
// `buffers` at [[buffer(0)]] and on; returns their contents afterwards. Fails the test on a hazard.
std::vector<Words> run_kernel(std::string_view source, std::string_view name, std::vector<Words> buffers, std::uint32_t threads,
                              std::uint32_t threads_per_threadgroup);

// The text of the CompileError that `source` meets, empty if it compiles.
std::string compile_error(std::string_view source, std::string_view kernel);

inline std::uint32_t f(float value) { return std::bit_cast<std::uint32_t>(value); }
inline std::uint32_t n(int value) { return static_cast<std::uint32_t>(value); }
inline std::uint32_t h(float value) { return Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value)); }
inline std::uint32_t b(float value) { return Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(value)); }

// Where expectations come from.
inline constexpr const char* kMsl = "Metal Shading Language Specification";
inline constexpr const char* kHand = "hand arithmetic";
inline constexpr const char* kEigen = "Eigen::half / Eigen::bfloat16";
inline constexpr const char* kLongDouble = "C library in long double, rounded once";
inline constexpr const char* kCxx = "C++17 rules that Metal adopts";

}  // namespace assay::tests
