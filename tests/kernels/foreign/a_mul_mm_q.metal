// Quantised matrix times matrix with 8x8 simdgroup matrices: dst[n][m] = sum over k of A[m][k]*B[n][k].
#include <metal_stdlib>
#include <metal_simdgroup>
#include <metal_simdgroup_matrix>
using namespace metal;

#define BLOCK_SIZE_M 32
#define BLOCK_SIZE_N 32
#define BLOCK_SIZE_K 32
#define THREAD_PER_BLOCK 128
#define TILE_PRAGMA_UNROLL _Pragma("clang loop unroll(full)")

#define QK 32
struct block_q4_0 { half d; uint8_t qs[QK / 2]; };
struct block_q4_1 { half d; half m; uint8_t qs[QK / 2]; };
struct block_q5_0 { half d; uint8_t qh[4]; uint8_t qs[QK / 2]; };
struct block_q8_0 { half d; int8_t qs[QK]; };
struct block_s6   { uint8_t ql[128]; uint8_t qh[64]; int8_t scales[16]; half d; };

struct mul_mm_args {
    int32_t  K;
    int32_t  M;
    int32_t  N;
    int32_t  ne02;
    int32_t  ne12;
    int32_t  pad;
    uint64_t nb01;
    uint64_t nb02;
    uint64_t nb11;
    uint64_t nb12;
};

// sixteen values of a block: il is the index of the sixteen
template <typename type4x4>
void dequantize_f32(device const float4x4 * src, short il, thread type4x4 & reg) {
    (void) il;
    reg = type4x4(*src);
}

template <typename type4x4>
void dequantize_f16(device const half4x4 * src, short il, thread type4x4 & reg) {
    (void) il;
    reg = type4x4(*src);
}

template <typename type4x4>
void dequantize_q4_0(device const block_q4_0 * xb, short il, thread type4x4 & reg) {
    const float d = xb->d;
    float4x4 r;
    for (short i = 0; i < 16; ++i) {
        const int q = il ? xb->qs[i] >> 4 : xb->qs[i] & 0x0F;
        r[i/4][i%4] = d*(q - 8);
    }
    reg = (type4x4) r;
}

template <typename type4x4>
void dequantize_q4_1(device const block_q4_1 * xb, short il, thread type4x4 & reg) {
    const float d = xb->d, m = xb->m;
    const ushort shift = il*4;
    float4x4 r;
    for (short i = 0; i < 16; ++i) {
        r[i/4][i%4] = fma(d, float((xb->qs[i] >> shift) & 0xF), m);
    }
    reg = (type4x4) r;
}

template <typename type4x4>
void dequantize_q5_0(device const block_q5_0 * xb, short il, thread type4x4 & reg) {
    const uint qh = as_type<uint>(uchar4(xb->qh[0], xb->qh[1], xb->qh[2], xb->qh[3])) >> (16*il);
    float4x4 r;
    for (short i = 0; i < 16; ++i) {
        const int lo = (xb->qs[i] >> (4*il)) & 0xF;
        const int hi = (qh >> i) & 1;
        r[i/4][i%4] = float(xb->d)*((lo | (hi << 4)) - 16);
    }
    reg = (type4x4) r;
}

template <typename type4x4>
void dequantize_q8_0(device const block_q8_0 * xb, short il, thread type4x4 & reg) {
    device const int8_t * qs = xb->qs + 16*il;
    const float d = xb->d;
    float4x4 r;
    for (int i = 0; i < 16; i++) {
        r[i/4][i%4] = qs[i]*d;
    }
    reg = (type4x4) r;
}

template <typename type4x4>
void dequantize_s6(device const block_s6 * xb, short il, thread type4x4 & reg) {
    const float d = float(xb->d)*xb->scales[il];
    for (short i = 0; i < 16; ++i) {
        const short e = 16*il + i;
        const int lo = (xb->ql[e/2] >> (4*(e%2))) & 15;
        const int hi = (xb->qh[e/4] >> (2*(e%4))) & 3;
        reg[i/4][i%4] = d*((lo | hi << 4) - 32);
    }
}

