// Runs of a_argsort_topk.metal and their expected results. Bitonic argsort, merging of sorted runs, argmax, top-k by 64-bit keys and by
// counting digits.
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::argsort_topk {
namespace {

struct SortArgs {
  std::int32_t ne00, ne00_pad, top_k, pad;
  std::uint64_t nb01;
};

// rows with repeated values
std::vector<float> rows_of(Rng& rng, int n) {
  std::vector<float> x;
  for (int i = 0; i < n; ++i) x.push_back(static_cast<float>(rng.below(61) - 30) * 0.375f);
  return x;
}

std::vector<int> order_of(const std::vector<float>& x, int from, int n, bool descending) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const float p = x[static_cast<std::size_t>(from + a)], q = x[static_cast<std::size_t>(from + b)];
    return p == q ? a < b : descending ? p > q : p < q;
  });
  return order;
}

Run argsort(const char* name, bool descending, int cols, int rows, int k, std::uint32_t seed) {
  Rng rng(seed);
  int padded = 1;
  while (padded < cols) padded *= 2;
  const std::vector<float> x = rows_of(rng, cols * rows);
  Run run(name, "a_argsort_topk.metal", descending ? "argsort_f32_i32_desc" : "argsort_f32_i32_asc");
  run.value(0, SortArgs{cols, padded, k, 0, 4u * static_cast<std::uint64_t>(cols)})
      .buffer(1, x)
      .fresh(2, static_cast<std::size_t>(rows * k) * 4);
  run.threadgroup(0, static_cast<std::size_t>(padded * 4 + 15) / 16 * 16);
  std::vector<double> want;
  for (int r = 0; r < rows; ++r) {
    const std::vector<int> order = order_of(x, r * cols, cols, descending);
    for (int i = 0; i < k; ++i) want.push_back(order[static_cast<std::size_t>(i)]);
  }
  run.expect_equal(2, Format::i32, want)
      .dispatch_threadgroups({static_cast<std::uint32_t>(rows), 1, 1}, {static_cast<std::uint32_t>(padded), 1, 1});
  return run;
}

template <typename T>
Run merge(const char* name, const char* function, Format format, int na, int nb, bool descending, std::uint32_t seed) {
  Rng rng(seed);
  const auto make = [&](int n) {
    std::vector<int> v;
    for (int i = 0; i < n; ++i) v.push_back(rng.below(50) - 25);
    std::sort(v.begin(), v.end());
    if (descending) std::reverse(v.begin(), v.end());
    return v;
  };
  const std::vector<int> a = make(na), b = make(nb);
  const auto store = [](const std::vector<int>& v) {
    std::vector<T> s;
    for (int x : v) {
      if constexpr (std::is_same_v<T, std::uint16_t>)
        s.push_back(half_bits(static_cast<float>(x)));
      else
        s.push_back(static_cast<T>(x));
    }
    return s;
  };
  std::vector<int> all(a);
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  if (descending) std::reverse(all.begin(), all.end());
  Run run(name, "a_argsort_topk.metal", function);
  run.buffer(0, store(a)).buffer(1, store(b)).fresh(2, all.size() * sizeof(T)).value(3, std::array<std::int32_t, 2>{na, nb});
  run.expect_equal(2, format, {all.begin(), all.end()});
  run.dispatch_threads({static_cast<std::uint32_t>((na + nb + 3) / 4), 1, 1}, {32, 1, 1});
  return run;
}

