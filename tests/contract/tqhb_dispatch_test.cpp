// The dispatches of tqhb, and of tq4 with norms of blocks, as the contract writes them down: every number here is a literal from the
// contract.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "families/shared/decode_launch.h"
#include "tests/contract/recording_encoder.h"

namespace assay::tests::tqhb_dispatch_test {
namespace {

using metal::FunctionConstant;
using metal::Size3;
using namespace ::testing;

using Constants = std::map<std::uint32_t, FunctionConstant>;

// Room for H = 6, G = 3, cap = 2000, D = 512, two norms per position, NWG = 32.
struct Scene {
  metal::Buffer q{12288}, k_packed{3072000}, k_norms{48000}, v_packed{3072000}, v_norms{48000}, dst{12288}, partials{394752};
  families::DecodeParameters parameters;

  Scene() {
    parameters.n_heads = 6;
    parameters.n_kv_heads = 3;
    parameters.head_dim = 512;
    parameters.kv_seq_len = 100;
    parameters.kv_capacity = 2000;
    parameters.scale = 0.25F;
    parameters.mask_type = 2;
    parameters.sliding_window = 41;
    parameters.scale_factor_d512 = 16.0F;
    parameters.codebook_bits = 5;
    parameters.nwg = 3;
    parameters.nsg = 2;
  }
  families::DecodeBuffers buffers() { return {{&q}, {&k_packed}, {&k_norms}, {&v_packed}, {&v_norms}, {&dst}, {&partials}}; }
};

TEST(TqhbDispatch, BanksOfTwoSimdgroupsThenOneBarrierThenReduce) {
  Scene scene;
  scene.parameters.fuse_fwht_pre = true;
  const kernels::BoundKernel attention = bound("tqhb", tqhb_banks_layout("flash_attn_vec_tq_hb_dk512"), {{50, std::int64_t{5}}});
  const kernels::BoundKernel reduce = bound("reduce", reduce_layout("flash_attn_vec_reduce_dk512"));
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> params, reduce_params, nwg_param;

  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function("flash_attn_vec_tq_hb_dk512", Constants{{50, std::int64_t{5}}})));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&scene.q)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.k_packed)));
  EXPECT_CALL(encoder, set_buffer(3, IsView(&scene.k_norms)));
  EXPECT_CALL(encoder, set_buffer(4, IsView(&scene.v_packed)));
  EXPECT_CALL(encoder, set_buffer(5, IsView(&scene.v_norms)));
  EXPECT_CALL(encoder, set_buffer(6, IsView(&scene.partials)));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, 5632));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 6, 3}, Size3{32, 2, 1}));
  EXPECT_CALL(encoder, memory_barrier()).Times(1);
  EXPECT_CALL(encoder, set_pipeline(Function("flash_attn_vec_reduce_dk512", Constants{})));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(reduce_params));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&scene.partials)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.dst)));
  EXPECT_CALL(encoder, set_bytes(3, _)).WillOnce(save_to(nwg_param));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{6, 1, 1}, Size3{96, 1, 1}));

  families::encode_decode(encoder, attention, &reduce, scene.parameters, scene.buffers());

  ASSERT_EQ(params.size(), 60U);
  EXPECT_EQ(word_at(params, 0), 6U) << "n_heads";
  EXPECT_EQ(word_at(params, 4), 3U) << "n_kv_heads";
  EXPECT_EQ(word_at(params, 8), 512U) << "head_dim";
  EXPECT_EQ(word_at(params, 12), 100U) << "kv_seq_len";
  EXPECT_EQ(word_at(params, 16), 2000U) << "kv_capacity";
  EXPECT_EQ(float_at(params, 20), 0.25F) << "scale";
  EXPECT_EQ(word_at(params, 24), 2U) << "mask_type";
  EXPECT_EQ(word_at(params, 28), 41U) << "sliding_window";
  EXPECT_EQ(word_at(params, 32), 0U) << "softcap";
  EXPECT_EQ(word_at(params, 36), 3U) << "nwg";
  EXPECT_EQ(word_at(params, 40), 0U) << "ring_start";
  EXPECT_EQ(float_at(params, 44), 16.0F) << "scale_factor_d512";
  EXPECT_EQ(word_at(params, 48), 5U) << "codebook_bits";
  EXPECT_EQ(word_at(params, 52), 1U) << "fuse_fwht_pre";
  EXPECT_EQ(word_at(params, 56), 2U) << "nsg";
  ASSERT_EQ(reduce_params.size(), 4U);
  EXPECT_EQ(word_at(reduce_params, 0), 6U) << "nrows";
  ASSERT_EQ(nwg_param.size(), 4U);
  EXPECT_EQ(word_at(nwg_param, 0), 3U);
}

struct Banks {
  std::uint32_t head_dim, nsg;
  std::size_t threadgroup_bytes;
};

class TqhbBanks : public ::testing::TestWithParam<Banks> {};

