// pack_prefill: prefill attention with packed query heads. The query heads that share a key/value head are laid side by side, so a tile of
// 16 rows holds (query, head) pairs of one key/value head. Keys and values are staged through threadgroup memory 32 at a time. While it
// scores, a lane is a key; while it gathers values, a lane is a set of columns.

#include <metal_stdlib>

using namespace metal;

constant bool kCausal [[function_constant(0)]];
constant bool kWindow [[function_constant(1)]];
constant bool kBytes  [[function_constant(2)]];
constant bool kBias   [[function_constant(3)]];
constant bool kCapped [[function_constant(4)]];
constant bool kSinks  [[function_constant(5)]];

constant constexpr int kTeams = 4;                      // simdgroups
constant constexpr int kRowsPerTeam = 4;
constant constexpr int kRows = kTeams * kRowsPerTeam;   // of a tile
constant constexpr int kStage = 32;                     // keys in threadgroup memory

struct Hop {
    long batch;
    long head;
    long row;
};

struct PackArgs {
    int   queries;
    int   keys;
    int   heads;
    int   group;
    int   window;
    int   offset;
    int   from_end;
    float scale;
    float cap;
    Hop   q;
    Hop   k;
    Hop   v;
    Hop   o;
    Hop   m;
};

// Which query and which query head a packed row stands for.
struct Packed {
    int query;
    int head;
    Packed(int row, int kv, int group) : query(row / group), head(kv * group + row % group) {}
};

// Copies kStage rows from `from` on; rows behind the last key become zero.
template <typename T, int DIM>
inline void stage_rows(threadgroup T * to, const device T * from, long stride, int first, int limit, int worker) {
    constexpr int kQuads = DIM / 4;
    for (int i = worker; i < kStage * kQuads; i += kTeams * 32) {
        const int r = i / kQuads;
        const int c = i % kQuads * 4;
        const bool live = first + r < limit;
        for (int e = 0; e < 4; ++e) {
            to[r * (DIM + 1) + c + e] = live ? from[(first + r) * stride + c + e] : T(0.0f);
        }
    }
}

inline float soft_limit(float score, float cap) {
    return cap * precise::tanh(score / cap);
}

