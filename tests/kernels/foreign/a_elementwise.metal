// Unary and binary operations with broadcasting over four dimensions.
#include <metal_stdlib>
#include <metal_math>

using namespace metal;

#define UNARY_OP(name, expr)                                      \
    struct name {                                                 \
        template <typename T>                                     \
        METAL_FUNC T operator()(T x) const { return T(expr); }    \
        METAL_FUNC float operator()(float x) const { return expr; } \
    };

constant float GELU_COEF_A    = 0.044715f;
constant float SQRT_2_OVER_PI = 0.79788456080286535587989211986876f;
constant float SQRT_2_INV     = 0.70710678118654752440084436210484f;

namespace unary_detail {

constant float erf_p[5] = { 0.254829592f, -0.284496736f, 1.421413741f, -1.453152027f, 1.061405429f };

// Abramowitz and Stegun 7.1.26: an absolute error of 1.5e-7
static inline float erf_approx(float x) {
    const float s = sign(x);
    x = fabs(x);
    const float t = 1.0f/fma(0.3275911f, x, 1.0f);
    float y = erf_p[4];
    for (int i = 3; i >= 0; --i) {
        y = fma(y, t, erf_p[i]);
    }
    return s*(1.0f - y*t*exp(-x*x));
}

} // namespace unary_detail

// ---------------------------------------------------------------- unary

UNARY_OP(op_abs,      metal::abs(x))
UNARY_OP(op_sgn,      sign(x))
UNARY_OP(op_relu,     max(x, decltype(x)(0)))
UNARY_OP(op_sigmoid,  1.0f/(1.0f + exp(-float(x))))
UNARY_OP(op_silu,     float(x)/(1.0f + exp(-float(x))))
UNARY_OP(op_gelu,     0.5f*float(x)*(1.0f + precise::tanh(SQRT_2_OVER_PI*float(x)*(1.0f + GELU_COEF_A*float(x)*float(x)))))
UNARY_OP(op_gelu_erf, 0.5f*float(x)*(1.0f + unary_detail::erf_approx(float(x)*SQRT_2_INV)))
UNARY_OP(op_hardswish, float(x)*fmin(1.0f, fmax(0.0f, (float(x) + 3.0f)/6.0f)))
UNARY_OP(op_softplus, select(log(1.0f + exp(float(x))), float(x), float(x) > 20.0f))
UNARY_OP(op_step,     x > decltype(x)(0) ? 1.0f : 0.0f)
UNARY_OP(op_round,    rint(x))

struct unary_args {
    int   ne0;
    int   ne1;
    ulong nb01; // bytes
    ulong nb1;
};

template <typename Op, typename T>
kernel void kernel_unary(
        constant unary_args & args [[buffer(0)]],
        device const char * src    [[buffer(1)]],
        device       char * dst    [[buffer(2)]],
        uint2 gid [[thread_position_in_grid]]) {
    if (int(gid.x) >= args.ne0) {
        return;
    }
    device const T & x = ((device const T *) (src + gid.y*args.nb01))[gid.x];
    Op op;
    ((device T *) (dst + gid.y*args.nb1))[gid.x] = op(T(x));
}

