// Unfolding for convolutions, pooling, padding, upscaling, transposed convolution.
#include <metal_stdlib>
using namespace metal;

struct im2col_args {
    uint64_t ofs0; // elements from image to image
    uint64_t ofs1; // ... from channel to channel
    int32_t  IW;
    int32_t  IH;
    int32_t  CHW;
    int32_t  s0;
    int32_t  s1;
    int32_t  p0;
    int32_t  p1;
    int32_t  d0;
    int32_t  d1;
    int32_t  N;
    int32_t  KH;
    int32_t  KW;
    int32_t  KHW;
    int32_t  pad;
};

typedef void (im2col_t)(
        constant im2col_args & args,
        device const float * x,
        device        char * dst,
        uint3 tgpig [[threadgroup_position_in_grid]],
        uint3 tgpg  [[threadgroups_per_grid]],
        uint3 tpitg [[thread_position_in_threadgroup]],
        uint3 ntg   [[threads_per_threadgroup]]);

template <typename T>
kernel void kernel_im2col(
        constant im2col_args & args,
        device const float * x,
        device        char * dst,
        uint3 tgpig [[threadgroup_position_in_grid]],
        uint3 tgpg  [[threadgroups_per_grid]],
        uint3 tpitg [[thread_position_in_threadgroup]],
        uint3 ntg   [[threads_per_threadgroup]]) {
    // tgpg: [N, OH, OW*IC], threads [IMAGES, KH, KW]
    const int64_t OH = tgpg[1];
    const int64_t OW = tgpg[2]/(args.CHW/args.KHW);
    const int64_t IC = args.CHW/args.KHW;

    const int64_t in  = tgpig[0]*ntg[0] + tpitg[0];
    const int64_t ioh = tgpig[1];
    const int64_t iow = tgpig[2]%OW;
    const int64_t iic = tgpig[2]/OW;
    const int64_t ikh = tpitg[1];
    const int64_t ikw = tpitg[2];
    if (in >= args.N) {
        return;
    }

    const int64_t iiw = iow*args.s0 + ikw*args.d0 - args.p0;
    const int64_t iih = ioh*args.s1 + ikh*args.d1 - args.p1;

    const int64_t offset_dst = (in*OH*OW + ioh*OW + iow)*args.CHW + (iic*args.KHW + ikh*args.KW + ikw);
    (void) IC;

    device T * pdst = (device T *) dst;
    if (iih < 0 || iih >= args.IH || iiw < 0 || iiw >= args.IW) {
        pdst[offset_dst] = 0.0f;
    } else {
        pdst[offset_dst] = x[in*args.ofs0 + iic*args.ofs1 + iih*args.IW + iiw];
    }
}

template [[host_name("im2col_f32")]] kernel im2col_t kernel_im2col<float>;
template [[host_name("im2col_f16")]] kernel im2col_t kernel_im2col<half>;

// ---------------------------------------------------------------- pooling

struct MaxPool {
    typedef float state;
    static constexpr constant float init = -INFINITY;
    METAL_FUNC void operator()(thread state & s, float x) const thread { s = max(s, x); }
    METAL_FUNC float finish(state s, int, int) const thread { return s; }
};

template <bool count_include_pad>
struct AvgPool {
    typedef float state;
    static constexpr constant float init = 0.0f;
    METAL_FUNC void operator()(thread state & s, float x) const thread { s += x; }
    METAL_FUNC float finish(state s, int valid, int all) const thread { return s/(count_include_pad ? all : valid); }
};

struct pool_args {
    int k0, k1, s0, s1, p0, p1;
    int IW, IH, OW, OH;
    int np; // all outputs
};

