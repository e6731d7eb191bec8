// Quantised matrix times vector: blocks of 32 with half scales, super-blocks of 256 with packed 6-bit scales.
#include <metal_stdlib>

using namespace metal;

#define LANES 32
#define QK  32
#define QKS 256

typedef struct {
    half    d;
    uint8_t qs[QK/2];
} block_q4_0;

typedef struct {
    union {
        struct {
            half d;
            half m;
        };
        half2 dm;
    };
    uint8_t qs[QK/2];
} block_q4_1;

typedef struct {
    half    d;
    uint8_t qh[4];
    uint8_t qs[QK/2];
} block_q5_0;

typedef struct {
    half   d;
    int8_t qs[QK];
} block_q8_0;

// eight sub-blocks of 32: scale and minimum of 6 bits each, packed without gaps (scales first)
typedef struct {
    half    d;
    half    dmin;
    uint8_t scales[12];
    uint8_t qs[QKS/2];
} block_s4;

// sixteen sub-blocks of 16: signed 8-bit scales, 4 low bits and 2 high bits of a value apart
typedef struct {
    uint8_t ql[QKS/2];
    uint8_t qh[QKS/4];
    int8_t  scales[QKS/16];
    half    d;
} block_s6;

static_assert(sizeof(block_q4_1) == 20 && sizeof(block_q5_0) == 22, "layout");
static_assert(sizeof(block_s4) == 144, "layout of s4");
static_assert(sizeof(block_s6) == 210, "layout of s6");

typedef struct {
    int32_t  ne00; // columns
    int32_t  ne01; // rows
    int32_t  ne02;
    int32_t  ne12;
    uint64_t nb01;
    uint64_t nb02;
    uint64_t nb11;
    uint64_t nb12;
    int32_t  ne0;
    int32_t  ne1;
    int16_t  r2;   // matrices of src1 per matrix of src0
    int16_t  pad[3];
} mul_mv_args;

// y: 8 values from 8*il and 8 values from 16 + 8*il of the block
static inline float block_dot(device const block_q4_0 * xb, thread const float * y, const float sumy, const short il) {
    device const uint8_t * qs = xb->qs + 8*il;
    float2 acc = 0.0f;
    for (short i = 0; i < 8; ++i) {
        acc += float2(y[i]*(qs[i] & 0x0F), y[i + 8]*(qs[i] >> 4));
    }
    return xb->d*(acc[0] + acc[1] - 8.0f*sumy);
}

static inline float block_dot(device const block_q4_1 * xb, thread const float * y, const float sumy, const short il) {
    const float2 dm = float2(xb->dm);
    device const ushort * qs = (device const ushort *) xb->qs + 4*il;
    float acc = 0.0f;
    for (short i = 0; i < 4; ++i) {
        const ushort q = qs[i];
        acc += y[2*i + 0]*(q & 0x000F) + y[2*i + 1]*((q & 0x0F00) >> 8);
        acc += y[2*i + 8]*((q & 0x00F0) >> 4) + y[2*i + 9]*(q >> 12);
    }
    return dm.x*acc + dm.y*sumy;
}

static inline float block_dot(device const block_q5_0 * xb, thread const float * y, const float sumy, const short il) {
    const uint qh = xb->qh[0] | (xb->qh[1] << 8) | (xb->qh[2] << 16) | ((uint) xb->qh[3] << 24);
    float acc = 0.0f;
    for (short i = 0; i < 8; ++i) {
        const short e = 8*il + i;
        const uint  q = xb->qs[e];
        acc += y[i + 0]*insert_bits(q & 0xFu, extract_bits(qh, e, 1), 4, 1);
        acc += y[i + 8]*insert_bits(q >> 4,   extract_bits(qh, e + 16, 1), 4, 1);
    }
    return float(xb->d)*(acc - 16.0f*sumy);
}

static inline float block_dot(device const block_q8_0 * xb, thread const float * y, const float, const short il) {
    device const packed_char4 * lo = (device const packed_char4 *) (xb->qs + 8*il);
    device const packed_char4 * hi = (device const packed_char4 *) (xb->qs + 8*il + 16);
    float acc = 0.0f;
    for (short i = 0; i < 2; ++i) {
        const float4 l = float4(char4(lo[i]));
        const float4 h = float4(char4(hi[i]));
        acc += dot(l, float4(y[4*i], y[4*i + 1], y[4*i + 2], y[4*i + 3]));
        acc += dot(h, float4(y[4*i + 8], y[4*i + 9], y[4*i + 10], y[4*i + 11]));
    }
    return acc*float(xb->d);
}

