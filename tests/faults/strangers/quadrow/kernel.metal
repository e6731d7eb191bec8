// Prefill with a quad of lanes per query and tiles dealt to the simdgroups, over a circular store of keys.
#include <metal_stdlib>
#include <metal_simdgroup>

using namespace metal;

// Multi-query attention over a (possibly circular) token store. Four neighbouring lanes hold one query, so a
// simdgroup serves eight; the simdgroups of a threadgroup serve the same eight and deal the key tiles out in turn.

constant int  fc_mask [[function_constant(0)]];   // bit 0: causal, bit 1: band
constant bool fc_cap  [[function_constant(1)]];
constant bool fc_sink [[function_constant(2)]];

constant constexpr int   kRows  = 8;
constant constexpr int   kTile  = 8;
constant constexpr int   kMaxSg = 3;
constant constexpr float kLog2e = 1.44269504088896340736f;

enum Along { kBatch, kHead, kToken };

struct QuadArgs {
    ulong q[3];   // batch, head, token
    ulong k[3];
    ulong v[3];
    ulong o[3];
    int   n_query;
    int   n_key;
    int   group;
    int   slots;
    int   origin;
    int   band;
    int   shift;
    int   flush_right;
    float scale;
    float cap;
};

struct Span {
    int lo;
    int hi;
};

// The tokens of one head, by their age.
template <typename E>
struct Tokens {
    device const E * base;
    ulong            pitch;
    int              origin;
    int              slots;

    device const vec<E, 4> * at(int age) const {
        int slot = origin + age;
        if (slot >= slots) {
            slot -= slots;
        }
        return (device const vec<E, 4> *)(base + ulong(slot) * pitch);
    }
};

static inline Span reach(int first_pos, int last_pos, int band, int len) {
    Span span{0, len};
    if (fc_mask & 1) {
        span.hi = min(len, last_pos + 1);
    }
    if (fc_mask & 2) {
        span.lo = max(0, first_pos - band + 1);
    }
    return span;
}

static inline bool admits(int age, int pos, int band, int len) {
    bool ok = age < len;
    if (fc_mask & 1) {
        ok = ok && age <= pos;
    }
    if (fc_mask & 2) {
        ok = ok && age > pos - band;
    }
    return ok;
}

static inline float squash(float x, float cap) {
    return fc_cap ? cap * precise::tanh(x / cap) : x;
}

template <typename E, int D>
static inline void stage(threadgroup vec<E, 4> * tile, thread const Tokens<E> & from, int age, int len, ushort lane) {
    constexpr int kCols = D / 4;
    for (int e = lane; e < kTile * kCols; e += 32) {
        const int token = age + e / kCols;
        vec<E, 4> x(E(0));
        if (token < len) {
            x = from.at(token)[e % kCols];
        }
        tile[e] = x;
    }
}

