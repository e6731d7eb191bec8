// Tiled attention: every simdgroup owns eight query rows, the threadgroup shares tiles of K and V.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>

using namespace metal;

#define FOR_UNROLL(x) _Pragma("clang loop unroll(full)") for (x)
#define PAD_ROWS 8

constant bool fc_causal      [[function_constant(0)]];
constant bool fc_has_mask    [[function_constant(1)]];
constant bool fc_has_softcap [[function_constant(2)]];
constant int  fc_nsg         [[function_constant(3)]];

constant bool has_softcap = is_function_constant_defined(fc_has_softcap) ? fc_has_softcap : false;
constant short nsg        = is_function_constant_defined(fc_nsg) ? (short) fc_nsg : 1;

typedef struct {
    int32_t  n_q;
    int32_t  n_kv;
    int32_t  n_head;
    int32_t  n_head_kv;
    uint64_t nb01; // bytes from one query to the next
    uint64_t nb02; // ... and from head to head
    uint64_t nb11;
    uint64_t nb12;
    uint64_t nb21;
    uint64_t nb22;
    float    scale;
    float    logit_softcap;
    int32_t  mask_stride;
    int32_t  reserved;
} flash_attn_args;

template <typename T>
static inline void load_tile(
        threadgroup T       * dst,
        device const char   * src,
        const uint64_t        row_bytes,
        const short           rows,
        const short           cols,
        const int             valid,
        const short           tid,
        const short           nth) {
    for (short i = tid; i < rows*cols; i += nth) {
        const short r = i/cols;
        const short c = i%cols;

        dst[i] = r < valid ? ((device const T *) (src + r*row_bytes))[c] : (T) 0.0f;
    }
}