template <typename T, int DIM>
kernel void pack_prefill(
        constant PackArgs  & args  [[buffer(0)]],
        const device T     * q     [[buffer(1)]],
        const device T     * k     [[buffer(2)]],
        const device T     * v     [[buffer(3)]],
        device T           * out   [[buffer(4)]],
        device float       * lse   [[buffer(5)]],
        const device int   * lens  [[buffer(6)]],
        const device uchar * shown [[buffer(7), function_constant(kBytes)]],
        const device half  * bias  [[buffer(8), function_constant(kBias)]],
        const device float * sinks [[buffer(9), function_constant(kSinks)]],
        uint3 tile [[threadgroup_position_in_grid]],
        uint  lane [[thread_index_in_simdgroup]],
        uint  team [[simdgroup_index_in_threadgroup]]) {
    constexpr int kCols = DIM / 32;
    threadgroup float q_rows[kRows * DIM];
    threadgroup T     stage[kStage * (DIM + 1)];

    const int kv     = tile.y;
    const int batch  = tile.z;
    const int worker = team * 32 + lane;
    const int packed = args.queries * args.group;
    const int base   = tile.x * kRows;
    const int limit  = lens[batch];
    const int shift  = args.offset - (args.from_end != 0 ? args.keys - limit : 0);

    // Queries, with the scale.
    for (int i = worker; i < kRows * DIM; i += kTeams * 32) {
        const int row = base + i / DIM;
        const Packed at(row, kv, args.group);
        q_rows[i] = row < packed ? args.scale * float(q[batch * args.q.batch + at.head * args.q.head + at.query * args.q.row + i % DIM]) : 0.0f;
    }

    float acc[kRowsPerTeam][kCols];
    float top[kRowsPerTeam];
    float sum[kRowsPerTeam];
    for (int r = 0; r < kRowsPerTeam; ++r) {
        for (int c = 0; c < kCols; ++c) {
            acc[r][c] = 0.0f;
        }
        top[r] = -INFINITY;
        sum[r] = 0.0f;
        if (kSinks) {
            const Packed at(base + int(team) * kRowsPerTeam + r, kv, args.group);
            top[r] = sinks[at.head];
            sum[r] = 1.0f;
        }
    }

    // The keys that any row of the tile can see.
    const int first_query = base / args.group;
    const int last_query  = min(base + kRows - 1, packed - 1) / args.group;
    int begin = 0;
    int end   = limit;
    if (kCausal) {
        end = min(end, last_query + shift + 1);
    }
    if (kWindow) {
        begin = max(0, first_query + shift - args.window + 1) / kStage * kStage;
    }

    const device T * k_head = k + batch * args.k.batch + kv * args.k.head;
    const device T * v_head = v + batch * args.v.batch + kv * args.v.head;

    for (int first = begin; first < end; first += kStage) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        stage_rows<T, DIM>(stage, k_head, args.k.row, first, limit, worker);
        threadgroup_barrier(mem_flags::mem_threadgroup);

        const int key = first + lane;
        float weight[kRowsPerTeam];
        for (int r = 0; r < kRowsPerTeam; ++r) {
            const int in_tile = team * kRowsPerTeam + r;
            const Packed at(base + in_tile, kv, args.group);
            const int position = at.query + shift;

            float score = 0.0f;
            for (int d = 0; d < DIM; ++d) {
                score = fma(q_rows[in_tile * DIM + d], float(stage[lane * (DIM + 1) + d]), score);
            }
            if (kCapped) {
                score = soft_limit(score, args.cap);
            }

            bool hidden = key >= limit || base + in_tile >= packed;
            if (kCausal) {
                hidden = hidden || key > position;
            }
            if (kWindow) {
                hidden = hidden || key <= position - args.window;
            }
            if ((kBytes || kBias) && !hidden) {
                const long cell = batch * args.m.batch + at.head * args.m.head + at.query * args.m.row + key;
                if (kBytes) {
                    hidden = shown[cell] == 0;
                }
                if (kBias) {
                    score += float(bias[cell]);
                }
            }
            if (hidden) {
                score = -INFINITY;
            }

            const float next   = max(top[r], simd_max(score));
            const float anchor = next == -INFINITY ? 0.0f : next;
            const float factor = exp(top[r] - anchor);
            weight[r] = exp(score - anchor);
            sum[r] = sum[r] * factor + simd_sum(weight[r]);
            top[r] = next;
            for (int c = 0; c < kCols; ++c) {
                acc[r][c] *= factor;
            }
        }

        threadgroup_barrier(mem_flags::mem_threadgroup);
        stage_rows<T, DIM>(stage, v_head, args.v.row, first, limit, worker);
        threadgroup_barrier(mem_flags::mem_threadgroup);

        for (int j = 0; j < kStage; ++j) {
            float value[kCols];
            for (int c = 0; c < kCols; ++c) {
                value[c] = float(stage[j * (DIM + 1) + c * 32 + lane]);
            }
            for (int r = 0; r < kRowsPerTeam; ++r) {
                const float w = simd_shuffle(weight[r], ushort(j));
                for (int c = 0; c < kCols; ++c) {
                    acc[r][c] = fma(w, value[c], acc[r][c]);
                }
            }
        }
    }

    for (int r = 0; r < kRowsPerTeam; ++r) {
        const int row = base + team * kRowsPerTeam + r;
        if (row >= packed) {
            break;
        }
        const Packed at(row, kv, args.group);
        const float inverse = sum[r] > 0.0f ? 1.0f / sum[r] : 0.0f;
        device T * to = out + batch * args.o.batch + at.head * args.o.head + at.query * args.o.row;
        for (int c = 0; c < kCols; ++c) {
            to[c * 32 + lane] = T(acc[r][c] * inverse);
        }
        if (lane == 0) {
            lse[(long(batch) * args.heads + at.head) * args.queries + at.query] = sum[r] > 0.0f ? top[r] + log(sum[r]) : -INFINITY;
        }
    }
}

#define PACK(name, type, dim) \
    template [[host_name("pack_prefill_" #name "_" #dim)]] kernel decltype(pack_prefill<type, dim>) pack_prefill<type, dim>;

PACK(half, half, 64)
PACK(half, half, 128)
PACK(bfloat, bfloat, 64)
PACK(bfloat, bfloat, 128)