template <typename Pool>
kernel void kernel_pool_2d(
        constant pool_args & args [[buffer(0)]],
        device const float * src  [[buffer(1)]],
        device       float * dst  [[buffer(2)]],
        uint gid [[thread_position_in_grid]]) {
    if ((int) gid >= args.np) {
        return;
    }
    const int O_HW = args.OH*args.OW;
    const int nc     = gid/O_HW;
    const int cur_oh = gid%O_HW/args.OW;
    const int cur_ow = gid%O_HW%args.OW;

    device const float * i_ptr = src + nc*args.IH*args.IW;

    const int start_h = cur_oh*args.s1 - args.p1;
    const int bh = max(0, start_h);
    const int eh = min(args.IH, start_h + args.k1);
    const int start_w = cur_ow*args.s0 - args.p0;
    const int bw = max(0, start_w);
    const int ew = min(args.IW, start_w + args.k0);

    Pool pool;
    typename Pool::state s = Pool::init;
    for (int i = bh; i < eh; i += 1) {
        for (int j = bw; j < ew; j += 1) {
            pool(s, i_ptr[i*args.IW + j]);
        }
    }
    dst[gid] = pool.finish(s, (eh - bh)*(ew - bw), args.k0*args.k1);
}

template [[host_name("pool_2d_max_f32")]]     kernel decltype(kernel_pool_2d<MaxPool>)        kernel_pool_2d<MaxPool>;
template [[host_name("pool_2d_avg_f32")]]     kernel decltype(kernel_pool_2d<AvgPool<true>>)  kernel_pool_2d<AvgPool<true>>;
template [[host_name("pool_2d_avg_valid_f32")]] kernel decltype(kernel_pool_2d<AvgPool<false>>) kernel_pool_2d<AvgPool<false>>;

// ---------------------------------------------------------------- rearrangements with strides of four dimensions

struct tensor4 {
    int  ne[4];
    ulong nb[4];

    METAL_FUNC ulong offset(int i0, int i1, int i2, int i3) const constant {
        return i0*nb[0] + i1*nb[1] + i2*nb[2] + i3*nb[3];
    }
    METAL_FUNC int4 shape() const constant { return int4(ne[0], ne[1], ne[2], ne[3]); }
};

enum class fill_mode { zero, reflect, replicate, circular };

template <fill_mode mode>
static int map_index(int i, int n) {
    if (i >= 0 && i < n) {
        return i;
    }
    switch (mode) {
        case fill_mode::reflect:   return i < 0 ? -i : 2*(n - 1) - i;
        case fill_mode::replicate: return clamp(i, 0, n - 1);
        case fill_mode::circular:  return ((i % n) + n) % n;
        default:                   return -1;
    }
}

// pads in front of dimensions 0 and 1; what is behind follows from the shape of dst
template <typename T, fill_mode mode>
[[kernel]] void pad_2d(
        constant tensor4 & src_t [[buffer(0)]],
        constant tensor4 & dst_t [[buffer(1)]],
        constant short2 & front  [[buffer(2)]],
        device const char * src  [[buffer(3)]],
        device       char * dst  [[buffer(4)]],
        uint3 gid [[thread_position_in_grid]]) {
    const int4 ne = dst_t.shape();
    const int i3 = gid.z/ne.z;
    const int i2 = gid.z%ne.z;
    const int x = map_index<mode>((int) gid.x - front.x, src_t.ne[0]);
    const int y = map_index<mode>((int) gid.y - front.y, src_t.ne[1]);

    T v = T(0);
    if (x >= 0 && y >= 0) {
        v = *(device const T *) (src + src_t.offset(x, y, i2, i3));
    }
    *(device T *) (dst + dst_t.offset(gid.x, gid.y, i2, i3)) = v;
}

