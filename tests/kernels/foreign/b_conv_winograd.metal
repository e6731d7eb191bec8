// Convolutions: naive in one and two dimensions, and F(2x2, 3x3) through constant transforms; and small generators.
#include <metal_stdlib>

using namespace metal;

template <int NDIM>
struct ConvShape {
  int N;
  int C;
  int O;
  int iS[NDIM];
  int wS[NDIM];
  int oS[NDIM];
  int str[NDIM];
  int pad[NDIM];
  int kdil[NDIM];
  int groups;
  bool flip;
};

constant bool has_bias [[function_constant(0)]];

// in: N iS C, weights: O wS C/groups, out: N oS O
template <typename T>
[[kernel]] void naive_conv_1d(
    const device T* in [[buffer(0)]],
    const device T* wt [[buffer(1)]],
    device T* out [[buffer(2)]],
    const constant ConvShape<1>* params [[buffer(3)]],
    const device T* bias [[buffer(4), function_constant(has_bias)]],
    uint3 tid [[thread_position_in_grid]]) {
  const constant auto& p = *params;
  const int o = tid.x, os = tid.y, n = tid.z;
  if (o >= p.O || os >= p.oS[0]) {
    return;
  }
  const int C = p.C / p.groups;
  const int c0 = o / (p.O / p.groups) * C;
  float acc = has_bias ? float(bias[o]) : 0.0f;
  for (int k = 0; k < p.wS[0]; k++) {
    const int kk = p.flip ? p.wS[0] - 1 - k : k;
    const int s = os * p.str[0] - p.pad[0] + k * p.kdil[0];
    if (s < 0 || s >= p.iS[0]) {
      continue;
    }
    const device T* in_at = in + (n * p.iS[0] + s) * p.C + c0;
    const device T* wt_at = wt + (o * p.wS[0] + kk) * C;
    for (int c = 0; c < C; c++) {
      acc += static_cast<float>(in_at[c]) * static_cast<float>(wt_at[c]);
    }
  }
  out[(n * p.oS[0] + os) * p.O + o] = static_cast<T>(acc);
}

// A thread has TM outputs of TN channels.
template <typename T, const int TM, const int TN>
[[kernel]] void naive_conv_2d(
    const device T* in [[buffer(0)]],
    const device T* wt [[buffer(1)]],
    device T* out [[buffer(2)]],
    const constant ConvShape<2>& params [[buffer(3)]],
    uint3 tid [[thread_position_in_grid]]) {
  const int n = tid.z;
  const int first_o = tid.y * TN;
  const int first_p = tid.x * TM;
  const int points = params.oS[0] * params.oS[1];
  float accum[TM][TN] = {{0}};
  int base_h[TM], base_w[TM];
  for (int m = 0; m < TM; ++m) {
    const int p = min(first_p + m, points - 1);
    base_h[m] = (p / params.oS[1]) * params.str[0] - params.pad[0];
    base_w[m] = (p % params.oS[1]) * params.str[1] - params.pad[1];
  }
  for (int h = 0; h < params.wS[0]; ++h) {
    for (int w = 0; w < params.wS[1]; ++w) {
      for (int c = 0; c < params.C; ++c) {
        float wt_local[TN];
        for (int t = 0; t < TN; ++t) {
          const int o = min(first_o + t, params.O - 1);
          wt_local[t] = wt[((o * params.wS[0] + h) * params.wS[1] + w) * params.C + c];
        }
#pragma unroll
        for (int m = 0; m < TM; ++m) {
          const int y = base_h[m] + h * params.kdil[0];
          const int x = base_w[m] + w * params.kdil[1];
          const bool valid = y >= 0 && y < params.iS[0] && x >= 0 && x < params.iS[1];
          const float v = valid ? float(in[((n * params.iS[0] + y) * params.iS[1] + x) * params.C + c]) : 0.0f;
#pragma unroll
          for (int t = 0; t < TN; ++t) {
            accum[m][t] += v * wt_local[t];
          }
        }
      }
    }
  }
  for (int m = 0; m < TM && first_p + m < points; ++m) {
    for (int t = 0; t < TN && first_o + t < params.O; ++t) {
      out[(n * points + first_p + m) * params.O + first_o + t] = static_cast<T>(accum[m][t]);
    }
  }
}

