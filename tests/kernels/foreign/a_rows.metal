// Rows: fetching and storing by index (also of quantised rows), concatenation, repetition, copies with strides.
#include <metal_stdlib>
using namespace metal;

#define QK 32
#define DEV_IN  const device
#define DEV_OUT device

typedef struct { half d; uint8_t qs[QK/2]; } block_q4_0;
typedef struct { half d; uint8_t qh[4]; uint8_t qs[QK/2]; } block_q5_0;
typedef struct { half d; int8_t qs[QK]; } block_q8_0;

// 4-bit indices into a table that is not linear
typedef struct { half d; uint8_t qs[QK/2]; } block_nl4;

constant int8_t levels_nl4[16] = { -120, -98, -79, -62, -47, -34, -22, -11, 0, 12, 24, 37, 51, 67, 86, 110 };

template <typename type4>
METAL_FUNC void dequantize_q4_0_t4(DEV_IN block_q4_0 * xb, short il, thread type4 & reg) {
    for (short i = 0; i < 4; i++) {
        const short e = 4*il + i;
        const uint8_t b = xb->qs[e%16];
        reg[i] = float(xb->d)*((e < 16 ? b & 0xF : b >> 4) - 8);
    }
}

template <typename type4>
METAL_FUNC void dequantize_q5_0_t4(DEV_IN block_q5_0 * xb, short il, thread type4 & reg) {
    for (short i = 0; i < 4; i++) {
        const short e = 4*il + i;
        const uint8_t b = xb->qs[e%16];
        const int h = (xb->qh[e/8] >> (e%8) & 1) << 4;
        reg[i] = float(xb->d)*(((e < 16 ? b & 0xF : b >> 4) | h) - 16);
    }
}

template <typename type4>
METAL_FUNC void dequantize_q8_0_t4(DEV_IN block_q8_0 * xb, short il, thread type4 & reg) {
    DEV_IN int8_t * qs = xb->qs + 4*il;
    const char4 q = char4(qs[0], qs[1], qs[2], qs[3]);
    reg = type4(float4(q)*float(xb->d));
}

template <typename type4>
METAL_FUNC void dequantize_nl4_t4(DEV_IN block_nl4 * xb, short il, thread type4 & reg) {
    // a word of the low or the high halves of four bytes
    uint q = 0;
    for (short i = 0; i < 4; ++i) {
        q |= (uint) xb->qs[4*(il%4) + i] << (8*i);
    }
    q = (il < 4 ? q : q >> 4) & 0x0f0f0f0f;
    const uchar4 at = as_type<uchar4>(q);
    reg.xy = (float) xb->d*float2(levels_nl4[at.x], levels_nl4[at.y]);
    reg.zw = (float) xb->d*float2(levels_nl4[at.z], levels_nl4[at.w]);
}

// ---------------------------------------------------------------- get rows

typedef struct {
    int32_t  ne00;
    int32_t  ne10; // indices of a batch
    uint64_t nb01;
    uint64_t nb02; // from batch to batch
    uint64_t nb10;
    uint64_t nb11;
    uint64_t nb1;
    uint64_t nb2;
} get_rows_args;

template <typename block_q, void (*dequantize_func)(DEV_IN block_q *, short, thread float4 &)>
kernel void kernel_get_rows_q(
        constant get_rows_args & args [[buffer(0)]],
        DEV_IN  void  * src0          [[buffer(1)]],
        DEV_IN  void  * src1          [[buffer(2)]],
        DEV_OUT float * dst           [[buffer(3)]],
        uint3   tgpig [[threadgroup_position_in_grid]],
        ushort  tiitg [[thread_index_in_threadgroup]],
        ushort3 ntg   [[threads_per_threadgroup]]) {
    const int i10 = tgpig.x;
    const int i11 = tgpig.y;

    const int r = ((DEV_IN int32_t *) ((DEV_IN char *) src1 + i11*args.nb11 + i10*args.nb10))[0];

    DEV_IN block_q * row = (DEV_IN block_q *) ((DEV_IN char *) src0 + r*args.nb01 + i11*args.nb02);
    DEV_OUT float4 * out = (DEV_OUT float4 *) ((DEV_OUT char *) dst + i11*args.nb2 + i10*args.nb1);

    for (int ind = tiitg; ind < args.ne00/4; ind += ntg.x) {
        float4 temp;
        dequantize_func(row + ind/8, ind%8, temp);
        out[ind] = temp;
    }
}

