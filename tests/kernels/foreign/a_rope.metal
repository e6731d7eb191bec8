// Rotary position embedding: interleaved pairs, halves, sections, tables, with frequency factors and a length-extension ramp.
#include <metal_stdlib>
using namespace metal;

struct rope_args {
    int32_t  ne00; // head size
    int32_t  ne01; // heads
    int32_t  ne02; // tokens
    int32_t  n_dims;
    uint64_t nb01;
    uint64_t nb02;
    uint64_t nb1;
    uint64_t nb2;
    float    freq_base;
    float    freq_scale;
    float    ext_factor;
    float    attn_factor;
    float    corr_low;
    float    corr_high;
    int32_t  sect_0;
    int32_t  sect_1;
};

constant bool rope_has_factors [[function_constant(1)]];

static float rope_yarn_ramp(const float low, const float high, const int i0) {
    const float y = (i0/2 - low)/max(0.001f, high - low);
    return 1.0f - min(1.0f, max(0.0f, y));
}

// mixes interpolation and extrapolation of an angle
static void rope_yarn(
        float theta_extrap, float freq_scale, float low, float high, int i0, float ext_factor, float mscale,
        thread float * cos_theta, thread float * sin_theta) {
    const float theta_interp = freq_scale*theta_extrap;
    float theta = theta_interp;
    if (ext_factor != 0.0f) {
        const float ramp_mix = rope_yarn_ramp(low, high, i0)*ext_factor;
        theta = theta_interp*(1 - ramp_mix) + theta_extrap*ramp_mix;
        mscale *= 1.0f + 0.1f*log(1.0f/freq_scale);
    }
    *cos_theta = cos(theta)*mscale;
    *sin_theta = sin(theta)*mscale;
}

#define ROPE_ARGS                                                         \
        constant rope_args & args,                                        \
        device const char  * src0,                                        \
        device const int32_t * pos,                                       \
        device const float * factors,                                     \
        device       char  * dst,                                         \
        ushort  tiitg [[thread_index_in_threadgroup]],                    \
        ushort3 tptg  [[threads_per_threadgroup]],                        \
        uint3   tgpig [[threadgroup_position_in_grid]]

template <typename T>
kernel void kernel_rope_norm(
        constant rope_args & args      [[buffer(0)]],
        device const char  * src0      [[buffer(1)]],
        device const int32_t * pos     [[buffer(2)]],
        device const float * factors   [[buffer(3), function_constant(rope_has_factors)]],
        device       char  * dst       [[buffer(4)]],
        ushort  tiitg [[thread_index_in_threadgroup]],
        ushort3 tptg  [[threads_per_threadgroup]],
        uint3   tgpig [[threadgroup_position_in_grid]]) {
    const int i2 = tgpig.y;
    const int i1 = tgpig.x;

    const float theta_base = (float) pos[i2];
    const float inv_ndims  = -1.f/args.n_dims;

    for (int i0 = 2*tiitg; i0 < args.ne00; i0 += 2*tptg.x) {
        device const T * const src = (device const T *) (src0 + i2*args.nb02 + i1*args.nb01 + i0*sizeof(T));
        device       T * dst_data  = (device T *) (dst + i2*args.nb2 + i1*args.nb1 + i0*sizeof(T));

        if (i0 < args.n_dims) {
            const float theta = theta_base*pow(args.freq_base, inv_ndims*i0);
            float freq_factor = 1.0f;
            if (rope_has_factors) {
                freq_factor = factors[i0/2];
            }

            float c, s;
            rope_yarn(theta/freq_factor, args.freq_scale, args.corr_low, args.corr_high, i0, args.ext_factor, args.attn_factor, &c, &s);

            const float x0 = src[0];
            const float x1 = src[1];
            dst_data[0] = x0*c - x1*s;
            dst_data[1] = x0*s + x1*c;
        } else {
            dst_data[0] = src[0];
            dst_data[1] = src[1];
        }
    }
}