template <int M, int R, int S>
struct Toom {};

template <>
struct Toom<2, 3, 4> {
  static constexpr constant const int kIn = 4;
  static constexpr constant const int kOut = 2;
  static constexpr constant float of_input[4][4] = {
      {1.0f, 0.0f, 0.0f, 0.0f},
      {0.0f, 1.0f, -1.0f, 1.0f},
      {-1.0f, 1.0f, 1.0f, 0.0f},
      {0.0f, 0.0f, 0.0f, -1.0f},
  };
  static constexpr constant float of_output[4][2] = {
      {1.0f, 0.0f},
      {1.0f, 1.0f},
      {1.0f, -1.0f},
      {0.0f, -1.0f},
  };
  static constexpr constant float of_weights[4][3] = {
      {1.0f, 0.0f, 0.0f},
      {0.5f, 0.5f, 0.5f},
      {0.5f, -0.5f, 0.5f},
      {0.0f, 0.0f, 1.0f},
  };
};

constant constexpr const float Toom<2, 3, 4>::of_input[4][4];
constant constexpr const float Toom<2, 3, 4>::of_output[4][2];
constant constexpr const float Toom<2, 3, 4>::of_weights[4][3];

// G g G^T: a thread has one filter of one channel; out is 16 x C x O.
template <typename T>
[[kernel]] void winograd_weights(
    const device T* wt [[buffer(0)]],
    device T* out [[buffer(1)]],
    const constant int& C [[buffer(2)]],
    const constant int& O [[buffer(3)]],
    uint2 tid [[thread_position_in_grid]]) {
  using Small = Toom<2, 3, 4>;
  const int c = tid.x, o = tid.y;
  float g[3][3], t[4][3];
  for (int i = 0; i < 9; ++i) {
    g[i / 3][i % 3] = wt[(o * 9 + i) * C + c];
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) {
      t[i][j] = 0;
      for (int k = 0; k < 3; ++k) {
        t[i][j] += Small::of_weights[i][k] * g[k][j];
      }
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      float acc = 0;
      for (int k = 0; k < 3; ++k) {
        acc += t[i][k] * Small::of_weights[j][k];
      }
      out[((i * 4 + j) * C + c) * O + o] = static_cast<T>(acc);
    }
  }
}

// The whole of a 3x3 convolution with padding 1: a threadgroup has one tile of 2x2 outputs, a lane an output channel.
template <typename T, int CB = 8>
[[kernel]] void winograd_conv(
    const device T* in [[buffer(0)]],
    const device float* wt [[buffer(1)]],
    device T* out [[buffer(2)]],
    const constant ConvShape<2>& params [[buffer(3)]],
    uint3 tid [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_threadgroup]]) {
  using Small = Toom<2, 3, 4>;
  constexpr int A = Small::kIn;
  threadgroup float tile[CB][A][A];
  const int H = params.iS[0], W = params.iS[1], C = params.C, O = params.O;
  const int h0 = int(tid.y) * 2 - 1, w0 = int(tid.x) * 2 - 1;
  float acc[A][A] = {};
  for (int cb = 0; cb < C; cb += CB) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane < uint(CB)) {
      float d[A][A];
      float t[A][A];
      const int c = cb + lane;
      for (int i = 0; i < A; ++i) {
        for (int j = 0; j < A; ++j) {
          const int h = h0 + i, w = w0 + j;
          const bool ok = h >= 0 && h < H && w >= 0 && w < W && c < C;
          d[i][j] = ok ? float(in[((int(tid.z) * H + h) * W + w) * C + c]) : 0.0f;
        }
      }
      for (int i = 0; i < A; ++i) {
        for (int j = 0; j < A; ++j) {
          t[i][j] = 0;
          for (int k = 0; k < A; ++k) {
            t[i][j] += Small::of_input[k][i] * d[k][j];
          }
        }
      }
      for (int i = 0; i < A; ++i) {
        for (int j = 0; j < A; ++j) {
          float sum = 0;
          for (int k = 0; k < A; ++k) {
            sum += t[i][k] * Small::of_input[k][j];
          }
          tile[lane][i][j] = sum;
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (int(lane) < O) {
      for (int c = 0; c < CB && cb + c < C; ++c) {
        threadgroup const float(&V)[A][A] = tile[c];
#pragma clang loop unroll(full)
        for (int e = 0; e < A * A; ++e) {
          acc[e / A][e % A] += V[e / A][e % A] * wt[(e * C + cb + c) * O + lane];
        }
      }
    }
  }
  if (int(lane) >= O) {
    return;
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      float y = 0;
      for (int k = 0; k < A; ++k) {
        for (int l = 0; l < A; ++l) {
          y += Small::of_output[k][i] * acc[k][l] * Small::of_output[l][j];
        }
      }
      const int h = int(tid.y) * 2 + i, w = int(tid.x) * 2 + j;
      if (h < H && w < W) {
        out[((int(tid.z) * H + h) * W + w) * O + lane] = static_cast<T>(y);
      }
    }
  }
}

