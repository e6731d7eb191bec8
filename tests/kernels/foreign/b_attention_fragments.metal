// Fused attention over blocks of keys: scores stay in 8x8 fragments, rows are reduced across lanes.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>

using namespace metal;

#define CLASS_CONSTANT static constant constexpr const
#define UNROLLED _Pragma("clang loop unroll(full)")

constant bool has_mask [[function_constant(300)]];
constant bool do_causal [[function_constant(301)]];
constant float softcap [[function_constant(302)]];
constant bool has_softcap = is_function_constant_defined(softcap);

struct AttentionShape {
  int B;
  int H;
  int D;
  int qL;
  int kL;
  int gqa_factor;
  float scale;
  int qL_off;
  int64_t Q_strides[3];
  int64_t K_strides[3];
  int64_t V_strides[3];
  int64_t O_strides[3];
};

template <typename U>
struct Limits {
  CLASS_CONSTANT U finite_min = metal::numeric_limits<U>::lowest();
};

#define BETWEEN_TWO(name, expression)                     \
  struct name {                                           \
    template <typename T>                                 \
    static METAL_FUNC T apply(T left, T right) {          \
      return expression;                                  \
    }                                                     \
  };
BETWEEN_TWO(Larger, metal::max(left, right))
BETWEEN_TWO(Plus, left + right)
BETWEEN_TWO(Times, left * right)
BETWEEN_TWO(Over, left / right)
BETWEEN_TWO(PowerOfGap, fast::exp2(left - right))

template <typename T>
struct LaneFragment {
  typedef metal::simdgroup_matrix<T, 8, 8> mat_type;
  typedef metal::vec<T, 2> frag_type;

  // x: the column of the first of a lane's two elements, y: their row. Lanes of a row differ in the bits 0 and 3.
  METAL_FUNC static short2 place_of(ushort lane) {
    return short2(((lane & 1) << 1) | ((lane >> 1) & 4), ((lane >> 1) & 3) | ((lane >> 2) & 4));
  }
  template <typename Op>
  METAL_FUNC static T across_lanes(T mine) {
    mine = Op::apply(mine, simd_shuffle_xor(mine, ushort(8)));
    return Op::apply(mine, simd_shuffle_xor(mine, ushort(1)));
  }

  METAL_FUNC static void mma(thread frag_type& D, const thread frag_type& A, const thread frag_type& B) {
    mat_type a, b, d;
    a.thread_elements()[0] = A[0];
    a.thread_elements()[1] = A[1];
    b.thread_elements()[0] = B[0];
    b.thread_elements()[1] = B[1];
    d.thread_elements()[0] = D[0];
    d.thread_elements()[1] = D[1];
    simdgroup_multiply_accumulate(d, a, b, d);
    D = frag_type(d.thread_elements()[0], d.thread_elements()[1]);
  }
};

// A row of fragments, 8 x (8 * N).
template <typename T, int N>
struct FragRow {
  using Frag = LaneFragment<T>;
  typename Frag::frag_type frags[N];

  METAL_FUNC void clear() {
    UNROLLED
    for (short i = 0; i < N; i++) {
      frags[i] = typename Frag::frag_type(0);
    }
  }
  METAL_FUNC thread typename Frag::frag_type& operator[](short i) {
    return frags[i];
  }
  METAL_FUNC const thread typename Frag::frag_type& operator[](short i) const {
    return frags[i];
  }
  // `start` with the whole row: a lane's own elements first, then its neighbours'
  template <typename Op>
  METAL_FUNC T fold(T start) const {
    T mine = Op::apply(frags[0].x, frags[0].y);
    UNROLLED
    for (short i = 1; i < N; i++) {
      mine = Op::apply(mine, Op::apply(frags[i].x, frags[i].y));
    }
    return Op::apply(start, Frag::template across_lanes<Op>(mine));
  }
  template <typename Op>
  METAL_FUNC void with(T value) {
    UNROLLED
    for (short e = 0; e < 2 * N; e++) {
      frags[e / 2][e % 2] = Op::apply(frags[e / 2][e % 2], value);
    }
  }
};

template <typename T, int ROWS, int COLS, int LD, int THREADS>
METAL_FUNC void load_rows(threadgroup T (&dst)[ROWS * LD], const device T* src, int64_t ld, int rows, uint thread_idx) {
  for (uint e = thread_idx; e < uint(ROWS * COLS); e += THREADS) {
    const int r = e / COLS;
    const int c = e % COLS;
    dst[r * LD + c] = r < rows ? src[r * ld + c] : T(0);
  }
}

