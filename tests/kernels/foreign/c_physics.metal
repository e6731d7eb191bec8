// Particles and grids.
#include <metal_stdlib>
using namespace metal;

typedef struct {
  uint n;
  float dt;
  float eps2;
  float h;
} SimParams;

typedef struct { float4 pos_mass; float4 velocity; } Body;

enum BoundaryMode { kClamp = 0, kWrap, kZero, kBoundaryModes };

// ---- n-body: tiles of float4 in threadgroup memory
static float3 pull(float3 acc, const float4 me, const threadgroup float4& other, float eps2) {
  float3 r = other.xyz - me.xyz;
  float d2 = dot(r, r) + eps2;
  float inv = rsqrt(d2);
  return fma(float3(other.w * inv * inv * inv), r, acc);
}

template <int TILE>
kernel void nbody_step(
    device const Body* in [[buffer(0)]],
    device Body* out [[buffer(1)]],
    constant SimParams& sim [[buffer(2)]],
    threadgroup float4* tile [[threadgroup(0)]],
    uint gid [[thread_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]]) {
  const bool live = gid < sim.n;
  float4 me = live ? in[gid].pos_mass : float4(0);
  float3 acc = 0.0f;
  for (uint base = 0; base < sim.n; base += TILE) {
    tile[lid] = base + lid < sim.n ? in[base + lid].pos_mass : float4(0.0f, 0.0f, 0.0f, 0.0f);
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll(4)
    for (int j = 0; j < TILE; ++j) acc = pull(acc, me, tile[j], sim.eps2);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (!live) return;
  Body b = in[gid];
  b.velocity.xyz += acc * sim.dt;
  b.pos_mass.xyz += b.velocity.xyz * sim.dt;
  out[gid] = b;
}
template [[host_name("nbody_step_32")]] kernel void nbody_step<32>(
    device const Body* in [[buffer(0)]], device Body* out [[buffer(1)]], constant SimParams& sim [[buffer(2)]],
    threadgroup float4* tile [[threadgroup(0)]], uint gid [[thread_position_in_grid]], uint lid [[thread_position_in_threadgroup]]);
template [[host_name("nbody_step_64")]] kernel void nbody_step<64>(
    device const Body* in [[buffer(0)]], device Body* out [[buffer(1)]], constant SimParams& sim [[buffer(2)]],
    threadgroup float4* tile [[threadgroup(0)]], uint gid [[thread_position_in_grid]], uint lid [[thread_position_in_threadgroup]]);

// ---- a five-point stencil with a halo
#define TILE_W 16
#define TILE_H 8
template <int MODE>
static float fetch(device const float* grid, int2 at, int2 size) {
  if (MODE == kClamp) at = clamp(at, int2(0), size - 1);
  else if (MODE == kWrap) at = (at + size) % size;
  else if (any(at < 0) || any(at >= size)) return 0.0f;
  return grid[at.y * size.x + at.x];
}

template <int MODE>
kernel void heat_step(
    device const float* grid [[buffer(0)]],
    device float* next [[buffer(1)]],
    constant int2& size [[buffer(2)]],
    constant float& k [[buffer(3)]],
    ushort2 lid [[thread_position_in_threadgroup]],
    ushort2 tgid [[threadgroup_position_in_grid]],
    ushort index [[thread_index_in_threadgroup]]) {
  threadgroup float halo[TILE_H + 2][TILE_W + 2];
  const int2 origin = int2(tgid) * int2(TILE_W, TILE_H) - 1;
  for (ushort i = index; i < (TILE_H + 2) * (TILE_W + 2); i += TILE_W * TILE_H) {
    const int x = i % (TILE_W + 2), y = i / (TILE_W + 2);
    const int2 at = origin + int2(x, y);
    halo[y][x] = all(at <= size) ? fetch<MODE>(grid, at, size) : 0.0f;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const int2 me = origin + 1 + int2(lid);
  if (any(me >= size)) return;
  const int x = lid.x + 1, y = lid.y + 1;
  const float centre = halo[y][x];
  const float around = halo[y - 1][x] + halo[y + 1][x] + halo[y][x - 1] + halo[y][x + 1];
  next[me.y * size.x + me.x] = centre + k * (around - 4.0f * centre);
}
typedef decltype(heat_step<kClamp>) heat_step_t;
template [[host_name("heat_clamp")]] kernel heat_step_t heat_step<kClamp>;
template [[host_name("heat_wrap")]] kernel heat_step_t heat_step<kWrap>;
template [[host_name("heat_zero")]] kernel heat_step_t heat_step<kZero>;

// ---- SPH: hashing to cells with atomics, then densities over the neighbours' lists
constant uint3 kPrimes = uint3(73856093u, 19349663u, 83492791u);
constant int kSide = 8;

static inline int3 cell_of(float3 p, float h) { return int3(floor(p / h)); }
static inline uint hash_cell(int3 c) {
  uint3 m = uint3(c) * kPrimes;
  return (m.x ^ m.y ^ m.z) & 63u;
}

kernel void sph_link(
    device const packed_float3* position [[buffer(0)]],
    device atomic_int* heads [[buffer(1)]],
    device int* next [[buffer(2)]],
    device atomic_uint* counts [[buffer(3)]],
    constant SimParams& sim [[buffer(4)]],
    uint gid [[thread_position_in_grid]]) {
  if (gid >= sim.n) return;
  const uint cell = hash_cell(cell_of(float3(position[gid]), sim.h));
  next[gid] = atomic_exchange_explicit(heads + cell, int(gid), memory_order_relaxed);
  atomic_fetch_add_explicit(counts + cell, 1u, memory_order_relaxed);
}

kernel void sph_density(
    device const packed_float3* position [[buffer(0)]],
    device const int* heads [[buffer(1)]],
    device const int* next [[buffer(2)]],
    device float* density [[buffer(3)]],
    constant SimParams& sim [[buffer(4)]],
    device atomic_float* total [[buffer(5)]],
    uint gid [[thread_position_in_grid]]) {
  float rho = 0.0f;
  if (gid < sim.n) {
    const float3 p = position[gid];
    const int3 c = cell_of(p, sim.h);
    const float h2 = sim.h * sim.h;
    ulong seen = 0;  // cells may collide in the table
    for (int z = -1; z <= 1; ++z) for (int y = -1; y <= 1; ++y) for (int x = -1; x <= 1; ++x) {
      const uint cell = hash_cell(c + int3(x, y, z));
      if ((seen >> cell) & 1) continue;
      seen |= 1ul << cell;
      for (int j = heads[cell]; j >= 0; j = next[j]) {
        const float d2 = distance_squared(p, float3(position[j]));
        if (d2 < h2) { float w = 1.0f - d2 / h2; rho += w * w * w; }
      }
    }
    density[gid] = rho;
  }
  rho = simd_sum(rho);
  if (simd_is_first()) atomic_fetch_add_explicit(total, rho, memory_order_relaxed);
}

// ---- extents by compare-exchange on floats
kernel void bounds(
    device const float4* bodies [[buffer(0)]],
    device atomic_uint* box [[buffer(1)]],  // smallest, greatest, as bits
    constant uint& n [[buffer(2)]],
    uint gid [[thread_position_in_grid]]) {
  const float r = gid < n ? length(bodies[gid].xyz) : 0.0f;
  const float lo = simd_min(gid < n ? bodies[gid].w : MAXFLOAT), hi = simd_max(r);
  if (!simd_is_first()) return;
  uint seen = atomic_load_explicit(box, memory_order_relaxed);
  while (lo < as_type<float>(seen) && !atomic_compare_exchange_weak_explicit(box, &seen, as_type<uint>(lo), memory_order_relaxed, memory_order_relaxed)) {
  }
  atomic_fetch_max_explicit(box + 1, as_type<uint>(hi), memory_order_relaxed);
}
