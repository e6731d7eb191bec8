// Affine quantised weights: w = scale * q + bias for each group of 32, 64 or 128 values of 2, 4 or 8 bits.
#include <metal_stdlib>
#include <metal_simdgroup>
#include <metal_simdgroup_matrix>

using namespace metal;

#define CLASS_CONSTANT static constant constexpr const

CLASS_CONSTANT int kLanes = 32;

template <int bits>
struct Levels {
  static_assert(bits == 2 || bits == 4 || bits == 8, "bits");
  CLASS_CONSTANT uint top = (1u << bits) - 1;
  CLASS_CONSTANT int in_byte = 8 / bits;
  CLASS_CONSTANT int in_word = 4 * in_byte;

  static METAL_FUNC uint level(uint packed, int i) {
    return (packed >> (i * bits)) & top;
  }
};

// What one lane multiplies with a word of weights. sum(x (s q + b)) = s sum(x q) + b sum(x), and the
// second sum is the same for all rows.
template <typename Acc, int bits>
struct Operand {
  using levels = Levels<bits>;
  Acc x[levels::in_word];
  Acc total;

  template <typename T>
  METAL_FUNC void fetch(const device T* from) thread {
    total = Acc(0);
#pragma clang loop unroll(full)
    for (int i = 0; i < levels::in_word; i++) {
      x[i] = static_cast<Acc>(from[i]);
      total += x[i];
    }
  }

  METAL_FUNC Acc times(uint word, Acc scale, Acc bias) const thread {
    Acc dot = Acc(0);
#pragma clang loop unroll(full)
    for (int i = 0; i < levels::in_word; i++, word >>= bits) {
      dot = fma(x[i], Acc(word & levels::top), dot);
    }
    return fma(dot, scale, total * bias);
  }
};

// `count` weights from whole bytes, in the arithmetic of W.
template <int bits, int count, typename W, typename Out>
METAL_FUNC void expand(const device uint8_t* bytes, W scale, W bias, Out out) {
  using levels = Levels<bits>;
  static_assert(count % levels::in_byte == 0, "whole bytes");
#pragma clang loop unroll(full)
  for (int i = 0; i < count; i++) {
    const uint q = levels::level(bytes[i / levels::in_byte], i % levels::in_byte);
    out[i] = scale * static_cast<W>(q) + bias;
  }
}

