// Bitonic argsort, merging of sorted runs, argmax, top-k by 64-bit keys and by counting digits.
#include <metal_stdlib>
using namespace metal;

enum sort_order {
    SORT_ASC,
    SORT_DESC,
};

#define SWAP(x, y) do { auto tmp = (x); (x) = (y); (y) = tmp; } while (0)

typedef struct {
    int32_t  ne00;
    int32_t  ne00_pad; // power of two
    int32_t  top_k;
    int32_t  pad;
    uint64_t nb01;
} argsort_args;

// a threadgroup per row, a thread per place; ties go by index so that the result is unique
template <sort_order order>
static bool goes_before(float a, int ia, float b, int ib) {
    if (a != b) {
        return order == SORT_ASC ? a < b : a > b;
    }
    return ia < ib;
}

template <sort_order order>
kernel void kernel_argsort_f32_i32(
        constant argsort_args & args,
        device const char * src0,
        device int32_t    * dst,
        threadgroup int32_t * smem_i32 [[threadgroup(0)]],
        uint3   tgpig [[threadgroup_position_in_grid]],
        ushort3 tpitg [[thread_position_in_threadgroup]]) {
    const int col = tpitg.x;
    const int n   = args.ne00;

    device const float * src0_row = (device const float *) (src0 + args.nb01*tgpig.x);

    smem_i32[col] = col;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (int k = 2; k <= args.ne00_pad; k *= 2) {
        for (int j = k/2; j > 0; j /= 2) {
            const int ixj = col ^ j;
            if (ixj > col) {
                const int a = smem_i32[col];
                const int b = smem_i32[ixj];
                // the padding is after everything
                const bool ab = a < n && (b >= n || goes_before<order>(src0_row[a], a, src0_row[b], b));
                const bool ba = b < n && (a >= n || goes_before<order>(src0_row[b], b, src0_row[a], a));
                if ((col & k) == 0 ? ba : ab) {
                    SWAP(smem_i32[col], smem_i32[ixj]);
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }

    if (col < min(args.top_k, n)) {
        dst[tgpig.x*args.top_k + col] = smem_i32[col];
    }
}

typedef decltype(kernel_argsort_f32_i32<SORT_ASC>) argsort_t;

template [[host_name("argsort_f32_i32_asc")]]  kernel argsort_t kernel_argsort_f32_i32<SORT_ASC>;
template [[host_name("argsort_f32_i32_desc")]] kernel argsort_t kernel_argsort_f32_i32<SORT_DESC>;

// ---------------------------------------------------------------- merging two sorted runs of values by the merge path

template <typename T>
struct Limits_max {
  static constexpr constant T value = metal::numeric_limits<T>::max();
  static constexpr constant T lowest = metal::numeric_limits<T>::lowest();
};

template <typename T>
struct LessThan {
  METAL_FUNC bool operator()(T a, T b) const thread { return a < b; }
};

template <typename T>
struct GreaterThan {
  METAL_FUNC bool operator()(T a, T b) const thread { return a > b; }
};

template <typename val_t, typename CompareOp, short N_PER_THREAD = 4>
struct ThreadMerge {
  static METAL_FUNC int partition(const device val_t* As, const device val_t* Bs, int a_sz, int b_sz, int diag) {
    CompareOp op;
    int lo = max(0, diag - b_sz);
    int hi = min(diag, a_sz);
    while (lo < hi) {
      const int md = lo + (hi - lo) / 2;
      if (op(Bs[diag - 1 - md], As[md])) {
        hi = md;
      } else {
        lo = md + 1;
      }
    }
    return hi;
  }

  static METAL_FUNC void step(const device val_t* As, const device val_t* Bs, int a_sz, int b_sz, thread val_t (&vals)[N_PER_THREAD]) {
    CompareOp op;
    int a = 0, b = 0;
    for (short i = 0; i < N_PER_THREAD; ++i) {
      const bool from_b = (b < b_sz) && (a >= a_sz || op(Bs[b], As[a]));
      vals[i] = from_b ? Bs[b] : (a < a_sz ? As[a] : val_t(0));
      b += int(from_b);
      a += int(!from_b);
    }
  }
};

template <typename val_t, template <typename> class Op>
[[kernel]] void merge_runs(
    const device val_t* a [[buffer(0)]],
    const device val_t* b [[buffer(1)]],
    device val_t* out [[buffer(2)]],
    constant int2& sizes [[buffer(3)]],
    uint tid [[thread_position_in_grid]]) {
  constexpr short N = 4;
  using merge_t = ThreadMerge<val_t, Op<val_t>, N>;
  const int total = sizes.x + sizes.y;
  const int diag = min(int(tid) * N, total);
  const int at = merge_t::partition(a, b, sizes.x, sizes.y, diag);
  val_t vals[N];
  merge_t::step(a + at, b + (diag - at), sizes.x - at, sizes.y - (diag - at), vals);
  for (short i = 0; i < N && diag + i < total; ++i) {
    out[diag + i] = vals[i];
  }
}

template [[host_name("merge_runs_i32")]] [[kernel]] decltype(merge_runs<int, LessThan>) merge_runs<int, LessThan>;
template [[host_name("merge_runs_f32")]] [[kernel]] decltype(merge_runs<float, LessThan>) merge_runs<float, LessThan>;
template [[host_name("merge_runs_f16_desc")]] [[kernel]] decltype(merge_runs<half, GreaterThan>) merge_runs<half, GreaterThan>;

// ---------------------------------------------------------------- arg reduce

template <typename U>
struct IndexValPair {
  uint32_t index;
  U val;
};

template <typename U>
struct ArgMin {
  static constexpr constant U init = Limits_max<U>::value;
  IndexValPair<U> reduce(IndexValPair<U> best, IndexValPair<U> current) thread {
    if (best.val > current.val || (best.val == current.val && best.index > current.index)) {
      return current;
    }
    return best;
  }
};

template <typename U>
struct ArgMax {
  static constexpr constant U init = Limits_max<U>::lowest;
  IndexValPair<U> reduce(IndexValPair<U> best, IndexValPair<U> current) thread {
    if (best.val < current.val || (best.val == current.val && best.index > current.index)) {
      return current;
    }
    return best;
  }
};

template <typename U>
IndexValPair<U> simd_shuffle_down(IndexValPair<U> data, uint16_t delta) {
  return IndexValPair<U>{simd_shuffle_down(data.index, delta), simd_shuffle_down(data.val, delta)};
}

template <typename T, typename Op, int N_READS = 4>
[[kernel]] void arg_reduce(
    const device T* in [[buffer(0)]],
    device uint32_t* out [[buffer(1)]],
    const constant size_t& axis_stride [[buffer(2)]],
    const constant size_t& axis_size [[buffer(3)]],
    const constant size_t& row_stride [[buffer(4)]],
    uint gid [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lsize [[threads_per_threadgroup]],
    uint simd_size [[threads_per_simdgroup]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]]) {
  Op op;
  IndexValPair<T> best{0xffffffffu, Op::init};
  threadgroup IndexValPair<T> local_data[32];

  in += gid * row_stride;
  for (uint r = 0; r < axis_size; r += lsize * N_READS) {
    for (uint i = 0; i < N_READS; i++) {
      const uint at = r + lid * N_READS + i;
      if (at < axis_size) {
        best = op.reduce(best, IndexValPair<T>{at, in[at * axis_stride]});
      }
    }
  }
  for (uint offset = simd_size / 2; offset > 0; offset /= 2) {
    IndexValPair<T> neighbor = simd_shuffle_down(best, offset);
    best = op.reduce(best, neighbor);
  }
  if (simd_lane_id == 0) {
    local_data[simd_group_id] = best;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd_group_id != 0) {
    return;
  }
  const uint groups = lsize / simd_size + (lsize % simd_size != 0);
  best = IndexValPair<T>{0xffffffffu, Op::init};
  if (simd_lane_id < groups) {
    best = local_data[simd_lane_id];
  }
  for (uint offset = simd_size / 2; offset > 0; offset /= 2) {
    IndexValPair<T> neighbor = simd_shuffle_down(best, offset);
    best = op.reduce(best, neighbor);
  }
  if (lid == 0) {
    out[gid] = best.index;
  }
}

#define instantiate_arg_reduce(name, itype)                                                                \
  template [[host_name("argmin_" #name)]] [[kernel]] decltype(arg_reduce<itype, ArgMin<itype>>)            \
      arg_reduce<itype, ArgMin<itype>>;                                                                    \
  template [[host_name("argmax_" #name)]] [[kernel]] decltype(arg_reduce<itype, ArgMax<itype>>)            \
      arg_reduce<itype, ArgMax<itype>>;

instantiate_arg_reduce(int32, int)
instantiate_arg_reduce(uint8, uchar)
instantiate_arg_reduce(float16, half)
instantiate_arg_reduce(float32, float)

// ---------------------------------------------------------------- top-k of a row: the largest key, k times, in one simdgroup

// order of floats as unsigned numbers
static inline uint ordered(float x) {
    const uint u = as_type<uint>(x);
    return (u & 0x80000000u) ? ~u : u | 0x80000000u;
}

// own overload: the library has no 64-bit maximum over the simdgroup
static inline ulong simd_max(ulong v) {
    for (ushort mask = 16; mask > 0; mask >>= 1) {
        const uint2 o = metal::simd_shuffle_xor(as_type<uint2>(v), mask);
        v = metal::max(v, as_type<ulong>(o));
    }
    return v;
}

[[kernel]] void topk_rows_f32(
        device const float * x [[buffer(0)]],
        device float * values  [[buffer(1)]],
        device int   * indices [[buffer(2)]],
        constant int2 & nk     [[buffer(3)]], // columns (at most 128), k
        uint row  [[threadgroup_position_in_grid]],
        uint lane [[thread_index_in_simdgroup]]) {
    ulong keys[4];
    for (int i = 0; i < 4; ++i) {
        const int c = 32*i + lane;
        // of equal values the first: the complement of the index is below the value
        keys[i] = c < nk.x ? ((ulong) ordered(x[row*nk.x + c]) << 32) | (uint) ~c : 0ul;
    }
    for (int k = 0; k < nk.y; ++k) {
        const ulong mine = max(max(keys[0], keys[1]), max(keys[2], keys[3]));
        const ulong best = simd_max(mine);
        const simd_vote owners = simd_ballot(mine == best);
        const int c = ~(int) (uint) best;
        for (int i = 0; i < 4; ++i) {
            keys[i] = keys[i] == best ? 0ul : keys[i];
        }
        if ((simd_vote::vote_t) owners >> lane & 1) {
            values[row*nk.y + k]  = x[row*nk.x + c];
            indices[row*nk.y + k] = c;
        }
    }
}

// ---------------------------------------------------------------- the k-th largest of a row by digits of four bits

[[kernel]] void kth_largest_f32(
        device const float * x [[buffer(0)]],
        device float * out     [[buffer(1)]],
        constant int2 & nk     [[buffer(2)]],
        uint row [[threadgroup_position_in_grid]],
        uint tid [[thread_position_in_threadgroup]],
        uint nth [[threads_per_threadgroup]]) {
    threadgroup atomic_int count[16];
    threadgroup uint2 state; // prefix, rank that remains

    if (tid == 0) {
        state = uint2(0, nk.y);
    }
    for (int shift = 28; shift >= 0; shift -= 4) {
        if (tid < 16) {
            atomic_store_explicit(&count[tid], 0, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint prefix = state.x;
        for (int i = tid; i < nk.x; i += nth) {
            const uint key = ordered(x[row*nk.x + i]);
            const bool same = shift == 28 || (key >> (shift + 4)) == (prefix >> (shift + 4));
            if (same) {
                atomic_fetch_add_explicit(&count[extract_bits(key, shift, 4)], 1, memory_order_relaxed);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tid == 0) {
            int left = state.y;
            int digit = 15;
            for (; digit > 0; --digit) {
                const int c = atomic_load_explicit(&count[digit], memory_order_relaxed);
                if (left <= c) {
                    break;
                }
                left -= c;
            }
            state = uint2(insert_bits(prefix, uint(digit), shift, 4), left);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (tid == 0) {
        const uint u = state.x;
        out[row] = as_type<float>((u & 0x80000000u) ? u & 0x7fffffffu : ~u);
    }
}
