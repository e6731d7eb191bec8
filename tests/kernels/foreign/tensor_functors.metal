// Elementwise, normalising and atomic kernels as PyTorch writes them: functors, traits, casts from any type, strides.
// Written from knowledge of the style; what each computes is checked in tests/conformance/foreign_kernels_test.cpp.
// PyTorch MPS style
#include <metal_atomic>
#include <metal_math>
#include <metal_stdlib>
using namespace metal;
namespace c10 { namespace metal {
namespace detail {
template <typename T> struct vectypes {};
template <> struct vectypes<float> { using type4 = float4; using type3 = float3; using type2 = float2; };
template <> struct vectypes<half> { using type4 = half4; using type3 = half3; using type2 = half2; };
template <> struct vectypes<bfloat> { using type4 = bfloat4; using type3 = bfloat3; using type2 = bfloat2; };
template <typename T> struct OpMathType { using type = T; };
template <> struct OpMathType<half> { using type = float; };
template <> struct OpMathType<short> { using type = int; };
template <> struct OpMathType<char> { using type = int; };
template <> struct OpMathType<uchar> { using type = int; };
template <> struct OpMathType<bfloat> { using type = float; };
template <typename T> struct AccumulationType { using type = T; };
template <> struct AccumulationType<half> { using type = float; };
template <> struct AccumulationType<bfloat> { using type = float; };
}
template <typename T> using vec2type_t = typename detail::vectypes<T>::type2;
template <typename T> using vec4type_t = typename detail::vectypes<T>::type4;
template <typename T> using opmath_t = typename detail::OpMathType<T>::type;
template <typename T> using accum_t = typename detail::AccumulationType<T>::type;
template <typename T> constexpr constant bool is_complex_v = ::metal::is_same_v<T, float2> || ::metal::is_same_v<T, half2>;
template <typename T> constexpr constant bool is_scalar_integral_v = ::metal::is_integral_v<T> && !::metal::is_same_v<T, bool>;
template <typename T, typename U> using common_dtype = decltype(T(0) + U(0));
template <typename T>
inline ::metal::enable_if_t<::metal::is_floating_point_v<T>, T> max(T a, T b) { return ::metal::isunordered(a, b) ? NAN : ::metal::max(a, b); }
template <typename T>
inline ::metal::enable_if_t<::metal::is_integral_v<T>&& !::metal::is_same_v<T, bool>, T> max(T a, T b) { return ::metal::max(a, b); }
template <typename T, ::metal::enable_if_t<::metal::is_same_v<T, long>, bool> = true>
inline T simd_shuffle_down(T val, ushort delta) { return as_type<T>(::metal::simd_shuffle_down(as_type<int2>(val), delta)); }
template <typename T>
inline ::metal::enable_if_t<!::metal::is_same_v<T, long>, T> simd_sum(T val) { return ::metal::simd_sum(val); }
template <typename T>
inline ::metal::enable_if_t<::metal::is_same_v<T, long>, T> simd_sum(T val) {
  for (ushort i = 16; i > 0; i /= 2) { val += simd_shuffle_down(val, i); }
  return as_type<T>(::metal::simd_broadcast(as_type<int2>(val), 0));
}
template <typename T>
inline ::metal::pair<T, ushort> simd_argmax(T val);
template <typename T, typename ARG_T = opmath_t<T>>
opmath_t<T> threadgroup_sum(threadgroup T* data, T val, unsigned idx, unsigned size) {
  auto rc = simd_sum(val);
  if (idx % 32 == 0) { data[idx / 32] = rc; }
  if (size > 32) {
    ::metal::threadgroup_barrier(::metal::mem_flags::mem_threadgroup);
    if (idx < ((size + 31) / 32)) {
      auto rc1 = simd_sum(data[idx]);
      if (idx == 0) { data[0] = rc1; }
    }
  }
  ::metal::threadgroup_barrier(::metal::mem_flags::mem_threadgroup);
  return data[0];
}
template <typename T> inline T log1p_(T x) { const auto xp1 = 1.0f + x; if (xp1 == 1.0f) { return x; } auto rc = ::metal::precise::log(xp1); if (x > -.5 && x < .5) { rc *= x / (xp1 - 1.0f); } return rc; }
template <typename T> struct strides_t { T v[4]; };
}}
using namespace c10::metal;
struct add_functor {
  template <typename T, enable_if_t<!is_complex_v<T>, bool> = true>
  inline T operator()(const T a, const T b, const T alpha) { return static_cast<T>(a + alpha * b); }
  template <typename T, enable_if_t<is_complex_v<T>, bool> = true>
  inline T operator()(const T a, const T b, const T alpha) { return a + T(alpha.x * b.x - alpha.y * b.y, alpha.x * b.y + alpha.y * b.x); }
};
struct fmax_functor { template <typename T> inline T operator()(const T a, const T b) { return static_cast<T>(c10::metal::max(a, b)); } };
template <typename T, typename F>
using result_of = decltype(::metal::declval<F>()(::metal::declval<T>(), ::metal::declval<T>()));
constant constexpr unsigned max_ndim = 16;
template <unsigned N = max_ndim>
inline void pos_from_thread_index(int idx, thread int pos[N], constant long* sizes, uint ndim) {
  for (unsigned i = 0; i < ndim; ++i) { pos[i] = idx % sizes[i]; idx /= sizes[i]; }
}
inline long offset_from_coord(thread int idx[max_ndim], constant long* strides, uint ndim) {
  long rc = 0; for (unsigned i = 0; i < ndim; ++i) { rc += idx[i] * strides[i]; } return rc;
}
template <typename T> inline T val_at_offs(constant void* ptr, long offs) { return *reinterpret_cast<constant T*>(static_cast<constant char*>(ptr) + offs); }
template <typename T> inline device T& ref_at_offs(device void* ptr, long offs) { return *reinterpret_cast<device T*>(static_cast<device char*>(ptr) + offs); }
enum class ScalarType { Byte = 0, Char, Short, Int, Long, Half, Float, BFloat16 };
template <typename T> T cast_from(constant void* p, long offs, ScalarType t) {
  switch (t) {
    case ScalarType::Byte: return static_cast<T>(val_at_offs<uchar>(p, offs));
    case ScalarType::Char: return static_cast<T>(val_at_offs<char>(p, offs));
    case ScalarType::Short: return static_cast<T>(val_at_offs<short>(p, offs));
    case ScalarType::Int: return static_cast<T>(val_at_offs<int>(p, offs));
    case ScalarType::Long: return static_cast<T>(val_at_offs<long>(p, offs));
    case ScalarType::Half: return static_cast<T>(val_at_offs<half>(p, offs));
    case ScalarType::BFloat16: return static_cast<T>(val_at_offs<bfloat>(p, offs));
    case ScalarType::Float: return static_cast<T>(val_at_offs<float>(p, offs));
  }
  return T(0);
}
template <typename T, typename F, typename om_t = T>
kernel void alpha_binary_strided(device void* output [[buffer(0)]], constant void* input [[buffer(1)]], constant void* other [[buffer(2)]], constant T& alpha [[buffer(3)]], constant long* sizes [[buffer(4)]], constant long* os [[buffer(5)]], constant long* is [[buffer(6)]], constant long* ot [[buffer(7)]], constant uint4& nd [[buffer(8)]], uint index [[thread_position_in_grid]]) {
  F f;
  int pos[max_ndim];
  pos_from_thread_index(int(index), pos, sizes, nd.x);
  const auto a = cast_from<T>(input, offset_from_coord(pos, is, nd.x), static_cast<ScalarType>(nd.y));
  const auto b = val_at_offs<T>(other, offset_from_coord(pos, ot, nd.x));
  ref_at_offs<T>(output, offset_from_coord(pos, os, nd.x)) = static_cast<T>(f(om_t(a), om_t(b), om_t(alpha)));
}
#define REG(NAME, DTYPE) template [[host_name(#NAME "_" #DTYPE)]] kernel void ::alpha_binary_strided<DTYPE, NAME##_functor, opmath_t<DTYPE>>(device void*, constant void*, constant void*, constant DTYPE&, constant long*, constant long*, constant long*, constant long*, constant uint4&, uint)
REG(add, float);
REG(add, half);
REG(add, bfloat);
REG(add, int);
REG(add, float2);

