// Decode attention as ggml-metal writes it: one simdgroup row of 32 lanes, quantised or 16-bit caches, several workgroups and a merge.
// Written from knowledge of the style; what each computes is checked in tests/conformance/foreign_kernels_test.cpp.
#include <metal_stdlib>
using namespace metal;

#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define SWAP(x, y) { auto tmp = (x); (x) = (y); (y) = tmp; }
#define PAD2(x, n) (((x) + (n) - 1) & ~((n) - 1))
#define FOR_UNROLL(x) _Pragma("clang loop unroll(full)") for (x)
#define N_SIMDWIDTH 32
#define FC_BASE 100
#define QK 32
#if defined(__HAVE_BFLOAT__)
typedef matrix<bfloat, 4, 4> bfloat4x4;
typedef matrix<bfloat, 2, 4> bfloat2x4;
#endif

typedef struct {
    half d;
    uint8_t qs[QK/2];
} blk_q4;
typedef struct { half d; int8_t qs[QK]; } blk_q8;
static_assert(sizeof(blk_q4) == sizeof(half) + QK/2, "wrong size");

typedef struct {
    int32_t ne01; int32_t ne02; int32_t ne03;
    uint64_t nb01; uint64_t nb02; uint64_t nb03;
    int32_t ne11; int32_t ne_12_2; int32_t ne_12_3; int32_t ns10;
    uint64_t nb11; uint64_t nb12; uint64_t nb13;
    int32_t ns20;
    uint64_t nb21; uint64_t nb22; uint64_t nb23;
    int32_t ne31; int32_t ne32; int32_t ne33;
    uint64_t nb31; uint64_t nb32; uint64_t nb33;
    int32_t ne1; int32_t ne2; int32_t ne3;
    float scale; float max_bias; float m0; float m1; int32_t n_head_log2; float logit_softcap;
} kargs_fa;

template <typename type4x4>
void deq_f16(device const half4x4 * src, short il, thread type4x4 & reg) { reg = (type4x4)(*src); }
template <typename type4>
void deq_f16_t4(device const half4 * src, short il, thread type4 & reg) { reg = (type4)(*src); }
#if defined(__HAVE_BFLOAT__)
template <typename type4>
void deq_bf16_t4(device const bfloat4 * src, short il, thread type4 & reg) { reg = (type4)(*src); }
template <typename type4x4>
void deq_bf16(device const bfloat4x4 * src, short il, thread type4x4 & reg) { reg = (type4x4)(*src); }
#endif
template <typename type4x4>
void deq_q4(device const blk_q4 * xb, short il, thread type4x4 & reg) {
    device const uint16_t * qs = ((device const uint16_t *)xb + 1);
    const float d1 = il ? (xb->d / 16.h) : xb->d;
    const float d2 = d1 / 256.f;
    const float md = -8.h * xb->d;
    const ushort mask0 = il ? 0x00F0 : 0x000F;
    const ushort mask1 = mask0 << 8;
    float4x4 reg_f;
    for (int i = 0; i < 8; i++) {
        reg_f[i/2][2*(i%2) + 0] = d1 * (qs[i] & mask0) + md;
        reg_f[i/2][2*(i%2) + 1] = d2 * (qs[i] & mask1) + md;
    }
    reg = (type4x4) reg_f;
}
template <typename type4>
void deq_q4_t4(device const blk_q4 * xb, short il, thread type4 & reg) {
    device const uint16_t * qs = ((device const uint16_t *)xb + 1);
    const float d1 = (il/4) ? (xb->d / 16.h) : xb->d;
    const float d2 = d1 / 256.f;
    const float md = -8.h * xb->d;
    const ushort mask0 = (il/4) ? 0x00F0 : 0x000F;
    const ushort mask1 = mask0 << 8;
    for (int i = 0; i < 2; i++) {
        reg[2*i + 0] = d1 * (qs[2*(il%4) + i] & mask0) + md;
        reg[2*i + 1] = d2 * (qs[2*(il%4) + i] & mask1) + md;
    }
}
template <typename type4>
void deq_q8_t4(device const blk_q8 *xb, short il, thread type4 & reg) {
    device const int8_t * qs = ((device const int8_t *)xb->qs);
    const float d = xb->d;
    for (int i = 0; i < 4; i++) { reg[i] = (qs[4*(il%8) + i] * d); }
}