#define UNARY_KERNEL(op, suffix, T) \
    template [[host_name("unary_" #op "_" #suffix)]] kernel decltype(kernel_unary<op_##op, T>) kernel_unary<op_##op, T>;
#define UNARY_KERNELS(op)       \
    UNARY_KERNEL(op, f32, float) \
    UNARY_KERNEL(op, f16, half)

UNARY_KERNELS(abs)
UNARY_KERNELS(sgn)
UNARY_KERNELS(relu)
UNARY_KERNELS(sigmoid)
UNARY_KERNELS(silu)
UNARY_KERNELS(gelu)
UNARY_KERNELS(gelu_erf)
UNARY_KERNELS(hardswish)
UNARY_KERNELS(softplus)
UNARY_KERNEL(step, f32, float)
UNARY_KERNEL(round, f32, float)

// ---------------------------------------------------------------- binary: src1 repeats along every dimension

enum class bin_op : short { add = 0, sub = 1, mul = 2, div = 3 };

typedef struct {
    int32_t  ne00, ne01, ne02, ne03;
    uint64_t nb00, nb01, nb02, nb03;
    int32_t  ne10, ne11, ne12, ne13;
    uint64_t nb10, nb11, nb12, nb13;
    int32_t  ne0, ne1, ne2, ne3;
    uint64_t nb0, nb1, nb2, nb3;
    uint64_t offs;
    uint64_t o1[4]; // offsets of the operands of a fused chain
} bin_args;

constant short FC_bin_op      [[function_constant(600)]];
constant short FC_bin_fused   [[function_constant(601)]];
constant bool  FC_bin_row     [[function_constant(602)]]; // src1 is one dense row

template <typename T>
static inline T apply_bin(T a, T b) {
    switch ((bin_op) FC_bin_op) {
        case bin_op::add: return a + b;
        case bin_op::sub: return a - b;
        case bin_op::mul: return a*b;
        case bin_op::div: return a/b;
    }
    return a;
}

template <typename T0, typename T1, typename T>
kernel void kernel_bin_fuse(
        constant bin_args & args,
        device const char * src0,
        device const char * src1,
        device       char * dst,
        uint3   tgpig [[threadgroup_position_in_grid]],
        ushort3 tpitg [[thread_position_in_threadgroup]],
        ushort3 ntg   [[threads_per_threadgroup]]) {
    const int i03 = tgpig.z/args.ne2;
    const int i02 = tgpig.z - i03*args.ne2;
    const int i01 = tgpig.y;

    const int i13 = i03%args.ne13;
    const int i12 = i02%args.ne12;
    const int i11 = i01%args.ne11;

    device const T0 * src0_ptr = (device const T0 *) (src0 + i03*args.nb03 + i02*args.nb02 + i01*args.nb01 + args.offs);
    device       T  * dst_ptr  = (device       T  *) (dst  + i03*args.nb3  + i02*args.nb2  + i01*args.nb1  + args.offs);

    device const T1 * src1_ptr[4];
    for (short j = 0; j < 4; ++j) {
        src1_ptr[j] = FC_bin_row ? (device const T1 *) (src1 + args.o1[j])
                                 : (device const T1 *) (src1 + args.o1[j] + i13*args.nb13 + i12*args.nb12 + i11*args.nb11);
    }

    for (int i0 = tpitg.x; i0 < args.ne0; i0 += ntg.x) {
        const int i10 = i0%args.ne10;
        T res = T(src0_ptr[i0]);
        #pragma unroll
        for (short j = 0; j < FC_bin_fused; ++j) {
            res = apply_bin<T>(res, T(src1_ptr[j][i10]));
        }
        dst_ptr[i0] = res;
    }
}

typedef decltype(kernel_bin_fuse<float, float, float>) kernel_bin_fuse_t;
template [[host_name("bin_fuse_f32_f32_f32")]]       kernel kernel_bin_fuse_t kernel_bin_fuse<float, float, float>;
template [[host_name("bin_fuse_f32_f32_f32_4")]]     kernel kernel_bin_fuse_t kernel_bin_fuse<float4, float4, float4>;
template [[host_name("bin_fuse_f16_f16_f16")]]       kernel kernel_bin_fuse_t kernel_bin_fuse<half, half, half>;
template [[host_name("bin_fuse_f16_f32_f32")]]       kernel kernel_bin_fuse_t kernel_bin_fuse<half, float, float>;

// ---------------------------------------------------------------- general broadcasting: shapes and strides in arrays

template <typename IdxT = int64_t>
METAL_FUNC vec<IdxT, 2> elem_to_loc_2_nd(
        uint elem, constant const int * shape, constant const int64_t * a_strides, constant const int64_t * b_strides, int ndim) {
    vec<IdxT, 2> loc = vec<IdxT, 2>(0, 0);
    for (int i = ndim - 1; i >= 0; --i) {
        const int k = elem%shape[i];
        loc.x += k*IdxT(a_strides[i]);
        loc.y += k*IdxT(b_strides[i]);
        elem /= shape[i];
    }
    return loc;
}

struct Maximum {
    template <typename T> METAL_FUNC T operator()(T a, T b) const { return metal::max(a, b); }
};
struct FloorMod {
    template <typename T>
    METAL_FUNC metal::enable_if_t<metal::is_integral_v<T> && metal::is_signed_v<T>, T> operator()(T a, T b) const {
        const T r = a%b;
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    template <typename T>
    METAL_FUNC metal::enable_if_t<metal::is_integral_v<T> && !metal::is_signed_v<T>, T> operator()(T a, T b) const { return a%b; }
    template <typename T>
    METAL_FUNC metal::enable_if_t<!metal::is_integral_v<T>, T> operator()(T a, T b) const { return a - b*metal::floor(a/b); }
};
struct Less {
    template <typename T> METAL_FUNC bool operator()(T a, T b) const { return a < b; }
};
struct LogAddExp {
    METAL_FUNC float operator()(float a, float b) const {
        const float hi = max(a, b);
        const float lo = min(a, b);
        return hi + log(1.0f + exp(lo - hi));
    }
};

template <typename T, typename U, typename Op>
[[kernel]] void binary_g(
        device const T * a [[buffer(0)]],
        device const T * b [[buffer(1)]],
        device U * c       [[buffer(2)]],
        constant const int * shape         [[buffer(3)]],
        constant const int64_t * a_strides [[buffer(4)]],
        constant const int64_t * b_strides [[buffer(5)]],
        constant const int & ndim          [[buffer(6)]],
        uint index [[thread_position_in_grid]]) {
    const auto at = elem_to_loc_2_nd<int>(index, shape, a_strides, b_strides, ndim);
    c[index] = Op()(a[at.x], b[at.y]);
}

template [[host_name("g_maximum_f16")]]   [[kernel]] decltype(binary_g<half, half, Maximum>)     binary_g<half, half, Maximum>;
template [[host_name("g_maximum_i64")]]   [[kernel]] decltype(binary_g<long, long, Maximum>)     binary_g<long, long, Maximum>;
template [[host_name("g_floormod_i32")]]  [[kernel]] decltype(binary_g<int, int, FloorMod>)      binary_g<int, int, FloorMod>;
template [[host_name("g_floormod_u8")]]   [[kernel]] decltype(binary_g<uchar, uchar, FloorMod>)  binary_g<uchar, uchar, FloorMod>;
template [[host_name("g_less_f32")]]      [[kernel]] decltype(binary_g<float, bool, Less>)       binary_g<float, bool, Less>;
template [[host_name("g_logaddexp_f32")]] [[kernel]] decltype(binary_g<float, float, LogAddExp>) binary_g<float, float, LogAddExp>;
