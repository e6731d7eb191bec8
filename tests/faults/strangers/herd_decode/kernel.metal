// herd_decode: attention for short bursts of queries. All query heads that share a key/value head form a herd: their (query, head) pairs are
// rows, four rows make a threadgroup, one for each simdgroup, and the rows eat from the same staged keys and values. Within a simdgroup
// eight lanes share a key, so four keys are scored at a time. `slices` threadgroups split the visible tiles; `herd_gather` joins them.

#include <metal_stdlib>

using namespace metal;

constant bool kCausal [[function_constant(1)]];
constant bool kBanded [[function_constant(2)]];
constant bool kCapped [[function_constant(3)]];
constant bool kPaged  [[function_constant(4)]];
constant bool kSalted [[function_constant(5)]];

constant constexpr int kTile  = 16;   // keys that are staged at once
constant constexpr int kRows  = 4;    // rows of a threadgroup
constant constexpr int kOctet = 8;    // lanes that share a key
constant constexpr int kSteps = kTile * kOctet / 32;

struct Pitch {
    ulong outer;   // batch, or block of a paged cache
    ulong head;
    ulong token;
};

struct Field {
    int   q_heads;
    int   kv_heads;
    int   tokens;
    int   slices;
    int   page_rows;
    int   table_width;
    int   longest;
    int   shift;      // position of query 0 in the longest batch
    int   from_end;   // positions count from the end of each batch
    int   band;
    float gain;
    float cap;
    Pitch q;
    Pitch k;
    Pitch v;
    Pitch o;
};

static inline float tame(float score, float cap) {
    return cap * precise::tanh(score / cap);
}

static inline int position_of(constant Field & f, int token, int keys) {
    return token + f.shift - (f.from_end ? f.longest - keys : 0);
}

static inline bool sees(constant Field & f, int key, int position, int keys) {
    if (key >= keys) {
        return false;
    }
    if (kCausal && key > position) {
        return false;
    }
    return !kBanded || key > position - f.band;
}

// Where a cached row begins, in elements.
static inline ulong locate(constant Field & f, Pitch p, const device int * table, int batch, int kv, int key) {
    if (kPaged) {
        const int page = table[batch * f.table_width + key / f.page_rows];
        return page * p.outer + kv * p.head + (key % f.page_rows) * p.token;
    }
    return batch * p.outer + kv * p.head + key * p.token;
}