template <typename block_q_type, short NR, typename args_t>
void mul_vec_q_impl(
        const args_t args,
        device const char * src0,
        device const char * src1,
        device       char * dst,
        uint3  tgpig,
        ushort tiisg,
        ushort sgitg,
        ushort nsg) {
    const int nb = args.ne00/QK;

    const int first_row = (tgpig.x*nsg + sgitg)*NR;
    const int r1 = tgpig.y;
    const int im = tgpig.z;

    device const block_q_type * ax[NR];
    for (short row = 0; row < NR; ++row) {
        const int r = min(first_row + row, args.ne01 - 1);
        ax[row] = (device const block_q_type *) (src0 + r*args.nb01 + (im/args.r2)*args.nb02);
    }
    device const float * y = (device const float *) (src1 + r1*args.nb11 + im*args.nb12);

    float yl[16];
    float sumf[NR] = { 0.0f };

    const short ix = tiisg/2;
    const short il = tiisg%2;

    for (int ib = ix; ib < nb; ib += LANES/2) {
        device const float * yb = y + ib*QK + 8*il;
        float sumy = 0.0f;
        for (short i = 0; i < 8; ++i) {
            yl[i + 0] = yb[i + 0];
            yl[i + 8] = yb[i + 16];
            sumy += yl[i] + yl[i + 8];
        }
#pragma unroll(NR)
        for (short row = 0; row < NR; ++row) {
            sumf[row] += block_dot(ax[row] + ib, yl, sumy, il);
        }
    }

    device float * out = (device float *) dst + im*args.ne0*args.ne1 + r1*args.ne0;
    for (short row = 0; row < NR; ++row) {
        const float tot = simd_sum(sumf[row]);
        if (tiisg == 0 && first_row + row < args.ne01) {
            out[first_row + row] = tot;
        }
    }
}

#define MUL_MV_SIGNATURE                                        \
        constant mul_mv_args & args [[buffer(0)]],              \
        device const char * src0    [[buffer(1)]],              \
        device const char * src1    [[buffer(2)]],              \
        device       char * dst     [[buffer(3)]],              \
        uint3  tgpig [[threadgroup_position_in_grid]],          \
        ushort tiisg [[thread_index_in_simdgroup]],             \
        ushort sgitg [[simdgroup_index_in_threadgroup]],        \
        ushort nsg   [[simdgroups_per_threadgroup]]

