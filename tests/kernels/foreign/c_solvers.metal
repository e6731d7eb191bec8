// Sparse products and small linear systems.
#include <metal_stdlib>
using namespace metal;

template <typename T> struct accumulator { typedef T type; };
template <> struct accumulator<half> { typedef float type; };
template <typename T> using accumulator_t = typename accumulator<T>::type;

template <typename T>
struct CsrMatrix {
  device const uint* row_start;
  device const uint* column;
  device const T* value;
  uint rows;
  uint first(uint r) const { return row_start[r]; }
  uint last(uint r) const { return row_start[r + 1]; }
};

template <typename T>
kernel void spmv_scalar(
    device const uint* row_start [[buffer(0)]], device const uint* column [[buffer(1)]], device const T* value [[buffer(2)]],
    device const T* x [[buffer(3)]], device T* y [[buffer(4)]], constant uint& rows [[buffer(5)]], uint gid [[thread_position_in_grid]]) {
  if (gid >= rows) return;
  CsrMatrix<T> a = {row_start, column, value, rows};
  accumulator_t<T> sum = 0;
  for (uint i = a.first(gid), end = a.last(gid); i != end; ++i) sum += accumulator_t<T>(a.value[i]) * accumulator_t<T>(x[a.column[i]]);
  y[gid] = T(sum);
}

// A simdgroup for each row.
template <typename T>
kernel void spmv_vector(
    device const uint* row_start [[buffer(0)]], device const uint* column [[buffer(1)]], device const T* value [[buffer(2)]],
    device const T* x [[buffer(3)]], device T* y [[buffer(4)]], constant uint& rows [[buffer(5)]],
    uint tg [[threadgroup_position_in_grid]], uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
    uint per_group [[simdgroups_per_threadgroup]]) {
  const uint row = tg * per_group + sg;
  if (row >= rows) return;
  const CsrMatrix<T> a{row_start, column, value, rows};
  using A = accumulator_t<T>;
  A sum = A(0);
  for (uint i = a.first(row) + lane; i < a.last(row); i += 32) sum = fma(A(a.value[i]), A(x[a.column[i]]), sum);
  sum = simd_sum(sum);
  if (lane == 0) y[row] = static_cast<T>(sum);
}

