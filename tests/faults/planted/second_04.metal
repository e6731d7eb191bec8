// bf16_prefill_v2: attention of many queries over bf16 keys and values, head dimension 512, and its two helpers.
//
// A threadgroup of eight simdgroups takes a tile of 8 queries through the keys in tiles of 64. Products of queries and keys are
// 8x8 matrices in bf16 accumulated in float, and so is the output. Which tiles matter at all is looked up in `blk`, and
// the last tile, where it is ragged, comes from `pad`.
//
// Only rows of the mask that have a query are read, one half at a time: a row of odd length begins at an odd half. Up to kInvisible a mask
// hides a key wholly.

#include <metal_stdlib>

using namespace metal;

#define SIMD_WIDTH 32

constant short kQueries    = 8;    // per tile
constant short kKeys       = 64;   // per tile
constant short kSimdgroups = 8;
constant short kDim        = 512;  // of a head
constant short kScoreRow   = 128;  // floats between the score rows of two queries: 64 scores, 64 halfs of mask, as much unused

// Up to here, an additive mask value means that the key is invisible.
constant half kInvisible = -32752.0h;

constant bool kPadHasMask [[function_constant(100)]];
constant bool kHasMask    [[function_constant(300)]];
constant bool kHasPadding [[function_constant(304)]];

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

struct FlashAttnExtPadArgs {
    int   ne11;
    int   ne_12_2;
    int   ne_12_3;
    ulong nb11;
    ulong nb12;
    ulong nb13;
    ulong nb21;
    ulong nb22;
    ulong nb23;
    int   ne31;
    int   ne32;
    int   ne33;
    ulong nb31;
    ulong nb32;
    ulong nb33;
};

static_assert(sizeof(FlashAttnExtPadArgs) == 104, "the host fills these 104 bytes");

struct FlashAttnExtBlkArgs {
    int   ne01;
    int   ne30;
    int   ne31;
    int   ne32;
    int   ne33;
    ulong nb31;
    ulong nb32;
    ulong nb33;
};

static_assert(sizeof(FlashAttnExtBlkArgs) == 48, "the host fills these 48 bytes");

// Copies the last, ragged tile of keys, values and mask columns to a place of 64 rows, with zeros (mask: -65504) behind.
//
// pad: keys [B, G, 64] of nb11 bytes | values [B, G, 64] of nb21 bytes | mask [B', H', nq, 64] half
kernel void kernel_flash_attn_ext_pad(
        constant FlashAttnExtPadArgs & args [[buffer(0)]],
        device const char            * k    [[buffer(1)]],
        device const char            * v    [[buffer(2)]],
        device const char            * mask [[buffer(3)]],
        device       char            * dst  [[buffer(4)]],
        uint3  tgpig [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]]) {
    const int row   = tgpig[0];
    const int head  = tgpig[1];
    const int batch = tgpig[2];

    const int first = args.ne11 - args.ne11 % kKeys;  // of the ragged tile
    const bool live = first + row < args.ne11;

    device char * k_pad = dst;
    device char * v_pad = k_pad + args.nb11 * kKeys * args.ne_12_2 * args.ne_12_3;
    device half * m_pad = (device half *) (v_pad + args.nb21 * kKeys * args.ne_12_2 * args.ne_12_3);

    if (head < args.ne_12_2 && batch < args.ne_12_3) {
        device const char * k_row = k + args.nb11 * (first + row) + args.nb12 * head + args.nb13 * batch;
        device const char * v_row = v + args.nb21 * (first + row) + args.nb22 * head + args.nb23 * batch;

        device char * k_out = k_pad + args.nb11 * ((batch * args.ne_12_2 + head) * kKeys + row);
        device char * v_out = v_pad + args.nb21 * ((batch * args.ne_12_2 + head) * kKeys + row);

        for (ulong i = lane; i < args.nb11; i += SIMD_WIDTH) {
            k_out[i] = live ? k_row[i] : 0;
        }
        for (ulong i = lane; i < args.nb21; i += SIMD_WIDTH) {
            v_out[i] = live ? v_row[i] : 0;
        }
    }

    if (kPadHasMask && head < args.ne32 && batch < args.ne33) {
        for (int query = row; query < args.ne31; query += kKeys) {
            device const half * m_row = (device const half *) (mask + args.nb31 * query + args.nb32 * head + args.nb33 * batch);
            device half * m_out = m_pad + ((batch * args.ne32 + head) * args.ne31 + query) * kKeys;

            for (int i = lane; i < kKeys; i += SIMD_WIDTH) {
                m_out[i] = first + i < args.ne11 ? m_row[first + i] : half(-65504.0h);
            }
        }
    }
}

