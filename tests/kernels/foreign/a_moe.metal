// Mixture of experts: routing, lists of rows per expert, matrix products chosen by id, and the weighted sum.
#include <metal_stdlib>
using namespace metal;

#define SIMD 32
#define QK 32
#define MAX_EXPERTS 64

typedef struct {
    half   d;
    int8_t qs[QK];
} block_q8_0;

typedef struct {
    half    d;
    uint8_t qs[QK/2];
} block_q4_0;

constant int  fc_n_used      [[function_constant(0)]];
constant bool fc_normalize   [[function_constant(1)]];
constant bool fc_has_bias    [[function_constant(2)]];
constant bool normalize_weights = is_function_constant_defined(fc_normalize) ? fc_normalize : true;

// ---------------------------------------------------------------- routing: softmax over the experts, the best n_used of them

template <typename T>
[[kernel, max_total_threads_per_threadgroup(SIMD)]] void kernel_moe_route(
        device const T     * logits   [[buffer(0)]],
        device       int   * ids      [[buffer(1)]],
        device       float * weights  [[buffer(2)]],
        constant     int   & n_expert [[buffer(3)]],
        device const float * bias     [[buffer(4), function_constant(fc_has_bias)]],
        uint   token [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]]) {
    constexpr short PER = MAX_EXPERTS/SIMD;

    float p[PER];
    float pick[PER];
    float mx = -MAXFLOAT;
    for (short i = 0; i < PER; ++i) {
        const int e = i*SIMD + lane;
        p[i] = e < n_expert ? float(logits[token*n_expert + e]) : -MAXFLOAT;
        mx = max(mx, p[i]);
    }
    mx = simd_max(mx);
    float sum = 0.0f;
    for (short i = 0; i < PER; ++i) {
        const int e = i*SIMD + lane;
        p[i] = e < n_expert ? exp(p[i] - mx) : 0.0f;
        sum += p[i];
    }
    sum = simd_sum(sum);
    for (short i = 0; i < PER; ++i) {
        const int e = i*SIMD + lane;
        p[i] /= sum;
        pick[i] = e < n_expert ? p[i] : -1.0f;
        if (fc_has_bias) {
            pick[i] += e < n_expert ? bias[e] : -1e6f; // the bias decides but does not weigh
        }
    }

    float total = 0.0f;
    float mine  = 0.0f; // lane k has the k-th weight
    int   which = 0;
    for (short k = 0; k < fc_n_used; ++k) {
        float best = pick[0];
        int   at   = lane;
        for (short i = 1; i < PER; ++i) {
            if (pick[i] > best) {
                best = pick[i];
                at   = i*SIMD + lane;
            }
        }
        const float top = simd_max(best);
        at = simd_min(best == top ? at : INT_MAX);

        float w = at % SIMD == lane ? p[at/SIMD] : 0.0f;
        w = simd_sum(w);
        if (at % SIMD == lane) {
            pick[at/SIMD] = -MAXFLOAT;
        }
        if (lane == k) {
            mine  = w;
            which = at;
        }
        total += w;
    }
    if (lane < fc_n_used) {
        ids    [token*fc_n_used + lane] = which;
        weights[token*fc_n_used + lane] = normalize_weights ? mine/total : mine;
    }
}

template [[host_name("moe_route_f32")]]  [[kernel]] decltype(kernel_moe_route<float>)  kernel_moe_route<float>;
template [[host_name("moe_route_f16")]]  [[kernel]] decltype(kernel_moe_route<half>)   kernel_moe_route<half>;
template [[host_name("moe_route_bf16")]] [[kernel]] decltype(kernel_moe_route<bfloat>) kernel_moe_route<bfloat>;

// ---------------------------------------------------------------- rows per expert: counts, offsets, lists in the order of the tokens

struct map_args {
    int n_expert;
    int n_tokens;
};