TEST_P(TqhbBanks, TakeThreadsAndThreadgroupMemoryOfTheContract) {
  Scene scene;
  scene.parameters.head_dim = GetParam().head_dim;
  scene.parameters.nsg = GetParam().nsg;
  scene.parameters.nwg = 1;
  const std::string function = GetParam().head_dim == 256 ? "flash_attn_vec_tq_hb_dk256" : "flash_attn_vec_tq_hb_dk512";
  const kernels::BoundKernel attention = bound("tqhb", tqhb_banks_layout(function), {{50, std::int64_t{5}}});
  NiceMock<MockEncoder> encoder;
  std::vector<std::byte> params;
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, set_buffer(_, _)).Times(5);
  EXPECT_CALL(encoder, set_buffer(6, IsView(&scene.dst)));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, GetParam().threadgroup_bytes));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 6, 1}, Size3{32, GetParam().nsg, 1}));
  EXPECT_CALL(encoder, memory_barrier()).Times(0);
  families::encode_decode(encoder, attention, nullptr, scene.parameters, scene.buffers());
  EXPECT_EQ(word_at(params, 56), GetParam().nsg);
}

INSTANTIATE_TEST_SUITE_P(All, TqhbBanks,
                         ::testing::Values(Banks{256, 1, 1792}, Banks{256, 2, 3072}, Banks{256, 4, 5632}, Banks{512, 1, 3328},
                                           Banks{512, 2, 5632}, Banks{512, 4, 10240}),
                         [](const auto& info) { return fmt::format("d{}_nsg{}", info.param.head_dim, info.param.nsg); });

// n -> NWG, NSG of a kernel with banks and without a given split.
struct Default {
  std::uint32_t kv_seq_len, nwg, nsg;
};

class TqhbDefaults : public ::testing::TestWithParam<Default> {};

TEST_P(TqhbDefaults, AreTheContracts) {
  Scene scene;
  scene.parameters.kv_seq_len = GetParam().kv_seq_len;
  scene.parameters.nwg.reset();
  scene.parameters.nsg.reset();
  const kernels::BoundKernel attention = bound("tqhb", tqhb_banks_layout("flash_attn_vec_tq_hb_dk512"), {{50, std::int64_t{5}}});
  const kernels::BoundKernel reduce = bound("reduce", reduce_layout("flash_attn_vec_reduce_dk512"));
  NiceMock<MockEncoder> encoder;
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 6, GetParam().nwg}, Size3{32, GetParam().nsg, 1}));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{6, 1, 1}, Size3{32 * GetParam().nwg, 1, 1}));
  families::encode_decode(encoder, attention, &reduce, scene.parameters, scene.buffers());
}

INSTANTIATE_TEST_SUITE_P(All, TqhbDefaults,
                         ::testing::Values(Default{512, 16, 1}, Default{513, 32, 1}, Default{1024, 32, 1}, Default{1025, 32, 4}),
                         [](const auto& info) { return fmt::format("n{}", info.param.kv_seq_len); });

TEST(TqhbDispatch, WithoutBanksSixteenWorkgroupsOfOneSimdgroupAtAnyLength) {
  Scene scene;
  scene.parameters.kv_seq_len = 1025;
  scene.parameters.nwg.reset();
  scene.parameters.nsg.reset();
  scene.parameters.codebook_bits = 8;
  const kernels::BoundKernel attention = bound("tqhb", tqhb_layout("flash_attn_vec_tq_hb_dk512"));
  const kernels::BoundKernel reduce = bound("reduce", reduce_layout("flash_attn_vec_reduce_dk512"));
  NiceMock<MockEncoder> encoder;
  std::vector<std::byte> params;
  InSequence order;
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, 3328));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 6, 16}, Size3{32, 1, 1}));
  EXPECT_CALL(encoder, memory_barrier());
  EXPECT_CALL(encoder, set_bytes(0, _));
  EXPECT_CALL(encoder, set_bytes(3, _));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{6, 1, 1}, Size3{512, 1, 1}));
  families::encode_decode(encoder, attention, &reduce, scene.parameters, scene.buffers());
  ASSERT_EQ(params.size(), 52U);
  EXPECT_EQ(word_at(params, 36), 16U) << "nwg";
  EXPECT_EQ(float_at(params, 44), 16.0F) << "scale_factor_d512";
  EXPECT_EQ(word_at(params, 48), 8U) << "codebook_bits";
}

TEST(Tq4BlocksDispatch, CarriesTheScaleFactorBehindTheFieldsOfTheFirstVariant) {
  Scene scene;
  scene.parameters.codebook_bits = 4;
  scene.parameters.nwg = 1;
  scene.parameters.nsg.reset();
  scene.parameters.scale_factor_d512 = 22.625F;
  const kernels::BoundKernel attention = bound("tq4", tq4_blocks_layout("flash_attn_vec_tq_dk512"));
  NiceMock<MockEncoder> encoder;
  std::vector<std::byte> params;
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, 3328));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 6, 1}, Size3{32, 1, 1}));
  families::encode_decode(encoder, attention, nullptr, scene.parameters, scene.buffers());
  ASSERT_EQ(params.size(), 48U);
  EXPECT_EQ(float_at(params, 44), 22.625F) << "scale_factor_d512";
}

