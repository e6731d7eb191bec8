// Runs of b_random_index.metal and their expected results. Counter based random bits (threefry 2x32), gathers and scatters with index
// arrays and atomic updates.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::random_index {
namespace {

constexpr const char* kFile = "b_random_index.metal";

// Threefry 2x32, 20 rounds, after the paper: a key injection every four rounds.
std::array<std::uint32_t, 2> threefry(std::uint32_t k0, std::uint32_t k1, std::uint32_t c0, std::uint32_t c1) {
  static const int turn[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const std::uint32_t key[3] = {k0, k1, 0x1BD11BDAu ^ k0 ^ k1};
  std::uint32_t a = c0 + key[0], b = c1 + key[1];
  for (unsigned round = 0; round < 20; ++round) {
    a += b;
    const int t = turn[round % 8];
    b = (b << t | b >> (32 - t)) ^ a;
    if (round % 4 == 3) {
      const unsigned s = round / 4 + 1;
      a += key[s % 3], b += key[(s + 1) % 3] + s;
    }
  }
  return {a, b};
}

Run bits(const char* name, unsigned words, unsigned keys, unsigned spare) {  // spare: bytes missing from the last word
  const std::uint32_t bytes = words * 4 - spare;
  const bool odd = words % 2;
  const std::uint32_t rows = (words + 1) / 2;
  Rng rng(161);
  std::vector<std::uint32_t> key;
  for (unsigned i = 0; i < 2 * keys; ++i) key.push_back(std::uint32_t(rng()));
  Vec out;
  for (unsigned k = 0; k < keys; ++k) {
    std::vector<std::uint32_t> word(words);
    for (unsigned y = 0; y < rows; ++y) {
      const bool last = odd && y == rows - 1;
      const auto r = threefry(key[2 * k], key[2 * k + 1], y, last ? 0 : y + rows);
      word[y] = r[0];
      if (!last) word[y + rows] = r[1];
    }
    for (unsigned i = 0; i < bytes; ++i) out.push_back(word[i / 4] >> (8 * (i % 4)) & 255);
  }
  Run run(name, kFile, "rbitsc");
  run.buffer(0, key).fresh(1, out.size()).value(2, std::uint8_t(odd)).value(3, bytes);
  run.dispatch_threads({keys, rows, 1}, {4, 8, 1});
  run.expect_equal(1, Format::u8, out);
  return run;
}

std::vector<Run> random_index_runs() {
  std::vector<Run> runs;
  runs.push_back(bits("b_random_bits_even", 38, 5, 3));
  runs.push_back(bits("b_random_bits_odd", 27, 3, 0));
  {
    Run run("b_random_uniform_f32", kFile, "uniform_float");
    run.buffer(0, std::vector<std::uint32_t>{12345u, 0xdeadbeefu}).fresh(1, 100 * 4).value(2, std::array<float, 2>{-2.0f, 3.0f});
    Vec out;
    for (unsigned i = 0; i < 100; ++i) out.push_back(double(threefry(12345u, 0xdeadbeefu, i, 0)[0] >> 8) * 0x1p-24 * 5.0 - 2.0);
    run.dispatch_threads({100, 1, 1}, {32, 1, 1}).expect(1, Format::f32, out, Vec(100, 8 * kEps * 5));
    runs.push_back(run);
  }
  {  // rows of a matrix, with negative indices, the index array transposed
    const int rows = 13, columns = 21, a = 4, b = 5;
    const auto src = floats(162, rows * columns);
    Rng rng(163);
    std::vector<std::int32_t> idx(a * b);
    for (auto& x : idx) x = int(rng() % (2 * rows)) - rows;
    Vec out;
    for (int i = 0; i < a; ++i)
      for (int j = 0; j < b; ++j)
        for (int c = 0; c < columns; ++c) {
          const int row = idx[j * a + i];
          out.push_back(src[(row < 0 ? row + rows : row) * columns + c]);
        }
    Run run("b_gather1_f32_negative", kFile, "gather1_float_int32");
    run.buffer(0, src).fresh(1, out.size() * 4).buffer(2, std::vector<std::int32_t>{rows, columns});
    run.buffer(3, std::vector<std::uint64_t>{columns, 1}).buffer(4, std::vector<std::int32_t>{0}).value(5, std::uint32_t(columns));
    run.buffer(6, std::vector<std::int32_t>{a, b}).buffer(7, std::vector<std::uint64_t>{1, a}).value(8, 2).buffer(20, idx);
    run.dispatch_threads({columns, a * b, 1}, {8, 4, 1}).expect_equal(1, Format::f32, out);
    runs.push_back(run);
  }
  {  // points of a 3 dimensional array: slices along the last axis, two indices
    const int d0 = 6, d1 = 7, d2 = 5, n = 33;
    const auto src = to_half(floats(164, d0 * d1 * d2));
    Rng rng(165);
    std::vector<std::int64_t> i0(n), i1(n);
    for (auto& x : i0) x = int(rng() % (2 * d0)) - d0;
    for (auto& x : i1) x = int(rng() % (2 * d1)) - d1;
    Vec out;
    for (int k = 0; k < n; ++k)
      for (int c = 0; c < d2; ++c) out.push_back(half_value(src[((i0[k] + d0) % d0 * d1 + (i1[k] + d1) % d1) * d2 + c]));
    Run run("b_gather2_f16", kFile, "gather2_half_int64");
    run.buffer(0, src).fresh(1, out.size() * 2).buffer(2, std::vector<std::int32_t>{d0, d1, d2});
    run.buffer(3, std::vector<std::uint64_t>{d1 * d2, d2, 1}).buffer(4, std::vector<std::int32_t>{0, 1}).value(5, std::uint32_t(d2));
    run.buffer(6, std::vector<std::int32_t>{n}).buffer(7, std::vector<std::uint64_t>{1, 1}).value(8, 1).buffer(20, i0).buffer(21, i1);
    run.dispatch_threads({d2, n, 1}, {5, 8, 1}).expect_equal(1, Format::f16, out);
    runs.push_back(run);
  }
  {
    const int rows = 9, slice = 17, n = 70;
    Rng rng(166);
    std::vector<std::int32_t> idx(n);
    for (auto& x : idx) x = int(rng() % (2 * rows)) - rows;
    const auto updates = floats(167, n * slice), start = floats(168, rows * slice);
    Vec sum = wide(start), mag, top = wide(start);
    for (double x : sum) mag.push_back(std::fabs(x));
    std::vector<std::uint32_t> factors(n * slice), product(rows * slice, 3);
    for (auto& x : factors) x = std::uint32_t(rng()) | 1;
    Vec prod;
    auto p = product;
    for (int k = 0; k < n; ++k)
      for (int c = 0; c < slice; ++c) {
        const int o = (idx[k] < 0 ? idx[k] + rows : idx[k]) * slice + c;
        sum[o] += updates[k * slice + c], mag[o] += std::fabs(updates[k * slice + c]);
        top[o] = std::max(top[o], double(updates[k * slice + c])), p[o] *= factors[k * slice + c];
      }
    for (auto& m : mag) m *= n * kEps;
    const auto run = [&](const char* name, const char* function) {
      Run r(name, kFile, function);
      r.value(3, rows).value(4, slice).buffer(20, idx).dispatch_threads({slice, n, 1}, {16, 4, 1});
      return r;
    };
    runs.push_back(run("b_scatter_sum_f32", "scatter_sum_float").buffer(1, updates).buffer(2, start).expect(2, Format::f32, sum, mag));
    runs.push_back(run("b_scatter_max_f32", "scatter_max_float").buffer(1, updates).buffer(2, start).expect_equal(2, Format::f32, top));
    runs.push_back(run("b_scatter_prod_u32", "scatter_prod_uint")
                       .buffer(1, factors)
                       .buffer(2, product)
                       .expect_equal(2, Format::u32, Vec(p.begin(), p.end())));
  }
  return runs;
}

static const Runs kRandomIndex(random_index_runs);

}  // namespace
}  // namespace assay::foreign::b::random_index