// Two simdgroups have four rows each; a lane has every 32nd word of them.
template <typename T, int group_size, int bits>
[[kernel]] void affine_qmv(
    const device uint32_t* w [[buffer(0)]],
    const device T* scales [[buffer(1)]],
    const device T* biases [[buffer(2)]],
    const device T* x [[buffer(3)]],
    device T* y [[buffer(4)]],
    const constant int& columns [[buffer(5)]],
    const constant int& rows [[buffer(6)]],
    uint3 tid [[threadgroup_position_in_grid]],
    uint simd_gid [[simdgroup_index_in_threadgroup]],
    uint simd_lid [[thread_index_in_simdgroup]]) {
  constexpr int kRows = 4;
  constexpr int in_word = Levels<bits>::in_word;
  const int words = columns / in_word;
  const int groups = columns / group_size;
  const int first = (int(tid.y) * 2 + int(simd_gid)) * kRows;
  if (first >= rows) {
    return;
  }

  float dots[kRows] = {};
  thread Operand<float, bits> operand;
  for (int at = simd_lid; at < words; at += kLanes) {
    operand.fetch(x + int(tid.x) * columns + at * in_word);
    const int group = at * in_word / group_size;
    for (int r = 0; r < kRows && first + r < rows; r++) {
      const int of_row = (first + r) * groups + group;
      dots[r] += operand.times(w[(first + r) * words + at], float(scales[of_row]), float(biases[of_row]));
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; r++) {
    const float whole = simd_sum(dots[r]);
    if (simd_lid == uint(r) && first + r < rows) {
      y[int(tid.x) * rows + first + r] = static_cast<T>(whole);
    }
  }
}

// w is K x N, packed and grouped along N: a simdgroup has the columns of one word.
template <typename T, int group_size, int bits>
[[kernel]] void affine_qvm(
    const device uint32_t* w [[buffer(0)]],
    const device T* scales [[buffer(1)]],
    const device T* biases [[buffer(2)]],
    const device T* x [[buffer(3)]],
    device T* y [[buffer(4)]],
    const constant int& in_vec_size [[buffer(5)]],
    const constant int& out_vec_size [[buffer(6)]],
    uint3 tid [[threadgroup_position_in_grid]],
    uint simd_gid [[simdgroup_index_in_threadgroup]],
    uint simds [[simdgroups_per_threadgroup]],
    uint simd_lid [[thread_index_in_simdgroup]]) {
  using levels = Levels<bits>;
  const int words = out_vec_size / levels::in_word;
  const int word = tid.y * simds + simd_gid;
  if (word >= words) {
    return;
  }
  const int group = word * levels::in_word / group_size;
  const int groups = out_vec_size / group_size;
  float result[levels::in_word];
#pragma unroll
  for (int i = 0; i < levels::in_word; i++) {
    result[i] = 0;
  }
  x += tid.x * in_vec_size;
  for (int k = simd_lid; k < in_vec_size; k += kLanes) {
    const float x_local = x[k];
    const float scale = x_local * float(scales[k * groups + group]);
    const float bias = x_local * float(biases[k * groups + group]);
    uint packed = w[k * words + word];
#pragma unroll
    for (int i = 0; i < levels::in_word; i++) {
      result[i] += scale * float(extract_bits(packed, i * bits, bits)) + bias;
    }
  }
#pragma unroll
  for (int i = 0; i < levels::in_word; i++) {
    result[i] = simd_sum(result[i]);
  }
  if (simd_lid == 0) {
    y += tid.x * out_vec_size + word * levels::in_word;
    for (int i = 0; i < levels::in_word; i++) {
      y[i] = static_cast<T>(result[i]);
    }
  }
}

template <typename T, int group_size, int bits, int BM = 32, int BN = 32, int BK = 32>
[[kernel, max_total_threads_per_threadgroup(128)]] void affine_qmm_t(
    const device uint32_t* w [[buffer(0)]],
    const device T* scales [[buffer(1)]],
    const device T* biases [[buffer(2)]],
    const device T* x [[buffer(3)]],
    device T* y [[buffer(4)]],
    const constant int& K [[buffer(5)]],
    const constant int& N [[buffer(6)]],
    const constant int& M [[buffer(7)]],
    uint3 tid [[threadgroup_position_in_grid]],
    uint lid [[thread_index_in_threadgroup]],
    uint simd_gid [[simdgroup_index_in_threadgroup]]) {
  constexpr int LD = BK + 16 / sizeof(T);
  threadgroup T Xs[BM * LD];
  threadgroup T Ws[BN * LD];
  threadgroup float Ys[BM * BN];

  auto wl = (const device uint8_t*)w;
  const int y_row = tid.y * BM;
  const int y_col = tid.x * BN;
  const int sm = 16 * (simd_gid / 2);
  const int sn = 16 * (simd_gid % 2);

  simdgroup_matrix<float, 8, 8> acc[2][2];
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 2; j++) {
      acc[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
  }

  for (int k = 0; k < K; k += BK) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int e = lid; e < BM * BK; e += 128) {
      const int r = e / BK, c = e % BK;
      Xs[r * LD + c] = y_row + r < M ? x[(y_row + r) * K + k + c] : T(0);
    }
    // four threads for each row of weights, eight values each
    const int r = lid / 4, c = (lid % 4) * 8;
    if (y_col + r < N) {
      const int flat = (y_col + r) * K + k + c;
      expand<bits, 8>(wl + flat * bits / 8, T(scales[flat / group_size]), T(biases[flat / group_size]), Ws + r * LD + c);
    } else {
      for (int i = 0; i < 8; i++) {
        Ws[r * LD + c + i] = T(0);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma clang loop unroll(full)
    for (int kk = 0; kk < BK; kk += 8) {
      simdgroup_matrix<T, 8, 8> a[2], b[2];
      for (int i = 0; i < 2; i++) {
        simdgroup_load(a[i], Xs + (sm + 8 * i) * LD + kk, LD);
        simdgroup_load(b[i], Ws + (sn + 8 * i) * LD + kk, LD, ulong2(0, 0), true);
      }
      simdgroup_barrier(mem_flags::mem_none);
      for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
          simdgroup_multiply_accumulate(acc[i][j], a[i], b[j], acc[i][j]);
        }
      }
    }
  }
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 2; j++) {
      simdgroup_store(acc[i][j], Ys, BN, ulong2(sn + 8 * j, sm + 8 * i));
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int e = lid; e < BM * BN; e += 128) {
    const int r = y_row + e / BN, c = y_col + e % BN;
    if (r < M && c < N) {
      y[r * N + c] = static_cast<T>(Ys[e]);
    }
  }
}

