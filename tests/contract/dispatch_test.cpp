// The dispatches of tq4, reduce and fwht as the contract writes them down: every number here is a literal from the contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "families/fwht/launch.h"
#include "families/reduce/launch.h"
#include "families/registry.h"
#include "families/shared/decode_launch.h"
#include "tests/contract/recording_encoder.h"

namespace assay::tests::dispatch_test {
namespace {

using metal::BufferView;
using metal::PipelineDescriptor;
using metal::Size3;
using namespace ::testing;

// Buffers for H = 8, G = 2, D = 256, cap = 128, NWG = 4.
struct Tq4Scene {
  metal::Buffer q{8 * 256 * 4}, k_packed{2 * 128 * 128}, k_norms{2 * 128 * 4}, v_packed{2 * 128 * 128}, v_norms{2 * 128 * 4},
      dst{8 * 256 * 4}, partials{33024};  // 8 heads * 4 workgroups * (256 + 2) floats * 4 bytes
  families::DecodeParameters parameters;

  Tq4Scene() {
    parameters.n_heads = 8;
    parameters.n_kv_heads = 2;
    parameters.head_dim = 256;
    parameters.kv_seq_len = 128;
    parameters.kv_capacity = 128;
    parameters.scale = 0.0625F;
    parameters.mask_type = 2;
    parameters.sliding_window = 77;
    parameters.ring_start = 19;
    parameters.nwg = 4;
  }
  families::DecodeBuffers buffers() { return {{&q}, {&k_packed}, {&k_norms}, {&v_packed}, {&v_norms}, {&dst}, {&partials}}; }
};

TEST(Tq4Dispatch, SplitHeadRunsAttentionThenOneBarrierThenReduce) {
  Tq4Scene scene;
  const kernels::BoundKernel attention = bound("tq4", tq4_layout());
  const kernels::BoundKernel reduce = bound("reduce", reduce_layout());
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> params, reduce_params, nwg_param;

  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function("flash_attn_vec_tq_dk256")));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&scene.q)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.k_packed)));
  EXPECT_CALL(encoder, set_buffer(3, IsView(&scene.k_norms)));
  EXPECT_CALL(encoder, set_buffer(4, IsView(&scene.v_packed)));
  EXPECT_CALL(encoder, set_buffer(5, IsView(&scene.v_norms)));
  EXPECT_CALL(encoder, set_buffer(6, IsView(&scene.partials)));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, 1792));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 8, 4}, Size3{32, 1, 1}));
  EXPECT_CALL(encoder, memory_barrier()).Times(1);
  EXPECT_CALL(encoder, set_pipeline(Function("flash_attn_vec_reduce_dk256")));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(reduce_params));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&scene.partials)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.dst)));
  EXPECT_CALL(encoder, set_bytes(3, _)).WillOnce(save_to(nwg_param));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{8, 1, 1}, Size3{128, 1, 1}));

  families::encode_decode(encoder, attention, &reduce, scene.parameters, scene.buffers());

  ASSERT_EQ(params.size(), 44U);
  EXPECT_EQ(word_at(params, 0), 8U) << "n_heads";
  EXPECT_EQ(word_at(params, 4), 2U) << "n_kv_heads";
  EXPECT_EQ(word_at(params, 8), 256U) << "head_dim";
  EXPECT_EQ(word_at(params, 12), 128U) << "kv_seq_len";
  EXPECT_EQ(word_at(params, 16), 128U) << "kv_capacity";
  EXPECT_EQ(float_at(params, 20), 0.0625F) << "scale";
  EXPECT_EQ(word_at(params, 24), 2U) << "mask_type";
  EXPECT_EQ(word_at(params, 28), 77U) << "sliding_window";
  EXPECT_EQ(word_at(params, 32), 0U) << "softcap";
  EXPECT_EQ(word_at(params, 36), 4U) << "nwg";
  EXPECT_EQ(word_at(params, 40), 19U) << "ring_start";
  ASSERT_EQ(reduce_params.size(), 4U);
  EXPECT_EQ(word_at(reduce_params, 0), 8U) << "nrows";
  ASSERT_EQ(nwg_param.size(), 4U);
  EXPECT_EQ(word_at(nwg_param, 0), 4U);
}

