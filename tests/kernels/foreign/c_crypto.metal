// Hashes, ciphers and generators on integers.
#include <metal_stdlib>
using namespace metal;

typedef uint u32;
typedef ulong u64;

#define ROTR(x, n) rotate((x), (u32)(32 - (n)))
#define LOAD_BE(p) (((u32)(p)[0] << 24) | ((u32)(p)[1] << 16) | ((u32)(p)[2] << 8) | (u32)(p)[3])

static constant u32 K256[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u,
};
static constant u32 H256[8] = { 0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u };

typedef struct {
    u32 offset;
    u32 length;
} Message;

typedef struct {
    u32 h[8];
} Digest;

// One compression step in a macro, with the roles of the registers rotated by the caller.
#define SHA_ROUND(a, b, c, d, e, f, g, h, k, w)                                                   \
    do {                                                                                          \
        u32 t1 = h + (ROTR(e, 6) ^ ROTR(e, 11) ^ ROTR(e, 25)) + ((e & f) ^ (~e & g)) + (k) + (w); \
        u32 t2 = (ROTR(a, 2) ^ ROTR(a, 13) ^ ROTR(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));        \
        d += t1;                                                                                  \
        h = t1 + t2;                                                                              \
    } while (0)

static void sha256_block(thread Digest &digest, thread u32 *w)
{
    u32 a = digest.h[0], b = digest.h[1], c = digest.h[2], d = digest.h[3];
    u32 e = digest.h[4], f = digest.h[5], g = digest.h[6], h = digest.h[7];
    for (int i = 0; i < 64; i += 8) {
        if (i >= 16) {
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                const int t = i + j;
                u32 x = w[(t - 15) & 15], y = w[(t - 2) & 15];
                u32 s0 = ROTR(x, 7) ^ ROTR(x, 18) ^ (x >> 3);
                u32 s1 = ROTR(y, 17) ^ ROTR(y, 19) ^ (y >> 10);
                w[t & 15] += s0 + w[(t - 7) & 15] + s1;
            }
        }
        SHA_ROUND(a, b, c, d, e, f, g, h, K256[i + 0], w[(i + 0) & 15]);
        SHA_ROUND(h, a, b, c, d, e, f, g, K256[i + 1], w[(i + 1) & 15]);
        SHA_ROUND(g, h, a, b, c, d, e, f, K256[i + 2], w[(i + 2) & 15]);
        SHA_ROUND(f, g, h, a, b, c, d, e, K256[i + 3], w[(i + 3) & 15]);
        SHA_ROUND(e, f, g, h, a, b, c, d, K256[i + 4], w[(i + 4) & 15]);
        SHA_ROUND(d, e, f, g, h, a, b, c, K256[i + 5], w[(i + 5) & 15]);
        SHA_ROUND(c, d, e, f, g, h, a, b, K256[i + 6], w[(i + 6) & 15]);
        SHA_ROUND(b, c, d, e, f, g, h, a, K256[i + 7], w[(i + 7) & 15]);
    }
    digest.h[0] += a, digest.h[1] += b, digest.h[2] += c, digest.h[3] += d;
    digest.h[4] += e, digest.h[5] += f, digest.h[6] += g, digest.h[7] += h;
}

kernel void sha256_messages(device const uchar *text [[buffer(0)]],
                            device const Message *messages [[buffer(1)]],
                            device Digest *digests [[buffer(2)]],
                            constant u32 &count [[buffer(3)]],
                            u32 gid [[thread_position_in_grid]])
{
    if (gid >= count) return;
    const Message m = messages[gid];
    device const uchar *p = text + m.offset;
    Digest digest;
    for (int i = 0; i < 8; ++i) digest.h[i] = H256[i];
    const u32 blocks = (m.length + 8) / 64 + 1;
    for (u32 b = 0; b < blocks; ++b) {
        u32 w[16];
        for (u32 i = 0; i < 16; ++i) {
            const u32 at = b * 64 + i * 4;
            if (at + 4 <= m.length) {
                w[i] = LOAD_BE(p + at);
            } else {
                uchar4 tail = uchar4(0);
                for (u32 j = 0; j < 4; ++j) {
                    if (at + j < m.length) tail[j] = p[at + j];
                    else if (at + j == m.length) tail[j] = 0x80;
                }
                w[i] = as_type<u32>(tail.wzyx);
            }
        }
        if (b == blocks - 1) w[14] = m.length >> 29, w[15] = m.length << 3;
        sha256_block(digest, w);
    }
    digests[gid] = digest;
}