template <typename E, int D>
kernel void quadrow(
        device const E    * q_mem [[buffer(0)]],
        device const E    * k_mem [[buffer(1)]],
        device const E    * v_mem [[buffer(2)]],
        device E          * o_mem [[buffer(3)]],
        constant QuadArgs & a     [[buffer(4)]],
        device const int  * lens  [[buffer(5)]],
        device const float * sink_logits [[buffer(6), function_constant(fc_sink)]],
        threadgroup char  * arena [[threadgroup(0)]],
        uint3  tg   [[threadgroup_position_in_grid]],
        ushort lane [[thread_index_in_simdgroup]],
        ushort sg   [[simdgroup_index_in_threadgroup]],
        ushort nsg  [[simdgroups_per_threadgroup]]) {
    constexpr int kVecs  = D / 16;
    constexpr int kCols  = D / 4;
    constexpr int kPlane = 2 * kTile * D * int(sizeof(E));   // bytes of a simdgroup's two tiles, or of its eight outputs

    threadgroup float2 stats[kMaxSg * kRows];

    const int head  = tg.y;
    const int batch = tg.z;
    const int quad  = lane >> 2;
    const int part  = lane & 3;
    const int len   = lens[batch];
    const int row0  = int(tg.x) * kRows;
    const int row   = row0 + quad;
    const int shift = a.shift - (a.flush_right ? a.n_key - len : 0);
    const int pos   = row + shift;

    const int kv = head / a.group;
    Tokens<E> keys{k_mem + batch * a.k[kBatch] + kv * a.k[kHead], a.k[kToken], a.origin, a.slots};
    Tokens<E> vals{v_mem + batch * a.v[kBatch] + kv * a.v[kHead], a.v[kToken], a.origin, a.slots};

    threadgroup vec<E, 4> * kt = (threadgroup vec<E, 4> *)(arena + sg * kPlane);
    threadgroup vec<E, 4> * vt = kt + kTile * kCols;

    float4 qv[kVecs];
    float4 acc[kVecs];
    {
        device const vec<E, 4> * src =
            (device const vec<E, 4> *)(q_mem + batch * a.q[kBatch] + head * a.q[kHead] + min(row, a.n_query - 1) * a.q[kToken]);
        for (int i = 0; i < kVecs; ++i) {
            qv[i]  = float4(src[part + 4 * i]) * a.scale;
            acc[i] = float4(0.0f);
        }
    }

    const Span span = reach(row0 + shift, min(row0 + kRows, a.n_query) - 1 + shift, a.band, len);

    float peak = -INFINITY;
    float mass = 0.0f;
    for (int t = span.lo / kTile + sg; t * kTile < span.hi; t += nsg) {
        const int age = t * kTile;
        stage<E, D>(kt, keys, age, len, lane);
        stage<E, D>(vt, vals, age, len, lane);
        simdgroup_barrier(mem_flags::mem_threadgroup);

        float s[kTile];
        float high = peak;
        for (int r = 0; r < kTile; ++r) {
            float x = 0.0f;
            for (int i = 0; i < kVecs; ++i) {
                x += dot(qv[i], float4(kt[r * kCols + part + 4 * i]));
            }
            x += simd_shuffle_xor(x, 1);
            x += simd_shuffle_xor(x, 2);
            s[r] = admits(age + r, pos, a.band, len) ? squash(x, a.cap) * kLog2e : -INFINITY;
            high = max(high, s[r]);
        }
        if (high > -INFINITY) {
            const float fade = exp2(peak - high);
            mass *= fade;
            for (int i = 0; i < kVecs; ++i) {
                acc[i] *= fade;
            }
            for (int r = 0; r < kTile; ++r) {
                const float w = exp2(s[r] - high);
                mass += w;
                for (int i = 0; i < kVecs; ++i) {
                    acc[i] += w * float4(vt[r * kCols + part + 4 * i]);
                }
            }
            peak = high;
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }

    // The tiles are done with; the same memory takes what each simdgroup has summed up.
    threadgroup float4 * mine = (threadgroup float4 *)(arena + sg * kPlane);
    for (int i = 0; i < kVecs; ++i) {
        mine[quad * kCols + part + 4 * i] = acc[i];
    }
    if (part == 0) {
        stats[sg * kRows + quad] = float2(peak, mass);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    device E * out = o_mem + batch * a.o[kBatch] + head * a.o[kHead];
    for (int e = sg * 32 + lane; e < kRows * kCols; e += nsg * 32) {
        const int r = e / kCols;
        if (row0 + r >= a.n_query) {
            break;
        }
        const float sink = fc_sink ? sink_logits[head] * kLog2e : -INFINITY;
        float top = sink;
        for (int g = 0; g < nsg; ++g) {
            top = max(top, stats[g * kRows + r].x);
        }
        float4 num = float4(0.0f);
        float  den = 0.0f;
        if (top > -INFINITY) {
            den = fc_sink ? exp2(sink - top) : 0.0f;
            for (int g = 0; g < nsg; ++g) {
                const float2 st = stats[g * kRows + r];
                const float  f  = exp2(st.x - top);
                den += st.y * f;
                num += f * ((threadgroup const float4 *)(arena + g * kPlane))[e];
            }
        }
        const float inv = den > 0.0f ? 1.0f / den : 0.0f;
        ((device vec<E, 4> *)(out + (row0 + r) * a.o[kToken]))[e % kCols] = vec<E, 4>(num * inv);
    }
}

#define QUADROW(tag, type, d) \
    template [[host_name("quadrow_" #tag "_" #d)]] kernel decltype(quadrow<type, d>) quadrow<type, d>;

QUADROW(float, float, 64)
QUADROW(float, float, 80)
QUADROW(float, float, 128)
QUADROW(half, half, 64)
QUADROW(half, half, 80)
QUADROW(half, half, 128)
