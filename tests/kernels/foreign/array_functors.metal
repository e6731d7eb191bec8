// Elementwise, scan and quantised kernels as MLX writes them: functors, a complex class with members per address space, own SIMD functions.
// Written from knowledge of the style; what each computes is checked in tests/conformance/foreign_kernels_test.cpp.
#include <metal_stdlib>
#include <metal_math>
#include <metal_simdgroup>
using namespace metal;
typedef half float16_t; typedef bfloat bfloat16_t;
struct complex64_t {
  float real; float imag;
  constexpr complex64_t(float real, float imag) : real(real), imag(imag) {};
  constexpr complex64_t() : real(0), imag(0) {};
  constexpr complex64_t() threadgroup : real(0), imag(0) {};
  template <typename T> static constexpr constant bool can_convert_to_complex64 = !is_same_v<T, complex64_t> && is_convertible_v<T, float>;
  template <typename T> static constexpr constant bool can_convert_from_complex64 = !is_same_v<T, complex64_t> && (is_convertible_v<float, T> || is_convertible_v<bfloat16_t, T>);
  template <typename T, typename = typename enable_if<can_convert_to_complex64<T>>::type> constexpr complex64_t(T x) thread : real(x), imag(0) {}
  template <typename T, typename = typename enable_if<can_convert_to_complex64<T>>::type> constexpr complex64_t(T x) threadgroup : real(x), imag(0) {}
  template <typename T, typename = typename enable_if<can_convert_to_complex64<T>>::type> constexpr complex64_t(T x) device : real(x), imag(0) {}
  template <typename T, typename = typename enable_if<can_convert_to_complex64<T>>::type> constexpr complex64_t(T x) constant : real(x), imag(0) {}
  template <typename T, typename = typename enable_if<can_convert_from_complex64<T>>::type> constexpr operator T() const thread { return static_cast<T>(real); }
  template <typename T, typename = typename enable_if<can_convert_from_complex64<T>>::type> constexpr operator T() const threadgroup { return static_cast<T>(real); }
  template <typename T, typename = typename enable_if<can_convert_from_complex64<T>>::type> constexpr operator T() const device { return static_cast<T>(real); }
  template <typename T, typename = typename enable_if<can_convert_from_complex64<T>>::type> constexpr operator T() const constant { return static_cast<T>(real); }
};
constexpr complex64_t operator-(complex64_t x) { return {-x.real, -x.imag}; }
constexpr bool operator>=(complex64_t a, complex64_t b) { return (a.real > b.real) || (a.real == b.real && a.imag >= b.imag); }
constexpr bool operator==(complex64_t a, complex64_t b) { return a.real == b.real && a.imag == b.imag; }
constexpr complex64_t operator+(complex64_t a, complex64_t b) { return {a.real + b.real, a.imag + b.imag}; }
constexpr thread complex64_t& operator+=(thread complex64_t& a, complex64_t b) { a.real += b.real; a.imag += b.imag; return a; }
constexpr threadgroup complex64_t& operator+=(threadgroup complex64_t& a, complex64_t b) { a.real += b.real; a.imag += b.imag; return a; }
constexpr device complex64_t& operator+=(device complex64_t& a, complex64_t b) { a.real += b.real; a.imag += b.imag; return a; }
constexpr complex64_t operator+(float a, complex64_t b) { return {a + b.real, b.imag}; }
constexpr complex64_t operator*(complex64_t a, complex64_t b) { return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real}; }

