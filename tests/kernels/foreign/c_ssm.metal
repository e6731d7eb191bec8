// Recurrences: state-space models, RWKV, linear attention.
#include <metal_stdlib>
using namespace metal;

#if __METAL_VERSION__ >= 310
#define SSM_BFLOAT 1
#endif

typedef struct {
  int batch, length, channels, states;
} ScanShape;

template <typename T> inline T silu(T x) { return x * (T(1) / (T(1) + metal::exp(-x))); }
inline float softplus(float x) { return x > 20.0f ? x : precise::log(1.0f + precise::exp(x)); }

// ---- one step of the causal convolution, with its window kept in `state`
template <typename T, int K>
struct Window {
  T taps[K];
  void shift_in(T x) thread {
#pragma unroll
    for (int i = 0; i < K - 1; ++i) taps[i] = taps[i + 1];
    taps[K - 1] = x;
  }
  template <typename W>
  float dot(const device W* w) const thread {
    float s = 0;
    for (int i = 0; i < K; ++i) s += float(taps[i]) * float(w[i]);
    return s;
  }
};

template <typename T, int K>
kernel void conv1d_update(
    device const T* x [[buffer(0)]], device T* state [[buffer(1)]], device const T* weight [[buffer(2)]], device const T* bias [[buffer(3)]],
    device T* y [[buffer(4)]], constant ScanShape& shape [[buffer(5)]], uint2 at [[thread_position_in_grid]]) {
  const int c = at.x, b = at.y;
  if (c >= shape.channels) return;
  device T* mine = state + (b * shape.channels + c) * (K - 1);
  Window<T, K> window;
  window.taps[0] = T(0);
  for (int i = 0; i < K - 1; ++i) window.taps[i + 1] = mine[i];
  window.shift_in(x[b * shape.channels + c]);
  y[b * shape.channels + c] = T(silu(window.dot(weight + c * K) + float(bias[c])));
  for (int i = 0; i < K - 1; ++i) mine[i] = window.taps[i + 1];
}
#define CONV(name, T, K) template [[host_name("conv1d_update_" #name "_" #K)]] kernel decltype(conv1d_update<T, K>) conv1d_update<T, K>;
CONV(f32, float, 4)
CONV(f32, float, 3)
CONV(f16, half, 4)
#ifdef SSM_BFLOAT
CONV(bf16, bfloat, 4)
#endif

// ---- selective scan: a thread for each channel, all states in registers
template <typename T, int N>
kernel void selective_scan(
    device const T* x [[buffer(0)]],      // [batch][length][channels]
    device const T* delta [[buffer(1)]],  // the same
    device const float* A [[buffer(2)]],  // [channels][N]
    device const T* B [[buffer(3)]],      // [batch][length][N]
    device const T* C [[buffer(4)]],
    device const float* D [[buffer(5)]],
    device T* y [[buffer(6)]],
    device float* last [[buffer(7)]],  // [batch][channels][N]
    constant ScanShape& shape [[buffer(8)]],
    uint2 tid [[thread_position_in_grid]]) {
  const int channel = tid.x, batch = tid.y;
  if (channel >= shape.channels) return;
  using vecN = vec<float, 4>;
  constexpr int N4 = N / 4;
  vecN h[N4], a[N4];
  for (int i = 0; i < N4; ++i) {
    h[i] = vecN(0);
    a[i] = *reinterpret_cast<device const vecN*>(A + channel * N + i * 4) * M_LOG2E_F;
  }
  for (int t = 0; t < shape.length; ++t) {
    const int row = batch * shape.length + t;
    const float xt = x[row * shape.channels + channel];
    const float dt = softplus(float(delta[row * shape.channels + channel]));
    float out = D[channel] * xt;
    const device vec<T, 4>* b4 = (const device vec<T, 4>*)(B + row * N);
    const device vec<T, 4>* c4 = (const device vec<T, 4>*)(C + row * N);
    for (int i = 0; i < N4; ++i) {
      h[i] = exp2(dt * a[i]) * h[i] + (dt * xt) * vecN(b4[i]);
      out += dot(h[i], vecN(c4[i]));
    }
    y[row * shape.channels + channel] = T(out);
  }
  for (int i = 0; i < N4; ++i) ((device vecN*)last)[(batch * shape.channels + channel) * N4 + i] = h[i];
}
template [[host_name("selective_scan_f32_8")]] kernel decltype(selective_scan<float, 8>) selective_scan<float, 8>;
template [[host_name("selective_scan_f32_16")]] kernel decltype(selective_scan<float, 16>) selective_scan<float, 16>;
template [[host_name("selective_scan_f16_16")]] kernel decltype(selective_scan<half, 16>) selective_scan<half, 16>;

