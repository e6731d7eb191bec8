#include "tests/foreign/foreign.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace assay::foreign {
namespace {

struct Rng {
  std::mt19937 engine;
  explicit Rng(std::uint32_t seed) : engine(seed) {}
  float uniform(float lo, float hi) { return lo + (hi - lo) * (static_cast<float>(engine() >> 8) * 0x1p-24f); }
  int below(int n) { return static_cast<int>(engine() % static_cast<std::uint32_t>(n)); }
};

[[maybe_unused]] std::vector<float> floats(Rng& rng, std::size_t n, float lo, float hi) {
  std::vector<float> x(n);
  for (float& v : x) v = rng.uniform(lo, hi);
  return x;
}
[[maybe_unused]] std::vector<std::uint16_t> to_half(const std::vector<float>& x) {
  std::vector<std::uint16_t> y;
  for (float v : x) y.push_back(half_bits(v));
  return y;
}
[[maybe_unused]] std::vector<std::uint16_t> to_bfloat(const std::vector<float>& x) {
  std::vector<std::uint16_t> y;
  for (float v : x) y.push_back(bfloat_bits(v));
  return y;
}
[[maybe_unused]] std::vector<double> from_float(const std::vector<float>& x) { return {x.begin(), x.end()}; }
[[maybe_unused]] std::vector<double> from_half(const std::vector<std::uint16_t>& x) {
  std::vector<double> y;
  for (std::uint16_t v : x) y.push_back(half_value(v));
  return y;
}
[[maybe_unused]] std::vector<double> from_bfloat(const std::vector<std::uint16_t>& x) {
  std::vector<double> y;
  for (std::uint16_t v : x) y.push_back(bfloat_value(v));
  return y;
}

enum class Kind { q4_0, q4_1, q5_0, q8_0, s4, s6, f32, f16, bf16 };

struct Matrix {
  std::vector<std::uint8_t> bytes;
  std::vector<double> values;
};

[[maybe_unused]] void push16(std::vector<std::uint8_t>& b, std::uint16_t x) {
  b.push_back(static_cast<std::uint8_t>(x & 255)), b.push_back(static_cast<std::uint8_t>(x >> 8));
}

// n values (a multiple of the block) of random codes, and what they mean
[[maybe_unused]] Matrix random_matrix(Kind kind, std::size_t n, Rng& rng) {
  Matrix m;
  const auto block32 = [&](int bits, bool has_min, bool high) {
    const std::uint16_t d = half_bits(rng.uniform(0.01f, 0.1f)), mn = half_bits(rng.uniform(-0.5f, 0.1f));
    int code[32];
    for (int& c : code) c = rng.below(1 << bits);
    push16(m.bytes, d);
    if (has_min) push16(m.bytes, mn);
    if (high) {
      std::uint32_t qh = 0;
      for (int i = 0; i < 32; ++i) qh |= static_cast<std::uint32_t>(code[i] >> 4) << i;
      for (int i = 0; i < 4; ++i) m.bytes.push_back(static_cast<std::uint8_t>(qh >> (8 * i)));
    }
    for (int i = 0; i < 16; ++i) m.bytes.push_back(static_cast<std::uint8_t>((code[i] & 15) | (code[i + 16] & 15) << 4));
    for (int c : code)
      m.values.push_back(has_min ? static_cast<double>(half_value(d)) * c + static_cast<double>(half_value(mn))
                                 : static_cast<double>(half_value(d)) * (c - (1 << (bits - 1))));
  };
  while (m.values.size() < n) {
    switch (kind) {
      case Kind::q4_0:
        block32(4, false, false);
        break;
      case Kind::q4_1:
        block32(4, true, false);
        break;
      case Kind::q5_0:
        block32(5, false, true);
        break;
      case Kind::q8_0: {
        const std::uint16_t d = half_bits(rng.uniform(0.002f, 0.01f));
        push16(m.bytes, d);
        for (int i = 0; i < 32; ++i) {
          const int c = rng.below(256) - 128;
          m.bytes.push_back(static_cast<std::uint8_t>(c));
          m.values.push_back(static_cast<double>(half_value(d)) * c);
        }
        break;
      }
      case Kind::s4: {
        const std::uint16_t d = half_bits(rng.uniform(0.001f, 0.004f)), dmin = half_bits(rng.uniform(0.001f, 0.01f));
        push16(m.bytes, d), push16(m.bytes, dmin);
        int six[16], code[256];
        for (int& s : six) s = rng.below(64);
        for (int& c : code) c = rng.below(16);
        std::uint8_t packed[12] = {};
        for (int bit = 0; bit < 96; ++bit)
          if (six[bit / 6] >> (bit % 6) & 1) packed[bit / 8] = static_cast<std::uint8_t>(packed[bit / 8] | 1 << (bit % 8));
        for (std::uint8_t p : packed) m.bytes.push_back(p);
        for (int pair = 0; pair < 4; ++pair)
          for (int i = 0; i < 32; ++i) m.bytes.push_back(static_cast<std::uint8_t>(code[64 * pair + i] | code[64 * pair + 32 + i] << 4));
        for (int e = 0; e < 256; ++e)
          m.values.push_back(static_cast<double>(half_value(d)) * six[e / 32] * code[e] -
                             static_cast<double>(half_value(dmin)) * six[8 + e / 32]);
        break;
      }
      case Kind::s6: {
        const std::uint16_t d = half_bits(rng.uniform(0.0002f, 0.001f));
        int code[256], sc[16];
        for (int& c : code) c = rng.below(64);
        for (int& s : sc) s = rng.below(256) - 128;
        for (int i = 0; i < 128; ++i) m.bytes.push_back(static_cast<std::uint8_t>((code[2 * i] & 15) | (code[2 * i + 1] & 15) << 4));
        for (int i = 0; i < 64; ++i) {
          int b = 0;
          for (int k = 0; k < 4; ++k) b |= (code[4 * i + k] >> 4) << (2 * k);
          m.bytes.push_back(static_cast<std::uint8_t>(b));
        }
        for (int s : sc) m.bytes.push_back(static_cast<std::uint8_t>(s));
        push16(m.bytes, d);
        for (int e = 0; e < 256; ++e) m.values.push_back(static_cast<double>(half_value(d)) * sc[e / 16] * (code[e] - 32));
        break;
      }
      case Kind::f32: {
        const float f = rng.uniform(-1, 1);
        std::uint32_t u;
        std::memcpy(&u, &f, 4);
        push16(m.bytes, static_cast<std::uint16_t>(u)), push16(m.bytes, static_cast<std::uint16_t>(u >> 16));
        m.values.push_back(f);
        break;
      }
      case Kind::f16: {
        const std::uint16_t h = half_bits(rng.uniform(-1, 1));
        push16(m.bytes, h), m.values.push_back(half_value(h));
        break;
      }
      case Kind::bf16: {
        const std::uint16_t h = bfloat_bits(rng.uniform(-1, 1));
        push16(m.bytes, h), m.values.push_back(bfloat_value(h));
        break;
      }
    }
  }
  return m;
}

struct MvArgs {
  std::int32_t ne00, ne01, ne02, ne12;
  std::uint64_t nb01, nb02, nb11, nb12;
  std::int32_t ne0, ne1;
  std::int16_t r2, pad[3];
};
static_assert(sizeof(MvArgs) == 64);

Run make(const char* name, const char* function, Kind kind, Kind y_kind, int cols, int rows, int vectors, int mats, int r2,
         int rows_per_simd, int nsg, std::uint32_t seed) {
  Rng rng(seed);
  const Matrix x = random_matrix(kind, static_cast<std::size_t>(mats * rows * cols), rng);
  const Matrix y = random_matrix(y_kind, static_cast<std::size_t>(mats * r2 * vectors * cols), rng);
  const std::size_t row_bytes = x.bytes.size() / static_cast<std::size_t>(mats * rows),
                    y_bytes = y.bytes.size() / static_cast<std::size_t>(mats * r2 * vectors);
  MvArgs args{cols,
              rows,
              mats,
              mats * r2,
              row_bytes,
              row_bytes * static_cast<std::size_t>(rows),
              y_bytes,
              y_bytes * static_cast<std::size_t>(vectors),
              rows,
              vectors,
              static_cast<std::int16_t>(r2),
              {}};
  Run run(name, "a_mul_mv_q.metal", function);
  run.value(0, args).buffer(1, x.bytes).buffer(2, y.bytes);
  std::vector<double> want, tol;
  for (int m = 0; m < mats * r2; ++m)
    for (int v = 0; v < vectors; ++v)
      for (int r = 0; r < rows; ++r) {
        double dot = 0, mag = 0, sum_y = 0;
        for (int k = 0; k < cols; ++k) {
          const double a = x.values[static_cast<std::size_t>((m / r2 * rows + r) * cols + k)],
                       b = y.values[static_cast<std::size_t>((m * vectors + v) * cols + k)];
          dot += a * b, mag += std::fabs(a * b), sum_y += std::fabs(b);
        }
        // the offsets of the format are subtracted at the end: the magnitudes summed are those of code and offset apart
        double largest = 0;
        for (int k = 0; k < cols; ++k)
          largest = std::max(largest, std::fabs(x.values[static_cast<std::size_t>((m / r2 * rows + r) * cols + k)]));
        want.push_back(dot), tol.push_back((cols + 16) * 0x1p-24 * (mag + 4 * largest * sum_y) + 1e-7);
      }
  run.fresh(3, want.size() * 4).expect(3, Format::f32, want, tol);
  const int per_group = rows_per_simd * nsg;
  run.dispatch_threadgroups({static_cast<std::uint32_t>((rows + per_group - 1) / per_group), static_cast<std::uint32_t>(vectors),
                             static_cast<std::uint32_t>(mats * r2)},
                            {32, static_cast<std::uint32_t>(nsg), 1});
  return run;
}

std::vector<Run> mv_runs() {
  return {make("a_mul_mv_q4_0", "mul_mv_q4_0_f32", Kind::q4_0, Kind::f32, 96, 13, 2, 1, 1, 4, 2, 51),
          make("a_mul_mv_q4_0_long", "mul_mv_q4_0_f32", Kind::q4_0, Kind::f32, 32 * 19, 5, 1, 1, 2, 4, 1, 52),
          make("a_mul_mv_q4_1", "mul_mv_q4_1_f32", Kind::q4_1, Kind::f32, 128, 9, 1, 2, 1, 4, 2, 53),
          make("a_mul_mv_q5_0", "mul_mv_q5_0_f32", Kind::q5_0, Kind::f32, 64, 7, 3, 1, 1, 2, 2, 54),
          make("a_mul_mv_q8_0", "mul_mv_q8_0_f32", Kind::q8_0, Kind::f32, 32 * 17, 6, 1, 1, 1, 1, 4, 55),
          make("a_mul_mv_s4_nr1", "mul_mv_s4_f32_nr1", Kind::s4, Kind::f32, 512, 3, 1, 1, 1, 1, 2, 56),
          make("a_mul_mv_s4_nr2", "mul_mv_s4_f32_nr2", Kind::s4, Kind::f32, 256, 5, 2, 1, 2, 2, 2, 57),
          make("a_mul_mv_s6", "mul_mv_s6_f32", Kind::s6, Kind::f32, 512, 5, 1, 1, 1, 1, 2, 58),
          make("a_mul_mv_f32", "mul_mv_f32_f32", Kind::f32, Kind::f32, 140, 5, 2, 1, 1, 1, 4, 59),
          make("a_mul_mv_f16_f16", "mul_mv_f16_f16", Kind::f16, Kind::f16, 52, 9, 1, 2, 2, 1, 2, 60),
          make("a_mul_mv_bf16", "mul_mv_bf16_f32", Kind::bf16, Kind::f32, 72, 4, 1, 1, 1, 1, 4, 61)};
}

const Runs kMv(mv_runs);

}  // namespace
}  // namespace assay::foreign
