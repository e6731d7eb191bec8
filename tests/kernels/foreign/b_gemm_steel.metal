// Tiled matrix products: block loaders into threadgroup memory, tiles of 8x8 fragments, epilogue functors.
#include <metal_stdlib>
#include <metal_simdgroup>
#include <metal_simdgroup_matrix>

using namespace metal;

#define TILE_CONSTANT static constant constexpr const
#define ALL_UNROLLED _Pragma("clang loop unroll(full)")

constant bool use_out_source [[function_constant(100)]];
constant bool has_batch [[function_constant(10)]];
constant bool align_MN [[function_constant(200)]];
constant bool align_K [[function_constant(201)]];

struct ProductParams {
  int M;
  int N;
  int K;
  int lda;
  int ldb;
  int ldd;
  int tiles_n;
  int tiles_m;
};

struct BlendParams {
  int ldc;
  int fdc;
  float alpha;
  float beta;
};

///////////////////////////////////////////////////////////////////////////////
// Loading
///////////////////////////////////////////////////////////////////////////////

// Brings a window of ROWS x COLUMNS elements of a matrix to threadgroup memory, and steps on along it or down.
// The threads share the window out in chunks of neighbours of one row.
template <typename T, short ROWS, short COLUMNS, short pitch, bool along, short THREADS>
struct Window {
  TILE_CONSTANT short chunk = (ROWS * COLUMNS) / THREADS;
  TILE_CONSTANT short chunks_in_row = COLUMNS / chunk;
  static_assert(ROWS * COLUMNS == THREADS * chunk && COLUMNS % chunk == 0, "every thread has one chunk");

  struct alignas(T) Chunk {
    T element[chunk];
  };

  const device T* from;
  threadgroup T* to;
  const int step;
  const short row;
  const short column;

  METAL_FUNC Window(const device T* corner, int ld, threadgroup T* tile, ushort me)
      : from(corner + (me / chunks_in_row) * ld + (me % chunks_in_row) * chunk),
        to(tile + (me / chunks_in_row) * pitch + (me % chunks_in_row) * chunk),
        step(along ? COLUMNS : ROWS * ld),
        row(me / chunks_in_row),
        column((me % chunks_in_row) * chunk) {}

  // The window lies in the matrix.
  METAL_FUNC void whole() const {
    *reinterpret_cast<threadgroup Chunk*>(to) = *reinterpret_cast<const device Chunk*>(from);
  }

  // Only `inside` columns (x) and rows (y) of the window lie in the matrix; there are zeros around it.
  METAL_FUNC void clipped(short2 inside) const {
    const short count = row < inside.y ? clamp(short(inside.x - column), short(0), chunk) : short(0);
    ALL_UNROLLED
    for (short i = 0; i < chunk; i++) {
      T element = T(0);
      if (i < count) {
        element = from[i];
      }
      to[i] = element;
    }
  }

  METAL_FUNC thread Window& operator++() thread {
    from += step;
    return *this;
  }
};

///////////////////////////////////////////////////////////////////////////////
// Fragments and tiles
///////////////////////////////////////////////////////////////////////////////

// The two elements of an 8x8 matrix that a lane has: neighbours in a row.
template <typename T>
struct LanePair {
  typedef metal::simdgroup_matrix<T, 8, 8> matrix_type;
  typedef metal::vec<T, 2> pair_type;

  METAL_FUNC static constexpr short row_of(ushort lane) {
    return ((lane >> 1) & 3) | ((lane >> 2) & 4);
  }
  METAL_FUNC static constexpr short column_of(ushort lane) {
    return ((lane & 1) << 1) | ((lane >> 1) & 4);
  }
  METAL_FUNC static thread pair_type& of(thread matrix_type& matrix) {
    return reinterpret_cast<thread pair_type&>(matrix.thread_elements());
  }
};

// A strip or a block of fragments.
template <typename T, int DOWN, int ACROSS, class Lane_ = LanePair<T>>
struct Fragments {
  using Lane = Lane_;
  using pair_type = typename Lane::pair_type;
  TILE_CONSTANT int kCount = DOWN * ACROSS;

  pair_type pairs[kCount] = {pair_type(0)};

  METAL_FUNC constexpr thread pair_type& at(short down, short across) thread {
    return pairs[down * ACROSS + across];
  }
  METAL_FUNC constexpr const thread pair_type& at(short down, short across) const thread {
    return pairs[down * ACROSS + across];
  }

