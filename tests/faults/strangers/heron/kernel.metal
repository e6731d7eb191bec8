// heron: the keys of a row are cut into `parts` ranges. heron_wade has a threadgroup for each range of a key head, in which every
// simdgroup serves one query head of the group: a lane scores a key of its own, and the weights travel by shuffles while the lanes
// gather columns of the values. It leaves finished averages and their logarithms for heron_settle, which blends the ranges.
// The cache is a ring: key 0 is in slot `origin` of `room`.

#include <metal_stdlib>
using namespace metal;

enum MaskKind : int { kOpen = 0, kCausal = 1, kAdded = 2, kSloped = 3 };

constant int mask_kind [[function_constant(0)]];
constant bool stored_mask = mask_kind >= kAdded;
constant bool sloped_mask = mask_kind == kSloped;

struct Water {
    int   query_heads;
    int   longest;
    int   parts;
    int   origin;
    int   room;
    int   offset;
    int   from_end;
    float scale;
    long3 q;       // steps to the next batch, head and row, here and below
    long3 k;
    long3 v;
    long3 bias;
};

struct Span {
    int low, high;
};

static Span range_of(int part, int parts, int keys) {
    const int each = (keys + parts - 1) / parts;
    Span s;
    s.low  = part * each;
    s.high = min(keys, s.low + each);
    return s;
}

static int slot_of(int key, int origin, int room) {
    const int slot = origin + key;
    return slot >= room ? slot - room : slot;
}

template <typename T, typename B, int D>
[[kernel]] void heron_wade(
    constant Water& w            [[buffer(0)]],
    const device T* q            [[buffer(1)]],
    const device T* k            [[buffer(2)]],
    const device T* v            [[buffer(3)]],
    const device int* kv_len     [[buffer(4)]],
    const device B* bias         [[buffer(5), function_constant(stored_mask)]],
    const device float* slopes   [[buffer(6), function_constant(sloped_mask)]],
    device float* averages       [[buffer(7)]],
    device float* logs           [[buffer(8)]],
    threadgroup float* wanted    [[threadgroup(0)]],
    uint3 group                  [[threadgroup_position_in_grid]],
    uint3 groups                 [[threadgroups_per_grid]],
    ushort lane                  [[thread_index_in_simdgroup]],
    ushort member                [[simdgroup_index_in_threadgroup]],
    ushort members               [[simdgroups_per_threadgroup]])
{
    constexpr int columns = (D + 31) / 32;
    const int kv = group.x, query = group.y;
    const int part = group.z % w.parts, batch = group.z / w.parts;
    const int head = kv * members + member;
    const int keys = kv_len[batch];

    const device T* from = q + batch * w.q.x + head * w.q.y + query * w.q.z;
    threadgroup float* mine = wanted + member * D;
    for (int c = lane; c < D; c += 32) mine[c] = w.scale * float(from[c]);
    simdgroup_barrier(mem_flags::mem_threadgroup);

    k += batch * w.k.x + kv * w.k.y;
    v += batch * w.v.x + kv * w.v.y;
    const int position = query + w.offset - (w.from_end != 0 ? w.longest - keys : 0);
    const Span span = range_of(part, w.parts, keys);

    float crest = -INFINITY, mass = 0.0f;
    float sum[columns] = {};
    for (int base = span.low; base < span.high; base += 32) {
        const int key = base + lane;
        float score = -INFINITY;
        if (key < span.high && !(mask_kind == kCausal && key > position)) {
            const device T* row = k + slot_of(key, w.origin, w.room) * w.k.z;
            score = 0.0f;
            for (int c = 0; c < D; ++c) score = fma(mine[c], float(row[c]), score);
            if (stored_mask) {
                float extra = float(bias[batch * w.bias.x + head * w.bias.y + query * w.bias.z + key]);
                if (sloped_mask) extra *= slopes[head];
                score += extra;
            }
        }
        const float higher = max(crest, simd_max(score));
        if (higher == -INFINITY) continue;

        const float keep = exp(crest - higher);
        const float weight = exp(score - higher);
        mass = mass * keep + simd_sum(weight);
        crest = higher;
        for (int i = 0; i < columns; ++i) sum[i] *= keep;

        const int live = min(32, span.high - base);
        for (int t = 0; t < live; ++t) {
            const float share = simd_shuffle(weight, ushort(t));
            const device T* row = v + slot_of(base + t, w.origin, w.room) * w.v.z;
            for (int i = 0; i < columns; ++i) {
                const int c = lane + 32 * i;
                if (c < D) sum[i] += share * float(row[c]);
            }
        }
    }

    const long line = ((long(batch) * w.query_heads + head) * groups.y + query) * w.parts + part;
    for (int i = 0; i < columns; ++i) {
        const int c = lane + 32 * i;
        if (c < D) averages[line * D + c] = mass > 0.0f ? sum[i] / mass : 0.0f;
    }
    if (lane == 0) logs[line] = mass > 0.0f ? crest + log(mass) : -INFINITY;
}

template <typename T, int D>
[[kernel]] void heron_settle(
    constant int& parts          [[buffer(0)]],
    const device float* averages [[buffer(1)]],
    const device float* logs     [[buffer(2)]],
    device T* out                [[buffer(3)]],
    device float* lse            [[buffer(4)]],
    uint line                    [[threadgroup_position_in_grid]],
    uint c                       [[thread_position_in_threadgroup]])
{
    averages += long(line) * parts * D;
    logs += long(line) * parts;
    float top = logs[0];
    for (int p = 1; p < parts; ++p) top = max(top, logs[p]);

    float whole = 0.0f, blend = 0.0f;
    for (int p = 0; p < parts; ++p) {
        const float portion = top == -INFINITY ? 0.0f : exp(logs[p] - top);
        whole += portion;
        blend += portion * averages[p * D + c];
    }
    out[long(line) * D + c] = T(whole > 0.0f ? blend / whole : 0.0f);
    if (c == 0) lse[line] = (top + log(whole)) * M_LOG2E_F;
}

#define HERON(type, b, d) \
    template [[host_name("heron_wade_" #type "_" #b "_" #d)]] [[kernel]] decltype(heron_wade<type, b, d>) heron_wade<type, b, d>;
#define HERON_SIZE(type, d) HERON(type, float, d) HERON(type, half, d) \
    template [[host_name("heron_settle_" #type "_" #d)]] [[kernel]] decltype(heron_settle<type, d>) heron_settle<type, d>;

HERON_SIZE(float, 64) HERON_SIZE(float, 80) HERON_SIZE(float, 128) HERON_SIZE(float, 256)
HERON_SIZE(half, 64) HERON_SIZE(half, 80) HERON_SIZE(half, 128) HERON_SIZE(half, 256)
