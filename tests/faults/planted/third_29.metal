// Attention for a handful of queries on bf16 keys and values, 512 wide: the key axis is dealt out to the simdgroups of a threadgroup.
#include <metal_stdlib>
using namespace metal;

#define TILE 32
#define WIDTH4 128

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

struct Stat {
    float total;
    float peak;
};

static inline float half_row_sum(float x) {
    for (ushort step = 8; step != 0; step >>= 1) {
        x += simd_shuffle_down(x, step);
    }
    return x;
}

static inline float visible_bias(device const half * row, bool masked, int key, int keys) {
    if (key >= keys) {
        return -INFINITY;
    }
    const float b = masked ? float(row[key]) : 0.0f;
    return b <= -32752.0f ? -INFINITY : b;
}

kernel void kernel_flash_attn_ext_vec_bf16_dk512_dv512(
        constant FlashAttnExtArgs & args  [[buffer(0)]],
        device const char         * q     [[buffer(1)]],
        device const char         * k     [[buffer(2)]],
        device const char         * v     [[buffer(3)]],
        device const char         * mask  [[buffer(4)]],
        device       char         * dst   [[buffer(8)]],
        threadgroup  uchar        * arena [[threadgroup(0)]],
        uint3  where [[threadgroup_position_in_grid]],
        ushort tid   [[thread_index_in_simdgroup]],
        ushort warp  [[simdgroup_index_in_threadgroup]],
        ushort warps [[simdgroups_per_threadgroup]]) {
    const int row = where.x;
    const int h = where.y;
    const int b = where.z;
    const int keys = args.ne11;
    const ulong kh = h / (args.ne02 / args.ne_12_2);
    const ulong kb = b / (args.ne03 / args.ne_12_3);
    const int col = tid & 15;
    const int side = tid >> 4;

    threadgroup bfloat4 * shared_q = (threadgroup bfloat4 *) arena;
    threadgroup float * boards = (threadgroup float *) (arena + 1024);
    threadgroup bfloat4 * banks = (threadgroup bfloat4 *) (arena + 1024 + warps * 256);
    threadgroup float * board = boards + warp * 64;
    threadgroup bfloat4 * bank = banks + warp * WIDTH4;

    device const float4 * q_row = (device const float4 *) (q + args.nb03 * b + args.nb02 * h + args.nb01 * row);
    for (int c = tid + TILE * warp; c < WIDTH4; c += TILE * warps) {
        shared_q[c] = bfloat4(q_row[c]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    device const char * keys_at = k + args.nb13 * kb + args.nb12 * kh;
    device const char * values_at = v + args.nb23 * kb + args.nb22 * kh;
    device const half * bias_row =
        (device const half *) (mask + args.nb33 * (b % args.ne33) + args.nb32 * (h % args.ne32) + args.nb31 * row);

    Stat run = {0.0f, -FLT_MAX / 2};
    float4 acc[8];
    for (int j = 0; j < 8; ++j) {
        acc[j] = 0.0f;
    }

    for (int tile = warp; tile * TILE < keys; tile += warps) {
        const int origin = tile * TILE;
        const float bias = visible_bias(bias_row, mask != q, origin + tid, keys);
        if (!simd_any(bias != -INFINITY)) {
            continue;
        }
        for (int t = side; t < TILE; t += 2) {
            device const bfloat4 * key = (device const bfloat4 *) (keys_at + args.nb11 * min(origin + t, keys - 1));
            float s = 0.0f;
            for (int c = col; c < WIDTH4; c += 16) {
                s += dot(float4(key[c]), float4(shared_q[c]));
            }
            s = half_row_sum(s);
            if (col == 0) {
                board[t] = s * args.scale;
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);

        const float logit = board[tid] + bias;
        const float peak = max(run.peak, simd_max(logit));
        const float decay = exp(run.peak - peak);
        const float p = exp(logit - peak);
        run.total = run.total * decay + simd_sum(p);
        run.peak = peak;
        board[tid] = p;
        simdgroup_barrier(mem_flags::mem_threadgroup);

        for (int j = 0; j < 8; ++j) {
            acc[j] *= decay;
        }
        for (int t = side; t < TILE; t += 2) {
            device const bfloat4 * value = (device const bfloat4 *) (values_at + args.nb21 * min(origin + t, keys - 1));
            const float w = board[t];
            for (int j = 0; j < 8; ++j) {
                acc[j] += float4(value[col + 16 * j]) * w;
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }

    for (int j = 0; j < 8; ++j) {
        const float4 both = acc[j] + simd_shuffle_down(acc[j], 16);
        if (side == 0) {
            bank[col + 16 * j] = bfloat4(both);
        }
    }
    if (tid == 0) {
        board[0] = run.total;
        board[1] = run.peak;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // Fold the upper half of the banks onto the lower half until one is left.
    ushort alive = warps;
    while (alive > 1) {
        alive /= 2;
        if (warp < alive) {
            const Stat one = {board[0], board[1]};
            const Stat two = {board[64 * alive], board[64 * alive + 1]};
            const float peak = max(one.peak, two.peak);
            const float w1 = exp(one.peak - peak);
            const float w2 = exp(two.peak - peak);
            for (int c = tid; c < WIDTH4; c += TILE) {
                bank[c] = bfloat4(float4(bank[c]) * w1 + float4(bank[c + alive * WIDTH4]) * w2);
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            if (tid == 0) {
                board[0] = one.total * w1 + two.total * w2;
                board[1] = peak;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    if (warp == 0) {
        const float inv = board[0] == 0.0f ? 0.0f : 1.0f / board[0];
        device bfloat4 * out = (device bfloat4 *) dst + (ulong(b * args.ne2 + h) * args.ne1 + row) * WIDTH4;
        for (int c = tid; c < WIDTH4; c += TILE) {
            out[c] = bfloat4(float4(bank[c]) * inv);
        }
    }
}
