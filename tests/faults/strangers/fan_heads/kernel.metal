// A stranger's attention: split keys, the query heads of a key/value head in one threadgroup, merged by a second kernel.
#include <metal_stdlib>
using namespace metal;
// The query heads that share a key/value head are the simdgroups of one threadgroup, so that a tile of 16 keys or values is
// fetched once for all of them. `splits` threadgroups have shares of the keys; fan_join joins them by logarithms of sums.

enum MaskKind : uint { kNone = 0, kCausal = 1, kBytes = 2, kAdded = 3, kLinear = 4 };
constant uint mask_kind [[function_constant(0)]];

#define TILE 16

struct Plan {
    int   n_query;
    int   n_key;
    int   n_head;
    int   fan;
    int   splits;
    int   offset;
    float scale;
    long  q_step[3];
    long  k_step[3];
    long  v_step[3];
    long  o_step[3];
    long  m_step[3];
};

template <typename T, int WIDTH>
static void fetch(threadgroup T* tile, device const T* from, long step, int live, int me, int crowd) {
    for (int e = me; e < live * WIDTH; e += crowd) {
        tile[e] = from[(e / WIDTH) * step + e % WIDTH];
    }
}

template <typename T, int DK, int DV>
[[kernel]] void fan_part(
        device const T     * q       [[buffer(0)]],
        device const T     * k       [[buffer(1)]],
        device const T     * v       [[buffer(2)]],
        device const uchar * allowed [[buffer(3)]],
        device const float * bias    [[buffer(4)]],
        device const float * slopes  [[buffer(5)]],
        device float       * shares  [[buffer(6)]],
        device float       * logs    [[buffer(7)]],
        constant Plan      & plan    [[buffer(8)]],
        threadgroup float  * queries [[threadgroup(0)]],
        uint3 spot [[threadgroup_position_in_grid]],
        uint  lane [[thread_index_in_simdgroup]],
        uint  arm  [[simdgroup_index_in_threadgroup]]) {
    constexpr int SLICES = (DV + 31) / 32;
    threadgroup T tile[TILE * (DK > DV ? DK : DV)];

    const int owner = spot.x;
    const int row   = spot.y;
    const int batch = spot.z / plan.splits;
    const int split = spot.z % plan.splits;
    const int head  = owner * plan.fan + arm;
    const int me    = arm * 32 + lane;
    const int crowd = plan.fan * 32;
    const int place = row + plan.offset;

    threadgroup float* mine = queries + arm * DK;
    device const T* q_row = q + batch * plan.q_step[0] + head * plan.q_step[1] + row * plan.q_step[2];
    for (int c = lane; c < DK; c += 32) {
        mine[c] = q_row[c];
    }

    const int share = (plan.n_key + plan.splits - 1) / plan.splits;
    const int begin = split * share;
    int end = min(begin + share, plan.n_key);
    if (mask_kind == kCausal) {
        end = min(end, place + 1);
    }
    device const T* keys   = k + batch * plan.k_step[0] + owner * plan.k_step[1];
    device const T* values = v + batch * plan.v_step[0] + owner * plan.v_step[1];
    const long mask_row = batch * plan.m_step[0] + head * plan.m_step[1] + row * plan.m_step[2];

    float o[SLICES] = {};
    float m = -INFINITY;
    float l = 0.0f;
    const int t    = lane % TILE;
    const int side = lane / TILE;
    for (int base = begin; base < end; base += TILE) {
        const int live = min(TILE, end - base);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        fetch<T, DK>(tile, keys + base * plan.k_step[2], plan.k_step[2], live, me, crowd);
        threadgroup_barrier(mem_flags::mem_threadgroup);

        float s = 0.0f;
        if (t < live) {
            for (int c = side; c < DK; c += 2) {
                s += mine[c] * float(tile[t * DK + c]);
            }
        }
        s += simd_shuffle_xor(s, TILE);

        const int j = base + t;
        if (t >= live) {
            s = -INFINITY;
        } else if (mask_kind == kBytes) {
            s = allowed[mask_row + j] ? s * plan.scale : -INFINITY;
        } else if (mask_kind == kAdded) {
            s = s * plan.scale + bias[mask_row + j];
        } else if (mask_kind == kLinear) {
            s = s * plan.scale - slopes[head] * float(abs(j - place));
        } else {
            s *= plan.scale;
        }

        const float top = max(m, simd_max(s));
        const float keep = top == -INFINITY ? 1.0f : exp(m - top);
        const float p = top == -INFINITY ? 0.0f : exp(s - top);
        l = l * keep + simd_sum(side == 0 ? p : 0.0f);
        m = top;

        threadgroup_barrier(mem_flags::mem_threadgroup);
        fetch<T, DV>(tile, values + base * plan.v_step[2], plan.v_step[2], live, me, crowd);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (int i = 0; i < SLICES; ++i) {
            const int c = i * 32 + lane;
            float sum = o[i] * keep;
            for (int u = 0; u < live; ++u) {
                const float w = simd_shuffle(p, ushort(u));
                sum += c < DV ? w * float(tile[u * DV + c]) : 0.0f;
            }
            o[i] = sum;
        }
    }

    const long cell = ((long(batch) * plan.n_head + head) * plan.n_query + row) * plan.splits + split;
    for (int i = 0, c = lane; c < DV; ++i, c += 32) {
        shares[cell * DV + c] = l > 0.0f ? o[i] / l : 0.0f;
    }
    if (lane == 0) {
        logs[cell] = l > 0.0f ? m + log(l) : -INFINITY;
    }
}

template <typename T, int DV>
[[kernel]] void fan_join(device const float* shares [[buffer(0)]], device const float* logs [[buffer(1)]],
                         device T* out [[buffer(2)]], device float* lse [[buffer(3)]], constant Plan& plan [[buffer(4)]],
                         uint3 spot [[threadgroup_position_in_grid]], uint c [[thread_index_in_threadgroup]]) {
    const long line = (long(spot.z) * plan.n_head + spot.y) * plan.n_query + spot.x;
    float top = -INFINITY;
    for (int s = 0; s < plan.splits; ++s) {
        top = max(top, logs[line * plan.splits + s]);
    }
    float total = 0.0f, o = 0.0f;
    for (int s = 0; s < plan.splits && top != -INFINITY; ++s) {
        const float w = exp(logs[line * plan.splits + s] - top);
        total += w;
        o += w * shares[(line * plan.splits + s) * DV + c];
    }
    out[spot.z * plan.o_step[0] + spot.y * plan.o_step[1] + spot.x * plan.o_step[2] + c] = T(total > 0.0f ? o / total : 0.0f);
    if (c == 0) lse[line] = total > 0.0f ? top + log(total) : -INFINITY;
}

#define FAN(T, DK, DV) template [[host_name("fan_part_" #T "_" #DK "_" #DV)]] [[kernel]] decltype(fan_part<T, DK, DV>) fan_part<T, DK, DV>;
#define JOIN(T, DV) template [[host_name("fan_join_" #T "_" #DV)]] [[kernel]] decltype(fan_join<T, DV>) fan_join<T, DV>;
#define ALL(T) FAN(T, 64, 64) FAN(T, 72, 72) FAN(T, 128, 128) FAN(T, 192, 128) JOIN(T, 64) JOIN(T, 72) JOIN(T, 128)
ALL(float) ALL(half) ALL(bfloat)