struct Add { template <typename T> T operator()(T x, T y) { return x + y; } };
struct Maximum {
  template <typename T> metal::enable_if_t<metal::is_integral_v<T>, T> operator()(T x, T y) { return metal::max(x, y); }
  template <typename T> metal::enable_if_t<!metal::is_integral_v<T>, T> operator()(T x, T y) { if (metal::isnan(x)) { return x; } return x > y ? x : y; }
  template <> complex64_t operator()(complex64_t x, complex64_t y) { if (metal::isnan(x.real) || metal::isnan(x.imag)) { return x; } return x >= y ? x : y; }
};
struct LogAddExp {
  template <typename T> T operator()(T x, T y) {
    if (metal::isnan(x) || metal::isnan(y)) { return metal::numeric_limits<T>::quiet_NaN(); }
    constexpr T inf = metal::numeric_limits<T>::infinity();
    T maxval = metal::max(x, y);
    T minval = metal::min(x, y);
    return (minval == -inf || maxval == inf) ? maxval : (maxval + log(T(1) + metal::exp(minval - maxval)));
  };
};
struct Remainder {
  template <typename T> metal::enable_if_t<metal::is_integral_v<T> & !metal::is_signed_v<T>, T> operator()(T x, T y) { return x % y; }
  template <typename T> metal::enable_if_t<metal::is_integral_v<T> & metal::is_signed_v<T>, T> operator()(T x, T y) { auto r = x % y; if (r != 0 && (r < 0 != y < 0)) { r += y; } return r; }
  template <typename T> metal::enable_if_t<!metal::is_integral_v<T>, T> operator()(T x, T y) { T r = fmod(x, y); if (r != 0 && (r < 0 != y < 0)) { r += y; } return r; }
};
struct Power {
  template <typename T> metal::enable_if_t<!metal::is_integral_v<T>, T> operator()(T base, T exp) { return metal::pow(base, exp); }
  template <typename T> metal::enable_if_t<metal::is_integral_v<T>, T> operator()(T base, T exp) { T res = 1; while (exp) { if (exp & 1) { res *= base; } exp >>= 1; base *= base; } return res; }
};
template <typename T, typename U, typename Op, int N = 4>
[[kernel]] void binary_vv(device const T* a, device const T* b, device U* c, constant uint& size, uint index [[thread_position_in_grid]]) {
  index *= N;
  if (N > 1 && index + N > size) { for (int i = 0; index + i < size; ++i) { c[index + i] = Op()(a[index + i], b[index + i]); } }
  else { for (int i = 0; i < N; ++i) { c[index + i] = Op()(a[index + i], b[index + i]); } }
}
#define instantiate_kernel(name, func, ...) template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;
instantiate_kernel("vv_Addfloat32", binary_vv, float, float, Add)
instantiate_kernel("vv_Addcomplex64", binary_vv, complex64_t, complex64_t, Add)
instantiate_kernel("vv_Maximumbfloat16", binary_vv, bfloat16_t, bfloat16_t, Maximum)
instantiate_kernel("vv_Maximumcomplex64", binary_vv, complex64_t, complex64_t, Maximum)
instantiate_kernel("vv_Maximumint64", binary_vv, int64_t, int64_t, Maximum)
instantiate_kernel("vv_LogAddExpfloat16", binary_vv, float16_t, float16_t, LogAddExp)
instantiate_kernel("vv_Remainderint32", binary_vv, int32_t, int32_t, Remainder)
instantiate_kernel("vv_Remainderbfloat16", binary_vv, bfloat16_t, bfloat16_t, Remainder)
instantiate_kernel("vv_Powerint16", binary_vv, int16_t, int16_t, Power)
instantiate_kernel("vv_Powerbfloat16", binary_vv, bfloat16_t, bfloat16_t, Power)

template <typename T, typename U, int N = 1>
[[kernel]] void copy_v(device const T* src [[buffer(0)]], device U* dst [[buffer(1)]], constant uint& size, uint index [[thread_position_in_grid]]) {
  dst[index] = static_cast<U>(src[index]);
}
instantiate_kernel("copy_float16_bfloat16", copy_v, float16_t, bfloat16_t)
instantiate_kernel("copy_bfloat16_float16", copy_v, bfloat16_t, float16_t)
instantiate_kernel("copy_bfloat16_complex64", copy_v, bfloat16_t, complex64_t)
instantiate_kernel("copy_complex64_float16", copy_v, complex64_t, float16_t)
instantiate_kernel("copy_complex64_bfloat16", copy_v, complex64_t, bfloat16_t)
instantiate_kernel("copy_bool_bfloat16", copy_v, bool, bfloat16_t)
instantiate_kernel("copy_int64_float16", copy_v, int64_t, float16_t)
instantiate_kernel("copy_bfloat16_bool", copy_v, bfloat16_t, bool)

