// Root mean square, layer, group and L2 norms; fused scale and addition.
#include <metal_stdlib>
#include <metal_simdgroup>

using namespace metal;

#define LANES 32
#define LOCAL threadgroup
#define GLOBAL device

typedef struct {
    int32_t  ne00;
    int32_t  ne00_t; // in units of the vector type
    uint64_t nb1;
    uint64_t nb2;
    float    eps;
    int32_t  nef1[2]; // rows of the fused operands, they repeat
    int32_t  pad;
} norm_args;

// the sum over the threadgroup, for everybody; the scratch has 32 places
template <typename T>
static inline T threadgroup_sum(T v, LOCAL T * scratch, ushort tiisg, ushort sgitg, ushort nsg) {
    v = simd_sum(v);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tiisg == 0) {
        scratch[sgitg] = v;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    v = tiisg < nsg ? scratch[tiisg] : T(0);
    return simd_sum(v);
}

static inline float hsum(float  x) { return x; }
static inline float hsum(float4 x) { return dot(x, float4(1.0f)); }

// F == 1 : norm
// F == 2 : norm, then multiply
// F == 3 : norm, then multiply, then add
template <typename T, short F>
kernel void kernel_rms_norm_fuse_impl(
        constant norm_args & args,
        GLOBAL const char * src0,
        GLOBAL const char * src1_0,
        GLOBAL const char * src1_1,
        GLOBAL       char * dst,
        LOCAL float * shmem_f32 [[threadgroup(0)]],
        uint   tgpig [[threadgroup_position_in_grid]],
        ushort tpitg [[thread_position_in_threadgroup]],
        ushort sgitg [[simdgroup_index_in_threadgroup]],
        ushort tiisg [[thread_index_in_simdgroup]],
        ushort ntg   [[threads_per_threadgroup]],
        ushort nsg   [[simdgroups_per_threadgroup]]) {
    GLOBAL const T * x = (GLOBAL const T *) (src0 + tgpig*args.nb1);

    GLOBAL const T * f0 = (GLOBAL const T *) (src1_0 + (tgpig%args.nef1[0])*args.nb1);
    GLOBAL const T * f1 = (GLOBAL const T *) (src1_1 + (tgpig%args.nef1[1])*args.nb1);

    float sumf = 0.0f;
    for (int i00 = tpitg; i00 < args.ne00_t; i00 += ntg) {
        sumf += hsum(x[i00]*x[i00]);
    }
    sumf = threadgroup_sum<float>(sumf, shmem_f32, tiisg, sgitg, nsg);

    const float mean  = sumf/args.ne00;
    const float scale = 1.0f/sqrt(mean + args.eps);

    GLOBAL T * y = (GLOBAL T *) (dst + tgpig*args.nb2);
    for (int i00 = tpitg; i00 < args.ne00_t; i00 += ntg) {
        if (F == 1) {
            y[i00] = (x[i00]*scale);
        }
        if (F == 2) {
            y[i00] = (x[i00]*scale)*f0[i00];
        }
        if (F == 3) {
            y[i00] = (x[i00]*scale)*f0[i00] + f1[i00];
        }
    }
}

typedef decltype(kernel_rms_norm_fuse_impl<float4, 1>) kernel_rms_norm_fuse_t;

template [[host_name("rms_norm_f32")]]           kernel kernel_rms_norm_fuse_t kernel_rms_norm_fuse_impl<float,  1>;
template [[host_name("rms_norm_mul_f32")]]       kernel kernel_rms_norm_fuse_t kernel_rms_norm_fuse_impl<float,  2>;
template [[host_name("rms_norm_mul_add_f32")]]   kernel kernel_rms_norm_fuse_t kernel_rms_norm_fuse_impl<float,  3>;
template [[host_name("rms_norm_f32_4")]]         kernel kernel_rms_norm_fuse_t kernel_rms_norm_fuse_impl<float4, 1>;
template [[host_name("rms_norm_mul_f32_4")]]     kernel kernel_rms_norm_fuse_t kernel_rms_norm_fuse_impl<float4, 2>;
template [[host_name("rms_norm_mul_add_f32_4")]] kernel kernel_rms_norm_fuse_t kernel_rms_norm_fuse_impl<float4, 3>;

