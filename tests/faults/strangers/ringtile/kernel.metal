// ringtile: one threadgroup looks after all query heads that share a key/value head. It copies tiles of 32 keys, then of their values,
// from a cache that may be a ring into threadgroup memory; each simdgroup is one query head, and its lanes are the keys of the tile.

#include <metal_stdlib>

using namespace metal;

enum : uint { LOOK_BACK = 1, LOOK_NEAR = 2 };   // bits of `visibility`: causal, window

constant uint visibility [[function_constant(0)]];
constant bool squash     [[function_constant(1)]];
constant bool with_sinks [[function_constant(2)]];

constant constexpr int TILE = 32;
constant constexpr int MOST_HEADS = 8;   // query heads of a key/value head

struct Extent {
    int keys;       // in the cache
    int capacity;   // rows of a head
    int oldest;     // slot of key 0
    int queries;
};

struct Job {
    Extent extent;
    int    group;      // query heads of a key/value head
    int    near;       // keys in the window
    int    behind;     // position of query 0
    float  scale;
    float  softcap;
    long   q_step[3];  // batch, head, query
    long   k_step[3];  // batch, head, key
    long   v_step[3];
    long   o_step[3];
};

// Keys [from, to) are visible to a query.
struct Span {
    int from;
    int to;
};

static inline Span visible(constant Job & job, int query) {
    const int position = query + job.behind;
    Span span = { 0, job.extent.keys };
    if (visibility & LOOK_BACK) {
        span.to = clamp(position + 1, 0, job.extent.keys);
    }
    if (visibility & LOOK_NEAR) {
        span.from = max(0, position - job.near + 1);
    }
    return span;
}

static inline int slot_of(constant Extent & extent, int key) {
    const int slot = extent.oldest + key;
    return slot < extent.capacity ? slot : slot - extent.capacity;
}

// Copies the rows of keys first .. first + 31; rows that no query of this group sees become zero.
template <typename T, int D>
static inline void fetch(threadgroup T * tile, const device T * rows, long step, constant Extent & extent, int first, int to,
                         uint thread, uint threads) {
    for (uint e = thread; e < TILE * D; e += threads) {
        const int key = first + int(e / D);
        tile[e] = key < to ? rows[slot_of(extent, key) * step + e % D] : T(0);
    }
}

// The softmax so far of a query head, the same in all lanes of its simdgroup.
template <int N>
struct Running {
    float peak;
    float mass;
    float acc[N];

    void begin() thread {
        peak = -INFINITY;
        mass = 0.0f;
        for (int i = 0; i < N; ++i) {
            acc[i] = 0.0f;
        }
    }
    // Makes `other` the reference of all weights; returns it.
    float raise(float other) thread {
        const float next = max(peak, other);
        const float shrink = peak == -INFINITY ? 0.0f : exp(peak - next);
        peak = next;
        mass *= shrink;
        for (int i = 0; i < N; ++i) {
            acc[i] *= shrink;
        }
        return next;
    }
};

template <typename T, int D>
kernel void ringtile(
        constant Job         & job   [[buffer(0)]],
        const device T       * q     [[buffer(1)]],
        const device T       * k     [[buffer(2)]],
        const device T       * v     [[buffer(3)]],
        const device float   * sinks [[buffer(4), function_constant(with_sinks)]],
        device T             * out   [[buffer(5)]],
        uint3  where   [[threadgroup_position_in_grid]],
        ushort lane    [[thread_index_in_simdgroup]],
        ushort member  [[simdgroup_index_in_threadgroup]],
        ushort members [[simdgroups_per_threadgroup]]) {
    constexpr int N = D / 32;
    threadgroup T     tile[TILE * D];
    threadgroup float asked[MOST_HEADS * D];

    const int  query   = where.x;
    const int  kv_head = where.y;
    const int  batch   = where.z;
    const int  head    = kv_head * job.group + member;
    const uint thread  = member * 32 + lane;
    const uint threads = members * 32;

    const device T * mine = q + batch * job.q_step[0] + head * job.q_step[1] + query * job.q_step[2];
    for (int d = lane; d < D; d += 32) {
        asked[member * D + d] = float(mine[d]) * job.scale;
    }

    const device T * k_rows = k + batch * job.k_step[0] + kv_head * job.k_step[1];
    const device T * v_rows = v + batch * job.v_step[0] + kv_head * job.v_step[1];

    Running<N> run;
    run.begin();

    const Span span = visible(job, query);
    for (int first = span.from / TILE * TILE; first < span.to; first += TILE) {
        threadgroup_barrier(mem_flags::mem_threadgroup);   // everybody is done with the values of the last tile
        fetch<T, D>(tile, k_rows, job.k_step[2], job.extent, first, span.to, thread, threads);
        threadgroup_barrier(mem_flags::mem_threadgroup);

        const int key = first + lane;
        float score = -INFINITY;
        if (key >= span.from && key < span.to) {
            float dot = 0.0f;
            for (int d = 0; d < D; ++d) {
                dot += asked[member * D + d] * float(tile[lane * D + d]);
            }
            score = squash ? job.softcap * precise::tanh(dot / job.softcap) : dot;
        }
        const float reference = run.raise(simd_max(score));
        const float weight = exp(score - reference);
        run.mass += simd_sum(weight);

        threadgroup_barrier(mem_flags::mem_threadgroup);
        fetch<T, D>(tile, v_rows, job.v_step[2], job.extent, first, span.to, thread, threads);
        threadgroup_barrier(mem_flags::mem_threadgroup);

        const int count = min(TILE, span.to - first);
        for (int j = 0; j < count; ++j) {
            const float w = simd_shuffle(weight, j);
            for (int i = 0; i < N; ++i) {
                run.acc[i] += w * float(tile[j * D + i * 32 + lane]);
            }
        }
    }

    if (with_sinks) {
        const float sink = sinks[head];
        run.mass += exp(sink - run.raise(sink));
    }
    const float inverse = run.mass > 0.0f ? 1.0f / run.mass : 0.0f;
    device T * row = out + batch * job.o_step[0] + head * job.o_step[1] + query * job.o_step[2];
    for (int i = 0; i < N; ++i) {
        row[i * 32 + lane] = T(run.acc[i] * inverse);
    }
}

#define OFFER(T, D) template [[host_name("ringtile_" #T "_" #D)]] kernel decltype(ringtile<T, D>) ringtile<T, D>;

OFFER(float, 64)
OFFER(float, 96)
OFFER(float, 128)
OFFER(half, 64)
OFFER(half, 96)
OFFER(half, 128)
