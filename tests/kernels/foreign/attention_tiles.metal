// Attention as MLX writes it: conditional arguments, block loaders, tiles of fragments behind thread_elements(), functors.
// Long because it is one file of several kernels, as such a project generates it.
// Written from knowledge of the style; what each computes is checked in tests/conformance/foreign_kernels_test.cpp.
#include <metal_stdlib>
#include <metal_simdgroup>
#include <metal_simdgroup_matrix>
#pragma METAL internals : enable
using namespace metal;
#define STEEL_CONST static constant constexpr const
#define STEEL_PRAGMA_UNROLL _Pragma("clang loop unroll(full)")
#define STEEL_PRAGMA_NO_UNROLL _Pragma("clang loop unroll(disable)")
typedef bfloat bfloat16_t;
typedef half float16_t;
constant bool has_mask [[function_constant(20)]];
constant bool query_transposed [[function_constant(21)]];
constant bool do_causal [[function_constant(22)]];
constant bool bool_mask [[function_constant(23)]];
constant bool float_mask [[function_constant(24)]];
constant bool has_sinks [[function_constant(25)]];
constant bool align_Q [[function_constant(200)]];
constant int blocks [[function_constant(26)]];
constant bool any_mask = bool_mask || float_mask;

template <typename U> struct Limits {
  static const constant U max;
  static const constant U min;
  static const constant U finite_max;
  static const constant U finite_min;
};
#define instantiate_default_limit(type)                                      \
  template <>                                                                \
  struct Limits<type> {                                                      \
    static constexpr constant type max = metal::numeric_limits<type>::max(); \
    static constexpr constant type min = metal::numeric_limits<type>::min(); \
    static constexpr constant type finite_max = metal::numeric_limits<type>::max(); \
    static constexpr constant type finite_min = metal::numeric_limits<type>::min(); \
  };
instantiate_default_limit(uint8_t);
instantiate_default_limit(int32_t);
instantiate_default_limit(int64_t);
#define instantiate_float_limit(type)             \
  template <>                                     \
  struct Limits<type> {                           \
    static constexpr constant type max =          \
        metal::numeric_limits<type>::infinity();  \
    static constexpr constant type min =          \
        -metal::numeric_limits<type>::infinity(); \
    static constexpr constant type finite_max =   \
        metal::numeric_limits<type>::max();       \
    static constexpr constant type finite_min =   \
        -metal::numeric_limits<type>::max();      \
  };
instantiate_float_limit(half);
instantiate_float_limit(float);
instantiate_float_limit(bfloat16_t);