#define PAD_2D(mode_) \
    template [[host_name("pad_" #mode_ "_f32")]] [[kernel]] decltype(pad_2d<float, fill_mode::mode_>) pad_2d<float, fill_mode::mode_>;

PAD_2D(zero)
PAD_2D(reflect)
PAD_2D(replicate)
PAD_2D(circular)
template [[host_name("pad_zero_f16")]] [[kernel]] decltype(pad_2d<half, fill_mode::zero>) pad_2d<half, fill_mode::zero>;

// ---------------------------------------------------------------- upscaling by whole or fractional factors

kernel void kernel_upscale_nearest_f32(
        constant tensor4 & src_t [[buffer(0)]],
        constant tensor4 & dst_t [[buffer(1)]],
        constant float2  & scale [[buffer(2)]],
        device const char * src  [[buffer(3)]],
        device       char * dst  [[buffer(4)]],
        uint3 gid [[thread_position_in_grid]]) {
    const ushort2 from = ushort2(float2(gid.xy)/scale);
    *(device float *) (dst + dst_t.offset(gid.x, gid.y, gid.z, 0)) =
        *(device const float *) (src + src_t.offset(from.x, from.y, gid.z, 0));
}

kernel void kernel_upscale_bilinear_f32(
        constant tensor4 & src_t [[buffer(0)]],
        constant tensor4 & dst_t [[buffer(1)]],
        constant float2  & scale [[buffer(2)]],
        device const char * src  [[buffer(3)]],
        device       char * dst  [[buffer(4)]],
        uint3 gid [[thread_position_in_grid]]) {
    const float2 f  = (float2(gid.xy) + 0.5f)/scale - 0.5f;
    const int2   top = int2(src_t.ne[0] - 1, src_t.ne[1] - 1);
    const int2   lo = clamp(int2(floor(f)), int2(0), top);
    const int2   hi = clamp(int2(floor(f)) + 1, int2(0), top);
    const float2 t  = saturate(f - float2(lo));

    float q[2][2];
    for (int i = 0; i < 4; ++i) {
        const int x = i & 1 ? hi.x : lo.x;
        const int y = i & 2 ? hi.y : lo.y;
        q[i >> 1][i & 1] = *(device const float *) (src + src_t.offset(x, y, gid.z, 0));
    }
    *(device float *) (dst + dst_t.offset(gid.x, gid.y, gid.z, 0)) = mix(mix(q[0][0], q[0][1], t.x), mix(q[1][0], q[1][1], t.x), t.y);
}

// ---------------------------------------------------------------- transposed convolution in one dimension: a simdgroup per output

struct conv_t_args {
    int IC, IL, K, s0;
};

template <typename T>
kernel void kernel_conv_transpose_1d(
        constant conv_t_args & args [[buffer(0)]],
        device const     T * w      [[buffer(1)]], // [IC][OC][K]
        device const float * x      [[buffer(2)]], // [IC][IL]
        device       float * dst    [[buffer(3)]], // [OC][OL]
        uint2  tgpig [[threadgroup_position_in_grid]],
        uint2  tgpg  [[threadgroups_per_grid]],
        ushort lane  [[thread_index_in_simdgroup]]) {
    const int j = tgpig.x;
    float v = 0.0f;
    for (int c = lane; c < args.IC; c += 32) {
        for (int i = 0; i < args.IL; i++) {
            const int k = j - i*args.s0;
            if (k >= 0 && k < args.K) {
                v += w[(c*tgpg.y + tgpig.y)*args.K + k]*x[c*args.IL + i];
            }
        }
    }
    v = simd_sum(v);
    if (lane == 0) {
        dst[tgpig.y*tgpg.x + j] = v;
    }
}

template [[host_name("conv_transpose_1d_f32_f32")]] kernel void kernel_conv_transpose_1d<float>(
        constant conv_t_args & args [[buffer(0)]],
        device const float * w      [[buffer(1)]],
        device const float * x      [[buffer(2)]],
        device       float * dst    [[buffer(3)]],
        uint2  tgpig [[threadgroup_position_in_grid]],
        uint2  tgpg  [[threadgroups_per_grid]],
        ushort lane  [[thread_index_in_simdgroup]]);
template [[host_name("conv_transpose_1d_f16_f32")]] kernel void kernel_conv_transpose_1d<half>(
        constant conv_t_args & args [[buffer(0)]],
        device const half  * w      [[buffer(1)]],
        device const float * x      [[buffer(2)]],
        device       float * dst    [[buffer(3)]],
        uint2  tgpig [[threadgroup_position_in_grid]],
        uint2  tgpg  [[threadgroups_per_grid]],
        ushort lane  [[thread_index_in_simdgroup]]);
