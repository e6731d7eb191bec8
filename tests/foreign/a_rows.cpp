// Runs of a_rows.metal and their expected results. Rows: fetching and storing by index (also of quantised rows), concatenation, repetition,
// copies with strides.
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::rows {
namespace {

struct GetRowsArgs {
  std::int32_t ne00, ne10;
  std::uint64_t nb01, nb02, nb10, nb11, nb1, nb2;
};

enum class Kind { q4_0, q5_0, q8_0, nl4, f32, f16, bf16, i32 };
constexpr int kTable[16] = {-120, -98, -79, -62, -47, -34, -22, -11, 0, 12, 24, 37, 51, 67, 86, 110};

void push(std::vector<std::uint8_t>& b, std::uint64_t x, int bytes) {
  for (int i = 0; i < bytes; ++i) b.push_back(static_cast<std::uint8_t>(x >> (8 * i)));
}

void push_block(Kind kind, Rng& rng, std::vector<std::uint8_t>& bytes, std::vector<double>& values) {
  const std::uint16_t d = half_bits(rng.uniform(0.01f, 0.5f));
  const double scale = half_value(d);
  int code[32];
  for (int& c : code) c = rng.below(kind == Kind::q8_0 ? 256 : kind == Kind::q5_0 ? 32 : 16);
  push(bytes, d, 2);
  if (kind == Kind::q8_0) {
    for (int c : code) push(bytes, static_cast<std::uint64_t>(c), 1), values.push_back(scale * (c < 128 ? c : c - 256));
    return;
  }
  if (kind == Kind::q5_0) {
    std::uint64_t high = 0;
    for (int i = 0; i < 32; ++i) high += static_cast<std::uint64_t>(code[i] / 16) << i;
    push(bytes, high, 4);
  }
  for (int i = 0; i < 16; ++i) push(bytes, static_cast<std::uint64_t>(code[i] % 16 + 16 * (code[i + 16] % 16)), 1);
  for (int c : code) values.push_back(scale * (kind == Kind::nl4 ? kTable[c] : kind == Kind::q5_0 ? c - 16 : c - 8));
}

Run get_rows(const char* name, const char* function, Kind kind, int cols, int rows, int batches, int picks, std::uint32_t seed) {
  Rng rng(seed);
  std::vector<std::uint8_t> bytes;
  std::vector<double> values;
  while (values.size() < z(cols * rows * batches)) {
    const float f = rng.uniform(-3, 3);
    switch (kind) {
      case Kind::f32: {
        std::uint32_t bits;
        std::memcpy(&bits, &f, 4);
        push(bytes, bits, 4), values.push_back(f);
        break;
      }
      case Kind::f16:
        push(bytes, half_bits(f), 2), values.push_back(half_value(half_bits(f)));
        break;
      case Kind::bf16:
        push(bytes, bfloat_bits(f), 2), values.push_back(bfloat_value(bfloat_bits(f)));
        break;
      case Kind::i32: {
        const auto v = static_cast<std::int32_t>(rng.engine());
        push(bytes, static_cast<std::uint32_t>(v), 4), values.push_back(v);
        break;
      }
      default:
        push_block(kind, rng, bytes, values);
    }
  }
  std::vector<std::int32_t> index;
  for (int i = 0; i < picks * batches; ++i) index.push_back(rng.below(rows));
  const bool exact = kind == Kind::f32 || kind == Kind::f16 || kind == Kind::bf16 || kind == Kind::i32;
  std::vector<double> want, tol;
  for (int b = 0; b < batches; ++b)
    for (int p = 0; p < picks; ++p)
      for (int i = 0; i < cols; ++i) {
        want.push_back(values[z((b * rows + index[z(b * picks + p)]) * cols + i)]);
        tol.push_back(exact ? 0 : std::fabs(want.back()) * 0x1p-23);
      }
  const std::size_t row = bytes.size() / z(rows * batches);
  Run run(name, "a_rows.metal", function);
  run.value(0, GetRowsArgs{cols, picks, row, row * z(rows), 4, 4 * z(picks), 4 * z(cols), 4 * z(cols * picks)});
  run.buffer(1, bytes).buffer(2, index).fresh(3, want.size() * 4).expect(3, kind == Kind::i32 ? Format::i32 : Format::f32, want, tol);
  run.dispatch_threadgroups({u(picks), u(batches), 1}, {32, 1, 1});
  return run;
}

template <typename TI>
Run set_rows(const char* name, const char* function, int cols, int rows, const std::vector<TI>& to, std::uint32_t seed) {
  Rng rng(seed);
  const std::size_t row = z(cols / 32 * 34);
  std::vector<std::uint8_t> before(row * z(rows));
  for (auto& b : before) b = static_cast<std::uint8_t>(rng.below(256));
  std::vector<double> want(before.begin(), before.end());
  std::vector<float> x;
  for (TI t : to)
    for (int b = 0; b < cols / 32; ++b) {
      const double d = std::ldexp(1.0, rng.below(6) - 8);
      std::vector<std::uint8_t> block;
      push(block, half_bits(static_cast<float>(d)), 2);
      const int top = rng.below(32);
      for (int i = 0; i < 32; ++i) {
        const int code = i == top ? -127 : rng.below(251) - 125;
        push(block, static_cast<std::uint64_t>(static_cast<std::uint8_t>(code)), 1);
        x.push_back(static_cast<float>(d * (code + (i == top ? 0.0 : (rng.below(7) - 3) / 8.0))));
      }
      std::copy(block.begin(), block.end(), want.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(t) * row) + 34 * b);
    }
  Run run(name, "a_rows.metal", function);
  run.value(0, GetRowsArgs{cols, static_cast<std::int32_t>(to.size()), 0, 0, sizeof(TI), 0, row, 0})
      .buffer(1, x)
      .buffer(2, to)
      .buffer(3, before);
  run.expect_equal(3, Format::u8, want).dispatch_threadgroups({static_cast<std::uint32_t>(to.size()), 1, 1}, {4, 1, 1});
  return run;
}

struct ConcatArgs {
  std::int32_t ne0[4], ne1[4], ne[4];
  std::uint64_t nb0[4], nb1[4], nb[4];
  std::int32_t dim, pad;
};
static_assert(sizeof(ConcatArgs) == 152);

using Shape = std::array<int, 4>;
int volume(const Shape& s) { return s[0] * s[1] * s[2] * s[3]; }
// the strides in the order of `order`: which dimension is the innermost in memory, and so on
void strides(const Shape& s, const Shape& order, std::size_t e, std::uint64_t (&nb)[4]) {
  for (int d : order) nb[d] = e, e *= z(s[z(d)]);
}

template <typename T>
Run concat(const char* name, const char* function, Format f, int dim, const Shape& a, const Shape& b, const Shape& order_b,
           std::uint32_t seed) {
  Rng rng(seed);
  ConcatArgs g{};
  Shape n = a;
  n[z(dim)] += b[z(dim)];
  for (int i = 0; i < 4; ++i) g.ne0[i] = a[z(i)], g.ne1[i] = b[z(i)], g.ne[i] = n[z(i)];
  strides(a, {0, 1, 2, 3}, sizeof(T), g.nb0), strides(b, order_b, sizeof(T), g.nb1), strides(n, {0, 1, 2, 3}, sizeof(T), g.nb);
  g.dim = dim;
  const auto fill = [&](const Shape& s, std::vector<double>& d) {
    std::vector<T> x;
    for (int i = 0; i < volume(s); ++i) {
      const int v = rng.below(200);
      x.push_back(f == Format::f16 ? static_cast<T>(half_bits(static_cast<float>(v))) : static_cast<T>(v)), d.push_back(v);
    }
    return x;
  };
  std::vector<double> da, db, want;
  const std::vector<T> xa = fill(a, da), xb = fill(b, db);
  for (int i3 = 0; i3 < n[3]; ++i3)
    for (int i2 = 0; i2 < n[2]; ++i2)
      for (int i1 = 0; i1 < n[1]; ++i1)
        for (int i0 = 0; i0 < n[0]; ++i0) {
          Shape i = {i0, i1, i2, i3};
          const bool first = i[z(dim)] < a[z(dim)];
          if (!first) i[z(dim)] -= a[z(dim)];
          std::size_t at = 0;
          for (int k = 0; k < 4; ++k) at += static_cast<std::size_t>((first ? g.nb0 : g.nb1)[k]) / sizeof(T) * z(i[z(k)]);
          want.push_back(first ? da[at] : db[at]);
        }
  Run run(name, "a_rows.metal", function);
  run.value(0, g).buffer(1, xa).buffer(2, xb).fresh(3, want.size() * sizeof(T)).expect_equal(3, f, want);
  run.dispatch_threadgroups({u(n[1]), u(n[2]), u(n[3])}, {8, 1, 1});
  return run;
}

template <typename T>
Run repeat(const char* name, const char* function, Format f, const Shape& a, const Shape& times, std::uint32_t seed) {
  Rng rng(seed);
  ConcatArgs g{};
  Shape n = a;
  for (int i = 0; i < 4; ++i) n[z(i)] *= times[z(i)], g.ne0[i] = a[z(i)], g.ne[i] = n[z(i)];
  strides(a, {1, 0, 3, 2}, sizeof(T), g.nb0), strides(n, {0, 1, 2, 3}, sizeof(T), g.nb);
  std::vector<T> x;
  std::vector<double> d, want;
  for (int i = 0; i < volume(a); ++i) {
    const int v = rng.below(100);
    x.push_back(f == Format::f16 ? static_cast<T>(half_bits(static_cast<float>(v))) : static_cast<T>(v)), d.push_back(v);
  }
  for (int i3 = 0; i3 < n[3]; ++i3)
    for (int i2 = 0; i2 < n[2]; ++i2)
      for (int i1 = 0; i1 < n[1]; ++i1)
        for (int i0 = 0; i0 < n[0]; ++i0) {
          // memory order of the source: dimension 1, 0, 3, 2
          want.push_back(d[z(((i2 % a[2] * a[3] + i3 % a[3]) * a[0] + i0 % a[0]) * a[1] + i1 % a[1])]);
        }
  Run run(name, "a_rows.metal", function);
  run.value(0, g).buffer(1, x).fresh(2, want.size() * sizeof(T)).expect_equal(2, f, want);
  run.dispatch_threadgroups({u(n[1]), u(n[2]), u(n[3])}, {8, 1, 1});
  return run;
}

std::vector<Run> rows_runs() {
  return {get_rows("a_get_rows_q4_0", "get_rows_q4_0", Kind::q4_0, 96, 7, 1, 5, 281),
          get_rows("a_get_rows_q5_0", "get_rows_q5_0", Kind::q5_0, 64, 5, 2, 4, 282),
          get_rows("a_get_rows_q8_0", "get_rows_q8_0", Kind::q8_0, 160, 4, 2, 3, 283),
          get_rows("a_get_rows_nl4", "get_rows_nl4", Kind::nl4, 64, 9, 1, 6, 284),
          get_rows("a_get_rows_f32", "get_rows_f32", Kind::f32, 45, 6, 2, 4, 285),
          get_rows("a_get_rows_f16", "get_rows_f16_f32", Kind::f16, 70, 6, 1, 5, 286),
          get_rows("a_get_rows_bf16", "get_rows_bf16_f32", Kind::bf16, 33, 3, 2, 2, 287),
          get_rows("a_get_rows_i32", "get_rows_i32", Kind::i32, 12, 8, 1, 9, 288),
          set_rows<std::int64_t>("a_set_rows_q8_0_i64", "set_rows_q8_0_i64", 192, 6, {4, 0, 3}, 289),
          set_rows<std::int32_t>("a_set_rows_q8_0_i32", "set_rows_q8_0_i32", 64, 5, {1, 4}, 290),
          concat<float>("a_concat_f32_dim0", "concat_f32", Format::f32, 0, {9, 3, 2, 2}, {4, 3, 2, 2}, {0, 1, 2, 3}, 291),
          concat<std::uint16_t>("a_concat_f16_dim1", "concat_f16", Format::f16, 1, {11, 2, 3, 1}, {11, 4, 3, 1}, {1, 0, 2, 3}, 292),
          concat<std::int64_t>("a_concat_i64_dim2", "concat_i64", Format::i64, 2, {3, 4, 1, 2}, {3, 4, 2, 2}, {3, 2, 1, 0}, 293),
          concat<std::uint8_t>("a_concat_u8_dim3", "concat_u8", Format::u8, 3, {5, 2, 2, 2}, {5, 2, 2, 1}, {2, 0, 1, 3}, 294),
          repeat<float>("a_repeat_f32", "repeat_f32", Format::f32, {5, 2, 3, 1}, {3, 2, 1, 2}, 295),
          repeat<std::int16_t>("a_repeat_i16", "repeat_i16", Format::i16, {4, 3, 1, 2}, {2, 1, 3, 2}, 296),
          repeat<std::uint16_t>("a_repeat_f16", "repeat_f16", Format::f16, {7, 1, 2, 2}, {1, 4, 2, 1}, 297)};
}

const Runs kRows(rows_runs);

}  // namespace
}  // namespace assay::foreign::a::rows