  // Fragment (i, j) begins i * DOWN_STEP + j * ACROSS_STEP after the lane's first element.
  template <int DOWN_STEP, int ACROSS_STEP, int NEIGHBOUR, typename U>
  METAL_FUNC void gather(const threadgroup U* first) thread {
    ALL_UNROLLED
    for (short e = 0; e < kCount; ++e) {
      const threadgroup U* element = first + (e / ACROSS) * DOWN_STEP + (e % ACROSS) * ACROSS_STEP;
      pairs[e] = pair_type(static_cast<T>(element[0]), static_cast<T>(element[NEIGHBOUR]));
    }
  }
};

// sum += left * right, an outer product of a column of fragments with a row of them.
template <typename T, int DOWN, int ACROSS>
METAL_FUNC void accumulate_outer(
    thread Fragments<T, DOWN, ACROSS>& sum, thread Fragments<T, DOWN, 1>& left, thread Fragments<T, 1, ACROSS>& right) {
  using Lane = LanePair<T>;
  ALL_UNROLLED
  for (short j = 0; j < ACROSS; ++j) {
    typename Lane::matrix_type b;
    Lane::of(b) = right.at(0, j);
    ALL_UNROLLED
    for (short i = 0; i < DOWN; ++i) {
      typename Lane::matrix_type a, c;
      Lane::of(a) = left.at(i, 0);
      Lane::of(c) = sum.at(i, j);
      simdgroup_multiply_accumulate(c, a, b, c);
      sum.at(i, j) = Lane::of(c);
    }
  }
}

///////////////////////////////////////////////////////////////////////////////
// Epilogues
///////////////////////////////////////////////////////////////////////////////

template <typename Stored, typename Sum>
struct AsItIs {
  static METAL_FUNC Sum finish(Sum sum) {
    return sum;
  }
};

template <typename Stored, typename Sum>
struct NotNegative {
  static METAL_FUNC Sum finish(Sum sum) {
    return sum < Sum(0) ? Sum(0) : sum;
  }
};

template <typename Stored, typename Sum>
struct Blend {
  const Sum of_product;
  const Sum of_source;
  METAL_FUNC explicit Blend(const constant BlendParams& p) : of_product(p.alpha), of_source(p.beta) {}
  METAL_FUNC Sum operator()(Sum product, Stored source) const thread {
    return fma(of_product, product, of_source * Sum(source));
  }
};

///////////////////////////////////////////////////////////////////////////////
// Kernel
///////////////////////////////////////////////////////////////////////////////

template <
    typename T,
    int BM,
    int BN,
    int BK,
    int WM,
    int WN,
    bool trans_a,
    bool trans_b,
    template <typename, typename> class Epilogue = AsItIs,
    typename AccumType = float>