template <typename T>
kernel void layer_norm_single_row(constant T* input [[buffer(0)]], device T* output [[buffer(1)]], device T* meanOut [[buffer(2)]], device T* rstdOut [[buffer(3)]], constant uint& axis_size [[buffer(4)]], constant float& epsilon [[buffer(5)]], constant int& use_w, constant int& use_b, constant T* weight [[buffer(8)]], constant T* bias [[buffer(9)]],
    uint tg_id [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]], uint simd_lane_id [[thread_index_in_simdgroup]], uint simdgroup_id [[simdgroup_index_in_threadgroup]]) {
  constexpr uint SIMD_SIZE = 32; constexpr uint N_READS = 4;
  uint row_offset = tg_id * axis_size;
  constant T* x = input + row_offset + tid * N_READS;
  float4 x4 = {0, 0, 0, 0}; float partial_sum = 0.0f, partial_sum_sq = 0.0f;
  if (tid * N_READS + N_READS <= axis_size) {
    vec4type_t<T> v4 = *reinterpret_cast<constant vec4type_t<T>*>(x);
    x4 = float4(v4.x, v4.y, v4.z, v4.w);
    partial_sum = dot(x4, 1.0f); partial_sum_sq = dot(x4, x4);
  } else {
    for (uint i = 0; i < N_READS; i++) if ((tid * N_READS + i) < axis_size) { float val = float(x[i]); x4[i] = val; partial_sum += val; partial_sum_sq += val * val; }
  }
  threadgroup float local_sums[SIMD_SIZE]; threadgroup float local_sums_sq[SIMD_SIZE];
  threadgroup float tg_mean[1]; threadgroup float tg_inv_std[1];
  if (simdgroup_id == 0) { local_sums[simd_lane_id] = 0; local_sums_sq[simd_lane_id] = 0; }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float group_partial_sum = simd_sum(partial_sum); float group_partial_sum_sq = simd_sum(partial_sum_sq);
  if (simd_lane_id == 0) { local_sums[simdgroup_id] = group_partial_sum; local_sums_sq[simdgroup_id] = group_partial_sum_sq; }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup_id == 0) {
    float sum = simd_sum(local_sums[simd_lane_id]); float sum_sq = simd_sum(local_sums_sq[simd_lane_id]);
    if (simd_lane_id == 0) {
      float mean = sum / float(axis_size); float var = sum_sq / float(axis_size) - mean * mean; var = var < 1e-6 ? 0.0f : var;
      float rstd = metal::precise::rsqrt(var + epsilon);
      tg_mean[0] = mean; tg_inv_std[0] = rstd;
      meanOut[tg_id] = static_cast<T>(mean); rstdOut[tg_id] = static_cast<T>(rstd);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float4 norm = (x4 - tg_mean[0]) * tg_inv_std[0];
  output += row_offset + tid * N_READS;
  #pragma unroll
  for (uint i = 0; i < N_READS; i++) if (tid * N_READS + i < axis_size) { float v = norm[i]; if (use_w) v *= float(weight[tid*N_READS+i]); if (use_b) v += float(bias[tid*N_READS+i]); output[i] = static_cast<T>(v); }
}
#define instantiate_layer_norm(DTYPE) template [[host_name("layer_norm_" #DTYPE)]] [[kernel]] void layer_norm_single_row<DTYPE>(constant DTYPE* input [[buffer(0)]], device DTYPE* output [[buffer(1)]], device DTYPE* meanOut [[buffer(2)]], device DTYPE* rstdOut [[buffer(3)]], constant uint& axis_size [[buffer(4)]], constant float& epsilon [[buffer(5)]], constant int& use_w, constant int& use_b, constant DTYPE* weight [[buffer(8)]], constant DTYPE* bias [[buffer(9)]], uint tg_id [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]], uint simd_lane_id [[thread_index_in_simdgroup]], uint simdgroup_id [[simdgroup_index_in_threadgroup]]);
instantiate_layer_norm(float)
instantiate_layer_norm(bfloat)
instantiate_layer_norm(half)

template <typename T> struct AtomicType {};
template <> struct AtomicType<float> { using type = atomic<float>; static inline void atomic_add(device type* data, long offset, float value) { atomic_fetch_add_explicit(data + offset, value, memory_order_relaxed); } };
template <typename T>
static inline void atomic_add_helper(device atomic<int>* data, long offset, T value) {
  constexpr auto elem_per_enum = sizeof(int) / sizeof(T);
  auto ptr = data + (offset / elem_per_enum);
  auto old = atomic_load_explicit(ptr, memory_order_relaxed);
  union { int i; T t[elem_per_enum]; } val;
  do { val.i = old; val.t[offset & (elem_per_enum - 1)] += value; } while (!atomic_compare_exchange_weak_explicit(ptr, &old, val.i, memory_order_relaxed, memory_order_relaxed));
}
template <> struct AtomicType<half> { using type = atomic<int>; static inline void atomic_add(device type* data, long offset, half value) { atomic_add_helper<half>(data, offset, value); } };
template <> struct AtomicType<bfloat> { using type = atomic<int>; static inline void atomic_add(device type* data, long offset, bfloat value) { atomic_add_helper<bfloat>(data, offset, value); } };
template <typename T> using AtomicType_t = typename AtomicType<T>::type;
template <typename T, typename E>
kernel void index_put_accumulate(device AtomicType_t<T>* out, constant T* in, constant E* idx, uint t [[thread_position_in_grid]]) { AtomicType<T>::atomic_add(out, idx[t], in[t]); }
template [[host_name("ipa_float")]] kernel void index_put_accumulate<float, long>(device AtomicType_t<float>*, constant float*, constant long*, uint);
template [[host_name("ipa_half")]] kernel void index_put_accumulate<half, int>(device AtomicType_t<half>*, constant half*, constant int*, uint);
template [[host_name("ipa_bfloat")]] kernel void index_put_accumulate<bfloat, int>(device AtomicType_t<bfloat>*, constant bfloat*, constant int*, uint);