// All tensors in one heap, as an engine with an arena binds them: every binding keeps its own offset, the partials in both dispatches.
TEST(Tq4Dispatch, EveryBindingKeepsItsOffset) {
  Tq4Scene scene;
  metal::Buffer heap(131072);
  const kernels::BoundKernel attention = bound("tq4", tq4_layout());
  const kernels::BoundKernel reduce = bound("reduce", reduce_layout());
  StrictMock<MockEncoder> encoder;
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(_));
  EXPECT_CALL(encoder, set_bytes(0, _));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&heap, 256U)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&heap, 8448U)));
  EXPECT_CALL(encoder, set_buffer(3, IsView(&heap, 41216U)));
  EXPECT_CALL(encoder, set_buffer(4, IsView(&heap, 8448U)));
  EXPECT_CALL(encoder, set_buffer(5, IsView(&heap, 42240U)));
  EXPECT_CALL(encoder, set_buffer(6, IsView(&heap, 43264U)));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, 1792));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 8, 4}, Size3{32, 1, 1}));
  EXPECT_CALL(encoder, memory_barrier());
  EXPECT_CALL(encoder, set_pipeline(_));
  EXPECT_CALL(encoder, set_bytes(0, _));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&heap, 43264U)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&heap, 76288U)));
  EXPECT_CALL(encoder, set_bytes(3, _));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{8, 1, 1}, Size3{128, 1, 1}));
  families::encode_decode(encoder, attention, &reduce, scene.parameters,
                          {{&heap, 256}, {&heap, 8448}, {&heap, 41216}, {&heap, 8448}, {&heap, 42240}, {&heap, 76288}, {&heap, 43264}});
}

TEST(Tq4Dispatch, OneWorkgroupWritesTheOutputItselfWithoutBarrierOrReduce) {
  Tq4Scene scene;
  scene.parameters.nwg = 1;
  const kernels::BoundKernel attention = bound("tq4", tq4_layout());
  StrictMock<MockEncoder> encoder;
  EXPECT_CALL(encoder, set_pipeline(Function("flash_attn_vec_tq_dk256")));
  EXPECT_CALL(encoder, set_bytes(0, _));
  EXPECT_CALL(encoder, set_buffer(_, _)).Times(5);
  EXPECT_CALL(encoder, set_buffer(6, IsView(&scene.dst)));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, 1792));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 8, 1}, Size3{32, 1, 1}));
  EXPECT_CALL(encoder, memory_barrier()).Times(0);
  families::DecodeBuffers buffers = scene.buffers();
  buffers.partials = {};
  families::encode_decode(encoder, attention, nullptr, scene.parameters, buffers);
}

TEST(Tq4Dispatch, HeadDim512AsksForMoreThreadgroupMemory) {
  Tq4Scene scene;
  scene.parameters.nwg = 1;
  scene.parameters.n_heads = 2;
  scene.parameters.n_kv_heads = 1;
  scene.parameters.head_dim = 512;
  scene.parameters.kv_seq_len = 64;
  scene.parameters.kv_capacity = 64;
  const kernels::BoundKernel attention = bound("tq4", tq4_layout("flash_attn_vec_tq_dk512"));
  ::testing::NiceMock<MockEncoder> encoder;
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, 3328));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 2, 1}, Size3{32, 1, 1}));
  families::encode_decode(encoder, attention, nullptr, scene.parameters, scene.buffers());
}

TEST(Tq4Dispatch, SixteenWorkgroupsByDefault) {
  Tq4Scene scene;
  scene.parameters.nwg.reset();
  metal::Buffer partials(132096);  // 8 * 16 * 258 * 4
  families::DecodeBuffers buffers = scene.buffers();
  buffers.partials = {&partials};
  const kernels::BoundKernel attention = bound("tq4", tq4_layout());
  const kernels::BoundKernel reduce = bound("reduce", reduce_layout());
  ::testing::NiceMock<MockEncoder> encoder;
  std::vector<std::byte> params;
  InSequence order;
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{1, 8, 16}, Size3{32, 1, 1}));
  EXPECT_CALL(encoder, memory_barrier());
  EXPECT_CALL(encoder, set_bytes(0, _));
  EXPECT_CALL(encoder, set_bytes(3, _));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{8, 1, 1}, Size3{512, 1, 1}));
  families::encode_decode(encoder, attention, &reduce, scene.parameters, buffers);
  EXPECT_EQ(word_at(params, 36), 16U);
}