// Says for each tile of 8 queries x 64 keys whether anything in it is visible: 0 no, 1 yes.
kernel void kernel_flash_attn_ext_blk(
        constant FlashAttnExtBlkArgs & args [[buffer(0)]],
        device const char            * mask [[buffer(1)]],
        device       char            * dst  [[buffer(2)]],
        uint3  tgpig [[threadgroup_position_in_grid]],
        uint3  tgs   [[threadgroups_per_grid]],
        ushort lane  [[thread_index_in_simdgroup]]) {
    const int key_tile   = tgpig[0];
    const int query_tile = tgpig[1];
    const int head       = tgpig[2] % args.ne32;
    const int batch      = tgpig[2] / args.ne32;

    char result = (key_tile + 1) * kKeys > args.ne30 ? 1 : 0;

    if (result == 0) {
        device const char * tile =
            mask + args.nb31 * (query_tile * kQueries) + args.nb32 * head + args.nb33 * batch + sizeof(half) * key_tile * kKeys;

        half highest = -MAXHALF;
        for (short j = 0; j < kQueries && query_tile * kQueries + j < args.ne01; ++j) {
            device const half * row = (device const half *) (tile + args.nb31 * j);
            highest = max(highest, max(row[2 * lane], row[2 * lane + 1]));
        }
        result = simd_max(highest) > kInvisible ? 1 : 0;
    }

    if (lane == 0) {
        dst[(ulong(tgpig[2]) * tgs[1] + query_tile) * tgs[0] + key_tile] = result;
    }
}

