// Runs of b_elementwise_copy.metal and their expected results. Unary, binary and ternary functors over contiguous, scalar and strided
// arrays; copies between any two types.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::elementwise_copy {
namespace {

constexpr const char* kFile = "b_elementwise_copy.metal";

template <typename T>
Run copy(const char* name, const char* function, const std::vector<T>& in, std::size_t out_size, Format format, const Vec& dense,
         double relative) {
  // `dense` has the converted elements in the order of `in`, 9 x 13; they are copied transposed, as 13 x 9
  const int rows = 9, columns = 13;
  Run run(name, kFile, function);
  const std::size_t parts = dense.size() / (rows * columns);
  Vec out, tol;
  for (int c = 0; c < columns; ++c)
    for (int r = 0; r < rows; ++r)
      for (std::size_t p = 0; p < parts; ++p) {
        out.push_back(dense[std::size_t(r * columns + c) * parts + p]);
        tol.push_back(relative * std::fabs(out.back()));
      }
  run.buffer(0, in).fresh(1, out.size() * out_size).buffer(3, std::vector<std::int64_t>{1, columns});
  run.dispatch_threads({rows, columns, 1}, {4, 8, 1}).expect(1, format, out, tol);
  return run;
}

std::vector<Run> elementwise_runs() {
  std::vector<Run> runs;
  const auto threads = [](int n) { return Size{std::uint32_t(n), 1, 1}; };
  {
    const auto in = integers<std::int16_t>(201, 141, 65535, 32767);
    Vec out;
    for (auto x : in) out.push_back(std::abs(int(x)));
    Run run("b_unary_abs_i16", kFile, "v_abs_int16");
    run.buffer(0, in).fresh(1, in.size() * 2).value(2, std::uint32_t(in.size())).dispatch_threads(threads(36), {32, 1, 1});
    runs.push_back(run.expect_equal(1, Format::i16, out));
  }
  {
    const auto in = floats(202, 202, 4.0f);
    Vec out, tol;
    for (int i = 0; i < 101; ++i) out.push_back(std::hypot(in[2 * i], in[2 * i + 1])), tol.push_back(8 * kEps * out.back());
    Run run("b_unary_abs_complex", kFile, "v_abs_complex64_float32");
    run.buffer(0, in).fresh(1, 404).value(2, std::uint32_t(101)).dispatch_threads(threads(26), {32, 1, 1});
    runs.push_back(run.expect(1, Format::f32, out, tol));
  }
  {
    const auto in = floats(203, 150, 10.0f);
    Vec out, tol;
    for (float x : in) out.push_back(1 / (1 + std::exp(-double(x)))), tol.push_back(0x1p-19);
    Run run("b_unary_sigmoid", kFile, "v_sigmoid_float32");
    run.buffer(0, in).fresh(1, 600).value(2, std::uint32_t(150)).dispatch_threads(threads(38), {16, 1, 1});
    runs.push_back(run.expect(1, Format::f32, out, tol));
    const auto h = to_half(floats(204, 77, 3.0f));
    Vec erfs, erf_tol;
    for (auto x : h) erfs.push_back(std::erf(double(half_value(x)))), erf_tol.push_back(1e-6 + 0x1p-11 * std::fabs(erfs.back()));
    Run erf("b_unary_erf_f16", kFile, "v_erf_half");
    erf.buffer(0, h).fresh(1, 154).value(2, std::uint32_t(77)).dispatch_threads(threads(39), {32, 1, 1});
    runs.push_back(erf.expect(1, Format::f16, erfs, erf_tol));
  }
  {
    const int n = 90;
    const auto a = floats(205, 2 * n, 3.0f), b = floats(206, 2 * n, 0.5f, 1.0f);
    Vec out, tol;
    for (int i = 0; i < n; ++i) {
      const std::complex<double> x(a[2 * i], a[2 * i + 1]), y(b[2 * i], b[2 * i + 1]), q = x / y;
      out.push_back(q.real()), out.push_back(q.imag());
      tol.push_back(16 * kEps * std::abs(q)), tol.push_back(16 * kEps * std::abs(q));
    }
    Run run("b_binary_divide_complex", kFile, "vv_divide_complex64");
    run.buffer(0, a).buffer(1, b).fresh(2, n * 8).value(3, std::uint32_t(n)).dispatch_threadgroups({3, 1, 1}, {32, 1, 1});
    runs.push_back(run.expect(2, Format::f32, out, tol));
  }
  {
    const int n = 200;
    const auto a = integers<std::int32_t>(207, n, 2000001, 1000000);
    auto b = integers<std::int32_t>(208, n, 201, 100);
    Vec out;
    for (int i = 0; i < n; ++i) {
      if (b[i] == 0) b[i] = 7;
      out.push_back(a[i] - std::floor(double(a[i]) / b[i]) * b[i]);  // the sign of the divisor
    }
    Run run("b_binary_remainder_i32", kFile, "vv_remainder_int32");
    run.buffer(0, a).buffer(1, b).fresh(2, n * 4).value(3, std::uint32_t(n)).dispatch_threadgroups({4, 1, 1}, {64, 1, 1});
    runs.push_back(run.expect_equal(2, Format::i32, out));
    const std::vector<std::uint32_t> base{3};
    std::vector<std::uint32_t> exponent(40);
    std::iota(exponent.begin(), exponent.end(), 0u);
    Vec powers;
    std::uint32_t p = 1;
    for (int i = 0; i < 40; ++i, p *= 3) powers.push_back(p);
    Run power("b_binary_power_u32", kFile, "sv_power_uint32");
    power.buffer(0, base).buffer(1, exponent).fresh(2, 160).value(3, std::uint32_t(40)).dispatch_threadgroups({2, 1, 1}, {32, 1, 1});
    runs.push_back(power.expect_equal(2, Format::u32, powers));
  }
  {  // a is transposed, b is broadcast along the middle axis
    const int d0 = 3, d1 = 5, d2 = 7;
    const auto a = integers<std::int64_t>(209, d0 * d1 * d2, 1 << 25, 1 << 24), b = integers<std::int64_t>(210, d0 * d2, 1 << 25, 1 << 24);
    const auto ca = integers<std::int64_t>(211, 2 * d0 * d1 * d2, 3, 1), cb = integers<std::int64_t>(212, 2 * d0 * d2, 3, 1);
    const std::vector<float> fa(ca.begin(), ca.end()), fb(cb.begin(), cb.end());
    Vec product, less;
    for (int i = 0; i < d0; ++i)
      for (int j = 0; j < d1; ++j)
        for (int k = 0; k < d2; ++k) {
          const int x = (k * d1 + j) * d0 + i, y = i * d2 + k;
          product.push_back(double(a[x]) * double(b[y]));
          less.push_back(std::pair(fa[2 * x], fa[2 * x + 1]) < std::pair(fb[2 * y], fb[2 * y + 1]));
        }
    const std::vector<std::int64_t> sa{1, d0, d0 * d1}, sb{d2, 0, 1};
    Run run("b_binary_multiply_i64_strided", kFile, "g_multiply_int64");
    run.buffer(0, a).buffer(1, b).fresh(2, product.size() * 8).buffer(4, sa).buffer(5, sb).dispatch_threads({d2, d1, d0}, {4, 4, 2});
    runs.push_back(run.expect_equal(2, Format::i64, product));
    Run compare("b_binary_less_complex_strided", kFile, "g_less_complex64");
    compare.buffer(0, fa).buffer(1, fb).fresh(2, less.size()).buffer(4, sa).buffer(5, sb).dispatch_threads({d2, d1, d0}, {8, 2, 2});
    runs.push_back(compare.expect_equal(2, Format::u8, less));
  }
  {
    const int n = 99;
    const auto condition = integers<std::uint8_t>(213, n, 2, 0);
    const auto x = floats(214, 2 * n), y = floats(215, 2 * n);
    Vec out;
    for (int i = 0; i < 2 * n; ++i) out.push_back(condition[i / 2] ? x[i] : y[i]);
    Run run("b_ternary_select_complex", kFile, "v_select_complex64");
    run.buffer(0, condition).buffer(1, x).buffer(2, y).fresh(3, n * 8).dispatch_threads(threads(n), {32, 1, 1});
    runs.push_back(run.expect_equal(3, Format::f32, out));
  }
  {
    const int n = 9 * 13;
    const auto f = floats(216, n, 100.0f), complex = floats(217, 2 * n);
    auto longs = integers<std::int64_t>(218, n, 5, 2);
    longs[4] = std::int64_t(1) << 40;  // not zero, though its low half is
    const auto flags = integers<std::uint8_t>(219, n, 2, 0);
    Vec bools, complexes, reals, bytes, halves;
    for (auto x : longs) bools.push_back(x != 0);
    for (auto x : flags) complexes.push_back(x), complexes.push_back(0);
    for (int i = 0; i < n; ++i) reals.push_back(complex[2 * i]);
    const auto b = to_bfloat(f), h = to_half(f);
    for (double x : wide_bfloat(b)) bytes.push_back(std::trunc(x));
    for (double x : wide_half(h)) halves.push_back(std::trunc(x));
    runs.push_back(copy("b_copy_f32_f16", "copy_float32_float16", f, 2, Format::f16, wide(f), 0x1p-11));
    runs.push_back(copy("b_copy_i64_bool", "copy_int64_bool", longs, 1, Format::u8, bools, 0));
    runs.push_back(copy("b_copy_bool_complex", "copy_bool_complex64", flags, 4, Format::f32, complexes, 0));
    Run narrow =
        copy("b_copy_complex_bf16", "copy_complex64_bfloat16", std::vector<std::array<float, 2>>(), 2, Format::bf16, reals, 0x1p-8);
    runs.push_back(narrow.buffer(0, complex));
    runs.push_back(copy("b_copy_bf16_i8", "copy_bfloat16_int8", b, 1, Format::i8, bytes, 0));
    runs.push_back(copy("b_copy_f16_i64", "copy_half_int64", h, 8, Format::i64, halves, 0));
  }
  return runs;
}

static const Runs kElementwise(elementwise_runs);

}  // namespace
}  // namespace assay::foreign::b::elementwise_copy
