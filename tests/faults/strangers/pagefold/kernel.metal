// Split decode over pages: all rows of a key/value head in a threadgroup, parts joined by logarithms.
#include <metal_stdlib>

using namespace metal;

// Token generation from a paged store. A threadgroup takes one key/value head of one sequence and one contiguous share of
// its tokens, and serves all rows (query heads of the group x query tokens) with it; its simdgroups take the rows in turn.
// A lane scores one token of 32; afterwards the lanes share the value coordinates. `fold` joins the shares.

constant int  PAGE      [[function_constant(10)]];
constant bool HAS_BYTES [[function_constant(11)]];   // mask of bytes
constant bool HAS_BIAS  [[function_constant(12)]];   // additive mask
constant bool HAS_BAND  [[function_constant(13)]];
constant bool HAS_CAP   [[function_constant(14)]];
constant bool HAS_SINK  [[function_constant(15)]];

constant constexpr int LANES = 32;

struct Geometry {
    int   heads;
    int   kv_heads;
    int   tokens;        // query tokens
    int   shares;
    int   pages_per_seq;
    int   band;
    int   lead;          // position of query token 0 in the longest sequence
    int   longest;
    float scale;
    float cap;
    ulong q_seq, q_head, q_tok;
    ulong k_page, k_head, k_tok;
    ulong v_page, v_head, v_tok;
    ulong m_seq, m_head, m_tok;
};

struct Running {
    float hi;
    float den;

    // The factor for what was summed up before.
    float raise(float score) {
        const float old = hi;
        hi = max(hi, score);
        return hi == -INFINITY ? 1.0f : exp(old - hi);
    }
};

struct Pages {
    device const int * table;
    ulong page_stride;
    ulong tok_stride;

    ulong operator()(int token) const {
        return ulong(table[token / PAGE]) * page_stride + ulong(token % PAGE) * tok_stride;
    }
};

template <typename T, int DK>
inline float product(threadgroup const float4 * a, device const T * b) {
    float4 sum = float4(0.0f);
    for (int c = 0; c < DK / 4; ++c) {
        sum = fma(a[c], float4(((device const vec<T, 4> *) b)[c]), sum);
    }
    return (sum.x + sum.y) + (sum.z + sum.w);
}

template <typename T, int DK, int DV>
kernel void pagefold_share(
        constant Geometry   & geo     [[buffer(0)]],
        device const T      * q       [[buffer(1)]],
        device const T      * k       [[buffer(2)]],
        device const T      * v       [[buffer(3)]],
        device const int    * table   [[buffer(4)]],
        device const int    * lengths [[buffer(5)]],
        device const uchar  * bytes   [[buffer(6), function_constant(HAS_BYTES)]],
        device const T      * bias    [[buffer(7), function_constant(HAS_BIAS)]],
        device float        * sheet   [[buffer(8)]],
        device float        * logs    [[buffer(9)]],
        threadgroup float4  * desk    [[threadgroup(0)]],
        uint3 tgp  [[threadgroup_position_in_grid]],
        uint  lane [[thread_index_in_simdgroup]],
        uint  sg   [[simdgroup_index_in_threadgroup]],
        uint  nsg  [[simdgroups_per_threadgroup]]) {
    constexpr int OWN = DV / LANES;

    const int g     = tgp.x;
    const int seq   = tgp.y;
    const int share = tgp.z;
    const int fan   = geo.heads / geo.kv_heads;
    const int len   = lengths[seq];

    const int width = (len + geo.shares - 1) / geo.shares;
    const int begin = share * width;
    const int end   = min(begin + width, len);

    const Pages k_at{table + seq * geo.pages_per_seq, geo.k_page, geo.k_tok};
    const Pages v_at{table + seq * geo.pages_per_seq, geo.v_page, geo.v_tok};
    device const T * k_head = k + g * geo.k_head;
    device const T * v_head = v + g * geo.v_head;

    threadgroup float4 * query = desk + sg * (DK / 4);

    for (int r = sg; r < fan * geo.tokens; r += nsg) {
        const int head = g * fan + r / geo.tokens;
        const int tok  = r % geo.tokens;
        const int pos  = tok + geo.lead - (geo.longest - len);

        device const vec<T, 4> * src = (device const vec<T, 4> *)(q + seq * geo.q_seq + head * geo.q_head + tok * geo.q_tok);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (int c = lane; c < DK / 4; c += LANES) {
            query[c] = geo.scale * float4(src[c]);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);

        const ulong m_row = seq * geo.m_seq + head * geo.m_head + tok * geo.m_tok;
        const int   low   = HAS_BAND ? max(begin, pos - geo.band + 1) : begin;

        Running run{-INFINITY, 0.0f};
        float o[OWN];
        for (int i = 0; i < OWN; ++i) {
            o[i] = 0.0f;
        }
        for (int base = low; base < end; base += LANES) {
            const int token = base + lane;
            bool open = token < end;
            if (HAS_BYTES && open) {
                open = bytes[m_row + token] != 0;
            }
            float score = -INFINITY;
            if (open) {
                score = product<T, DK>(query, k_head + k_at(token));
                if (HAS_CAP) {
                    score = geo.cap * precise::tanh(score / geo.cap);
                }
                if (HAS_BIAS) {
                    score += float(bias[m_row + token]);
                }
            }
            const float fade   = run.raise(simd_max(score));
            const float weight = score == -INFINITY ? 0.0f : exp(score - run.hi);
            run.den = run.den * fade + simd_sum(weight);
            for (int i = 0; i < OWN; ++i) {
                o[i] *= fade;
            }
            const int count = min(LANES, end - base);
            for (int j = 0; j < count; ++j) {
                const float w = simd_shuffle(weight, ushort(j));
                device const T * value = v_head + v_at(base + j);
                for (int i = 0; i < OWN; ++i) {
                    o[i] += w * float(value[lane + LANES * i]);
                }
            }
        }

        // A share leaves a finished output and the logarithm of its denominator.
        const ulong place = (ulong(seq * geo.heads + head) * geo.tokens + tok) * geo.shares + share;
        const float inv   = run.den > 0.0f ? 1.0f / run.den : 0.0f;
        for (int i = 0; i < OWN; ++i) {
            sheet[place * DV + lane + LANES * i] = o[i] * inv;
        }
        if (lane == 0) {
            logs[place] = run.den > 0.0f ? run.hi + log(run.den) : -INFINITY;
        }
    }
}