// Keccak

static constant u64 RC[24] = {
    0x0000000000000001ul, 0x0000000000008082ul, 0x800000000000808aul, 0x8000000080008000ul,
    0x000000000000808bul, 0x0000000080000001ul, 0x8000000080008081ul, 0x8000000000008009ul,
    0x000000000000008aul, 0x0000000000000088ul, 0x0000000080008009ul, 0x000000008000000aul,
    0x000000008000808bul, 0x800000000000008bul, 0x8000000000008089ul, 0x8000000000008003ul,
    0x8000000000008002ul, 0x8000000000000080ul, 0x000000000000800aul, 0x800000008000000aul,
    0x8000000080008081ul, 0x8000000000008080ul, 0x0000000080000001ul, 0x8000000080008008ul,
};
static constant uchar RHO[24] = { 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44 };
static constant uchar PI[24] = { 10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1 };

static void keccak_f1600(thread u64 (&s)[25])
{
    for (int round = 0; round < 24; ++round) {
        u64 c[5];
        _Pragma("unroll") for (int i = 0; i < 5; ++i) c[i] = s[i] ^ s[i + 5] ^ s[i + 10] ^ s[i + 15] ^ s[i + 20];
        _Pragma("unroll") for (int i = 0; i < 5; ++i) {
            const u64 t = c[(i + 4) % 5] ^ rotate(c[(i + 1) % 5], (u64)1);
            for (int j = 0; j < 25; j += 5) s[j + i] ^= t;
        }
        u64 t = s[1];
        for (int i = 0; i < 24; ++i) {
            const int j = PI[i];
            const u64 keep = s[j];
            s[j] = rotate(t, (u64)RHO[i]);
            t = keep;
        }
        for (int j = 0; j < 25; j += 5) {
            u64 row[5] = { s[j], s[j + 1], s[j + 2], s[j + 3], s[j + 4] };
            for (int i = 0; i < 5; ++i) s[j + i] = row[i] ^ (~row[(i + 1) % 5] & row[(i + 2) % 5]);
        }
        s[0] ^= RC[round];
    }
}

kernel void sha3_256_messages(device const uchar *text [[buffer(0)]],
                              device const Message *messages [[buffer(1)]],
                              device u64 *digests [[buffer(2)]],
                              constant u32 &count [[buffer(3)]],
                              u32 gid [[thread_position_in_grid]])
{
    if (gid >= count) return;
    enum { RATE = 136 };
    u64 s[25] = { 0 };
    device const uchar *p = text + messages[gid].offset;
    u32 left = messages[gid].length;
    for (;;) {
        const u32 take = min(left, (u32)RATE);
        for (u32 i = 0; i < take; ++i) s[i >> 3] ^= (u64)p[i] << ((i & 7) * 8);
        if (take < RATE) {
            s[take >> 3] ^= (u64)0x06 << ((take & 7) * 8);
            s[RATE / 8 - 1] ^= 0x8000000000000000ul;
            keccak_f1600(s);
            break;
        }
        keccak_f1600(s);
        p += RATE, left -= RATE;
    }
    device u64 *out = digests + gid * 4;
    out[0] = s[0]; out[1] = s[1]; out[2] = s[2]; out[3] = s[3];
}

// Generators as functors

struct XorShift32 {
    u32 x;
    explicit XorShift32(u32 seed) : x(seed * 2654435769u | 1u) {}
    u32 operator()() thread { x ^= x << 13; x ^= x >> 17; x ^= x << 5; return x; }
};

struct XorShift128 {
    uint4 s;
    explicit XorShift128(u32 seed) : s(uint4(seed, seed ^ 0x9e3779b9u, seed + 0x7f4a7c15u, 0x2545f491u)) {}
    u32 operator()() thread
    {
        u32 t = s.w ^ (s.w << 11);
        t ^= t >> 8;
        s.yzw = s.xyz;
        s.x = t ^ s.y ^ (s.y >> 19);
        return s.x;
    }
};

struct SplitMix64 {
    u64 x;
    explicit SplitMix64(u32 seed) : x((u64)seed << 32 | (u64)~seed) {}
    u32 operator()() thread
    {
        u64 z = (x += 0x9e3779b97f4a7c15ul);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
        return (u32)((z ^ (z >> 31)) >> 32);
    }
};