constant bool FC_has_mask  [[function_constant(FC_BASE + 0)]];
constant bool FC_has_sinks [[function_constant(FC_BASE + 1)]];
constant bool FC_has_bias  [[function_constant(FC_BASE + 2)]];
constant bool FC_has_scap  [[function_constant(FC_BASE + 3)]];
constant int32_t FC_ns10 [[function_constant(FC_BASE + 20)]];
constant int32_t FC_ns20 [[function_constant(FC_BASE + 21)]];
constant int32_t FC_nsg  [[function_constant(FC_BASE + 22)]];
constant int32_t FC_nwg  [[function_constant(FC_BASE + 23)]];

template<
    typename q4_t, typename k4_t, typename v4_t, typename qk_t, typename s_t, typename s4_t, typename o4_t,
    typename kd4_t, short nl_k, void (*deq_k_t4)(device const kd4_t *, short, thread k4_t &),
    typename vd4_t, short nl_v, void (*deq_v_t4)(device const vd4_t *, short, thread v4_t &),
    short DK, short DV, short NE = 4, short Q = 1, short C = 32>
kernel void kernel_fa_vec(
        constant kargs_fa & args,
        device const char * q,
        device const char * k,
        device const char * v,
        device const char * mask,
        device const char * sinks,
        device       char * dst,
        threadgroup  half * shmem_f16 [[threadgroup(0)]],
        uint3   tgpig[[threadgroup_position_in_grid]],
        ushort  tiisg[[thread_index_in_simdgroup]],
        ushort  sgitg[[simdgroup_index_in_threadgroup]]) {
    static_assert(DK % 32 == 0, "DK must be divisible by 32");
#define NWG  (FC_nwg)
#define NSG  (FC_nsg)
#define NS10 (FC_ns10)
#define NS20 (FC_ns20)
    const short iwg = tgpig[2]%NWG;
    const ushort iq3 = tgpig[2]/NWG;
    const ushort iq2 = tgpig[1];
    const ushort iq1 = tgpig[0];

    constexpr short DK4 = DK/4;
    constexpr short DV4 = DV/4;
    constexpr short PK  = PAD2(DK, 128);
    constexpr short PK4 = PK/4;
    constexpr short PV  = PAD2(DV, 128);
    constexpr short PV4 = PV/4;
    constexpr short NW  = N_SIMDWIDTH;
    constexpr short NL  = NW/NE;
    constexpr short SH  = 4*C;

    static_assert(DK4 % NL == 0, "DK4 must be divisible by NL");
    const short T = PK + NSG*SH;

    threadgroup q4_t  * sq4 = (threadgroup q4_t  *) (shmem_f16 +                      0*PK);
    threadgroup s_t   * ss  = (threadgroup s_t   *) (shmem_f16 +   sgitg*SH       + NSG*PK);
    threadgroup s4_t  * ss4 = (threadgroup s4_t  *) (shmem_f16 +   sgitg*SH       + NSG*PK);
    threadgroup half  * sm  = (threadgroup half  *) (shmem_f16 +   sgitg*SH + 2*C + NSG*PK);
    threadgroup o4_t  * so4 = (threadgroup o4_t  *) (shmem_f16 + 2*sgitg*PV       + NSG*PK + NSG*SH);

    so4 += tiisg;
    {
        q += iq1*args.nb01 + iq2*args.nb02 + iq3*args.nb03;
        const short ikv2 = iq2/(args.ne02/args.ne_12_2);
        const short ikv3 = iq3/(args.ne03/args.ne_12_3);
        k += ikv2*args.nb12 + ikv3*args.nb13;
        v += ikv2*args.nb22 + ikv3*args.nb23;
    }
    device const float4 * q4 = (device const float4 *) ((device const char *) q);
    if (iq1 < args.ne01) {
        for (short i = tiisg; i < PK4; i += NW) {
            if (i < DK4) { sq4[i] = (q4_t) q4[i]; } else { sq4[i] = (q4_t) 0.0f; }
        }
    }
    if ((DV4/NL % NW == 0) || tiisg < NL) {
        for (short i = 0; i < DV4/NL; ++i) { so4[i*NL] = (o4_t) 0.0f; }
    }
    for (short i = tiisg; i < SH/4; i += NW) { ss4[i] = (s4_t) 0.0f; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    {
        float S = 0.0f;
        float M = -FLT_MAX/2;
        const short tx = tiisg%NL;
        const short ty = tiisg/NL;
        device const half * pm = (device const half *) (mask + iq1*args.nb31 + (iq2%args.ne32)*args.nb32 + (iq3%args.ne33)*args.nb33);
        float slope = 1.0f;
        if (FC_has_bias) {
            const short h = iq2;
            const float base = h < args.n_head_log2 ? args.m0 : args.m1;
            const short exph = h < args.n_head_log2 ? h + 1 : 2*(h - args.n_head_log2) + 1;
            slope = pow(base, exph);
        }
        for (int ic0 = (int) iwg*C*NSG; ic0 < args.ne11; ic0 += (int) NWG*C*NSG) {
            const int ic = ic0 + C*sgitg;
            if (ic >= args.ne11) { break; }
            if (FC_has_mask) { sm[tiisg] = pm[ic + tiisg]; }
            if (FC_has_mask && simd_max(sm[tiisg]) <= -MAXHALF) { continue; }
            {
                device      const k4_t * pk4 = (device const k4_t *) (k + ic*args.nb11);
                threadgroup const q4_t * pq4 = sq4;
                pk4 += ty*NS10/4 + tx;
                pq4 += tx;
                qk_t mqk[C/NE] = { [ 0 ... C/NE - 1] = 0.0f };
                FOR_UNROLL (short cc = 0; cc < C/NE; ++cc) {
                    if (is_same<kd4_t, k4_t>::value) {
                        FOR_UNROLL (short ii = 0; ii < DK4/NL; ++ii) {
                            mqk[cc] += dot((float4) pk4[cc*NE*NS10/4 + ii*NL], (float4) pq4[ii*NL]);
                        }
                    } else {
                        device const kd4_t * pk = (device const kd4_t *) (k + ((ic + NE*cc + ty)*args.nb11));
                        k4_t mk;
                        FOR_UNROLL (short ii = 0; ii < DK4/NL; ++ii) {
                            const short i = ii*NL + tx;
                            deq_k_t4(pk + i/nl_k, i%nl_k, mk);
                            mqk[cc] += dot((float4) mk, (float4) sq4[i]);
                        }
                    }
                    if (NE == 1) {
                        mqk[cc] = simd_sum(mqk[cc]);
                    } else {
                        if (NE <= 1) { mqk[cc] += simd_shuffle_down(mqk[cc], 16); }
                        if (NE <= 2) { mqk[cc] += simd_shuffle_down(mqk[cc],  8); }
                        if (NE <= 4) { mqk[cc] += simd_shuffle_down(mqk[cc],  4); }
                        if (NE <= 8) { mqk[cc] += simd_shuffle_down(mqk[cc],  2); }
                        if (NE <= 16) { mqk[cc] += simd_shuffle_down(mqk[cc],  1); }
                        mqk[cc] = simd_shuffle(mqk[cc], NL*ty);
                    }
                }
                if (FC_has_mask && !FC_has_scap && !FC_has_bias) {
                    ss[NE*tx + ty] = fma(mqk[tx], args.scale, (qk_t) sm[NE*tx + ty]);
                } else {
                    mqk[tx] *= args.scale;
                    if (FC_has_scap) { mqk[tx] = args.logit_softcap*precise::tanh(mqk[tx]); }
                    if (FC_has_bias) { mqk[tx] += (qk_t) sm[NE*tx + ty]*slope; } else { mqk[tx] += (qk_t) sm[NE*tx + ty]; }
                    ss[NE*tx + ty] = mqk[tx];
                }
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            {
                const float m = M;
                const float s = ss[tiisg];
                M = simd_max(max(M, s));
                const float ms = exp(m - M);
                const float vs = exp(s - M);
                S = S*ms + simd_sum(vs);
                ss[tiisg] = vs;
                if ((DV4/NL % NW == 0) || ty == 0) {
                    FOR_UNROLL (short ii = 0; ii < DV4/NL; ++ii) { so4[ii*NL] *= ms; }
                }
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            {
                o4_t lo[DV4/NL];
                FOR_UNROLL (short ii = 0; ii < DV4/NL; ++ii) { lo[ii] = 0.0f; }
                if (is_same<vd4_t, v4_t>::value) {
                    device const v4_t * pv4 = (device const v4_t *) (v + ic*args.nb21);
                    pv4 += ty*NS20/4 + tx;
                    const auto sst = ss + ty;
                    FOR_UNROLL (short cc = 0; cc < C/NE; ++cc) {
                        FOR_UNROLL (short ii = 0; ii < DV4/NL; ++ii) {
                            lo[ii] += o4_t(float4(pv4[cc*NE*NS20/4 + ii*NL])*float4(sst[cc*NE]));
                        }
                    }
                } else {
                    FOR_UNROLL (short cc = 0; cc < C/NE; ++cc) {
                        device const vd4_t * pv4 = (device const vd4_t *) (v + ((ic + NE*cc + ty)*args.nb21));
                        FOR_UNROLL (short ii = 0; ii < DV4/NL; ++ii) {
                            const short i = ii*NL + tx;
                            v4_t mv;
                            deq_v_t4(pv4 + i/nl_v, i%nl_v, mv);
                            lo[ii] += o4_t(float4(mv)*float4(ss[NE*cc + ty]));
                        }
                    }
                }
                FOR_UNROLL (short ii = 0; ii < DV4/NL; ++ii) {
                    if (NE > 1) { lo[ii][0] += simd_shuffle_down(lo[ii][0], 16); lo[ii][1] += simd_shuffle_down(lo[ii][1], 16); lo[ii][2] += simd_shuffle_down(lo[ii][2], 16); lo[ii][3] += simd_shuffle_down(lo[ii][3], 16); }
                    if (NE > 2) { lo[ii][0] += simd_shuffle_down(lo[ii][0],  8); lo[ii][1] += simd_shuffle_down(lo[ii][1],  8); lo[ii][2] += simd_shuffle_down(lo[ii][2],  8); lo[ii][3] += simd_shuffle_down(lo[ii][3],  8); }
                }
                if ((DV4/NL % NW == 0) || ty == 0) {
                    FOR_UNROLL (short ii = 0; ii < DV4/NL; ++ii) { so4[ii*NL] += lo[ii]; }
                }
            }
        }
        if (FC_has_sinks && sgitg == 0 && iwg == 0) {
            const float m = M;
            const float s = tiisg == 0 ? ((device const float *) sinks)[iq2] : -FLT_MAX/2;
            M = simd_max(max(M, s));
            const float ms = exp(m - M);
            const float vs = exp(s - M);
            S = S*ms + simd_sum(vs);
            if ((DV4/NL % NW == 0) || ty == 0) {
                FOR_UNROLL (short ii = 0; ii < DV4/NL; ++ii) { so4[ii*NL] *= ms; }
            }
        }
        if (tiisg == 0) { ss[0] = (s_t) S; ss[1] = (s_t) M; }
    }
    so4 -= tiisg;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (short r = NSG/2; r > 0; r >>= 1) {
        if (sgitg < r) {
            const float S0 = ss[           0];
            const float S1 = ss[r*(SH/2) + 0];
            const float M0 = ss[           1];
            const float M1 = ss[r*(SH/2) + 1];
            const float M = max(M0, M1);
            const float ms0 = exp(M0 - M);
            const float ms1 = exp(M1 - M);
            const float S = S0*ms0 + S1*ms1;
            if (tiisg == 0) { ss[0] = S; ss[1] = M; }
            for (short i = tiisg; i < DV4; i += NW) { so4[i] = so4[i]*ms0 + so4[i + r*PV4]*ms1; }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (sgitg == 0) {
        const int64_t nrows = args.ne3*args.ne2*args.ne1;
        const int64_t rid = iq3*args.ne2*args.ne1 + iq2 + iq1*args.ne1;
        device float4 * dst4 = (device float4 *) dst;
        device float  * dst1 = (device float  *) dst + nrows*DV*NWG;
        const float S = NWG == 1 ? (ss[0] == 0.0f ? 0.0f : 1.0f/ss[0]) : 1.0f;
        for (short i = tiisg; i < DV4; i += NW) {
            dst4[rid*DV4*NWG + NWG*i + iwg] = (float4) so4[i]*S;
        }
        if (NWG > 1) {
            if (tiisg == 0) { dst1[rid*(2*NWG) + 2*iwg + 0] = ss[0]; dst1[rid*(2*NWG) + 2*iwg + 1] = ss[1]; }
        }
    }
#undef NWG
#undef NSG
#undef NS10
#undef NS20
}

#define FA_TYPES \
           half4,  \
           half4,  \
           half4,  \
    float,         \
    float, float4, \
           float4
#define FA_TYPES_F32 \
           half4,  \
           float4, \
           float4, \
    float,         \
    float, float4, \
           float4
#define FA_TYPES_BF \
           bfloat4, \
           bfloat4, \
           bfloat4, \
    float,         \
    float, float4, \
           float4

typedef decltype(kernel_fa_vec<FA_TYPES, half4, 1, deq_f16_t4, half4, 1, deq_f16_t4, 128, 128, 4>) fa_vec_t;

template [[host_name("kernel_fa_vec_f16_dk64_dv64")]] kernel fa_vec_t kernel_fa_vec<FA_TYPES, half4, 1, deq_f16_t4, half4, 1, deq_f16_t4, 64, 64, 2>;
template [[host_name("kernel_fa_vec_f16_dk128_dv128")]] kernel fa_vec_t kernel_fa_vec<FA_TYPES, half4, 1, deq_f16_t4, half4, 1, deq_f16_t4, 128, 128, 1>;
template [[host_name("kernel_fa_vec_q4_dk128_dv128")]] kernel fa_vec_t kernel_fa_vec<FA_TYPES, blk_q4, 8, deq_q4_t4, blk_q4, 8, deq_q4_t4, 128, 128, 4>;
template [[host_name("kernel_fa_vec_q8_dk128_dv128")]] kernel fa_vec_t kernel_fa_vec<FA_TYPES_F32, blk_q8, 8, deq_q8_t4, blk_q8, 8, deq_q8_t4, 128, 128, 4>;
#if defined(__HAVE_BFLOAT__)
template [[host_name("kernel_fa_vec_bf16_dk128_dv128")]] kernel fa_vec_t kernel_fa_vec<FA_TYPES_BF, bfloat4, 1, deq_bf16_t4, bfloat4, 1, deq_bf16_t4, 128, 128, 2>;
#endif
#undef FA_TYPES

constant int32_t FC_red_DV  [[function_constant(FC_BASE + 50)]];
constant int32_t FC_red_NWG [[function_constant(FC_BASE + 51)]];
typedef struct { int32_t nrows; } kargs_red;
kernel void kernel_fa_vec_reduce(
        constant kargs_red & args,
        device  const char * htmp,
        device        char * dst,
        uint   tgpig[[threadgroup_position_in_grid]],
        ushort tiisg[[thread_index_in_simdgroup]],
        ushort sgitg[[simdgroup_index_in_threadgroup]]) {
#define NWG (FC_red_NWG)
#define DV  (FC_red_DV)
    const uint64_t rid = tgpig;
    const short iwg = tiisg;
    device const float  * ss    = (device const float  *) htmp + (uint64_t)args.nrows*DV*NWG;
    float S = ss[rid*(2*NWG) + 2*iwg + 0];
    float M = ss[rid*(2*NWG) + 2*iwg + 1];
    const float m  = simd_max(M);
    const float ms = exp(M - m);
    S = simd_sum(S*ms);
    S = S == 0.0f ? 0.0f : 1.0f/S;
    const short DV4 = DV/4;
    device const float4 * htmp4 = (device const float4 *) htmp + rid*DV4*NWG;
    device       float4 * dst4  = (device       float4 *) dst  + rid*DV4;
    for (short i = sgitg; i < DV4; i += NWG) {
        const float4 v = simd_sum(htmp4[i*NWG + iwg]*ms);
        if (iwg == 0) { dst4[i] = v*S; }
    }
#undef NWG
#undef DV
}
