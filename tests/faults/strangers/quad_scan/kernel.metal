// quad_scan: a thread holds four neighbouring coordinates, D / 4 threads score a key, and splits are merged in a second pass.
#include <metal_stdlib>

using namespace metal;

// A thread holds four neighbouring coordinates; D / 4 threads are a crew that scores one key. Every split is a run of consecutive keys.

enum Bias : int { BIAS_NONE, BIAS_BYTES, BIAS_FLOATS, BIAS_DISTANCE };

constant int  bias_kind [[function_constant(0)]];
constant bool bounded   [[function_constant(1)]];   // causal
constant bool uses_bytes  = bias_kind == BIAS_BYTES;
constant bool uses_floats = bias_kind == BIAS_FLOATS;
constant bool uses_slopes = bias_kind == BIAS_DISTANCE;

constant constexpr int THREADS = 128;

typedef struct {
    int   n_head;
    int   n_group;      // query heads of a key/value head
    int   n_query;
    int   n_key;
    int   n_split;
    int   ring_first;   // slot of key 0
    int   ring_slots;
    int   offset;
    int   end_aligned;
    float scale;
} scan_args;

template <int WIDTH>
static float crew_total(float x) {
    for (ushort step = WIDTH / 2; step > 0; step /= 2) {
        x += simd_shuffle_xor(x, step);
    }
    return x;
}

struct Running {
    float  top;
    float  den;
    float4 acc;

    void add(float s, float d, float4 a) {
        const float high = max(top, s);
        if (high == -INFINITY) {
            return;
        }
        const float old_part = exp(top - high);
        const float new_part = exp(s - high);
        den = den * old_part + d * new_part;
        acc = acc * old_part + a * new_part;
        top = high;
    }
};