kernel void kernel_flash_attn_ext_bf16_dk512_dv512(
        constant FlashAttnExtArgs & args  [[buffer(0)]],
        device const char         * q     [[buffer(1)]],
        device const char         * k     [[buffer(2)]],
        device const char         * v     [[buffer(3)]],
        device const char         * mask  [[buffer(4)]],
        device const char         * sinks [[buffer(5)]],
        device const char         * pad   [[buffer(6)]],
        device const char         * blk   [[buffer(7)]],
        device       char         * dst   [[buffer(8)]],
        threadgroup  half         * shmem [[threadgroup(0)]],
        uint3  tgpig [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]],
        ushort sg    [[simdgroup_index_in_threadgroup]]) {
    (void) sinks;

    const int first_query = tgpig[0] * kQueries;
    const int head        = tgpig[1];
    const int batch       = tgpig[2];

    const int kv_head  = head / (args.ne02 / args.ne_12_2);
    const int kv_batch = batch / (args.ne03 / args.ne_12_3);

    // shmem: queries bf16 [8, 512] | output float [8, 512] | per query 64 float scores, 64 half mask, 128 bytes unused
    threadgroup bfloat * sq = (threadgroup bfloat *) shmem;
    threadgroup float  * so = (threadgroup float *) (shmem + kQueries * kDim);
    threadgroup float  * ss = (threadgroup float *) (shmem + 3 * kQueries * kDim);

    // Simdgroup sg looks after the softmax of query sg.
    threadgroup float2 * my_scores = (threadgroup float2 *) (ss + sg * kScoreRow);
    threadgroup half2  * my_mask   = (threadgroup half2 *) (ss + sg * kScoreRow + kKeys);

    const bool live = first_query + sg < args.ne01;
    {
        device const bfloat * row = (device const bfloat *) (q + args.nb01 * (first_query + sg) + args.nb02 * head + args.nb03 * batch);
        for (short i = lane; i < kDim; i += SIMD_WIDTH) {
            sq[sg * kDim + i] = live ? row[i] : bfloat(0.0f);
            so[sg * kDim + i] = 0.0f;
        }
    }

    threadgroup_barrier(mem_flags::mem_threadgroup);

    const int tiles = (args.ne11 + kKeys - 1) / kKeys;
    const int mask_head  = head % args.ne32;
    const int mask_batch = batch % args.ne33;

    device const char * blk_row =
        blk + ((ulong(mask_batch) * args.ne32 + mask_head) * ((args.ne01 + kQueries - 1) / kQueries) + tgpig[0]) * tiles;

    float M = -FLT_MAX / 2;
    float S = 0.0f;

    for (int tile = 0; tile < tiles; ++tile) {
        const int first_key = tile * kKeys;

        device const char * k_tile = k + args.nb11 * first_key + args.nb12 * kv_head + args.nb13 * kv_batch;
        device const char * v_tile = v + args.nb21 * first_key + args.nb22 * kv_head + args.nb23 * kv_batch;
        device const char * m_tile = mask + args.nb31 * first_query + args.nb32 * mask_head + args.nb33 * mask_batch + sizeof(half) * first_key;
        ulong mask_stride = args.nb31;

        if (kHasPadding && first_key + kKeys > args.ne11) {
            const ulong k_bytes = args.nb11 * kKeys * args.ne_12_2 * args.ne_12_3;
            const ulong v_bytes = args.nb21 * kKeys * args.ne_12_2 * args.ne_12_3;
            const ulong place   = ulong(kv_batch) * args.ne_12_2 + kv_head;

            k_tile = pad + args.nb11 * kKeys * place;
            v_tile = pad + k_bytes + args.nb21 * kKeys * place;
            m_tile = pad + k_bytes + v_bytes +
                     sizeof(half) * kKeys * ((ulong(mask_batch) * args.ne32 + mask_head) * args.ne31 + first_query);
            mask_stride = sizeof(half) * kKeys;
        }

        char kind = 1;
        if (kHasMask) {
            kind = blk_row[tile];
            if (kind == 0) {
                continue;
            }
            if (kind == 1) {
                device const half * row = (device const half *) (m_tile + mask_stride * sg);
                my_mask[lane] = live ? half2(row[2 * lane], row[2 * lane + 1]) : half2(0.0h);
            }
        }

        // Q K^T: simdgroup sg multiplies all queries with keys 8 sg .. 8 sg + 7.
        {
            simdgroup_float8x8 qk = make_filled_simdgroup_matrix<float, 8>(0.0f);
            device const bfloat * keys = (device const bfloat *) k_tile + sg * 8 * args.ns10;

            for (short i = 0; i < kDim / 8; ++i) {
                simdgroup_bfloat8x8 mq;
                simdgroup_bfloat8x8 mk;
                simdgroup_load(mq, sq + 8 * i, kDim);
                simdgroup_load(mk, keys + 8 * i, args.ns10, ulong2(0, 0), true);
                simdgroup_multiply_accumulate(qk, mq, mk, qk);
            }
            simdgroup_store(qk, ss + 8 * sg, kScoreRow);
        }

        threadgroup_barrier(mem_flags::mem_threadgroup);

        // Online softmax of this simdgroup's query; lane l owns keys 2 l and 2 l + 1.
        {
            float2 s = my_scores[lane] * args.scale;
            const bool ragged = first_key + kKeys > args.ne11;
            if (kHasMask && kind == 1) {
                const half2 bias = my_mask[lane];
                s[0] = bias[0] > kInvisible ? s[0] + float(bias[0]) : -INFINITY;
                s[1] = bias[1] > kInvisible ? s[1] + float(bias[1]) : -INFINITY;
            } else if (ragged) {
                s[0] = first_key + 2 * lane + 0 < args.ne11 ? s[0] : -INFINITY;
                s[1] = first_key + 2 * lane + 1 < args.ne11 ? s[1] : -INFINITY;
            }

            const float m = M;
            M = simd_max(max(M, max(s[0], s[1])));

            const float ms = exp(m - M);
            const float2 w = exp(s - M);

            S = S * ms + simd_sum(w[0] + w[1]);
            my_scores[lane] = w;

            for (short i = lane; i < kDim; i += SIMD_WIDTH) {
                so[sg * kDim + i] *= ms;
            }
        }

        threadgroup_barrier(mem_flags::mem_threadgroup);

        // O += P V: simdgroup sg owns 64 columns of the output, for all queries.
        {
            simdgroup_float8x8 o[8];
            for (short c = 0; c < 8; ++c) {
                simdgroup_load(o[c], so + 64 * sg + 8 * c, kDim);
            }
            for (short t = 0; t < kKeys / 8; ++t) {
                simdgroup_float8x8 weights;
                simdgroup_load(weights, ss + 8 * t, kScoreRow);

                device const bfloat * values = (device const bfloat *) v_tile + t * 8 * args.ns20 + 64 * sg;
                for (short c = 0; c < 8; ++c) {
                    simdgroup_bfloat8x8 mv;
                    simdgroup_load(mv, values + 8 * c, args.ns20);
                    simdgroup_multiply_accumulate(o[c], weights, mv, o[c]);
                }
            }
            for (short c = 0; c < 8; ++c) {
                simdgroup_store(o[c], so + 64 * sg + 8 * c, kDim);
            }
        }

        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    if (live) {
        const float inv = S == 0.0f ? 0.0f : 1.0f / S;
        device bfloat * row = (device bfloat *) dst + ((ulong(batch) * args.ne2 + head) * args.ne1 + first_query + sg) * kDim;
        for (short i = lane; i < kDim; i += SIMD_WIDTH) {
            row[i] = bfloat(so[sg * kDim + i] * inv);
        }
    }
}