namespace metal {
inline uint64_t simd_shuffle_down(uint64_t data, uint16_t delta) { return as_type<uint64_t>(metal::simd_shuffle_down(as_type<uint2>(data), delta)); }
inline int64_t simd_shuffle_down(int64_t data, uint16_t delta) { return as_type<int64_t>(metal::simd_shuffle_down(as_type<uint2>(data), delta)); }
inline bool simd_shuffle_down(bool data, uint16_t delta) { return simd_shuffle_down(static_cast<uint32_t>(data), delta); }
inline complex64_t simd_shuffle_down(complex64_t data, uint16_t delta) { return complex64_t(simd_shuffle_down(data.real, delta), simd_shuffle_down(data.imag, delta)); }
#define instantiate_metal_simd_comm_funcs(itype, otype, ctype, itype_to_ctype, ctype_to_otype) \
  METAL_FUNC otype simd_broadcast(itype data, ushort broadcast_lane_id) { return ctype_to_otype(__metal_simd_broadcast(itype_to_ctype(data), broadcast_lane_id)); } \
  METAL_FUNC otype simd_shuffle_xor(itype data, ushort mask) { return ctype_to_otype(__metal_simd_shuffle_xor(itype_to_ctype(data), mask)); } \
  METAL_FUNC otype simd_shuffle_and_fill_up(itype data, itype filling_data, ushort delta, ushort modulo = __metal_get_simdgroup_size(ushort())) { return ctype_to_otype(__metal_simd_shuffle_and_fill_up(itype_to_ctype(data), itype_to_ctype(filling_data), delta, modulo)); }
#define instantiate_metal_simd_reduction_funcs(itype, otype, ctype) \
  METAL_FUNC otype simd_max(itype data) { return static_cast<otype>(__metal_simd_max(static_cast<ctype>(data))); } \
  METAL_FUNC otype simd_sum(itype data) { return static_cast<otype>(__metal_simd_sum(static_cast<ctype>(data))); }
#define bfloat16_to_uint16(x) as_type<uint16_t>(x)
#define uint16_to_bfloat16(x) as_type<bfloat16_t>(x)
instantiate_metal_simd_comm_funcs(bfloat16_t, bfloat16_t, uint16_t, bfloat16_to_uint16, uint16_to_bfloat16);
instantiate_metal_simd_reduction_funcs(bfloat16_t, bfloat16_t, float);
}
#define instantiate_metal_math_funcs(itype, otype, ctype, mfast) \
  METAL_FUNC otype abs(itype x) { return static_cast<otype>(__metal_fabs(static_cast<ctype>(x), mfast)); } \
  METAL_FUNC otype exp(itype x) { return static_cast<otype>(__metal_exp(static_cast<ctype>(x), mfast)); } \
  METAL_FUNC otype max(itype x, itype y) { return static_cast<otype>(__metal_fmax(static_cast<ctype>(x), static_cast<ctype>(y), mfast)); }
struct bfl { uint16_t bits_; bfl() thread = default; constexpr METAL_FUNC bfl(float x) thread : bits_(uint16_t(as_type<uint>(x) >> 16)) {} METAL_FUNC operator float() const thread { return as_type<float>(uint(bits_) << 16); } METAL_FUNC operator float() const device { return as_type<float>(uint(bits_) << 16); } };
namespace metal {
instantiate_metal_math_funcs(bfl, bfl, float, __METAL_MAYBE_FAST_MATH__);
namespace fast { instantiate_metal_math_funcs(bfl, bfl, float, __METAL_FAST_MATH__); }
namespace precise { instantiate_metal_math_funcs(bfl, bfl, float, __METAL_PRECISE_MATH__); }
}
[[kernel]] void use_bfl(device bfl* x, device float* o, uint t [[thread_position_in_grid]]) { bfl v = x[t]; o[t] = float(metal::exp(v)) + float(metal::precise::max(v, bfl(1.0f))) + float(metal::fast::abs(v)); }

#define DEFINE_SIMD_SCAN()                                               \
  template <typename T, metal::enable_if_t<sizeof(T) < 8, bool> = true>  \
  T simd_scan(T val) { return simd_scan_impl(val); }                                                                      \
  template <typename T, metal::enable_if_t<sizeof(T) == 8, bool> = true> \
  T simd_scan(T val) {                                                   \
    for (int i = 1; i <= 16; i *= 2) { val = operator()(val, simd_shuffle_and_fill_up(val, init, i)); }                                                                    \
    return val;                                                          \
  }