// A simdgroup has a group of weights; each lane has group_size / 32 of them.
template <typename T, const int group_size, const int bits>
[[kernel]] void affine_quantize(
    const device T* w [[buffer(0)]],
    device uint8_t* out [[buffer(1)]],
    device T* scales [[buffer(2)]],
    device T* biases [[buffer(3)]],
    uint index [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  constexpr int values = group_size / 32;
  constexpr int in_byte = Levels<bits>::in_byte;
  const size_t group = index / 32;
  // contiguous values, so that neighbours meet in a byte
  const size_t base = group * group_size + lane * values;

  float mine[values];
  float2 range = float2(INFINITY, -INFINITY);
#pragma clang loop unroll(full)
  for (int i = 0; i < values; i++) {
    mine[i] = w[base + i];
    range = float2(min(range.x, mine[i]), max(range.y, mine[i]));
  }
  const float low = simd_min(range.x);
  const float step = max((simd_max(range.y) - low) / float(Levels<bits>::top), 1e-7f);
  if (simd_is_first()) {
    scales[group] = static_cast<T>(step);
    biases[group] = static_cast<T>(low);
  }

  uint packed = 0;
  for (int i = 0; i < values; i++) {
    const uint q = min(uint(round((mine[i] - low) / step)), uint(Levels<bits>::top));
    packed = insert_bits(packed, q, uint(i * bits), uint(bits));
  }
  if constexpr (in_byte > values) {
    constexpr int sharers = in_byte / values;
#pragma clang loop unroll(full)
    for (int i = 1; i < sharers; i *= 2) {
      packed |= simd_shuffle_down(packed, ushort(i)) << (i * values * bits);
    }
    if (lane % sharers == 0) {
      out[base / in_byte] = static_cast<uint8_t>(packed);
    }
  } else {
    for (int i = 0; i < values / in_byte; i++) {
      out[base / in_byte + i] = static_cast<uint8_t>(packed >> (8 * i));
    }
  }
}

template <typename T, const int group_size, const int bits>
[[kernel]] void affine_dequantize(
    const device uint8_t* w [[buffer(0)]],
    const device T* scales [[buffer(1)]],
    const device T* biases [[buffer(2)]],
    device T* out [[buffer(3)]],
    uint2 at [[thread_position_in_grid]],
    uint2 size [[threads_per_grid]]) {
  constexpr int in_byte = Levels<bits>::in_byte;
  const size_t byte = at.y * size_t(size.x) + at.x;
  const size_t group = byte / (group_size / in_byte);
  expand<bits, in_byte>(w + byte, T(scales[group]), T(biases[group]), out + byte * in_byte);
}

#define instantiate_quantized(name, type, group_size, bits)                                     \
  template [[host_name(#name "_" #type "_gs_" #group_size "_b_" #bits)]] [[kernel]] decltype(   \
      name<type, group_size, bits>) name<type, group_size, bits>;

#define instantiate_quantized_groups(name, type, bits) \
  instantiate_quantized(name, type, 128, bits)         \
  instantiate_quantized(name, type, 64, bits)          \
  instantiate_quantized(name, type, 32, bits)

instantiate_quantized_groups(affine_qmv, half, 2)
instantiate_quantized_groups(affine_qmv, float, 4)
instantiate_quantized_groups(affine_qmv, bfloat, 8)
instantiate_quantized(affine_qvm, float, 32, 2)
instantiate_quantized(affine_qvm, half, 64, 4)
instantiate_quantized(affine_qvm, float, 128, 8)
instantiate_quantized(affine_qmm_t, float, 32, 2)
instantiate_quantized(affine_qmm_t, half, 64, 4)
instantiate_quantized(affine_qmm_t, bfloat, 128, 8)
instantiate_quantized(affine_quantize, float, 32, 8)
instantiate_quantized(affine_quantize, half, 64, 4)
instantiate_quantized(affine_dequantize, half, 64, 4)
instantiate_quantized(affine_dequantize, float, 32, 2)
