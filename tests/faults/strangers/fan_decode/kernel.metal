// fan_decode: decode attention in two passes. A slice of the keys of a query head belongs to a threadgroup; its simdgroups are cut into
// octets of 8 lanes, and an octet takes a key at a time. Octets fold into simdgroups by shuffles, simdgroups into the slice by threadgroup
// memory, and slices into a row by fan_join. Exponentials have base 2. Keys and values are half or blocks of 8 or 4 bits.

#include <metal_stdlib>

using namespace metal;

constant bool on_ring   [[function_constant(1)]];
constant bool on_pages  [[function_constant(2)]];
constant bool on_window [[function_constant(3)]];
constant bool on_alibi  [[function_constant(4)]];
constant bool on_bytes  [[function_constant(5)]];
constant bool on_cap    [[function_constant(6)]];
constant bool on_sinks  [[function_constant(7)]];

constant constexpr float kLog2e = 1.44269504088896f;
constant constexpr uint  kOctet = 8;   // lanes
constant constexpr uint  kWidth = 32;

struct Cache {
    ulong outer;   // bytes from a batch, or a block of pages, to the next
    ulong head;
    ulong token;
};

struct FanArgs {
    uint  n_head;
    uint  n_share;     // query heads of a key/value head
    uint  n_query;
    int   first_pos;   // position of query 0 in the longest batch
    uint  at_end;
    uint  n_longest;
    uint  n_slice;
    uint  window;
    uint  ring_start;
    uint  ring_size;
    uint  page;
    uint  pages;
    float scale;
    float cap;
    ulong q_batch, q_head, q_query;
    ulong m_batch, m_head, m_query;
    Cache k;
    Cache v;
};

struct q8_block {
    half d;
    char qs[32];
};

struct q4_block {
    half  d;
    uchar qs[16];   // coordinate i in the low half of byte i, coordinate 16 + i in the high half
};

// Readers of 4 coordinates, at a multiple of 4.
struct read_half {
    static float4 at(const device uchar * row, uint i) {
        return float4(*(const device half4 *) (row + i * sizeof(half)));
    }
};

struct read_q8_0 {
    static float4 at(const device uchar * row, uint i) {
        const device q8_block & b = ((const device q8_block *) row)[i / 32];
        const uint e = i % 32;
        return float(b.d) * float4(b.qs[e], b.qs[e + 1], b.qs[e + 2], b.qs[e + 3]);
    }
};

struct read_q4_0 {
    static float4 at(const device uchar * row, uint i) {
        const device q4_block & b = ((const device q4_block *) row)[i / 32];
        const uint e = i % 16;
        const uint down = i % 32 < 16 ? 0 : 4;
        float4 x;
        for (uint c = 0; c < 4; ++c) {
            x[c] = float((b.qs[e + c] >> down) & 0xF) - 8.0f;
        }
        return float(b.d) * x;
    }
};

// Where the token with this number lies.
inline ulong place_of(constant FanArgs & args, Cache c, const device int * table, uint batch, uint kv, uint token) {
    if (on_pages) {
        const ulong block = table[batch * args.pages + token / args.page];
        return block * c.outer + kv * c.head + (token % args.page) * c.token;
    }
    uint slot = token;
    if (on_ring) {
        slot += args.ring_start;
        slot = slot >= args.ring_size ? slot - args.ring_size : slot;
    }
    return batch * c.outer + kv * c.head + slot * c.token;
}

// A softmax under way: the highest score so far, and the sum of 2^(score - top).
struct Running {
    float top;
    float sum;
};

inline float shrink(float from, float to) {
    return from == -INFINITY ? 0.0f : exp2(from - to);
}

