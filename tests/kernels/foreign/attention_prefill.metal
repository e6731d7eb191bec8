// Prefill attention as ggml-metal writes it: 8x8 simdgroup matrices from strided, transposed and threadgroup memory.
// Written from knowledge of the style; what each computes is checked in tests/conformance/foreign_kernels_test.cpp.
#include <metal_stdlib>
using namespace metal;
#define FOR_UNROLL(x) _Pragma("clang loop unroll(full)") for (x)
#define N_SIMDWIDTH 32
#define OP_FLASH_ATTN_EXT_NCPSG 64
constant bool FC_has_mask [[function_constant(0)]];
constant bool FC_bc_mask [[function_constant(10)]];
constant int32_t FC_nsg  [[function_constant(22)]];
constant int FC_ns10 [[function_constant(20)]];
constant int FC_ns20 [[function_constant(21)]];
struct kargs { int32_t ne01, ne02, ne03; uint64_t nb01, nb02, nb03; int32_t ne11; uint64_t nb11, nb12; uint64_t nb21, nb22; float scale; };

template <typename type4x4>
void dequantize_f16(device const half4x4 * src, short il, thread type4x4 & reg) { reg = (type4x4)(*src); }
#if defined(__HAVE_BFLOAT__)
typedef matrix<bfloat, 4, 4> bfloat4x4;
template <typename type4x4>
void dequantize_bf16(device const bfloat4x4 * src, short il, thread type4x4 & reg) { reg = (type4x4)(*src); }
#endif

template<
    typename q_t, typename q4_t, typename q8x8_t,
    typename k_t, typename k4x4_t, typename k8x8_t,
    typename v_t, typename v4x4_t, typename v8x8_t,
    typename qk_t, typename qk8x8_t,
    typename s_t, typename s2_t, typename s8x8_t,
    typename o_t, typename o4_t, typename o8x8_t,
    typename kd4x4_t, short nl_k, void (*deq_k)(device const kd4x4_t *, short, thread k4x4_t &),
    typename vd4x4_t, short nl_v, void (*deq_v)(device const vd4x4_t *, short, thread v4x4_t &),
    short DK, short DV, short Q, short C, short NSG>
