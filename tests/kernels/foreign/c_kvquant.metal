// A quantised key/value cache: rows of int8 with a scale, and codes of 3 bits packed by eight into three bytes.
#include <metal_stdlib>
#include <metal_pack>
using namespace metal;

#define D_ const device
#define W_ device
#define C_ constant

constant int kBits [[function_constant(0)]];
constant int bits = is_function_constant_defined(kBits) ? kBits : 8;
constant float levels = float((1 << (bits - 1)) - 1);

typedef struct { int rows, dim, stride, offset; } RowShape;

template <typename T> struct Limits;
template <> struct Limits<float> { static constexpr C_ float tiny = 1e-20f; };
template <> struct Limits<half> { static constexpr C_ half tiny = 6.1035e-5h; };

union Word {
  uint u;
  uchar4 b;
  half2 h;
};

// ---- one simdgroup quantises a row into its slot of the cache
template <typename T>
[[kernel]] void quantize_rows(
    D_ T* x [[buffer(0)]], W_ char* q [[buffer(1)]], W_ float* scales [[buffer(2)]], C_ RowShape& shape [[buffer(3)]], D_ int* slots [[buffer(4)]],
    uint tg [[threadgroup_position_in_grid]], uint sg [[simdgroup_index_in_threadgroup]], uint sgs [[simdgroups_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
  const int row = int(tg * sgs + sg);
  if (row >= shape.rows) return;
  const int slot = slots[row];
  if (slot < 0) return;  // a row that is not to be kept
  D_ T* in = x + row * shape.dim;
  float most = 0.0f;
  for (int i = lane; i < shape.dim; i += 32) most = max(most, fabs(float(in[i])));
  most = max(simd_max(most), float(Limits<T>::tiny));
  const float inverse = levels / most;
  for (int i = lane; i < shape.dim; i += 32) q[slot * shape.stride + shape.offset + i] = char(clamp(rint(float(in[i]) * inverse), -levels, levels));
  if (lane == 0) scales[slot] = most / levels;
}
template [[host_name("kv_quantize_float")]] [[kernel]] decltype(quantize_rows<float>) quantize_rows<float>;
template [[host_name("kv_quantize_half")]] [[kernel]] decltype(quantize_rows<half>) quantize_rows<half>;

template <typename T>
[[kernel]] void dequantize_rows(
    D_ char4* q [[buffer(0)]], D_ float* scales [[buffer(1)]], W_ T* out [[buffer(2)]], C_ RowShape& shape [[buffer(3)]], uint2 at [[thread_position_in_grid]]) {
  const int words = shape.dim / 4;
  if (int(at.x) >= words || int(at.y) >= shape.rows) return;
  const float4 x = float4(q[at.y * words + at.x]) * scales[at.y];
  *(W_ vec<T, 4>*)(out + (at.y * words + at.x) * 4) = vec<T, 4>(x);
}
template [[host_name("kv_dequantize_float")]] [[kernel]] decltype(dequantize_rows<float>) dequantize_rows<float>;
template [[host_name("kv_dequantize_half")]] [[kernel]] decltype(dequantize_rows<half>) dequantize_rows<half>;

// ---- scores of quantised queries against quantised keys, integers until the end
static inline int dot4(char4 a, char4 b) {
  const int4 p = int4(a) * int4(b);
  return p.x + p.y + p.z + p.w;
}
[[kernel]] void scores_int8(
    D_ char* q [[buffer(0)]], D_ char* k [[buffer(1)]], D_ float* q_scale [[buffer(2)]], D_ float* k_scale [[buffer(3)]], W_ float* scores [[buffer(4)]],
    C_ RowShape& shape [[buffer(5)]], uint2 tg [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]]) {
  const int key = tg.x, query = tg.y, words = shape.dim >> 2;
  D_ char4* q4 = reinterpret_cast<D_ char4*>(q) + query * words;
  D_ char4* k4 = reinterpret_cast<D_ char4*>(k) + key * words;
  int sum = 0;
  for (int i = lane; i < words; i += 32) sum += dot4(q4[i], k4[i]);
  sum = simd_sum(sum);
  if (lane == 0) scores[query * shape.rows + key] = float(sum) * (q_scale[query] * k_scale[key]);
}

// ---- three bits
struct Three {
  uint word;  // 24 bits
  static METAL_FUNC Three load(D_ packed_uchar3* p) {
    const uchar3 b = uchar3(*p);
    return {uint(b.x) | uint(b.y) << 8 | uint(b.z) << 16};
  }
  METAL_FUNC uint operator[](uint i) const thread { return extract_bits(word, 3 * i, 3); }
  METAL_FUNC void put(uint i, uint code) thread { word = insert_bits(word, code, 3 * i, 3u); }
  METAL_FUNC void store(W_ packed_uchar3* p) const thread { *p = uchar3(uchar(word), uchar(word >> 8), uchar(word >> 16)); }
};

struct Affine { half scale, low; };

// Groups of 32 values, a lane for each; every eighth lane stores.
[[kernel]] void pack3_groups(
    D_ float* x [[buffer(0)]], W_ packed_uchar3* codes [[buffer(1)]], W_ Affine* params [[buffer(2)]], uint group [[threadgroup_position_in_grid]],
    ushort lane [[thread_index_in_simdgroup]]) {
  const float v = x[group * 32 + lane];
  const float low = simd_min(v), high = simd_max(v);
  const float span = max(high - low, 1e-6f);
  const uint code = uint(clamp(rint((v - low) * (7.0f / span)), 0.0f, 7.0f));
  Three t = {0};
  for (ushort i = 0; i < 8; ++i) t.put(i, simd_shuffle(code, ushort((lane & 24) + i)));
  if ((lane & 7) == 0) t.store(codes + group * 4 + lane / 8);
  if (simd_is_first()) params[group] = Affine{half(span / 7.0f), half(low)};
}

[[kernel]] void unpack3(D_ packed_uchar3* codes [[buffer(0)]], D_ Affine* params [[buffer(1)]], W_ float4* out [[buffer(2)]], C_ uint& count [[buffer(3)]],
                        uint gid [[thread_position_in_grid]]) {
  if (gid >= count) return;
  const Three t = Three::load(codes + gid);
  const Affine a = params[gid / 4];
  const float4 lo = float4(t[0], t[1], t[2], t[3]), hi = float4(t[4], t[5], t[6], t[7]);
  out[gid * 2] = fma(lo, float4(a.scale), float4(a.low));
  out[gid * 2 + 1] = fma(hi, float4(a.scale), float4(a.low));
}

// A product of a vector with rows of 3-bit codes: sum(scale * code + low) x, four rows for each threadgroup.
[[max_total_threads_per_threadgroup(128)]] [[kernel]] void gemv3(
    D_ uchar* codes [[buffer(0)]], D_ half2* params [[buffer(1)]], D_ float* x [[buffer(2)]], W_ float* y [[buffer(3)]], C_ RowShape& shape [[buffer(4)]],
    uint tg [[threadgroup_position_in_grid]], uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  const int row = int(tg * 4 + sg);
  if (row >= shape.rows) return;
  const int octets = shape.dim / 8;
  D_ packed_uchar3* mine = (D_ packed_uchar3*)(codes + row * octets * 3);
  float sum = 0.0f;
  for (int o = lane; o < octets; o += 32) {
    const Three t = Three::load(mine + o);
    const half2 p = params[row * (octets / 4) + o / 4];
    float weighted = 0.0f, plain = 0.0f;
#pragma unroll
    for (uint i = 0; i < 8; ++i) weighted = fma(float(t[i]), x[o * 8 + i], weighted), plain += x[o * 8 + i];
    sum += float(p.x) * weighted + float(p.y) * plain;
  }
  sum = simd_sum(sum);
  if (lane == 0) y[row] = sum;
}

// ---- words of the cache by the library's packing functions
[[kernel]] void repack(D_ Word* in [[buffer(0)]], W_ float4* out [[buffer(1)]], W_ uint2* back [[buffer(2)]], C_ uint& n [[buffer(3)]], uint gid [[thread_position_in_grid]]) {
  if (gid >= n) return;
  Word w;
  w.u = in[gid].u;
  const float4 f = unpack_unorm4x8_to_float(w.u);
  out[gid] = f;
  const float4 s = unpack_snorm4x8_to_float(w.u);
  w.b = w.b.wxyz;
  back[gid] = uint2(pack_float_to_unorm4x8(f), pack_float_to_snorm4x8(s) ^ w.u);
}