template <typename T, typename Reader, uint DK, uint DV>
kernel void fan_slice(
        constant FanArgs   & args   [[buffer(0)]],
        const device T     * q      [[buffer(1)]],
        const device uchar * k      [[buffer(2)]],
        const device uchar * v      [[buffer(3)]],
        const device int   * lens   [[buffer(4)]],
        const device int   * table  [[buffer(5), function_constant(on_pages)]],
        const device float * slopes [[buffer(6), function_constant(on_alibi)]],
        const device uchar * shown  [[buffer(7), function_constant(on_bytes)]],
        device float       * parts  [[buffer(8)]],
        device Running     * stats  [[buffer(9)]],
        threadgroup float  * pool   [[threadgroup(0)]],
        uint3 at   [[threadgroup_position_in_grid]],
        uint  lane [[thread_index_in_simdgroup]],
        uint  sg   [[simdgroup_index_in_threadgroup]],
        uint  nsg  [[simdgroups_per_threadgroup]]) {
    constexpr uint kQuads = DK / 4 / kOctet;   // float4 of a key, per lane
    constexpr uint vQuads = DV / 4 / kOctet;

    const uint batch = at.x / args.n_head;
    const uint head  = at.x % args.n_head;
    const uint query = at.y;
    const uint slice = at.z;
    const uint kv    = head / args.n_share;
    const uint seat  = lane % kOctet;
    const uint octet = sg * (kWidth / kOctet) + lane / kOctet;
    const uint octets = nsg * (kWidth / kOctet);

    const uint n   = lens[batch];
    const int  pos = int(query) + args.first_pos - (args.at_end != 0 ? int(args.n_longest - n) : 0);

    // The slice of the visible keys.
    uint low = 0;
    if (on_window && pos >= int(args.window)) {
        low = min(n, uint(pos) - args.window + 1);
    }
    const uint span  = (n - low + args.n_slice - 1) / args.n_slice;
    const uint begin = low + slice * span;
    const uint end   = min(begin + span, n);

    const float unit = on_cap ? args.scale : args.scale * kLog2e;
    const device T * q_row = q + batch * args.q_batch + head * args.q_head + query * args.q_query;
    float4 mine[kQuads];
    for (uint c = 0; c < kQuads; ++c) {
        const uint i = (c * kOctet + seat) * 4;
        mine[c] = unit * float4(q_row[i], q_row[i + 1], q_row[i + 2], q_row[i + 3]);
    }
    float4 acc[vQuads];
    for (uint c = 0; c < vQuads; ++c) {
        acc[c] = float4(0.0f);
    }
    Running run = {-INFINITY, 0.0f};

    for (uint token = begin + octet; token < end; token += octets) {
        if (on_bytes && shown[batch * args.m_batch + head * args.m_head + query * args.m_query + token] == 0) {
            continue;
        }
        const device uchar * key = k + place_of(args, args.k, table, batch, kv, token);
        float score = 0.0f;
        for (uint c = 0; c < kQuads; ++c) {
            score += dot(mine[c], Reader::at(key, (c * kOctet + seat) * 4));
        }
        score += simd_shuffle_xor(score, ushort(4));
        score += simd_shuffle_xor(score, ushort(2));
        score += simd_shuffle_xor(score, ushort(1));
        if (on_cap) {
            score = args.cap * precise::tanh(score / args.cap) * kLog2e;
        }
        if (on_alibi) {
            score -= slopes[head] * float(abs(int(token) - pos)) * kLog2e;
        }

        const float next   = max(run.top, score);
        const float factor = shrink(run.top, next);
        const float weight = exp2(score - next);
        run.top = next;
        run.sum = run.sum * factor + weight;

        const device uchar * value = v + place_of(args, args.v, table, batch, kv, token);
        for (uint c = 0; c < vQuads; ++c) {
            acc[c] = acc[c] * factor + weight * Reader::at(value, (c * kOctet + seat) * 4);
        }
    }

    // Octets of a simdgroup.
    for (ushort far = kOctet; far < kWidth; far *= 2) {
        const float other_top = simd_shuffle_xor(run.top, far);
        const float other_sum = simd_shuffle_xor(run.sum, far);
        const float next  = max(run.top, other_top);
        const float own   = shrink(run.top, next);
        const float other = shrink(other_top, next);
        run.sum = run.sum * own + other_sum * other;
        run.top = next;
        for (uint c = 0; c < vQuads; ++c) {
            acc[c] = acc[c] * own + simd_shuffle_xor(acc[c], far) * other;
        }
    }

    // Simdgroups of the threadgroup. pool: DV floats and a Running each.
    threadgroup float * own_pool = pool + sg * (DV + 2);
    if (lane < kOctet) {
        for (uint c = 0; c < vQuads; ++c) {
            for (uint e = 0; e < 4; ++e) {
                own_pool[(c * kOctet + seat) * 4 + e] = acc[c][e];
            }
        }
    }
    if (lane == 0) {
        own_pool[DV]     = run.top;
        own_pool[DV + 1] = run.sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float top = -INFINITY;
    for (uint s = 0; s < nsg; ++s) {
        top = max(top, pool[s * (DV + 2) + DV]);
    }
    const ulong row   = (ulong(at.x) * args.n_query + query);
    const ulong place = row * args.n_slice + slice;
    for (uint d = sg * kWidth + lane; d < DV; d += nsg * kWidth) {
        float x = 0.0f;
        for (uint s = 0; s < nsg; ++s) {
            x += pool[s * (DV + 2) + d] * shrink(pool[s * (DV + 2) + DV], top);
        }
        parts[place * DV + d] = x;
    }
    if (sg == 0 && lane == 0) {
        float sum = 0.0f;
        for (uint s = 0; s < nsg; ++s) {
            sum += pool[s * (DV + 2) + DV + 1] * shrink(pool[s * (DV + 2) + DV], top);
        }
        stats[place].top = top;
        stats[place].sum = sum;
    }
}

// A simdgroup joins the slices of a row. The sink of the head is a slice without a value.
template <typename T, uint DV>
kernel void fan_join(
        constant uint        & n_slice [[buffer(0)]],
        constant uint        & n_head  [[buffer(1)]],
        constant uint        & n_query [[buffer(2)]],
        const device float   * parts   [[buffer(3)]],
        const device Running * stats   [[buffer(4)]],
        const device float   * sinks   [[buffer(5), function_constant(on_sinks)]],
        device T             * out     [[buffer(6)]],
        uint row  [[threadgroup_position_in_grid]],
        uint lane [[thread_index_in_simdgroup]]) {
    const ulong base = ulong(row) * n_slice;

    float top = -INFINITY;
    for (uint s = lane; s < n_slice; s += kWidth) {
        top = max(top, stats[base + s].top);
    }
    top = simd_max(top);
    const float sink = on_sinks ? sinks[row / n_query % n_head] * kLog2e : -INFINITY;
    top = max(top, sink);

    float sum = 0.0f;
    for (uint s = lane; s < n_slice; s += kWidth) {
        sum += stats[base + s].sum * shrink(stats[base + s].top, top);
    }
    sum = simd_sum(sum) + shrink(sink, top);
    const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;

    for (uint d = lane; d < DV; d += kWidth) {
        float x = 0.0f;
        for (uint s = 0; s < n_slice; ++s) {
            x += parts[(base + s) * DV + d] * shrink(stats[base + s].top, top);
        }
        out[ulong(row) * DV + d] = T(x * inverse);
    }
}

#define FAN(t, name, dk, dv) \
    template [[host_name("fan_slice_" #t "_" #name "_" #dk "_" #dv)]] \
    kernel decltype(fan_slice<t, read_##name, dk, dv>) fan_slice<t, read_##name, dk, dv>;
#define FAN_TYPES(t, dk, dv) FAN(t, half, dk, dv) FAN(t, q8_0, dk, dv) FAN(t, q4_0, dk, dv)
#define JOIN(t, dv) template [[host_name("fan_join_" #t "_" #dv)]] kernel decltype(fan_join<t, dv>) fan_join<t, dv>;

FAN_TYPES(float, 64, 64)
FAN_TYPES(float, 128, 128)
FAN_TYPES(float, 192, 128)
FAN_TYPES(half, 64, 64)
FAN_TYPES(half, 128, 128)
FAN_TYPES(half, 192, 128)
JOIN(float, 64)
JOIN(float, 128)
JOIN(half, 64)
JOIN(half, 128)
