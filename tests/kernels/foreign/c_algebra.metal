// Small algebraic types with operators: complex numbers, dual numbers, quaternions, rays.
#include <metal_stdlib>
#include <metal_math>

using namespace metal;

// ---- complex numbers
template <typename T>
struct Complex {
  T re, im;
  constexpr Complex() thread : re(0), im(0) {}
  constexpr Complex(T r, T i = T(0)) thread : re(r), im(i) {}
  constexpr Complex(T r, T i = T(0)) constant : re(r), im(i) {}

  thread Complex& operator+=(Complex o) thread { re += o.re; im += o.im; return *this; }
  thread Complex& operator*=(Complex o) thread { return *this = Complex(re * o.re - im * o.im, re * o.im + im * o.re); }
  constexpr T norm() const thread { return re * re + im * im; }
};
typedef Complex<float> cfloat;

template <typename T> constexpr Complex<T> operator+(Complex<T> a, Complex<T> b) { return Complex<T>(a.re + b.re, a.im + b.im); }
template <typename T> constexpr Complex<T> operator-(Complex<T> a, Complex<T> b) { return Complex<T>(a.re - b.re, a.im - b.im); }
template <typename T> constexpr Complex<T> operator*(Complex<T> a, Complex<T> b) { return Complex<T>(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
template <typename T> Complex<T> operator/(Complex<T> a, Complex<T> b) {
  const T n = b.norm();
  return Complex<T>((a.re * b.re + a.im * b.im) / n, (a.im * b.re - a.re * b.im) / n);
}
template <typename T> T abs(Complex<T> z) { return metal::sqrt(z.norm()); }
template <typename T> Complex<T> exp(Complex<T> z) {
  const T m = metal::precise::exp(z.re);
  return Complex<T>(m * metal::precise::cos(z.im), m * metal::precise::sin(z.im));
}
inline cfloat simd_sum(cfloat z) { return cfloat(simd_sum(z.re), simd_sum(z.im)); }

kernel void mandelbrot(
    device ushort* iterations [[buffer(0)]],
    constant float4& view [[buffer(1)]],  // corner, step
    constant ushort& limit [[buffer(2)]],
    ushort2 at [[thread_position_in_grid]],
    ushort2 size [[threads_per_grid]]) {
  const cfloat c(view.x + at.x * view.z, view.y + at.y * view.w);
  cfloat z = c;
  ushort i = 0;
  while (i < limit && z.norm() <= 4.0f) z *= z, z += c, ++i;
  iterations[at.y * size.x + at.x] = i;
}

// A discrete Fourier transform with the table of roots in threadgroup memory.
kernel void dft_rows(
    device const cfloat* in [[buffer(0)]],
    device cfloat* out [[buffer(1)]],
    constant uint& n [[buffer(2)]],
    uint row [[threadgroup_position_in_grid]],
    uint k [[thread_position_in_threadgroup]]) {
  threadgroup float2 roots[64];
  if (k < n) {
    const cfloat w = exp(cfloat(0.0f, -2.0f * M_PI_F * float(k) / float(n)));
    roots[k] = float2(w.re, w.im);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (k >= n) return;
  cfloat sum(0.0f);
  for (uint j = 0; j < n; ++j) {
    const float2 w = roots[(j * k) % n];
    const cfloat x = in[row * n + j];
    sum += x * cfloat(w.x, w.y);
  }
  out[row * n + k] = sum;
}

kernel void complex_reduce(
    device const cfloat* a [[buffer(0)]],
    device const cfloat* b [[buffer(1)]],
    device float* out [[buffer(2)]],
    constant uint& n [[buffer(3)]],
    uint row [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  cfloat sum(0.0f, 0.0f);
  for (uint i = lane; i < n; i += 32) {
    const cfloat x = a[row * n + i], y = b[row * n + i];
    sum += x / y - y * cfloat(0.5f);
  }
  sum = simd_sum(sum);
  if (lane == 0) out[row * 3] = sum.re, out[row * 3 + 1] = sum.im, out[row * 3 + 2] = abs(sum);
}

// ---- dual numbers: derivatives beside values, for up to four variables
template <int N>
struct Dual {
  float v;
  vec<float, N> d;
};
template <int N> Dual<N> variable(float v, int i) { Dual<N> r = {v, vec<float, N>(0.0f)}; r.d[i] = 1.0f; return r; }
template <int N> Dual<N> operator+(Dual<N> a, Dual<N> b) { return {a.v + b.v, a.d + b.d}; }
template <int N> Dual<N> operator-(Dual<N> a, Dual<N> b) { return {a.v - b.v, a.d - b.d}; }
template <int N> Dual<N> operator*(Dual<N> a, Dual<N> b) { return {a.v * b.v, a.d * b.v + b.d * a.v}; }
template <int N> Dual<N> operator*(float a, Dual<N> b) { return {a * b.v, a * b.d}; }
template <int N> Dual<N> sin(Dual<N> a) { return {precise::sin(a.v), precise::cos(a.v) * a.d}; }
template <int N> Dual<N> exp(Dual<N> a) { const float e = precise::exp(a.v); return {e, e * a.d}; }
template <int N> Dual<N> sqrt(Dual<N> a) { const float s = precise::sqrt(a.v); return {s, (0.5f / s) * a.d}; }

struct Waves {
  template <typename D> D operator()(D x, D y) const { return sin(x * y) + exp(x - y); }
};
struct Norm {
  template <typename D> D operator()(D x, D y) const { return sqrt(x * x + 2.0f * (y * y)) * y; }
};

template <typename F>
kernel void gradient(
    device const float2* at [[buffer(0)]], device float3* out [[buffer(1)]], constant uint& n [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
  if (gid >= n) return;
  const Dual<2> r = F()(variable<2>(at[gid].x, 0), variable<2>(at[gid].y, 1));
  out[gid] = float3(r.v, r.d);
}
template [[host_name("gradient_waves")]] [[kernel]] decltype(gradient<Waves>) gradient<Waves>;
template [[host_name("gradient_norm")]] [[kernel]] decltype(gradient<Norm>) gradient<Norm>;

// ---- quaternions
struct Quaternion {
  float4 q;  // xyz, w
  static Quaternion axis_angle(float3 axis, float angle) { return {float4(precise::sin(angle * 0.5f) * axis, precise::cos(angle * 0.5f))}; }
  Quaternion operator*(Quaternion b) const thread {
    return {float4(q.w * b.q.xyz + b.q.w * q.xyz + cross(q.xyz, b.q.xyz), q.w * b.q.w - dot(q.xyz, b.q.xyz))};
  }
  Quaternion conjugate() const thread { return {q * float4(-1, -1, -1, 1)}; }
  float3 rotate(float3 v) const thread { return (*this * Quaternion{float4(v, 0)} * conjugate()).q.xyz; }
  float3x3 matrix() const thread {
    const float4 s = q * M_SQRT2_F;
    const float3 d = s.xyz * s.xyz;
    return float3x3(float3(1 - d.y - d.z, s.x * s.y + s.w * s.z, s.x * s.z - s.w * s.y), float3(s.x * s.y - s.w * s.z, 1 - d.x - d.z, s.y * s.z + s.w * s.x),
                    float3(s.x * s.z + s.w * s.y, s.y * s.z - s.w * s.x, 1 - d.x - d.y));
  }
};

kernel void rotate_points(
    device const float4* axis_angle [[buffer(0)]], device const packed_float3* points [[buffer(1)]], device packed_float3* by_product [[buffer(2)]],
    device packed_float3* by_matrix [[buffer(3)]], constant uint& n [[buffer(4)]], uint gid [[thread_position_in_grid]]) {
  if (gid >= n) return;
  const float4 a = axis_angle[gid];
  const Quaternion q = Quaternion::axis_angle(normalize(a.xyz), a.w);
  by_product[gid] = q.rotate(float3(points[gid]));
  by_matrix[gid] = q.matrix() * float3(points[gid]);
}

// ---- rays against spheres, nearest first
struct Ray { float3 origin, direction; };
struct Sphere { packed_float3 centre; float radius; };
struct Hit { float t; int which; };

static bool intersect(thread const Ray& ray, constant const Sphere& s, thread float& t) {
  const float3 m = ray.origin - float3(s.centre);
  const float b = dot(m, ray.direction), c = dot(m, m) - s.radius * s.radius;
  const float disc = b * b - c;
  if (disc < 0) return false;
  const float root = sqrt(disc), nearer = -b - root;
  t = nearer > 0 ? nearer : root - b;
  return t > 0;
}

kernel void trace(
    device Hit* hits [[buffer(0)]], constant Sphere* spheres [[buffer(1)]], constant int& count [[buffer(2)]], constant float2& eye [[buffer(3)]],
    uint2 at [[thread_position_in_grid]], uint2 size [[threads_per_grid]]) {
  Ray ray;
  ray.origin = float3(eye, -5.0f);
  ray.direction = normalize(float3((float2(at) + 0.5f) / float2(size) * 2.0f - 1.0f, 2.0f));
  Hit best = {INFINITY, -1};
  for (int i = 0; i < count; ++i) {
    float t;
    if (intersect(ray, spheres[i], t) && t < best.t) best = Hit{t, i};
  }
  hits[at.y * size.x + at.x] = best.which < 0 ? Hit{-1.0f, -1} : best;
}
