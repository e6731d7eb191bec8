// Function: fused_* kernels in the manner of a schedule compiler: argument structs, unions for scalars, explicit vector loads.
#include <metal_stdlib>
using namespace metal;

union __ArgUnion {
  int v_int[2];
  float v_float[2];
};

#ifdef __HAVE_BFLOAT__
#define HAS_BF16 1
#else
#define HAS_BF16 0
#endif

#define LAUNCH_BOUNDS(n) [[max_total_threads_per_threadgroup(n)]]

// Function: fused_rms_norm_kernel
struct fused_rms_norm_kernel_args_t {
  int batch; int hidden;
  float eps; int nblk;
};
kernel void fused_rms_norm_kernel(
  device float* lv [[ buffer(0) ]], device float* weight [[ buffer(1) ]], device float* rms_norm [[ buffer(2) ]],
  constant fused_rms_norm_kernel_args_t& arg [[ buffer(3) ]],
  uint3 blockIdx [[threadgroup_position_in_grid]],
  uint3 threadIdx [[thread_position_in_threadgroup]]
) {
  thread float ss[1];
  threadgroup float red_buf0[64];
  threadgroup float red_result[1];
  thread float4 cache[2];
  ss[0] = 0.000000e+00f;
  for (int i = 0; i < (((arg.hidden + 255) / 256)); ++i) {
    if (((i * 256) + (((int)threadIdx.x) * 4)) < arg.hidden) {
      cache[i & 1] = ((device float4*)(lv + ((((((int)blockIdx.x) * arg.hidden) + (i * 256)) + (((int)threadIdx.x) * 4)))))[0];
      float4 v_ = (cache[i & 1] * cache[i & 1]);
      ss[0] = (ss[0] + (((v_.x + v_.y) + v_.z) + v_.w));
    }
  }
  ((threadgroup float*)red_buf0)[((int)threadIdx.x)] = ss[0];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (((int)threadIdx.x) < 32) {
    ((volatile threadgroup float*)red_buf0)[((int)threadIdx.x)] = (((volatile threadgroup float*)red_buf0)[((int)threadIdx.x)] + ((volatile threadgroup float*)red_buf0)[(((int)threadIdx.x) + 32)]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (((int)threadIdx.x) < 16) {
    float w_16_ = (((volatile threadgroup float*)red_buf0)[((int)threadIdx.x)] + ((volatile threadgroup float*)red_buf0)[(((int)threadIdx.x) + 16)]);
    ((volatile threadgroup float*)red_buf0)[((int)threadIdx.x)] = w_16_;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (((int)threadIdx.x) == 0) {
    float total = 0.000000e+00f;
#pragma unroll
    for (int k = 0; k < 16; ++k) total += red_buf0[k];
    red_result[0] = rsqrt((total / ((float)arg.hidden)) + arg.eps);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int i = 0; i < (((arg.hidden + 255) / 256)); ++i) {
    if (((i * 256) + (((int)threadIdx.x) * 4)) < arg.hidden) {
      int4 idx = int4((i * 256) + (((int)threadIdx.x) * 4)) + int4(0, 1, 2, 3);
      float4 x_ = ((device float4*)(lv + (((((int)blockIdx.x) * arg.hidden) + idx.x))))[0];
      float4 w_ = float4(weight[idx.x], weight[idx.y], weight[idx.z], weight[idx.w]);
      ((device float4*)(rms_norm + ((((int)blockIdx.x) * arg.hidden) + idx.x)))[0] = ((x_ * ((float4)(red_result[0]))) * w_);
    }
  }
}

// Function: fused_dense_add_relu_kernel
LAUNCH_BOUNDS(64) kernel void fused_dense_add_relu_kernel(
  device half* T_relu [[ buffer(0) ]], device half* p0 [[ buffer(1) ]], device half* p1 [[ buffer(2) ]], device half* p2 [[ buffer(3) ]],
  constant __ArgUnion* scalars [[ buffer(4) ]],
  uint3 blockIdx [[threadgroup_position_in_grid]],
  uint3 threadIdx [[thread_position_in_threadgroup]]
) {
  thread float T_matmul_NT[4];
  alignas(16) threadgroup half p0_shared[16 * 16];
  alignas(16) threadgroup half p1_shared[16 * 16];
  const int k_total = scalars[0].v_int[0];
  const float scale = scalars[1].v_float[0];
  T_matmul_NT[0] = 0.000000e+00f;
  T_matmul_NT[1] = 0.000000e+00f;
  T_matmul_NT[2] = 0.000000e+00f;
  T_matmul_NT[3] = 0.000000e+00f;
  for (int k_0 = 0; k_0 < (k_total >> 4); ++k_0) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ((threadgroup half4*)(p0_shared + (((int)threadIdx.x) * 4)))[0] = ((device half4*)(p0 + (((((int)blockIdx.y) * 16 + (((int)threadIdx.x) >> 2)) * k_total) + (k_0 * 16) + ((((int)threadIdx.x) & 3) * 4))))[0];
    ((threadgroup half4*)(p1_shared + (((int)threadIdx.x) * 4)))[0] = ((device half4*)(p1 + (((((int)blockIdx.x) * 16 + (((int)threadIdx.x) >> 2)) * k_total) + (k_0 * 16) + ((((int)threadIdx.x) & 3) * 4))))[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int k_1 = 0; k_1 < 16; ++k_1) {
      float a_ = (float)p0_shared[((((int)threadIdx.x) >> 2) * 16) + k_1];
      for (int j = 0; j < 4; ++j) {
        T_matmul_NT[j] = (T_matmul_NT[j] + (a_ * ((float)p1_shared[((((((int)threadIdx.x) & 3) * 4) + j) * 16) + k_1])));
      }
    }
  }
  int n_total = scalars[0].v_int[1];
  for (int j = 0; j < 4; ++j) {
    int row = ((((int)blockIdx.y) * 16) + (((int)threadIdx.x) >> 2));
    int col = (((((int)blockIdx.x) * 16) + ((((int)threadIdx.x) & 3) * 4)) + j);
    T_relu[((row * n_total) + col)] = ((half)max(((T_matmul_NT[j] * scale) + ((float)p2[col])), 0.000000e+00f));
  }
}

// Function: fused_split_rope_kernel
struct fused_split_rope_args_t { int n_q; int n_k; int head_dim; float theta; int offset; };
kernel void fused_split_rope_kernel(
  device float* q [[ buffer(0) ]], device float* k [[ buffer(1) ]], device float* v [[ buffer(2) ]], const device float* qkv [[ buffer(3) ]],
  constant fused_split_rope_args_t& arg [[ buffer(4) ]],
  uint3 blockIdx [[threadgroup_position_in_grid]],
  uint3 blockDim [[threads_per_threadgroup]],
  uint3 threadIdx [[thread_position_in_threadgroup]]
) {
  int half_dim = arg.head_dim / 2, heads = arg.n_q + (2 * arg.n_k), head = (int)blockIdx.x, pos = (int)blockIdx.y;
  for (int d = (int)threadIdx.x; d < arg.head_dim; d += (int)blockDim.x) {
    const device float* local = qkv + (((pos * heads) + head) * arg.head_dim);
    float x = local[d];
    if (head < (arg.n_q + arg.n_k)) {
      float freq = precise::pow(arg.theta, -((float)((d % half_dim) * 2)) / ((float)arg.head_dim));
      float angle = ((float)(pos + arg.offset)) * freq;
      float pair_ = d < half_dim ? -local[d + half_dim] : local[d - half_dim];
      x = (precise::cos(angle) * x) + (precise::sin(angle) * pair_);
    }
    if (head < arg.n_q) {
      q[(((pos * arg.n_q) + head) * arg.head_dim) + d] = x;
    } else if (head < (arg.n_q + arg.n_k)) {
      k[(((pos * arg.n_k) + (head - arg.n_q)) * arg.head_dim) + d] = x;
    } else {
      v[(((pos * arg.n_k) + ((head - arg.n_q) - arg.n_k)) * arg.head_dim) + d] = x;
    }
  }
}

// Function: cast_pad_transpose_kernel
kernel void cast_pad_transpose_kernel(
  device half* T_out [[ buffer(0) ]], const device uchar* p0 [[ buffer(1) ]], constant int4& shape [[ buffer(2) ]],
  uint3 blockIdx [[threadgroup_position_in_grid]], uint3 threadIdx [[thread_position_in_threadgroup]]
) {
  int ax = (int)((blockIdx.x * 32) + threadIdx.x);
  int rows = shape.x, cols = shape.y, pad = shape.z;
  int out_rows = cols + (2 * pad), out_cols = rows + (2 * pad);
  if (ax < (out_rows * out_cols)) {
    int i = (ax / out_cols) - pad, j = (ax % out_cols) - pad;
    T_out[ax] = ((((0 <= i) && (i < cols)) && (0 <= j)) && (j < rows)) ? ((half)p0[(j * cols) + i]) : ((half)-1.0h);
  }
}

// Function: gemv_pipe_kernel
kernel void gemv_pipe_kernel(
  device float* out [[ buffer(0) ]], const device float* global [[ buffer(1) ]], const device float* x [[ buffer(2) ]], constant int2& nk [[ buffer(3) ]],
  uint3 blockIdx [[threadgroup_position_in_grid]], uint3 threadIdx [[thread_position_in_threadgroup]]
) {
  thread float4 pipe[2];
  const int kernel_size = nk.y / 128;
  int row = ((int)blockIdx.x * 2) + (int)threadIdx.y;
  if (row >= nk.x) return;
  const device float4* w4 = reinterpret_cast<const device float4*>(global + (row * nk.y));
  const device float4* x4 = reinterpret_cast<const device float4*>(x);
  float4 acc = (float4)(0.0f);
  pipe[0] = w4[threadIdx.x];
  for (int s = 0; s < kernel_size; ++s) {
    if (s + 1 < kernel_size) pipe[(s + 1) & 1] = w4[((s + 1) * 32) + (int)threadIdx.x];
    acc = fma(pipe[s & 1], x4[(s * 32) + (int)threadIdx.x], acc);
  }
  float sum = (acc.x + acc.y) + (acc.z + acc.w);
  sum += simd_shuffle_down(sum, 16);
  sum += simd_shuffle_down(sum, 8);
  sum += simd_shuffle_down(sum, 4);
  sum += simd_shuffle_down(sum, 2);
  sum += simd_shuffle_down(sum, 1);
  if (threadIdx.x == 0) out[row] = sum;
}

#if HAS_BF16
// Function: cast_bf16_kernel
kernel void cast_bf16_kernel(
  device bfloat* out [[ buffer(0) ]], const device float* p0 [[ buffer(1) ]], constant uint& n [[ buffer(2) ]], uint tid [[thread_position_in_grid]]
) {
  if (tid * 2 + 1 < n) {
    bfloat2 pair = bfloat2(((const device float2*)p0)[tid]);
    *(device bfloat2*)(out + tid * 2) = pair;
  } else if (tid * 2 < n) {
    out[tid * 2] = (bfloat)p0[tid * 2];
  }
}
#endif