// ---------------------------------------------------------------- layer norm in one pass: merging of (count, mean, sum of squares of deviations)

struct welford {
    float n, mean, m2;

    void push(float x) thread {
        n += 1.0f;
        const float d = x - mean;
        mean += d/n;
        m2 = fma(d, x - mean, m2);
    }
};

static inline welford operator+(const thread welford & a, const thread welford & b) {
    const float n = a.n + b.n;
    if (n == 0.0f) {
        return a;
    }
    const float d = b.mean - a.mean;
    return { n, a.mean + d*(b.n/n), a.m2 + b.m2 + d*d*(a.n*b.n/n) };
}

static inline welford simd_shuffle_down(const thread welford & w, ushort delta) {
    return { metal::simd_shuffle_down(w.n, delta), metal::simd_shuffle_down(w.mean, delta), metal::simd_shuffle_down(w.m2, delta) };
}

// the result is that of lane 0
static inline welford simd_merge(welford w, ushort lane) {
    for (ushort d = LANES/2; d > 0; d >>= 1) {
        const welford o = simd_shuffle_down(w, d);
        if (lane < d) {
            w = w + o;
        }
    }
    return w;
}

template <typename T, int N_READS = 4>
[[kernel]] void layer_norm(
    const device T* x [[buffer(0)]],
    const device T* w [[buffer(1)]],
    const device T* b [[buffer(2)]],
    device T* out [[buffer(3)]],
    constant float& eps [[buffer(4)]],
    constant uint& axis_size [[buffer(5)]],
    constant uint& w_stride [[buffer(6)]],
    constant uint& b_stride [[buffer(7)]],
    uint gid [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lsize [[threads_per_threadgroup]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]],
    uint simd_groups [[simdgroups_per_threadgroup]]) {
  threadgroup float3 partial[LANES];
  threadgroup float2 stats;

  x += gid * size_t(axis_size);
  out += gid * size_t(axis_size);

  welford acc = {0.0f, 0.0f, 0.0f};
  for (uint r = 0; r < axis_size; r += lsize * N_READS) {
    for (int i = 0; i < N_READS; i++) {
      const uint at = r + lid * N_READS + i;
      if (at < axis_size) {
        acc.push(float(x[at]));
      }
    }
  }
  acc = simd_merge(acc, simd_lane_id);
  if (simd_lane_id == 0) {
    partial[simd_group_id] = float3(acc.n, acc.mean, acc.m2);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd_group_id == 0) {
    acc = {0.0f, 0.0f, 0.0f};
    if (simd_lane_id < simd_groups) {
      const float3 p = partial[simd_lane_id];
      acc = {p.x, p.y, p.z};
    }
    acc = simd_merge(acc, simd_lane_id);
    if (simd_lane_id == 0) {
      stats = float2(acc.mean, metal::precise::rsqrt(acc.m2 / axis_size + eps));
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float mean = stats.x;
  const float normalizer = stats.y;

  for (uint i = lid; i < axis_size; i += lsize) {
    const float v = (float(x[i]) - mean) * normalizer;
    out[i] = w[w_stride * i] * static_cast<T>(v) + b[b_stride * i];
  }
}

#define instantiate_layer_norm(name, itype)                                             \
  template [[host_name("layer_norm" #name)]] [[kernel]] decltype(layer_norm<itype>)     \
      layer_norm<itype>;                                                                \
  template [[host_name("layer_norm_8" #name)]] [[kernel]] decltype(layer_norm<itype, 8>) \
      layer_norm<itype, 8>;

instantiate_layer_norm(float32, float)
instantiate_layer_norm(float16, half)
instantiate_layer_norm(bfloat16, bfloat)

// ---------------------------------------------------------------- group norm: a threadgroup per group

struct group_norm_args {
    int   n_elements;
    int   group_size; // channels of a group * elements of a channel
    float eps;
};

kernel void kernel_group_norm_f32(
        constant group_norm_args & args [[buffer(0)]],
        device const float * src [[buffer(1)]],
        device       float * dst [[buffer(2)]],
        threadgroup  float * buf [[threadgroup(0)]],
        uint   tgpig [[threadgroup_position_in_grid]],
        ushort tpitg [[thread_position_in_threadgroup]],
        ushort sgitg [[simdgroup_index_in_threadgroup]],
        ushort tiisg [[thread_index_in_simdgroup]],
        ushort ntg   [[threads_per_threadgroup]],
        ushort nsg   [[simdgroups_per_threadgroup]]) {
    const int start = tgpig*args.group_size;
    const int end   = min(start + args.group_size, args.n_elements); // the last group may be short

    float s = 0.0f;
    for (int j = start + tpitg; j < end; j += ntg) {
        s += src[j];
    }
    const float mean = threadgroup_sum(s, buf, tiisg, sgitg, nsg)/(end - start);

    float q = 0.0f;
    for (int j = start + tpitg; j < end; j += ntg) {
        const float y = src[j] - mean;
        q += y*y;
        dst[j] = y;
    }
    const float variance = threadgroup_sum(q, buf, tiisg, sgitg, nsg)/(end - start);
    const float scale = rsqrt(variance + args.eps);
    for (int j = start + tpitg; j < end; j += ntg) {
        dst[j] *= scale;
    }
}

// ---------------------------------------------------------------- a row per simdgroup

enum class row_norm : short { l1, l2, linf };

template <row_norm kind>
struct row_reduce {
    static float lift(float x) { return kind == row_norm::l2 ? x*x : abs(x); }
    static float merge(float a, float b) { return kind == row_norm::linf ? fmax(a, b) : a + b; }
    static float finish(float a) {
        if constexpr (kind == row_norm::linf) {
            return simd_max(a);
        } else if constexpr (kind == row_norm::l2) {
            return sqrt(simd_sum(a));
        } else {
            return simd_sum(a);
        }
    }
};

template <typename T, row_norm kind>
kernel void kernel_normalize_rows(
        device const T * src     [[buffer(0)]],
        device       T * dst     [[buffer(1)]],
        constant     uint2 & ne  [[buffer(2)]],
        constant     float & eps [[buffer(3)]],
        uint   tgpig [[threadgroup_position_in_grid]],
        ushort sgitg [[simdgroup_index_in_threadgroup]],
        ushort tiisg [[thread_index_in_simdgroup]],
        ushort nsg   [[simdgroups_per_threadgroup]]) {
    const uint row = tgpig*nsg + sgitg;
    if (row >= ne.y) {
        return;
    }
    using R = row_reduce<kind>;
    float a = 0.0f;
    for (uint i = tiisg; i < ne.x; i += LANES) {
        a = R::merge(a, R::lift((float) src[row*ne.x + i]));
    }
    const float inv = 1.0f/max(R::finish(a), eps);
    for (uint i = tiisg; i < ne.x; i += LANES) {
        dst[row*ne.x + i] = (T) ((float) src[row*ne.x + i]*inv);
    }
}

template [[host_name("l1_norm_f32")]]   kernel decltype(kernel_normalize_rows<float, row_norm::l1>)   kernel_normalize_rows<float, row_norm::l1>;
template [[host_name("l2_norm_f32")]]   kernel decltype(kernel_normalize_rows<float, row_norm::l2>)   kernel_normalize_rows<float, row_norm::l2>;
template [[host_name("l2_norm_f16")]]   kernel decltype(kernel_normalize_rows<half,  row_norm::l2>)   kernel_normalize_rows<half,  row_norm::l2>;
template [[host_name("linf_norm_f32")]] kernel decltype(kernel_normalize_rows<float, row_norm::linf>) kernel_normalize_rows<float, row_norm::linf>;