template <typename T, typename T4x4, typename simdgroup_T8x8, typename block_q, short nl, void (*dequantize_func)(device const block_q *, short, thread T4x4 &)>
[[kernel, max_total_threads_per_threadgroup(THREAD_PER_BLOCK)]] void kernel_mul_mm(
        constant mul_mm_args & args [[buffer(0)]],
        device const char * src0    [[buffer(1)]],
        device const char * src1    [[buffer(2)]],
        device       char * dst     [[buffer(3)]],
        threadgroup  char * shmem   [[threadgroup(0)]],
        uint3  tgpig [[threadgroup_position_in_grid]],
        ushort tiitg [[thread_index_in_threadgroup]],
        ushort sgitg [[simdgroup_index_in_threadgroup]]) {
    threadgroup T     * sa = (threadgroup T *) shmem;
    threadgroup T     * sb = sa + BLOCK_SIZE_M*BLOCK_SIZE_K;
    threadgroup float * sc = (threadgroup float *) shmem; // after the loop

    const int m0 = tgpig.y*BLOCK_SIZE_M;
    const int n0 = tgpig.x*BLOCK_SIZE_N;
    const int im = tgpig.z;

    const short n_rows = min(args.M - m0, BLOCK_SIZE_M);
    const short n_cols = min(args.N - n0, BLOCK_SIZE_N);

    // half of the threads loads A, the other half B: sixteen values each
    const short lr = (tiitg % 64)/2;
    const short lk = tiitg % 2;
    const bool  is_a = tiitg < 64;

    device const block_q * x = (device const block_q *) (src0 + (m0 + min(lr, (short) (n_rows - 1)))*args.nb01 + (im/(args.ne12/args.ne02))*args.nb02);
    device const float   * y = (device const float *)   (src1 + (n0 + min(lr, (short) (n_cols - 1)))*args.nb11 + im*args.nb12);

    simdgroup_T8x8 ma[2];
    simdgroup_T8x8 mb[2];
    simdgroup_float8x8 mc[2][2];
    for (short i = 0; i < 4; i++) {
        mc[i/2][i%2] = make_filled_simdgroup_matrix<float, 8>(0.f);
    }

    const short sm = 16*(sgitg%2);
    const short sn = 16*(sgitg/2);

    for (int k0 = 0; k0 < args.K; k0 += BLOCK_SIZE_K) {
        threadgroup_barrier(mem_flags::mem_threadgroup);

        if (is_a) {
            T4x4 temp;
            const int chunk = k0/16 + lk;
            dequantize_func(x + chunk/nl, chunk%nl, temp);
            #pragma unroll(16)
            for (short i = 0; i < 16; i++) {
                sa[lr*BLOCK_SIZE_K + 16*lk + i] = temp[i/4][i%4];
            }
        } else {
            for (short i = 0; i < 4; ++i) {
                *(threadgroup vec<T, 4> *) (sb + lr*BLOCK_SIZE_K + 16*lk + 4*i) = vec<T, 4>(*(device const float4 *) (y + k0 + 16*lk + 4*i));
            }
        }

        threadgroup_barrier(mem_flags::mem_threadgroup);

        #pragma unroll(4)
        for (short ik = 0; ik < BLOCK_SIZE_K/8; ik++) {
            simdgroup_barrier(mem_flags::mem_none);
            for (short i = 0; i < 2; i++) {
                simdgroup_load(ma[i], sa + (sm + 8*i)*BLOCK_SIZE_K + 8*ik, BLOCK_SIZE_K);
                simdgroup_load(mb[i], sb + (sn + 8*i)*BLOCK_SIZE_K + 8*ik, BLOCK_SIZE_K, 0, true);
            }
            simdgroup_barrier(mem_flags::mem_none);
            for (short i = 0; i < 2; i++) {
                for (short j = 0; j < 2; j++) {
                    simdgroup_multiply_accumulate(mc[i][j], ma[i], mb[j], mc[i][j]);
                }
            }
        }
    }

    device float * C = (device float *) dst + (im*args.N + n0)*args.M + m0;

    if (n_rows == BLOCK_SIZE_M && n_cols == BLOCK_SIZE_N) {
        for (short i = 0; i < 4; i++) {
            simdgroup_store(mc[i/2][i%2], C + (sn + 8*(i%2))*args.M + sm + 8*(i/2), args.M, ulong2(0), true);
        }
    } else {
        // block is ragged: through threadgroup memory
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (short i = 0; i < 4; i++) {
            simdgroup_store(mc[i/2][i%2], sc + (sn + 8*(i%2))*BLOCK_SIZE_M + sm + 8*(i/2), BLOCK_SIZE_M, 0, true);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (short n = sgitg; n < n_cols; n += 4) {
            for (short m = tiitg%32; m < n_rows; m += 32) {
                C[n*args.M + m] = sc[n*BLOCK_SIZE_M + m];
            }
        }
    }
}

typedef decltype(kernel_mul_mm<half, half4x4, simdgroup_half8x8, half4x4, 1, dequantize_f16>) mul_mm_t;

template [[host_name("mul_mm_f32_f32")]]  kernel mul_mm_t kernel_mul_mm<float, float4x4, simdgroup_float8x8, float4x4,   1,  dequantize_f32>;
template [[host_name("mul_mm_f16_f32")]]  kernel mul_mm_t kernel_mul_mm<half,  half4x4,  simdgroup_half8x8,  half4x4,    1,  dequantize_f16>;
template [[host_name("mul_mm_q4_0_f32")]] kernel mul_mm_t kernel_mul_mm<half,  half4x4,  simdgroup_half8x8,  block_q4_0, 2,  dequantize_q4_0>;
template [[host_name("mul_mm_q4_1_f32")]] kernel mul_mm_t kernel_mul_mm<half,  half4x4,  simdgroup_half8x8,  block_q4_1, 2,  dequantize_q4_1>;
template [[host_name("mul_mm_q5_0_f32")]] kernel mul_mm_t kernel_mul_mm<half,  half4x4,  simdgroup_half8x8,  block_q5_0, 2,  dequantize_q5_0>;
template [[host_name("mul_mm_q8_0_f32")]] kernel mul_mm_t kernel_mul_mm<half,  half4x4,  simdgroup_half8x8,  block_q8_0, 2,  dequantize_q8_0>;
template [[host_name("mul_mm_q8_0_full")]] kernel mul_mm_t kernel_mul_mm<float, float4x4, simdgroup_float8x8, block_q8_0, 2, dequantize_q8_0>;
template [[host_name("mul_mm_s6_f32")]]   kernel mul_mm_t kernel_mul_mm<half,  half4x4,  simdgroup_half8x8,  block_s6,   16, dequantize_s6>;

// ---------------------------------------------------------------- one 8x8 tile per simdgroup, with an epilogue on the elements of the lane

struct EpilogueRelu {
    float slope;
    METAL_FUNC float operator()(float x, float b) const thread { return max(x + b, slope*(x + b)); }
};

struct EpilogueScale {
    float alpha;
    METAL_FUNC float operator()(float x, float b) const thread { return fma(alpha, x, b); }
};

template <typename T, typename Epilogue>
struct Frag8x8 {
    static constexpr constant int kElems = 2;
    typedef vec<float, kElems> frag_type;

    static METAL_FUNC short2 get_coord(ushort lane) {
        const short qid = lane/4;
        const short fm = (qid & 4) + ((lane/2) % 4);
        const short fn = (qid & 2)*2 + (lane % 2)*2;
        return short2{fn, fm};
    }

    static METAL_FUNC void apply(thread simdgroup_matrix<float, 8, 8> & d, const thread Epilogue & op, const device float * bias, const short fn) {
        thread frag_type & f = reinterpret_cast<thread frag_type &>(d.thread_elements());
        TILE_PRAGMA_UNROLL
        for (short i = 0; i < kElems; ++i) {
            f[i] = op(f[i], bias[fn + i]);
        }
    }
};

// rows, columns and depth are multiples of 8
template <typename T, typename Epilogue>
[[kernel]] void gemm_frag(
        const device T * A       [[buffer(0)]],
        const device T * B       [[buffer(1)]],
        const device float * bias [[buffer(2)]],
        device float * D         [[buffer(3)]],
        constant int3 & mnk      [[buffer(4)]],
        constant float & p       [[buffer(5)]],
        uint2  tile [[threadgroup_position_in_grid]],
        ushort lane [[thread_index_in_simdgroup]]) {
    using frag = Frag8x8<T, Epilogue>;
    const int M = mnk.x, N = mnk.y, K = mnk.z;
    (void) M;
    const short2 c = frag::get_coord(lane);

    simdgroup_matrix<float, 8, 8> acc = simdgroup_matrix<float, 8, 8>(0);
    for (int k = 0; k < K; k += 8) {
        simdgroup_matrix<T, 8, 8> a, b;
        // A through its elements, B through a load
        a.thread_elements()[0] = A[(8*tile.y + c.y)*K + k + c.x];
        a.thread_elements()[1] = A[(8*tile.y + c.y)*K + k + c.x + 1];
        simdgroup_load(b, B, N, ulong2(8*tile.x, k), false);
        simdgroup_multiply_accumulate(acc, a, b, acc);
    }
    const Epilogue op{p};
    frag::apply(acc, op, bias + 8*tile.x, c.x);
    simdgroup_store(acc, D + 8*tile.y*N + 8*tile.x, N);
}

#define instantiate_gemm_frag(name, T, E) \
    template [[host_name("gemm_frag_" #name)]] [[kernel]] void gemm_frag<T, E>( \
        const device T * A [[buffer(0)]], const device T * B [[buffer(1)]], const device float * bias [[buffer(2)]], \
        device float * D [[buffer(3)]], constant int3 & mnk [[buffer(4)]], constant float & p [[buffer(5)]], \
        uint2 tile [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]]);

instantiate_gemm_frag(f32_relu, float, EpilogueRelu)
instantiate_gemm_frag(f16_relu, half, EpilogueRelu)
instantiate_gemm_frag(f32_scale, float, EpilogueScale)
instantiate_gemm_frag(bf16_scale, bfloat, EpilogueScale)
