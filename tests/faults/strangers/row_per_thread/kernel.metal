// row_per_thread: a thread answers one query. Keys and values come in tiles of threadgroup memory; spans of keys are joined by a second kernel.
#include <metal_stdlib>
using namespace metal;

// part_*: the query heads that share a key head are laid side by side, so that the rows of a grid column are query * share + member. A thread
// has one row from beginning to end. The threads of a group carry KEYS keys and values at a time into threadgroup memory. The keys are cut
// into `pieces` spans; of each row and span remain a finished output and the logarithm of its denominator.
// join_*: a thread for each coordinate of the output weighs the spans by these logarithms.

enum { SEE_ALL, SEE_PAST, ADD_MASK, ADD_SLOPED };

constant int  kind    [[function_constant(7)]];
constant bool in_ring [[function_constant(8)]];

constant constexpr int ROWS = 64;
constant constexpr int KEYS = 16;

struct geometry {
    int batches, heads, kv_heads, queries, keys;
    int pieces;
    int capacity, ring_start;
    int diagonal;
    float scale;
    long q_step[3], k_step[3], v_step[3], m_step[3], out_step[3];   // batch, head, token
};

inline long locate(constant long (&step)[3], int batch, int head, int token) {
    return step[0] * batch + step[1] * head + step[2] * token;
}

inline int span_of(constant geometry & geo) {
    const int even = (geo.keys + geo.pieces - 1) / geo.pieces;
    return (even + KEYS - 1) / KEYS * KEYS;
}

template <int D>
struct row_state {
    float top = -INFINITY;
    float denominator = 0.0f;
    float acc[D];

    void rise_to(float next) thread {
        if (next == top) return;
        const float shrink = exp(top - next);
        denominator *= shrink;
        for (int c = 0; c < D; ++c) acc[c] *= shrink;
        top = next;
    }
    void take(float weight, const threadgroup float * value) thread {
        denominator += weight;
        for (int c = 0; c < D; ++c) acc[c] += weight * value[c];
    }
};

template <typename T, typename M, int D>
kernel void part(
        constant geometry & geo [[buffer(0)]],
        const device T * q [[buffer(1)]], const device T * k [[buffer(2)]], const device T * v [[buffer(3)]],
        const device M * mask [[buffer(4)]], const device float * slopes [[buffer(5)]],
        device float * outputs [[buffer(6)]], device float * logs [[buffer(7)]],
        uint3 group [[threadgroup_position_in_grid]], uint3 me [[thread_position_in_threadgroup]]) {
    threadgroup float some_keys[KEYS * D];
    threadgroup float some_values[KEYS * D];

    const int thread_no = me.x;
    const int share = geo.heads / geo.kv_heads;
    const int row   = group.x * ROWS + thread_no;
    const int query = row / share;
    const int head  = group.y * share + row % share;
    const int batch = group.z / geo.pieces;
    const int piece = group.z % geo.pieces;
    const bool busy = query < geo.queries;

    float mine[D];
    row_state<D> state;
    for (int c = 0; c < D; ++c) {
        mine[c] = busy ? float(q[locate(geo.q_step, batch, head, query) + c]) : 0.0f;
        state.acc[c] = 0.0f;
    }
    const float slope = kind == ADD_SLOPED ? slopes[head] : 1.0f;

    const int begin = piece * span_of(geo);
    int end = min(geo.keys, begin + span_of(geo));
    if (kind == SEE_PAST) {
        const int last_query = (group.x * ROWS + ROWS - 1) / share;
        end = min(end, last_query + geo.diagonal + 1);
    }

    for (int first = begin; first < end; first += KEYS) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (int e = thread_no; e < KEYS * D; e += ROWS) {
            const int key = first + e / D;
            const int slot = in_ring ? (geo.ring_start + key) % geo.capacity : key;
            some_keys[e]   = key < geo.keys ? float(k[locate(geo.k_step, batch, group.y, slot) + e % D]) : 0.0f;
            some_values[e] = key < geo.keys ? float(v[locate(geo.v_step, batch, group.y, slot) + e % D]) : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        float s[KEYS];
        float next = state.top;
        for (int j = 0; j < KEYS; ++j) {
            const int key = first + j;
            const bool seen = busy && key < end && (kind != SEE_PAST || key <= query + geo.diagonal);
            s[j] = -INFINITY;
            if (seen) {
                float product = 0.0f;
                for (int c = 0; c < D; ++c) product += mine[c] * some_keys[j * D + c];
                s[j] = product * geo.scale;
                if (kind >= ADD_MASK) {
                    s[j] += slope * float(mask[locate(geo.m_step, batch, head, query) + key]);
                }
            }
            next = max(next, s[j]);
        }
        if (next > -INFINITY) {
            state.rise_to(next);
            for (int j = 0; j < KEYS; ++j) state.take(exp(s[j] - next), some_values + j * D);
        }
    }

    if (busy) {
        const long place = ((long(batch) * geo.heads + head) * geo.queries + query) * geo.pieces + piece;
        const bool any = state.denominator > 0.0f;
        for (int c = 0; c < D; ++c) {
            outputs[place * D + c] = any ? state.acc[c] / state.denominator : 0.0f;
        }
        logs[place] = any ? state.top + log(state.denominator) : -INFINITY;
    }
}

template <typename T, int D>
kernel void join(
        constant geometry & geo [[buffer(0)]],
        const device float * outputs [[buffer(1)]], const device float * logs [[buffer(2)]],
        device T * out [[buffer(3)]], device float * lse [[buffer(4)]],
        uint index [[thread_position_in_grid]]) {
    const int c = index % D;
    const int row = index / D;
    const device float * log_of = logs + long(row) * geo.pieces;
    float top = -INFINITY;
    for (int i = 0; i < geo.pieces; ++i) top = max(top, log_of[i]);
    float weights = 0.0f, sum = 0.0f;
    for (int i = 0; i < geo.pieces && top > -INFINITY; ++i) {
        const float weight = exp(log_of[i] - top);
        weights += weight;
        sum += weight * outputs[(long(row) * geo.pieces + i) * D + c];
    }
    const int query = row % geo.queries, head = row / geo.queries % geo.heads, batch = row / geo.queries / geo.heads;
    out[locate(geo.out_step, batch, head, query) + c] = T(weights > 0.0f ? sum / weights : 0.0f);
    if (c == 0) lse[row] = weights > 0.0f ? top + log(weights) : -INFINITY;
}

#define PART(t, m, d) template [[host_name("part_" #t "_" #m "_" #d)]] kernel decltype(part<t, m, d>) part<t, m, d>;
#define JOIN(t, d) template [[host_name("join_" #t "_" #d)]] kernel decltype(join<t, d>) join<t, d>;
#define BOTH(d) PART(float, float, d) PART(float, half, d) PART(half, float, d) PART(half, half, d) JOIN(float, d) JOIN(half, d)

BOTH(32)
BOTH(64)
BOTH(80)
BOTH(128)
