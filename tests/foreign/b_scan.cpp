// Runs of b_scan.metal and their expected results. Inclusive and exclusive scans along rows: simdgroups scan, threadgroup memory carries.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::scan {
namespace {

constexpr const char* kFile = "b_scan.metal";

template <typename T>
Run prepared(const char* name, const char* function, const std::vector<T>& in, std::size_t out_bytes, int rows, int size, int threads) {
  Run run(name, kFile, function);
  run.buffer(0, in).fresh(1, out_bytes).value(2, std::uint64_t(size));
  run.dispatch_threadgroups({1, std::uint32_t(rows), 1}, {std::uint32_t(threads), 1, 1});
  return run;
}

// f(accumulator, index) for each row in the order of the scan; what is accumulated before or after it is the result.
template <typename A, typename F>
std::vector<A> scan(int rows, int size, bool inclusive, bool reverse, A start, F f) {
  std::vector<A> out(std::size_t(rows * size), start);
  for (int r = 0; r < rows; ++r) {
    A acc = start;
    for (int k = 0; k < size; ++k) {
      const int i = r * size + (reverse ? size - 1 - k : k);
      if (!inclusive) out[i] = acc;
      acc = f(acc, i);
      if (inclusive) out[i] = acc;
    }
  }
  return out;
}

std::vector<Run> scan_runs() {
  std::vector<Run> runs;
  {
    const int rows = 3, size = 701;
    Rng rng(131);
    std::vector<std::uint8_t> in(rows * size);
    for (auto& x : in) x = rng() & 1;
    Run run = prepared("b_scan_sum_bool", "contig_scan_inclusive_sum_bool_int32", in, in.size() * 4, rows, size, 64);
    run.expect_equal(1, Format::i32, scan(rows, size, true, false, 0.0, [&](double a, int i) { return a + in[i]; }));
    runs.push_back(run);

    for (int i = 0; i < rows * size; ++i) in[i] = i % size != 333 || i < size;
    run = prepared("b_scan_prod_bool_exclusive", "contig_scan_exclusive_prod_bool_bool", in, in.size(), rows, size, 96);
    run.expect_equal(1, Format::u8, scan(rows, size, false, false, 1.0, [&](double a, int i) { return a * in[i]; }));
    runs.push_back(run);
  }
  {
    const int rows = 2, size = 333;
    Rng rng(132);
    std::vector<std::int64_t> in(rows * size);
    for (auto& x : in) x = std::int64_t((std::uint64_t(rng()) << 10) ^ rng()) - (std::int64_t(1) << 41);
    Run run =
        prepared("b_scan_sum_i64_reverse_exclusive", "contig_scan_reverse_exclusive_sum_int64_int64", in, in.size() * 8, rows, size, 64);
    run.expect_equal(1, Format::i64, scan(rows, size, false, true, 0.0, [&](double a, int i) { return a + double(in[i]); }));  // below 2^53
    runs.push_back(run);

    run = prepared("b_scan_max_i64_exclusive", "contig_scan_exclusive_max_int64_int64", in, in.size() * 8, rows, size, 128);
    run.expect_equal(1, Format::i64, scan(rows, size, false, false, -0x1p63, [&](double a, int i) { return std::max(a, double(in[i])); }));
    runs.push_back(run);

    std::vector<std::int32_t> narrow;
    for (int i = 0; i < rows * size; ++i) narrow.push_back(int(rng() >> 12) - (1 << 20) + i * 700);
    run = prepared("b_scan_max_i32", "contig_scan_inclusive_max_int32_int32", narrow, narrow.size() * 4, rows, size, 32);
    run.expect_equal(1, Format::i32,
                     scan(rows, size, true, false, -0x1p31, [&](double a, int i) { return std::max(a, double(narrow[i])); }));
    runs.push_back(run);
  }
  {
    const int rows = 2, size = 450;
    const auto in = floats(133, rows * size);
    Run run = prepared("b_scan_sum_f32", "contig_scan_inclusive_sum_float32_float32", in, in.size() * 4, rows, size, 64);
    const auto mag = scan(rows, size, true, false, 0.0, [&](double a, int i) { return a + std::fabs(in[i]); });
    Vec tol;
    // partial sums of other rows of threads meet: bounded by the sum of all magnitudes
    for (double m : mag) tol.push_back(size * kEps * m + 1e-6 * kEps);
    run.expect(1, Format::f32, scan(rows, size, true, false, 0.0, [&](double a, int i) { return a + in[i]; }), tol);
    runs.push_back(run);
  }
  {
    const int rows = 3, size = 155;
    const auto in = floats(134, rows * size * 2);
    Run run = prepared("b_scan_sum_complex_exclusive", "contig_scan_exclusive_sum_complex64_complex64", in, in.size() * 4, rows, size, 64);
    Vec out, tol;
    const auto re = scan(rows, size, false, false, 0.0, [&](double a, int i) { return a + in[2 * i]; });
    const auto im = scan(rows, size, false, false, 0.0, [&](double a, int i) { return a + in[2 * i + 1]; });
    for (std::size_t i = 0; i < re.size(); ++i) out.push_back(re[i]), out.push_back(im[i]);
    tol.assign(out.size(), size * kEps * size);
    run.expect(1, Format::f32, out, tol);
    runs.push_back(run);
  }
  {  // powers of two only: products in half are exact
    const int rows = 2, size = 140;
    std::vector<float> in;
    for (int i = 0; i < rows * size; ++i) {
      static const float cycle[4] = {2.0f, -0.5f, 0.5f, 2.0f};
      in.push_back(cycle[i % 4]);
    }
    Run run = prepared("b_scan_prod_f16", "contig_scan_inclusive_prod_float16_float16", to_half(in), in.size() * 2, rows, size, 64);
    run.expect_equal(1, Format::f16, scan(rows, size, true, false, 1.0, [&](double a, int i) { return a * in[i]; }));
    runs.push_back(run);
  }
  return runs;
}

static const Runs kScan(scan_runs);

}  // namespace
}  // namespace assay::foreign::b::scan
