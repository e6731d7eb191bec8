// plover: a threadgroup answers one query of one head with a thread for every coordinate of the output. Keys come in tiles of 24; the
// simdgroups share the dot products of a tile, then each thread folds the tile's values into its own coordinate. Scores are in units of
// log2, so that the exponentials are exp2.

#include <metal_stdlib>
using namespace metal;

constant bool kPastOnly [[function_constant(0)]];
constant bool kSinks    [[function_constant(1)]];

constant constexpr int kTile = 24;

struct Jump {
    ulong batch;
    ulong head;
    ulong token;
};

struct Geometry {
    int   keys;
    uint  share;    // query heads for each key head
    int   shift;    // position of the first query
    int   reach;    // keys in the window, or 0
    float scale;
    float cap;
};

// From a product to a score in units of log2.
inline float soften(float product, float cap) {
    const float bent = cap > 0.0f ? cap * precise::tanh(product / cap) : product;
    return bent * M_LOG2E_F;
}

template <typename T, int DK, int DV>
kernel void plover(device const T* asked              [[buffer(0)]],
                   device const T* keys               [[buffer(1)]],
                   device const T* values             [[buffer(2)]],
                   device T* answer                   [[buffer(3)]],
                   constant Geometry& g               [[buffer(4)]],
                   device const float* sinks          [[buffer(5), function_constant(kSinks)]],
                   constant Jump& asks                [[buffer(6)]],
                   constant Jump& keyed               [[buffer(7)]],
                   constant Jump& valued              [[buffer(8)]],
                   constant Jump& written             [[buffer(9)]],
                   uint3 spot [[threadgroup_position_in_grid]],
                   uint column [[thread_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint team [[simdgroup_index_in_threadgroup]]) {
    constexpr int kTeams = DV / 32;
    threadgroup float ask[DK];
    threadgroup float tile[kTile];

    const uint head  = spot.y;
    const uint batch = spot.z;
    const uint donor = head / g.share;

    asked  += batch * asks.batch + head * asks.head + spot.x * asks.token;
    keys   += batch * keyed.batch + donor * keyed.head;
    values += batch * valued.batch + donor * valued.head;
    for (uint c = column; c < DK; c += DV) ask[c] = float(asked[c]) * g.scale;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const int place = int(spot.x) + g.shift;
    const int start = g.reach > 0 ? max(0, place - g.reach + 1) : 0;
    const int stop  = kPastOnly ? min(g.keys, place + 1) : g.keys;

    float best  = -INFINITY;
    float total = 0.0f;
    float mine  = 0.0f;
    for (int base = start; base < stop; base += kTile) {
        const int count = min(kTile, stop - base);
        for (int t = team; t < count; t += kTeams) {
            device const T* key = keys + (base + t) * keyed.token;
            float product = 0.0f;
            for (int c = lane; c < DK; c += 32) product += ask[c] * float(key[c]);
            product = simd_sum(product);
            if (lane == 0) tile[t] = soften(product, g.cap);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        float peak = best;
        for (int t = 0; t < count; ++t) peak = max(peak, tile[t]);
        const float fade = exp2(best - peak);
        total *= fade;
        mine  *= fade;
        for (int t = 0; t < count; ++t) {
            const float weight = exp2(tile[t] - peak);
            total += weight;
            mine  += weight * float(values[(base + t) * valued.token + column]);
        }
        best = peak;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    if (kSinks) {
        const float sink = sinks[head] * M_LOG2E_F;
        const float peak = max(best, sink);
        const float fade = exp2(best - peak);
        total = total * fade + exp2(sink - peak);
        mine *= fade;
    }

    answer += batch * written.batch + head * written.head + spot.x * written.token;
    answer[column] = T(total > 0.0f ? mine / total : 0.0f);
}

#define PLOVER(type, dk, dv) \
    template [[host_name("plover_" #type "_" #dk "x" #dv)]] kernel decltype(plover<type, dk, dv>) plover<type, dk, dv>;
#define PLOVERS(type) PLOVER(type, 64, 64) PLOVER(type, 96, 96) PLOVER(type, 128, 128) PLOVER(type, 192, 128)

PLOVERS(float)
PLOVERS(half)
PLOVERS(bfloat)