TEST(ReduceDispatch, OneThreadgroupPerRowOneSimdgroupPerWorkgroup) {
  metal::Buffer htmp(98688), dst(6144);  // 3 rows * 16 workgroups * 514 floats; 3 rows * 512 floats
  const kernels::BoundKernel kernel = bound("reduce", reduce_layout("flash_attn_vec_reduce_dk512"));
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> params, nwg_param;
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function("flash_attn_vec_reduce_dk512")));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&htmp)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&dst)));
  EXPECT_CALL(encoder, set_bytes(3, _)).WillOnce(save_to(nwg_param));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{3, 1, 1}, Size3{512, 1, 1}));
  families::encode_reduce(encoder, kernel, {.nrows = 3, .head_dim = 512, .nwg = 16}, {{&htmp}, {&dst}});
  ASSERT_EQ(params.size(), 4U);
  EXPECT_EQ(word_at(params, 0), 3U);
  ASSERT_EQ(nwg_param.size(), 4U);
  EXPECT_EQ(word_at(nwg_param, 0), 16U);
}

TEST(FwhtDispatch, OneSimdgroupPerHeadInPlace) {
  metal::Buffer data(512 + 5 * 256 * 4);
  const kernels::BoundKernel kernel = bound("fwht", fwht_layout());
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> params;
  EXPECT_CALL(encoder, set_pipeline(Function("fwht_sign_premult_f32_d256")));
  EXPECT_CALL(encoder, set_bytes(1, _)).WillOnce(save_to(params));
  EXPECT_CALL(encoder, set_buffer(0, IsView(&data, 512U)));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{5, 1, 1}, Size3{32, 1, 1}));
  families::encode_fwht(encoder, kernel, {.head_dim = 256, .num_heads = 5}, {&data, 512});
  ASSERT_EQ(params.size(), 8U);
  EXPECT_EQ(word_at(params, 0), 256U);
  EXPECT_EQ(word_at(params, 4), 5U);
}

// --- refusals: nothing may be encoded, and the text holds the field and both values ---------------------------------------

struct Refusal {
  const char* name;
  void (*spoil)(Tq4Scene&, families::DecodeBuffers&);
  std::vector<std::string> words;
};

class Tq4Refusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(Tq4Refusal, NamesFieldAndValues) {
  const kernels::BoundKernel attention = bound("tq4", tq4_layout());
  const kernels::BoundKernel reduce = bound("reduce", reduce_layout());
  Tq4Scene scene;
  families::DecodeBuffers buffers = scene.buffers();
  GetParam().spoil(scene, buffers);
  expect_refusal([&](MockEncoder& encoder) { families::encode_decode(encoder, attention, &reduce, scene.parameters, buffers); },
                 GetParam().words);
}