template <short ne20> // experts used by a token
kernel void kernel_mul_mm_id_map0(
        constant map_args & args [[buffer(0)]],
        device const int  * ids  [[buffer(1)]],
        device       uint * tpe  [[buffer(2)]], // tokens of an expert
        device       int  * hids [[buffer(3)]], // [expert][n_tokens]: token*ne20 + slot
        threadgroup  char * shmem [[threadgroup(0)]],
        ushort tpitg [[thread_position_in_threadgroup]],
        ushort ntg   [[threads_per_threadgroup]]) {
    const short ide = tpitg; // a thread per expert

    uint n_all = 0;
    device int * hids_i = hids + ide*args.n_tokens;

    for (int i21 = 0; i21 < args.n_tokens; i21 += ntg) {
        // load a batch of ids
        if (i21 + tpitg < args.n_tokens) {
            device const int * src = ids + (i21 + tpitg)*ne20;
            threadgroup ushort * sids = (threadgroup ushort *) shmem + tpitg*ne20;
            #pragma unroll(ne20)
            for (short i20 = 0; i20 < ne20; i20++) {
                sids[i20] = src[i20];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        for (short t = 0; t < ntg; t++) {
            if (i21 + t >= args.n_tokens) {
                break;
            }
            threadgroup const ushort * sids = (threadgroup const ushort *) shmem + t*ne20;
            short sel = 0;
            #pragma unroll(ne20)
            for (short i20 = 0; i20 < ne20; i20++) {
                sel += (sids[i20] == ide)*(i20 + 1);
            }
            if (ide < args.n_expert && sel > 0) {
                hids_i[n_all] = (i21 + t)*ne20 + sel - 1;
                n_all += 1;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (ide < args.n_expert) {
        tpe[ide] = n_all;
    }
}

typedef decltype(kernel_mul_mm_id_map0<1>) kernel_mul_mm_id_map0_t;

template [[host_name("mul_mm_id_map0_ne20_1")]] kernel kernel_mul_mm_id_map0_t kernel_mul_mm_id_map0<1>;
template [[host_name("mul_mm_id_map0_ne20_2")]] kernel kernel_mul_mm_id_map0_t kernel_mul_mm_id_map0<2>;
template [[host_name("mul_mm_id_map0_ne20_4")]] kernel kernel_mul_mm_id_map0_t kernel_mul_mm_id_map0<4>;

// offsets by an exclusive scan, then any order inside an expert by atomics
[[kernel]] void moe_offsets(
        device const uint * tpe     [[buffer(0)]],
        device       uint * offsets [[buffer(1)]], // n_expert + 1
        constant     uint & n       [[buffer(2)]],
        uint lane [[thread_index_in_simdgroup]]) {
    uint carry = 0;
    for (uint i = 0; i < n; i += SIMD) {
        const uint v = i + lane < n ? tpe[i + lane] : 0;
        const uint before = simd_prefix_exclusive_sum(v);
        if (i + lane < n) {
            offsets[i + lane] = carry + before;
        }
        carry += simd_broadcast(before + v, SIMD - 1);
    }
    if (simd_is_first()) {
        offsets[n] = carry;
    }
}

[[kernel]] void moe_histogram(
        device const int   * ids  [[buffer(0)]],
        device atomic_uint * tpe  [[buffer(1)]],
        constant uint2 & n        [[buffer(2)]], // ids, experts
        uint gid [[thread_position_in_grid]],
        uint grid [[threads_per_grid]],
        uint tid [[thread_position_in_threadgroup]],
        uint ntg [[threads_per_threadgroup]]) {
    threadgroup atomic_uint local[MAX_EXPERTS];
    for (uint i = tid; i < MAX_EXPERTS; i += ntg) {
        atomic_store_explicit(local + i, 0u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = gid; i < n.x; i += grid) {
        atomic_fetch_add_explicit(&local[ids[i]], 1u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = tid; i < n.y; i += ntg) {
        const uint c = atomic_load_explicit(&local[i], memory_order_relaxed);
        if (c != 0) {
            atomic_fetch_add_explicit(&tpe[i], c, memory_order_relaxed);
        }
    }
}

// ---------------------------------------------------------------- matrix times vector with the matrix of an expert

typedef struct {
    int32_t  ne00;   // columns
    int32_t  ne01;   // rows of an expert
    int32_t  n_used;
    int32_t  ne11;   // 1: all the experts of a token have the same input; n_used: an input for each
    uint64_t nb01;
    uint64_t nb02;
} mul_mv_id_args;

typedef void (mul_mv_impl_t)(int n, device const char * row, device const float * y, ushort lane, thread float & sum);

static void mul_mv_impl_f16(int n, device const char * row, device const float * y, ushort lane, thread float & sum) {
    device const half * x = (device const half *) row;
    for (int i = lane; i < n; i += SIMD) {
        sum += x[i]*y[i];
    }
}

static void mul_mv_impl_q8_0(int n, device const char * row, device const float * y, ushort lane, thread float & sum) {
    device const block_q8_0 * x = (device const block_q8_0 *) row;
    for (int ib = 0; ib < n/QK; ++ib) {
        sum += float(x[ib].d)*x[ib].qs[lane]*y[ib*QK + lane];
    }
}

static void mul_mv_impl_q4_0(int n, device const char * row, device const float * y, ushort lane, thread float & sum) {
    device const block_q4_0 * x = (device const block_q4_0 *) row;
    for (int ib = 0; ib < n/QK; ++ib) {
        const uchar b = x[ib].qs[lane & 15];
        sum += float(x[ib].d)*((lane < 16 ? b & 15 : b >> 4) - 8)*y[ib*QK + lane];
    }
}

template <mul_mv_impl_t impl_fn>
kernel void kernel_mul_mv_id(
        constant mul_mv_id_args & args,
        device const char  * src0s,
        device const float * src1,
        device       float * dst,
        device const int   * ids,
        uint3  tgpig [[threadgroup_position_in_grid]],
        ushort tiisg [[thread_index_in_simdgroup]],
        ushort sgitg [[simdgroup_index_in_threadgroup]],
        ushort nsg   [[simdgroups_per_threadgroup]]) {
    const int iid1 = tgpig.z/args.n_used; // token
    const int idx  = tgpig.z%args.n_used;
    const int i02  = ids[tgpig.z];

    const int row = tgpig.x*nsg + sgitg;
    if (row >= args.ne01) {
        return;
    }
    device const char  * src0_cur = src0s + i02*args.nb02 + row*args.nb01;
    device const float * src1_cur = src1 + (iid1*args.ne11 + idx%args.ne11)*args.ne00;

    float sum = 0.0f;
    impl_fn(args.ne00, src0_cur, src1_cur, tiisg, sum);
    sum = simd_sum(sum);
    if (tiisg == 0) {
        dst[tgpig.z*args.ne01 + row] = sum;
    }
}

typedef decltype(kernel_mul_mv_id<mul_mv_impl_f16>) kernel_mul_mv_id_t;

template [[host_name("mul_mv_id_f16_f32")]]  kernel kernel_mul_mv_id_t kernel_mul_mv_id<mul_mv_impl_f16>;
template [[host_name("mul_mv_id_q8_0_f32")]] kernel kernel_mul_mv_id_t kernel_mul_mv_id<mul_mv_impl_q8_0>;
template [[host_name("mul_mv_id_q4_0_f32")]] kernel kernel_mul_mv_id_t kernel_mul_mv_id<mul_mv_impl_q4_0>;

// ---------------------------------------------------------------- activations of the experts, and the weighted sum of their outputs

struct swiglu {
    static float apply(float g, float u) { return g/(1.0f + exp(-g))*u; }
};
struct reglu {
    static float apply(float g, float u) { return g > 0.0f ? g*u : 0.0f; }
};

template <typename F, typename T>
[[kernel]] void moe_glu(
        device const T * x    [[buffer(0)]], // gate and up side by side
        device       T * y    [[buffer(1)]],
        constant     uint & n [[buffer(2)]],
        uint2 pos [[thread_position_in_grid]]) {
    device const T * row = x + pos.y*2*n;
    y[pos.y*n + pos.x] = T(F::apply(row[pos.x], row[n + pos.x]));
}

template [[host_name("moe_swiglu_f32")]] [[kernel]] void moe_glu<swiglu, float>(device const float *, device float *, constant uint &, uint2);
template [[host_name("moe_swiglu_f16")]] [[kernel]] void moe_glu<swiglu, half>(device const half *, device half *, constant uint &, uint2);
template [[host_name("moe_reglu_f32")]]  [[kernel]] void moe_glu<reglu, float>(device const float *, device float *, constant uint &, uint2);

[[kernel]] void moe_combine_f32(
        device const float * x   [[buffer(0)]], // [token][slot][n]
        device const float * w   [[buffer(1)]],
        device       float * y   [[buffer(2)]],
        constant     int   & n   [[buffer(3)]],
        uint2 pos [[thread_position_in_grid]]) {
    float acc = 0.0f;
    for (int k = 0; k < fc_n_used; ++k) {
        acc = fma(w[pos.y*fc_n_used + k], x[(pos.y*fc_n_used + k)*n + pos.x], acc);
    }
    y[pos.y*n + pos.x] = acc;
}