template <typename T>
Run arg(const char* name, const char* function, bool largest, int cols, int rows, int stride, int threads, std::uint32_t seed) {
  Rng rng(seed);
  std::vector<T> x;
  std::vector<int> v;
  for (int i = 0; i < cols * rows * stride; ++i) {
    v.push_back(std::is_same_v<T, std::uint8_t> ? rng.below(250) : rng.below(2000) - 1000);
    if constexpr (std::is_same_v<T, std::uint16_t>)
      x.push_back(half_bits(static_cast<float>(v.back())));
    else
      x.push_back(static_cast<T>(v.back()));
  }
  std::vector<double> want;
  for (int r = 0; r < rows; ++r) {
    int best = 0;
    const auto at = [&](int i) { return v[static_cast<std::size_t>(r * cols * stride + i * stride)]; };
    for (int i = 1; i < cols; ++i)
      if (largest ? at(i) > at(best) : at(i) < at(best)) best = i;
    want.push_back(best);
  }
  Run run(name, "a_argsort_topk.metal", function);
  run.buffer(0, x)
      .fresh(1, want.size() * 4)
      .value(2, static_cast<std::uint64_t>(stride))
      .value(3, static_cast<std::uint64_t>(cols))
      .value(4, static_cast<std::uint64_t>(cols * stride));
  run.expect_equal(1, Format::u32, want)
      .dispatch_threadgroups({static_cast<std::uint32_t>(rows), 1, 1}, {static_cast<std::uint32_t>(threads), 1, 1});
  return run;
}

std::vector<Run> sort_runs() {
  std::vector<Run> runs = {argsort("a_argsort_asc", false, 100, 3, 100, 171),
                           argsort("a_argsort_desc_top", true, 37, 4, 6, 172),
                           argsort("a_argsort_asc_256", false, 256, 1, 256, 173),
                           merge<std::int32_t>("a_merge_runs_i32", "merge_runs_i32", Format::i32, 53, 90, false, 174),
                           merge<float>("a_merge_runs_f32", "merge_runs_f32", Format::f32, 3, 38, false, 175),
                           merge<std::uint16_t>("a_merge_runs_f16_desc", "merge_runs_f16_desc", Format::f16, 64, 33, true, 176),
                           arg<std::int32_t>("a_argmax_int32", "argmax_int32", true, 301, 3, 1, 64, 177),
                           arg<std::uint8_t>("a_argmin_uint8", "argmin_uint8", false, 70, 4, 2, 32, 178),
                           arg<std::uint16_t>("a_argmax_float16", "argmax_float16", true, 129, 2, 1, 96, 179),
                           arg<float>("a_argmin_float32", "argmin_float32", false, 5, 3, 3, 32, 180)};
  Rng rng(181);
  {
    const int cols = 101, rows = 3, k = 7;
    const std::vector<float> x = rows_of(rng, cols * rows);
    std::vector<double> values, indices;
    for (int r = 0; r < rows; ++r) {
      const std::vector<int> order = order_of(x, r * cols, cols, true);
      for (int i = 0; i < k; ++i) {
        indices.push_back(order[static_cast<std::size_t>(i)]);
        values.push_back(x[static_cast<std::size_t>(r * cols + order[static_cast<std::size_t>(i)])]);
      }
    }
    Run run("a_topk_rows_f32", "a_argsort_topk.metal", "topk_rows_f32");
    run.buffer(0, x)
        .fresh(1, 21 * 4)
        .fresh(2, 21 * 4)
        .value(3, std::array<std::int32_t, 2>{cols, k})
        .dispatch_threadgroups({3, 1, 1}, {32, 1, 1});
    run.expect_equal(1, Format::f32, values).expect_equal(2, Format::i32, indices);
    runs.push_back(run);
  }
  {
    const int cols = 150, rows = 2, k = 40;
    const std::vector<float> x = rows_of(rng, cols * rows);
    std::vector<double> want;
    for (int r = 0; r < rows; ++r) want.push_back(x[static_cast<std::size_t>(r * cols + order_of(x, r * cols, cols, true)[k - 1])]);
    Run run("a_kth_largest_f32", "a_argsort_topk.metal", "kth_largest_f32");
    run.buffer(0, x)
        .fresh(1, 8)
        .value(2, std::array<std::int32_t, 2>{cols, k})
        .dispatch_threadgroups({2, 1, 1}, {64, 1, 1})
        .expect_equal(1, Format::f32, want);
    runs.push_back(run);
  }
  return runs;
}

const Runs kSort(sort_runs);

}  // namespace
}  // namespace assay::foreign::a::argsort_topk