template <typename U> struct CumSum {
  static constexpr constant U init = static_cast<U>(0);
  template <typename T> U operator()(U a, T b) { return a + b; }
  U simd_scan_impl(U x) { return simd_prefix_inclusive_sum(x); }
  template <typename T, metal::enable_if_t<sizeof(T) < 8, bool> = true> T simd_scan(T val) { return simd_scan_impl(val); }
};
template <typename T, typename U, typename Op, int N_READS, bool inclusive, bool reverse>
[[kernel]] void contiguous_scan(const device T* in [[buffer(0)]], device U* out [[buffer(1)]], const constant size_t& axis_size [[buffer(2)]], uint3 gid [[threadgroup_position_in_grid]], uint3 gsize [[threadgroups_per_grid]], uint3 lid [[thread_position_in_threadgroup]], uint3 lsize [[threads_per_threadgroup]], uint simd_size [[threads_per_simdgroup]], uint simd_lane_id [[thread_index_in_simdgroup]], uint simd_group_id [[simdgroup_index_in_threadgroup]]) {
  constexpr int simd_sz = 32;
  Op op;
  size_t offset = (gid.y + gsize.y * size_t(gid.z)) * axis_size;
  in += offset; out += offset;
  uint simd_groups = lsize.x / simd_size;
  U prefix = Op::init;
  U values[N_READS];
  threadgroup U simdgroup_sums[32];
  for (uint r = 0; r < (axis_size + lsize.x * N_READS - 1) / (lsize.x * N_READS); r++) {
    uint off = r * lsize.x * N_READS + lid.x * N_READS;
    for (int i = 0; i < N_READS; i++) { values[i] = (off + i < axis_size) ? static_cast<U>(in[off + i]) : Op::init; }
    for (int i = 1; i < N_READS; i++) { values[i] = op(values[i], values[i - 1]); }
    U prev_thread_sum = simd_shuffle_and_fill_up(op.simd_scan(values[N_READS - 1]), Op::init, 1);
    if (simd_lane_id == simd_size - 1) { simdgroup_sums[simd_group_id] = op(prev_thread_sum, values[N_READS - 1]); }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd_group_id == 0) { U prev_simdgroup_sum = simd_lane_id < simd_groups ? simdgroup_sums[simd_lane_id] : Op::init; simdgroup_sums[simd_lane_id] = simd_prefix_exclusive_sum(prev_simdgroup_sum); }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int i = 0; i < N_READS; i++) { values[i] = op(values[i], prefix); values[i] = op(values[i], simdgroup_sums[simd_group_id]); values[i] = op(values[i], prev_thread_sum); }
    for (int i = 0; i < N_READS; i++) if (off + i < axis_size) out[off + i] = values[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd_group_id == simd_groups - 1 && simd_lane_id == simd_size - 1) { simdgroup_sums[0] = values[N_READS - 1]; }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    prefix = simdgroup_sums[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  (void)simd_sz; (void)inclusive; (void)reverse;
}
instantiate_kernel("contig_scan_sum_float32", contiguous_scan, float, float, CumSum<float>, 4, true, false)
instantiate_kernel("contig_scan_sum_int32", contiguous_scan, int, int, CumSum<int>, 4, true, false)