template <typename T, int D, int V = D>
[[kernel]] void sdpa_vector(
    const device T* queries [[buffer(0)]],
    const device T* keys [[buffer(1)]],
    const device T* values [[buffer(2)]],
    device T* out [[buffer(3)]],
    const constant int& gqa_factor [[buffer(4)]],
    const constant int& N [[buffer(5)]],
    const constant size_t& k_head_stride [[buffer(6)]],
    const constant size_t& k_seq_stride [[buffer(7)]],
    const constant size_t& v_head_stride [[buffer(8)]],
    const constant size_t& v_seq_stride [[buffer(9)]],
    const constant float& scale [[buffer(10)]],
    const device bool* bmask [[buffer(11), function_constant(bool_mask)]],
    const device T* fmask [[buffer(12), function_constant(float_mask)]],
    const constant int& mask_kv_seq_stride [[buffer(13), function_constant(any_mask)]],
    const constant int& mask_q_seq_stride [[buffer(14), function_constant(any_mask)]],
    const constant int& mask_head_stride [[buffer(15), function_constant(any_mask)]],
    const device T* sinks [[buffer(16), function_constant(has_sinks)]],
    const constant int& num_q_heads [[buffer(17), function_constant(has_sinks)]],
    uint3 tid [[threadgroup_position_in_grid]],
    uint3 tpg [[threadgroups_per_grid]],
    uint simd_gid [[simdgroup_index_in_threadgroup]],
    uint simd_lid [[thread_index_in_simdgroup]]) {
  constexpr int BN = 32;
  constexpr int BD = 32;
  constexpr int qk_per_thread = D / BD;
  constexpr int v_per_thread = V / BD;
  int inner_k_stride = BN * int(k_seq_stride);
  int inner_v_stride = BN * int(v_seq_stride);

  typedef float U;
  thread U q[qk_per_thread];
  thread U k[qk_per_thread];
  thread U o[v_per_thread];
  threadgroup U outputs[BN * BD];
  threadgroup U max_scores[BN];
  threadgroup U sum_exp_scores[BN];

  const int q_batch_head_idx = tid.x;
  const int q_seq_idx = tid.y;
  const int kv_head_idx = q_batch_head_idx / gqa_factor;
  const int o_offset = q_batch_head_idx * tpg.y + q_seq_idx;
  const int q_offset = query_transposed ? tpg.x * q_seq_idx + q_batch_head_idx : o_offset;
  queries += q_offset * D + simd_lid * qk_per_thread;
  keys += kv_head_idx * k_head_stride + simd_gid * k_seq_stride + simd_lid * qk_per_thread;
  values += kv_head_idx * v_head_stride + simd_gid * v_seq_stride + simd_lid * v_per_thread;
  if (bool_mask) { bmask += q_batch_head_idx * mask_head_stride + simd_gid * mask_kv_seq_stride + q_seq_idx * mask_q_seq_stride; }
  if (float_mask) { fmask += q_batch_head_idx * mask_head_stride + simd_gid * mask_kv_seq_stride + q_seq_idx * mask_q_seq_stride; }
  out += o_offset * V + simd_gid * v_per_thread;

  for (int i = 0; i < qk_per_thread; i++) { q[i] = static_cast<U>(scale) * queries[i]; }
  for (int i = 0; i < v_per_thread; i++) { o[i] = 0; }
  U max_score = Limits<U>::finite_min;
  U sum_exp_score = 0;
  if (has_sinks && simd_gid == 0) {
    max_score = static_cast<U>(sinks[q_batch_head_idx % num_q_heads]);
    sum_exp_score = 1;
  }
  for (int i = simd_gid; i < N; i += BN) {
    bool use_key = true;
    if (do_causal) { use_key = i <= (N - int(tpg.y) + int(q_seq_idx)); }
    else if (bool_mask) { use_key = bmask[0]; }
    else if (float_mask) { use_key = (fmask[0] >= Limits<T>::finite_min); }
    if (use_key) {
      for (int j = 0; j < qk_per_thread; j++) { k[j] = keys[j]; }
      U score = 0;
      for (int j = 0; j < qk_per_thread; j++) { score += q[j] * k[j]; }
      score = simd_sum(score);
      if (float_mask) { score += static_cast<U>(fmask[0]); }
      U new_max = max(max_score, score);
      U factor = fast::exp(max_score - new_max);
      U exp_score = fast::exp(score - new_max);
      max_score = new_max;
      sum_exp_score = sum_exp_score * factor + exp_score;
      for (int j = 0; j < v_per_thread; j++) { o[j] = o[j] * factor + exp_score * values[j]; }
    }
    keys += inner_k_stride;
    values += inner_v_stride;
    if (bool_mask) { bmask += BN * mask_kv_seq_stride; }
    if (float_mask) { fmask += BN * mask_kv_seq_stride; }
  }
  if (simd_lid == 0) { max_scores[simd_gid] = max_score; sum_exp_scores[simd_gid] = sum_exp_score; }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  max_score = max_scores[simd_lid];
  U new_max = simd_max(max_score);
  U factor = fast::exp(max_score - new_max);
  sum_exp_score = simd_sum(sum_exp_scores[simd_lid] * factor);
  for (int i = 0; i < v_per_thread; i++) {
    outputs[simd_lid * BD + simd_gid] = o[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    o[i] = simd_sum(outputs[simd_gid * BD + simd_lid] * factor);
    o[i] = sum_exp_score == 0 ? o[i] : (o[i] / sum_exp_score);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (simd_lid == 0) { for (int i = 0; i < v_per_thread; i++) { out[i] = static_cast<T>(o[i]); } }
}
#define instantiate_kernel(name, func, ...) \
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;
#define instantiate_sdpa_vector(type, qk_dim, value_dim) \
  instantiate_kernel("sdpa_vector_" #type "_" #qk_dim "_" #value_dim, sdpa_vector, type, qk_dim, value_dim)
#define instantiate_sdpa_vector_heads(type) instantiate_sdpa_vector(type, 64, 64) instantiate_sdpa_vector(type, 128, 128)
instantiate_sdpa_vector_heads(float)
instantiate_sdpa_vector_heads(bfloat16_t)
instantiate_sdpa_vector_heads(float16_t)

///// steel
template <typename T, T v> struct integral_const { static constexpr constant T value = v; using value_type = T; using type = integral_const; METAL_FUNC constexpr operator value_type() const noexcept { return value; } };
template <int val> using Int = integral_const<int, val>;
#define integral_const_binop(__op__, __operator__)          \
  template <typename T, T tv, typename U, U uv>             \
  METAL_FUNC constexpr auto __operator__(                   \
      integral_const<T, tv>, integral_const<U, uv>) { \
    constexpr auto res = tv __op__ uv;                      \
    return integral_const<decltype(res), res>{};         \
  }
integral_const_binop(+, operator+);
integral_const_binop(*, operator*);
template <int start, int stop, int step, typename F>
constexpr void const_for_loop(F f) {
  if constexpr (start < stop) {
    constexpr auto idx = Int<start>{};
    f(idx);
    const_for_loop<start + step, stop, step, F>(f);
  }
}
namespace mlx { namespace steel {
template <typename T, short BROWS, short BCOLS, short kDstStrRow, short kDstStrCol, short reduction_dim, short tgp_size, short n_reads = (BCOLS * BROWS) / (tgp_size), short TCOLS = BCOLS / n_reads, short TROWS = tgp_size / TCOLS>
struct BlockLoaderT {
  STEEL_CONST short n_rows = (BROWS + TROWS - 1) / TROWS;
  STEEL_CONST short vec_size = n_reads;
  const int src_ld;
  const int tile_stride;
  const short thread_idx;
  const short bi;
  const short bj;
  threadgroup T* dst;
  const device T* src;
  METAL_FUNC BlockLoaderT(const device T* src_, const int src_ld_, threadgroup T* dst_, ushort simd_group_id [[simdgroup_index_in_threadgroup]], ushort simd_lane_id [[thread_index_in_simdgroup]])
      : src_ld(src_ld_),
        tile_stride(reduction_dim ? BCOLS : BROWS * src_ld),
        thread_idx(simd_group_id * 32 + simd_lane_id),
        bi(thread_idx / TCOLS),
        bj(vec_size * (thread_idx % TCOLS)),
        dst(dst_ + bi * kDstStrRow + bj * kDstStrCol),
        src(src_ + bi * src_ld + bj) {}
  template <typename UnaryOp>
  METAL_FUNC void apply_inplace_op(thread const UnaryOp& op) const {
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < BROWS; i += TROWS) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < vec_size; j++) {
        dst[i * kDstStrRow + j * kDstStrCol] = op.apply(dst[i * kDstStrRow + j * kDstStrCol]);
      }
    }
  }
  METAL_FUNC void load_unsafe() const {
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < BROWS; i += TROWS) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < vec_size; j++) { dst[i * kDstStrRow + j * kDstStrCol] = src[i * src_ld + j]; }
    }
  }
  METAL_FUNC void load_safe(short2 src_tile_dim) const {
    src_tile_dim = src_tile_dim - short2(bj, bi);
    if (src_tile_dim.x <= 0 || src_tile_dim.y <= 0) {
      STEEL_PRAGMA_UNROLL
      for (short i = 0; i < BROWS; i += TROWS) {
        STEEL_PRAGMA_UNROLL
        for (short j = 0; j < vec_size; j++) { dst[i * kDstStrRow + j * kDstStrCol] = T(0); }
      }
      return;
    }
    bool tmp_idx[vec_size];
    T tmp_val[vec_size];
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < BROWS; i += TROWS) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < vec_size; j++) { tmp_idx[j] = (i < src_tile_dim.y) && (j < src_tile_dim.x); }
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < vec_size; j++) { tmp_val[j] = src[(tmp_idx[j] ? i * src_ld + j : 0)]; }
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < vec_size; j++) { tmp_val[j] = tmp_idx[j] ? tmp_val[j] : T(0); }
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < vec_size; j++) { dst[i * kDstStrRow + j * kDstStrCol] = tmp_val[j]; }
    }
  }
  METAL_FUNC void next() { src += tile_stride; }
};

