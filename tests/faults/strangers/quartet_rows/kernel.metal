// quartet_rows: attention in which four neighbouring lanes (a quartet) own a query, each of them a quarter of its coordinates. A simdgroup
// has eight queries, and the simdgroups of a threadgroup ("voices") sing contiguous verses of the keys of the same eight queries. At the end
// the voices are folded in pairs through threadgroup memory. Keys are plain numbers or blocks of 4 bits.

#include <metal_stdlib>

using namespace metal;

enum Veil : int { veil_none, veil_causal, veil_window, veil_bytes, veil_added, veil_slope };

constant int  veil      [[function_constant(7)]];
constant bool with_sink [[function_constant(8)]];
constant bool with_cap  [[function_constant(9)]];

constant bool veil_reads_bytes = veil == veil_bytes;
constant bool veil_reads_half  = veil == veil_added || veil == veil_slope;

struct Stave {          // distances in elements, or in blocks
    long piece;         // batch
    long part;          // head
    long bar;           // token
};

struct Tempo {
    float unit;         // of the scores
    float ceiling;      // soft cap
};

struct Piece {
    int   parts;        // query heads
    int   shared;       // query heads of a key/value head
    int   queries;
    int   keys;
    int   slots;        // rows of the cache
    int   head_slot;    // where key 0 is
    int   lag;          // position of query 0
    int   window;
    Tempo tempo;
    Stave qs;
    Stave ks;
    Stave vs;
    Stave os;
    Stave ms;
};

// Readers of rows.
template <typename T>
struct Plain {
    typedef T cell;
    static float note(const device T * row, int c) { return float(row[c]); }
};

struct Nibbles {
    struct cell {
        half  d;
        uchar qs[16];
    };
    static float note(const device cell * row, int c) {
        const device cell & block = row[c / 32];
        const int  within = c % 32;
        const uchar both  = block.qs[within % 16];
        const int  level  = within < 16 ? both & 15 : both >> 4;
        return float(block.d) * float(level - 8);
    }
};

static inline float over_quartet(float x) {
    x += simd_shuffle_xor(x, 1);
    return x + simd_shuffle_xor(x, 2);
}

// A running softmax of one query, of which a lane has W coordinates.
template <int W>
struct Chorus {
    float peak;
    float total;
    float sound[W];

    void hush() {
        peak  = -INFINITY;
        total = 0.0f;
        for (int i = 0; i < W; ++i) {
            sound[i] = 0.0f;
        }
    }
    // Makes room for scores up to `score`; what was collected shrinks.
    void raise(float score) {
        if (score > peak) {
            const float shrink = exp(peak - score);
            total *= shrink;
            for (int i = 0; i < W; ++i) {
                sound[i] *= shrink;
            }
            peak = score;
        }
    }
};