#define SPMV(kind, type)                                               \
  template [[host_name("spmv_" #kind "_" #type)]] kernel void spmv_##kind<type>
SPMV(scalar, float)(device const uint*, device const uint*, device const float*, device const float*, device float*, constant uint&, uint);
SPMV(scalar, half)(device const uint*, device const uint*, device const half*, device const half*, device half*, constant uint&, uint);
SPMV(vector, float)(device const uint*, device const uint*, device const float*, device const float*, device float*, constant uint&, uint, uint, uint, uint);
SPMV(vector, half)(device const uint*, device const uint*, device const half*, device const half*, device half*, constant uint&, uint, uint, uint, uint);

// Jacobi sweeps on a dense system inside one threadgroup, two vectors by turns.
kernel void jacobi_dense(
    device const float* A [[buffer(0)]], device const float* b [[buffer(1)]], device float* x [[buffer(2)]], constant uint2& args [[buffer(3)]],
    threadgroup float* scratch [[threadgroup(0)]], uint i [[thread_position_in_threadgroup]]) {
  const uint n = args.x, sweeps = args.y;
  threadgroup float* turn[2] = {scratch, scratch + n};
  if (i < n) turn[0][i] = 0.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint s = 0; s < sweeps; ++s) {
    threadgroup const float* from = turn[s & 1];
    threadgroup float* to = turn[~s & 1];
    if (i < n) {
      float rest = b[i];
      for (uint j = 0; j < n; ++j) rest -= j == i ? 0.0f : A[i * n + j] * from[j];
      to[i] = rest / A[i * n + i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (i < n) x[i] = turn[sweeps & 1][i];
}

// Tridiagonal systems: one for each thread by elimination, and one for each threadgroup by cyclic reduction.
kernel void tridiagonal_thomas(
    device const float4* rows [[buffer(0)]],  // below, diagonal, above, right-hand side
    device float* x [[buffer(1)]], device float2* work [[buffer(2)]], constant uint2& shape [[buffer(3)]], uint gid [[thread_position_in_grid]]) {
  const uint n = shape.x, systems = shape.y;
  if (gid >= systems) return;
  device const float4* r = &rows[gid * n];
  float2 cd = 0;
  for (uint k = 0; k < n; ++k) {
    const float m = 1.0f / (r[k].y - r[k].x * cd.x);
    cd = float2(r[k].z, r[k].w - r[k].x * cd.y) * m;
    work[k * systems + gid] = cd;
  }
  float last = cd.y;
  x[gid * n + n - 1] = last;
  for (uint k = n - 1; k-- > 0;) {
    cd = work[k * systems + gid];
    last = cd.y - cd.x * last;
    x[gid * n + k] = last;
  }
}

[[max_total_threads_per_threadgroup(128)]]
kernel void tridiagonal_pcr(
    device const float4* rows [[buffer(0)]], device float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
    uint system [[threadgroup_position_in_grid]], uint i [[thread_position_in_threadgroup]]) {
  threadgroup float4 eq[128];
  const float4 none = float4(0, 1, 0, 0);
  float4 me = i < n ? rows[system * n + i] : none;
  for (uint stride = 1; stride < n; stride *= 2) {
    eq[i] = me;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float4 up = i >= stride ? eq[i - stride] : none;
    const float4 down = i + stride < n ? eq[i + stride] : none;
    const float alpha = -me.x / up.y, gamma = -me.z / down.y;
    me = float4(alpha * up.x, me.y + alpha * up.z + gamma * down.x, gamma * down.z, me.w + alpha * up.w + gamma * down.w);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (i < n) x[system * n + i] = me.w / me.y;
}

// Cholesky factors of small matrices held as columns.
template <typename M> struct MatrixOf;
template <> struct MatrixOf<float3x3> { enum { N = 3 }; using Vec = float3; using Stored = packed_float3; };
template <> struct MatrixOf<float4x4> { enum { N = 4 }; using Vec = float4; using Stored = packed_float4; };

template <typename M>
METAL_FUNC M cholesky(const M a) {
  M l(0.0f);
  for (int c = 0; c < MatrixOf<M>::N; ++c) {
    float d = a[c][c];
    for (int k = 0; k < c; ++k) d -= l[k][c] * l[k][c];
    l[c][c] = precise::sqrt(d);
    for (int r = c + 1; r < MatrixOf<M>::N; ++r) {
      float s = a[c][r];
      for (int k = 0; k < c; ++k) s -= l[k][r] * l[k][c];
      l[c][r] = precise::divide(s, l[c][c]);
    }
  }
  return l;
}

template <typename M>
kernel void cholesky_solve(
    device const typename MatrixOf<M>::Stored* columns [[buffer(0)]], device const typename MatrixOf<M>::Stored* rhs [[buffer(1)]],
    device typename MatrixOf<M>::Stored* x [[buffer(2)]], device float* det [[buffer(3)]], constant uint& count [[buffer(4)]], uint gid [[thread_position_in_grid]]) {
  constexpr int N = MatrixOf<M>::N;
  using Vec = typename MatrixOf<M>::Vec;
  if (gid >= count) return;
  M a;
  for (int c = 0; c < N; ++c) a[c] = Vec(columns[gid * N + c]);
  const M l = cholesky(a);
  Vec y = Vec(rhs[gid]);
  for (int r = 0; r < N; ++r) {
    for (int k = 0; k < r; ++k) y[r] -= l[k][r] * y[k];
    y[r] /= l[r][r];
  }
  const M u = transpose(l);
  for (int r = N - 1; r >= 0; --r) {
    for (int k = r + 1; k < N; ++k) y[r] -= u[k][r] * y[k];
    y[r] /= u[r][r];
  }
  x[gid] = y;
  det[gid] = determinant(l * u);
}
template [[host_name("cholesky_solve_3")]] kernel decltype(cholesky_solve<float3x3>) cholesky_solve<float3x3>;
template [[host_name("cholesky_solve_4")]] kernel decltype(cholesky_solve<float4x4>) cholesky_solve<float4x4>;
