// The faulty twins of tq4_v1 alone.
#include "tests/faults/twins.h"

namespace assay::tests {
namespace tq4_faults {
namespace {

using harness::Status;

bool in_upper_half(const FaultyElement& e) { return e.coordinate >= 256; }

// Only of tq4_v1, which differs here from the other kernels for decode attention (decode_twins.cpp).
constexpr Twin kTwins[] = {
    // What is stored.
    {"nibbles_swapped",
     "in the upper half of a row the odd coordinate is taken from the low nibble",
     "centroids(v[lane + SIMD_WIDTH * i]) * w",
     "(i < 2 ? centroids(v[lane + SIMD_WIDTH * i]) : centroids(v[lane + SIMD_WIDTH * i]).yxwz) * w",
     {"d512/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s12", Status::failed, {"coordinates from 256 on", in_upper_half}},
     {"d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s12"}},
    {"other_codebook",
     "keys are decoded by a uniform quantiser",
     "centroids(k[lane + SIMD_WIDTH * i]) * sn",
     "((float4(ushort4(k[lane + SIMD_WIDTH * i]) >> ushort4(0, 4, 8, 12) & ushort4(0xF)) - 7.5f) * 0.335f) * sn",
     {"d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s12"},
     {"d256/h1x1/kv33c33/ring0/nomask/nwg1/uniform/s12"}},
    {"norm_of_the_key",
     "with a head dimension of 512 values take the norms of keys",
     "v_norms[first + t] * norm_scale",
     "(D == 512 ? k_norms[first + t] : v_norms[first + t]) * norm_scale",
     {"d512/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s12"},
     {"d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s12"}},
    {"key_not_normalised",
     "1/sqrt(D) is missing in the keys",
     "k_norms[first + t] * norm_scale",
     "k_norms[first + t]",
     {"d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s13"},
     {"d256/h1x1/kv1c1/ring0/nomask/nwg1/gauss/s13"}},
    {"tiny_norm_dropped",
     "norms under 1e-30 count as 0",
     "v_norms[first + t] * norm_scale",
     "(v_norms[first + t] < 1e-30f ? 0.0f : v_norms[first + t]) * norm_scale",
     {"d256/h1x1/kv33c33/ring0/nomask/nwg1/tiny/s13"},
     {"d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s13"}},

    {"room_forgotten",
     "heads of the cache are taken to be kv_len slots apart",
     R"(    device const ushort * k_row   = (device const ushort *) (K_packed + kv_head * cap * (D / 2));
    device const ushort * v_row   = (device const ushort *) (V_packed + kv_head * cap * (D / 2));
    device const float  * k_norms = K_norms + kv_head * cap;
    device const float  * v_norms = V_norms + kv_head * cap;
)",
     R"(    device const ushort * k_row   = (device const ushort *) (K_packed + kv_head * n * (D / 2));
    device const ushort * v_row   = (device const ushort *) (V_packed + kv_head * n * (D / 2));
    device const float  * k_norms = K_norms + kv_head * n;
    device const float  * v_norms = V_norms + kv_head * n;
)",
     {"d256/h2x2/kv33c64/ring0/nomask/nwg1/gauss/s13"},
     {"d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s13"}},

    // How the output is computed.
    {"ties_away_from_zero",
     "the query is rounded to half with ties away from zero",
     "half4(q4[lane + SIMD_WIDTH * i])",
     "half4(as_type<float4>((as_type<uint4>(q4[lane + SIMD_WIDTH * i]) + 0x1000u) & 0xffffe000u))",
     {"d256/h4x2/kv33c33/ring0/nomask/nwg1/query_ties/s1"},
     {"d256/h4x2/kv33c33/ring0/nomask/nwg1/gauss/s1"}},
    {"query_not_rounded",
     "the query stays float",
     "float4(sq4[lane + SIMD_WIDTH * i])",
     "q4[lane + SIMD_WIDTH * i]",
     {"d256/h1x1/kv64c64/ring0/nomask/nwg1/half_edge/s14"},
     {"d256/h1x1/kv1c1/ring0/nomask/nwg1/half_edge/s14"}},

    {"entry_of_keys_off",
     "entry 9 of the codebook is 1e-5 too large, in keys alone and as code, so that no table shows it",
     "dot(centroids(k[lane + SIMD_WIDTH * i]) * sn, mq[i])",
     "dot(select(centroids(k[lane + SIMD_WIDTH * i]), centroids(k[lane + SIMD_WIDTH * i]) * 1.00001f, "
     "centroids(k[lane + SIMD_WIDTH * i]) == kCodebook[9]) * sn, mq[i])",
     {"d256/h8x8/kv32c32/ring0/nomask/nwg1/one_hot/s1"},
     {"d256/h8x8/kv32c32/ring0/nomask/nwg1/gauss/s1"}},

    // What is written.
    {"input_written",
     "a norm is overwritten when the ring has turned",
     "const float norm_scale = rsqrt(float(D));",
     "const float norm_scale = rsqrt(float(D)); if (params.ring_start != 0 && lane == 0) ((device float *) K_norms)[kv_head * cap] *= "
     "0.5f;",
     {"d256/h1x1/kv33c33/ring1/nomask/nwg1/gauss/s19", Status::failed, {}, "wrote to its input K_norms"},
     {"d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s19"}},

    // Mistakes that only special data reveal.
    {"query_rounded_after_the_scale",
     "the scale is multiplied into the query, which is rounded to half a second time",
     "mq[i] = float4(sq4[lane + SIMD_WIDTH * i]);",
     "mq[i] = float4(half4(float4(sq4[lane + SIMD_WIDTH * i]) * params.scale)) / params.scale;",
     {"d512/h2x1/kv33c33/ring0/nomask/nwg1/scaled_edge/s1"},
     {"d256/h2x1/kv33c33/ring0/nomask/nwg1/scaled_edge/s1"}},
};

}  // namespace
}  // namespace tq4_faults

std::span<const Twin> tq4_twins() { return tq4_faults::kTwins; }

}  // namespace assay::tests