struct Refusal {
  const char* name;
  void (*spoil)(Scene&, families::DecodeBuffers&);
  std::vector<std::string> words;
};

class TqhbRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(TqhbRefusal, NamesFieldAndValuesBeforeAnythingIsEncoded) {
  const kernels::BoundKernel attention = bound("tqhb", tqhb_banks_layout("flash_attn_vec_tq_hb_dk512"), {{50, std::int64_t{5}}});
  const kernels::BoundKernel reduce = bound("reduce", reduce_layout("flash_attn_vec_reduce_dk512"));
  Scene scene;
  families::DecodeBuffers buffers = scene.buffers();
  GetParam().spoil(scene, buffers);
  expect_refusal([&](MockEncoder& encoder) { families::encode_decode(encoder, attention, &reduce, scene.parameters, buffers); },
                 GetParam().words);
}

using S = Scene;
using B = families::DecodeBuffers;
INSTANTIATE_TEST_SUITE_P(
    All, TqhbRefusal,
    ::testing::Values(
        Refusal{"three_simdgroups", [](S& s, B&) { s.parameters.nsg = 3; }, {"nsg", "3", "1, 2 or 4"}},
        Refusal{"no_simdgroup", [](S& s, B&) { s.parameters.nsg = 0; }, {"nsg", "0"}},
        Refusal{"seven_bits", [](S& s, B&) { s.parameters.codebook_bits = 7; }, {"codebook_bits", "7", "4, 5, 6 or 8"}},
        Refusal{"four_bits", [](S& s, B&) { s.parameters.codebook_bits = 4; }, {"codebook_bits", "4", "tqhb", "5, 6, 8"}},
        Refusal{"another_codebook", [](S& s, B&) { s.parameters.codebook_bits = 6; }, {"codebook_bits", "6", "50"}},
        Refusal{"no_scale_factor", [](S& s, B&) { s.parameters.scale_factor_d512 = 0.0F; }, {"scale_factor_d512", "0"}},
        Refusal{"negative_scale_factor", [](S& s, B&) { s.parameters.scale_factor_d512 = -1.0F; }, {"scale_factor_d512", "-1"}},
        Refusal{"ring_of_a_cache_with_room", [](S& s, B&) { s.parameters.ring_start = 7; }, {"ring_start", "7", "100", "2000"}},
        Refusal{"softcap", [](S& s, B&) { s.parameters.softcap = 1.0F; }, {"softcap", "1"}},
        // One index to a byte, so twice as much as tq4 takes.
        Refusal{"k_packed", [](S& s, B& b) { b.k_packed = {&s.k_packed, 4}; }, {"K_packed", "3071996", "3072000"}},
        // Two norms to a position.
        Refusal{"v_norms", [](S& s, B& b) { b.v_norms = {&s.v_norms, 4}; }, {"V_norms", "47996", "48000"}},
        Refusal{"partials", [](S& s, B& b) { b.partials = {&s.partials, 357892}; }, {"partials", "36860", "37008"}}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(TqhbRefusal, AKernelWithoutTheFieldCannotBeAskedForIt) {
  const kernels::BoundKernel plain = bound("tqhb", tqhb_layout("flash_attn_vec_tq_hb_dk512"));
  families::DecodeParameters parameters = Scene().parameters;
  EXPECT_THAT(families::decode_misfit(plain, parameters).value().message, HasSubstr("nsg = 2"));
  parameters.nsg = 1;
  EXPECT_FALSE(families::decode_misfit(plain, parameters));
  parameters.fuse_fwht_pre = true;
  EXPECT_THAT(families::decode_misfit(plain, parameters).value().message, HasSubstr("fuse_fwht_pre = 1"));

  families::DecodeParameters blocks = Scene().parameters;
  blocks.codebook_bits = 4;
  blocks.nsg.reset();
  EXPECT_THAT(families::decode_misfit(bound("tq4", tq4_layout()), blocks).value().message, HasSubstr("one norm per position"));
  EXPECT_FALSE(families::decode_misfit(bound("tq4", tq4_blocks_layout("flash_attn_vec_tq_dk512")), blocks));
  blocks.scale_factor_d512.reset();
  EXPECT_FALSE(families::decode_misfit(bound("tq4", tq4_layout()), blocks));
  EXPECT_THAT(families::decode_misfit(bound("tq4", tq4_blocks_layout("flash_attn_vec_tq_dk512")), blocks).value().message,
              HasSubstr("one norm per block"));
}

}  // namespace
}  // namespace assay::tests::tqhb_dispatch_test
