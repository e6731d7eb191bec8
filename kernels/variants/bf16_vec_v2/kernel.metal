// bf16_vec_v2: attention of few queries over bf16 keys and values, head dimension 512.
//
// One threadgroup per query and head. Its NSG simdgroups take the chunks of 32 keys in turn, each with an online softmax and an
// output of its own; the outputs are stored in bf16 and merged in pairs. The query comes in float and is rounded to bf16.
//
// Nothing behind the last key is read, neither of keys and values nor of the mask; up to kInvisible a mask hides a key wholly; a
// simdgroup that met no key is merged like any other; and each element of the query is written to threadgroup memory by one lane.

#include <metal_stdlib>

using namespace metal;

#define SIMD_WIDTH 32

constant short kKeys    = 32;   // per chunk
constant short kDim     = 512;  // of a head
constant short kThreads = 16;   // that share a key
constant short kColumns = kDim / 4 / kThreads;  // float4 columns, per thread

// Up to here, an additive mask value means that the key is invisible.
constant float kInvisible = -32752.0f;

struct FlashAttnExtArgs {
    int   ne01;  // queries, query heads, batches
    int   ne02;
    int   ne03;
    ulong nb01;  // byte strides of the query: token, head, batch
    ulong nb02;
    ulong nb03;
    int   ne11;  // keys, key/value heads, batches
    int   ne_12_2;
    int   ne_12_3;
    int   ns10;  // elements between two keys
    ulong nb11;
    ulong nb12;
    ulong nb13;
    int   ns20;  // elements between two values
    ulong nb21;
    ulong nb22;
    ulong nb23;
    int   ne31;  // tokens, heads, batches of the mask
    int   ne32;
    int   ne33;
    ulong nb31;
    ulong nb32;
    ulong nb33;
    int   ne1;  // of the output
    int   ne2;
    int   ne3;
    float scale;
    float max_bias;
    float m0;
    float m1;
    int   n_head_log2;
    float logit_softcap;
};

static_assert(sizeof(FlashAttnExtArgs) == 192, "the host fills these 192 bytes");

