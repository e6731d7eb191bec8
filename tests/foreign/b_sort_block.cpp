// Runs of b_sort_block.metal and their expected results. Merge sort of a row in a threadgroup: own comparators and swap, values alone or
// with their indices.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::sort_block {
namespace {

constexpr const char* kFile = "b_sort_block.metal";

// `values` are rows x size; the elements of a row are `stride` apart when columns are sorted.
template <typename Stored>
Run sorting(const char* name, const char* function, const std::vector<Stored>& stored, const Vec& values, Format format, int size,
            int segments, bool columns, bool arg, bool down, int threads) {
  Run run(name, kFile, function);
  Vec out(values.size());
  const int step = columns ? segments : 1, segment = columns ? 1 : size;
  for (int s = 0; s < segments; ++s) {
    std::vector<int> order(size);
    std::iota(order.begin(), order.end(), 0);
    auto at = [&](int i) { return values[s * segment + i * step]; };
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      if (at(a) == at(b)) return a < b;  // stable
      return down ? at(a) > at(b) : at(a) < at(b);
    });
    for (int i = 0; i < size; ++i) out[s * segment + i * step] = arg ? order[i] : at(order[i]);
  }
  run.buffer(0, stored).fresh(1, values.size() * (arg ? 4 : sizeof(Stored)));
  run.value(2, size).value(3, step).value(4, segment);
  run.dispatch_threadgroups({1, std::uint32_t(segments), 1}, {std::uint32_t(threads), 1, 1});
  run.expect_equal(1, arg ? Format::u32 : format, out);
  return run;
}

template <typename T>
Vec widen(const std::vector<T>& in) {
  return Vec(in.begin(), in.end());
}

std::vector<Run> sort_runs() {
  const auto bytes = integers<std::uint8_t>(121, 3 * 250, 256, 0);
  const auto words = integers<std::int32_t>(122, 2 * 390, 100, 50);  // with many equals
  const auto longs = integers<std::int64_t>(123, 3 * 101, std::int64_t(1) << 52, std::int64_t(1) << 51);
  const auto shorts = integers<std::int16_t>(124, 5 * 200, 65535, 32767);
  const auto reals = floats(125, 2 * 256, 100.0f);
  const auto halves = to_half(floats(126, 3 * 77, 8.0f));
  return {
      sorting("b_sort_u8", "sort_uint8_t_bn64_tn4", bytes, widen(bytes), Format::u8, 250, 3, false, false, false, 64),
      sorting("b_argsort_i32_stable", "argsort_int32_t_bn128_tn4", words, widen(words), Format::i32, 390, 2, false, true, false, 128),
      sorting("b_sort_i64", "sort_int64_t_bn32_tn4", longs, widen(longs), Format::i64, 101, 3, false, false, false, 32),
      sorting("b_sort_i16_columns", "sort_int16_t_bn32_tn8", shorts, widen(shorts), Format::i16, 200, 5, true, false, false, 32),
      sorting("b_sort_f32_down", "sort_down_float_bn64_tn4", reals, wide(reals), Format::f32, 256, 2, false, false, true, 64),
      sorting("b_argsort_f16_columns", "argsort_half_bn64_tn4", halves, wide_half(halves), Format::f16, 77, 3, true, true, false, 64),
  };
}

static const Runs kSort(sort_runs);

}  // namespace
}  // namespace assay::foreign::b::sort_block