typedef decltype(kernel_get_rows_q<block_q4_0, dequantize_q4_0_t4>) get_rows_q_t;

template [[host_name("get_rows_q4_0")]] kernel get_rows_q_t kernel_get_rows_q<block_q4_0, dequantize_q4_0_t4>;
template [[host_name("get_rows_q5_0")]] kernel get_rows_q_t kernel_get_rows_q<block_q5_0, dequantize_q5_0_t4>;
template [[host_name("get_rows_q8_0")]] kernel get_rows_q_t kernel_get_rows_q<block_q8_0, dequantize_q8_0_t4>;
template [[host_name("get_rows_nl4")]]  kernel get_rows_q_t kernel_get_rows_q<block_nl4,  dequantize_nl4_t4>;

template <typename T0, typename T>
kernel void kernel_get_rows_f(
        constant get_rows_args & args [[buffer(0)]],
        DEV_IN  void * src0           [[buffer(1)]],
        DEV_IN  void * src1           [[buffer(2)]],
        DEV_OUT void * dst            [[buffer(3)]],
        uint3   tgpig [[threadgroup_position_in_grid]],
        ushort  tiitg [[thread_index_in_threadgroup]],
        ushort3 ntg   [[threads_per_threadgroup]]) {
    const int r = *(DEV_IN int32_t *) ((DEV_IN char *) src1 + tgpig.y*args.nb11 + tgpig.x*args.nb10);
    DEV_IN T0 * x = (DEV_IN T0 *) ((DEV_IN char *) src0 + r*args.nb01 + tgpig.y*args.nb02);
    DEV_OUT T * y = (DEV_OUT T *) ((DEV_OUT char *) dst + tgpig.y*args.nb2 + tgpig.x*args.nb1);
    for (int i = tiitg; i < args.ne00; i += ntg.x) {
        y[i] = (T) x[i];
    }
}

typedef decltype(kernel_get_rows_f<float, float>) get_rows_f_t;
template [[host_name("get_rows_f32")]]      kernel get_rows_f_t kernel_get_rows_f<float, float>;
template [[host_name("get_rows_f16_f32")]]  kernel get_rows_f_t kernel_get_rows_f<half, float>;
template [[host_name("get_rows_bf16_f32")]] kernel get_rows_f_t kernel_get_rows_f<bfloat, float>;
template [[host_name("get_rows_i32")]]      kernel get_rows_f_t kernel_get_rows_f<int32_t, int32_t>;

// ---------------------------------------------------------------- set rows: the quantiser is a parameter

static void quantize_q8_0(DEV_IN float * src, DEV_OUT block_q8_0 & dst) {
    float4 m4 = 0.0f;
    for (short j = 0; j < QK/4; ++j) {
        m4 = fmax(m4, abs(float4(((DEV_IN packed_float4 *) src)[j])));
    }
    const float amax = fmax(fmax(m4.x, m4.y), fmax(m4.z, m4.w));
    const float d  = amax/127;
    const float id = d != 0.0f ? 1.0f/d : 0.0f;
    dst.d = d;
    for (short j = 0; j < QK; ++j) {
        dst.qs[j] = (int8_t) rint(src[j]*id);
    }
}

template <typename TI, typename block_q, void (*quantize_func)(DEV_IN float *, DEV_OUT block_q &)>
kernel void kernel_set_rows_q(
        constant get_rows_args & args [[buffer(0)]],
        DEV_IN  float * src0          [[buffer(1)]],
        DEV_IN  TI    * src1          [[buffer(2)]],
        DEV_OUT char  * dst           [[buffer(3)]],
        uint  row   [[threadgroup_position_in_grid]],
        uint  tiitg [[thread_index_in_threadgroup]],
        uint  ntg   [[threads_per_threadgroup]]) {
    const TI i1 = src1[row];
    DEV_OUT block_q * out = (DEV_OUT block_q *) (dst + i1*args.nb1);
    for (int ind = tiitg; ind < args.ne00/QK; ind += ntg) {
        quantize_func(src0 + row*args.ne00 + QK*ind, out[ind]);
    }
}

