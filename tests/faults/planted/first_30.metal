// Token generation over the nibble cache. The grid's z counts the workgroups among which a head's blocks of 32 cache slots are dealt out.

#include <metal_stdlib>
using namespace metal;

enum Masking : uint { kEverything = 0, kCausal = 1, kWindow = 2 };

struct Args {
    uint  n_heads;
    uint  n_kv_heads;
    uint  head_dim;
    uint  kv_seq_len;
    uint  kv_capacity;
    float scale;
    uint  mask_type;
    uint  sliding_window;
    float softcap;
    uint  nwg;
    uint  ring_start;
};

constant float nibble_value[16] = {
    -2.7325896f, -2.0690172f, -1.6180464f, -1.2562312f, -0.9423405f, -0.6567591f, -0.3880483f, -0.1283950f,
    0.1283950f,  0.3880483f,  0.6567591f,  0.9423405f,  1.2562312f,  1.6180464f,  2.0690172f,  2.7325896f,
};

static float4 unpack(uchar2 two) {
    float4 r;
    r.x = nibble_value[two.x & 15];
    r.y = nibble_value[two.x >> 4];
    r.z = nibble_value[two.y & 15];
    r.w = nibble_value[two.y >> 4];
    return r;
}

// The newest of n positions asks. Slots are a ring that starts with the oldest position at ring_start.
static bool attends(constant Args & a, uint slot) {
    if (slot >= a.kv_seq_len) {
        return false;
    }
    uint position = slot + a.kv_capacity - a.ring_start;
    if (position >= a.kv_capacity) {
        position -= a.kv_capacity;
    }
    const uint newest = a.kv_seq_len - 1;
    switch (a.mask_type) {
        case kCausal:
            return position <= newest;
        case kWindow:
            return position <= newest && (a.sliding_window == 0 || newest - position < a.sliding_window);
        default:
            return position <= newest;
    }
}

struct Softmax {
    float top;
    float total;

    // Takes one score per lane, gives the lane's weight, and what was summed so far is to be multiplied with.
    float2 take(float score) {
        const float before = top;
        top = simd_max(max(before, score));
        const float fade = exp(before - top);
        const float weight = exp(score - top);
        total = total * fade + simd_sum(weight);
        return float2(weight, fade);
    }
};

template <int N>
kernel void generate(
        constant Args      & params   [[buffer(0)]],
        device const float * Q        [[buffer(1)]],
        device const uchar * K_packed [[buffer(2)]],
        device const float * K_norms  [[buffer(3)]],
        device const uchar * V_packed [[buffer(4)]],
        device const float * V_norms  [[buffer(5)]],
        device float       * dst      [[buffer(6)]],
        threadgroup half   * shmem    [[threadgroup(0)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint  thread_id [[thread_index_in_simdgroup]]) {
    constexpr int PER = N / 128;

    const uint splits = params.nwg;
    const uint out_row = group.x * params.n_heads + group.y;
    const uint cache_row = group.y * params.n_kv_heads / params.n_heads * params.kv_capacity;

    float4 q[PER];
    for (int c = 0; c < PER; ++c) {
        const uint at = c * 32 + thread_id;
        q[c] = float4(half4(((device const float4 *)Q)[out_row * (N / 4) + at]));
    }

    float4 acc[PER];
    for (int c = 0; c < PER; ++c) {
        acc[c] = float4(0.0f);
    }

    Softmax softmax;
    softmax.total = 0.0f;
    softmax.top = -FLT_MAX / 2;

    const float unit = rsqrt(float(N));

    for (uint origin = group.z * 32; origin < params.kv_seq_len; origin += splits * 32) {
        const bool mine = attends(params, origin + thread_id);
        if (simd_all(!mine)) {
            continue;
        }
        const uint stop = min(origin + 32, params.kv_seq_len);

        float dotted = 0.0f;
        for (uint slot = origin; slot < stop; ++slot) {
            device const uchar2 * codes = (device const uchar2 *)K_packed + (cache_row + slot) * (N / 4);
            const float length = K_norms[cache_row + slot] * unit;
            float s = 0.0f;
            for (int c = 0; c < PER; ++c) {
                s += dot(unpack(codes[c * 32 + thread_id]) * length, q[c]);
            }
            s = simd_sum(s);
            if (slot - origin == thread_id) {
                dotted = s;
            }
        }

        const float2 step = softmax.take(fma(dotted, params.scale, mine ? 0.0f : -65504.0f));

        float4 part[PER];
        for (int c = 0; c < PER; ++c) {
            part[c] = float4(0.0f);
        }
        for (uint slot = origin; slot < stop; ++slot) {
            device const uchar2 * codes = (device const uchar2 *)V_packed + (cache_row + slot) * (N / 4);
            const float length = V_norms[cache_row + slot] * unit;
            const float weight = simd_shuffle(step.x, ushort(slot - origin)) * length;
            for (int c = 0; c < PER; ++c) {
                part[c] += unpack(codes[c * 32 + thread_id]) * weight;
            }
        }
        for (int c = 0; c < PER; ++c) {
            acc[c] = acc[c] * step.y + part[c];
        }
    }

    device float4 * out = (device float4 *)dst;
    if (splits == 1) {
        const float inverse = softmax.total == 0.0f ? 0.0f : 1.0f / softmax.total;
        for (int c = 0; c < PER; ++c) {
            out[out_row * (N / 4) + c * 32 + thread_id] = acc[c] * inverse;
        }
        return;
    }
    for (int c = 0; c < PER; ++c) {
        out[(out_row * (N / 4) + c * 32 + thread_id) * splits + group.z] = acc[c];
    }
    device float * pairs = dst + params.n_heads * N * splits + 2 * (out_row * splits + group.z);
    if (thread_id == 0) {
        pairs[0] = softmax.total;
        pairs[1] = softmax.top;
    }
}

template [[host_name("flash_attn_vec_tq_dk256")]] kernel decltype(generate<256>) generate<256>;
template [[host_name("flash_attn_vec_tq_dk512")]] kernel decltype(generate<512>) generate<512>;
