// Runs of a_sum_cumsum.metal and their expected results. Sums of rows and running sums, with types that the library's reductions do not
// know.
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::sum_cumsum {
namespace {

enum class Order { inclusive, exclusive, reverse };
const char* prefix(Order o) {
  return o == Order::inclusive ? "scan_inclusive_" : o == Order::exclusive ? "scan_exclusive_" : "scan_reverse_inclusive_";
}

// position k of the scan of a row of n
int place(Order o, int k, int n) { return o == Order::reverse ? n - 1 - k : k; }

Run sum_float(const char* name, Order o, int n, int rows, int threads, std::uint32_t seed) {
  Rng rng(seed);
  const std::vector<float> x = floats(rng, z(n * rows), -1, 2);
  std::vector<double> want(x.size()), tol(x.size());
  for (int r = 0; r < rows; ++r) {
    double sum = 0, mag = 0;
    for (int k = 0; k < n; ++k) {
      const auto at = z(r * n + place(o, k, n));
      const double v = static_cast<double>(x[at]);
      const double before = sum;
      sum += v, mag += std::fabs(v);
      want[at] = o == Order::exclusive ? before : sum;
      tol[at] = (k + 2) * 0x1p-24 * mag;
    }
  }
  Run run(name, "a_sum_cumsum.metal", std::string(prefix(o)) + "sum_float32");
  run.buffer(0, x).fresh(1, x.size() * 4).value(2, static_cast<std::uint64_t>(n)).expect(1, Format::f32, want, tol);
  run.dispatch_threadgroups({u(rows), 1, 1}, {u(threads), 1, 1});
  return run;
}

// `combine` on 64-bit integers
template <typename T>
Run exact(const char* name, const std::string& suffix, Order o, Format format, std::size_t out_bytes, int n, int rows, int threads, int low,
          int high, std::int64_t init, std::int64_t (*combine)(std::int64_t, std::int64_t), std::uint32_t seed) {
  Rng rng(seed);
  std::vector<T> x;
  std::vector<std::int64_t> v;
  for (int i = 0; i < n * rows; ++i) {
    v.push_back(low + rng.below(high - low + 1));
    if constexpr (std::is_same_v<T, std::uint16_t>)
      x.push_back(half_bits(static_cast<float>(v.back())));
    else
      x.push_back(static_cast<T>(v.back()));
  }
  std::vector<double> want(v.size());
  for (int r = 0; r < rows; ++r) {
    std::int64_t acc = init;
    for (int k = 0; k < n; ++k) {
      const auto at = z(r * n + place(o, k, n));
      const std::int64_t before = acc;
      acc = combine(acc, v[at]);
      want[at] = static_cast<double>(o == Order::exclusive ? before : acc);
    }
  }
  Run run(name, "a_sum_cumsum.metal", prefix(o) + suffix);
  run.buffer(0, x).fresh(1, v.size() * out_bytes).value(2, static_cast<std::uint64_t>(n)).expect_equal(1, format, want);
  run.dispatch_threadgroups({u(rows), 1, 1}, {u(threads), 1, 1});
  return run;
}

std::int64_t add(std::int64_t a, std::int64_t b) { return a + b; }
std::int64_t largest(std::int64_t a, std::int64_t b) { return std::max(a, b); }
std::int64_t multiply32(std::int64_t a, std::int64_t b) { return (a * b) & 0xffffffff; }

Run complex_sum(const char* name, Order o, int n, int rows, std::uint32_t seed) {
  Rng rng(seed);
  const std::vector<float> x = floats(rng, z(2 * n * rows), -1, 1);
  std::vector<double> want(x.size()), tol(x.size());
  for (int r = 0; r < rows; ++r)
    for (int part = 0; part < 2; ++part) {
      double sum = 0, mag = 0;
      for (int k = 0; k < n; ++k) {
        const auto at = z(2 * (r * n + place(o, k, n)) + part);
        const double before = sum;
        sum += static_cast<double>(x[at]), mag += std::fabs(static_cast<double>(x[at]));
        want[at] = o == Order::exclusive ? before : sum, tol[at] = (k + 2) * 0x1p-24 * mag;
      }
    }
  Run run(name, "a_sum_cumsum.metal", std::string(prefix(o)) + "sum_complex64");
  run.buffer(0, x).fresh(1, x.size() * 4).value(2, static_cast<std::uint64_t>(n)).expect(1, Format::f32, want, tol);
  run.dispatch_threadgroups({u(rows), 1, 1}, {64, 1, 1});
  return run;
}

struct SumRowsArgs {
  std::int64_t ne00, ne01, ne02, ne03;
  std::uint64_t nb01, nb02, nb03, nb1, nb2, nb3;
};

enum class In { f32, f16, i8 };

Run rows(const char* name, const char* function, In in, bool mean, int n, int a, int b, int c, int row_pad, int threads,
         std::uint32_t seed) {
  Rng rng(seed);
  const std::size_t e = in == In::f32 ? 4 : in == In::f16 ? 2 : 1;
  const int stride = n + row_pad;
  const std::vector<float> x = floats(rng, z(stride * a * b * c), -100, 100);
  std::vector<double> d;
  Run run(name, "a_sum_cumsum.metal", function);
  if (in == In::f32) run.buffer(1, x), d = from_float(x);
  if (in == In::f16) run.buffer(1, to_half(x)), d = from_half(to_half(x));
  if (in == In::i8) {
    std::vector<std::int8_t> q;
    for (float v : x) q.push_back(static_cast<std::int8_t>(v)), d.push_back(q.back());
    run.buffer(1, q);
  }
  run.value(0, SumRowsArgs{n, a, b, c, e * z(stride), e * z(stride * a), e * z(stride * a * b), 4, 4 * z(a), 4 * z(a * b)});
  std::vector<double> want, tol;
  for (int r = 0; r < a * b * c; ++r) {
    double sum = 0, mag = 0;
    for (int i = 0; i < n; ++i) sum += d[z(r * stride + i)], mag += std::fabs(d[z(r * stride + i)]);
    const double by = mean ? n : 1;
    want.push_back(sum / by), tol.push_back(in == In::i8 ? 0 : (n + 4) * 0x1p-24 * mag / by);
  }
  run.fresh(2, want.size() * 4).expect(2, in == In::i8 ? Format::i32 : Format::f32, want, tol).threadgroup(0, 128);
  run.dispatch_threadgroups({u(a), u(b), u(c)}, {u(threads), 1, 1});
  return run;
}

std::vector<Run> sum_runs() {
  std::vector<Run> runs = {
      sum_float("a_cumsum_f32", Order::inclusive, 301, 2, 64, 231),
      sum_float("a_cumsum_exclusive_f32", Order::exclusive, 130, 3, 32, 232),
      sum_float("a_cumsum_reverse_f32", Order::reverse, 77, 2, 64, 233),
      exact<std::uint8_t>("a_cumsum_bool", "sum_bool_int32", Order::exclusive, Format::i32, 4, 200, 3, 64, 0, 1, 0, add, 234),
      exact<std::uint8_t>("a_cumsum_bool_reverse", "sum_bool_int32", Order::reverse, Format::i32, 4, 33, 2, 32, 0, 1, 0, add, 235),
      exact<std::uint32_t>("a_cumprod_u32", "prod_uint32", Order::inclusive, Format::u32, 4, 100, 2, 32, 1, 3, 1, multiply32, 236),
      exact<std::int32_t>("a_cumsum_i64", "sum_int64", Order::inclusive, Format::i64, 8, 150, 2, 64, 1000000000, 2000000000, 0, add, 237),
      exact<std::int32_t>("a_cumsum_i64_exclusive", "sum_int64", Order::exclusive, Format::i64, 8, 67, 2, 32, -2000000000, -1000000000, 0,
                          add, 238),
      exact<std::uint16_t>("a_cummax_f16", "max_float16", Order::inclusive, Format::f16, 2, 190, 3, 64, -1000, 1000, -65504, largest, 239),
      exact<std::uint16_t>("a_cummax_f16_exclusive", "max_float16", Order::exclusive, Format::f16, 2, 40, 2, 32, -1000, 1000, -65504,
                           largest, 240),
      complex_sum("a_cumsum_complex", Order::inclusive, 140, 2, 241),
      complex_sum("a_cumsum_complex_exclusive", Order::exclusive, 61, 2, 242),
      rows("a_sum_rows_f32", "sum_rows_f32", In::f32, false, 101, 3, 2, 2, 3, 64, 243),
      rows("a_mean_rows_f32", "mean_rows_f32", In::f32, true, 40, 2, 3, 1, 0, 32, 244),
      rows("a_sum_rows_f16", "sum_rows_f16", In::f16, false, 260, 3, 1, 1, 1, 96, 245),
      rows("a_sum_rows_i8", "sum_rows_i8_i32", In::i8, false, 75, 2, 1, 3, 2, 64, 248)};
  {
    Rng rng(246);
    const int n = 70;
    std::vector<float> x;
    for (int i = 0; i < 3 * n; ++i) {
      const double angle = rng.below(1000) * 0.00628, r = 0.95 + 0.1 * (rng.below(100) / 100.0);
      x.push_back(static_cast<float>(r * std::cos(angle))), x.push_back(static_cast<float>(r * std::sin(angle)));
    }
    std::vector<double> want, tol;
    for (int row = 0; row < 3; ++row) {
      double re = 1, im = 0, mag = 1;
      for (int i = 0; i < n; ++i) {
        const double a = static_cast<double>(x[z(2 * (row * n + i))]), b = static_cast<double>(x[z(2 * (row * n + i) + 1)]);
        const double t = re * a - im * b;
        im = re * b + im * a, re = t, mag *= std::hypot(a, b);
      }
      want.push_back(re), want.push_back(im);
      tol.push_back((n + 40) * 0x1p-22 * mag), tol.push_back(tol.back());
    }
    Run run("a_row_product_complex", "a_sum_cumsum.metal", "row_product_complex64");
    run.buffer(0, x).fresh(1, 24).value(2, u(n)).expect(1, Format::f32, want, tol).dispatch_threadgroups({3, 1, 1}, {32, 1, 1});
    runs.push_back(run);
  }
  {
    Rng rng(247);
    std::vector<std::int32_t> a, b;
    double same = 3;
    for (int i = 0; i < 205; ++i) a.push_back(rng.below(4)), b.push_back(rng.below(4)), same += a.back() == b.back() ? 1 : 0;
    Run run("a_count_equal", "a_sum_cumsum.metal", "count_equal_i32");
    run.buffer(0, a)
        .buffer(1, b)
        .buffer(2, std::vector<std::int32_t>{3})
        .value(3, std::uint32_t{205})
        .dispatch_threadgroups({4, 1, 1}, {64, 1, 1});
    run.expect_equal(2, Format::i32, {same});
    runs.push_back(run);
  }
  return runs;
}

const Runs kSum(sum_runs);

}  // namespace
}  // namespace assay::foreign::a::sum_cumsum