template <typename T, int kFragRows_, int kFragCols_>
struct BaseMMAFrag { static_assert(kFragRows_ == 8, "Only 8 x 8 fragment matrices are currently supported"); };
template <typename T>
struct BaseMMAFrag<T, 8, 8> {
  STEEL_CONST int kFragRows = 8;
  STEEL_CONST int kFragCols = 8;
  STEEL_CONST int kElemsPerFrag = (kFragRows * kFragCols) / 32;
  STEEL_CONST int kElemRows = 1;
  STEEL_CONST int kElemCols = 2;
  static_assert(kElemRows * kElemCols == kElemsPerFrag, "MMAFrag shape is not consistent with MMAFrag size");
  typedef metal::simdgroup_matrix<T, kFragRows, kFragCols> mat_type;
  typedef metal::vec<T, kElemsPerFrag> frag_type;
  typedef metal::vec<T, kElemRows> row_frag_type_unused;
  template <typename U> using dtype_mat_t = typename metal::simdgroup_matrix<U, kFragRows, kFragCols>;
  template <typename U> using dtype_frag_t = typename metal::vec<U, kElemsPerFrag>;

  METAL_FUNC static constexpr short2 get_coord(ushort simd_lane_id [[thread_index_in_simdgroup]]) {
    const short qid = simd_lane_id / 4;
    const short fm = (qid & 4) + ((simd_lane_id / 2) % 4);
    const short fn = (qid & 2) * 2 + (simd_lane_id % 2) * 2;
    return short2{fn, fm};
  }
  template <typename SrcPtrType, typename StrX, typename StrY>
  METAL_FUNC static constexpr void load(thread frag_type& dst, SrcPtrType src, StrX str_x, StrY str_y) {
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kElemRows; i++) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < kElemCols; j++) { dst[i * kElemCols + j] = static_cast<T>(src[i * str_x + j * str_y]); }
    }
  }
  template <typename SrcPtrType, typename StrX, typename StrY, typename LimX, typename LimY, typename OffX, typename OffY>
  METAL_FUNC static constexpr void load_safe(thread frag_type& dst, SrcPtrType src, StrX str_x, StrY str_y, LimX lim_x, LimY lim_y, OffX off_x = Int<0>{}, OffY off_y = Int<0>{}) {
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kElemRows; i++) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < kElemCols; j++) {
        if ((off_x + i) < lim_x && (off_y + j) < lim_y) { dst[i * kElemCols + j] = static_cast<T>(src[(off_x + i) * str_x + (off_y + j) * str_y]); }
        else { dst[i * kElemCols + j] = T(0); }
      }
    }
  }
  template <typename DstPtrType, typename StrX, typename StrY>
  METAL_FUNC static constexpr void store(const thread frag_type& src, DstPtrType dst, StrX str_x, StrY str_y) {
    using U = metal::remove_pointer_t<DstPtrType>;
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kElemRows; i++) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < kElemCols; j++) { dst[i * str_x + j * str_y] = static_cast<U>(src[i * kElemCols + j]); }
    }
  }
  template <typename Atype, typename Btype, typename Ctype>
  METAL_FUNC static constexpr void mma(thread frag_type& D, thread dtype_frag_t<Atype>& A, thread dtype_frag_t<Btype>& B, thread dtype_frag_t<Ctype>& C) {
    mat_type D_mat;
    dtype_mat_t<Atype> A_mat;
    dtype_mat_t<Btype> B_mat;
    dtype_mat_t<Ctype> C_mat;
    reinterpret_cast<thread dtype_frag_t<Atype>&>(A_mat.thread_elements()) = A;
    reinterpret_cast<thread dtype_frag_t<Btype>&>(B_mat.thread_elements()) = B;
    reinterpret_cast<thread dtype_frag_t<Ctype>&>(C_mat.thread_elements()) = C;
    mma(D_mat, A_mat, B_mat, C_mat);
    D = reinterpret_cast<thread frag_type&>(D_mat.thread_elements());
  }
  template <typename Atype, typename Btype, typename Ctype>
  METAL_FUNC static constexpr void mma(thread mat_type& D, thread dtype_mat_t<Atype>& A, thread dtype_mat_t<Btype>& B, thread dtype_mat_t<Ctype>& C) {
    simdgroup_multiply_accumulate(D, A, B, C);
  }
  template <typename Op>
  METAL_FUNC static constexpr void row_reduce(thread const frag_type& inp_vals, thread T* reduced_vals) {
    T thr_reduce = Op::apply(inp_vals.x, inp_vals.y);
    T qgr_reduce = simd_shuffle_xor(thr_reduce, ushort(1));
    qgr_reduce = Op::apply(thr_reduce, qgr_reduce);
    T sgr_reduce = simd_shuffle_xor(qgr_reduce, ushort(8));
    sgr_reduce = Op::apply(qgr_reduce, sgr_reduce);
    reduced_vals[0] = Op::apply(reduced_vals[0], sgr_reduce);
  }
  template <typename Op>
  METAL_FUNC static constexpr void row_bin_op(thread frag_type& inp_vals, thread T* row_vals) {
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kElemRows; i++) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < kElemCols; j++) { inp_vals[i * kElemCols + j] = Op::apply(inp_vals[i * kElemCols + j], row_vals[i]); }
    }
  }
};
template <typename T, int kTileRows_, int kTileCols_, class MMAFrag_ = BaseMMAFrag<T, 8, 8>>
struct MMATile {
  using MMAFrag_t = MMAFrag_;
  using elem_type = T;
  STEEL_CONST int kFragRows = MMAFrag_t::kFragRows;
  STEEL_CONST int kFragCols = MMAFrag_t::kFragCols;
  STEEL_CONST int kElemsPerFrag = MMAFrag_t::kElemsPerFrag;
  STEEL_CONST int kTileRows = kTileRows_;
  STEEL_CONST int kTileCols = kTileCols_;
  STEEL_CONST int kRows = kTileRows * kFragRows;
  STEEL_CONST int kCols = kTileCols * kFragCols;
  STEEL_CONST int kNumFrags = kTileRows * kTileCols;
  STEEL_CONST int kElemsPerTile = kNumFrags * kElemsPerFrag;
  STEEL_CONST int kRowsPerThread = kTileRows * MMAFrag_t::kElemRows;
  typedef typename MMAFrag_t::mat_type mat_type;
  typedef typename MMAFrag_t::frag_type frag_type;
  frag_type val_frags[kNumFrags];
  METAL_FUNC MMATile() thread {}
  METAL_FUNC constexpr void clear() {
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kNumFrags; ++i) { val_frags[i] = frag_type(0); }
  }
  METAL_FUNC constexpr thread frag_type& frag_at(const short i, const short j) { return val_frags[i * kTileCols + j]; }
  METAL_FUNC constexpr const thread frag_type& frag_at(const short i, const short j) const { return val_frags[i * kTileCols + j]; }
  METAL_FUNC mat_type mat_at(const short i, const short j) {
    mat_type val_mat;
    STEEL_PRAGMA_UNROLL
    for (short ii = 0; ii < kElemsPerFrag; ++ii) { val_mat.thread_elements()[ii] = frag_at(i, j)[ii]; }
    return val_mat;
  }
  METAL_FUNC thread elem_type* elems() { return reinterpret_cast<thread elem_type*>(val_frags); }
  METAL_FUNC const thread elem_type* elems() const { return reinterpret_cast<const thread elem_type*>(val_frags); }
  template <typename Op>
  METAL_FUNC void row_reduce(thread T vals[kRowsPerThread]) const {
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kTileRows; ++i) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < kTileCols; ++j) { MMAFrag_t::template row_reduce<Op>(frag_at(i, j), &vals[i * MMAFrag_t::kElemRows]); }
    }
  }
  template <typename Op>
  METAL_FUNC void row_bin_op(thread T vals[kRowsPerThread]) {
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kTileRows; ++i) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < kTileCols; ++j) { MMAFrag_t::template row_bin_op<Op>(frag_at(i, j), &vals[i * MMAFrag_t::kElemRows]); }
    }
  }
  template <typename U, int w_x, int w_y, int str_x, int str_y>
  METAL_FUNC void load(const threadgroup U* src) {
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kTileRows; ++i) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < kTileCols; ++j) {
        MMAFrag_t::load(frag_at(i, j), &(src[(i * kFragRows) * w_x * str_x + (j * kFragCols) * w_y * str_y]), Int<str_x>{}, Int<str_y>{});
      }
    }
  }
  template <typename U, int w_x, int w_y>
  METAL_FUNC void store(device U* dst, const int ld) const {
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kTileRows; ++i) {
      STEEL_PRAGMA_UNROLL
      for (short j = 0; j < kTileCols; ++j) {
        MMAFrag_t::store(frag_at(i, j), &(dst[(i * kFragRows) * w_x * ld + (j * kFragCols) * w_y]), ld, Int<1>{});
      }
    }
  }
};
template <typename Dtype, typename Atype, typename Btype, typename Ctype, int M, int N, int K, class MMAFragD, class MMAFragA, class MMAFragB, class MMAFragC>
METAL_FUNC void tile_matmad(thread MMATile<Dtype, M, N, MMAFragD>& D, thread MMATile<Atype, M, K, MMAFragA>& A, thread MMATile<Btype, K, N, MMAFragB>& B, thread MMATile<Ctype, M, N, MMAFragC>& C) {
  STEEL_PRAGMA_UNROLL
  for (short m = 0; m < M; ++m) {
    STEEL_PRAGMA_UNROLL
    for (short n = 0; n < N; ++n) {
      short m_serp = m;
      short n_serp = (m % 2) ? (N - 1 - n) : n;
      STEEL_PRAGMA_UNROLL
      for (short k = 0; k < K; ++k) {
        MMAFragD::mma(D.frag_at(m_serp, n_serp), A.frag_at(m_serp, k), B.frag_at(k, n_serp), C.frag_at(m_serp, n_serp));
      }
    }
  }
}
struct AttnParams { int B; int H; int D; int qL; int kL; int gqa_factor; float scale; int NQ; int NK; int NQ_aligned; int NK_aligned; int qL_rem; int kL_rem; int qL_off; int64_t Q_strides[3]; int64_t K_strides[3]; int64_t V_strides[3]; int64_t O_strides[3]; };
}}  // namespace mlx::steel
using namespace mlx::steel;
template <typename T> struct TransformScale { T scale; METAL_FUNC TransformScale(T scale_) : scale(scale_) {} METAL_FUNC T apply(T x) const { return scale * x; } };
struct MaxOp { template <typename T> METAL_FUNC static constexpr T apply(T x, T y) { return metal::max(x, y); } };
struct SumOp { template <typename T> METAL_FUNC static constexpr T apply(T x, T y) { return x + y; } };
struct MulOp { template <typename T> METAL_FUNC static constexpr T apply(T x, T y) { return x * y; } };
struct ExpSubOp { template <typename T> METAL_FUNC static constexpr T apply(T x, T y) { return fast::exp2(x - y); } };
struct DivOp { template <typename T> METAL_FUNC static constexpr T apply(T x, T y) { return x / y; } };