void kernel_fa_impl(
        constant kargs & args,
        device const char * q, device const char * k, device const char * v, device const char * mask, device char * dst,
        threadgroup  half * shmem_f16,
        uint3   tgpig, ushort  tiisg, ushort  sgitg) {
    const ushort iq3 = tgpig[2];
    const ushort iq2 = tgpig[1];
    const ushort iq1 = tgpig[0]*Q;
#define NS10 (FC_ns10)
#define NS20 (FC_ns20)
    constexpr short KV   = 8;
    constexpr short DK4  = DK/4;
    constexpr short DK8  = DK/8;
    constexpr short DK16 = DK/16;
    constexpr short DV4  = DV/4;
    constexpr short DV8  = DV/8;
    constexpr short DV16 = DV/16;
    constexpr short PV   = (DV + 63) & ~63;
    constexpr short PV4  = PV/4;
    constexpr short PV8  = PV/8;
    constexpr short NW  = N_SIMDWIDTH;
    constexpr short NQ  = Q/NSG;
    constexpr short SH  = 2*C;
    constexpr short TS = 2*SH;
    constexpr short T  = DK + 2*PV;

    threadgroup q_t  * sq  = (threadgroup q_t  *) (shmem_f16 + 0*T);
    threadgroup q4_t * sq4 = (threadgroup q4_t *) (shmem_f16 + 0*T);
    threadgroup o_t  * so  = (threadgroup o_t  *) (shmem_f16 + 0*T + Q*DK);
    threadgroup o4_t * so4 = (threadgroup o4_t *) (shmem_f16 + 0*T + Q*DK);
    threadgroup s_t  * ss  = (threadgroup s_t  *) (shmem_f16 + Q*T);
    threadgroup s2_t * ss2 = (threadgroup s2_t *) (shmem_f16 + Q*T);
    threadgroup k_t    * sk    = (threadgroup k_t    *) (shmem_f16 + sgitg*(4*16*KV) + Q*T + Q*TS);
    threadgroup k4x4_t * sk4x4 = (threadgroup k4x4_t *) (shmem_f16 + sgitg*(4*16*KV) + Q*T + Q*TS);
    threadgroup v_t    * sv    = (threadgroup v_t    *) (shmem_f16 + sgitg*(4*16*KV) + Q*T + Q*TS);
    threadgroup v4x4_t * sv4x4 = (threadgroup v4x4_t *) (shmem_f16 + sgitg*(4*16*KV) + Q*T + Q*TS);
    threadgroup half2 * sm2 = (threadgroup half2 *) (shmem_f16 + Q*T + 2*C);

    device const half2 * pm2[NQ];
    FOR_UNROLL (short jj = 0; jj < NQ; ++jj) {
        const short j = jj*NSG + sgitg;
        pm2[jj] = (device const half2 *) ((device const char *) mask + (iq1 + j)*args.ne11*sizeof(half));
    }
    {
        const short ikv2 = iq2;
        k += ikv2*args.nb12;
        v += ikv2*args.nb22;
    }
    FOR_UNROLL (short jj = 0; jj < NQ; ++jj) {
        const short j = jj*NSG + sgitg;
        device const float4 * q4 = (device const float4 *) ((device const char *) q + j*args.nb01 + iq1*args.nb01 + iq2*args.nb02 + iq3*args.nb03);
        for (short i = tiisg; i < DK4; i += NW) {
            if (iq1 + j < args.ne01) { sq4[j*DK4 + i] = (q4_t) q4[i]; } else { sq4[j*DK4 + i] = 0; }
        }
    }
    FOR_UNROLL (short jj = 0; jj < NQ; ++jj) {
        const short j = jj*NSG + sgitg;
        for (short i = tiisg; i < DV4; i += NW) { so4[j*PV4 + i] = 0; }
        for (short i = tiisg; i < SH; i += NW) { ss[j*SH + i] = 0.0f; }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float S[NQ] = { [0 ... NQ-1] = 0.0f };
    {
        float M[NQ] = { [0 ... NQ-1] = -FLT_MAX/2 };
        for (int ic = 0; ic < args.ne11; ic += C) {
            if (FC_has_mask) {
                FOR_UNROLL (short jj = 0; jj < NQ; ++jj) {
                    const short j = jj*NSG + sgitg;
                    sm2[j*SH + tiisg] = pm2[jj][tiisg];
                    pm2[jj] += NW;
                }
            }
            {
                device      const k_t * pk = (device const k_t *) (k + ic*args.nb11);
                threadgroup const q_t * pq = sq;
                threadgroup       s_t * ps = ss;
                pk += sgitg*(8*NS10);
                ps += sgitg*(8*1);
                static_assert((C/8) % NSG == 0, "");
                constexpr short NC = (C/8)/NSG;
                if (is_same<kd4x4_t, k4x4_t>::value && DK % 16 == 0) {
                    for (short cc = 0; cc < NC; ++cc) {
                        qk8x8_t mqk = make_filled_simdgroup_matrix<qk_t, 8>((qk_t) 0.0f);
                        k8x8_t mk[2];
                        q8x8_t mq[2];
                        #pragma unroll (DK8/2)
                        for (short i = 0; i < DK8/2; ++i) {
                            simdgroup_barrier(mem_flags::mem_none);
                            simdgroup_load(mq[0], pq + 0*8 + 16*i, DK);
                            simdgroup_load(mq[1], pq + 1*8 + 16*i, DK);
                            simdgroup_load(mk[0], pk + 0*8 + 16*i, NS10, 0, true);
                            simdgroup_load(mk[1], pk + 1*8 + 16*i, NS10, 0, true);
                            simdgroup_barrier(mem_flags::mem_none);
                            simdgroup_multiply_accumulate(mqk, mq[0], mk[0], mqk);
                            simdgroup_multiply_accumulate(mqk, mq[1], mk[1], mqk);
                        }
                        simdgroup_store(mqk, ps, SH, 0, false);
                        pk += 8*(NSG*NS10);
                        ps += 8*(NSG);
                    }
                } else {
                    for (short ccc = 0; ccc < NC; ++ccc) {
                        const short cc = ccc*NSG + sgitg;
                        const short tx = tiisg%4;
                        const short ty = tiisg/4;
                        qk8x8_t mqk = make_filled_simdgroup_matrix<qk_t, 8>((qk_t) 0.0f);
                        for (short ii = 0; ii < DK16; ii += 4) {
                            device const kd4x4_t * pk4x4 = (device const kd4x4_t *) (k + ((ic + 8*cc + ty)*args.nb11));
                            if (DK16%4 == 0) {
                                { k4x4_t tmp; deq_k(pk4x4 + (ii + tx)/nl_k, (ii + tx)%nl_k, tmp); sk4x4[4*ty + tx] = tmp; }
                                simdgroup_barrier(mem_flags::mem_threadgroup);
                                FOR_UNROLL (short kk = 0; kk < 4; ++kk) {
                                    k8x8_t mk; q8x8_t mq;
                                    simdgroup_load(mk, sk + 16*kk + 0*8, 4*16, 0, true);
                                    simdgroup_load(mq, sq + (2*(ii + kk) + 0)*8, DK);
                                    simdgroup_multiply_accumulate(mqk, mq, mk, mqk);
                                    simdgroup_load(mk, sk + 16*kk + 1*8, 4*16, 0, true);
                                    simdgroup_load(mq, sq + (2*(ii + kk) + 1)*8, DK);
                                    simdgroup_multiply_accumulate(mqk, mq, mk, mqk);
                                }
                            }
                        }
                        simdgroup_store(mqk, ss + 8*cc, SH, 0, false);
                    }
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            FOR_UNROLL (short jj = 0; jj < NQ; ++jj) {
                const short j = jj*NSG + sgitg;
                const float m = M[jj];
                float2 s2 = ss2[j*SH/2 + tiisg]*args.scale;
                if (FC_has_mask) s2 += s2_t(sm2[j*SH + tiisg]);
                M[jj] = simd_max(max(M[jj], max(s2[0], s2[1])));
                const float  ms  = exp(m  - M[jj]);
                const float2 vs2 = exp(s2 - M[jj]);
                S[jj] = S[jj]*ms + simd_sum(vs2[0] + vs2[1]);
                ss2[j*SH/2 + tiisg] = vs2;
                if (DV4 % NW == 0) {
                    FOR_UNROLL (short ii = 0; ii < DV4/NW; ++ii) { const short i = ii*NW + tiisg; so4[j*PV4 + i] *= ms; }
                } else {
                    for (short i = tiisg; i < DV4; i += NW) { so4[j*PV4 + i] *= ms; }
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            {
                if (is_same<vd4x4_t, v4x4_t>::value) {
                    static_assert(PV8 % NSG == 0, "");
                    constexpr short NO = PV8/NSG;
                    o8x8_t lo[NO];
                    {
                        auto sot = so + 8*sgitg;
                        FOR_UNROLL (short ii = 0; ii < NO; ++ii) { simdgroup_load(lo[ii], sot, PV, 0, false); sot += 8*NSG; }
                    }
                    {
                        device const v_t * pv = (device const v_t *) (v + ic*args.nb21);
                        pv += 8*sgitg;
                        for (short cc = 0; cc < C/8; ++cc) {
                            s8x8_t vs;
                            simdgroup_load(vs, ss + 8*cc, SH, 0, false);
                            FOR_UNROLL (short ii = 0; ii < NO; ++ii) {
                                v8x8_t mv;
                                simdgroup_load(mv, pv + 8*ii*NSG, NS20, 0, false);
                                simdgroup_multiply_accumulate(lo[ii], vs, mv, lo[ii]);
                            }
                            pv += 8*NS20;
                        }
                    }
                    {
                        auto sot = so + 8*sgitg;
                        FOR_UNROLL (short ii = 0; ii < NO; ++ii) { simdgroup_store(lo[ii], sot, PV, 0, false); sot += 8*NSG; }
                    }
                } else {
                    const short tx = tiisg%4; const short ty = tiisg/4;
                    for (short cc = 0; cc < C/8; ++cc) {
                        s8x8_t vs;
                        simdgroup_load(vs, ss + 8*cc, SH, 0, false);
                        for (short ii = 4*sgitg; ii < DV16; ii += 4*NSG) {
                            device const vd4x4_t * pv4x4 = (device const vd4x4_t *) (v + ((ic + 8*cc + ty)*args.nb21));
                            { v4x4_t tmp; deq_v(pv4x4 + (ii + tx)/nl_v, (ii + tx)%nl_v, tmp); sv4x4[4*ty + tx] = tmp; }
                            simdgroup_barrier(mem_flags::mem_threadgroup);
                            FOR_UNROLL (short kk = 0; kk < 4; ++kk) {
                                v8x8_t mv[2]; o8x8_t lo[2];
                                simdgroup_load(mv[0], sv + 16*kk + 0*8, 4*16, 0, false);
                                simdgroup_load(mv[1], sv + 16*kk + 1*8, 4*16, 0, false);
                                simdgroup_load(lo[0], so + 8*(2*(ii + kk) + 0), PV, 0, false);
                                simdgroup_load(lo[1], so + 8*(2*(ii + kk) + 1), PV, 0, false);
                                simdgroup_multiply_accumulate(lo[0], vs, mv[0], lo[0]);
                                simdgroup_multiply_accumulate(lo[1], vs, mv[1], lo[1]);
                                simdgroup_store(lo[0], so + 8*(2*(ii + kk) + 0), PV, 0, false);
                                simdgroup_store(lo[1], so + 8*(2*(ii + kk) + 1), PV, 0, false);
                            }
                        }
                    }
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
    for (short jj = 0; jj < NQ; ++jj) {
        const short j = jj*NSG + sgitg;
        if (iq1 + j >= args.ne01) break;
        device float4 * dst4 = (device float4 *) dst + ((uint64_t)iq3*args.ne02*args.ne01 + iq2 + (uint64_t)(iq1 + j)*args.ne02)*DV4;
        const float scale = S[jj] == 0.0 ? 0.0f : 1.0f/S[jj];
        for (short i = tiisg; i < DV4; i += NW) { dst4[i] = (float4) so4[j*PV4 + i]*scale; }
    }
#undef NS10
#undef NS20
}

template<
    typename q_t, typename q4_t, typename q8x8_t,
    typename k_t, typename k4x4_t, typename k8x8_t,
    typename v_t, typename v4x4_t, typename v8x8_t,
    typename qk_t, typename qk8x8_t,
    typename s_t, typename s2_t, typename s8x8_t,
    typename o_t, typename o4_t, typename o8x8_t,
    typename kd4x4_t, short nl_k, void (*deq_k)(device const kd4x4_t *, short, thread k4x4_t &),
    typename vd4x4_t, short nl_v, void (*deq_v)(device const vd4x4_t *, short, thread v4x4_t &),
    short DK, short DV, short Q = 8, short C = OP_FLASH_ATTN_EXT_NCPSG>
kernel void kernel_fa(
        constant kargs & args,
        device const char * q, device const char * k, device const char * v, device const char * mask, device char * dst,
        threadgroup  half * shmem_f16 [[threadgroup(0)]],
        uint3   tgpig[[threadgroup_position_in_grid]],
        ushort  tiisg[[thread_index_in_simdgroup]],
        ushort  sgitg[[simdgroup_index_in_threadgroup]]) {
#define FWD_TMPL q_t, q4_t, q8x8_t, k_t, k4x4_t, k8x8_t, v_t, v4x4_t, v8x8_t, qk_t, qk8x8_t, s_t, s2_t, s8x8_t, o_t, o4_t, o8x8_t, kd4x4_t, nl_k, deq_k, vd4x4_t, nl_v, deq_v, DK, DV, Q, C
#define FWD_ARGS args, q, k, v, mask, dst, shmem_f16, tgpig, tiisg, sgitg
    switch (FC_nsg) {
        case 4: kernel_fa_impl<FWD_TMPL, 4>(FWD_ARGS); break;
        case 8: kernel_fa_impl<FWD_TMPL, 8>(FWD_ARGS); break;
    }
#undef FWD_TMPL
#undef FWD_ARGS
}
#define FA_TYPES \
    half,   half4,     simdgroup_half8x8,  \
    half,   half4x4,   simdgroup_half8x8,  \
    half,   half4x4,   simdgroup_half8x8,  \
    float,             simdgroup_float8x8, \
    float,  float2,    simdgroup_float8x8, \
    float,  float4,    simdgroup_float8x8
#define FA_TYPES_BF \
    bfloat, bfloat4,   simdgroup_bfloat8x8, \
    bfloat, bfloat4x4, simdgroup_bfloat8x8, \
    bfloat, bfloat4x4, simdgroup_bfloat8x8, \
    float,             simdgroup_float8x8,  \
    float,  float2,    simdgroup_float8x8,  \
    half,   half4,     simdgroup_half8x8
typedef decltype(kernel_fa<FA_TYPES, half4x4, 1, dequantize_f16, half4x4, 1, dequantize_f16, 64, 64>) fa_t;
template [[host_name("kernel_fa_f16_64")]] kernel fa_t kernel_fa<FA_TYPES, half4x4, 1, dequantize_f16, half4x4, 1, dequantize_f16, 64, 64>;
template [[host_name("kernel_fa_f16_128")]] kernel fa_t kernel_fa<FA_TYPES, half4x4, 1, dequantize_f16, half4x4, 1, dequantize_f16, 128, 128>;
#if defined(__HAVE_BFLOAT__)
template [[host_name("kernel_fa_bf16_128")]] kernel fa_t kernel_fa<FA_TYPES_BF, bfloat4x4, 1, dequantize_bf16, bfloat4x4, 1, dequantize_bf16, 128, 128>;
#endif
