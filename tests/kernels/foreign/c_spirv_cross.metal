// Output in the manner of a SPIR-V to Metal cross compiler, several entry points joined in one file.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#pragma clang diagnostic ignored "-Wmissing-braces"
#pragma clang diagnostic ignored "-Wunused-variable"

#include <metal_stdlib>
#include <simd/simd.h>
#include <metal_atomic>

using namespace metal;

template<typename T, size_t N>
struct spvUnsafeArray
{
    T elements[N ? N : 1];

    thread T& operator [] (size_t pos) thread
    {
        return elements[pos];
    }
    constexpr const thread T& operator [] (size_t pos) const thread
    {
        return elements[pos];
    }

    device T& operator [] (size_t pos) device
    {
        return elements[pos];
    }
    constexpr const device T& operator [] (size_t pos) const device
    {
        return elements[pos];
    }

    constexpr const constant T& operator [] (size_t pos) const constant
    {
        return elements[pos];
    }

    threadgroup T& operator [] (size_t pos) threadgroup
    {
        return elements[pos];
    }
    constexpr const threadgroup T& operator [] (size_t pos) const threadgroup
    {
        return elements[pos];
    }
};

template<typename T>
[[clang::optnone]] T spvFMul(T l, T r)
{
    return fma(l, r, T(0));
}

template<typename T>
[[clang::optnone]] T spvFAdd(T l, T r)
{
    return fma(T(1), l, r);
}

template<typename T>
inline T spvFindLSB(T x)
{
    return select(ctz(x), T(-1), x == T(0));
}

template<typename T>
inline T spvFindUMSB(T x)
{
    return select(clz(T(0)) - (clz(x) + T(1)), T(-1), x == T(0));
}

template<typename Tx, typename Ty>
inline Tx mod(Tx x, Ty y)
{
    return x - y * floor(x / y);
}

struct _23
{
    uint count;
    int radius;
    float gain;
    uint _m3;
};

struct SSBO_In
{
    float data[1];
};

struct SSBO_Out
{
    float data[1];
};

struct SSBO_Bins
{
    uint bins[1];
};

struct Particle
{
    packed_float3 position;
    float mass;
    packed_float3 velocity;
    uint flags;
};

struct SSBO_Particles
{
    uint alive;
    uint _pad0[3];
    Particle items[1];
};

struct Push
{
    float4x4 xform;
    spvUnsafeArray<float4, 3> planes;
    float2 limits;
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(64u, 1u, 1u);
constant uint3 gl_WorkGroupSize_1 [[maybe_unused]] = uint3(16u, 16u, 1u);

constant spvUnsafeArray<float, 5> _45 = spvUnsafeArray<float, 5>({ 0.0625, 0.25, 0.375, 0.25, 0.0625 });
constant spvUnsafeArray<uint2, 3> _61 = spvUnsafeArray<uint2, 3>({ uint2(0u, 4u), uint2(4u, 12u), uint2(16u, 16u) });

static inline __attribute__((always_inline))
float tap(device const SSBO_In& _31, thread const int& at, constant _23& _37)
{
    int _52 = clamp(at, 0, int(_37.count) - 1);
    return _31.data[_52];
}

static inline __attribute__((always_inline))
float fold(spvUnsafeArray<float, 5> window)
{
    float _70 = 0.0;
    for (int _71 = 0; _71 < 5; _71++)
    {
        _70 = spvFAdd(_70, spvFMul(window[_71], _45[_71]));
    }
    return _70;
}

kernel void main0(constant _23& _37 [[buffer(0)]], const device SSBO_In& _31 [[buffer(1)]], device SSBO_Out& _33 [[buffer(2)]], uint3 gl_GlobalInvocationID [[thread_position_in_grid]])
{
    uint _20 = gl_GlobalInvocationID.x;
    bool _26 = _20 >= _37.count;
    if (_26)
    {
        return;
    }
    spvUnsafeArray<float, 5> _88;
    for (int i = -2; i <= 2; i++)
    {
        int param = int(_20) + (i * _37.radius);
        _88[i + 2] = tap(_31, param, _37);
    }
    _33.data[_20] = spvFMul(fold(_88), _37.gain);
}

kernel void reduce_main0(constant _23& _37 [[buffer(0)]], const device SSBO_In& _31 [[buffer(1)]], device SSBO_Out& _33 [[buffer(2)]], uint gl_LocalInvocationIndex [[thread_index_in_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]], uint3 gl_GlobalInvocationID [[thread_position_in_grid]])
{
    threadgroup spvUnsafeArray<float, 64> _shared;
    threadgroup spvUnsafeArray<spvUnsafeArray<uint, 2>, 64> _extent;
    float _9 = 0.0;
    if (gl_GlobalInvocationID.x < _37.count)
    {
        _9 = _31.data[gl_GlobalInvocationID.x];
    }
    _shared[gl_LocalInvocationIndex] = _9;
    _extent[gl_LocalInvocationIndex][0] = as_type<uint>(abs(_9));
    _extent[gl_LocalInvocationIndex][1] = uint(_9 < 0.0);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint _s = gl_WorkGroupSize.x >> 1u; _s > 0u; _s = _s >> 1u)
    {
        if (gl_LocalInvocationIndex < _s)
        {
            _shared[gl_LocalInvocationIndex] += _shared[gl_LocalInvocationIndex + _s];
            _extent[gl_LocalInvocationIndex][0] = max(_extent[gl_LocalInvocationIndex][0], _extent[gl_LocalInvocationIndex + _s][0]);
            _extent[gl_LocalInvocationIndex][1] += _extent[gl_LocalInvocationIndex + _s][1];
        }
        threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup | mem_flags::mem_texture);
    }
    if (gl_LocalInvocationIndex == 0u)
    {
        _33.data[gl_WorkGroupID.x * 3u] = _shared[0];
        _33.data[(gl_WorkGroupID.x * 3u) + 1u] = as_type<float>(_extent[0][0]);
        _33.data[(gl_WorkGroupID.x * 3u) + 2u] = float(_extent[0][1]);
    }
}

