// A few queries attend to bf16 keys and values of dimension 512. A threadgroup has one query of one head; its simdgroups ("teams")
// share out the keys in lots of 32. All lanes of a team work on one key at a time, each on four of its 128 quads, and keep their part of
// the output in registers. In the end every team lays its output down in bf16, and the teams are joined two by two.

#include <metal_stdlib>

using namespace metal;

constant constexpr int kKeys  = 32;   // of a lot, and lanes of a team
constant constexpr int kQuads = 128;  // of a row
constant constexpr int kMine  = kQuads / kKeys;

struct DenseArgs {
    int   ne01;
    int   ne02;
    int   ne03;
    ulong nb01;
    ulong nb02;
    ulong nb03;
    int   ne11;
    int   ne_12_2;
    int   ne_12_3;
    int   ns10;
    ulong nb11;
    ulong nb12;
    ulong nb13;
    int   ns20;
    ulong nb21;
    ulong nb22;
    ulong nb23;
    int   ne31;
    int   ne32;
    int   ne33;
    ulong nb31;
    ulong nb32;
    ulong nb33;
    int   ne1;
    int   ne2;
    int   ne3;
    float scale;
    float max_bias;
    float m0;
    float m1;
    int   n_head_log2;
    float logit_softcap;
};

// What the mask adds to the score of a key; keys that are hidden or not there get -infinity.
static inline float bias_of(device const half * row, bool masked, int key, int keys) {
    if (key >= keys) {
        return -INFINITY;
    }
    if (!masked) {
        return 0.0f;
    }
    const float bias = row[key];
    return bias <= -32752.0f ? -INFINITY : bias;
}

kernel void kernel_flash_attn_ext_vec_bf16_dk512_dv512(
        constant DenseArgs  & args  [[buffer(0)]],
        device const char   * q     [[buffer(1)]],
        device const char   * k     [[buffer(2)]],
        device const char   * v     [[buffer(3)]],
        device const char   * mask  [[buffer(4)]],
        device       char   * dst   [[buffer(8)]],
        threadgroup  half   * shmem [[threadgroup(0)]],
        uint3  where [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]],
        ushort team  [[simdgroup_index_in_threadgroup]],
        ushort teams [[simdgroups_per_threadgroup]]) {
    const int token = where.x;
    const int head  = where.y;
    const int batch = where.z;
    const int keys  = args.ne11;

    // Threadgroup memory: the query | 32 pairs a team, of which the first is used: denominator, maximum | a row in bf16 a team
    threadgroup bfloat4 * query = (threadgroup bfloat4 *) shmem;
    threadgroup float2  * mine  = (threadgroup float2 *) (query + kQuads) + team * kKeys;
    threadgroup bfloat4 * own   = (threadgroup bfloat4 *) ((threadgroup float2 *) (query + kQuads) + teams * kKeys) + team * kQuads;

    if (team == 0) {
        device const float4 * given = (device const float4 *) (q + batch * args.nb03 + head * args.nb02 + token * args.nb01);
        for (short c = 0; c < kMine; ++c) {
            query[c * kKeys + lane] = bfloat4(given[c * kKeys + lane]);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float4 asked[kMine];
    float4 output[kMine];
    for (short c = 0; c < kMine; ++c) {
        asked[c]  = float4(query[c * kKeys + lane]);
        output[c] = float4(0.0f);
    }

    const int shared_by  = args.ne02 / args.ne_12_2;
    const int batches_by = args.ne03 / args.ne_12_3;
    device const char * k_head = k + (batch / batches_by) * args.nb13 + (head / shared_by) * args.nb12;
    device const char * v_head = v + (batch / batches_by) * args.nb23 + (head / shared_by) * args.nb22;

    const bool masked = q != mask;
    device const half * m_row =
        (device const half *) (mask + (batch % args.ne33) * args.nb33 + (head % args.ne32) * args.nb32 + token * args.nb31);

    float sum = 0.0f;
    float top = -FLT_MAX / 2;

    const int lots = (keys + kKeys - 1) / kKeys;
    for (int lot = team; lot < lots; lot += teams) {
        const int first = lot * kKeys;
        const int count = min(keys - first, kKeys);
        const float bias = bias_of(m_row, masked, first + lane, keys);
        if (simd_max(bias) == -INFINITY) {
            continue;
        }

        float score = 0.0f;
        for (int t = 0; t < count; ++t) {
            device const bfloat4 * key = (device const bfloat4 *) (k_head + (first + t) * args.nb11);
            float product = 0.0f;
            for (short c = 0; c < kMine; ++c) {
                product += dot(float4(key[c * kKeys + lane]), asked[c]);
            }
            product = simd_sum(product);
            score   = t == lane ? product : score;
        }
        score = score * args.scale + bias;

        const float higher = max(top, simd_max(score));
        const float decay  = exp(top - higher);
        const float share  = exp(score - higher);
        top = higher;
        sum = sum * decay + simd_sum(share);

        for (short c = 0; c < kMine; ++c) {
            output[c] *= decay;
        }
        for (int t = 0; t < count; ++t) {
            device const bfloat4 * value = (device const bfloat4 *) (v_head + (first + t) * args.nb21);
            const float weight = simd_shuffle(share, ushort(t));
            for (short c = 0; c < kMine; ++c) {
                output[c] += float4(value[c * kKeys + lane]) * weight;
            }
        }
    }

    for (short c = 0; c < kMine; ++c) {
        own[c * kKeys + lane] = bfloat4(output[c]);
    }
    if (lane == 0) {
        mine[0] = float2(sum, top);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (ushort distance = teams / 2; distance > 0; distance /= 2) {
        if (team < distance) {
            const float2 left  = mine[0];
            const float2 right = mine[distance * kKeys];
            const float top = max(left.y, right.y);

            const float a = exp(left.y - top);
            const float b = exp(right.y - top);
            for (short c = 0; c < kMine; ++c) {
                const int quad = c * kKeys + lane;
                own[quad] = bfloat4(float4(own[quad]) * a + float4(own[quad + distance * kQuads]) * b);
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            if (lane == 0) {
                mine[0] = float2(left.x * a + right.x * b, top);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    if (team > 0) {
        return;
    }

    const float total = mine[0].x;
    const float inverse = total == 0.0f ? 0.0f : 1.0f / total;
    device bfloat4 * row = (device bfloat4 *) dst + kQuads * (token + args.ne1 * (head + args.ne2 * ulong(batch)));
    for (short c = 0; c < kMine; ++c) {
        row[c * kKeys + lane] = bfloat4(float4(own[c * kKeys + lane]) * inverse);
    }
}