template <typename T>
kernel void kernel_rope_neox(
        constant rope_args & args      [[buffer(0)]],
        device const char  * src0      [[buffer(1)]],
        device const int32_t * pos     [[buffer(2)]],
        device const float * factors   [[buffer(3), function_constant(rope_has_factors)]],
        device       char  * dst       [[buffer(4)]],
        ushort  tiitg [[thread_index_in_threadgroup]],
        ushort3 tptg  [[threads_per_threadgroup]],
        uint3   tgpig [[threadgroup_position_in_grid]]) {
    const int half_dims = args.n_dims/2;

    device const T * row_in  = (device const T *) (src0 + tgpig.y*args.nb02 + tgpig.x*args.nb01);
    device       T * row_out = (device       T *) (dst  + tgpig.y*args.nb2  + tgpig.x*args.nb1);

    for (int ic = tiitg; ic < half_dims; ic += tptg.x) {
        const float freq_factor = rope_has_factors ? factors[ic] : 1.0f;
        const float theta = pos[tgpig.y]*powr(args.freq_base, -2.0f*ic/args.n_dims)/freq_factor;

        float2 cs;
        rope_yarn(theta, args.freq_scale, args.corr_low, args.corr_high, 2*ic, args.ext_factor, args.attn_factor,
                (thread float *) &cs, (thread float *) &cs + 1);

        const float2 x = float2(row_in[ic], row_in[ic + half_dims]);
        row_out[ic]             = (T) dot(x, float2(cs.x, -cs.y));
        row_out[ic + half_dims] = (T) dot(x, cs.yx);
    }
    for (int i = args.n_dims + tiitg; i < args.ne00; i += tptg.x) {
        row_out[i] = row_in[i];
    }
}

typedef decltype(kernel_rope_norm<float>) kernel_rope_norm_t;
typedef decltype(kernel_rope_neox<float>) kernel_rope_neox_t;

template [[host_name("rope_norm_f32")]]  kernel kernel_rope_norm_t kernel_rope_norm<float>;
template [[host_name("rope_norm_f16")]]  kernel kernel_rope_norm_t kernel_rope_norm<half>;
template [[host_name("rope_neox_f32")]]  kernel kernel_rope_neox_t kernel_rope_neox<float>;
template [[host_name("rope_neox_f16")]]  kernel kernel_rope_neox_t kernel_rope_neox<half>;
template [[host_name("rope_neox_bf16")]] kernel kernel_rope_neox_t kernel_rope_neox<bfloat>;

// Sections: the first sect_0 of the pairs rotate by pos[0][t], the next sect_1 by pos[1][t], and so on round.
template <typename T>
kernel void kernel_rope_multi(ROPE_ARGS) {
    (void) factors;
    const int half_dims = args.n_dims/2;
    const int sect_dims = args.sect_0 + args.sect_1;
    device const T * row_in  = (device const T *) (src0 + tgpig.y*args.nb02 + tgpig.x*args.nb01);
    device       T * row_out = (device       T *) (dst  + tgpig.y*args.nb2  + tgpig.x*args.nb1);

    for (int ic = tiitg; ic < half_dims; ic += tptg.x) {
        const int sector = ic % sect_dims;
        device const int32_t * p = sector < args.sect_0 ? pos : pos + args.ne02;
        const float theta = p[tgpig.y]*exp2(-2.0f*ic/args.n_dims*log2(args.freq_base));
        float c;
        const float s = sincos(theta, c);
        const float a = row_in[ic], b = row_in[ic + half_dims];
        row_out[ic]             = (T) (a*c - b*s);
        row_out[ic + half_dims] = (T) (a*s + b*c);
    }
}

template [[host_name("rope_multi_f32")]] kernel void kernel_rope_multi<float>(
        constant rope_args &, device const char *, device const int32_t *, device const float *, device char *, ushort, ushort3, uint3);
template [[host_name("rope_multi_f16")]] kernel void kernel_rope_multi<half>(
        constant rope_args &, device const char *, device const int32_t *, device const float *, device char *, ushort, ushort3, uint3);

// ---------------------------------------------------------------- one thread per pair and N batches, forward or backward