kernel void kernel_flash_attn_ext_vec_bf16_dk512_dv512(
        constant FlashAttnExtArgs & args  [[buffer(0)]],
        device const char         * q     [[buffer(1)]],
        device const char         * k     [[buffer(2)]],
        device const char         * v     [[buffer(3)]],
        device const char         * mask  [[buffer(4)]],
        device       char         * dst   [[buffer(8)]],
        threadgroup  half         * shmem [[threadgroup(0)]],
        uint3  tgpig [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]],
        ushort sg    [[simdgroup_index_in_threadgroup]],
        ushort nsg   [[simdgroups_per_threadgroup]]) {
    const int query = tgpig[0];
    const int head  = tgpig[1];
    const int batch = tgpig[2];

    const int kv_head  = head / (args.ne02 / args.ne_12_2);
    const int kv_batch = batch / (args.ne03 / args.ne_12_3);

    const ushort tx = lane % kThreads;
    const ushort ty = lane / kThreads;

    // shmem: the query in bf16 | per simdgroup 32 float scores, 32 float mask | per simdgroup the output in bf16
    threadgroup bfloat4 * sq4 = (threadgroup bfloat4 *) shmem;
    threadgroup float   * ss  = (threadgroup float *) (shmem + kDim) + sg * 2 * kKeys;
    threadgroup float   * sm  = ss + kKeys;
    threadgroup bfloat4 * so4 = (threadgroup bfloat4 *) (shmem + kDim + nsg * 4 * kKeys) + sg * (kDim / 4);

    {
        device const float4 * row = (device const float4 *) (q + args.nb01 * query + args.nb02 * head + args.nb03 * batch);
        for (short i = sg * SIMD_WIDTH + lane; i < kDim / 4; i += nsg * SIMD_WIDTH) {
            sq4[i] = bfloat4(row[i]);
        }
    }

    threadgroup_barrier(mem_flags::mem_threadgroup);

    device const char * k_row = k + args.nb12 * kv_head + args.nb13 * kv_batch;
    device const char * v_row = v + args.nb22 * kv_head + args.nb23 * kv_batch;
    device const half * m_row =
        (device const half *) (mask + args.nb31 * query + args.nb32 * (head % args.ne32) + args.nb33 * (batch % args.ne33));

    const bool has_mask = mask != q;

    float M = -FLT_MAX / 2;
    float S = 0.0f;

    float4 lo[kColumns];
    for (short i = 0; i < kColumns; ++i) {
        lo[i] = float4(0.0f);
    }

    for (int first = sg * kKeys; first < args.ne11; first += nsg * kKeys) {
        float bias = -INFINITY;
        if (first + lane < args.ne11) {
            bias = has_mask ? float(m_row[first + lane]) : 0.0f;
            bias = bias > kInvisible ? bias : -INFINITY;
        }
        sm[lane] = bias;

        if (simd_max(bias) == -INFINITY) {
            continue;
        }

        simdgroup_barrier(mem_flags::mem_threadgroup);

        // Two keys at a time, half of the lanes each.
        for (short c = 0; c < kKeys / 2; ++c) {
            // In place of keys that are not there, the last one: it counts for nothing, and all lanes go the same way.
            const int number = min(first + 2 * c + ty, args.ne11 - 1);
            device const bfloat4 * key = (device const bfloat4 *) (k_row + args.nb11 * number);

            float partial = 0.0f;
            for (short i = 0; i < kColumns; ++i) {
                partial += dot(float4(key[tx + kThreads * i]), float4(sq4[tx + kThreads * i]));
            }
            partial += simd_shuffle_down(partial, 8);
            partial += simd_shuffle_down(partial, 4);
            partial += simd_shuffle_down(partial, 2);
            partial += simd_shuffle_down(partial, 1);

            if (tx == 0) {
                ss[2 * c + ty] = partial * args.scale + sm[2 * c + ty];
            }
        }

        simdgroup_barrier(mem_flags::mem_threadgroup);

        const float m = M;
        const float s = ss[lane];

        M = simd_max(max(M, s));

        const float ms = exp(m - M);
        const float w  = exp(s - M);

        S = S * ms + simd_sum(w);

        ss[lane] = w;

        simdgroup_barrier(mem_flags::mem_threadgroup);

        for (short i = 0; i < kColumns; ++i) {
            lo[i] *= ms;
        }
        for (short c = 0; c < kKeys / 2; ++c) {
            const int number = min(first + 2 * c + ty, args.ne11 - 1);
            device const bfloat4 * value = (device const bfloat4 *) (v_row + args.nb21 * number);

            for (short i = 0; i < kColumns; ++i) {
                lo[i] += float4(value[tx + kThreads * i]) * ss[2 * c + ty];
            }
        }

        simdgroup_barrier(mem_flags::mem_threadgroup);
    }

    for (short i = 0; i < kColumns; ++i) {
        lo[i] += simd_shuffle_down(lo[i], kThreads);
        if (ty == 0) {
            so4[tx + kThreads * i] = bfloat4(lo[i]);
        }
    }
    if (lane == 0) {
        ss[0] = S;
        ss[1] = M;
    }

    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (ushort r = nsg / 2; r > 0; r /= 2) {
        if (sg < r) {
            const float S0 = ss[0];
            const float S1 = ss[r * 2 * kKeys + 0];
            const float M0 = ss[1];
            const float M1 = ss[r * 2 * kKeys + 1];

            const float m  = max(M0, M1);
            const float f0 = exp(M0 - m);
            const float f1 = exp(M1 - m);

            for (short i = lane; i < kDim / 4; i += SIMD_WIDTH) {
                so4[i] = bfloat4(float4(so4[i]) * f0 + float4(so4[i + r * (kDim / 4)]) * f1);
            }

            // All lanes have read what one of them replaces.
            simdgroup_barrier(mem_flags::mem_threadgroup);

            if (lane == 0) {
                ss[0] = S0 * f0 + S1 * f1;
                ss[1] = m;
            }
        }

        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    if (sg == 0) {
        const float total = ss[0];
        const float inv = total == 0.0f ? 0.0f : 1.0f / total;
        device bfloat4 * row = (device bfloat4 *) dst + ((ulong(batch) * args.ne2 + head) * args.ne1 + query) * (kDim / 4);
        for (short i = lane; i < kDim / 4; i += SIMD_WIDTH) {
            row[i] = bfloat4(float4(so4[i]) * inv);
        }
    }
}
