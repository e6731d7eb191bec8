// SIMD-group and quad-group functions, lane by lane. Divergence and reconvergence are tested elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/conformance/rows.h"

namespace assay::tests::simd_test {
namespace {

constexpr std::size_t kLanes = 32;

float as_float(std::uint32_t word) { return std::bit_cast<float>(word); }

Words ramp() {
  Words words(kLanes);
  for (std::size_t l = 0; l < kLanes; ++l) words[l] = static_cast<std::uint32_t>(l * 7 + 3);
  return words;
}

// Floats whose sums depend on the order in which they are added.
Words rough_floats() {
  Words words(kLanes);
  for (std::size_t l = 0; l < kLanes; ++l) words[l] = f(std::sin(static_cast<float>(l) * 1.7F) * std::exp2(static_cast<float>(l % 11)));
  return words;
}

Words small_floats() {
  Words words(kLanes);
  for (std::size_t l = 0; l < kLanes; ++l) words[l] = f(l % 3 == 0 ? 1.25F : l % 3 == 1 ? -0.5F : 2.0F);
  return words;
}

// `combine` of all inputs of the lane's group, in the runtime's documented order: xor strides 1, 2, 4 ... (METAL_RUNTIME.md 2).
template <typename Combine>
std::function<Words(const Words&)> butterfly(std::size_t width, Combine combine) {
  return [=](const Words& in) {
    Words values = in;
    for (std::size_t stride = 1; stride < width; stride *= 2) {
      Words next(kLanes);
      for (std::size_t l = 0; l < kLanes; ++l) next[l] = combine(values[l], values[l ^ stride]);
      values = next;
    }
    return values;
  };
}

std::uint32_t add_floats(std::uint32_t x, std::uint32_t y) { return f(as_float(x) + as_float(y)); }
std::uint32_t add(std::uint32_t x, std::uint32_t y) { return x + y; }
std::uint32_t multiply(std::uint32_t x, std::uint32_t y) { return x * y; }
std::uint32_t lower(std::uint32_t x, std::uint32_t y) { return std::min(x, y); }
std::uint32_t higher(std::uint32_t x, std::uint32_t y) { return std::max(x, y); }
std::uint32_t lower_signed(std::uint32_t x, std::uint32_t y) { return n(std::min(static_cast<int>(x), static_cast<int>(y))); }

// Lane l receives the input of source(l); a negative source keeps the lane's own.
std::function<Words(const Words&)> moved(std::function<int(int)> source) {
  return [source = std::move(source)](const Words& in) {
    Words out(kLanes);
    for (int l = 0; l < static_cast<int>(kLanes); ++l) {
      const int from = source(l);
      out[static_cast<std::size_t>(l)] = in[static_cast<std::size_t>(from < 0 ? l : from)];
    }
    return out;
  };
}

template <typename Combine>
std::function<Words(const Words&)> prefix(std::size_t width, bool inclusive, std::uint32_t identity, Combine combine) {
  return [=](const Words& in) {
    Words out(kLanes);
    for (std::size_t l = 0; l < kLanes; ++l) {
      std::uint32_t sum = identity;
      for (std::size_t k = l / width * width; k < l + (inclusive ? 1 : 0); ++k) sum = combine(sum, in[k]);
      out[l] = sum;
    }
    return out;
  };
}

std::function<Words(const Words&)> everywhere(std::uint32_t value) {
  return [value](const Words&) { return Words(kLanes, value); };
}

const char* const kOrder = "METAL_RUNTIME.md 2 (butterfly order), evaluated in the test";
const char* const kGroup = "MSL 6.9.2, SIMD-group functions";
const char* const kQuad = "MSL 6.9.3, quad-group functions";

TEST(SimdGroup, Reductions) {
  Words negatives = ramp();
  for (std::size_t l = 0; l < kLanes; l += 3) negatives[l] = n(-static_cast<int>(l) - 1);
  Words ones(kLanes, 1);
  ones[5] = 3;
  ones[30] = 7;
  Words with_nan = rough_floats();
  with_nan[4] = with_nan[31] = 0x7fc00000;
  const auto max_number = [](const Words& in) {
    float best = -INFINITY;
    for (const auto word : in) best = std::fmax(best, as_float(word));
    return Words(kLanes, f(best));
  };
  const auto min_number = [](const Words& in) {
    float best = INFINITY;
    for (const auto word : in) best = std::fmin(best, as_float(word));
    return Words(kLanes, f(best));
  };
  const auto half_sum = [](const Words& in) {
    std::array<Eigen::half, kLanes> values;
    for (std::size_t l = 0; l < kLanes; ++l) values[l] = Eigen::half(as_float(in[l]));
    for (std::size_t stride = 1; stride < kLanes; stride *= 2) {
      auto next = values;
      for (std::size_t l = 0; l < kLanes; ++l) next[l] = values[l] + values[l ^ stride];
      values = next;
    }
    Words out(kLanes);
    for (std::size_t l = 0; l < kLanes; ++l) out[l] = h(static_cast<float>(values[l]));
    return out;
  };
  check_lane_rows(
      "simd reductions",
      {
          {"simd_sum(float), in order", kOrder, "PUT(lane, simd_sum(F(lane)));", rough_floats(), butterfly(32, add_floats)},
          {"simd_sum(uint)", kGroup, "o[lane] = simd_sum(U(lane));", ramp(), butterfly(32, add)},
          {"simd_sum(int)", kGroup, "o[lane] = uint(simd_sum(I(lane)));", negatives, butterfly(32, add)},
          {"simd_sum(uchar) wraps at 8 bits", kGroup, "o[lane] = simd_sum(uchar(U(lane)));", ramp(),
           [](const Words& in) {
             std::uint32_t sum = 0;
             for (const auto word : in) sum += word;
             return Words(kLanes, sum & 0xff);
           }},
          {"simd_sum(short) is signed", kGroup, "o[lane] = uint(int(simd_sum(short(I(lane)))));", Words(kLanes, n(-300)),
           everywhere(n(-9600))},
          {"simd_sum(half) rounds each step", kEigen, "PUTH(lane, simd_sum(half(F(lane))));", rough_floats(), half_sum},
          {"simd_sum(float4)", kOrder, "PUT(lane, simd_sum(float4(0, F(lane), 1, 2)).y);", rough_floats(), butterfly(32, add_floats)},
          {"simd_sum(uint3), last component", kGroup, "o[lane] = simd_sum(uint3(0, 0, U(lane))).z;", ramp(), butterfly(32, add)},
          {"simd_product(uint)", kGroup, "o[lane] = simd_product(U(lane));", ones, butterfly(32, multiply)},
          {"simd_product(float)", kHand, "PUT(lane, simd_product(F(lane)));", small_floats(),
           [](const Words& in) {
             double product = 1;
             for (const auto word : in) product *= as_float(word);
             return Words(kLanes, f(static_cast<float>(product)));
           }},
          {"simd_max(float) skips NaN", kGroup, "PUT(lane, simd_max(F(lane)));", with_nan, max_number},
          {"simd_min(float) skips NaN", kGroup, "PUT(lane, simd_min(F(lane)));", with_nan, min_number},
          {"simd_min(int)", kGroup, "o[lane] = uint(simd_min(I(lane)));", negatives, butterfly(32, lower_signed)},
          {"simd_max(uint)", kGroup, "o[lane] = simd_max(U(lane));", negatives, butterfly(32, higher)},
          {"simd_and, simd_or, simd_xor", kGroup, "o[lane] = simd_and(U(lane) | 1u) + (simd_or(U(lane)) << 8) + (simd_xor(U(lane)) << 16);",
           ramp(),
           [](const Words& in) {
             std::uint32_t all = ~0U, any = 0, parity = 0;
             for (const auto word : in) {
               all &= word | 1U;
               any |= word;
               parity ^= word;
             }
             return Words(kLanes, all + (any << 8) + (parity << 16));
           }},
          {"simd_prefix_inclusive_sum(uint)", kGroup, "o[lane] = simd_prefix_inclusive_sum(U(lane));", ramp(), prefix(32, true, 0, add)},
          {"simd_prefix_exclusive_sum(uint)", kGroup, "o[lane] = simd_prefix_exclusive_sum(U(lane));", ramp(), prefix(32, false, 0, add)},
          {"simd_prefix_exclusive_sum(ushort)", kGroup, "o[lane] = simd_prefix_exclusive_sum(ushort(U(lane)));", ramp(),
           prefix(32, false, 0, add)},
          {"simd_prefix_inclusive_product(uint)", kGroup, "o[lane] = simd_prefix_inclusive_product(U(lane));", ones,
           prefix(32, true, 1, multiply)},
          {"simd_prefix_exclusive_product(float)", kHand, "PUT(lane, simd_prefix_exclusive_product(F(lane)));", Words(kLanes, f(2)),
           [](const Words&) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) out[l] = f(std::exp2(static_cast<float>(l)));
             return out;
           }},
      });
}

