// quadsplit: attention of any number of queries, in two passes. Four neighbouring lanes are one query row, so that a threadgroup of 128
// threads has 32 rows of a head; it visits one segment of the keys. Softmax in base 2. The second pass has a thread per output element and
// merges the segments. Strides are bytes, and keys and values may be blocks of 32 signed bytes with a scale.

#include <metal_stdlib>

using namespace metal;

#define ROWS 32
#define LOG2E 1.44269504088896340736f

constant int  kMask [[function_constant(7)]];   // 0 none, 1 causal, 2 bytes, 3 added, 4 distances times a slope
constant bool kCap  [[function_constant(8)]];
constant bool kSink [[function_constant(9)]];
constant bool kMaskBytes = kMask == 2;
constant bool kMaskHalfs = kMask >= 3;
constant bool kSlopes    = kMask == 4;

struct Pitch {
    ulong batch, head, token;   // bytes
};

struct Task {
    Pitch q, k, v, m, o;
    uint  n_q, n_kv, per_kv, n_head, segments;
    int   shift;      // position of query 0
    int   from_end;   // positions count from the end of the batch
    float scale, cap;
};

struct Tally {
    float high;   // maximum, in base 2
    float sum;
};

static inline const device uchar * seek(const device uchar * base, constant Pitch & p, ulong batch, ulong head, ulong token) {
    return base + batch * p.batch + head * p.head + token * p.token;
}

// A quarter of a row: the coordinates part, part + 4, part + 8, ...
template <typename T>
struct Dense {
    const device T * at;
    Dense(const device uchar * p) : at((const device T *) p) {}
    float get(uint c) const { return float(at[c]); }
};

struct Blocked {
    struct Block {
        half  d;
        int8_t q[32];
    };
    const device Block * at;
    Blocked(const device uchar * p) : at((const device Block *) p) {}
    float get(uint c) const {
        const device Block & b = at[c >> 5];
        return float(b.d) * float(b.q[c & 31]);
    }
};

static inline float quad_total(float x) {
    x += simd_shuffle_xor(x, ushort(1));
    x += simd_shuffle_xor(x, ushort(2));
    return x;
}

template <typename T, typename Row, uint D>
kernel void quad_part(
        constant Task        & task   [[buffer(0)]],
        const device uchar   * q      [[buffer(1)]],
        const device uchar   * k      [[buffer(2)]],
        const device uchar   * v      [[buffer(3)]],
        const device int     * kv_len [[buffer(4)]],
        const device uchar   * bytes  [[buffer(5), function_constant(kMaskBytes)]],
        const device uchar   * halfs  [[buffer(6), function_constant(kMaskHalfs)]],
        const device float   * slopes [[buffer(7), function_constant(kSlopes)]],
        device float         * part_o [[buffer(8)]],
        device Tally         * part_t [[buffer(9)]],
        uint3 tg  [[threadgroup_position_in_grid]],
        uint  tid [[thread_index_in_threadgroup]]) {
    constexpr uint C = D / 4;
    const uint part    = tid & 3;
    const uint query   = tg.x * ROWS + tid / 4;
    const uint head    = tg.y;
    const uint segment = tg.z % task.segments;
    const uint batch   = tg.z / task.segments;
    const uint kv      = head / task.per_kv;
    const bool live    = query < task.n_q;
    const uint safe_q  = live ? query : task.n_q - 1;

    const int n     = kv_len[batch];
    const int span  = (n + int(task.segments) - 1) / int(task.segments);
    const int begin = int(segment) * span;
    const int end   = min(begin + span, n);
    const int place = int(safe_q) + task.shift - (task.from_end ? int(task.n_kv) - n : 0);

    const Dense<T> q_row(seek(q, task.q, batch, head, safe_q));
    float qs[C];
    float acc[C];
    for (uint c = 0; c < C; ++c) {
        qs[c]  = q_row.get(4 * c + part) * task.scale;
        acc[c] = 0.0f;
    }

    Tally tally = { -INFINITY, 0.0f };
    for (int j = begin; j < end; ++j) {
        const Row key(seek(k, task.k, batch, kv, j));
        float s = 0.0f;
        for (uint c = 0; c < C; ++c) {
            s += qs[c] * key.get(4 * c + part);
        }
        s = quad_total(s);
        if (kCap) {
            s = task.cap * precise::tanh(s / task.cap);
        }
        s *= LOG2E;
        if (kMask == 1) {
            s = j <= place ? s : -INFINITY;
        }
        if (kMaskBytes) {
            s = seek(bytes, task.m, batch, head, safe_q)[j] != 0 ? s : -INFINITY;
        }
        if (kMaskHalfs) {
            const float bias = float(((const device half *) seek(halfs, task.m, batch, head, safe_q))[j]);
            s += bias * (kSlopes ? slopes[head] : 1.0f) * LOG2E;
        }
        if (s == -INFINITY) {
            continue;
        }
        const float high = max(tally.high, s);
        const float keep = exp2(tally.high - high);
        const float w    = exp2(s - high);
        tally.high = high;
        tally.sum  = tally.sum * keep + w;
        const Row value(seek(v, task.v, batch, kv, j));
        for (uint c = 0; c < C; ++c) {
            acc[c] = acc[c] * keep + w * value.get(4 * c + part);
        }
    }

    if (live) {
        const ulong row = (ulong(batch) * task.n_head + head) * task.n_q + query;
        const ulong to  = row * task.segments + segment;
        for (uint c = 0; c < C; ++c) {
            part_o[to * D + 4 * c + part] = acc[c];
        }
        if (part == 0) {
            part_t[to] = tally;
        }
    }
}