template <typename T, int D>
kernel void quad_scan(
        device const T     * q       [[buffer(0)]],
        device const T     * k       [[buffer(1)]],
        device const T     * v       [[buffer(2)]],
        constant scan_args & a       [[buffer(3)]],
        constant long      * q_step  [[buffer(4)]],   // batch, head, token
        constant long      * k_step  [[buffer(5)]],
        constant long      * v_step  [[buffer(6)]],
        constant long      * m_step  [[buffer(7)]],
        device const int   * lengths [[buffer(8)]],
        device float4      * pieces  [[buffer(9)]],
        device float2      * stats   [[buffer(10)]],
        device const uchar * bytes   [[buffer(11), function_constant(uses_bytes)]],
        device const float * floats  [[buffer(12), function_constant(uses_floats)]],
        device const float * slopes  [[buffer(13), function_constant(uses_slopes)]],
        uint3 tg  [[threadgroup_position_in_grid]],
        uint  tid [[thread_index_in_threadgroup]]) {
    typedef vec<T, 4> T4;
    constexpr int CREW  = D / 4;
    constexpr int CREWS = THREADS / CREW;

    threadgroup float  tops[CREWS];
    threadgroup float  dens[CREWS];
    threadgroup float4 accs[THREADS];

    const int quad = tid % CREW, crew = tid / CREW;
    const int split = tg.x, query = tg.y;
    const int batch = tg.z / a.n_head, head = tg.z % a.n_head;
    const int n = lengths[batch];
    const int position = query + a.offset - (a.end_aligned ? a.n_key - n : 0);

    const int run   = (n + a.n_split - 1) / a.n_split;
    const int begin = split * run;
    int end = min(n, begin + run);
    if (bounded) {
        end = min(end, position + 1);
    }

    const float4 mine = a.scale * float4(((device const T4 *) (q + batch * q_step[0] + head * q_step[1] + query * q_step[2]))[quad]);
    device const T * k_base = k + batch * k_step[0] + head / a.n_group * k_step[1];
    device const T * v_base = v + batch * v_step[0] + head / a.n_group * v_step[1];
    const long m_row = batch * m_step[0] + head * m_step[1] + query * m_step[2];

    Running state = { -INFINITY, 0.0f, float4(0.0f) };
    for (int base = begin; base < end; base += CREWS) {
        const bool live = base + crew < end;
        const int  key  = live ? base + crew : base;
        int slot = a.ring_first + key;
        if (slot >= a.ring_slots) {
            slot -= a.ring_slots;
        }
        float s = crew_total<CREW>(dot(mine, float4(((device const T4 *) (k_base + slot * k_step[2]))[quad])));
        if (uses_bytes && bytes[m_row + key] == 0) {
            s = -INFINITY;
        }
        if (uses_floats) {
            s += floats[m_row + key];
        }
        if (uses_slopes) {
            s -= slopes[head] * abs(key - query - a.offset);
        }
        if (live) {
            state.add(s, 1.0f, float4(((device const T4 *) (v_base + slot * v_step[2]))[quad]));
        }
    }

    // The upper half of the crews hands its results to the lower half, until one is left.
    for (int reach = CREWS / 2; reach > 0; reach /= 2) {
        if (crew >= reach && crew < 2 * reach) {
            accs[(crew - reach) * CREW + quad] = state.acc;
            if (quad == 0) {
                tops[crew - reach] = state.top;
                dens[crew - reach] = state.den;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (crew < reach) {
            const float  high = max(state.top, tops[crew]);
            const float  ours = state.top == -INFINITY ? 0.0f : exp(state.top - high);
            const float  rest = tops[crew] == -INFINITY ? 0.0f : exp(tops[crew] - high);
            state.den = state.den * ours + dens[crew] * rest;
            state.acc = state.acc * ours + accs[crew * CREW + quad] * rest;
            state.top = high;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (crew == 0) {
        const int place = (tg.z * a.n_query + query) * a.n_split + split;
        pieces[place * CREW + quad] = state.acc;
        if (quad == 0) {
            stats[place] = float2(state.top, state.den);
        }
    }
}

template <typename T, int D>
kernel void quad_join(
        device const float4 * pieces [[buffer(0)]],
        device const float2 * stats  [[buffer(1)]],
        device T            * out    [[buffer(2)]],
        device float        * lse    [[buffer(3)]],
        constant scan_args  & a      [[buffer(4)]],
        constant long       * o_step [[buffer(5)]],
        uint row  [[threadgroup_position_in_grid]],
        uint quad [[thread_position_in_threadgroup]]) {
    const int query = row % a.n_query, head = row / a.n_query % a.n_head, batch = row / a.n_query / a.n_head;
    float peak = -INFINITY;
    for (int i = 0; i < a.n_split; ++i) {
        peak = max(peak, stats[row * a.n_split + i].x);
    }
    float4 acc = float4(0.0f);
    float  den = 0.0f;
    for (int i = 0; i < a.n_split; ++i) {
        const float2 own = stats[row * a.n_split + i];
        if (own.x > -INFINITY) {
            const float part = exp(own.x - peak);
            den += part * own.y;
            acc += part * pieces[(row * a.n_split + i) * (D / 4) + quad];
        }
    }
    device vec<T, 4> * to = (device vec<T, 4> *) (out + batch * o_step[0] + head * o_step[1] + query * o_step[2]);
    to[quad] = vec<T, 4>(den > 0.0f ? acc / den : float4(0.0f));
    if (quad == 0) {
        lse[row] = den > 0.0f ? peak + log(den) : -INFINITY;
    }
}

#define BUILD(type, d) \
    template [[host_name("quad_scan_" #type "_" #d)]] kernel decltype(quad_scan<type, d>) quad_scan<type, d>; \
    template [[host_name("quad_join_" #type "_" #d)]] kernel decltype(quad_join<type, d>) quad_join<type, d>;

BUILD(float, 32) BUILD(float, 64) BUILD(float, 128)
BUILD(half, 32)  BUILD(half, 64)  BUILD(half, 128)