template <typename T, int D>
kernel void herd_graze(
        constant Field   & field  [[buffer(0)]],
        const device T   * query  [[buffer(1)]],
        const device T   * keys   [[buffer(2)]],
        const device T   * values [[buffer(3)]],
        const device int * counts [[buffer(4)]],
        const device int * table  [[buffer(5)]],
        device float     * hay    [[buffer(6)]],
        device float2    * tally  [[buffer(7)]],
        uint3 spot [[threadgroup_position_in_grid]],
        uint  lane [[thread_index_in_simdgroup]],
        uint  sg   [[simdgroup_index_in_threadgroup]]) {
    constexpr int kChunks = D / 32;

    threadgroup T k_pen[kTile * D];
    threadgroup T v_pen[kTile * D];

    const int fold  = field.q_heads / field.kv_heads;
    const int rows  = fold * field.tokens;
    const int kv    = spot.y % field.kv_heads;
    const int batch = spot.y / field.kv_heads;
    const int slice = spot.z;
    const int n     = counts[batch];

    const int first_row = spot.x * kRows;
    const int row       = first_row + sg;
    const bool alive    = row < rows;
    const int token     = alive ? row / fold : 0;
    const int head      = kv * fold + row % fold;
    const int position  = position_of(field, token, n);

    const int octet = lane / kOctet;
    const int sub   = lane % kOctet;

    float4 mine[kChunks];
    for (int c = 0; c < kChunks; ++c) {
        mine[c] = 0.0f;
        if (alive) {
            const device T * from = query + batch * field.q.outer + head * field.q.head + token * field.q.token + c * 32 + sub * 4;
            mine[c] = field.gain * float4(from[0], from[1], from[2], from[3]);
        }
    }

    float acc[kChunks];
    for (int c = 0; c < kChunks; ++c) {
        acc[c] = 0.0f;
    }
    float top  = -INFINITY;
    float mass = 0.0f;

    // The tiles that any row of this threadgroup sees.
    int tile_from = 0;
    int tile_to   = (n + kTile - 1) / kTile;
    if (kCausal) {
        const int last_row = min(first_row + kRows, rows) - 1;
        const int reach    = position_of(field, last_row / fold, n) + 1;
        tile_to = clamp((reach + kTile - 1) / kTile, 0, tile_to);
    }
    if (kBanded) {
        const int oldest = position_of(field, first_row / fold, n) - field.band + 1;
        tile_from = min(max(oldest, 0) / kTile, tile_to);
    }
    const int share = (tile_to - tile_from + field.slices - 1) / field.slices;
    tile_from = tile_from + slice * share;
    tile_to   = min(tile_from + share, tile_to);

    for (int tile = tile_from; tile < tile_to; ++tile) {
        const int base = tile * kTile;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (int t = sg; t < kTile; t += kRows) {
            const bool stored = base + t < n;
            const ulong k_at = stored ? locate(field, field.k, table, batch, kv, base + t) : 0;
            const ulong v_at = stored ? locate(field, field.v, table, batch, kv, base + t) : 0;
            for (int d = lane; d < D; d += 32) {
                k_pen[t * D + d] = stored ? keys[k_at + d] : T(0.0f);
                v_pen[t * D + d] = stored ? values[v_at + d] : T(0.0f);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        float score[kSteps];
        float peak = -INFINITY;
        for (int s = 0; s < kSteps; ++s) {
            const int t = s * 4 + octet;
            float sum = 0.0f;
            for (int c = 0; c < kChunks; ++c) {
                const threadgroup T * part = k_pen + t * D + c * 32 + sub * 4;
                sum += dot(mine[c], float4(part[0], part[1], part[2], part[3]));
            }
            sum += simd_shuffle_xor(sum, 1);
            sum += simd_shuffle_xor(sum, 2);
            sum += simd_shuffle_xor(sum, 4);
            if (kCapped) {
                sum = tame(sum, field.cap);
            }
            score[s] = sees(field, base + t, position, n) ? sum : -INFINITY;
            peak = max(peak, score[s]);
        }
        const float next = max(top, simd_max(peak));
        if (next == -INFINITY) {
            continue;
        }
        const float fade = exp(top - next);
        float gained = 0.0f;
        for (int s = 0; s < kSteps; ++s) {
            score[s] = exp(score[s] - next);
            gained += sub == 0 ? score[s] : 0.0f;
        }
        mass = mass * fade + simd_sum(gained);
        top  = next;
        for (int c = 0; c < kChunks; ++c) {
            acc[c] *= fade;
        }
        for (int t = 0; t < kTile; ++t) {
            const float weight = simd_shuffle(score[t / 4], ushort(t % 4 * kOctet));
            for (int c = 0; c < kChunks; ++c) {
                acc[c] += weight * float(v_pen[t * D + c * 32 + lane]);
            }
        }
    }

    if (alive) {
        const ulong place = ((ulong(batch) * field.q_heads + head) * field.tokens + token) * field.slices + slice;
        for (int c = 0; c < kChunks; ++c) {
            hay[place * D + c * 32 + lane] = acc[c];
        }
        if (lane == 0) {
            tally[place] = float2(top, mass);
        }
    }
}

// Two simdgroups for each row of the output.
template <typename T, int D>
kernel void herd_gather(
        constant Field      & field [[buffer(0)]],
        const device float  * hay   [[buffer(1)]],
        const device float2 * tally [[buffer(2)]],
        const device float  * salt  [[buffer(3)]],
        device T            * out   [[buffer(4)]],
        uint row    [[threadgroup_position_in_grid]],
        uint thread_index [[thread_index_in_threadgroup]]) {
    const int token = row % field.tokens;
    const int head  = row / field.tokens % field.q_heads;
    const int batch = row / field.tokens / field.q_heads;
    const ulong place = ulong(row) * field.slices;

    float top = kSalted ? salt[head] : -INFINITY;
    for (int s = 0; s < field.slices; ++s) {
        top = max(top, tally[place + s].x);
    }
    float mass = kSalted ? exp(salt[head] - top) : 0.0f;
    for (int s = 0; s < field.slices; ++s) {
        const float2 own = tally[place + s];
        mass += own.y == 0.0f ? 0.0f : own.y * exp(own.x - top);
    }
    device T * to = out + batch * field.o.outer + head * field.o.head + token * field.o.token;
    for (int d = thread_index; d < D; d += 64) {
        float sum = 0.0f;
        for (int s = 0; s < field.slices; ++s) {
            const float2 own = tally[place + s];
            if (own.y != 0.0f) {
                sum += hay[(place + s) * D + d] * exp(own.x - top);
            }
        }
        to[d] = T(mass == 0.0f ? 0.0f : sum / mass);
    }
}

#define HERD(name, type, d) \
    template [[host_name("herd_graze_" #name "_" #d)]] kernel decltype(herd_graze<type, d>) herd_graze<type, d>; \
    template [[host_name("herd_gather_" #name "_" #d)]] kernel decltype(herd_gather<type, d>) herd_gather<type, d>;

HERD(float, float, 64)
HERD(half, half, 64)
HERD(float, float, 128)
HERD(half, half, 128)
