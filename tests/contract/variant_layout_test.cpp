// Our variants take exactly what the contract writes down: what the translator reflects from their sources against the
// spelled-out layouts that the dispatch tests drive the launch code with. A user's kernel may differ; ours may not.
#include <gtest/gtest.h>

#include "metal/compile/library.h"
#include "tests/contract/recording_encoder.h"

namespace assay::tests::variant_layout_test {
namespace {

metal::ArgumentLayout reflected(const std::string& variant, const std::string& function,
                                const std::map<std::uint32_t, metal::FunctionConstant>& constants = {}) {
  return metal::Library::from_file(std::string(ASSAY_SOURCE_DIR "/kernels/variants/") + variant + "/kernel.metal")
      ->pipeline({function, constants})
      ->layout();
}

void expect_same(const metal::ArgumentLayout& actual, const metal::ArgumentLayout& contract) {
  EXPECT_EQ(actual.function, contract.function);
  ASSERT_EQ(actual.arguments.size(), contract.arguments.size());
  for (const metal::BoundArgument& wanted : contract.arguments) {
    SCOPED_TRACE(wanted.name);
    const metal::BoundArgument* argument = actual.find(wanted.name);
    ASSERT_NE(argument, nullptr);
    EXPECT_EQ(argument->space, wanted.space);
    EXPECT_EQ(argument->index, wanted.index);
    if (wanted.space == metal::AddressSpace::threadgroup) continue;  // its element type is the kernel's business
    EXPECT_EQ(argument->element, wanted.element);
    EXPECT_EQ(argument->size, wanted.size);
    EXPECT_EQ(argument->is_const, wanted.is_const);
    ASSERT_EQ(argument->layout.has_value(), wanted.layout.has_value());
    if (!wanted.layout) continue;
    EXPECT_EQ(argument->layout->size, wanted.layout->size);
    ASSERT_EQ(argument->layout->fields.size(), wanted.layout->fields.size());
    for (std::size_t i = 0; i < wanted.layout->fields.size(); ++i) {
      EXPECT_EQ(argument->layout->fields[i].name, wanted.layout->fields[i].name);
      EXPECT_EQ(argument->layout->fields[i].offset, wanted.layout->fields[i].offset) << wanted.layout->fields[i].name;
      EXPECT_EQ(argument->layout->fields[i].type, wanted.layout->fields[i].type) << wanted.layout->fields[i].name;
    }
  }
}

TEST(VariantLayout, Tq4) {
  for (const char* function : {"flash_attn_vec_tq_dk256", "flash_attn_vec_tq_dk512"}) {
    expect_same(reflected("tq4_v1", function), tq4_layout(function));
    expect_same(reflected("tq4_v2", function), tq4_blocks_layout(function));
  }
}

TEST(VariantLayout, TqHb) {
  for (const char* function : {"flash_attn_vec_tq_hb_dk256", "flash_attn_vec_tq_hb_dk512"}) {
    expect_same(reflected("tqhb_v1", function), tqhb_layout(function));
    for (const std::int64_t bits : {5, 6, 8}) expect_same(reflected("tqhb_v2", function, {{50, bits}}), tqhb_banks_layout(function));
  }
}

TEST(VariantLayout, Reduce) {
  for (const char* function : {"flash_attn_vec_reduce_dk256", "flash_attn_vec_reduce_dk512"}) {
    expect_same(reflected("reduce_v1", function), reduce_layout(function));
  }
}

TEST(VariantLayout, Fwht) {
  for (const char* function : {"fwht_standalone_f32_d256", "fwht_standalone_f32_d512", "fwht_sign_premult_f32_d256",
                               "fwht_sign_premult_f32_d512", "fwht_sign_undo_f32_d256", "fwht_sign_undo_f32_d512"}) {
    expect_same(reflected("fwht_v1", function), fwht_layout(function));
  }
}

TEST(VariantLayout, Quantize) {
  for (const char* function : {"hadamard_quantize_kv_fast_d256", "hadamard_quantize_kv_fast_d512"}) {
    expect_same(reflected("quantize4_v1", function), quantize4_layout(function));
  }
  for (const char* function : {"hadamard_quantize_kv_hb_d256", "hadamard_quantize_kv_hb_d512"}) {
    expect_same(reflected("quantizehb_v1", function), quantizehb_layout(function));
  }
}

TEST(VariantLayout, Dequantize) {
  expect_same(reflected("dequantize_v1", "tq_dequantize_kv"), dequantize_layout("tq_dequantize_kv", true));
  expect_same(reflected("dequantize_v1", "tq_dequantize_hb_kv"), dequantize_layout("tq_dequantize_hb_kv", false));
}

TEST(VariantLayout, Bf16Prefill) {
  for (const char* variant : {"bf16_prefill_v1", "bf16_prefill_v2"}) {
    expect_same(reflected(variant, "kernel_flash_attn_ext_bf16_dk512_dv512", {{300, true}, {304, true}}), bf16_prefill_layout());
    expect_same(reflected(variant, "kernel_flash_attn_ext_pad", {{100, true}}), bf16_pad_layout());
    expect_same(reflected(variant, "kernel_flash_attn_ext_blk"), bf16_blk_layout());
  }
}

TEST(VariantLayout, Bf16Vec) {
  for (const char* variant : {"bf16_vec_v1", "bf16_vec_v2"})
    expect_same(reflected(variant, "kernel_flash_attn_ext_vec_bf16_dk512_dv512"), bf16_vec_layout());
}

}  // namespace
}  // namespace assay::tests::variant_layout_test
