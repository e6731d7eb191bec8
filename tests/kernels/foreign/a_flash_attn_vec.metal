// Decoding attention: one query per head, keys spread over simdgroups and workgroups, partial results merged.
#include <metal_stdlib>
using namespace metal;

#define QK8_0 32
#define LANES 32

typedef struct {
    half   d;
    int8_t qs[QK8_0];
} block_q8_0;
static_assert(sizeof(block_q8_0) == sizeof(half) + QK8_0, "wrong q8_0 block size/padding");

struct attn_vec_args {
    int   n_kv;
    int   n_head;
    int   n_head_kv;
    int   nwg;
    float scale;
    int   pad;
    ulong nb11;
    ulong nb12;
    ulong nb21;
    ulong nb22;
};

constant bool attn_has_sinks [[function_constant(100)]];
constant uint attn_nwg_fc    [[function_constant(101)]];

// element 4*il..4*il+3 of a row
template <typename type4>
void dequantize_row4(device const type4 * src, short il, thread float4 & reg) {
    reg = (float4) src[il];
}

void dequantize_q8_0_row4(device const block_q8_0 * src, short il, thread float4 & reg) {
    device const block_q8_0 & b = src[il/8];
    device const int8_t * qs = b.qs + 4*(il%8);
    const float d = b.d;

    for (short i = 0; i < 4; ++i) {
        reg[i] = d*qs[i];
    }
}

// running maximum, sum of exponentials, and the weighted values that belong to them
struct online_state {
    float  m;
    float  s;
    float4 o;

    void init() thread {
        m = -MAXFLOAT/2;
        s = 0.0f;
        o = 0.0f;
    }

    void push(float score, float4 v) thread {
        const float m_new = max(m, score);
        const float a = exp(m - m_new);
        const float p = exp(score - m_new);
        s = s*a + p;
        o = o*a + p*v;
        m = m_new;
    }

    thread online_state & operator+=(const thread online_state & other) thread {
        const float m_new = max(m, other.m);
        const float a = exp(m - m_new);
        const float b = exp(other.m - m_new);
        s = s*a + other.s*b;
        o = o*a + other.o*b;
        m = m_new;
        return *this;
    }
};

// own overload beside the library's
inline online_state simd_shuffle_xor(const thread online_state & x, ushort mask) {
    online_state r;
    r.m = metal::simd_shuffle_xor(x.m, mask);
    r.s = metal::simd_shuffle_xor(x.s, mask);
    r.o = metal::simd_shuffle_xor(x.o, mask);
    return r;
}

template <
    typename kd_t, void (*deq_k)(device const kd_t *, short, thread float4 &),
    typename vd_t, void (*deq_v)(device const vd_t *, short, thread float4 &),
    int D>