template <typename T, typename P, short D, short BK>
kernel void kernel_flash_attn_tile(
        constant flash_attn_args & args [[buffer(0)]],
        device const char * q           [[buffer(1)]],
        device const char * k           [[buffer(2)]],
        device const char * v           [[buffer(3)]],
        device const half * mask        [[buffer(4), function_constant(fc_has_mask)]],
        device       float * dst        [[buffer(5)]],
        threadgroup  char * shmem       [[threadgroup(0)]],
        uint3   tgpig [[threadgroup_position_in_grid]],
        ushort3 ntg   [[threads_per_threadgroup]],
        ushort  tiisg [[thread_index_in_simdgroup]],
        ushort  sgitg [[simdgroup_index_in_threadgroup]]) {
    static_assert(D % 8 == 0 && BK % 8 == 0, "tiles are made of 8x8 matrices");

    constexpr short D8  = D/8;
    constexpr short BK8 = BK/8;

    const short nth = ntg.x*ntg.y;
    const short tid = 32*sgitg + tiisg;
    const short bq  = PAD_ROWS*nsg;

    const int iq0 = tgpig.x*bq;
    const int ih  = tgpig.y;
    const int ihk = ih/(args.n_head/args.n_head_kv);

    threadgroup float * so = (threadgroup float *) shmem + sgitg*PAD_ROWS*D;
    threadgroup float * ss = (threadgroup float *) shmem + bq*D + sgitg*PAD_ROWS*BK;
    threadgroup float * sd = (threadgroup float *) shmem + bq*D + bq*BK + sgitg*64;
    threadgroup char  * sh = shmem + sizeof(float)*(bq*D + bq*BK + nsg*64);
    threadgroup T     * sqt = (threadgroup T *) sh;
    threadgroup T     * sk  = sqt + bq*D;
    threadgroup T     * sv  = sk + BK*D;
    threadgroup P     * sp  = (threadgroup P *) (sv + BK*D) + sgitg*PAD_ROWS*BK;

    load_tile<T>(sqt, q + iq0*args.nb01 + ih*args.nb02, args.nb01, bq, D, args.n_q - iq0, tid, nth);

    sd[tiisg]      = 0.0f;
    sd[tiisg + 32] = 0.0f;

    simdgroup_float8x8 lo[D8];
    FOR_UNROLL (short i = 0; i < D8; ++i) {
        lo[i] = make_filled_simdgroup_matrix<float, 8>(0.0f);
    }

    // four lanes share a row
    const short row = tiisg/4;
    const short c0  = tiisg%4;
    const int   iq  = iq0 + sgitg*PAD_ROWS + row;
    const int   off = args.n_kv - args.n_q;

    float M = -MAXFLOAT/2;
    float S = 0.0f;

    threadgroup const T * sq = sqt + sgitg*PAD_ROWS*D;

    for (int ic = 0; ic < args.n_kv; ic += BK) {
        if (fc_causal && ic > iq0 + bq - 1 + off) {
            break;
        }

        threadgroup_barrier(mem_flags::mem_threadgroup);
        load_tile<T>(sk, k + ic*args.nb11 + ihk*args.nb12, args.nb11, BK, D, args.n_kv - ic, tid, nth);
        load_tile<T>(sv, v + ic*args.nb21 + ihk*args.nb22, args.nb21, BK, D, args.n_kv - ic, tid, nth);
        threadgroup_barrier(mem_flags::mem_threadgroup);

        FOR_UNROLL (short cc = 0; cc < BK8; ++cc) {
            simdgroup_float8x8 mqk = make_filled_simdgroup_matrix<float, 8>(0.0f);
            FOR_UNROLL (short i = 0; i < D8; ++i) {
                simdgroup_matrix<T, 8, 8> mq;
                simdgroup_matrix<T, 8, 8> mk;
                simdgroup_load(mq, sq + i*8, D);
                simdgroup_load(mk, sk + cc*8*D + i*8, D, ulong2(0, 0), true);
                simdgroup_multiply_accumulate(mqk, mq, mk, mqk);
            }
            simdgroup_store(mqk, ss + cc*8, BK, 0, false);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);

        {
            const float m_old = M;
            float part[BK/4];
            FOR_UNROLL (short j = 0; j < BK/4; ++j) {
                const int ik = ic + 4*j + c0;
                float s = ss[row*BK + 4*j + c0]*args.scale;
                if (has_softcap) {
                    s = args.logit_softcap*precise::tanh(s/args.logit_softcap);
                }
                if (fc_has_mask) {
                    if (iq < args.n_q && ik < args.n_kv) {
                        s += (float) mask[iq*args.mask_stride + ik];
                    }
                }
                if (ik >= args.n_kv || (fc_causal && ik > iq + off)) {
                    s = -MAXFLOAT;
                }
                part[j] = s;
                M = max(M, s);
            }
            M = quad_max(M);

            const float ms = exp(m_old - M);
            float sum = 0.0f;
            FOR_UNROLL (short j = 0; j < BK/4; ++j) {
                const float p = exp(part[j] - M);
                sum += p;
                sp[row*BK + 4*j + c0] = (P) p;
            }
            S = S*ms + quad_sum(sum);
            if (c0 == 0) {
                sd[row*8 + row] = ms;
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);

        simdgroup_float8x8 mdiag;
        simdgroup_load(mdiag, sd, 8);
        FOR_UNROLL (short i = 0; i < D8; ++i) {
            simdgroup_multiply(lo[i], mdiag, lo[i]);
        }

        FOR_UNROLL (short cc = 0; cc < BK8; ++cc) {
            simdgroup_matrix<P, 8, 8> mp;
            simdgroup_load(mp, sp + cc*8, BK);
            FOR_UNROLL (short i = 0; i < D8; ++i) {
                simdgroup_matrix<T, 8, 8> mv;
                simdgroup_load(mv, sv + cc*8*D + i*8, D);
                simdgroup_multiply_accumulate(lo[i], mp, mv, lo[i]);
            }
        }
    }

    // the last rescale is a division by the sum
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (c0 == 0) {
        sd[row*8 + row] = S == 0.0f ? 0.0f : 1.0f/S;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);

    simdgroup_float8x8 mdiag;
    simdgroup_load(mdiag, sd, 8);
    FOR_UNROLL (short i = 0; i < D8; ++i) {
        simdgroup_float8x8 mo;
        simdgroup_multiply(mo, mdiag, lo[i]);
        simdgroup_store(mo, so + i*8, D);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);

    for (short r = 0; r < PAD_ROWS && iq0 + sgitg*PAD_ROWS + r < args.n_q; ++r) {
        device float4 * out = (device float4 *) (dst + ((iq0 + sgitg*PAD_ROWS + r)*args.n_head + ih)*D);
        for (short i = tiisg; i < D/4; i += 32) {
            out[i] = ((threadgroup const float4 *) (so + r*D))[i];
        }
    }
}

typedef decltype(kernel_flash_attn_tile<float, float, 32, 16>) flash_attn_tile_t;

template [[host_name("flash_attn_f32_d32")]]     kernel flash_attn_tile_t kernel_flash_attn_tile<float,  float,  32, 16>;
template [[host_name("flash_attn_f32_d64")]]     kernel flash_attn_tile_t kernel_flash_attn_tile<float,  float,  64, 8>;
template [[host_name("flash_attn_f32_d96")]]     kernel flash_attn_tile_t kernel_flash_attn_tile<float,  float,  96, 8>;
template [[host_name("flash_attn_f16_d32")]]     kernel flash_attn_tile_t kernel_flash_attn_tile<half,   half,   32, 32>;
template [[host_name("flash_attn_f16_d64")]]     kernel flash_attn_tile_t kernel_flash_attn_tile<half,   half,   64, 16>;
template [[host_name("flash_attn_f16_p32_d64")]] kernel flash_attn_tile_t kernel_flash_attn_tile<half,   float,  64, 16>;
template [[host_name("flash_attn_bf16_d64")]]    kernel flash_attn_tile_t kernel_flash_attn_tile<bfloat, bfloat, 64, 16>;

// A mask for a sliding window: 0 where a query may look, a large negative number elsewhere.
struct window_args {
    int n_q;
    int n_kv;
    int window;
    float slope;
};

template <typename T>
[[kernel]] void kernel_window_mask(
        constant window_args & args,
        device T * dst,
        uint2 tpig [[thread_position_in_grid]]) {
    const int pos = (int) tpig.y + args.n_kv - args.n_q;
    const int dist = pos - (int) tpig.x;

    dst[tpig.y*args.n_kv + tpig.x] = select(T(-65504.0f), T(-args.slope*dist), dist >= 0 && dist < args.window);
}

template [[host_name("window_mask_f32")]] [[kernel]] void kernel_window_mask<float>(constant window_args &, device float *, uint2);
template [[host_name("window_mask_f16")]] [[kernel]] void kernel_window_mask<half>(constant window_args &, device half *, uint2);