template <typename T, uint D>
kernel void quad_join(
        constant Task      & task   [[buffer(0)]],
        const device float * part_o [[buffer(1)]],
        const device Tally * part_t [[buffer(2)]],
        const device float * sinks  [[buffer(3), function_constant(kSink)]],
        device uchar       * out    [[buffer(4)]],
        device float       * lse    [[buffer(5)]],
        uint2 at [[thread_position_in_grid]]) {
    const uint  d     = at.x;
    const ulong row   = at.y;
    const uint  query = row % task.n_q;
    const uint  head  = row / task.n_q % task.n_head;
    const uint  batch = row / task.n_q / task.n_head;

    const device Tally * tallies = part_t + row * task.segments;
    float high = kSink ? sinks[head] * LOG2E : -INFINITY;
    for (uint s = 0; s < task.segments; ++s) {
        high = max(high, tallies[s].high);
    }
    float total = kSink ? exp2(sinks[head] * LOG2E - high) : 0.0f;
    float value = 0.0f;
    for (uint s = 0; s < task.segments; ++s) {
        if (tallies[s].sum == 0.0f) {
            continue;   // a segment in which the row sees no key
        }
        const float share = exp2(tallies[s].high - high);
        total += share * tallies[s].sum;
        value += share * part_o[(row * task.segments + s) * D + d];
    }
    device T * to = (device T *) (out + batch * task.o.batch + head * task.o.head + query * task.o.token);
    to[d] = T(total > 0.0f ? value / total : 0.0f);
    if (d == 0) {
        lse[row] = total > 0.0f ? high + log2(total) : -INFINITY;
    }
}

#define PART(t, r, R, D) template [[host_name("quad_part_" #t "_" #r "_" #D)]] kernel decltype(quad_part<t, R, D>) quad_part<t, R, D>;
#define JOIN(t, D) template [[host_name("quad_join_" #t "_" #D)]] kernel decltype(quad_join<t, D>) quad_join<t, D>;
#define ALL(t, D) PART(t, t, Dense<t>, D) PART(t, q8_0, Blocked, D) JOIN(t, D)

ALL(float, 64)
ALL(float, 128)
ALL(half, 64)
ALL(half, 128)