kernel void cull_main0(constant Push& _push [[buffer(0)]], device SSBO_Particles& _99 [[buffer(1)]], device SSBO_Bins& _101 [[buffer(2)]], constant _23& _37 [[buffer(3)]], uint3 gl_GlobalInvocationID [[thread_position_in_grid]])
{
    do
    {
        if (gl_GlobalInvocationID.x >= _37.count)
        {
            break;
        }
        uint _id = gl_GlobalInvocationID.x;
        float3 _p = float3(_99.items[_id].position);
        float4 _q = _push.xform * float4(_p, 1.0);
        bool _visible = true;
        for (uint _k = 0u; _k < 3u; _k++)
        {
            bool _122 = dot(_push.planes[_k], _q) > 0.0;
            _visible = _visible && _122;
        }
        _99.items[_id].flags = _visible ? 1u : 0u;
        if (_visible)
        {
            uint _130 = atomic_fetch_add_explicit((device atomic_uint*)&_99.alive, 1u, memory_order_relaxed);
            (void)_130;
            float _sp = mod(_99.items[_id].mass, _push.limits.y);
            uint _bin = min(uint(_sp * _push.limits.x), 7u);
            uint _131 = atomic_fetch_add_explicit((device atomic_uint*)&_101.bins[_bin], 1u, memory_order_relaxed);
            (void)_131;
        }
        _99.items[_id].velocity = _q.xyz * _37.gain;
        break;
    } while (false);
}

kernel void transpose_main0(constant uint2& _size [[buffer(0)]], const device SSBO_In& _31 [[buffer(1)]], device SSBO_Out& _33 [[buffer(2)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]], uint3 gl_WorkGroupID [[threadgroup_position_in_grid]])
{
    threadgroup spvUnsafeArray<spvUnsafeArray<float, 17>, 16> _tile;
    uint2 _at = (gl_WorkGroupID.xy * gl_WorkGroupSize_1.xy) + gl_LocalInvocationID.xy;
    if (all(_at < _size))
    {
        _tile[gl_LocalInvocationID.y][gl_LocalInvocationID.x] = _31.data[(_at.y * _size.x) + _at.x];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint2 _to = (gl_WorkGroupID.yx * gl_WorkGroupSize_1.xy) + gl_LocalInvocationID.xy;
    if (all(_to < _size.yx))
    {
        _33.data[(_to.y * _size.y) + _to.x] = _tile[gl_LocalInvocationID.x][gl_LocalInvocationID.y];
    }
}

kernel void bits_main0(const device SSBO_Bins& _in [[buffer(0)]], device SSBO_Bins& _out [[buffer(1)]], constant uint& _n [[buffer(2)]], uint3 gl_GlobalInvocationID [[thread_position_in_grid]])
{
    uint _i = gl_GlobalInvocationID.x;
    if (_i < _n)
    {
        uint _v = _in.bins[_i];
        _out.bins[_i * 8u] = spvFindLSB(_v);
        _out.bins[(_i * 8u) + 1u] = spvFindUMSB(_v);
        _out.bins[(_i * 8u) + 2u] = reverse_bits(_v);
        uint _acc = 0u;
        for (uint _k = 0u; _k < 3u; _k++)
        {
            _acc = (_acc * 31u) + extract_bits(_v, _61[_k].x, _61[_k].y);
        }
        _out.bins[(_i * 8u) + 3u] = _acc;
        _out.bins[(_i * 8u) + 4u] = insert_bits(_v, 2748u, 7u, 12u);
        _out.bins[(_i * 8u) + 5u] = uint(extract_bits(int(_v), 5u, 9u));
        uint4 _b = uint4(as_type<uchar4>(_v));
        _out.bins[(_i * 8u) + 6u] = (_b.x + _b.y) + (_b.z ^ _b.w);
        _out.bins[(_i * 8u) + 7u] = popcount(_v) + (clz(_v) << 8u);
    }
}