kernel void kernel_attn_vec(
        constant attn_vec_args & args [[buffer(0)]],
        device const float * q     [[buffer(1)]],
        device const char  * k     [[buffer(2)]],
        device const char  * v     [[buffer(3)]],
        device const float * sinks [[buffer(4), function_constant(attn_has_sinks)]],
        device       float * dst   [[buffer(5)]],
        threadgroup float4 * shmem [[threadgroup(0)]],
        uint3  tgpig [[threadgroup_position_in_grid]],
        ushort nsg   [[simdgroups_per_threadgroup]],
        ushort tiisg [[thread_index_in_simdgroup]],
        ushort sgitg [[simdgroup_index_in_threadgroup]]) {
    constexpr short NL = D/4 < LANES ? D/4 : LANES; // lanes per key
    constexpr short NE = LANES/NL;                       // keys in flight per simdgroup
    static_assert(D/4 <= LANES && NL*NE == LANES, "one float4 per lane");

    const int ih  = tgpig.x;
    const int iwg = tgpig.y;
    const int ihk = ih/(args.n_head/args.n_head_kv);

    const short il = tiisg%NL;
    const short ie = tiisg/NL;

    const float4 qr = ((device const float4 *) (q + ih*D))[il]*args.scale;

    // contiguous range of keys of this workgroup
    const int chunk = (args.n_kv + args.nwg - 1)/args.nwg;
    const int k0 = iwg*chunk;
    const int k1 = min(k0 + chunk, args.n_kv);

    online_state st;
    st.init();

    for (int ic = k0 + sgitg*NE; ic < k1; ic += nsg*NE) {
        const int  ik = ic + ie;
        const bool ok = ik < k1;
        const int  ir = ok ? ik : k1 - 1;

        float4 kr;
        deq_k((device const kd_t *) (k + ir*args.nb11 + ihk*args.nb12), il, kr);

        float s = dot(qr, kr);
#pragma clang loop unroll(full)
        for (ushort off = NL/2; off > 0; off /= 2) {
            s += metal::simd_shuffle_xor(s, off);
        }

        if (ok) {
            float4 vr;
            deq_v((device const vd_t *) (v + ir*args.nb21 + ihk*args.nb22), il, vr);
            st.push(s, vr);
        }
    }

    // merge the key lanes
    for (ushort off = NL; off < LANES; off *= 2) {
        const online_state other = simd_shuffle_xor(st, off);
        st += other;
    }

    // merge the simdgroups: rows of NL float4 and one float4 (m, s, -, -)
    threadgroup float4 * mine = shmem + sgitg*(NL + 1);
    if (ie == 0) {
        mine[il] = st.o;
    }
    if (tiisg == 0) {
        mine[NL].xy = float2(st.m, st.s);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    if (sgitg != 0 || ie != 0) {
        return;
    }

    for (ushort i = 1; i < nsg; ++i) {
        threadgroup const float4 * theirs = shmem + i*(NL + 1);
        online_state other = { theirs[NL].x, theirs[NL].y, theirs[il] };
        st += other;
    }

    if (args.nwg == 1) {
        if (attn_has_sinks) {
            // a sink takes part of the probability and has no value
            online_state sink = { sinks[ih], 1.0f, float4(0.0f) };
            st += sink;
        }
        ((device float4 *) (dst + ih*D))[il] = st.s == 0.0f ? float4(0.0f) : st.o/st.s;
    } else {
        // [head][workgroup][D + 2]
        device float * out = dst + (ih*args.nwg + iwg)*(D + 2);
        for (short i = 0; i < 4; ++i) {
            out[4*il + i] = st.o[i];
        }
        if (il == 0) {
            out[D + 0] = st.m;
            out[D + 1] = st.s;
        }
    }
}

typedef decltype(kernel_attn_vec<float4, dequantize_row4<float4>, float4, dequantize_row4<float4>, 64>) attn_vec_t;

template [[host_name("attn_vec_f32_d32")]]   kernel attn_vec_t kernel_attn_vec<float4,  dequantize_row4<float4>,  float4,  dequantize_row4<float4>,  32>;
template [[host_name("attn_vec_f32_d64")]]   kernel attn_vec_t kernel_attn_vec<float4,  dequantize_row4<float4>,  float4,  dequantize_row4<float4>,  64>;
template [[host_name("attn_vec_f16_d64")]]   kernel attn_vec_t kernel_attn_vec<half4,   dequantize_row4<half4>,   half4,   dequantize_row4<half4>,   64>;
template [[host_name("attn_vec_f16_d128")]]  kernel attn_vec_t kernel_attn_vec<half4,   dequantize_row4<half4>,   half4,   dequantize_row4<half4>,   128>;
template [[host_name("attn_vec_bf16_d64")]]  kernel attn_vec_t kernel_attn_vec<bfloat4, dequantize_row4<bfloat4>, bfloat4, dequantize_row4<bfloat4>, 64>;
template [[host_name("attn_vec_q8_0_d64")]]  kernel attn_vec_t kernel_attn_vec<block_q8_0, dequantize_q8_0_row4, block_q8_0, dequantize_q8_0_row4, 64>;
template [[host_name("attn_vec_q8_0_f16_d128")]] kernel attn_vec_t kernel_attn_vec<block_q8_0, dequantize_q8_0_row4, half4, dequantize_row4<half4>, 128>;

// One simdgroup per head; lane i looks at workgroup i.
template <int D>
[[kernel, max_total_threads_per_threadgroup(LANES)]]
void kernel_attn_vec_reduce(
        device const float * part  [[buffer(0)]],
        device       float * dst   [[buffer(1)]],
        device const float * sinks [[buffer(2), function_constant(attn_has_sinks)]],
        uint   ih    [[threadgroup_position_in_grid]],
        ushort tiisg [[thread_index_in_simdgroup]]) {
    const uint nwg = attn_nwg_fc;

    device const float * src = part + ih*nwg*(D + 2);

    const bool has = tiisg < nwg;
    float m = has ? src[tiisg*(D + 2) + D] : -MAXFLOAT/2;
    float s = has ? src[tiisg*(D + 2) + D + 1] : 0.0f;

    float mx = simd_max(m);
    if (attn_has_sinks) {
        mx = fmax(mx, sinks[ih]);
    }
    const float w = exp(m - mx);
    float sum = simd_sum(s*w);
    if (attn_has_sinks) {
        sum += exp(sinks[ih] - mx);
    }
    const float inv = sum == 0.0f ? 0.0f : 1.0f/sum;

    for (short i0 = 0; i0 < D; i0 += LANES) {
        float acc = 0.0f;
        for (ushort j = 0; j < nwg; ++j) {
            acc += simd_shuffle(w, j)*src[j*(D + 2) + i0 + tiisg];
        }
        dst[ih*D + i0 + tiisg] = acc*inv;
    }
}

template [[host_name("attn_vec_reduce_d32")]]  [[kernel]] decltype(kernel_attn_vec_reduce<32>)  kernel_attn_vec_reduce<32>;
template [[host_name("attn_vec_reduce_d64")]]  [[kernel]] decltype(kernel_attn_vec_reduce<64>)  kernel_attn_vec_reduce<64>;
template [[host_name("attn_vec_reduce_d128")]] [[kernel]] decltype(kernel_attn_vec_reduce<128>) kernel_attn_vec_reduce<128>;