using S = Tq4Scene;
using B = families::DecodeBuffers;
INSTANTIATE_TEST_SUITE_P(
    All, Tq4Refusal,
    ::testing::Values(Refusal{"head_dim", [](S& s, B&) { s.parameters.head_dim = 128; }, {"head_dim", "128", "256", "512"}},
                      Refusal{"no_heads", [](S& s, B&) { s.parameters.n_heads = 0; }, {"n_heads", "0"}},
                      Refusal{"no_kv_heads", [](S& s, B&) { s.parameters.n_kv_heads = 0; }, {"n_kv_heads", "0"}},
                      Refusal{"ragged_groups", [](S& s, B&) { s.parameters.n_kv_heads = 3; }, {"n_heads", "8", "n_kv_heads", "3"}},
                      Refusal{"empty", [](S& s, B&) { s.parameters.kv_seq_len = 0; }, {"kv_seq_len", "0"}},
                      Refusal{"capacity", [](S& s, B&) { s.parameters.kv_seq_len = 129; }, {"kv_capacity", "128", "kv_len", "129"}},
                      Refusal{"ring_outside", [](S& s, B&) { s.parameters.ring_start = 128; }, {"ring_start", "128", "kv_capacity"}},
                      Refusal{"ring_of_a_cache_with_room",
                              [](S& s, B&) { s.parameters.kv_seq_len = 100; },
                              {"ring_start", "19", "kv_seq_len", "100", "128"}},
                      Refusal{"mask_type", [](S& s, B&) { s.parameters.mask_type = 3; }, {"mask_type", "3"}},
                      Refusal{"softcap", [](S& s, B&) { s.parameters.softcap = 30.0F; }, {"softcap", "30"}},
                      Refusal{"scale", [](S& s, B&) { s.parameters.scale = INFINITY; }, {"scale", "inf"}},
                      Refusal{"no_workgroup", [](S& s, B&) { s.parameters.nwg = 0; }, {"nwg", "0", "1 to 32"}},
                      Refusal{"too_many_workgroups", [](S& s, B&) { s.parameters.nwg = 33; }, {"nwg", "33", "1 to 32"}},
                      Refusal{"q", [](S& s, B& b) { b.q = {&s.q, 4}; }, {"Q", "8188", "8192"}},
                      Refusal{"k_packed", [](S& s, B& b) { b.k_packed = {&s.k_packed, 4}; }, {"K_packed", "32764", "32768"}},
                      Refusal{"k_norms", [](S& s, B& b) { b.k_norms = {&s.k_norms, 4}; }, {"K_norms", "1020", "1024"}},
                      Refusal{"v_packed", [](S& s, B& b) { b.v_packed = {&s.v_packed, 4}; }, {"V_packed", "32764", "32768"}},
                      Refusal{"v_norms", [](S& s, B& b) { b.v_norms = {&s.v_norms, 4}; }, {"V_norms", "1020", "1024"}},
                      Refusal{"dst", [](S& s, B& b) { b.dst = {&s.dst, 4}; }, {"dst", "8188", "8192"}},
                      Refusal{"partials", [](S& s, B& b) { b.partials = {&s.partials, 4}; }, {"partials", "33020", "33024"}},
                      Refusal{"unbound", [](S&, B& b) { b.v_norms = {}; }, {"V_norms", "0 bytes", "1024"}}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(Tq4Offsets, ACacheBeyondFourGibibytesNeedsWideOffsets) {
  families::DecodeParameters parameters = Tq4Scene().parameters;
  parameters.ring_start = 0;
  parameters.n_kv_heads = 8;
  parameters.kv_seq_len = 1;
  parameters.kv_capacity = 4194304;  // 8 * 4194304 * 128 bytes are exactly 2^32
  EXPECT_NO_THROW(families::validate(parameters));
  parameters.kv_capacity = 4194305;
  expect_refusal([&](MockEncoder&) { families::validate(parameters); }, {"4294968320", "4294967296"});
  parameters.offset_bits = 64;
  EXPECT_NO_THROW(families::validate(parameters));
}

TEST(ReduceRefusal, NamesFieldAndValues) {
  const kernels::BoundKernel kernel = bound("reduce", reduce_layout());
  metal::Buffer htmp(33024), dst(8192);  // 8 rows, 4 workgroups, D = 256
  const auto launch = [&](families::ReduceParameters parameters, std::size_t htmp_offset, std::size_t dst_offset) {
    return [&, parameters, htmp_offset, dst_offset](MockEncoder& encoder) {
      families::encode_reduce(encoder, kernel, parameters, {{&htmp, htmp_offset}, {&dst, dst_offset}});
    };
  };
  expect_refusal(launch({8, 64, 4}, 0, 0), {"head_dim", "64"});
  expect_refusal(launch({0, 256, 4}, 0, 0), {"nrows", "0"});
  expect_refusal(launch({8, 256, 0}, 0, 0), {"nwg", "0"});
  expect_refusal(launch({8, 256, 33}, 0, 0), {"nwg", "33"});
  expect_refusal(launch({8, 256, 4}, 4, 0), {"htmp", "33020", "33024"});
  expect_refusal(launch({8, 256, 4}, 0, 4), {"dst", "8188", "8192"});
}

TEST(FwhtRefusal, NamesFieldAndValues) {
  const kernels::BoundKernel kernel = bound("fwht", fwht_layout());
  metal::Buffer data(2048);
  const auto launch = [&](families::FwhtParameters parameters) {
    return [&, parameters](MockEncoder& encoder) { families::encode_fwht(encoder, kernel, parameters, {&data}); };
  };
  expect_refusal(launch({.head_dim = 128, .num_heads = 1}), {"head_dim", "128"});
  expect_refusal(launch({.head_dim = 256, .num_heads = 0}), {"num_heads", "0"});
  expect_refusal(launch({.head_dim = 256, .num_heads = 3}), {"data", "2048", "3072"});
}

}  // namespace
}  // namespace assay::tests::dispatch_test
