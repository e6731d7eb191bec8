// The dispatches of quantize and dequantize as the contract writes them down: every number here is a literal from the contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "families/dequantize/launch.h"
#include "families/quantize/launch.h"
#include "families/registry.h"
#include "tests/contract/recording_encoder.h"

namespace assay::tests::quantize_dispatch_test {
namespace {

using metal::Size3;
using namespace ::testing;

TEST(QuantizeDispatch, FourBitsOneSimdgroupPerHeadWithTheProbe) {
  // G = 3, cap = 20, D = 256
  metal::Buffer src(3 * 1024), packed(7680), norms(240), rms(3 * 1024);
  const kernels::BoundKernel kernel = bound("quantize", quantize4_layout("hadamard_quantize_kv_fast_d256"));
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> params;
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function("hadamard_quantize_kv_fast_d256")));
  EXPECT_CALL(encoder, set_buffer(0, IsView(&src)));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&packed)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&norms)));
  EXPECT_CALL(encoder, set_bytes(3, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, set_buffer(4, IsView(&rms)));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{3, 1, 1}, Size3{32, 1, 1}));
  families::encode_quantize(encoder, kernel,
                            {.head_dim = 256,
                             .num_kv_heads = 3,
                             .write_pos = 67,
                             .cache_capacity = 20,
                             .is_sliding = true,
                             .scale_factor_d512 = 16.0F,
                             .codebook_bits = 4,
                             .rms_probe_enabled = true},
                            {{&src}, {&packed}, {&norms}, {&rms}});
  ASSERT_EQ(params.size(), 28U);
  EXPECT_EQ(word_at(params, 0), 256U) << "head_dim";
  EXPECT_EQ(word_at(params, 4), 3U) << "num_kv_heads";
  EXPECT_EQ(word_at(params, 8), 67U) << "write_pos";
  EXPECT_EQ(word_at(params, 12), 20U) << "cache_capacity";
  EXPECT_EQ(word_at(params, 16), 1U) << "is_sliding";
  EXPECT_EQ(float_at(params, 20), 16.0F) << "scale_factor_d512";
  EXPECT_EQ(word_at(params, 24), 1U) << "rms_probe_enabled";
}

TEST(QuantizeDispatch, WithoutTheProbeNormsStandInForItsScratch) {
  // G = 2, cap = 5, D = 512, everything in one heap
  metal::Buffer heap(65536);
  const kernels::BoundKernel kernel = bound("quantize", quantize4_layout("hadamard_quantize_kv_fast_d512"));
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> params;
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function("hadamard_quantize_kv_fast_d512")));
  EXPECT_CALL(encoder, set_buffer(0, IsView(&heap, 256U)));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&heap, 8192U)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&heap, 16384U)));
  EXPECT_CALL(encoder, set_bytes(3, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, set_buffer(4, IsView(&heap, 16384U)));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{2, 1, 1}, Size3{32, 1, 1}));
  families::encode_quantize(encoder, kernel,
                            {.head_dim = 512, .num_kv_heads = 2, .write_pos = 4, .cache_capacity = 5, .scale_factor_d512 = 22.5F},
                            {{&heap, 256}, {&heap, 8192}, {&heap, 16384}, {}});
  ASSERT_EQ(params.size(), 28U);
  EXPECT_EQ(word_at(params, 0), 512U) << "head_dim";
  EXPECT_EQ(word_at(params, 4), 2U) << "num_kv_heads";
  EXPECT_EQ(word_at(params, 8), 4U) << "write_pos";
  EXPECT_EQ(word_at(params, 12), 5U) << "cache_capacity";
  EXPECT_EQ(word_at(params, 16), 0U) << "is_sliding";
  EXPECT_EQ(float_at(params, 20), 22.5F) << "scale_factor_d512";
  EXPECT_EQ(word_at(params, 24), 0U) << "rms_probe_enabled";
}

