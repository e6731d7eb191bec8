// Prefill attention with one thread per query. 64 threads stage 16 keys (then 16 values) as float in threadgroup memory, and each thread
// scores them against its own query in registers. The cache is plain or paged; rows may be packed in blocks of 4 bits.

#include <metal_stdlib>

using namespace metal;

enum MaskKind : int { kOpen = 0, kDiagonal = 1, kBytes = 2, kAdded = 3, kSloped = 4 };

constant int  mask_kind [[function_constant(0)]];
constant bool is_paged  [[function_constant(1)]];
constant bool is_capped [[function_constant(2)]];

constant constexpr int kThreads = 64;
constant constexpr int kStage   = 16;

// Steps in bytes. With a paged cache, `outer` is the step of a block.
struct Steps {
  long outer;
  long head;
  long token;
};

struct Shape {
  int   n_query;
  int   n_key;
  int   ratio;         // query heads per key/value head
  int   first_pos;
  int   page;
  int   pages;
  float scale;
  float cap;
  Steps q;
  Steps k;
  Steps v;
  Steps o;
  Steps m;
};

struct Nibbles {
  half  step;
  uchar bits[16];
};

template <typename T>
struct Plain {
  static float get(const device char* row, int c) { return float(((const device T*)row)[c]); }
};

// 32 numbers: the first 16 in the low halves of the bytes, the others in the high ones.
struct Packed {
  static float get(const device char* row, int c) {
    const device Nibbles& block = ((const device Nibbles*)row)[c / 32];
    const int inside = c % 32;
    const uchar both = block.bits[inside % 16];
    const int level = inside < 16 ? both & 0xF : both >> 4;
    return float(block.step) * float(level - 8);
  }
};

template <typename Row, int D>
static void stage(threadgroup float* to, const device char* from, constant Steps& steps, constant Shape& shape, const device int* table,
                  int batch, int kv_head, int start, int id) {
  for (int e = id; e < kStage * D; e += kThreads) {
    const int key = start + e / D;
    float value = 0.0f;
    if (key < shape.n_key) {
      const device char* row = from + kv_head * steps.head;
      if (is_paged) {
        const long block = table[batch * shape.pages + key / shape.page];
        row += block * steps.outer + key % shape.page * steps.token;
      } else {
        row += batch * steps.outer + key * steps.token;
      }
      value = Row::get(row, e % D);
    }
    to[e] = value;
  }
}

// What the mask adds to a score.
static float bias_of(const device char* row, int key, int position, float slope) {
  switch (mask_kind) {
    case kDiagonal: return key > position ? -INFINITY : 0.0f;
    case kBytes:    return ((const device uchar*)row)[key] != 0 ? 0.0f : -INFINITY;
    case kAdded:    return float(((const device half*)row)[key]);
    case kSloped:   return slope * float(((const device half*)row)[key]);
    default:        return 0.0f;
  }
}

template <typename T, typename Row, int D>
kernel void row_prefill(const device char* q [[buffer(0)]],
                        const device char* k [[buffer(1)]],
                        const device char* v [[buffer(2)]],
                        const device char* mask [[buffer(3)]],
                        const device float* slopes [[buffer(4)]],
                        const device int* table [[buffer(5)]],
                        device char* out [[buffer(6)]],
                        constant Shape& shape [[buffer(7)]],
                        uint3 tile [[threadgroup_position_in_grid]],
                        ushort id [[thread_index_in_threadgroup]]) {
  threadgroup float staged[kStage * D];

  const int head = tile.y, batch = tile.z;
  const int kv_head = head / shape.ratio;
  const int query = tile.x * kThreads + id;
  const bool alive = query < shape.n_query;
  const int position = query + shape.first_pos;
  const float slope = mask_kind == kSloped ? slopes[head] : 1.0f;

  float mine[D], acc[D];
  {
    const device T* row = (const device T*)(q + batch * shape.q.outer + head * shape.q.head + query * shape.q.token);
    for (int c = 0; c < D; ++c) {
      mine[c] = alive ? float(row[c]) * shape.scale : 0.0f;
      acc[c] = 0.0f;
    }
  }
  const device char* mask_row = mask + batch * shape.m.outer + head * shape.m.head + query * shape.m.token;

  // Behind the last position of this tile, a causal mask hides everything.
  int stop = shape.n_key;
  if (mask_kind == kDiagonal) {
    stop = min(stop, int(tile.x + 1) * kThreads + shape.first_pos);
  }

  float largest = -INFINITY;
  float total = 0.0f;
  for (int start = 0; start < stop; start += kStage) {
    stage<Row, D>(staged, k, shape.k, shape, table, batch, kv_head, start, id);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float weight[kStage];
    float highest = largest;
    for (int j = 0; j < kStage; ++j) {
      weight[j] = -INFINITY;
      if (alive && start + j < shape.n_key) {
        float s = 0.0f;
        for (int c = 0; c < D; ++c) {
          s += mine[c] * staged[j * D + c];
        }
        if (is_capped) {
          s = shape.cap * precise::tanh(s / shape.cap);
        }
        weight[j] = s + bias_of(mask_row, start + j, position, slope);
      }
      highest = max(highest, weight[j]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    stage<Row, D>(staged, v, shape.v, shape, table, batch, kv_head, start, id);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    if (highest != -INFINITY) {
      const float shrink = exp(largest - highest);
      total *= shrink;
      for (int c = 0; c < D; ++c) {
        acc[c] *= shrink;
      }
      for (int j = 0; j < kStage; ++j) {
        const float w = exp(weight[j] - highest);
        total += w;
        for (int c = 0; c < D; ++c) {
          acc[c] += w * staged[j * D + c];
        }
      }
      largest = highest;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  if (alive) {
    device T* row = (device T*)(out + batch * shape.o.outer + head * shape.o.head + query * shape.o.token);
    const float norm = total > 0.0f ? 1.0f / total : 0.0f;
    for (int c = 0; c < D; ++c) {
      row[c] = T(acc[c] * norm);
    }
  }
}

#define EMIT(T, D) \
  template [[host_name("row_prefill_" #T "_" #T "_" #D)]] kernel decltype(row_prefill<T, Plain<T>, D>) row_prefill<T, Plain<T>, D>; \
  template [[host_name("row_prefill_" #T "_q4_0_" #D)]] kernel decltype(row_prefill<T, Packed, D>) row_prefill<T, Packed, D>;
EMIT(float, 64)
EMIT(float, 96)
EMIT(half, 64)
EMIT(half, 96)
