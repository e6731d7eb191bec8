// Pieces of a training loop: cross entropy, optimiser, embeddings, dropout.
#include <metal_stdlib>
#include <metal_atomic>

using namespace metal;

constant bool with_gradient [[function_constant(0)]];
constant float smoothing [[function_constant(1)]];
constant bool smooth = is_function_constant_defined(smoothing);
constant float alpha = smooth ? smoothing : 0.0f;
constant int ignore_index [[function_constant(2)]];
constant bool has_ignore = is_function_constant_defined(ignore_index);

#define DEV device
#define CDEV const device

template <typename T>
METAL_FUNC float as_float(T x) { return static_cast<float>(x); }

// Running maximum and sum of exponentials.
struct LogSum {
  float top;
  float sum;
  void add(float x) thread {
    const float next = max(top, x);
    sum = sum * exp(top - next) + exp(x - next);
    top = next;
  }
  void merge(thread const LogSum& o) thread {
    const float next = max(top, o.top);
    sum = sum * exp(top - next) + o.sum * exp(o.top - next);
    top = next;
  }
  float value() const thread { return top + log(sum); }
  float value() const threadgroup { return top + log(sum); }
};

template <typename T>
kernel void cross_entropy(
    CDEV T* logits [[buffer(0)]],
    CDEV int* targets [[buffer(1)]],
    DEV float* losses [[buffer(2)]],
    DEV T* gradient [[buffer(3), function_constant(with_gradient)]],
    constant int& classes [[buffer(4)]],
    uint row [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint threads [[threads_per_threadgroup]]) {
  threadgroup LogSum parts[64];
  threadgroup float totals[64];
  const int target = targets[row];
  CDEV T* x = logits + row * classes;
  LogSum mine = {-1e30f, 0.0f};
  float total = 0.0f;
  for (int c = lid; c < classes; c += threads) {
    mine.add(as_float(x[c]));
    total += as_float(x[c]);
  }
  parts[lid] = mine;
  totals[lid] = total;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint s = threads / 2; s > 0; s /= 2) {
    if (lid < s) {
      LogSum other = parts[lid + s];
      mine.merge(other);
      parts[lid] = mine;
      totals[lid] += totals[lid + s];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  const float lse = parts[0].value();
  const bool ignored = has_ignore && target == ignore_index;
  if (lid == 0) {
    float loss = lse - as_float(x[ignored ? 0 : target]);
    if (smooth) loss = mix(loss, lse - totals[0] / float(classes), alpha);
    losses[row] = ignored ? 0.0f : loss;
  }
  if (with_gradient) {
    for (int c = lid; c < classes; c += threads) {
      const float goal = (c == target ? 1.0f - alpha : 0.0f) + alpha / float(classes);
      gradient[row * classes + c] = ignored ? T(0) : T(exp(as_float(x[c]) - lse) - goal);
    }
  }
}
#define CROSS_ENTROPY(T)                                                                                                                       \
  template [[host_name("cross_entropy_" #T)]] kernel void cross_entropy<T>(                                                                    \
      CDEV T* logits [[buffer(0)]], CDEV int* targets [[buffer(1)]], DEV float* losses [[buffer(2)]],                                          \
      DEV T* gradient [[buffer(3), function_constant(with_gradient)]], constant int& classes [[buffer(4)]],                                    \
      uint row [[threadgroup_position_in_grid]], uint lid [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]]);
CROSS_ENTROPY(float)
CROSS_ENTROPY(half)
#ifdef __HAVE_BFLOAT__
CROSS_ENTROPY(bfloat)
#endif

// ---- Adam with decoupled weight decay; four parameters for each thread, a ragged end
struct AdamArgs {
  float lr, beta1, beta2, eps;
  float decay;
  float correction1, correction2;  // 1 / (1 - beta^t)
  uint n;
};

template <typename P>
static void adam_one(DEV P& p, float g, DEV float& m, DEV float& v, constant AdamArgs& a) {
  m = fma(a.beta1, m, (1.0f - a.beta1) * g);
  v = fma(a.beta2, v, (1.0f - a.beta2) * g * g);
  const float step = (m * a.correction1) / (sqrt(v * a.correction2) + a.eps);
  p = P(float(p) * (1.0f - a.lr * a.decay) - a.lr * step);
}

template <typename P, typename G>
kernel void adam_step(
    DEV P* params [[buffer(0)]], CDEV G* grads [[buffer(1)]], DEV float* m [[buffer(2)]], DEV float* v [[buffer(3)]], constant AdamArgs& args [[buffer(4)]],
    uint gid [[thread_position_in_grid]]) {
  const uint first = gid * 4;
  if (first + 4 <= args.n) {
    const vec<G, 4> g4 = *(CDEV vec<G, 4>*)(grads + first);
#pragma unroll
    for (uint i = 0; i < 4; ++i) adam_one(params[first + i], float(g4[i]), m[first + i], v[first + i], args);
  } else {
    for (uint i = first; i < args.n; ++i) adam_one(params[i], float(grads[i]), m[i], v[i], args);
  }
}
template [[host_name("adam_float")]] kernel decltype(adam_step<float, float>) adam_step<float, float>;
template [[host_name("adam_half")]] kernel decltype(adam_step<half, half>) adam_step<half, half>;

// ---- embeddings
template <typename T>
kernel void embedding(CDEV int* ids [[buffer(0)]], CDEV T* table [[buffer(1)]], CDEV T* positions [[buffer(2)]], DEV T* out [[buffer(3)]],
                      constant uint3& shape [[buffer(4)]], uint2 at [[thread_position_in_grid]]) {  // dim, length, vocabulary
  if (at.x >= shape.x) return;
  const int id = ids[at.y];
  const bool valid = id >= 0 && uint(id) < shape.z;
  const T word = valid ? table[uint(id) * shape.x + at.x] : T(0);
  out[at.y * shape.x + at.x] = word + positions[(at.y % shape.y) * shape.x + at.x];
}
template [[host_name("embedding_float")]] kernel decltype(embedding<float>) embedding<float>;
template [[host_name("embedding_half")]] kernel decltype(embedding<half>) embedding<half>;

kernel void embedding_gradient(CDEV int* ids [[buffer(0)]], CDEV float* grad [[buffer(1)]], DEV atomic_float* table [[buffer(2)]], constant uint2& shape [[buffer(3)]],
                               uint2 at [[thread_position_in_grid]]) {
  if (any(at >= shape) || ids[at.y] < 0) return;
  atomic_fetch_add_explicit(&table[uint(ids[at.y]) * shape.x + at.x], grad[at.y * shape.x + at.x], memory_order_relaxed);
}

// ---- dropout by Philox 4x32-10
struct Philox {
  uint2 key;
  METAL_FUNC uint4 operator()(uint4 c) const constant { return Philox{key}.rounds(c); }
  METAL_FUNC uint4 rounds(uint4 c) const thread {
    uint2 k = key;
    for (int i = 0; i < 10; ++i) {
      const uint2 lo = c.xz * uint2(0xd2511f53u, 0xcd9e8d57u), hi = mulhi(c.xz, uint2(0xd2511f53u, 0xcd9e8d57u));
      c = uint4(hi.y ^ c.y ^ k.x, lo.y, hi.x ^ c.w ^ k.y, lo.x);
      k += uint2(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
  }
};
typedef struct {
  Philox rng;
  float keep;
  uint n;
} DropoutArgs;

template <typename T>
kernel void dropout(CDEV T* x [[buffer(0)]], DEV T* y [[buffer(1)]], DEV uint* mask [[buffer(2)]], constant DropoutArgs& args [[buffer(3)]],
                    uint gid [[thread_position_in_grid]]) {
  const uint4 r = args.rng(uint4(gid, 0, 0, 0));
  const uint threshold = uint(args.keep * 65536.0f) << 16;
  const bool4 keep = r < threshold;
  const float scale = 1.0f / args.keep;
  uint bits = 0;
  for (uint i = 0; i < 4; ++i) {
    const uint at = gid * 4 + i;
    if (at >= args.n) break;
    y[at] = keep[i] ? T(float(x[at]) * scale) : T(0);
    bits |= uint(keep[i]) << i;
  }
  if (gid * 4 < args.n) mask[gid] = bits;
}
template [[host_name("dropout_float")]] [[kernel]] void dropout<float>(CDEV float*, DEV float*, DEV uint*, constant DropoutArgs&, uint);
template [[host_name("dropout_half")]] [[kernel]] void dropout<half>(CDEV half*, DEV half*, DEV uint*, constant DropoutArgs&, uint);