template <typename T, int DV>
kernel void pagefold_fold(
        constant int        & shares [[buffer(0)]],
        constant int        & heads  [[buffer(1)]],
        constant int        & tokens [[buffer(2)]],
        device const float  * sheet  [[buffer(3)]],
        device const float  * logs   [[buffer(4)]],
        device const float  * sinks  [[buffer(5), function_constant(HAS_SINK)]],
        device T            * out    [[buffer(6)]],
        constant ulong      & o_seq  [[buffer(7)]],
        constant ulong      & o_head [[buffer(8)]],
        constant ulong      & o_tok  [[buffer(9)]],
        uint row [[threadgroup_position_in_grid]],
        uint c   [[thread_position_in_threadgroup]]) {
    const int tok  = int(row) % tokens;
    const int head = int(row) / tokens % heads;
    const int seq  = int(row) / tokens / heads;
    device const float * lg = logs + ulong(row) * shares;
    float hi = -INFINITY;
    if (HAS_SINK) {
        hi = sinks[head];
    }
    for (int s = 0; s < shares; ++s) {
        hi = max(hi, lg[s]);
    }
    float den = 0.0f;
    float o   = 0.0f;
    if (hi > -INFINITY) {
        if (HAS_SINK) {
            den = exp(sinks[head] - hi);
        }
        for (int s = 0; s < shares; ++s) {
            const float w = exp(lg[s] - hi);
            den += w;
            o   += w * sheet[(ulong(row) * shares + s) * DV + c];
        }
    }
    out[seq * o_seq + head * o_head + tok * o_tok + c] = T(den > 0.0f ? o / den : 0.0f);
}

#define PAGEFOLD(name, T, DK, DV) \
    template [[host_name("pagefold_share_" #name "_" #DK "_" #DV)]] kernel decltype(pagefold_share<T, DK, DV>) pagefold_share<T, DK, DV>;
#define FOLD(name, T, DV) \
    template [[host_name("pagefold_fold_" #name "_" #DV)]] kernel decltype(pagefold_fold<T, DV>) pagefold_fold<T, DV>;
#define ALL(name, T) PAGEFOLD(name, T, 64, 64) PAGEFOLD(name, T, 128, 128) PAGEFOLD(name, T, 192, 128) FOLD(name, T, 64) FOLD(name, T, 128)

ALL(half, half)
ALL(bfloat, bfloat)