template <typename T, int BQ, int BK, int BD, int WM, typename MaskType = float, typename AccumType = float>
[[kernel, max_total_threads_per_threadgroup(WM * 32)]] void attention(
    const device T* Q [[buffer(0)]],
    const device T* K [[buffer(1)]],
    const device T* V [[buffer(2)]],
    device T* O [[buffer(3)]],
    const constant AttentionShape* params [[buffer(4)]],
    const device MaskType* mask [[buffer(6), function_constant(has_mask)]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]],
    uint3 tid [[threadgroup_position_in_grid]]) {
  static_assert(BQ == 8 * WM, "a simdgroup has one row of fragments");
  constexpr short TK = BK / 8;
  constexpr short TD = BD / 8;
  constexpr short LD = BD + 16 / sizeof(T);
  using Frag = LaneFragment<AccumType>;

  threadgroup T Ks[BK * LD];
  threadgroup T Vs[BK * LD];

  const uint thread_idx = simd_group_id * 32 + simd_lane_id;
  const ulong kv_head = ulong(tid.y) / params->gqa_factor;
  Q += tid.z * params->Q_strides[0] + tid.y * params->Q_strides[1];
  K += tid.z * params->K_strides[0] + kv_head * params->K_strides[1];
  V += tid.z * params->V_strides[0] + kv_head * params->V_strides[1];
  O += tid.z * params->O_strides[0] + tid.y * params->O_strides[1];

  const short2 coord = Frag::place_of(simd_lane_id);
  const short fn = coord.x, fm = coord.y;
  const int row = tid.x * BQ + simd_group_id * 8 + fm;
  const bool row_ok = row < params->qL;

  const AccumType scale = params->scale * M_LOG2E_F;

  FragRow<AccumType, TD> Qfrag;
  UNROLLED
  for (short d = 0; d < TD; d++) {
    for (short j = 0; j < 2; j++) {
      Qfrag[d][j] = row_ok ? AccumType(Q[row * params->Q_strides[2] + d * 8 + fn + j]) : AccumType(0);
    }
  }

  FragRow<AccumType, TD> Ofrag;
  Ofrag.clear();
  AccumType max_score = Limits<AccumType>::finite_min;
  AccumType sum_score = 0;

  int kb_lim = (params->kL + BK - 1) / BK;
  if (do_causal) {
    int q_max = (tid.x + 1) * BQ + params->qL_off;
    kb_lim = min(kb_lim, (q_max + BK - 1) / BK);
  }

  for (int kb = 0; kb < kb_lim; kb++) {
    const int rows = min(BK, params->kL - kb * BK);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    load_rows<T, BK, BD, LD, WM * 32>(Ks, K + kb * BK * params->K_strides[2], params->K_strides[2], rows, thread_idx);
    load_rows<T, BK, BD, LD, WM * 32>(Vs, V + kb * BK * params->V_strides[2], params->V_strides[2], rows, thread_idx);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    FragRow<AccumType, TK> S;
    S.clear();
    UNROLLED
    for (short d = 0; d < TD; d++) {
      UNROLLED
      for (short k = 0; k < TK; k++) {
        typename Frag::frag_type kt;
        kt[0] = Ks[(k * 8 + fn) * LD + d * 8 + fm];
        kt[1] = Ks[(k * 8 + fn + 1) * LD + d * 8 + fm];
        Frag::mma(S[k], Qfrag[d], kt);
      }
    }
    S.template with<Times>(has_softcap ? params->scale : scale);
    if (has_softcap) {
      for (short k = 0; k < TK; k++) {
        S[k] = (softcap * M_LOG2E_F) * precise::tanh(S[k] / softcap);
      }
    }

    UNROLLED
    for (short k = 0; k < TK; k++) {
      UNROLLED
      for (short j = 0; j < 2; j++) {
        const int col = kb * BK + k * 8 + fn + j;
        bool keep = col < params->kL && row_ok;
        if (do_causal) {
          keep = keep && row + params->qL_off >= col;
        }
        if (has_mask && keep) {
          if constexpr (is_same_v<MaskType, bool>) {
            keep = mask[row * params->kL + col];
          } else {
            S[k][j] += M_LOG2E_F * AccumType(mask[row * params->kL + col]);
          }
        }
        S[k][j] = keep ? S[k][j] : Limits<AccumType>::finite_min;
      }
    }

    const AccumType new_max = S.template fold<Larger>(max_score);
    S.template with<PowerOfGap>(new_max);
    const AccumType factor = fast::exp2(max_score - new_max);
    max_score = new_max;
    sum_score = sum_score * factor + S.template fold<Plus>(AccumType(0));
    Ofrag.template with<Times>(factor);

    UNROLLED
    for (short d = 0; d < TD; d++) {
      UNROLLED
      for (short k = 0; k < TK; k++) {
        typename Frag::frag_type v;
        v.x = Vs[(k * 8 + fm) * LD + d * 8 + fn];
        v.y = Vs[(k * 8 + fm) * LD + d * 8 + fn + 1];
        Frag::mma(Ofrag[d], S[k], v);
      }
    }
  }

  Ofrag.template with<Over>(sum_score);
  if (row_ok) {
    UNROLLED
    for (short d = 0; d < TD; d++) {
      for (short j = 0; j < 2; j++) {
        O[row * params->O_strides[2] + d * 8 + fn + j] = static_cast<T>(Ofrag[d][j]);
      }
    }
  }
}

#define instantiate_attn(tname, dtype, bq, bk, bd, wm, mname, mtype)                            \
  template [[host_name("attention_" #tname "_bq" #bq "_bk" #bk "_bd" #bd "_mask_" #mname)]]     \
  [[kernel]] decltype(attention<dtype, bq, bk, bd, wm, mtype, float>)                           \
      attention<dtype, bq, bk, bd, wm, mtype, float>;

#define instantiate_attn_shapes(iname, itype, mname, mtype)   \
  instantiate_attn(iname, itype, 16, 16, 32, 2, mname, mtype) \
  instantiate_attn(iname, itype, 16, 8, 64, 2, mname, mtype)

instantiate_attn_shapes(float32, float, float32, float)
instantiate_attn_shapes(float16, half, bool_, bool)
instantiate_attn_shapes(bfloat16, bfloat, bfloat16, bfloat)