TEST(SimdGroup, Shuffles) {
  check_lane_rows(
      "simd shuffles",
      {
          {"simd_broadcast", kGroup, "PUT(lane, simd_broadcast(F(lane), 13));", ramp(), moved([](int) { return 13; })},
          {"simd_broadcast(half3)", kGroup, "half3 v = simd_broadcast(half3(0, 0, half(U(lane))), 2); o[lane] = uint(v.z);", ramp(),
           moved([](int) { return 2; })},
          {"simd_broadcast_first", kGroup, "o[lane] = simd_broadcast_first(U(lane));", ramp(), moved([](int) { return 0; })},
          {"simd_shuffle by a lane-dependent index", kGroup, "o[lane] = simd_shuffle(U(lane), ushort(31 - lane));", ramp(),
           moved([](int l) { return 31 - l; })},
          {"simd_shuffle_xor", kGroup, "PUT(lane, simd_shuffle_xor(F(lane), 5));", ramp(), moved([](int l) { return l ^ 5; })},
          {"simd_shuffle_up keeps lanes below delta", "MSL 6.9.2; the lanes below delta: METAL_RUNTIME.md 2",
           "o[lane] = simd_shuffle_up(U(lane), 3);", ramp(), moved([](int l) { return l < 3 ? -1 : l - 3; })},
          {"simd_shuffle_down keeps lanes past the end", "MSL 6.9.2; the lanes past the end: METAL_RUNTIME.md 2",
           "o[lane] = simd_shuffle_down(U(lane), 16);", ramp(), moved([](int l) { return l >= 16 ? -1 : l + 16; })},
          {"simd_shuffle_rotate_up", kGroup, "o[lane] = simd_shuffle_rotate_up(U(lane), 5);", ramp(),
           moved([](int l) { return (l + 27) % 32; })},
          {"simd_shuffle_rotate_down", kGroup, "o[lane] = simd_shuffle_rotate_down(U(lane), 5);", ramp(),
           moved([](int l) { return (l + 5) % 32; })},
          {"simd_shuffle_and_fill_up takes from the filling's upper lanes", kGroup,
           "o[lane] = simd_shuffle_and_fill_up(U(lane), U(lane) + 1000, 4);", ramp(),
           [](const Words& in) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) out[l] = l < 4 ? in[28 + l] + 1000 : in[l - 4];
             return out;
           }},
          {"simd_shuffle_and_fill_down takes from the filling's lower lanes", kGroup,
           "o[lane] = simd_shuffle_and_fill_down(U(lane), U(lane) + 1000, 4);", ramp(),
           [](const Words& in) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) out[l] = l >= 28 ? in[l - 28] + 1000 : in[l + 4];
             return out;
           }},
          {"simd_shuffle_and_fill_down with a modulo", "MSL 6.9.2: the SIMD-group is split into runs of modulo lanes",
           "o[lane] = simd_shuffle_and_fill_down(U(lane), U(lane) + 1000, 2, 8);", ramp(),
           [](const Words& in) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) out[l] = l % 8 >= 6 ? in[l - 6] + 1000 : in[l + 2];
             return out;
           }},
          {"simd_shuffle_and_fill_up with a modulo", "MSL 6.9.2", "o[lane] = simd_shuffle_and_fill_up(U(lane), U(lane) + 1000, 2, 8);",
           ramp(),
           [](const Words& in) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) out[l] = l % 8 < 2 ? in[l + 6] + 1000 : in[l - 2];
             return out;
           }},
          {"a shuffle of uchar4 moves 4 bytes", kGroup, "o[lane] = as_type<uint>(simd_shuffle_xor(as_type<uchar4>(U(lane)), 1));", ramp(),
           moved([](int l) { return l ^ 1; })},
          {"a shuffle of char", kGroup, "o[lane] = uint(int(simd_shuffle_xor(char(I(lane)), 1)));", Words(kLanes, n(-5)),
           everywhere(n(-5))},
          {"a user's 64-bit shuffle through two words", "census fact 5",
           "ulong v = simd_shuffle_down(ulong(U(lane)) << 20, ushort(1)); o[lane] = uint(v >> 20);", ramp(),
           moved([](int l) { return l == 31 ? -1 : l + 1; })},
          {"a tree reduction by simd_shuffle_down", kHand,
           "float v = F(lane); for (ushort d = 16; d > 0; d /= 2) v += simd_shuffle_down(v, d); PUT(lane, lane == 0 ? v : 0.0f);",
           rough_floats(),
           [](const Words& in) {
             std::array<float, 64> v{};
             for (std::size_t l = 0; l < kLanes; ++l) v[l] = as_float(in[l]);
             for (std::size_t d = 16; d > 0; d /= 2)
               for (std::size_t l = 0; l < d; ++l) v[l] += v[l + d];
             Words out(kLanes, 0);
             out[0] = f(v[0]);
             return out;
           }},
      },
      "ulong simd_shuffle_down(ulong v, ushort d) { return as_type<ulong>(metal::simd_shuffle_down(as_type<uint2>(v), d)); }");
}