// ---- h[t] = a[t] h[t - 1] + b[t] in parallel over time, a simdgroup at a time
struct Affine {
  float a, b;
  Affine then(Affine next) const thread { return {next.a * a, fma(next.a, b, next.b)}; }
};
static Affine simd_shuffle_and_fill_up(Affine x, Affine fill, ushort d) {
  return {simd_shuffle_and_fill_up(x.a, fill.a, d), simd_shuffle_and_fill_up(x.b, fill.b, d)};
}
kernel void linear_recurrence(
    device const float* a [[buffer(0)]], device const float* b [[buffer(1)]], device float* h [[buffer(2)]], constant int& length [[buffer(3)]],
    uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const Affine identity = {1.0f, 0.0f};
  float carry = 0.0f;
  for (int base = 0; base < length; base += 32) {
    const int t = base + int(lane);
    Affine x = identity;
    if (t < length) x = Affine{a[int(row) * length + t], b[int(row) * length + t]};
    for (ushort d = 1; d <= 16; d *= 2) x = simd_shuffle_and_fill_up(x, identity, d).then(x);
    const float now = fma(x.a, carry, x.b);
    if (t < length) h[int(row) * length + t] = now;
    carry = simd_broadcast(now, ushort(31));
  }
}

// ---- RWKV-4: numerators and denominators with a running exponent
kernel void wkv4(
    device const float* k [[buffer(0)]], device const float* v [[buffer(1)]], device const float2* wu [[buffer(2)]], device float* out [[buffer(3)]],
    constant ScanShape& shape [[buffer(4)]], uint gid [[thread_position_in_grid]]) {
  const int c = int(gid) % shape.channels, b = int(gid) / shape.channels;
  if (b >= shape.batch) return;
  const float w = wu[c].x, u = wu[c].y;
  float p = 0, q = 0, o = -1e38f;
  for (int t = 0; t < shape.length; ++t) {
    const int i = (b * shape.length + t) * shape.channels + c;
    const float kk = k[i], vv = v[i];
    float no = max(o, u + kk), A = exp(o - no), B = exp(u + kk - no);
    out[i] = (A * p + B * vv) / (A * q + B);
    no = max(w + o, kk), A = exp(w + o - no), B = exp(kk - no);
    p = A * p + B * vv, q = A * q + B, o = no;
  }
}

// ---- RWKV-6: a matrix for each head; a thread keeps a column of it
#define HEAD 32
kernel void wkv6(
    device const float* r [[buffer(0)]], device const float* k [[buffer(1)]], device const float* v [[buffer(2)]], device const float* w [[buffer(3)]],
    device const float* u [[buffer(4)]], device float* state [[buffer(5)]], device float* out [[buffer(6)]], constant ScanShape& shape [[buffer(7)]],
    uint head [[threadgroup_position_in_grid]], uint j [[thread_position_in_threadgroup]]) {
  alignas(16) threadgroup float rr[HEAD];
  alignas(16) threadgroup float kk[HEAD];
  alignas(16) threadgroup float ww[HEAD];
  alignas(16) threadgroup float uu[HEAD];
  float s[HEAD];
  for (int i = 0; i < HEAD; ++i) s[i] = state[(head * HEAD + i) * HEAD + j];
  uu[j] = u[head * HEAD + j];
  for (int t = 0; t < shape.length; ++t) {
    const uint at = (t * shape.channels + head) * HEAD + j;  // channels counts heads here
    threadgroup_barrier(mem_flags::mem_threadgroup);
    rr[j] = r[at], kk[j] = k[at], ww[j] = w[at];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float vv = v[at];
    float y = 0;
#pragma clang loop unroll_count(4)
    for (int i = 0; i < HEAD; i += 4) {
      const float4 kv = *(threadgroup float4*)&kk[i] * vv;
      const float4 ss = float4(s[i], s[i + 1], s[i + 2], s[i + 3]);
      y += dot(*(threadgroup float4*)&rr[i], *(threadgroup float4*)&uu[i] * kv + ss);
      const float4 next = *(threadgroup float4*)&ww[i] * ss + kv;
      s[i] = next.x, s[i + 1] = next.y, s[i + 2] = next.z, s[i + 3] = next.w;
    }
    out[at] = y;
  }
  for (int i = 0; i < HEAD; ++i) state[(head * HEAD + i) * HEAD + j] = s[i];
}

// ---- linear attention by the delta rule, gated; lanes hold the keys' axis
template <bool kDelta>
kernel void gated_linear_attention(
    device const float* q [[buffer(0)]], device const float* k [[buffer(1)]], device const float* v [[buffer(2)]], device const float2* gates [[buffer(3)]],
    device float* out [[buffer(4)]], constant ScanShape& shape [[buffer(5)]], uint2 tg [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const int dv = tg.x, b = tg.y;
  float s = 0.0f;
  for (int t = 0; t < shape.length; ++t) {
    const int row = b * shape.length + t;
    const float kt = k[row * 32 + int(lane)], qt = q[row * 32 + int(lane)];
    float vt = v[row * shape.channels + dv];
    s *= gates[row].x;
    if (kDelta) vt = (vt - simd_sum(s * kt)) * gates[row].y;
    s += kt * vt;
    const float o = simd_sum(s * qt);
    if (lane == 0) out[row * shape.channels + dv] = o;
  }
}
template [[host_name("linear_attention")]] kernel decltype(gated_linear_attention<false>) gated_linear_attention<false>;
template [[host_name("delta_rule")]] kernel decltype(gated_linear_attention<true>) gated_linear_attention<true>;
