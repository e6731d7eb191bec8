// Runs of a_kv_cache.metal and their expected results. Maintenance of a paged cache: scatter by slot mapping, block copies, gather, and an
// 8-bit float storage format.
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::kv_cache {
namespace {

double e4m3_value(int code) {
  const int e = (code >> 3) & 15, m = code & 7;
  const double mag = e == 0 ? std::ldexp(m, -9) : std::ldexp(8 + m, e - 10);
  return code & 128 ? -mag : mag;
}

// the nearest of all finite codes, to the even one if two are as near
int e4m3_code(double x) {
  const int sign = std::signbit(x) ? 128 : 0;
  int best = 0;
  double distance = 1e300;
  for (int code = 0; code < 127; ++code) {
    const double d = std::fabs(e4m3_value(code) - std::fabs(x));
    if (d < distance || (d == distance && code % 2 == 0)) best = code, distance = d;
  }
  return best | sign;
}

struct CacheParams {
  std::int32_t key_stride, value_stride, num_heads, head_size, block_size, x;
};
struct GatherParams {
  CacheParams c;
  std::int32_t num_tokens;
  float scale;
};

enum class Kind { f32, f16, bf16, u8 };

Run reshape(const char* name, const char* function, Kind kv, Kind cache, std::uint32_t seed) {
  Rng rng(seed);
  const CacheParams p{30, 24, 3, 8, 4, 4};
  const int blocks = 5;
  const std::vector<std::int64_t> slots = {7, -1, 0, 19, 3, 12, -1, 8};
  const float k_scale = 0.5f, v_scale = 0.25f;  // powers of two: the division is exact
  const int n = p.num_heads * p.head_size, tokens = static_cast<int>(slots.size());
  std::vector<float> key = floats(rng, static_cast<std::size_t>(tokens * p.key_stride), -9, 9);
  std::vector<float> value = floats(rng, static_cast<std::size_t>(tokens * p.value_stride), -0.02f, 0.02f);
  value[5] = 300.0f, value[70] = -1000.0f;
  Run run(name, "a_kv_cache.metal", function);
  std::vector<double> dk, dv;
  if (kv == Kind::f32) run.buffer(0, key).buffer(1, value), dk = from_float(key), dv = from_float(value);
  if (kv == Kind::f16) run.buffer(0, to_half(key)).buffer(1, to_half(value)), dk = from_half(to_half(key)), dv = from_half(to_half(value));
  if (kv == Kind::bf16)
    run.buffer(0, to_bfloat(key)).buffer(1, to_bfloat(value)), dk = from_bfloat(to_bfloat(key)), dv = from_bfloat(to_bfloat(value));
  const std::size_t size = static_cast<std::size_t>(blocks * n * p.block_size);
  const std::size_t elem = cache == Kind::f32 ? 4 : cache == Kind::u8 ? 1 : 2;
  std::vector<double> kc(size, 0.0), vc(size, 0.0);  // the caches start as zeros
  for (int t = 0; t < tokens; ++t) {
    const std::int64_t s = slots[static_cast<std::size_t>(t)];
    if (s < 0) continue;
    for (int h = 0; h < p.num_heads; ++h)
      for (int e = 0; e < p.head_size; ++e) {
        const auto at_k =
            static_cast<std::size_t>((((s / 4 * p.num_heads + h) * (p.head_size / p.x) + e / p.x) * p.block_size + s % 4) * p.x + e % p.x);
        const auto at_v = static_cast<std::size_t>(((s / 4 * p.num_heads + h) * p.head_size + e) * p.block_size + s % 4);
        const double a = dk[static_cast<std::size_t>(t * p.key_stride + h * p.head_size + e)],
                     b = dv[static_cast<std::size_t>(t * p.value_stride + h * p.head_size + e)];
        kc[at_k] = cache == Kind::u8 ? e4m3_code(a / 0.5) : a;
        vc[at_v] = cache == Kind::u8 ? e4m3_code(b / 0.25) : b;
      }
  }
  const Format f = cache == Kind::f32 ? Format::f32 : cache == Kind::f16 ? Format::f16 : cache == Kind::bf16 ? Format::bf16 : Format::u8;
  run.buffer(2, std::vector<std::uint8_t>(size * elem)).buffer(3, std::vector<std::uint8_t>(size * elem));
  run.buffer(4, slots).value(5, p).value(6, k_scale).value(7, v_scale);
  run.dispatch_threadgroups({static_cast<std::uint32_t>(tokens), 1, 1}, {16, 1, 1});
  run.expect_equal(2, f, kc).expect_equal(3, f, vc);
  return run;
}

Run copies() {
  Rng rng(45);
  const int numel = 50, blocks = 6;
  std::vector<std::uint16_t> k, v;
  for (int i = 0; i < numel * blocks; ++i)
    k.push_back(half_bits(static_cast<float>(rng.below(2000)))), v.push_back(half_bits(static_cast<float>(-rng.below(2000))));
  std::vector<double> wk = from_half(k), wv = from_half(v);
  const std::vector<std::int64_t> map = {0, 3, 2, 5, 0, 4};
  const std::vector<double> ok = wk, ov = wv;
  for (std::size_t i = 0; i < map.size(); i += 2)
    for (int e = 0; e < numel; ++e) {
      const auto from = static_cast<std::size_t>(map[i] * numel + e), to = static_cast<std::size_t>(map[i + 1] * numel + e);
      wk[to] = ok[from], wv[to] = ov[from];
    }
  Run run("a_copy_blocks_f16", "a_kv_cache.metal", "copy_blocks_f16");
  run.buffer(0, k).buffer(1, v).buffer(2, map).buffer(3, std::vector<std::int32_t>{numel});
  run.dispatch_threadgroups({3, 1, 1}, {32, 1, 1}).expect_equal(0, Format::f16, wk).expect_equal(1, Format::f16, wv);
  return run;
}

Run gather(const char* name, const char* function, bool coded, bool half_out) {
  Rng rng(46);
  const GatherParams p{{0, 0, 2, 12, 8, 4}, 19, 0.125f};
  const int blocks = 6;
  const std::vector<std::uint32_t> table = {4, 0, 5};
  const int size = blocks * 2 * 12 * 8;
  Run run(name, "a_kv_cache.metal", function);
  std::vector<double> cache;
  if (coded) {
    std::vector<std::uint8_t> c;
    for (int i = 0; i < size; ++i) {
      int code = rng.below(256);
      if ((code & 127) == 127) code -= 1;
      c.push_back(static_cast<std::uint8_t>(code));
      cache.push_back(e4m3_value(code) * 0.125);
    }
    run.buffer(0, c);
  } else {
    const std::vector<float> c = floats(rng, static_cast<std::size_t>(size), -1, 1);
    run.buffer(0, c), cache = from_float(c);
  }
  std::vector<double> want;
  for (int t = 0; t < 19; ++t)
    for (int h = 0; h < 2; ++h)
      for (int e = 0; e < 12; ++e) {
        const int b = static_cast<int>(table[static_cast<std::size_t>(t / 8)]);
        want.push_back(cache[static_cast<std::size_t>((((b * 2 + h) * 3 + e / 4) * 8 + t % 8) * 4 + e % 4)]);
      }
  run.fresh(1, want.size() * (half_out ? 2 : 4)).buffer(2, table).value(3, p);
  run.dispatch_threads({12, 2, 19}, {4, 2, 4}).expect_equal(1, half_out ? Format::f16 : Format::f32, want);
  return run;
}

std::vector<Run> cache_runs() {
  std::vector<Run> runs = {reshape("a_reshape_cache_f32", "reshape_and_cache_kv_f32_cache_f32", Kind::f32, Kind::f32, 41),
                           reshape("a_reshape_cache_bf16", "reshape_and_cache_kv_bf16_cache_bf16", Kind::bf16, Kind::bf16, 42),
                           reshape("a_reshape_cache_f32_fp8", "reshape_and_cache_kv_f32_cache_u8", Kind::f32, Kind::u8, 43),
                           reshape("a_reshape_cache_f16_fp8", "reshape_and_cache_kv_f16_cache_u8", Kind::f16, Kind::u8, 44),
                           copies(),
                           gather("a_gather_keys_f32", "gather_keys_f32", false, false),
                           gather("a_gather_keys_fp8_f16", "gather_keys_u8_f16", true, true)};
  {
    Rng rng(47);
    std::vector<float> x = floats(rng, 301, -5, 5);
    x[277] = -6.75f;
    Run run("a_fp8_absmax", "a_kv_cache.metal", "fp8_absmax");
    run.buffer(0, x).buffer(1, std::vector<std::uint32_t>{0}).value(2, std::uint32_t{301}).dispatch_threadgroups({3, 1, 1}, {64, 1, 1});
    run.expect_equal(1, Format::f32, {6.75});
    runs.push_back(run);
  }
  {
    Rng rng(48);
    std::vector<float> x;
    for (int i = 0; i < 77; ++i) x.push_back(std::ldexp(rng.uniform(-2, 2), rng.below(18) - 10));
    x[3] = 0.0f, x[4] = 448.0f, x[5] = -1e6f, x[6] = 0x1p-10f, x[7] = 0x1.8p-9f, x[8] = 18.0f * 1.0625f, x[76] = -0.0078125f;
    std::vector<double> codes, back(77);
    for (float v : x) codes.push_back(e4m3_code(static_cast<double>(v)));
    for (int i = 0; i < 77; ++i) {
      const int other = std::min(76, (i / 32) * 32 + ((i % 32) ^ 1));
      back[static_cast<std::size_t>(i)] = e4m3_value(static_cast<int>(codes[static_cast<std::size_t>(other)]));
    }
    Run run("a_fp8_roundtrip", "a_kv_cache.metal", "fp8_roundtrip");
    run.buffer(0, x).fresh(1, 77 * 4).fresh(2, 77).value(3, std::uint32_t{77}).dispatch_threadgroups({3, 1, 1}, {32, 1, 1});
    run.expect_equal(1, Format::f32, back).expect_equal(2, Format::u8, codes);
    runs.push_back(run);
  }
  return runs;
}

const Runs kCache(cache_runs);

}  // namespace
}  // namespace assay::foreign::a::kv_cache