#define MUL_MV_KERNEL(name, block, nr)                                                                   \
    [[host_name("mul_mv_" #name "_f32")]]                                                                \
    kernel void kernel_mul_mv_##name##_f32(MUL_MV_SIGNATURE) {                                           \
        mul_vec_q_impl<block, nr, constant mul_mv_args &>(args, src0, src1, dst, tgpig, tiisg, sgitg, nsg); \
    }

MUL_MV_KERNEL(q4_0, block_q4_0, 4)
MUL_MV_KERNEL(q4_1, block_q4_1, 4)
MUL_MV_KERNEL(q5_0, block_q5_0, 2)
MUL_MV_KERNEL(q8_0, block_q8_0, 1)

// ---------------------------------------------------------------- super-blocks

struct scale_min {
    uint8_t sc;
    uint8_t mn;
};

// sub-block j of a run of 6-bit numbers
static inline scale_min scale_and_offset(short j, device const uint8_t * s) {
    const auto six = [s](short i) -> uint8_t {
        const short bit = 6*i;
        const ushort w = s[bit/8] | (bit/8 + 1 < 12 ? s[bit/8 + 1] << 8 : 0);
        return (w >> (bit%8)) & 63;
    };
    return { six(j), six(j + 8) };
}

template <short NR>
kernel void kernel_mul_mv_s4_f32(MUL_MV_SIGNATURE) {
    const int nb = args.ne00/QKS;
    const int first_row = (tgpig.x*nsg + sgitg)*NR;
    const int im = tgpig.z;

    device const float * y = (device const float *) (src1 + tgpig.y*args.nb11 + im*args.nb12);

    const short iq = tiisg/8; // pair of sub-blocks
    const short ir = tiisg%8;

    float sumf[NR] = {};
    for (int ib = 0; ib < nb; ++ib) {
        const float4 y0 = *(device const float4 *) (y + ib*QKS + 64*iq + 4*ir);
        const float4 y1 = *(device const float4 *) (y + ib*QKS + 64*iq + 4*ir + 32);

        for (short row = 0; row < NR; ++row) {
            const int r = min(first_row + row, args.ne01 - 1);
            device const block_s4 & x = ((device const block_s4 *) (src0 + r*args.nb01 + (im/args.r2)*args.nb02))[ib];
            device const uchar * q = x.qs + 32*iq + 4*ir;

            const uchar4 v = uchar4(q[0], q[1], q[2], q[3]);
            const scale_min a = scale_and_offset(2*iq + 0, x.scales);
            const scale_min b = scale_and_offset(2*iq + 1, x.scales);

            sumf[row] += x.d*(a.sc*dot(y0, float4(v & uchar4(0xF))) + b.sc*dot(y1, float4(v >> uchar4(4))));
            sumf[row] -= x.dmin*(a.mn*dot(y0, float4(1.0f)) + b.mn*dot(y1, float4(1.0f)));
        }
    }

    for (short row = 0; row < NR && first_row + row < args.ne01; ++row) {
        const float tot = simd_sum(sumf[row]);
        if (simd_is_first()) {
            ((device float *) dst)[im*args.ne0*args.ne1 + tgpig.y*args.ne0 + first_row + row] = tot;
        }
    }
}

template [[host_name("mul_mv_s4_f32_nr1")]] kernel decltype(kernel_mul_mv_s4_f32<1>) kernel_mul_mv_s4_f32<1>;
template [[host_name("mul_mv_s4_f32_nr2")]] kernel decltype(kernel_mul_mv_s4_f32<2>) kernel_mul_mv_s4_f32<2>;

[[host_name("mul_mv_s6_f32")]]
kernel void kernel_mul_mv_s6_f32(MUL_MV_SIGNATURE) {
    const int nb = args.ne00/QKS;
    const int row = tgpig.x*nsg + sgitg;
    if (row >= args.ne01) {
        return;
    }
    device const float    * y = (device const float *) (src1 + tgpig.y*args.nb11 + tgpig.z*args.nb12);
    device const block_s6 * x = (device const block_s6 *) (src0 + row*args.nb01 + (tgpig.z/args.r2)*args.nb02);

    // a lane has the values lane, lane + 32, ... of a super-block
    float sum = 0.0f;
    for (int ib = 0; ib < nb; ++ib) {
        float part = 0.0f;
        for (short k = 0; k < 8; ++k) {
            const short e  = 32*k + tiisg;
            const int   lo = (x[ib].ql[e/2] >> (4*(e & 1))) & 15;
            const int   hi = (x[ib].qh[e/4] >> (2*(e & 3))) & 3;
            part += y[ib*QKS + e]*x[ib].scales[e/16]*((lo | hi << 4) - 32);
        }
        sum = fma((float) x[ib].d, part, sum);
    }
    sum = simd_sum(sum);
    if (tiisg == 0) {
        ((device float *) dst)[tgpig.z*args.ne0*args.ne1 + tgpig.y*args.ne0 + row] = sum;
    }
}

// ---------------------------------------------------------------- unquantised rows

template <typename T0, typename T04, typename T1>
kernel void kernel_mul_mv_4(MUL_MV_SIGNATURE) {
    const int row = tgpig.x*nsg + sgitg;
    if (row >= args.ne01) {
        return;
    }
    device const T0 * x = (device const T0 *) (src0 + row*args.nb01 + (tgpig.z/args.r2)*args.nb02);
    device const T1 * y = (device const T1 *) (src1 + tgpig.y*args.nb11 + tgpig.z*args.nb12);
    device const T04 * x4 = (device const T04 *) x;
    device const vec<T1, 4> * y4 = (device const vec<T1, 4> *) y;

    float sum = 0.0f;
    for (int i = tiisg; i < args.ne00/4; i += LANES) {
        sum += dot(float4(x4[i]), float4(y4[i]));
    }
    for (int i = 4*(args.ne00/4) + tiisg; i < args.ne00; i += LANES) {
        sum += (float) x[i]*(float) y[i];
    }
    const float all = simd_sum(sum);
    if (tiisg == 0) {
        ((device float *) dst)[tgpig.z*args.ne0*args.ne1 + tgpig.y*args.ne0 + row] = all;
    }
}

typedef decltype(kernel_mul_mv_4<half, half4, float>) mul_mv_4_t;
template [[host_name("mul_mv_f32_f32")]]  kernel mul_mv_4_t kernel_mul_mv_4<float,  float4,  float>;
template [[host_name("mul_mv_f16_f32")]]  kernel mul_mv_4_t kernel_mul_mv_4<half,   half4,   float>;
template [[host_name("mul_mv_f16_f16")]]  kernel mul_mv_4_t kernel_mul_mv_4<half,   half4,   half>;
template [[host_name("mul_mv_bf16_f32")]] kernel mul_mv_4_t kernel_mul_mv_4<bfloat, bfloat4, float>;