TEST(SimdGroup, Votes) {
  check_lane_rows(
      "simd votes",
      {
          {"simd_ballot", kGroup, "o[lane] = uint(ulong(simd_ballot((U(lane) & 1) != 0)));", ramp(),
           [](const Words& in) {
             std::uint32_t mask = 0;
             for (std::size_t l = 0; l < kLanes; ++l) mask |= (in[l] & 1U) << l;
             return Words(kLanes, mask);
           }},
          {"simd_vote: all, any, &, |, ^, ~", kGroup,
           "simd_vote a = simd_ballot(lane < 8), c = simd_ballot(lane >= 8); o[lane] = uint(a.any()) | uint(a.all()) << 1 | uint((a | "
           "c).all()) << 2 | uint((a & c).any()) << "
           "3 | uint((a ^ c).all()) << 4 | uint((~a).any()) << 5;",
           ramp(), everywhere(0b110101)},
          {"simd_all", kGroup, "o[lane] = simd_all(U(lane) > 2) + 2 * simd_all(U(lane) > 3);", ramp(), everywhere(1)},
          {"simd_any", kGroup, "o[lane] = simd_any(U(lane) == 10) + 2 * simd_any(U(lane) == 11);", ramp(), everywhere(1)},
          {"barriers with every kind of flags", "MSL 6.9.1",
           "threadgroup uint t[32]; t[lane] = U(lane); threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device); uint v = "
           "t[31 - lane]; "
           "simdgroup_barrier(mem_flags::mem_none); threadgroup_barrier(mem_flags(3)); t[lane] = v + 1; "
           "simdgroup_barrier(mem_flags::mem_threadgroup); o[lane] = t[lane ^ 1];",
           ramp(),
           [](const Words& in) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) out[l] = in[31 - (l ^ 1)] + 1;
             return out;
           }},
          {"simd_is_first", kGroup, "o[lane] = simd_is_first();", ramp(),
           [](const Words&) {
             Words out(kLanes, 0);
             out[0] = 1;
             return out;
           }},
          {"simd_active_threads_mask", kGroup, "o[lane] = uint(ulong(simd_active_threads_mask()));", ramp(), everywhere(0xffffffff)},
          {"in a branch only its lanes count", "MSL 6.9.2: active threads",
           "uint v = 0; if (lane % 4 == 1) { v = simd_sum(U(lane)) + 1000 * simd_is_first() + 10000 * "
           "uint(popcount(ulong(simd_active_threads_mask()))); } o[lane] = v;",
           ramp(),
           [](const Words& in) {
             std::uint32_t sum = 0;
             for (std::size_t l = 1; l < kLanes; l += 4) sum += in[l];
             Words out(kLanes, 0);
             for (std::size_t l = 1; l < kLanes; l += 4) out[l] = sum + (l == 1 ? 1000 : 0) + 80000;
             return out;
           }},
      });
}