// quantized
template <int bits, int wsize = 8> inline constexpr short get_pack_factor() { return (bits == 3 || bits == 5) ? 8 : (bits == 6 ? 4 : wsize / bits); }
template <int bits, int wsize = 8> inline constexpr short get_bytes_per_pack() { constexpr int power_of_2_bits = (bits & (bits - 1)) == 0; return power_of_2_bits ? (wsize / 8) : (bits == 5 ? 5 : 3); }
template <typename T, typename U, int values_per_thread, int bits>
inline U load_vector(const device T* x, thread U* x_thread) {
  static_assert(bits == 2 || bits == 3 || bits == 4 || bits == 5 || bits == 6 || bits == 8, "Template undefined for bits not in {2, 3, 4, 5, 6, 8}");
  U sum = 0;
  if (bits == 4) {
    for (int i = 0; i < values_per_thread; i += 4) {
      sum += x[i] + x[i + 1] + x[i + 2] + x[i + 3];
      x_thread[i] = x[i]; x_thread[i + 1] = x[i + 1] / 16.0f; x_thread[i + 2] = x[i + 2] / 256.0f; x_thread[i + 3] = x[i + 3] / 4096.0f;
    }
  }
  return sum;
}
template <typename U, int values_per_thread, int bits>
inline U qdot(const device uint8_t* w, const thread U* x_thread, U scale, U bias, U sum) {
  U accum = 0;
  if (bits == 4) {
    const device uint16_t* ws = (const device uint16_t*)w;
    for (int i = 0; i < (values_per_thread / 4); i++) {
      accum += (x_thread[4 * i] * (ws[i] & 0x000f) + x_thread[4 * i + 1] * (ws[i] & 0x00f0) + x_thread[4 * i + 2] * (ws[i] & 0x0f00) + x_thread[4 * i + 3] * (ws[i] & 0xf000));
    }
  }
  return scale * accum + sum * bias;
}
template <typename T, int group_size, int bits, bool batched>
[[kernel]] void qmv_fast(const device uint32_t* w [[buffer(0)]], const device T* scales [[buffer(1)]], const device T* biases [[buffer(2)]], const device T* x [[buffer(3)]], device T* y [[buffer(4)]], const constant int& in_vec_size [[buffer(5)]], const constant int& out_vec_size [[buffer(6)]], const constant int* x_shape, const constant int64_t* x_strides,
    uint3 tid [[threadgroup_position_in_grid]], uint simd_gid [[simdgroup_index_in_threadgroup]], uint simd_lid [[thread_index_in_simdgroup]]) {
  if (batched) { (void)x_shape; (void)x_strides; }
  constexpr int packs_per_thread = bits == 2 ? 1 : 2;
  constexpr int num_simdgroups = 2; constexpr int results_per_simdgroup = 4;
  constexpr int pack_factor = get_pack_factor<bits, 32>(); constexpr int bytes_per_pack = get_bytes_per_pack<bits, 32>();
  constexpr int values_per_thread = pack_factor * packs_per_thread; constexpr int block_size = values_per_thread * 32; constexpr int scale_step_per_thread = group_size / values_per_thread;
  const device uint8_t* ws = (const device uint8_t*)w;
  typedef float U;
  thread U x_thread[values_per_thread]; thread U result[results_per_simdgroup] = {0};
  const int in_vec_size_w = in_vec_size * bytes_per_pack / pack_factor; const int in_vec_size_g = in_vec_size / group_size;
  const int out_row = tid.y * (num_simdgroups * results_per_simdgroup) + simd_gid * results_per_simdgroup;
  ws += out_row * in_vec_size_w + simd_lid * packs_per_thread * bytes_per_pack;
  scales += out_row * in_vec_size_g + simd_lid / scale_step_per_thread; biases += out_row * in_vec_size_g + simd_lid / scale_step_per_thread;
  x += tid.x * in_vec_size + simd_lid * values_per_thread; y += tid.x * out_vec_size + out_row;
  for (int k = 0; k < in_vec_size; k += block_size) {
    U sum = load_vector<T, U, values_per_thread, bits>(x, x_thread);
    for (int row = 0; row < results_per_simdgroup; row++) {
      auto wl = (const device uint8_t*)(ws + row * in_vec_size_w);
      const device T* sl = scales + row * in_vec_size_g; const device T* bl = biases + row * in_vec_size_g;
      U s = sl[0]; U b = bl[0];
      result[row] += qdot<U, values_per_thread, bits>(wl, x_thread, s, b, sum);
    }
    ws += block_size * bytes_per_pack / pack_factor; scales += block_size / group_size; biases += block_size / group_size; x += block_size;
  }
  for (int row = 0; row < results_per_simdgroup; row++) { result[row] = simd_sum(result[row]); if (simd_lid == 0) { y[row] = static_cast<T>(result[row]); } }
}
#define instantiate_quantized(name, type, group_size, bits, batched) instantiate_kernel(#name "_" #type "_gs_" #group_size "_b_" #bits "_batch_" #batched, name, type, group_size, bits, batched)
instantiate_quantized(qmv_fast, float16_t, 64, 4, 0)
instantiate_quantized(qmv_fast, bfloat16_t, 64, 4, 0)
