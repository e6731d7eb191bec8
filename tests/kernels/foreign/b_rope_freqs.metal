// Rotary embeddings: for one token or many, from a base or a table of periods, halves or neighbours rotated.
#include <metal_math>
#include <metal_stdlib>

using namespace metal;

constant bool forward [[function_constant(1)]];
constant bool traditional [[function_constant(2)]];
constant bool hs_transpose [[function_constant(3)]];
constant bool backward_or_halves = !forward || !traditional;

#define ROPE_FUNC static inline __attribute__((always_inline))

struct Rotation {
  float c;
  float s;
  float2 operator()(float2 x) const thread {
    return float2(x.x * c - x.y * s, x.x * s + x.y * c);
  }
};

ROPE_FUNC Rotation rotation_of(float theta) {
  Rotation r{metal::precise::cos(theta), metal::precise::sin(theta)};
  if (!forward) {
    r.s = -r.s;
  }
  return r;
}

// One pair of one head; the pairs of a head are `pairs` many.
template <typename T>
ROPE_FUNC void turn_pair(const device T* head, device T* to, uint pair, uint pairs, float angle) {
  const uint2 at = traditional ? uint2(0, 1) + 2 * pair : uint2(pair, pair + pairs);
  const thread Rotation rotate = rotation_of(angle);
  const float2 turned = rotate(float2(float(head[at.x]), float(head[at.y])));
  to[at.x] = static_cast<T>(turned.x);
  to[at.y] = static_cast<T>(turned.y);
}

template <typename T>
[[kernel]] void rope_single(
    const device T* in [[buffer(0)]],
    device T* out [[buffer(1)]],
    constant const int& offset [[buffer(2)]],
    constant const float& scale [[buffer(3)]],
    constant const size_t& stride [[buffer(4)]],
    constant const float& base [[buffer(10)]],
    uint2 pos [[thread_position_in_grid]],
    uint2 grid [[threads_per_grid]]) {
  const float share = float(pos.x) / float(grid.x);
  const float frequency = metal::precise::exp2(-base * share);
  turn_pair<T>(in + pos.y * stride, out + pos.y * stride, pos.x, grid.x, scale * float(offset) * frequency);
}

template <typename T>
[[kernel]] void rope_single_freqs(
    const device T* in [[buffer(0)]],
    device T* out [[buffer(1)]],
    constant const int& offset [[buffer(2)]],
    constant const float& scale [[buffer(3)]],
    constant const size_t& stride [[buffer(4)]],
    const device float* freqs [[buffer(10)]],
    constant const size_t& freq_stride [[buffer(11)]],
    uint2 pos [[thread_position_in_grid]],
    uint2 grid [[threads_per_grid]]) {
  const float period = freqs[freq_stride * pos.x];
  turn_pair<T>(in + pos.y * stride, out + pos.y * stride, pos.x, grid.x, scale * float(offset) * (1.0f / period));
}

// A thread has N heads of one position and one pair; the rest of a wider head is left alone.
template <typename T, int N = 4>
[[kernel]] void rope_freqs(
    const device T* in [[buffer(0)]],
    device T* out [[buffer(1)]],
    const device int* offset [[buffer(2)]],
    constant const float& scale [[buffer(3)]],
    constant const size_t strides[3] [[buffer(4)]],
    constant const size_t out_strides[3] [[buffer(5)]],
    constant const int& n_head [[buffer(7)]],
    const device float* freqs [[buffer(10)]],
    constant const size_t& freq_stride [[buffer(11)]],
    uint3 pos [[thread_position_in_grid]],
    uint3 grid [[threads_per_grid]]) {
  const int blocks = (n_head + N - 1) / N;
  const int batch_idx = pos.z / blocks;
  const int head0 = N * (pos.z % blocks);
  const float inv_freq = 1.0f / freqs[freq_stride * pos.x];
  const float L = scale * static_cast<float>(pos.y + offset[batch_idx]);
  const thread Rotation rotate = rotation_of(L * inv_freq);

  device const T* rows[N];
  device T* outs[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int head = min(head0 + i, n_head - 1);
    const size_t h = size_t(batch_idx) * n_head + head;
    rows[i] = hs_transpose ? in + (pos.y * n_head * strides[1] + head * strides[1] + batch_idx * strides[0])
                           : in + (h * strides[0] + pos.y * strides[1]);
    outs[i] = out + (h * out_strides[0] + pos.y * out_strides[1]);
  }
  size_t first = traditional ? 2 * pos.x : pos.x;
  size_t second = backward_or_halves && !traditional ? first + grid.x : first + 1;
  for (int i = 0; i < N && head0 + i < n_head; ++i) {
    const float2 rx = rotate(float2(float(rows[i][first * strides[2]]), float(rows[i][second * strides[2]])));
    outs[i][first * out_strides[2]] = static_cast<T>(rx.x);
    outs[i][second * out_strides[2]] = static_cast<T>(rx.y);
  }
}

#define instantiate_rope(name, type)                                                                     \
  template [[host_name("rope_single_" #name)]] [[kernel]] void rope_single<type>(                        \
      const device type* in [[buffer(0)]],                                                               \
      device type* out [[buffer(1)]],                                                                    \
      constant const int& offset [[buffer(2)]],                                                          \
      constant const float& scale [[buffer(3)]],                                                         \
      constant const size_t& stride [[buffer(4)]],                                                       \
      constant const float& base [[buffer(10)]],                                                         \
      uint2 pos [[thread_position_in_grid]],                                                             \
      uint2 grid [[threads_per_grid]]);                                                                  \
  template [[host_name("rope_single_freqs_" #name)]] [[kernel]] decltype(rope_single_freqs<type>)        \
      rope_single_freqs<type>;                                                                           \
  template [[host_name("rope_freqs_" #name)]] [[kernel]] decltype(rope_freqs<type>) rope_freqs<type>;

// clang-format off
instantiate_rope(float16, half)
instantiate_rope(bfloat16, bfloat)
instantiate_rope(float32, float)
// clang-format on