template <typename T>
[[kernel]] void arange(
    constant const T& start, constant const T& step, device T* out, uint index [[thread_position_in_grid]]) {
  out[index] = start + index * step;
}

// The lower (k = 0: with the diagonal) or upper triangle of a batch of matrices; the rest becomes zero.
template <typename T, bool upper>
kernel void tri(
    device const T* x [[buffer(0)]],
    device T* y [[buffer(1)]],
    constant int& k [[buffer(2)]],
    uint3 at [[thread_position_in_grid]],
    uint3 size [[threads_per_grid]]) {
  const int d = int(at.x) - int(at.y) - k;
  const size_t i = at.x + size.x * (at.y + size_t(size.y) * at.z);
  y[i] = select(T(0), x[i], upper ? d >= 0 : d <= 0);
}

#define instantiate_naive_conv_2d(name, itype, tm, tn)                                   \
  template [[host_name("naive_conv_2d_" #name "_tm" #tm "_tn" #tn)]] [[kernel]] void     \
  naive_conv_2d<itype, tm, tn>(                                                          \
      const device itype* in [[buffer(0)]],                                              \
      const device itype* wt [[buffer(1)]],                                              \
      device itype* out [[buffer(2)]],                                                   \
      const constant ConvShape<2>& params [[buffer(3)]],                             \
      uint3 tid [[thread_position_in_grid]]);

#define instantiate_conv(name, itype)                                                                     \
  template [[host_name("naive_conv_1d_" #name)]] [[kernel]] decltype(naive_conv_1d<itype>) naive_conv_1d<itype>; \
  instantiate_naive_conv_2d(name, itype, 2, 4)

instantiate_conv(float32, float)
instantiate_conv(float16, half)
instantiate_conv(bfloat16, bfloat)
template [[host_name("winograd_weights_float32")]] [[kernel]] decltype(winograd_weights<float>) winograd_weights<float>;
template [[host_name("winograd_conv_float32")]] [[kernel]] decltype(winograd_conv<float>) winograd_conv<float>;
template [[host_name("winograd_conv_float16")]] [[kernel]] decltype(winograd_conv<half>) winograd_conv<half>;
template [[host_name("arange_int64")]] [[kernel]] void arange<int64_t>(constant const int64_t&, constant const int64_t&, device int64_t*, uint);
template [[host_name("arange_float32")]] [[kernel]] void arange<float>(constant const float&, constant const float&, device float*, uint);
template [[host_name("arange_uint8")]] [[kernel]] void arange<uint8_t>(constant const uint8_t&, constant const uint8_t&, device uint8_t*, uint);
template [[host_name("triu_short")]] [[kernel]] decltype(tri<short, true>) tri<short, true>;
template [[host_name("tril_float")]] [[kernel]] decltype(tri<float, false>) tri<float, false>;