[[kernel, max_total_threads_per_threadgroup(WM * WN * 32)]] void tiled_product(
    const device T* A [[buffer(0)]],
    const device T* B [[buffer(1)]],
    const device T* C [[buffer(2), function_constant(use_out_source)]],
    device T* D [[buffer(3)]],
    const constant ProductParams* params [[buffer(4)]],
    const constant BlendParams* blend [[buffer(5), function_constant(use_out_source)]],
    const constant int64_t* batch_strides [[buffer(6), function_constant(has_batch)]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]],
    uint3 tid [[threadgroup_position_in_grid]]) {
  // rows of the tiles are 16 bytes longer than they need to be
  constexpr short apart = 16 / sizeof(T);
  constexpr short a_rows = trans_a ? BK : BM, a_columns = trans_a ? BM : BK, a_pitch = a_columns + apart;
  constexpr short b_rows = trans_b ? BN : BK, b_columns = trans_b ? BK : BN, b_pitch = b_columns + apart;
  threadgroup T a_tile[a_rows * a_pitch];
  threadgroup T b_tile[b_rows * b_pitch];

  const constant auto& p = *params;
  if (int(tid.x) >= p.tiles_n || int(tid.y) >= p.tiles_m) {
    return;
  }
  const int top = tid.y * BM;
  const int left = tid.x * BN;
  if (has_batch) {
    A += batch_strides[0] * tid.z;
    B += batch_strides[1] * tid.z;
    D += batch_strides[2] * tid.z;
    if (use_out_source) {
      C += batch_strides[3] * tid.z;
    }
  }

  const ushort me = simd_group_id * 32 + simd_lane_id;
  constexpr short threads = WM * WN * 32;
  thread Window<T, a_rows, a_columns, a_pitch, !trans_a, threads> a_window(A + top * (trans_a ? 1 : p.lda), p.lda, a_tile, me);
  thread Window<T, b_rows, b_columns, b_pitch, trans_b, threads> b_window(B + left * (trans_b ? p.ldb : 1), p.ldb, b_tile, me);

  // steps between rows and columns of op(A) and op(B) in the tiles
  constexpr short a_down = trans_a ? 1 : a_pitch, a_across = trans_a ? a_pitch : 1;
  constexpr short b_down = trans_b ? 1 : b_pitch, b_across = trans_b ? b_pitch : 1;
  constexpr short kDown = BM / (8 * WM);
  constexpr short kAcross = BN / (8 * WN);
  Fragments<AccumType, kDown, 1> a_strip;
  Fragments<AccumType, 1, kAcross> b_strip;
  Fragments<AccumType, kDown, kAcross> sums;

  // simdgroups take turns in fragments: each has every WM-th row and every WN-th column of them
  using Lane = LanePair<AccumType>;
  const short lane_row = Lane::row_of(simd_lane_id), lane_column = Lane::column_of(simd_lane_id);
  const short row = 8 * (simd_group_id / WN) + lane_row;
  const short column = 8 * (simd_group_id % WN) + lane_column;
  const short rows = min(BM, p.M - top);
  const short columns = min(BN, p.N - left);

  for (int done = 0; done < p.K; done += BK) {
    const short depth = min(BK, p.K - done);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (align_MN && (align_K || depth == BK)) {
      a_window.whole();
      b_window.whole();
    } else {
      const short2 a_inside(depth, rows), b_inside(columns, depth);
      a_window.clipped(trans_a ? a_inside.yx : a_inside);
      b_window.clipped(trans_b ? b_inside.yx : b_inside);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ++a_window;
    ++b_window;

    const threadgroup T* a_first = a_tile + row * a_down + lane_column * a_across;
    const threadgroup T* b_first = b_tile + lane_row * b_down + column * b_across;
    ALL_UNROLLED
    for (short k = 0; k < BK; k += 8) {
      a_strip.template gather<8 * WM * a_down, 0, a_across>(a_first + k * a_across);
      b_strip.template gather<0, 8 * WN * b_across, b_across>(b_first + k * b_down);
      simdgroup_barrier(mem_flags::mem_none);
      accumulate_outer(sums, a_strip, b_strip);
    }
  }

  using End = Epilogue<T, AccumType>;
  for (short e = 0; e < kDown * kAcross * 2; e++) {
    const short i = e / (2 * kAcross), j = (e / 2) % kAcross;
    const short r = row + 8 * WM * i, c = column + 8 * WN * j + e % 2;
    if (r >= rows || c >= columns) {
      continue;
    }
    AccumType sum = sums.at(i, j)[e % 2];
    if (use_out_source) {
      const Blend<T, AccumType> mix(*blend);
      sum = mix(sum, C[(top + r) * blend->ldc + (left + c) * blend->fdc]);
    }
    D[size_t(top + r) * p.ldd + left + c] = static_cast<T>(End::finish(sum));
  }
}

#define instantiate_gemm(tname, trans_a, trans_b, iname, itype, act, aname)                        \
  template [[host_name("steel_gemm_" #tname "_" #iname aname)]] [[kernel]] void                     \
  tiled_product<itype, 32, 32, 16, 2, 2, trans_a, trans_b, act>(                                       \
      const device itype* A [[buffer(0)]],                                                          \
      const device itype* B [[buffer(1)]],                                                          \
      const device itype* C [[buffer(2), function_constant(use_out_source)]],                       \
      device itype* D [[buffer(3)]],                                                                \
      const constant ProductParams* params [[buffer(4)]],                                              \
      const constant BlendParams* blend [[buffer(5), function_constant(use_out_source)]],\
      const constant int64_t* batch_strides [[buffer(6), function_constant(has_batch)]],            \
      uint simd_lane_id [[thread_index_in_simdgroup]],                                              \
      uint simd_group_id [[simdgroup_index_in_threadgroup]],                                        \
      uint3 tid [[threadgroup_position_in_grid]]);

#define instantiate_gemm_transpose(iname, itype, act, aname)      \
  instantiate_gemm(nn, false, false, iname, itype, act, aname)    \
  instantiate_gemm(nt, false, true, iname, itype, act, aname)     \
  instantiate_gemm(tn, true, false, iname, itype, act, aname)     \
  instantiate_gemm(tt, true, true, iname, itype, act, aname)

// clang-format off
instantiate_gemm_transpose(float32, float, AsItIs, "")
instantiate_gemm_transpose(float16, half, AsItIs, "")
instantiate_gemm_transpose(bfloat16, bfloat, NotNegative, "_relu")
// clang-format on