struct Pcg32 {
    u64 state, inc;
    explicit Pcg32(u32 seed) : state(0), inc(((u64)seed << 1) | 1ul) { (*this)(); state += 0x853c49e6748fea9bul; (*this)(); }
    u32 operator()() thread
    {
        const u64 old = state;
        state = old * 6364136223846793005ul + inc;
        return rotate((u32)(((old >> 18) ^ old) >> 27), (u32)(32 - (old >> 59)) & 31u);
    }
};

template <typename Rng>
kernel void generate(device u32 *out [[buffer(0)]], constant u32 &per_thread [[buffer(1)]], u32 gid [[thread_position_in_grid]], u32 total [[threads_per_grid]])
{
    Rng rng(gid + 1);
    for (u32 i = 0; i < per_thread; ++i) out[i * total + gid] = rng();
}

typedef decltype(generate<XorShift32>) generate_t;
template [[host_name("rng_xorshift32")]] kernel generate_t generate<XorShift32>;
template [[host_name("rng_xorshift128")]] kernel generate_t generate<XorShift128>;
template [[host_name("rng_splitmix64")]] kernel generate_t generate<SplitMix64>;
template [[host_name("rng_pcg32")]] kernel generate_t generate<Pcg32>;

// CRC-32: by a table of nibbles in constant memory, and by a table of bytes built in threadgroup memory

constant u32 crc_nibbles[16] = { 0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu, 0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu, };

kernel void crc32_nibble(device const uchar *text [[buffer(0)]], device const Message *messages [[buffer(1)]], device u32 *crcs [[buffer(2)]],
                         constant u32 &count [[buffer(3)]], u32 gid [[thread_position_in_grid]])
{
    if (gid >= count) return;
    u32 crc = ~0u;
    for (u32 i = 0, at = messages[gid].offset; i < messages[gid].length; ++i, ++at) {
        crc ^= text[at];
        crc = (crc >> 4) ^ crc_nibbles[crc & 15];
        crc = (crc >> 4) ^ crc_nibbles[crc & 15];
    }
    crcs[gid] = ~crc;
}

kernel void crc32_shared(device const uchar *text [[buffer(0)]], device const Message *messages [[buffer(1)]], device u32 *crcs [[buffer(2)]],
                         constant u32 &count [[buffer(3)]], u32 gid [[thread_position_in_grid]], u32 lid [[thread_index_in_threadgroup]],
                         u32 width [[threads_per_threadgroup]])
{
    threadgroup u32 table[256];
    for (u32 i = lid; i < 256; i += width) {
        u32 c = i;
        for (int k = 0; k < 8; ++k) c = (c >> 1) ^ ((0u - (c & 1u)) & 0xedb88320u);
        table[i] = c;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (gid < count) {
        const Message m = messages[gid];
        u32 crc = 0xffffffffu;
        for (u32 i = 0; i < m.length; ++i) crc = table[(crc ^ text[m.offset + i]) & 0xff] ^ (crc >> 8);
        crcs[gid] = crc ^ 0xffffffffu;
    }
}

// ChaCha20: rows as vectors, diagonals by swizzles

static inline void quarter(thread uint4 &a, thread uint4 &b, thread uint4 &c, thread uint4 &d)
{
    a += b; d = rotate(d ^ a, uint4(16));
    c += d; b = rotate(b ^ c, uint4(12));
    a += b; d = rotate(d ^ a, uint4(8));
    c += d; b = rotate(b ^ c, uint4(7));
}

kernel void chacha20_xor(device const uint4 *input [[buffer(0)]], device uint4 *output [[buffer(1)]], constant uint4 *key [[buffer(2)]],
                         constant packed_uint3 &nonce [[buffer(3)]], u32 gid [[thread_position_in_grid]])
{
    const uint4 start[4] = { uint4(0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u), key[0], key[1], uint4(gid + 1, uint3(nonce)) };
    uint4 a = start[0], b = start[1], c = start[2], d = start[3];
    for (int i = 0; i < 10; ++i) {
        quarter(a, b, c, d);
        b = b.yzwx, c = c.zwxy, d = d.wxyz;
        quarter(a, b, c, d);
        b = b.wxyz, c = c.zwxy, d = d.yzwx;
    }
    output[gid * 4 + 0] = input[gid * 4 + 0] ^ (a + start[0]);
    output[gid * 4 + 1] = input[gid * 4 + 1] ^ (b + start[1]);
    output[gid * 4 + 2] = input[gid * 4 + 2] ^ (c + start[2]);
    output[gid * 4 + 3] = input[gid * 4 + 3] ^ (d + start[3]);
}
