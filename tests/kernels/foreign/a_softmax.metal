// Softmax in several shapes, with masks, slopes and soft caps; log-sum-exp and the cross entropy that goes with it.
#include <metal_stdlib>
#include <metal_simdgroup>
using namespace metal;

#define SIMD_SIZE 32

// own limits beside metal::numeric_limits
template <typename U>
struct Limits {
  static const constant U max = metal::numeric_limits<U>::max();
  static const constant U finite_min = metal::numeric_limits<U>::lowest();
};
template <>
struct Limits<float> {
  static constexpr constant float max = MAXFLOAT;
  static constexpr constant float finite_min = -MAXFLOAT;
};

template <typename T, typename U>
inline T ceildiv(T n, U m) {
  return (n + m - 1) / m;
}

template <typename T>
inline T softmax_exp(T x) {
  return fast::exp(x);
}

// ---------------------------------------------------------------- a row in the registers of a threadgroup

template <typename T, typename AccT = T, int N_READS = 4>
[[kernel]] void block_softmax(
    const device T* in,
    device T* out,
    constant int& axis_size,
    uint gid [[threadgroup_position_in_grid]],
    uint _lid [[thread_position_in_threadgroup]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]]) {
  const int lid = _lid;

  threadgroup AccT local_max[SIMD_SIZE];
  threadgroup AccT local_normalizer[SIMD_SIZE];

  AccT ld[N_READS];

  in += gid * size_t(axis_size) + lid * N_READS;
  if (lid * N_READS + N_READS <= axis_size) {
    for (int i = 0; i < N_READS; i++) {
      ld[i] = AccT(in[i]);
    }
  } else {
    for (int i = 0; i < N_READS; i++) {
      ld[i] = ((lid * N_READS + i) < axis_size) ? AccT(in[i]) : Limits<AccT>::finite_min;
    }
  }
  if (simd_group_id == 0) {
    local_max[simd_lane_id] = Limits<AccT>::finite_min;
    local_normalizer[simd_lane_id] = 0;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  AccT maxval = Limits<AccT>::finite_min;
  for (int i = 0; i < N_READS; i++) {
    maxval = (maxval < ld[i]) ? ld[i] : maxval;
  }
  maxval = simd_max(maxval);
  if (simd_lane_id == 0) {
    local_max[simd_group_id] = maxval;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd_group_id == 0) {
    maxval = simd_max(local_max[simd_lane_id]);
    if (simd_lane_id == 0) {
      local_max[0] = maxval;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  maxval = local_max[0];

  AccT normalizer = 0;
  for (int i = 0; i < N_READS; i++) {
    AccT exp_x = softmax_exp(ld[i] - maxval);
    ld[i] = exp_x;
    normalizer += (lid * N_READS + i) < axis_size ? exp_x : AccT(0);
  }
  normalizer = simd_sum(normalizer);
  if (simd_lane_id == 0) {
    local_normalizer[simd_group_id] = normalizer;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd_group_id == 0) {
    normalizer = simd_sum(local_normalizer[simd_lane_id]);
    if (simd_lane_id == 0) {
      local_normalizer[0] = normalizer;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  normalizer = 1 / local_normalizer[0];

  out += gid * size_t(axis_size) + lid * N_READS;
  for (int i = 0; i < N_READS; i++) {
    if ((lid * N_READS + i) < axis_size) {
      out[i] = T(ld[i] * normalizer);
    }
  }
}

// ---------------------------------------------------------------- a row of any length: maximum and normalizer together

template <typename T, typename AccT = T, int N_READS = 4>
[[kernel]] void looped_softmax(
    const device T* in,
    device T* out,
    constant int& axis_size,
    uint gid [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lsize [[threads_per_threadgroup]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]]) {
  in += gid * size_t(axis_size);
  out += gid * size_t(axis_size);
  threadgroup AccT local_max[SIMD_SIZE];
  threadgroup AccT local_normalizer[SIMD_SIZE];

  AccT prevmax;
  AccT maxval = Limits<AccT>::finite_min;
  AccT normalizer = 0;
  for (int r = 0; r < static_cast<int>(ceildiv(axis_size, N_READS * (int)lsize)); r++) {
    int offset = r * lsize * N_READS + lid * N_READS;
    AccT vals[N_READS];
    for (int i = 0; i < N_READS; i++) {
      vals[i] = (offset + i < axis_size) ? AccT(in[offset + i]) : Limits<AccT>::finite_min;
    }
    prevmax = maxval;
    for (int i = 0; i < N_READS; i++) {
      maxval = (maxval < vals[i]) ? vals[i] : maxval;
    }
    normalizer *= softmax_exp(prevmax - maxval);
    for (int i = 0; i < N_READS; i++) {
      normalizer += offset + i < axis_size ? softmax_exp(vals[i] - maxval) : AccT(0);
    }
  }
  prevmax = maxval;
  maxval = simd_max(maxval);
  normalizer *= softmax_exp(prevmax - maxval);
  normalizer = simd_sum(normalizer);

  if (simd_group_id == 0) {
    local_max[simd_lane_id] = Limits<AccT>::finite_min;
    local_normalizer[simd_lane_id] = 0;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd_lane_id == 0) {
    local_max[simd_group_id] = maxval;
    local_normalizer[simd_group_id] = normalizer;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  prevmax = local_max[simd_lane_id];
  maxval = simd_max(prevmax);
  normalizer = simd_sum(local_normalizer[simd_lane_id] * softmax_exp(prevmax - maxval));
  normalizer = 1 / normalizer;

  for (int i = lid; i < axis_size; i += lsize) {
    out[i] = T(softmax_exp(AccT(in[i]) - maxval) * normalizer);
  }
}

#define instantiate_kernel(name, func, ...) \
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;

#define instantiate_softmax(name, itype)                                   \
  instantiate_kernel("block_softmax_" #name, block_softmax, itype)         \
  instantiate_kernel("looped_softmax_" #name, looped_softmax, itype)

#define instantiate_softmax_precise(name, itype)                                           \
  instantiate_kernel("block_softmax_precise_" #name, block_softmax, itype, float)          \
  instantiate_kernel("looped_softmax_precise_" #name, looped_softmax, itype, float, 2)

instantiate_softmax(float32, float)
instantiate_softmax(float16, half)
instantiate_softmax_precise(float16, half)
instantiate_softmax_precise(bfloat16, bfloat)

// ---------------------------------------------------------------- with mask and slopes

struct soft_max_args {
    int32_t  ne00;
    int32_t  ne01;
    int32_t  ne02;
    float    scale;
    float    max_bias;
    float    m0;
    float    m1;
    int32_t  n_head_log2;
    float    softcap;
};

constant bool soft_max_has_mask [[function_constant(7)]];
constant bool soft_max_capped_fc [[function_constant(8)]];
constant bool soft_max_capped = is_function_constant_defined(soft_max_capped_fc) && soft_max_capped_fc;

static inline float  vmax(float v)  { return v; }
static inline float  vmax(float4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }
static inline float  vsum(float v)  { return v; }
static inline float  vsum(float4 v) { return v[0] + v[1] + v[2] + v[3]; }

template <typename V, typename M>
static inline V score(V x, device const M * mask, int i, float slope, constant soft_max_args & args) {
    V s = x*args.scale;
    if (soft_max_capped) {
        s = args.softcap*precise::tanh(s/args.softcap);
    }
    if (soft_max_has_mask) {
        s += slope*(V) mask[i];
    }
    return s;
}

template <typename V, typename M>
kernel void kernel_soft_max(
        constant soft_max_args & args [[buffer(0)]],
        device const float * src0     [[buffer(1)]],
        device const char  * src1     [[buffer(2), function_constant(soft_max_has_mask)]],
        device       float * dst      [[buffer(3)]],
        threadgroup  float * buf      [[threadgroup(0)]],
        uint3  tgpig [[threadgroup_position_in_grid]],
        uint3  tpitg [[thread_position_in_threadgroup]],
        uint   sgitg [[simdgroup_index_in_threadgroup]],
        uint   tiisg [[thread_index_in_simdgroup]],
        uint3  tptg  [[threads_per_threadgroup]]) {
    constexpr int W = sizeof(V)/sizeof(float);
    const int i02 = tgpig.y;
    const int i01 = tgpig.x;
    const int n   = args.ne00/W;

    device const V * psrc = (device const V *) (src0 + (i02*args.ne01 + i01)*args.ne00);
    device       V * pdst = (device       V *) (dst  + (i02*args.ne01 + i01)*args.ne00);
    device const M * pmask = nullptr;
    if (soft_max_has_mask) {
        pmask = (device const M *) src1 + i01*n;
    }

    float slope = 1.0f;
    if (args.max_bias > 0.0f) {
        const int h = i02;
        const float base = h < args.n_head_log2 ? args.m0 : args.m1;
        const int   exp  = h < args.n_head_log2 ? h + 1 : 2*(h - args.n_head_log2) + 1;
        slope = pow(base, exp);
    }

    float lmax = -MAXFLOAT;
    for (int i = tpitg.x; i < n; i += tptg.x) {
        lmax = max(lmax, vmax(score<V, M>(psrc[i], pmask, i, slope, args)));
    }
    float max_val = simd_max(lmax);
    if (tptg.x > SIMD_SIZE) {
        if (sgitg == 0) {
            buf[tiisg] = -MAXFLOAT;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tiisg == 0) {
            buf[sgitg] = max_val;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        max_val = simd_max(buf[tiisg]);
    }

    float lsum = 0.0f;
    for (int i = tpitg.x; i < n; i += tptg.x) {
        const V e = metal::exp(score<V, M>(psrc[i], pmask, i, slope, args) - max_val);
        lsum += vsum(e);
        pdst[i] = e;
    }
    // the stores are the thread's own, a fence is for show
    threadgroup_barrier(mem_flags::mem_none);

    float sum = simd_sum(lsum);
    if (tptg.x > SIMD_SIZE) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (sgitg == 0) {
            buf[tiisg] = 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tiisg == 0) {
            buf[sgitg] = sum;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum = simd_sum(buf[tiisg]);
    }
    const float inv_sum = 1.0f/sum;
    for (int i = tpitg.x; i < n; i += tptg.x) {
        pdst[i] *= inv_sum;
    }
}

typedef decltype(kernel_soft_max<float, float>) kernel_soft_max_t;
template [[host_name("soft_max_f32")]]       kernel kernel_soft_max_t kernel_soft_max<float,  float>;
template [[host_name("soft_max_f16")]]       kernel kernel_soft_max_t kernel_soft_max<float,  half>;
template [[host_name("soft_max_f32_4")]]     kernel kernel_soft_max_t kernel_soft_max<float4, float4>;
template [[host_name("soft_max_f16_4")]]     kernel kernel_soft_max_t kernel_soft_max<float4, half4>;

// ---------------------------------------------------------------- log-sum-exp and cross entropy, a simdgroup per row

static float row_logsumexp(device const float * x, uint n, uint lane) {
    float2 ms = float2(-MAXFLOAT, 0.0f); // maximum, sum
    for (uint i = lane; i < n; i += SIMD_SIZE) {
        const float m = max(ms.x, x[i]);
        ms = float2(m, ms.y*exp(ms.x - m) + exp(x[i] - m));
    }
    const float m = simd_max(ms.x);
    return m + log(simd_sum(ms.y*exp(ms.x - m)));
}

[[kernel]] void logsumexp_f32(
        device const float * x [[buffer(0)]],
        device float * out     [[buffer(1)]],
        constant uint2 & shape [[buffer(2)]],
        uint2 pos [[thread_position_in_grid]]) {
    const float r = row_logsumexp(x + pos.y*shape.x, shape.x, pos.x);
    if (simd_is_first()) {
        out[pos.y] = r;
    }
}

[[kernel]] void cross_entropy_f32(
        device const float * logits [[buffer(0)]],
        device float * loss         [[buffer(1)]],
        constant uint2 & shape      [[buffer(2)]],
        device const int * labels   [[buffer(3)]],
        device atomic_float * total [[buffer(4)]],
        uint2 pos [[thread_position_in_grid]]) {
    device const float * row = logits + pos.y*shape.x;
    const float r = row_logsumexp(row, shape.x, pos.x);
    if (pos.x == 0) {
        const int label = labels[pos.y];
        const float l = label < 0 ? 0.0f : r - row[label]; // ignored rows cost nothing
        loss[pos.y] = l;
        atomic_fetch_add_explicit(total, l, memory_order_relaxed);
    }
}

// x <- cap * tanh(x / cap), four at a time and the rest
kernel void kernel_softcap_f32(
        device float * x        [[buffer(0)]],
        constant float & cap    [[buffer(1)]],
        constant uint & n       [[buffer(2)]],
        uint gid [[thread_position_in_grid]]) {
    if (4*gid + 3 < n) {
        device float4 & v = ((device float4 *) x)[gid];
        v = cap*tanh(v/cap);
    } else {
        for (uint i = 4*gid; i < n; ++i) {
            x[i] = cap*tanh(x[i]/cap);
        }
    }
}
