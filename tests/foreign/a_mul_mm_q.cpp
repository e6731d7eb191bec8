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

struct MmArgs {
  std::int32_t K, M, N, ne02, ne12, pad;
  std::uint64_t nb01, nb02, nb11, nb12;
};
static_assert(sizeof(MmArgs) == 56);

Run make(const char* name, const char* function, Kind kind, bool half_tiles, int M, int N, int K, int mats, int ratio, std::uint32_t seed) {
  Rng rng(seed);
  const Matrix a = random_matrix(kind, static_cast<std::size_t>(mats * M * K), rng);
  const Matrix b = random_matrix(Kind::f32, static_cast<std::size_t>(mats * ratio * N * K), rng);
  const std::size_t row = a.bytes.size() / static_cast<std::size_t>(mats * M);
  const std::size_t K4 = 4u * static_cast<std::size_t>(K);
  const MmArgs args{K, M, N, mats, mats * ratio, 0, row, row * static_cast<std::size_t>(M), K4, K4 * static_cast<std::size_t>(N)};
  Run run(name, "a_mul_mm_q.metal", function);
  run.value(0, args).buffer(1, a.bytes).buffer(2, b.bytes);
  std::vector<double> want, tol;
  for (int m = 0; m < mats * ratio; ++m)
    for (int n = 0; n < N; ++n)
      for (int r = 0; r < M; ++r) {
        double dot = 0, mag = 0;
        for (int k = 0; k < K; ++k) {
          const double p =
              a.values[static_cast<std::size_t>((m / ratio * M + r) * K + k)] * b.values[static_cast<std::size_t>((m * N + n) * K + k)];
          dot += p, mag += std::fabs(p);
        }
        want.push_back(dot);
        // both factors are rounded to the type of the tiles
        tol.push_back(mag * ((half_tiles ? 2 * 0x1p-11 + 0x1p-20 : 0x1p-22) + (K + 4) * 0x1p-24) + 1e-5);
      }
  run.fresh(3, want.size() * 4).expect(3, Format::f32, want, tol).threadgroup(0, 8192);
  run.dispatch_threadgroups(
      {static_cast<std::uint32_t>((N + 31) / 32), static_cast<std::uint32_t>((M + 31) / 32), static_cast<std::uint32_t>(mats * ratio)},
      {128, 1, 1});
  return run;
}

Run frag(const char* name, const char* function, Kind kind, bool relu, float p, int M, int N, int K, std::uint32_t seed) {
  Rng rng(seed);
  const Matrix a = random_matrix(kind, static_cast<std::size_t>(M * K), rng), b = random_matrix(kind, static_cast<std::size_t>(K * N), rng);
  const std::vector<float> bias = floats(rng, static_cast<std::size_t>(N), -1, 1);
  Run run(name, "a_mul_mm_q.metal", function);
  run.buffer(0, a.bytes).buffer(1, b.bytes).buffer(2, bias).value(4, std::array<std::int32_t, 4>{M, N, K, 0}).value(5, p);
  std::vector<double> want, tol;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      double dot = 0, mag = 0;
      for (int k = 0; k < K; ++k) {
        const double v = a.values[static_cast<std::size_t>(m * K + k)] * b.values[static_cast<std::size_t>(k * N + n)];
        dot += v, mag += std::fabs(v);
      }
      const double c = static_cast<double>(bias[static_cast<std::size_t>(n)]);
      const double x = relu ? (dot + c > 0 ? dot + c : static_cast<double>(p) * (dot + c)) : static_cast<double>(p) * dot + c;
      want.push_back(x), tol.push_back((K + 4) * 0x1p-23 * (mag + 1) * std::max(1.0, std::fabs(static_cast<double>(p))));
    }
  run.fresh(3, want.size() * 4).expect(3, Format::f32, want, tol);
  run.dispatch_threadgroups({static_cast<std::uint32_t>(N / 8), static_cast<std::uint32_t>(M / 8), 1}, {32, 1, 1});
  return run;
}

std::vector<Run> mm_runs() {
  return {make("a_mul_mm_f32", "mul_mm_f32_f32", Kind::f32, false, 37, 33, 64, 1, 1, 71),
          make("a_mul_mm_f16", "mul_mm_f16_f32", Kind::f16, true, 32, 32, 96, 1, 2, 72),
          make("a_mul_mm_q4_0", "mul_mm_q4_0_f32", Kind::q4_0, true, 40, 7, 64, 1, 1, 73),
          make("a_mul_mm_q4_1", "mul_mm_q4_1_f32", Kind::q4_1, true, 64, 32, 32, 1, 1, 74),
          make("a_mul_mm_q5_0", "mul_mm_q5_0_f32", Kind::q5_0, true, 5, 40, 96, 2, 1, 75),
          make("a_mul_mm_q8_0", "mul_mm_q8_0_f32", Kind::q8_0, true, 33, 32, 64, 1, 1, 76),
          make("a_mul_mm_q8_0_full", "mul_mm_q8_0_full", Kind::q8_0, false, 32, 35, 64, 1, 1, 77),
          make("a_mul_mm_s6", "mul_mm_s6_f32", Kind::s6, true, 20, 20, 256, 1, 1, 78),
          frag("a_gemm_frag_f32_relu", "gemm_frag_f32_relu", Kind::f32, true, 0.125f, 16, 24, 40, 79),
          frag("a_gemm_frag_f16_relu", "gemm_frag_f16_relu", Kind::f16, true, 0.0f, 8, 16, 24, 80),
          frag("a_gemm_frag_bf16_scale", "gemm_frag_bf16_scale", Kind::bf16, false, -1.5f, 16, 8, 16, 81)};
}

const Runs kMm(mm_runs);

}  // namespace
}  // namespace assay::foreign