template <typename T, typename KReader, typename VT, int DK, int DV>
kernel void quartet(
        constant Piece & piece [[buffer(0)]],
        const device T * q     [[buffer(1)]],
        const device typename KReader::cell * k [[buffer(2)]],
        const device VT * v    [[buffer(3)]],
        device T       * out   [[buffer(4)]],
        const device uchar * byte_veil [[buffer(5), function_constant(veil_reads_bytes)]],
        const device half  * half_veil [[buffer(6), function_constant(veil_reads_half)]],
        const device float * sinks     [[buffer(7)]],
        const device float * slopes    [[buffer(8)]],
        threadgroup float  * stage     [[threadgroup(0)]],
        uint3 where [[threadgroup_position_in_grid]],
        uint  lane  [[thread_index_in_simdgroup]],
        uint  voice [[simdgroup_index_in_threadgroup]],
        uint  voices [[simdgroups_per_threadgroup]]) {
    constexpr int QW = DK / 4;
    constexpr int VW = DV / 4;

    const int batch   = where.z;
    const int part    = where.y;
    const int seat    = lane / 4;
    const int quarter = lane % 4;
    const int query   = where.x * 8 + seat;
    const bool real   = query < piece.queries;
    const int kv_part = part / piece.shared;

    const device T * q_row = q + batch * piece.qs.piece + part * piece.qs.part + long(query) * piece.qs.bar;
    const device typename KReader::cell * k_part = k + batch * piece.ks.piece + kv_part * piece.ks.part;
    const device VT * v_part = v + batch * piece.vs.piece + kv_part * piece.vs.part;
    const long veil_row = batch * piece.ms.piece + part * piece.ms.part + long(real ? query : 0) * piece.ms.bar;

    float mine[QW];
    for (int i = 0; i < QW; ++i) {
        mine[i] = real ? float(q_row[quarter * QW + i]) : 0.0f;
    }

    Chorus<VW> choir;
    choir.hush();
    if (with_sink && voice == 0) {
        choir.peak  = sinks[part];
        choir.total = 1.0f;
    }

    const int position = query + piece.lag;
    const int verse    = (piece.keys + int(voices) - 1) / int(voices);
    const int begin    = int(voice) * verse;
    const int end      = min(begin + verse, piece.keys);

    for (int key = begin; key < end; ++key) {
        const int slot = (piece.head_slot + key) % piece.slots;
        const device typename KReader::cell * k_row = k_part + slot * piece.ks.bar;

        float score = 0.0f;
        for (int i = 0; i < QW; ++i) {
            score += mine[i] * KReader::note(k_row, quarter * QW + i);
        }
        score = over_quartet(score) * piece.tempo.unit;
        if (with_cap) {
            score = piece.tempo.ceiling * precise::tanh(score / piece.tempo.ceiling);
        }
        if (veil_reads_half) {
            const float add = float(half_veil[veil_row + key]);
            score += veil == veil_slope ? slopes[part] * add : add;
        }
        bool seen = real && score > -INFINITY;
        if (veil_reads_bytes) {
            seen = seen && byte_veil[veil_row + key] != 0;
        }
        if (veil == veil_causal || veil == veil_window) {
            seen = seen && key <= position;
        }
        if (veil == veil_window) {
            seen = seen && key + piece.window > position;
        }
        if (seen) {
            choir.raise(score);
            const float weight = exp(score - choir.peak);
            choir.total += weight;
            const device VT * v_row = v_part + slot * piece.vs.bar + quarter * VW;
            for (int i = 0; i < VW; ++i) {
                choir.sound[i] += weight * float(v_row[i]);
            }
        }
    }

    // Fold the upper half of the voices into the lower one, until one is left.
    threadgroup float * own = stage + (voice * 32 + lane) * (VW + 2);
    for (uint half_of = voices / 2; half_of > 0; half_of /= 2) {
        if (voice >= half_of && voice < 2 * half_of) {
            own[0] = choir.peak;
            own[1] = choir.total;
            for (int i = 0; i < VW; ++i) {
                own[2 + i] = choir.sound[i];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (voice < half_of) {
            const threadgroup float * other = own + half_of * 32 * (VW + 2);
            if (other[1] > 0.0f) {
                choir.raise(other[0]);
                const float share = exp(other[0] - choir.peak);
                choir.total += share * other[1];
                for (int i = 0; i < VW; ++i) {
                    choir.sound[i] += share * other[2 + i];
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    if (voice == 0 && real) {
        device T * to = out + batch * piece.os.piece + part * piece.os.part + long(query) * piece.os.bar + quarter * VW;
        const float inverse = choir.total == 0.0f ? 0.0f : 1.0f / choir.total;
        for (int i = 0; i < VW; ++i) {
            to[i] = T(choir.sound[i] * inverse);
        }
    }
}

#define QUARTET(name, type, kname, reader, vtype, dk, dv) \
    template [[host_name("quartet_" #name "_" #kname "_" #vtype "_" #dk "x" #dv)]] \
    kernel decltype(quartet<type, reader, vtype, dk, dv>) quartet<type, reader, vtype, dk, dv>;
#define QUARTETS(vtype, dk, dv) \
    QUARTET(float, float, float, Plain<float>, vtype, dk, dv) \
    QUARTET(half, half, half, Plain<half>, vtype, dk, dv) \
    QUARTET(float, float, q4_0, Nibbles, vtype, dk, dv) \
    QUARTET(half, half, q4_0, Nibbles, vtype, dk, dv)

QUARTETS(float, 64, 64)
QUARTETS(half, 64, 64)
QUARTETS(float, 128, 128)
QUARTETS(half, 128, 128)
QUARTETS(float, 192, 128)
QUARTETS(half, 192, 128)