template <typename T, bool traditional, bool forward, int N = 4>
[[kernel]] void rope(
    const device T* in [[buffer(0)]],
    device T* out [[buffer(1)]],
    constant const int& offset [[buffer(2)]],
    constant const float& scale [[buffer(3)]],
    constant const size_t strides[3] [[buffer(4)]],
    constant const size_t out_strides[3] [[buffer(5)]],
    constant const int& n_batch [[buffer(6)]],
    constant const float& base [[buffer(7)]],
    uint3 pos [[thread_position_in_grid]],
    uint3 grid [[threads_per_grid]]) {
  const float d = static_cast<float>(pos.x) / static_cast<float>(grid.x);
  const float L = scale * static_cast<float>(pos.y + offset);
  const float theta = L * metal::exp2(-d * base);
  const float costheta = metal::fast::cos(theta);
  const float sintheta = metal::fast::sin(theta);

  size_t in_index_1, in_index_2;
  size_t out_index_1, out_index_2;
  if constexpr (traditional) {
    out_index_1 = 2 * pos.x * out_strides[2] + pos.y * out_strides[1] + N * pos.z * out_strides[0];
    out_index_2 = out_index_1 + out_strides[2];
    in_index_1 = 2 * pos.x * strides[2] + pos.y * strides[1] + N * pos.z * strides[0];
    in_index_2 = in_index_1 + strides[2];
  } else {
    out_index_1 = pos.x * out_strides[2] + pos.y * out_strides[1] + N * pos.z * out_strides[0];
    out_index_2 = out_index_1 + grid.x * out_strides[2];
    in_index_1 = pos.x * strides[2] + pos.y * strides[1] + N * pos.z * strides[0];
    in_index_2 = in_index_1 + grid.x * strides[2];
  }
  for (int i = 0; i < N && pos.z * N + i < uint(n_batch); ++i) {
    const float x1 = static_cast<float>(in[in_index_1]);
    const float x2 = static_cast<float>(in[in_index_2]);
    float rx1;
    float rx2;
    if (forward) {
      rx1 = x1 * costheta - x2 * sintheta;
      rx2 = x1 * sintheta + x2 * costheta;
    } else {
      rx1 = x2 * sintheta + x1 * costheta;
      rx2 = x2 * costheta - x1 * sintheta;
    }
    out[out_index_1] = static_cast<T>(rx1);
    out[out_index_2] = static_cast<T>(rx2);
    in_index_1 += strides[0];
    in_index_2 += strides[0];
    out_index_1 += out_strides[0];
    out_index_2 += out_strides[0];
  }
}

#define instantiate_rope_g(name, type, traditional, forward)          \
  template [[host_name("rope_" #name)]] [[kernel]] void               \
  rope<type, traditional, forward>(                                   \
      const device type* in [[buffer(0)]],                            \
      device type* out [[buffer(1)]],                                 \
      constant const int& offset [[buffer(2)]],                       \
      constant const float& scale [[buffer(3)]],                      \
      constant const size_t strides[3] [[buffer(4)]],                 \
      constant const size_t out_strides[3] [[buffer(5)]],             \
      constant const int& n_batch [[buffer(6)]],                      \
      constant const float& base [[buffer(7)]],                       \
      uint3 pos [[thread_position_in_grid]],                          \
      uint3 grid [[threads_per_grid]]);

#define instantiate_rope(name, type)                    \
  instantiate_rope_g(name, type, false, true)           \
  instantiate_rope_g(traditional_##name, type, true, true) \
  instantiate_rope_g(vjp_##name, type, false, false)

instantiate_rope(float16, half)
instantiate_rope(float32, float)

// ---------------------------------------------------------------- in place, from a table of (cos, sin)

template <typename T, bool is_neox>
METAL_FUNC void apply_rotary(device T* arr, constant const float2* table, int rot_offset, int embed_dim) {
  const int x_index = is_neox ? rot_offset : 2 * rot_offset;
  const int y_index = is_neox ? embed_dim + rot_offset : 2 * rot_offset + 1;
  const float2 cs = table[rot_offset];
  const T x = arr[x_index];
  const T y = arr[y_index];
  arr[x_index] = T(x * cs.x - y * cs.y);
  arr[y_index] = T(y * cs.x + x * cs.y);
}

template <typename T, bool is_neox>
[[kernel]] void rotary_embedding(
    device const long* positions [[buffer(0)]],
    device T* query [[buffer(1)]],
    constant float2* table [[buffer(2)]],
    constant int4& shape [[buffer(3)]],  // rot_dim, stride of a token, heads, head size
    uint gid [[threadgroup_position_in_grid]],
    uint tid [[thread_position_in_threadgroup]],
    uint width [[threads_per_threadgroup]]) {
  const int embed_dim = shape.x / 2;
  const long p = positions[gid];
  constant float2* cs = table + p * embed_dim;
  const int nq = shape.z * embed_dim;
  for (int i = tid; i < nq; i += width) {
    const int head = i / embed_dim;
    apply_rotary<T, is_neox>(query + gid * shape.y + head * shape.w, cs, i % embed_dim, embed_dim);
  }
}

template [[host_name("rotary_embedding_float_neox")]] [[kernel]] decltype(rotary_embedding<float, true>) rotary_embedding<float, true>;
template [[host_name("rotary_embedding_float")]] [[kernel]] decltype(rotary_embedding<float, false>) rotary_embedding<float, false>;
template [[host_name("rotary_embedding_half_neox")]] [[kernel]] decltype(rotary_embedding<half, true>) rotary_embedding<half, true>;
