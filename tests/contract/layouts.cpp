// The argument layouts of kernels that the contract tests bind.
#include "tests/contract/recording_encoder.h"

namespace assay::tests {

using enum metal::ScalarType;

namespace {

metal::ArgumentLayout decode_layout(const std::string& function, std::size_t size, const std::vector<metal::StructField>& further) {
  metal::StructLayout params{
      "Params",
      size,
      {field("n_heads", uint32, 0), field("n_kv_heads", uint32, 4), field("head_dim", uint32, 8), field("kv_seq_len", uint32, 12),
       field("kv_capacity", uint32, 16), field("scale", float32, 20), field("mask_type", uint32, 24), field("sliding_window", uint32, 28),
       field("softcap", float32, 32), field("nwg", uint32, 36), field("ring_start", uint32, 40)}};
  params.fields.insert(params.fields.end(), further.begin(), further.end());
  return layout_of(function, {struct_argument("params", 0, params), buffer_argument("Q", 1, float32, true),
                              buffer_argument("K_packed", 2, uint8, true), buffer_argument("K_norms", 3, float32, true),
                              buffer_argument("V_packed", 4, uint8, true), buffer_argument("V_norms", 5, float32, true),
                              buffer_argument("dst", 6, float32, false), threadgroup_argument("shmem", 0)});
}

}  // namespace

metal::ArgumentLayout tq4_layout(const std::string& function) { return decode_layout(function, 44, {}); }

metal::ArgumentLayout tq4_blocks_layout(const std::string& function) {
  return decode_layout(function, 48, {field("scale_factor_d512", float32, 44)});
}

metal::ArgumentLayout tqhb_layout(const std::string& function) {
  return decode_layout(function, 52, {field("scale_factor_d512", float32, 44), field("codebook_bits", uint32, 48)});
}

metal::ArgumentLayout tqhb_banks_layout(const std::string& function) {
  return decode_layout(function, 60,
                       {field("scale_factor_d512", float32, 44), field("codebook_bits", uint32, 48), field("fuse_fwht_pre", uint32, 52),
                        field("nsg", uint32, 56)});
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

namespace {

metal::StructLayout bf16_args() {
  return {
      "FlashAttnExtArgs",
      192,
      {field("ne01", int32, 0),     field("ne02", int32, 4),    field("ne03", int32, 8),          field("nb01", uint64, 16),
       field("nb02", uint64, 24),   field("nb03", uint64, 32),  field("ne11", int32, 40),         field("ne_12_2", int32, 44),
       field("ne_12_3", int32, 48), field("ns10", int32, 52),   field("nb11", uint64, 56),        field("nb12", uint64, 64),
       field("nb13", uint64, 72),   field("ns20", int32, 80),   field("nb21", uint64, 88),        field("nb22", uint64, 96),
       field("nb23", uint64, 104),  field("ne31", int32, 112),  field("ne32", int32, 116),        field("ne33", int32, 120),
       field("nb31", uint64, 128),  field("nb32", uint64, 136), field("nb33", uint64, 144),       field("ne1", int32, 152),
       field("ne2", int32, 156),    field("ne3", int32, 160),   field("scale", float32, 164),     field("max_bias", float32, 168),
       field("m0", float32, 172),   field("m1", float32, 176),  field("n_head_log2", int32, 180), field("logit_softcap", float32, 184)}};
}

// Strides are in bytes, so these kernels take their tensors as bytes.
metal::BoundArgument bytes_argument(std::string name, std::uint32_t index, bool is_const) {
  return buffer_argument(std::move(name), index, int8, is_const);
}

}  // namespace

metal::ArgumentLayout bf16_prefill_layout() {
  return layout_of(
      "kernel_flash_attn_ext_bf16_dk512_dv512",
      {struct_argument("args", 0, bf16_args()), bytes_argument("q", 1, true), bytes_argument("k", 2, true), bytes_argument("v", 3, true),
       bytes_argument("mask", 4, true), bytes_argument("sinks", 5, true), bytes_argument("pad", 6, true), bytes_argument("blk", 7, true),
       bytes_argument("dst", 8, false), threadgroup_argument("shmem", 0)});
}

metal::ArgumentLayout bf16_vec_layout() {
  return layout_of(
      "kernel_flash_attn_ext_vec_bf16_dk512_dv512",
      {struct_argument("args", 0, bf16_args()), bytes_argument("q", 1, true), bytes_argument("k", 2, true), bytes_argument("v", 3, true),
       bytes_argument("mask", 4, true), bytes_argument("dst", 8, false), threadgroup_argument("shmem", 0)});
}

metal::ArgumentLayout bf16_pad_layout() {
  metal::StructLayout args{"FlashAttnExtPadArgs",
                           104,
                           {field("ne11", int32, 0), field("ne_12_2", int32, 4), field("ne_12_3", int32, 8), field("nb11", uint64, 16),
                            field("nb12", uint64, 24), field("nb13", uint64, 32), field("nb21", uint64, 40), field("nb22", uint64, 48),
                            field("nb23", uint64, 56), field("ne31", int32, 64), field("ne32", int32, 68), field("ne33", int32, 72),
                            field("nb31", uint64, 80), field("nb32", uint64, 88), field("nb33", uint64, 96)}};
  return layout_of("kernel_flash_attn_ext_pad",
                   {struct_argument("args", 0, args), bytes_argument("k", 1, true), bytes_argument("v", 2, true),
                    bytes_argument("mask", 3, true), bytes_argument("dst", 4, false)});
}

metal::ArgumentLayout bf16_blk_layout() {
  metal::StructLayout args{"FlashAttnExtBlkArgs",
                           48,
                           {field("ne01", int32, 0), field("ne30", int32, 4), field("ne31", int32, 8), field("ne32", int32, 12),
                            field("ne33", int32, 16), field("nb31", uint64, 24), field("nb32", uint64, 32), field("nb33", uint64, 40)}};
  return layout_of("kernel_flash_attn_ext_blk",
                   {struct_argument("args", 0, args), bytes_argument("mask", 1, true), bytes_argument("dst", 2, false)});
}

}  // namespace assay::tests