TEST(QuantizeDispatch, MoreBitsTakeTheBitsAndNoScratch) {
  // G = 8, cap = 2, D = 512, 6 bits
  metal::Buffer src(8 * 2048), packed(8192), norms(128);
  const kernels::BoundKernel kernel = bound("quantize", quantizehb_layout("hadamard_quantize_kv_hb_d512"));
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> params;
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function("hadamard_quantize_kv_hb_d512")));
  EXPECT_CALL(encoder, set_buffer(0, IsView(&src)));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&packed)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&norms)));
  EXPECT_CALL(encoder, set_bytes(3, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{8, 1, 1}, Size3{32, 1, 1}));
  families::encode_quantize(encoder, kernel, {.head_dim = 512, .num_kv_heads = 8, .write_pos = 1, .cache_capacity = 2, .codebook_bits = 6},
                            {{&src}, {&packed}, {&norms}, {}});
  ASSERT_EQ(params.size(), 28U);
  EXPECT_EQ(word_at(params, 0), 512U) << "head_dim";
  EXPECT_EQ(word_at(params, 4), 8U) << "num_kv_heads";
  EXPECT_EQ(word_at(params, 8), 1U) << "write_pos";
  EXPECT_EQ(word_at(params, 12), 2U) << "cache_capacity";
  EXPECT_EQ(word_at(params, 16), 0U) << "is_sliding";
  EXPECT_EQ(float_at(params, 20), 1.0F) << "scale_factor_d512";
  EXPECT_EQ(word_at(params, 24), 6U) << "codebook_bits";
}

TEST(DequantizeDispatch, OneThreadPerCoordinate) {
  // G = 4, cap = 7, D = 512, 4 bits
  metal::Buffer packed(256 + 7168), norms(224), dst(8192);
  const kernels::BoundKernel kernel = bound("dequantize", dequantize_layout("tq_dequantize_kv", true));
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> params;
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function("tq_dequantize_kv")));
  EXPECT_CALL(encoder, set_buffer(0, IsView(&packed, 256U)));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&norms)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&dst)));
  EXPECT_CALL(encoder, set_bytes(3, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{4, 1, 1}, Size3{512, 1, 1}));
  families::encode_dequantize(encoder, kernel,
                              {.head_dim = 512, .num_kv_heads = 4, .read_pos = 6, .cache_capacity = 7, .scale_factor_d512 = 16.0F},
                              {{&packed, 256}, {&norms}, {&dst}});
  ASSERT_EQ(params.size(), 24U);
  EXPECT_EQ(word_at(params, 0), 512U) << "head_dim";
  EXPECT_EQ(word_at(params, 4), 4U) << "num_kv_heads";
  EXPECT_EQ(word_at(params, 8), 6U) << "read_pos";
  EXPECT_EQ(word_at(params, 12), 7U) << "cache_capacity";
  EXPECT_EQ(word_at(params, 16), 2U) << "norms_per_pos";
  EXPECT_EQ(float_at(params, 20), 16.0F) << "scale_factor_d512";
}

TEST(DequantizeDispatch, MoreBitsAtTheSmallHeadDimension) {
  // G = 1, cap = 3, D = 256, 5 bits
  metal::Buffer packed(768), norms(12), dst(1024);
  const kernels::BoundKernel kernel = bound("dequantize", dequantize_layout("tq_dequantize_hb_kv", false));
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> params;
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function("tq_dequantize_hb_kv")));
  EXPECT_CALL(encoder, set_buffer(0, IsView(&packed)));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&norms)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&dst)));
  EXPECT_CALL(encoder, set_bytes(3, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 1, 1}, Size3{256, 1, 1}));
  families::encode_dequantize(encoder, kernel, {.head_dim = 256, .num_kv_heads = 1, .read_pos = 2, .cache_capacity = 3, .codebook_bits = 5},
                              {{&packed}, {&norms}, {&dst}});
  ASSERT_EQ(params.size(), 28U);
  EXPECT_EQ(word_at(params, 0), 256U) << "head_dim";
  EXPECT_EQ(word_at(params, 4), 1U) << "num_kv_heads";
  EXPECT_EQ(word_at(params, 8), 2U) << "read_pos";
  EXPECT_EQ(word_at(params, 12), 3U) << "cache_capacity";
  EXPECT_EQ(word_at(params, 16), 1U) << "norms_per_pos";
  EXPECT_EQ(float_at(params, 20), 1.0F) << "scale_factor_d512";
  EXPECT_EQ(word_at(params, 24), 5U) << "codebook_bits";
}

// --- refusals: nothing may be encoded, and the text holds the field and both values ---------------------------------------

