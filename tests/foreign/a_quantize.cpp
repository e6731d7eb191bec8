// Runs of a_quantize.metal and their expected results. Copies between float rows and rows of quantised blocks, in both directions.
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::quantize {
namespace {

struct CpyArgs {
  std::int32_t ne00, ne01, ne02, reserved;
  std::uint64_t nb01, nb02, nb1, nb2;
};

enum class Kind { q4_0, q4_1, q5_0, q8_0 };

struct Block {
  double d, m;  // scale, minimum
  int code[32];
};

void push16(std::vector<std::uint8_t>& b, std::uint16_t x) {
  b.push_back(static_cast<std::uint8_t>(x & 255)), b.push_back(static_cast<std::uint8_t>(x >> 8));
}

void store(Kind kind, const Block& b, std::vector<std::uint8_t>& out) {
  push16(out, half_bits(static_cast<float>(b.d)));
  if (kind == Kind::q4_1) push16(out, half_bits(static_cast<float>(b.m)));
  if (kind == Kind::q8_0) {
    for (int c : b.code) out.push_back(static_cast<std::uint8_t>(c));
    return;
  }
  if (kind == Kind::q5_0)
    for (int byte = 0; byte < 4; ++byte) {
      int v = 0;
      for (int i = 0; i < 8; ++i) v |= (b.code[8 * byte + i] / 16) << i;
      out.push_back(static_cast<std::uint8_t>(v));
    }
  for (int i = 0; i < 16; ++i) out.push_back(static_cast<std::uint8_t>(b.code[i] % 16 + 16 * (b.code[i + 16] % 16)));
}

double meaning(Kind kind, const Block& b, int i) {
  switch (kind) {
    case Kind::q4_0:
      return b.d * (b.code[i] - 8);
    case Kind::q4_1:
      return b.d * b.code[i] + b.m;
    case Kind::q5_0:
      return b.d * (b.code[i] - 16);
    case Kind::q8_0:
      return b.d * b.code[i];
  }
  return 0;
}

// a block whose scale is a power of two, with the extreme codes in it, so that an encoder has one answer
Block random_block(Kind kind, Rng& rng) {
  Block b{std::ldexp(1.0, rng.below(8) - 6), 0, {}};
  const int levels = kind == Kind::q8_0 ? 255 : kind == Kind::q5_0 ? 32 : 16;
  for (int& c : b.code) c = kind == Kind::q8_0 ? rng.below(levels) - 127 : rng.below(levels);
  const int at = rng.below(32);
  if (kind == Kind::q8_0)
    b.code[at] = rng.below(2) ? 127 : -127;
  else if (kind == Kind::q4_1)
    b.code[at] = 0, b.code[(at + 7) % 32] = 15, b.m = b.d * (rng.below(21) - 10);
  else {
    // the only code of the largest magnitude is 0
    for (int& c : b.code) c = std::max(c, 1);
    b.code[at] = 0;
    if (rng.below(2)) b.d = -b.d;
  }
  return b;
}

Run encode(const char* name, const char* function, Kind kind, int cols, int rows, int mats, std::uint32_t seed) {
  Rng rng(seed);
  std::vector<std::uint8_t> bytes;
  std::vector<float> x;
  for (int i = 0; i < cols / 32 * rows * mats; ++i) {
    const Block b = random_block(kind, rng);
    store(kind, b, bytes);
    for (int j = 0; j < 32; ++j) {
      double v = meaning(kind, b, j);
      // off the grid by less than half a step, except for the extremes that determine the scale
      const bool extreme = kind == Kind::q8_0   ? std::abs(b.code[j]) == 127
                           : kind == Kind::q4_1 ? b.code[j] == 0 || b.code[j] == 15
                                                : b.code[j] == 0;
      if (!extreme) v += b.d * (rng.below(7) - 3) / 8.0;
      x.push_back(static_cast<float>(v));
    }
  }
  const std::size_t row = 4u * static_cast<std::size_t>(cols), out = bytes.size() / static_cast<std::size_t>(rows * mats);
  Run run(name, "a_quantize.metal", function);
  run.value(0, CpyArgs{cols, rows, mats, 0, row, row * static_cast<std::size_t>(rows), out, out * static_cast<std::size_t>(rows)});
  run.buffer(1, x).fresh(2, bytes.size());
  run.dispatch_threadgroups({1, static_cast<std::uint32_t>((rows + 3) / 4), static_cast<std::uint32_t>(mats)}, {8, 4, 1});
  run.expect_equal(2, Format::u8, {bytes.begin(), bytes.end()});
  return run;
}

Run decode(const char* name, const char* function, Kind kind, bool half_out, int cols, int rows, int mats, std::uint32_t seed) {
  Rng rng(seed);
  std::vector<std::uint8_t> bytes;
  std::vector<double> want, tol;
  for (int i = 0; i < cols / 32 * rows * mats; ++i) {
    Block b = random_block(kind, rng);
    b.d = half_value(half_bits(rng.uniform(0.01f, 3.0f)));  // any scale
    b.m = half_value(half_bits(rng.uniform(-3.0f, 3.0f)));
    store(kind, b, bytes);
    for (int j = 0; j < 32; ++j) {
      const double v = meaning(kind, b, j);
      want.push_back(v);
      const double mag = std::fabs(v) + (kind == Kind::q4_1 ? std::fabs(b.m) : 0);
      tol.push_back(mag * 0x1p-22 + (half_out ? std::fabs(v) * 0x1p-11 + 0x1p-25 : 0));
    }
  }
  const std::size_t row = bytes.size() / static_cast<std::size_t>(rows * mats), out = static_cast<std::size_t>(cols) * (half_out ? 2 : 4);
  Run run(name, "a_quantize.metal", function);
  run.value(0, CpyArgs{cols, rows, mats, 0, row, row * static_cast<std::size_t>(rows), out, out * static_cast<std::size_t>(rows)});
  run.buffer(1, bytes).fresh(2, out * static_cast<std::size_t>(rows * mats));
  run.dispatch_threads({static_cast<std::uint32_t>(cols), static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(mats)}, {64, 2, 1});
  run.expect(2, half_out ? Format::f16 : Format::f32, want, tol);
  return run;
}

Run affine_encode(const char* name, const char* type, bool h, int bits, int groups, std::uint32_t seed) {
  Rng rng(seed);
  std::vector<float> x;
  std::vector<double> words, scales, biases;
  const int bins = (1 << bits) - 1, per_word = 32 / bits;
  for (int g = 0; g < groups; ++g) {
    const double scale = std::ldexp(1.0, rng.below(4) - 5), bias = scale * (rng.below(41) - 20);
    std::vector<int> code;
    for (int i = 0; i < 32; ++i) code.push_back(rng.below(bins + 1));
    code[5] = 0, code[18] = bins;
    for (int i = 0; i < 32; i += per_word) {
      std::uint64_t w = 0;
      for (int j = 0; j < per_word; ++j) w += static_cast<std::uint64_t>(code[static_cast<std::size_t>(i + j)]) << (bits * j);
      words.push_back(static_cast<double>(w));
    }
    for (int c : code)
      x.push_back(static_cast<float>(bias + scale * (c + (c == 0 || c == bins || bits == 8 ? 0.0 : (rng.below(3) - 1) / 4.0))));
    scales.push_back(scale), biases.push_back(bias);
  }
  Run run(name, "a_quantize.metal", std::string("affine_quantize_") + type + "_b_" + std::to_string(bits));
  if (h)
    run.buffer(0, to_half(x));
  else
    run.buffer(0, x);
  const std::size_t e = h ? 2 : 4;
  run.fresh(1, words.size() * 4).fresh(2, scales.size() * e).fresh(3, biases.size() * e);
  run.dispatch_threads({32, static_cast<std::uint32_t>(groups), 1}, {32, 2, 1});
  const Format f = h ? Format::f16 : Format::f32;
  // (max - min) / bins of a division that is exact, in float to within a rounding
  std::vector<double> tol;
  for (double s : scales) tol.push_back(s * (h ? 0x1p-11 : 0x1p-22));
  run.expect_equal(1, Format::u32, words).expect(2, f, scales, tol).expect_equal(3, f, biases);
  return run;
}

Run affine_decode(const char* name, const char* type, bool h, int bits, int groups, std::uint32_t seed) {
  Rng rng(seed);
  const int per_word = 32 / bits;
  std::vector<std::uint32_t> words;
  std::vector<double> want, tol;
  const std::vector<float> sf = floats(rng, static_cast<std::size_t>(groups), 0.01f, 0.2f),
                           bf = floats(rng, static_cast<std::size_t>(groups), -2, 2);
  const std::vector<double> s = h ? from_half(to_half(sf)) : from_float(sf), b = h ? from_half(to_half(bf)) : from_float(bf);
  for (int i = 0; i < groups * 32 / per_word; ++i) {
    words.push_back(rng.engine());
    const auto g = static_cast<std::size_t>(i * per_word / 32);
    for (int j = 0; j < per_word; ++j) {
      const double p = s[g] * static_cast<double>((words.back() >> (bits * j)) & ((1u << bits) - 1));
      want.push_back(p + b[g]);
      tol.push_back((std::fabs(p) + std::fabs(p + b[g])) * (h ? 0x1p-11 : 0x1p-24) * 1.01 + (h ? 0x1p-24 : 0));
    }
  }
  Run run(name, "a_quantize.metal", std::string("affine_dequantize_") + type + "_b_" + std::to_string(bits));
  run.buffer(0, words);
  if (h)
    run.buffer(1, to_half(sf)).buffer(2, to_half(bf));
  else
    run.buffer(1, sf).buffer(2, bf);
  run.fresh(3, want.size() * (h ? 2 : 4)).expect(3, h ? Format::f16 : Format::f32, want, tol);
  run.dispatch_threads({static_cast<std::uint32_t>(words.size()), 1, 1}, {32, 1, 1});
  return run;
}

std::vector<Run> quantize_runs() {
  return {encode("a_cpy_f32_q4_0", "cpy_f32_q4_0", Kind::q4_0, 96, 5, 2, 91),
          encode("a_cpy_f32_q4_1", "cpy_f32_q4_1", Kind::q4_1, 64, 7, 1, 92),
          encode("a_cpy_f32_q5_0", "cpy_f32_q5_0", Kind::q5_0, 320, 3, 1, 93),
          encode("a_cpy_f32_q8_0", "cpy_f32_q8_0", Kind::q8_0, 96, 6, 2, 94),
          decode("a_cpy_q4_0_f32", "cpy_q4_0_f32", Kind::q4_0, false, 96, 3, 2, 95),
          decode("a_cpy_q4_1_f16", "cpy_q4_1_f16", Kind::q4_1, true, 64, 5, 1, 96),
          decode("a_cpy_q5_0_f32", "cpy_q5_0_f32", Kind::q5_0, false, 160, 3, 1, 97),
          decode("a_cpy_q8_0_f16", "cpy_q8_0_f16", Kind::q8_0, true, 96, 2, 2, 98),
          affine_encode("a_affine_quantize_f32_b4", "float32", false, 4, 5, 99),
          affine_encode("a_affine_quantize_f32_b8", "float32", false, 8, 3, 100),
          affine_encode("a_affine_quantize_f16_b2", "float16", true, 2, 4, 101),
          affine_decode("a_affine_dequantize_f32_b4", "float32", false, 4, 5, 102),
          affine_decode("a_affine_dequantize_f16_b8", "float16", true, 8, 6, 103),
          affine_decode("a_affine_dequantize_f32_b2", "float32", false, 2, 3, 104)};
}

const Runs kQuantize(quantize_runs);

}  // namespace
}  // namespace assay::foreign::a::quantize