TEST(QuadGroup, All) {
  check_lane_rows(
      "quad functions",
      {
          {"quad_sum(float)", kOrder, "PUT(lane, quad_sum(F(lane)));", rough_floats(), butterfly(4, add_floats)},
          {"quad_max(uint)", kQuad, "o[lane] = quad_max(U(lane));", ramp(), butterfly(4, higher)},
          {"quad_min(uint)", kQuad, "o[lane] = quad_min(U(lane));", ramp(), butterfly(4, lower)},
          {"quad_product(uint)", kQuad, "o[lane] = quad_product(U(lane));", ramp(), butterfly(4, multiply)},
          {"quad_and, quad_or, quad_xor", kQuad, "o[lane] = (quad_and(U(lane)) | quad_or(U(lane)) << 10) ^ quad_xor(U(lane)) << 20;",
           ramp(),
           [](const Words& in) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) {
               const std::size_t q = l / 4 * 4;
               const auto all = in[q] & in[q + 1] & in[q + 2] & in[q + 3], any = in[q] | in[q + 1] | in[q + 2] | in[q + 3];
               const auto parity = in[q] ^ in[q + 1] ^ in[q + 2] ^ in[q + 3];
               out[l] = (all | any << 10) ^ parity << 20;
             }
             return out;
           }},
          {"quad_broadcast", kQuad, "o[lane] = quad_broadcast(U(lane), 2);", ramp(), moved([](int l) { return l / 4 * 4 + 2; })},
          {"quad_broadcast_first", kQuad, "o[lane] = quad_broadcast_first(U(lane));", ramp(), moved([](int l) { return l / 4 * 4; })},
          {"quad_shuffle", kQuad, "o[lane] = quad_shuffle(U(lane), ushort(3 - lane % 4));", ramp(),
           moved([](int l) { return l / 4 * 4 + 3 - l % 4; })},
          {"quad_shuffle_xor", kQuad, "o[lane] = quad_shuffle_xor(U(lane), 1);", ramp(), moved([](int l) { return l ^ 1; })},
          {"quad_shuffle_up", kQuad, "o[lane] = quad_shuffle_up(U(lane), 1);", ramp(),
           moved([](int l) { return l % 4 == 0 ? -1 : l - 1; })},
          {"quad_shuffle_down", kQuad, "o[lane] = quad_shuffle_down(U(lane), 2);", ramp(),
           moved([](int l) { return l % 4 >= 2 ? -1 : l + 2; })},
          {"quad_shuffle_rotate_up, _down", kQuad,
           "o[lane] = quad_shuffle_rotate_down(U(lane), 1) + 1000 * quad_shuffle_rotate_up(U(lane), 1);", ramp(),
           [](const Words& in) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) out[l] = in[l / 4 * 4 + (l + 1) % 4] + 1000 * in[l / 4 * 4 + (l + 3) % 4];
             return out;
           }},
          {"quad_shuffle_and_fill_up", kQuad, "o[lane] = quad_shuffle_and_fill_up(U(lane), U(lane) + 1000, 1);", ramp(),
           [](const Words& in) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) out[l] = l % 4 == 0 ? in[l + 3] + 1000 : in[l - 1];
             return out;
           }},
          {"quad_shuffle_and_fill_down", kQuad, "o[lane] = quad_shuffle_and_fill_down(U(lane), U(lane) + 1000, 1);", ramp(),
           [](const Words& in) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) out[l] = l % 4 == 3 ? in[l - 3] + 1000 : in[l + 1];
             return out;
           }},
          {"quad_prefix_inclusive_sum, _exclusive_sum", kQuad,
           "o[lane] = quad_prefix_inclusive_sum(U(lane)) - quad_prefix_exclusive_sum(U(lane));", ramp(), moved([](int) { return -1; })},
          {"quad_prefix_exclusive_sum", kQuad, "o[lane] = quad_prefix_exclusive_sum(U(lane));", ramp(), prefix(4, false, 0, add)},
          {"quad_prefix_inclusive_product", kQuad, "o[lane] = quad_prefix_inclusive_product(U(lane));", ramp(),
           prefix(4, true, 1, multiply)},
          {"quad_ballot counts from the quad's first lane", kQuad, "o[lane] = uint(ulong(quad_ballot(lane % 3 == 0)));", ramp(),
           [](const Words&) {
             Words out(kLanes, 0);
             for (std::size_t l = 0; l < kLanes; ++l)
               for (std::size_t k = 0; k < 4; ++k) out[l] |= ((l / 4 * 4 + k) % 3 == 0 ? 1U : 0U) << k;
             return out;
           }},
          {"quad_all, quad_any, quad_is_first", kQuad, "o[lane] = quad_all(lane < 10) + 2 * quad_any(lane < 10) + 4 * quad_is_first();",
           ramp(),
           [](const Words&) {
             Words out(kLanes);
             for (std::size_t l = 0; l < kLanes; ++l) out[l] = (l < 8 ? 1U : 0U) + (l < 12 ? 2U : 0U) + (l % 4 == 0 ? 4U : 0U);
             return out;
           }},
      });
}

}  // namespace
}  // namespace assay::tests::simd_test
