// What a foreign kernel is given and what must come out: a run is data, made by the author of the kernel.
//
// Self-contained: an author needs nothing of assay to write and to compile a file of runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace assay::foreign {

using Constant = std::variant<bool, std::int64_t, double>;  // the value of a [[function_constant(n)]]
using Size = std::array<std::uint32_t, 3>;                  // x, y, z

// IEEE binary16 and bfloat16 as 16 bits, rounded to nearest even.
[[nodiscard]] std::uint16_t half_bits(float value);
[[nodiscard]] float half_value(std::uint16_t bits);
[[nodiscard]] std::uint16_t bfloat_bits(float value);
[[nodiscard]] float bfloat_value(std::uint16_t bits);

// How the elements of an output buffer are read.
enum class Format { f32, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64 };

struct Expectation {
  std::uint32_t index = 0;  // the buffer's
  std::size_t first = 0;    // element that `values` begins at
  Format format = Format::f32;
  std::vector<double> values;
  std::vector<double> tolerances;  // one for each value: |actual - value| <= tolerance; 0 for equal
};

struct Run {
  Run(std::string name_, std::string file_, std::string function_)
      : name(std::move(name_)), file(std::move(file_)), function(std::move(function_)) {}

  std::string name;      // of the run: letters, digits and underscores, unique among all runs
  std::string file;      // "rope_styles.metal", in the folder of kernels
  std::string function;  // the host name
  std::map<std::uint32_t, Constant> constants;
  std::map<std::uint32_t, std::vector<std::byte>> buffers;    // contents before the run, setBuffer with offset 0
  std::map<std::uint32_t, std::size_t> fresh_buffers;         // bytes of buffers that the kernel is to write and that are unwritten before
  std::map<std::uint32_t, std::vector<std::byte>> set_bytes;  // setBytes: arguments `constant T&` and small tables
  std::map<std::uint32_t, std::size_t> threadgroup_memory;    // bytes, a multiple of 16
  Size grid = {1, 1, 1};
  Size threads_per_threadgroup = {32, 1, 1};
  bool grid_counts_threads = false;  // true: dispatchThreads; false: dispatchThreadgroups
  std::vector<Expectation> expectations;

  template <typename T>
  static std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }

  Run& constant(std::uint32_t index, Constant value) { return constants[index] = value, *this; }
  template <typename T>
  Run& buffer(std::uint32_t index, const std::vector<T>& values) {
    return buffers[index] = bytes_of(values), *this;
  }
  Run& fresh(std::uint32_t index, std::size_t bytes) { return fresh_buffers[index] = bytes, *this; }
  template <typename T>
  Run& value(std::uint32_t index, const T& value) {
    return set_bytes[index] = bytes_of(std::vector<T>{value}), *this;
  }
  Run& threadgroup(std::uint32_t index, std::size_t bytes) { return threadgroup_memory[index] = bytes, *this; }
  Run& dispatch_threadgroups(Size groups, Size threads) {
    return grid = groups, threads_per_threadgroup = threads, grid_counts_threads = false, *this;
  }
  Run& dispatch_threads(Size all, Size threads) { return grid = all, threads_per_threadgroup = threads, grid_counts_threads = true, *this; }
  Run& expect(std::uint32_t index, Format format, std::vector<double> values, std::vector<double> tolerances) {
    return expectations.push_back({index, 0, format, std::move(values), std::move(tolerances)}), *this;
  }
  Run& expect_equal(std::uint32_t index, Format format, std::vector<double> values) {
    std::vector<double> zeros(values.size(), 0.0);
    return expect(index, format, std::move(values), std::move(zeros));
  }
};

// Puts what `make` returns among the runs: `const Runs kRope(rope_runs);` at namespace scope.
struct Runs {
  explicit Runs(std::vector<Run> (*make)());
};

}  // namespace assay::foreign