// G = 2, cap = 10, D = 512, 4 bits, with the probe.
struct QuantizeScene {
  metal::Buffer src{4096}, packed{5120}, norms{160}, rms{4096};
  families::QuantizeParameters parameters{.head_dim = 512,
                                          .num_kv_heads = 2,
                                          .write_pos = 9,
                                          .cache_capacity = 10,
                                          .scale_factor_d512 = 1.0F,
                                          .codebook_bits = 4,
                                          .rms_probe_enabled = true};
  families::QuantizeBuffers buffers{{&src}, {&packed}, {&norms}, {&rms}};
};

struct QuantizeRefusalRow {
  const char* name;
  void (*spoil)(QuantizeScene&);
  std::vector<std::string> words;
};
class QuantizeRefusal : public ::testing::TestWithParam<QuantizeRefusalRow> {};

TEST_P(QuantizeRefusal, NamesFieldAndValues) {
  const kernels::BoundKernel kernel = bound("quantize", quantize4_layout("hadamard_quantize_kv_fast_d512"));
  QuantizeScene scene;
  GetParam().spoil(scene);
  expect_refusal([&](MockEncoder& encoder) { families::encode_quantize(encoder, kernel, scene.parameters, scene.buffers); },
                 GetParam().words);
}

using Q = QuantizeScene;
INSTANTIATE_TEST_SUITE_P(
    All, QuantizeRefusal,
    ::testing::Values(
        QuantizeRefusalRow{"head_dim", [](Q& s) { s.parameters.head_dim = 128; }, {"head_dim", "128", "256", "512"}},
        QuantizeRefusalRow{"no_heads", [](Q& s) { s.parameters.num_kv_heads = 0; }, {"num_kv_heads", "0"}},
        QuantizeRefusalRow{"no_room", [](Q& s) { s.parameters.cache_capacity = 0; }, {"cache_capacity", "0"}},
        QuantizeRefusalRow{"no_room_to_slide",
                           [](Q& s) {
                             s.parameters.is_sliding = true;
                             s.parameters.cache_capacity = 0;
                           },
                           {"cache_capacity", "0"}},
        QuantizeRefusalRow{"bits", [](Q& s) { s.parameters.codebook_bits = 7; }, {"codebook_bits", "7", "4, 5, 6 or 8"}},
        QuantizeRefusalRow{"behind_the_end", [](Q& s) { s.parameters.write_pos = 10; }, {"write_pos = 10", "cache_capacity = 10"}},
        QuantizeRefusalRow{"no_factor", [](Q& s) { s.parameters.scale_factor_d512 = 0.0F; }, {"scale_factor_d512 = 0", "512"}},
        QuantizeRefusalRow{"negative_factor", [](Q& s) { s.parameters.scale_factor_d512 = -1.0F; }, {"scale_factor_d512 = -1", "512"}},
        QuantizeRefusalRow{"infinite_factor", [](Q& s) { s.parameters.scale_factor_d512 = INFINITY; }, {"scale_factor_d512 = inf"}},
        QuantizeRefusalRow{
            "probe_of_more_bits", [](Q& s) { s.parameters.codebook_bits = 5; }, {"rms_probe_enabled = 1", "codebook_bits = 5"}},
        QuantizeRefusalRow{"src", [](Q& s) { s.buffers.src.offset = 4; }, {"src", "4092", "4096"}},
        QuantizeRefusalRow{"packed", [](Q& s) { s.buffers.packed.offset = 4; }, {"packed", "5116", "5120"}},
        QuantizeRefusalRow{"norms", [](Q& s) { s.buffers.norms.offset = 4; }, {"norms", "156", "160"}},
        QuantizeRefusalRow{"rms_scratch", [](Q& s) { s.buffers.rms_scratch.offset = 4; }, {"rms_scratch", "4092", "4096"}},
        QuantizeRefusalRow{"unbound", [](Q& s) { s.buffers.rms_scratch = {}; }, {"rms_scratch", "0 bytes", "4096"}}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(QuantizeRefusal, WhatIsRefusedIsNarrow) {
  families::QuantizeParameters parameters = QuantizeScene().parameters;
  EXPECT_NO_THROW(families::validate(parameters));
  parameters.is_sliding = true;
  parameters.write_pos = 4000000000;
  EXPECT_NO_THROW(families::validate(parameters)) << "a sliding position is taken modulo the capacity";
  parameters.head_dim = 256;
  parameters.scale_factor_d512 = 0.0F;
  EXPECT_NO_THROW(families::validate(parameters)) << "the factor is of head_dim 512";
}

TEST(QuantizeRefusal, AProbeNeedsAnArgumentToWriteTo) {
  const kernels::BoundKernel kernel = bound("quantize", quantizehb_layout("hadamard_quantize_kv_fast_d512"));
  QuantizeScene scene;
  expect_refusal([&](MockEncoder& encoder) { families::encode_quantize(encoder, kernel, scene.parameters, scene.buffers); },
                 {"rms_probe_enabled", "rms_scratch"});
}

TEST(QuantizeRefusal, MoreBitsNeedAByteAnIndex) {
  const kernels::BoundKernel kernel = bound("quantize", quantizehb_layout("hadamard_quantize_kv_hb_d512"));
  QuantizeScene scene;
  scene.parameters.codebook_bits = 8;
  scene.parameters.rms_probe_enabled = false;
  expect_refusal([&](MockEncoder& encoder) { families::encode_quantize(encoder, kernel, scene.parameters, scene.buffers); },
                 {"packed", "5120", "10240"});
}

TEST(QuantizeRefusal, ACacheBeyondFourGibibytesNeedsWideOffsets) {
  families::QuantizeParameters parameters{.head_dim = 256, .num_kv_heads = 8, .cache_capacity = 4194304};  // 2^32 bytes at 4 bits
  EXPECT_NO_THROW(families::validate(parameters));
  parameters.codebook_bits = 8;
  try {
    families::validate(parameters);
    ADD_FAILURE() << "nothing was refused";
  } catch (const std::invalid_argument& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("8589934592"));
    EXPECT_THAT(refusal.what(), HasSubstr("4294967296"));
  }
  parameters.offset_bits = 64;
  EXPECT_NO_THROW(families::validate(parameters));
}

TEST(DequantizeRefusal, NamesFieldAndValues) {
  // G = 2, cap = 10, D = 512, 8 bits
  metal::Buffer packed(10240), norms(160), dst(4096);
  const kernels::BoundKernel kernel = bound("dequantize", dequantize_layout("tq_dequantize_hb_kv", false));
  const families::DequantizeParameters right{
      .head_dim = 512, .num_kv_heads = 2, .read_pos = 9, .cache_capacity = 10, .scale_factor_d512 = 1.0F, .codebook_bits = 8};
  const families::DequantizeBuffers all{{&packed}, {&norms}, {&dst}};
  const auto launch = [&](const std::function<void(families::DequantizeParameters&, families::DequantizeBuffers&)>& spoil) {
    return [&, spoil](MockEncoder& encoder) {
      families::DequantizeParameters parameters = right;
      families::DequantizeBuffers buffers = all;
      spoil(parameters, buffers);
      families::encode_dequantize(encoder, kernel, parameters, buffers);
    };
  };
  expect_refusal(launch([](auto& p, auto&) { p.head_dim = 64; }), {"head_dim", "64"});
  expect_refusal(launch([](auto& p, auto&) { p.num_kv_heads = 0; }), {"num_kv_heads", "0"});
  expect_refusal(launch([](auto& p, auto&) { p.cache_capacity = 0; }), {"cache_capacity", "0"});
  expect_refusal(launch([](auto& p, auto&) { p.codebook_bits = 3; }), {"codebook_bits", "3"});
  expect_refusal(launch([](auto& p, auto&) { p.read_pos = 10; }), {"read_pos = 10", "cache_capacity = 10"});
  expect_refusal(launch([](auto& p, auto&) { p.scale_factor_d512 = 0.0F; }), {"scale_factor_d512 = 0"});
  expect_refusal(launch([](auto&, auto& b) { b.packed.offset = 4; }), {"packed", "10236", "10240"});
  expect_refusal(launch([](auto&, auto& b) { b.norms.offset = 4; }), {"norms", "156", "160"});
  expect_refusal(launch([](auto&, auto& b) { b.dst.offset = 4; }), {"dst", "4092", "4096"});
  EXPECT_NO_THROW(families::validate(right));
  expect_refusal(launch([](auto& p, auto&) { p.cache_capacity = 5000000; }), {"5120000000", "4294967296"});
}

}  // namespace
}  // namespace assay::tests::quantize_dispatch_test
