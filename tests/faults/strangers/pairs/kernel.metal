// pairs: prefill without SIMD functions. A threadgroup of 2 x 64 threads has two neighbouring queries. It walks over the keys twice: first for
// the maximum, then for weights, sum and output, so nothing is ever rescaled. Maximum and sum are trees in threadgroup memory.

#include <metal_stdlib>

using namespace metal;

constant int  mask_kind  [[function_constant(0)]];   // none, causal, bytes, added, added times a slope
constant bool with_sinks [[function_constant(1)]];
constant bool with_cap   [[function_constant(2)]];

constant bool reads_bytes  = mask_kind == 2;
constant bool reads_added  = mask_kind >= 3;
constant bool reads_slopes = mask_kind == 4;

enum { kRows = 2, kWidth = 64, kOutputs = 4 };

struct Shape {
    packed_int3 steps_q, steps_k, steps_v, steps_o, steps_m;   // batch, head, token
    int heads, kv_heads, queries, keys, dim_k, dim_v, offset;
    float scale, cap;
};

template <typename P>
static P seek(P base, packed_int3 steps, int batch, int head) {
    return base + long(steps[0]) * batch + long(steps[1]) * head;
}

template <typename T>
static float similarity(threadgroup const float * a, device const T * b, constant Shape & shape) {
    float4 lanes = 0.0f;
    int i = 0;
    for (; i + 4 <= shape.dim_k; i += 4) {
        lanes += float4(a[i], a[i + 1], a[i + 2], a[i + 3]) * float4(b[i], b[i + 1], b[i + 2], b[i + 3]);
    }
    const float raw = shape.scale * (lanes.x + lanes.y + lanes.z + lanes.w);
    return with_cap ? shape.cap * precise::tanh(raw / shape.cap) : raw;
}

template <typename F>
static float fold(threadgroup float * tree, float value, ushort place, ushort base, F op) {
    tree[base + place] = value;
    for (ushort half_width = kWidth / 2; half_width > 0; half_width /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (place < half_width) {
            tree[base + place] = op(tree[base + place], tree[base + place + half_width]);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float all = tree[base];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return all;
}

struct Larger { float operator()(float a, float b) const { return max(a, b); } };
struct Total  { float operator()(float a, float b) const { return a + b; } };

template <typename T>
kernel void pairs(
        constant Shape     & shape  [[buffer(0)]],
        device const T     * q      [[buffer(1)]],
        device const T     * k      [[buffer(2)]],
        device const T     * v      [[buffer(3)]],
        device const uchar * bytes  [[buffer(4), function_constant(reads_bytes)]],
        device const T     * added  [[buffer(5), function_constant(reads_added)]],
        device const float * slopes [[buffer(6), function_constant(reads_slopes)]],
        device const float * sinks  [[buffer(7), function_constant(with_sinks)]],
        device T           * out    [[buffer(8)]],
        threadgroup float  * rows   [[threadgroup(0)]],
        uint3  group [[threadgroup_position_in_grid]],
        ushort2 self [[thread_position_in_threadgroup]]) {
    threadgroup float tree[kRows * kWidth];
    threadgroup float weights[kRows * kWidth];

    const int head = group.y, batch = group.z;
    const int kv_head = head / (shape.heads / shape.kv_heads);
    const int row = group.x * kRows + self.y;
    const bool inside = row < shape.queries;
    const int safe_row = inside ? row : shape.queries - 1;
    const ushort base = self.y * kWidth;

    threadgroup float * query = rows + self.y * shape.dim_k;
    device const T * source = seek(q, shape.steps_q, batch, head) + long(shape.steps_q[2]) * safe_row;
    for (int i = self.x; i < shape.dim_k; i += kWidth) {
        query[i] = source[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    device const T * k_head = seek(k, shape.steps_k, batch, kv_head);
    device const T * v_head = seek(v, shape.steps_v, batch, kv_head);
    const long mask_row = seek(0l, shape.steps_m, batch, head) + long(shape.steps_m[2]) * safe_row;

    // The last query of the group sees most.
    const int bound = mask_kind == 1 ? clamp(int(group.x + 1) * kRows + shape.offset, 0, shape.keys) : shape.keys;

    float peak = with_sinks ? sinks[head] : -INFINITY;
    float mass = 0.0f;
    float o[kOutputs] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int pass = 0; pass < 2; ++pass) {
        for (int first = 0; first < bound; first += kWidth) {
            const int key = first + self.x;
            float score = -INFINITY;
            if (key < bound && !(mask_kind == 1 && key > row + shape.offset) && !(reads_bytes && bytes[mask_row + key] == 0)) {
                score = similarity(query, k_head + long(shape.steps_k[2]) * key, shape);
                if (reads_added) {
                    score += (reads_slopes ? slopes[head] : 1.0f) * float(added[mask_row + key]);
                }
            }
            if (pass == 0) {
                peak = max(peak, score);
                continue;
            }
            const float weight = score == -INFINITY ? 0.0f : exp(score - peak);
            mass += weight;
            weights[base + self.x] = weight;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            const int count = min(int(kWidth), bound - first);
            for (int j = 0; j < count; ++j) {
                device const T * value = v_head + long(shape.steps_v[2]) * (first + j);
                for (int i = 0, d = self.x; d < shape.dim_v; ++i, d += kWidth) {
                    o[i] += weights[base + j] * float(value[d]);
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        if (pass == 0) {
            peak = fold(tree, peak, self.x, base, Larger());
        }
    }

    mass = fold(tree, mass, self.x, base, Total());
    if (with_sinks) {
        mass += exp(sinks[head] - peak);
    }
    if (inside) {
        device T * target = seek(out, shape.steps_o, batch, head) + long(shape.steps_o[2]) * row;
        for (int i = 0, d = self.x; d < shape.dim_v; ++i, d += kWidth) {
            target[d] = T(mass == 0.0f ? 0.0f : o[i] / mass);
        }
    }
}

template [[host_name("pairs_float")]]  kernel decltype(pairs<float>)  pairs<float>;
template [[host_name("pairs_half")]]   kernel decltype(pairs<half>)   pairs<half>;
template [[host_name("pairs_bfloat")]] kernel decltype(pairs<bfloat>) pairs<bfloat>;
