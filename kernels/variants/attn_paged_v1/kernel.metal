// attn_paged_v1: decode attention over a paged cache. A block table says where each page of a sequence lies; partitions share the keys of a
// long sequence, and a second kernel merges them.

#include <metal_stdlib>

using namespace metal;

template <typename T, int D, int PAGE>
kernel void attn_paged(
        const device T   * q            [[buffer(0)]],
        const device T   * k_cache      [[buffer(1)]],
        const device T   * v_cache      [[buffer(2)]],
        const device int * block_table  [[buffer(3)]],
        const device int * context_lens [[buffer(4)]],
        device float     * partials     [[buffer(5)]],
        device float2    * statistics   [[buffer(6)]],
        constant int     & heads        [[buffer(7)]],
        constant int     & kv_heads     [[buffer(8)]],
        constant int     & max_pages    [[buffer(9)]],
        constant int     & partition    [[buffer(10)]],
        constant float   & scale        [[buffer(11)]],
        constant long    & kv_block_stride [[buffer(12)]],
        constant long    & kv_head_stride  [[buffer(13)]],
        constant long    & kv_row_stride   [[buffer(14)]],
        uint3 group  [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint  lane   [[thread_index_in_simdgroup]],
        uint  sg     [[simdgroup_index_in_threadgroup]],
        uint  nsg    [[simdgroups_per_threadgroup]],
        threadgroup float * logits [[threadgroup(0)]]) {
    constexpr int kPerLane = D / 32;
    const int head  = group.x;
    const int batch = group.y;
    const int part  = group.z;
    const int kv    = head / (heads / kv_heads);
    const int first = part * partition;
    const int last  = min(first + partition, context_lens[batch]);
    const int place = (batch * heads + head) * groups.z + part;

    float mine[kPerLane];
    for (int i = 0; i < kPerLane; ++i) {
        mine[i] = scale * float(q[(batch * heads + head) * D + i * 32 + lane]);
    }

    // Scores of the partition, a key for each simdgroup in turn.
    float top = -INFINITY;
    for (int j = first + int(sg); j < last; j += nsg) {
        const long block = block_table[batch * max_pages + j / PAGE];
        const device T * key = k_cache + block * kv_block_stride + kv * kv_head_stride + j % PAGE * kv_row_stride;
        float score = 0.0f;
        for (int i = 0; i < kPerLane; ++i) {
            score += mine[i] * float(key[i * 32 + lane]);
        }
        score = simd_sum(score);
        if (lane == 0) {
            logits[j - first] = score;
        }
        top = max(top, score);
    }
    threadgroup float * tops = logits + partition;
    if (lane == 0) {
        tops[sg] = top;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 0; s < nsg; ++s) {
        top = max(top, tops[s]);
    }

    // The weights; every simdgroup then has some of the coordinates.
    float sum = 0.0f;
    for (int j = first + int(lane); j < last; j += 32) {
        sum += exp(logits[j - first] - top);
    }
    sum = simd_sum(sum);
    for (int d = sg * 32 + lane; d < D; d += nsg * 32) {
        float o = 0.0f;
        for (int j = first; j < last; ++j) {
            const long block = block_table[batch * max_pages + j / PAGE];
            const device T * value = v_cache + block * kv_block_stride + kv * kv_head_stride + j % PAGE * kv_row_stride;
            o += exp(logits[j - first] - top) * float(value[d]);
        }
        partials[place * D + d] = o;
    }
    if (sg == 0 && lane == 0) {
        statistics[place] = float2(top, sum);
    }
}

template <typename T, int D>
kernel void attn_paged_merge(
        device T           * out        [[buffer(0)]],
        const device float * partials   [[buffer(1)]],
        const device float2 * statistics [[buffer(2)]],
        constant int       & parts      [[buffer(3)]],
        uint row  [[threadgroup_position_in_grid]],
        uint lane [[thread_index_in_threadgroup]]) {
    float top = -INFINITY;
    for (int p = 0; p < parts; ++p) {
        top = max(top, statistics[row * parts + p].x);
    }
    for (int d = lane; d < D; d += 32) {
        float o = 0.0f;
        float sum = 0.0f;
        for (int p = 0; p < parts; ++p) {
            const float2 own = statistics[row * parts + p];
            // A partition without a key has a maximum of minus infinity, and its output is 0.
            const float factor = own.x == -INFINITY ? 0.0f : exp(own.x - top);
            o   += factor * partials[(row * parts + p) * D + d];
            sum += factor * own.y;
        }
        out[row * D + d] = T(o / sum);
    }
}

#define INSTANTIATE(name, type, d, page) \
    template [[host_name("attn_paged_" #name "_" #d "_" #page)]] kernel decltype(attn_paged<type, d, page>) attn_paged<type, d, page>;
#define INSTANTIATE_PAGES(name, type, d) INSTANTIATE(name, type, d, 8) INSTANTIATE(name, type, d, 16) INSTANTIATE(name, type, d, 32) \
    template [[host_name("attn_paged_merge_" #name "_" #d)]] kernel decltype(attn_paged_merge<type, d>) attn_paged_merge<type, d>;

INSTANTIATE_PAGES(half, half, 64)
INSTANTIATE_PAGES(half, half, 128)
INSTANTIATE_PAGES(bfloat, bfloat, 64)
INSTANTIATE_PAGES(bfloat, bfloat, 128)