template [[host_name("set_rows_q8_0_i64")]] kernel decltype(kernel_set_rows_q<int64_t, block_q8_0, quantize_q8_0>) kernel_set_rows_q<int64_t, block_q8_0, quantize_q8_0>;
template [[host_name("set_rows_q8_0_i32")]] kernel decltype(kernel_set_rows_q<int32_t, block_q8_0, quantize_q8_0>) kernel_set_rows_q<int32_t, block_q8_0, quantize_q8_0>;

// ---------------------------------------------------------------- concatenation along any dimension, repetition

typedef struct {
    int32_t  ne0[4];
    int32_t  ne1[4];
    int32_t  ne[4];
    uint64_t nb0[4];
    uint64_t nb1[4];
    uint64_t nb[4];
    int32_t  dim;
    int32_t  pad;
} concat_args;

template <typename T>
kernel void kernel_concat(
        constant concat_args & args,
        device const char * src0,
        device const char * src1,
        device       char * dst,
        uint3   tgpig [[threadgroup_position_in_grid]],
        ushort3 tpitg [[thread_position_in_threadgroup]],
        ushort3 ntg   [[threads_per_threadgroup]]) {
    const int i3 = tgpig.z;
    const int i2 = tgpig.y;
    const int i1 = tgpig.x;

    int o[4] = {0, 0, 0, 0};
    o[args.dim] = args.ne0[args.dim];

    device const T * x;
    for (int i0 = tpitg.x; i0 < args.ne[0]; i0 += ntg.x) {
        if (i0 < args.ne0[0] && i1 < args.ne0[1] && i2 < args.ne0[2] && i3 < args.ne0[3]) {
            x = (device const T *) (src0 + i3*args.nb0[3] + i2*args.nb0[2] + i1*args.nb0[1] + i0*args.nb0[0]);
        } else {
            x = (device const T *) (src1 + (i3 - o[3])*args.nb1[3] + (i2 - o[2])*args.nb1[2] + (i1 - o[1])*args.nb1[1] + (i0 - o[0])*args.nb1[0]);
        }
        device T * y = (device T *) (dst + i3*args.nb[3] + i2*args.nb[2] + i1*args.nb[1] + i0*args.nb[0]);
        *y = *x;
    }
}

template <typename T>
kernel void kernel_repeat(
        constant concat_args & args,
        device const char * src0,
        device       char * dst,
        uint3   tgpig [[threadgroup_position_in_grid]],
        ushort3 tpitg [[thread_position_in_threadgroup]],
        ushort3 ntg   [[threads_per_threadgroup]]) {
    const int4 to   = int4(0, tgpig.x, tgpig.y, tgpig.z);
    const int4 from = to % int4(args.ne0[0], args.ne0[1], args.ne0[2], args.ne0[3]);

    device const char * src0_ptr = src0 + from.w*args.nb0[3] + from.z*args.nb0[2] + from.y*args.nb0[1];
    device       char * dst_ptr  = dst  + to.w*args.nb[3] + to.z*args.nb[2] + to.y*args.nb[1];

    for (int i0 = tpitg.x; i0 < args.ne[0]; i0 += ntg.x) {
        const int i00 = i0%args.ne0[0];
        *((device T *) (dst_ptr + i0*args.nb[0])) = *((device const T *) (src0_ptr + i00*args.nb0[0]));
    }
}

typedef decltype(kernel_concat<float>) kernel_concat_t;
typedef decltype(kernel_repeat<float>) kernel_repeat_t;

#define FOR_ALL_TYPES(X) X(f32, float) X(f16, half) X(i32, int) X(i16, short) X(i64, long) X(u8, uchar)
#define CONCAT_KERNEL(name, T) template [[host_name("concat_" #name)]] kernel kernel_concat_t kernel_concat<T>;
#define REPEAT_KERNEL(name, T) template [[host_name("repeat_" #name)]] kernel kernel_repeat_t kernel_repeat<T>;

FOR_ALL_TYPES(CONCAT_KERNEL)
FOR_ALL_TYPES(REPEAT_KERNEL)
