// Few-query attention over bf16 caches with heads of 512. One threadgroup answers one query of one head; its simdgroups deal out
// blocks of 32 keys among themselves, and the first of them puts the answers together.

#include <metal_stdlib>
using namespace metal;

struct AttnArgs {
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

constant int  kBlock = 32;
constant int  kQuads = 128;              // of four elements, in a head
constant int  kEach  = kQuads / 32;      // of them, to a lane
constant half kHidden = -32752.0h;       // mask values up to this hide

struct State {
    float  high;
    float  sum;
    float4 out[kEach];
};

static float bias_at(device const half * mask_row, int key, int keys) {
    if (key >= keys) {
        return -INFINITY;
    }
    if (mask_row == nullptr) {
        return 0.0f;
    }
    const half m = mask_row[key];
    return m > kHidden ? float(m) : -INFINITY;
}

kernel void kernel_flash_attn_ext_vec_bf16_dk512_dv512(
        constant AttnArgs  & args  [[buffer(0)]],
        device const char  * q     [[buffer(1)]],
        device const char  * k     [[buffer(2)]],
        device const char  * v     [[buffer(3)]],
        device const char  * mask  [[buffer(4)]],
        device char        * dst   [[buffer(8)]],
        threadgroup half   * shmem [[threadgroup(0)]],
        uint3  gid   [[threadgroup_position_in_grid]],
        ushort l     [[thread_index_in_simdgroup]],
        ushort g     [[simdgroup_index_in_threadgroup]],
        ushort teams [[simdgroups_per_threadgroup]]) {
    const int token = gid.x;
    const int h = gid.y;
    const int b = gid.z;
    const int keys = args.ne11;

    const int share_h = args.ne02 / args.ne_12_2;
    const int share_b = args.ne03 / args.ne_12_3;
    device const char * k_head = k + (h / share_h) * args.nb12 + (b / share_b) * args.nb13;
    device const char * v_head = v + (h / share_h) * args.nb22 + (b / share_b) * args.nb23;

    device const half * mask_row = nullptr;
    if (mask != q) {
        mask_row = (device const half *)(mask + token * args.nb31 + (h % args.ne32) * args.nb32 + (b % args.ne33) * args.nb33);
    }

    // Everyone keeps the rounded query in registers; threadgroup memory is for the merge.
    device const float4 * asked = (device const float4 *)(q + token * args.nb01 + h * args.nb02 + b * args.nb03);
    float4 query[kEach];
    for (int c = 0; c < kEach; ++c) {
        query[c] = float4(bfloat4(asked[l + 32 * c]));
    }

    State mine;
    mine.high = -FLT_MAX / 2;
    mine.sum = 0.0f;
    for (int c = 0; c < kEach; ++c) {
        mine.out[c] = float4(0.0f);
    }

    for (int from = g * kBlock; from < keys; from += teams * kBlock) {
        const float bias = bias_at(mask_row, from + l, keys);
        if (simd_max(bias) == -INFINITY) {
            continue;
        }

        const int here = min(kBlock, keys - from);

        float score = -INFINITY;
        for (int j = 0; j < here; ++j) {
            device const bfloat4 * key = (device const bfloat4 *)(k_head + (from + j) * args.nb11);
            float d = 0.0f;
            for (int c = 0; c < kEach; ++c) {
                d += dot(float4(key[l + 32 * c]), query[c]);
            }
            d = simd_sum(d);
            if (j == l) {
                score = d * args.scale + bias;
            }
        }

        const float high = simd_max(max(mine.high, score));
        const float keep = exp(mine.high - high);
        const float weight = exp(score - high);
        mine.high = high;
        mine.sum = mine.sum * keep + simd_sum(weight);
        for (int c = 0; c < kEach; ++c) {
            mine.out[c] *= keep;
        }

        for (int j = 0; j < here; ++j) {
            device const bfloat4 * value = (device const bfloat4 *)(v_head + (from + j) * args.nb21);
            const float p = simd_shuffle(weight, ushort(j));
            for (int c = 0; c < kEach; ++c) {
                mine.out[c] += float4(value[l + 32 * c]) * p;
            }
        }
    }

    // Behind the first KiB: two floats of every team (64 reserved), then every team's output.
    threadgroup float2  * stats = (threadgroup float2 *)(shmem + 512);
    threadgroup bfloat4 * outs  = (threadgroup bfloat4 *)(shmem + 512 + teams * 128);
    if (l == 0) {
        stats[g] = float2(mine.high, mine.sum);
    }
    for (int c = 0; c < kEach; ++c) {
        outs[g * kQuads + l + 32 * c] = bfloat4(mine.out[c]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    if (g != 0) {
        return;
    }

    float high = -FLT_MAX / 2;
    for (ushort t = 0; t < teams; ++t) {
        high = max(high, stats[t].x);
    }
    float sum = 0.0f;
    float4 whole[kEach];
    for (int c = 0; c < kEach; ++c) {
        whole[c] = float4(0.0f);
    }
    for (ushort t = 0; t < teams; ++t) {
        const float f = exp(stats[t].x - high);
        sum += stats[t].y * f;
        for (int c = 0; c < kEach; ++c) {
            whole[c] += float4(outs[t * kQuads + l + 32 * c]) * f;
        }
    }

    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
    device bfloat4 * answer = (device bfloat4 *)dst + ((ulong(b) * args.ne2 + h) * args.ne1 + token) * kQuads;
    for (int c = 0; c < kEach; ++c) {
        answer[l + 32 * c] = bfloat4(whole[c] * inverse);
    }
}
