#include "tests/contract/recording_encoder.h"

namespace assay::tests {

using enum metal::ScalarType;

metal::ArgumentLayout tq4_layout(const std::string& function) {
  metal::StructLayout params{
      "Params",
      44,
      {field("n_heads", uint32, 0), field("n_kv_heads", uint32, 4), field("head_dim", uint32, 8), field("kv_seq_len", uint32, 12),
       field("kv_capacity", uint32, 16), field("scale", float32, 20), field("mask_type", uint32, 24), field("sliding_window", uint32, 28),
       field("softcap", float32, 32), field("nwg", uint32, 36), field("ring_start", uint32, 40)}};
  return layout_of(function, {struct_argument("params", 0, params), buffer_argument("Q", 1, float32, true),
                              buffer_argument("K_packed", 2, uint8, true), buffer_argument("K_norms", 3, float32, true),
                              buffer_argument("V_packed", 4, uint8, true), buffer_argument("V_norms", 5, float32, true),
                              buffer_argument("dst", 6, float32, false), threadgroup_argument("shmem", 0)});
}

metal::ArgumentLayout reduce_layout(const std::string& function) {
  metal::StructLayout params{"ReduceParams", 4, {field("nrows", uint32, 0)}};
  return layout_of(function, {struct_argument("params", 0, params), buffer_argument("htmp", 1, float32, true),
                              buffer_argument("dst", 2, float32, false), scalar_argument("nwg_param", 3)});
}

metal::ArgumentLayout fwht_layout(const std::string& function) {
  metal::StructLayout params{"FwhtParams", 8, {field("head_dim", uint32, 0), field("num_heads", uint32, 4)}};
  return layout_of(function, {buffer_argument("data", 0, float32, false), struct_argument("params", 1, params)});
}

metal::ArgumentLayout quantize4_layout(const std::string& function) {
  metal::StructLayout params{
      "QuantizeParams",
      28,
      {field("head_dim", uint32, 0), field("num_kv_heads", uint32, 4), field("write_pos", uint32, 8), field("cache_capacity", uint32, 12),
       field("is_sliding", uint32, 16), field("scale_factor_d512", float32, 20), field("rms_probe_enabled", uint32, 24)}};
  return layout_of(function, {buffer_argument("src", 0, float32, true), buffer_argument("packed", 1, uint8, false),
                              buffer_argument("norms", 2, float32, false), struct_argument("params", 3, params),
                              buffer_argument("rms_scratch", 4, float32, false)});
}

metal::ArgumentLayout quantizehb_layout(const std::string& function) {
  metal::StructLayout params{
      "QuantizeParams",
      28,
      {field("head_dim", uint32, 0), field("num_kv_heads", uint32, 4), field("write_pos", uint32, 8), field("cache_capacity", uint32, 12),
       field("is_sliding", uint32, 16), field("scale_factor_d512", float32, 20), field("codebook_bits", uint32, 24)}};
  return layout_of(function, {buffer_argument("src", 0, float32, true), buffer_argument("packed", 1, uint8, false),
                              buffer_argument("norms", 2, float32, false), struct_argument("params", 3, params)});
}

metal::ArgumentLayout dequantize_layout(const std::string& function, bool is_4bit) {
  metal::StructLayout params{
      is_4bit ? "DequantizeParams" : "DequantizeHbParams",
      24,
      {field("head_dim", uint32, 0), field("num_kv_heads", uint32, 4), field("read_pos", uint32, 8), field("cache_capacity", uint32, 12),
       field("norms_per_pos", uint32, 16), field("scale_factor_d512", float32, 20)}};
  if (!is_4bit) {
    params.size = 28;
    params.fields.push_back(field("codebook_bits", uint32, 24));
  }
  return layout_of(function, {buffer_argument("packed", 0, uint8, true), buffer_argument("norms", 1, float32, true),
                              buffer_argument("dst", 2, float32, false), struct_argument("params", 3, params)});
}

}  // namespace assay::tests
