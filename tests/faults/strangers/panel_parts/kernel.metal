// Attention in two launches. "parts" gives every query to several threadgroups, each with a consecutive part of the keys, which it walks in
// panels of 128: scores first, then their exponentials, then the values. "finish" joins the parts and adds the sink.
#include <metal_stdlib>
using namespace metal;

constant bool kBoolean [[function_constant(0)]];
constant bool kCausal  [[function_constant(1)]];
constant bool kDistant [[function_constant(2)]];
constant bool kPaged   [[function_constant(3)]];

constant constexpr int kPanel = 128;
constant constexpr int kThreads = 64;

struct Problem {
    int   batches, q_heads, kv_heads, q_tokens, kv_tokens;
    int   shift, shift_from_end, parts, pages, page_rows, sink_per_head;
    float scale;
    long  q_strides[3], k_strides[3], v_strides[3], allowed_strides[3];  // batch or page, head, token
};

// What was summed, relative to the largest score.
struct Tally {
    float largest, mass;
};

struct Largest {
    static float within(float x) { return simd_max(x); }
    static float join(float a, float b) { return max(a, b); }
};
struct Total {
    static float within(float x) { return simd_sum(x); }
    static float join(float a, float b) { return a + b; }
};

template <typename Op>
static float across(float x, threadgroup float * board, uint lane, uint simdgroup) {
    const float own = Op::within(x);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) {
        board[simdgroup] = own;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return Op::join(board[0], board[1]);
}

// Where the row of a token begins, in elements.
static long row_of(int batch, int head, int token, constant Problem & a, constant long * strides, device const int * table) {
    if (kPaged) {
        const int page = table[batch * a.pages + token / a.page_rows];
        return page * strides[0] + head * strides[1] + token % a.page_rows * strides[2];
    }
    return batch * strides[0] + head * strides[1] + token * strides[2];
}

template <typename T, int DK, int DV>
kernel void parts(constant Problem & a, device const T * q, device const T * k, device const T * v, device const uchar * allowed,
                  device const float * slopes, device const int * lengths, device const int * table,
                  device float * sums, device Tally * tallies,
                  uint3 group [[threadgroup_position_in_grid]], uint thread_id [[thread_index_in_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    typedef vec<T, 4> T4;
    threadgroup float4 query[DK / 4];
    threadgroup float  p[kPanel];
    threadgroup float  board[kThreads / 32];

    const int part = group.x, token = group.y;
    const int head = group.z % a.q_heads, batch = group.z / a.q_heads;
    const int kv_head = head * a.kv_heads / a.q_heads;
    const int length = lengths[batch];
    const int position = token + a.shift - (a.shift_from_end ? a.kv_tokens - length : 0);

    device const T4 * q4 = (device const T4 *) (q + batch * a.q_strides[0] + head * a.q_strides[1] + token * a.q_strides[2]);
    for (int i = thread_id; i < DK / 4; i += kThreads) {
        query[i] = float4(q4[i]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const int share = (length + a.parts - 1) / a.parts;
    const int from = part * share;
    const int to = min(from + share, length);
    float o[(DV + kThreads - 1) / kThreads] = {};
    Tally mine = { -INFINITY, 0.0f };
    for (int start = from; start < to; start += kPanel) {
        const int count = min(kPanel, to - start);
        float high = -INFINITY;
        for (int t = thread_id; t < count; t += kThreads) {
            const int key = start + t;
            bool hidden = kCausal && key > position;
            if (kBoolean) {
                hidden = allowed[batch * a.allowed_strides[0] + head * a.allowed_strides[1] + token * a.allowed_strides[2] + key] == 0;
            }
            p[t] = -INFINITY;
            if (!hidden) {
                device const T4 * k4 = (device const T4 *) (k + row_of(batch, kv_head, key, a, a.k_strides, table));
                float4 products = 0.0f;
                for (int i = 0; i < DK / 4; ++i) {
                    products += query[i] * float4(k4[i]);
                }
                const float fall = kDistant ? slopes[head] * abs(key - token - a.shift) : 0.0f;
                p[t] = a.scale * (products.x + products.y + products.z + products.w) - fall;
            }
            high = max(high, p[t]);
        }
        const float largest = max(mine.largest, across<Largest>(high, board, lane, simdgroup));
        if (largest == -INFINITY) {
            continue;
        }
        float mass = 0.0f;
        for (int t = thread_id; t < count; t += kThreads) {
            p[t] = exp(p[t] - largest);
            mass += p[t];
        }
        const float shrink = exp(mine.largest - largest);
        mine.mass = mine.mass * shrink + across<Total>(mass, board, lane, simdgroup);
        mine.largest = largest;
        for (int c = thread_id, i = 0; c < DV; c += kThreads, ++i) {
            o[i] *= shrink;
            for (int t = 0; t < count; ++t) {
                o[i] += p[t] * float(v[row_of(batch, kv_head, start + t, a, a.v_strides, table) + c]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    const long place = (long(group.z) * a.q_tokens + token) * a.parts + part;
    for (int c = thread_id, i = 0; c < DV; c += kThreads, ++i) {
        sums[place * DV + c] = o[i];
    }
    if (thread_id == 0) {
        tallies[place] = mine;
    }
}

// One thread a coordinate of the output, which is dense.
template <typename T, int DV>
kernel void finish(constant Problem & a, device const float * sums, device const Tally * tallies, device const float * sinks,
                   device T * out, device float * lse, uint2 at [[thread_position_in_grid]]) {
    const long row = at.y;
    const int head = row / a.q_tokens % a.q_heads;
    Tally all = { a.sink_per_head ? sinks[head] : -INFINITY, a.sink_per_head ? 1.0f : 0.0f };
    float value = 0.0f;
    for (long place = row * a.parts; place < (row + 1) * a.parts; ++place) {
        const Tally one = tallies[place];
        if (one.mass > 0.0f) {
            const float largest = max(all.largest, one.largest);
            const float old = exp(all.largest - largest), fresh = exp(one.largest - largest);
            all.mass = all.mass * old + one.mass * fresh;
            value = value * old + sums[place * DV + at.x] * fresh;
            all.largest = largest;
        }
    }
    out[row * DV + at.x] = T(all.mass == 0.0f ? 0.0f : value / all.mass);
    if (at.x == 0) {
        lse[row] = all.mass == 0.0f ? -INFINITY : all.largest + log(all.mass);
    }
}

#define PARTS(T, DK, DV) template [[host_name("parts_" #T "_" #DK "_" #DV)]] kernel decltype(parts<T, DK, DV>) parts<T, DK, DV>;
#define FINISH(T, DV) template [[host_name("finish_" #T "_" #DV)]] kernel decltype(finish<T, DV>) finish<T, DV>;
#define EVERY(T) PARTS(T, 64, 64) PARTS(T, 80, 80) PARTS(T, 128, 128) PARTS(T, 192, 128) FINISH(T, 64) FINISH(T, 80) FINISH(T, 128)
EVERY(float) EVERY(half) EVERY(bfloat)