// clang-format off
template <typename T, int BQ, int BK, int BD, int WM, int WN, typename AccumType = float>
[[kernel, max_total_threads_per_threadgroup(WM * WN * 32)]] void attention(
    const device T* Q [[buffer(0)]],
    const device T* K [[buffer(1)]],
    const device T* V [[buffer(2)]],
    device T* O [[buffer(3)]],
    const constant AttnParams* params [[buffer(4)]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]],
    uint3 tid [[threadgroup_position_in_grid]],
    uint3 lid [[thread_position_in_threadgroup]]) { // clang-format on
  (void)lid;
  ulong3 tidl{tid.x, tid.y, tid.z};
  Q += tidl.z * params->Q_strides[0] + tidl.y * params->Q_strides[1] + tidl.x * BQ * params->Q_strides[2];
  ulong kv_head_idx = int(tid.y) / params->gqa_factor;
  K += tidl.z * params->K_strides[0] + kv_head_idx * params->K_strides[1];
  V += tidl.z * params->V_strides[0] + kv_head_idx * params->V_strides[1];
  O += tidl.z * params->O_strides[0] + tidl.y * params->O_strides[1] + tidl.x * BQ * params->O_strides[2];
  constexpr short padQ = 16 / sizeof(T);
  constexpr short padK = 16 / sizeof(T);
  constexpr short padV = 16 / sizeof(T);
  constexpr short LDQ_tgp = BD + padQ;
  constexpr short LDK_tgp = BK + padK;
  constexpr short LDV_tgp = BD + padV;
  constexpr short tgp_mem_0 = (BK + padK) * (BD);
  constexpr short tgp_mem_1 = BK * (BD + padV);
  constexpr short tgp_mem_s = tgp_mem_0 > tgp_mem_1 ? tgp_mem_0 : tgp_mem_1;
  threadgroup T Q_smem[BQ * (BD + padQ)];
  threadgroup T KV_smem[tgp_mem_s];
  threadgroup T* Qs = Q_smem;
  threadgroup T* Ks = KV_smem;
  threadgroup T* Vs = KV_smem;
  using QBlockLoader = BlockLoaderT<T, BQ, BD, LDQ_tgp, 1, 1, WM * WN * 32>;
  using KBlockLoader = BlockLoaderT<T, BK, BD, 1, LDK_tgp, 0, WM * WN * 32>;
  using VBlockLoader = BlockLoaderT<T, BK, BD, LDV_tgp, 1, 0, WM * WN * 32>;
  QBlockLoader loader_q(Q, params->Q_strides[2], Qs, simd_group_id, simd_lane_id);
  KBlockLoader loader_k(K, params->K_strides[2], Ks, simd_group_id, simd_lane_id);
  VBlockLoader loader_v(V, params->V_strides[2], Vs, simd_group_id, simd_lane_id);
  TransformScale<T> ts(static_cast<T>(params->scale * 1.44269504089));
  constexpr short kFragSize = 8;
  using MMAFrag_acc_t = BaseMMAFrag<AccumType, kFragSize, kFragSize>;
  constexpr int kNWarps = WM * WN;
  static_assert(BQ >= (kNWarps * kFragSize) && BQ % (kNWarps * kFragSize) == 0, "Each simdgroup must host atleast 1 simdgroup matrix along Q sequence.");
  constexpr int TQ = BQ / (kNWarps * kFragSize);
  constexpr int TK = BK / kFragSize;
  constexpr int TD = BD / kFragSize;
  static_assert(TQ == 1, "Check TQ");
  MMATile<AccumType, TQ, 1, MMAFrag_acc_t> Qtile;
  MMATile<AccumType, 1, TK, MMAFrag_acc_t> Ktile;
  MMATile<AccumType, TQ, TK, MMAFrag_acc_t> Stile;
  MMATile<AccumType, 1, 1, MMAFrag_acc_t> Vtile;
  MMATile<AccumType, TQ, TD, MMAFrag_acc_t> Otile;
  Otile.clear();
  const short2 simd_coord = MMAFrag_acc_t::get_coord(simd_lane_id);
  const short sm = simd_coord.y;
  const short sn = simd_coord.x;
  const short tm = kFragSize * TQ * simd_group_id;
  const short Qs_offset = (tm + sm) * LDQ_tgp + sn;
  const short Ks_offset = sm * LDK_tgp + sn;
  const short Vs_offset = sm * LDV_tgp + sn;
  constexpr short Qs_tile_stride = kFragSize;
  constexpr short Ks_tile_stride = kFragSize * LDK_tgp;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (!align_Q && int(tid.x) == (params->NQ_aligned)) { loader_q.load_safe(short2(BD, params->qL_rem)); } else { loader_q.load_unsafe(); }
  loader_q.apply_inplace_op(ts);
  constexpr short kRowsPT = decltype(Stile)::kRowsPerThread;
  AccumType max_score[kRowsPT];
  AccumType sum_score[kRowsPT] = {0};
  STEEL_PRAGMA_UNROLL
  for (short i = 0; i < kRowsPT; ++i) { max_score[i] = Limits<AccumType>::finite_min; }
  for (int kb = 0; kb < params->NK; kb++) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (kb == (params->NK_aligned)) { loader_k.load_safe(short2(BD, params->kL_rem)); } else { loader_k.load_unsafe(); }
    Stile.clear();
    threadgroup_barrier(mem_flags::mem_threadgroup);
    STEEL_PRAGMA_UNROLL
    for (short dd = 0; dd < TD; dd++) {
      simdgroup_barrier(mem_flags::mem_none);
      Qtile.template load<T, 1, 1, LDQ_tgp, 1>(&Qs[Qs_offset + dd * Qs_tile_stride]);
      Ktile.template load<T, 1, 1, LDK_tgp, 1>(&Ks[Ks_offset + dd * Ks_tile_stride]);
      simdgroup_barrier(mem_flags::mem_none);
      tile_matmad(Stile, Qtile, Ktile, Stile);
    }
    if (kb == (params->NK_aligned)) {
      using stile_t = decltype(Stile);
      using selem_t = typename stile_t::elem_type;
      constexpr auto neg_inf = Limits<selem_t>::finite_min;
      STEEL_PRAGMA_UNROLL
      for (short i = 0; i < stile_t::kTileRows; i++) {
        STEEL_PRAGMA_UNROLL
        for (short j = 0; j < stile_t::kTileCols; j++) {
          short col_pos = sn + (j * stile_t::kFragCols);
          STEEL_PRAGMA_UNROLL
          for (short jj = 0; jj < stile_t::MMAFrag_t::kElemCols; jj++) {
            if ((col_pos + jj) >= params->kL_rem) { Stile.frag_at(i, j)[jj] = neg_inf; }
          }
        }
      }
    }
    if (do_causal) {
      using stile_t = decltype(Stile);
      using selem_t = typename stile_t::elem_type;
      constexpr auto neg_inf = Limits<selem_t>::finite_min;
      for (short i = 0; i < stile_t::kTileRows; i++) {
        const int row_pos = tid.x * BQ + params->qL_off + tm + sm + (i * stile_t::kFragRows);
        for (short j = 0; j < stile_t::kTileCols; j++) {
          const int col_pos = kb * BK + sn + (j * stile_t::kFragCols);
          for (short jj = 0; jj < stile_t::MMAFrag_t::kElemCols; jj++) {
            if (row_pos < (col_pos + jj)) { Stile.frag_at(i, j)[jj] = neg_inf; }
          }
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (kb == (params->NK_aligned)) { loader_v.load_safe(short2(BD, params->kL_rem)); } else { loader_v.load_unsafe(); }
    AccumType new_max[kRowsPT];
    AccumType factor[kRowsPT];
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kRowsPT; ++i) { new_max[i] = max_score[i]; }
    Stile.template row_reduce<MaxOp>(new_max);
    Stile.template row_bin_op<ExpSubOp>(new_max);
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kRowsPT; ++i) { factor[i] = fast::exp2(max_score[i] - new_max[i]); }
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kRowsPT; ++i) { max_score[i] = new_max[i]; }
    AccumType sum_score_tmp[kRowsPT] = {0};
    Stile.template row_reduce<SumOp>(sum_score_tmp);
    STEEL_PRAGMA_UNROLL
    for (short i = 0; i < kRowsPT; ++i) { sum_score[i] = sum_score[i] * factor[i] + sum_score_tmp[i]; }
    Otile.template row_bin_op<MulOp>(factor);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    STEEL_PRAGMA_UNROLL
    for (short iq = 0; iq < TQ; iq++) {
      STEEL_PRAGMA_UNROLL
      for (short id = 0; id < TD; id++) {
        STEEL_PRAGMA_UNROLL
        for (short ik = 0; ik < TK; ik++) {
          if constexpr (BD == 128) { simdgroup_barrier(mem_flags::mem_none); }
          const short kk = ik * kFragSize;
          const short dd = id * kFragSize;
          Vtile.template load<T, 1, 1, LDV_tgp, 1>(&Vs[Vs_offset + kk * LDV_tgp + dd]);
          if constexpr (BD == 128) { simdgroup_barrier(mem_flags::mem_none); }
          MMAFrag_acc_t::mma(Otile.frag_at(iq, id), Stile.frag_at(iq, ik), Vtile.frag_at(0, 0), Otile.frag_at(iq, id));
        }
      }
    }
    loader_k.next();
    loader_v.next();
  }
  Otile.template row_bin_op<DivOp>(sum_score);
  threadgroup_barrier(mem_flags::mem_none);
  O += (tm + sm) * params->O_strides[2] + sn;
  Otile.template store<T, 1, 1>(O, params->O_strides[2]);
}
#define instantiate_attn(tname, dtype, bq, bk, bd, wm, wn) \
  template [[host_name("steel_attention_" #tname "_bq" #bq "_bk" #bk "_bd" #bd)]] [[kernel]] decltype(attention<dtype, bq, bk, bd, wm, wn, float>) attention<dtype, bq, bk, bd, wm, wn, float>;
instantiate_attn(float16, half, 32, 16, 128, 4, 1)
instantiate_attn(bfloat16, bfloat16_t, 32, 32, 64, 4, 1)
instantiate_attn(float32, float, 32, 16, 64, 4, 1)
