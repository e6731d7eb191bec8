// Runs of b_reduce.metal and their expected results. Reductions of everything, of rows and of columns; small types meet in packed 32-bit
// atomics.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::reduce {
namespace {

constexpr const char* kFile = "b_reduce.metal";

std::vector<Run> reduce_runs() {
  std::vector<Run> runs;
  {  // 16-bit sums wrap; the neighbours in the word stay
    const auto in = integers<std::int16_t>(141, 1501, 60000, 30000);
    std::int16_t sum = 100;
    for (auto x : in) sum = std::int16_t(std::uint16_t(sum) + std::uint16_t(x));
    Run run("b_reduce_all_sum_i16", kFile, "all_reduce_Sum_short");
    run.buffer(0, in).buffer(1, std::vector<std::int16_t>{7, -8, 9, 100}).value(2, std::uint32_t(in.size())).value(3, std::uint32_t(3));
    run.dispatch_threadgroups({3, 1, 1}, {64, 1, 1}).expect_equal(1, Format::i16, {7, -8, 9, double(sum)});
    runs.push_back(run);
  }
  {
    const auto in = to_half(floats(142, 777, 50.0f));
    const Vec values = wide_half(in);
    Run run("b_reduce_all_min_f16", kFile, "all_reduce_Min_half");
    run.buffer(0, in).buffer(1, std::vector<std::uint16_t>{half_bits(-60000.0f), half_bits(1000.0f)});
    run.value(2, std::uint32_t(in.size())).value(3, std::uint32_t(1));
    run.dispatch_threadgroups({2, 1, 1}, {96, 1, 1});
    run.expect_equal(1, Format::f16, {double(half_value(half_bits(-60000.0f))), *std::min_element(values.begin(), values.end())});
    runs.push_back(run);
  }
  {
    const auto in = floats(143, 1000);
    double sum = 2, mag = 2;
    for (float x : in) sum += x, mag += std::fabs(x);
    Run run("b_reduce_all_sum_f32", kFile, "all_reduce_Sum_float");
    run.buffer(0, in).buffer(1, std::vector<float>{2.0f}).value(2, std::uint32_t(in.size())).value(3, std::uint32_t(0));
    run.dispatch_threadgroups({4, 1, 1}, {64, 1, 1}).expect(1, Format::f32, {sum}, {in.size() * kEps * mag});
    runs.push_back(run);
  }
  for (const bool all : {true, false}) {
    const int rows = 11, size = 77;
    std::vector<std::uint8_t> in(rows * size, all ? 1 : 0), start(12, all ? 1 : 0);
    Vec out(12, all ? 1 : 0);
    for (int r = 0; r < rows; r += 3) in[r * size + (r * 37) % size] ^= 1, out[r] = all ? 0 : 1;
    Run run(all ? "b_reduce_rows_and" : "b_reduce_rows_or", kFile, all ? "all_reduce_and" : "all_reduce_or");
    run.buffer(0, in).buffer(1, start).value(2, std::uint32_t(size));
    run.dispatch_threadgroups({rows, 1, 1}, {64, 1, 1}).expect_equal(1, Format::u8, out);
    runs.push_back(run);
  }
  {
    const int rows = 7, size = 333;
    const auto in = integers<std::int64_t>(144, rows * size, std::int64_t(1) << 42, std::int64_t(1) << 41);
    Vec out(rows, 0.0);
    for (int i = 0; i < rows * size; ++i) out[i / size] += double(in[i]);
    Run run("b_reduce_row_sum_i64", kFile, "row_reduce_Sum_int64_t");
    run.buffer(0, in).fresh(1, rows * 8).value(2, std::uint64_t(size)).value(3, std::uint64_t(rows));
    run.dispatch_threadgroups({4, 1, 1}, {96, 1, 1}).expect_equal(1, Format::i64, out);
    runs.push_back(run);
  }
  {
    const int rows = 5, size = 200;
    const auto in = to_bfloat(floats(145, rows * size));
    const Vec v = wide_bfloat(in);
    Vec out(rows, 0.0), tol(rows, 0.0);
    for (int i = 0; i < rows * size; ++i) out[i / size] += v[i], tol[i / size] += std::fabs(v[i]) * size * kEps;
    Run run("b_reduce_row_sum_bf16", kFile, "row_reduce_Sum_bfloat");
    run.buffer(0, in).fresh(1, rows * 4).value(2, std::uint64_t(size)).value(3, std::uint64_t(rows));
    run.dispatch_threadgroups({3, 1, 1}, {64, 1, 1}).expect(1, Format::f32, out, tol);
    runs.push_back(run);
  }
  {
    const int rows = 4, size = 90;
    auto in = integers<std::int32_t>(146, rows * size, 1 << 30, 1 << 29);
    Vec out;
    for (int r = 0; r < rows; ++r) {
      std::uint32_t p = 1;
      for (int i = 0; i < size; ++i) in[r * size + i] |= 1, p *= std::uint32_t(in[r * size + i]);
      out.push_back(std::int32_t(p));
    }
    Run run("b_reduce_row_prod_i32", kFile, "row_reduce_Prod_int32_t");
    run.buffer(0, in).fresh(1, rows * 4).value(2, std::uint64_t(size)).value(3, std::uint64_t(rows));
    run.dispatch_threadgroups({2, 1, 1}, {32, 1, 1}).expect_equal(1, Format::i32, out);
    runs.push_back(run);
  }
  {
    const int batch = 2, rows = 45, columns = 50;
    const auto in = to_half(floats(147, batch * rows * columns));
    const auto longs = integers<std::int64_t>(148, batch * rows * columns, std::int64_t(1) << 51, std::int64_t(1) << 50);
    const Vec v = wide_half(in);
    Vec sums(batch * columns, 0.0), tol(batch * columns, 0.0), tops(batch * columns, -0x1p63);
    for (int i = 0; i < batch * rows * columns; ++i) {
      const int o = i / (rows * columns) * columns + i % columns;
      sums[o] += v[i], tol[o] += std::fabs(v[i]) * rows * kEps, tops[o] = std::max(tops[o], double(longs[i]));
    }
    Run run("b_reduce_col_sum_f16", kFile, "col_reduce_Sum_half");
    run.buffer(0, in).fresh(1, sums.size() * 4).value(2, rows).value(3, columns);
    run.dispatch_threadgroups({2, batch, 1}, {32, 8, 1}).expect(1, Format::f32, sums, tol);
    runs.push_back(run);
    Run most("b_reduce_col_max_i64", kFile, "col_reduce_Max_int64_t");
    most.buffer(0, longs).fresh(1, tops.size() * 8).value(2, rows).value(3, columns);
    most.dispatch_threadgroups({2, batch, 1}, {32, 8, 1}).expect_equal(1, Format::i64, tops);
    runs.push_back(most);
  }
  return runs;
}

static const Runs kReduce(reduce_runs);

}  // namespace
}  // namespace assay::foreign::b::reduce
