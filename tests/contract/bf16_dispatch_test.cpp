// The dispatches of bf16_prefill and bf16_vec as the contract writes them down: every number here is a literal from the contract.
// Long because the three kernels of a prefill have structs of their own, each field of which is a literal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "families/bf16_prefill/launch.h"
#include "families/bf16_vec/launch.h"
#include "tests/contract/recording_encoder.h"

namespace assay::tests::bf16_dispatch_test {
namespace {

using FunctionConstants = std::map<std::uint32_t, metal::FunctionConstant>;
using kernels::BoundKernel;
using metal::Size3;
using namespace ::testing;

const char* const kPrefill = "kernel_flash_attn_ext_bf16_dk512_dv512";
const char* const kVec = "kernel_flash_attn_ext_vec_bf16_dk512_dv512";
const char* const kPad = "kernel_flash_attn_ext_pad";
const char* const kBlk = "kernel_flash_attn_ext_blk";

FunctionConstants prefill_constants(bool has_mask, bool is_ragged) { return {{300, has_mask}, {304, is_ragged}}; }
FunctionConstants pad_constants(bool has_mask) { return {{100, has_mask}}; }

// B = 2, H = 4, G = 2, nq = 9, n = 100 with room for 28 rows more, the values further apart than the keys, one mask for both batches with a
// plane for each head.
struct Scene {
  metal::Buffer q{73728}, k{524288}, v{532480}, mask{7200}, dst{73728}, pad{528896}, blk{16};
  families::Bf16Parameters parameters;

  Scene() {
    parameters.batches = 2;
    parameters.n_heads = 4;
    parameters.n_kv_heads = 2;
    parameters.queries = 9;
    parameters.kv_len = 100;
    parameters.mask_batches = 1;
    parameters.mask_heads = 4;
    parameters.q = {1024, 9216, 36864};
    parameters.k = {1024, 131072, 262144};
    parameters.v = {1024, 132096, 268288};
    parameters.mask = {200, 1800, 7200};
    parameters.q_element = metal::ScalarType::bfloat16;
    parameters.scale = 0.0625F;
  }
  families::Bf16Tensors tensors() { return {{&q}, {&k}, {&v}, {&mask}, {&dst}}; }
  families::Bf16PrefillBuffers buffers() { return {tensors(), {&pad}, {&blk}}; }
  void forget_mask() {
    parameters.mask_batches = parameters.mask_heads = 0;
    parameters.mask = {};
  }
};

void expect_arguments(std::span<const std::byte> args, bool masked) {
  ASSERT_EQ(args.size(), 192U);
  EXPECT_EQ(word_at(args, 0), 9U) << "ne01";
  EXPECT_EQ(word_at(args, 4), 4U) << "ne02";
  EXPECT_EQ(word_at(args, 8), 2U) << "ne03";
  EXPECT_EQ(word_at(args, 40), 100U) << "ne11";
  EXPECT_EQ(word_at(args, 44), 2U) << "ne_12_2";
  EXPECT_EQ(word_at(args, 48), 2U) << "ne_12_3";
  EXPECT_EQ(word_at(args, 52), 512U) << "ns10";
  EXPECT_EQ(long_at(args, 56), 1024U) << "nb11";
  EXPECT_EQ(long_at(args, 64), 131072U) << "nb12";
  EXPECT_EQ(long_at(args, 72), 262144U) << "nb13";
  EXPECT_EQ(word_at(args, 80), 512U) << "ns20";
  EXPECT_EQ(long_at(args, 88), 1024U) << "nb21";
  EXPECT_EQ(long_at(args, 96), 132096U) << "nb22";
  EXPECT_EQ(long_at(args, 104), 268288U) << "nb23";
  EXPECT_EQ(word_at(args, 112), masked ? 9U : 0U) << "ne31";
  EXPECT_EQ(word_at(args, 116), masked ? 4U : 1U) << "ne32";
  EXPECT_EQ(word_at(args, 120), 1U) << "ne33";
  EXPECT_EQ(long_at(args, 128), masked ? 200U : 0U) << "nb31";
  EXPECT_EQ(long_at(args, 136), masked ? 1800U : 0U) << "nb32";
  EXPECT_EQ(long_at(args, 144), masked ? 7200U : 0U) << "nb33";
  EXPECT_EQ(word_at(args, 152), 9U) << "ne1";
  EXPECT_EQ(word_at(args, 156), 4U) << "ne2";
  EXPECT_EQ(word_at(args, 160), 2U) << "ne3";
  EXPECT_EQ(float_at(args, 164), 0.0625F) << "scale";
  for (const std::size_t offset : {168U, 172U, 176U, 180U, 184U}) EXPECT_EQ(word_at(args, offset), 0U) << offset;
}

TEST(Bf16PrefillDispatch, MaskAndRaggedEndTakeBothHelpersAndOneBarrier) {
  Scene scene;
  const BoundKernel attention = bound("bf16_prefill", bf16_prefill_layout(), prefill_constants(true, true));
  const BoundKernel pad = bound("bf16_pad", bf16_pad_layout(), pad_constants(true));
  const BoundKernel blk = bound("bf16_blk", bf16_blk_layout());
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> args, pad_args, blk_args;

  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function(kPad, pad_constants(true))));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(pad_args));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&scene.k)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.v)));
  EXPECT_CALL(encoder, set_buffer(3, IsView(&scene.mask)));
  EXPECT_CALL(encoder, set_buffer(4, IsView(&scene.pad)));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{64, 4, 2}, Size3{32, 1, 1}));
  EXPECT_CALL(encoder, set_pipeline(Function(kBlk, FunctionConstants{})));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(blk_args));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&scene.mask)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.blk)));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{2, 2, 4}, Size3{32, 1, 1}));
  EXPECT_CALL(encoder, memory_barrier()).Times(1);
  EXPECT_CALL(encoder, set_pipeline(Function(kPrefill, prefill_constants(true, true))));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(args));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&scene.q)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.k)));
  EXPECT_CALL(encoder, set_buffer(3, IsView(&scene.v)));
  EXPECT_CALL(encoder, set_buffer(4, IsView(&scene.mask)));
  EXPECT_CALL(encoder, set_buffer(5, IsView(&scene.q)));  // a dummy
  EXPECT_CALL(encoder, set_buffer(6, IsView(&scene.pad)));
  EXPECT_CALL(encoder, set_buffer(7, IsView(&scene.blk)));
  EXPECT_CALL(encoder, set_buffer(8, IsView(&scene.dst)));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, 28672));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{2, 4, 2}, Size3{32, 8, 1}));

  families::encode_bf16_prefill(encoder, {attention, &pad, &blk}, scene.parameters, scene.buffers());

  expect_arguments(args, true);
  EXPECT_EQ(long_at(args, 16), 1024U) << "nb01";
  EXPECT_EQ(long_at(args, 24), 9216U) << "nb02";
  EXPECT_EQ(long_at(args, 32), 36864U) << "nb03";

  ASSERT_EQ(pad_args.size(), 104U);
  EXPECT_EQ(word_at(pad_args, 0), 100U) << "ne11";
  EXPECT_EQ(word_at(pad_args, 4), 2U) << "ne_12_2";
  EXPECT_EQ(word_at(pad_args, 8), 2U) << "ne_12_3";
  EXPECT_EQ(long_at(pad_args, 16), 1024U) << "nb11";
  EXPECT_EQ(long_at(pad_args, 24), 131072U) << "nb12";
  EXPECT_EQ(long_at(pad_args, 32), 262144U) << "nb13";
  EXPECT_EQ(long_at(pad_args, 40), 1024U) << "nb21";
  EXPECT_EQ(long_at(pad_args, 48), 132096U) << "nb22";
  EXPECT_EQ(long_at(pad_args, 56), 268288U) << "nb23";
  EXPECT_EQ(word_at(pad_args, 64), 9U) << "ne31";
  EXPECT_EQ(word_at(pad_args, 68), 4U) << "ne32";
  EXPECT_EQ(word_at(pad_args, 72), 1U) << "ne33";
  EXPECT_EQ(long_at(pad_args, 80), 200U) << "nb31";
  EXPECT_EQ(long_at(pad_args, 88), 1800U) << "nb32";
  EXPECT_EQ(long_at(pad_args, 96), 7200U) << "nb33";

  ASSERT_EQ(blk_args.size(), 48U);
  EXPECT_EQ(word_at(blk_args, 0), 9U) << "ne01";
  EXPECT_EQ(word_at(blk_args, 4), 100U) << "ne30";
  EXPECT_EQ(word_at(blk_args, 8), 9U) << "ne31";
  EXPECT_EQ(word_at(blk_args, 12), 4U) << "ne32";
  EXPECT_EQ(word_at(blk_args, 16), 1U) << "ne33";
  EXPECT_EQ(long_at(blk_args, 24), 200U) << "nb31";
  EXPECT_EQ(long_at(blk_args, 32), 1800U) << "nb32";
  EXPECT_EQ(long_at(blk_args, 40), 7200U) << "nb33";
}

TEST(Bf16PrefillDispatch, WithoutMaskTheRaggedEndTakesPadAlone) {
  Scene scene;
  scene.forget_mask();
  const BoundKernel attention = bound("bf16_prefill", bf16_prefill_layout(), prefill_constants(false, true));
  const BoundKernel pad = bound("bf16_pad", bf16_pad_layout(), pad_constants(false));
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> args, pad_args;
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function(kPad, pad_constants(false))));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(pad_args));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&scene.k)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.v)));
  EXPECT_CALL(encoder, set_buffer(3, IsView(&scene.q)));  // a dummy
  EXPECT_CALL(encoder, set_buffer(4, IsView(&scene.pad)));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{64, 2, 2}, Size3{32, 1, 1}));
  EXPECT_CALL(encoder, memory_barrier()).Times(1);
  EXPECT_CALL(encoder, set_pipeline(Function(kPrefill, prefill_constants(false, true))));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(args));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&scene.q)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.k)));
  EXPECT_CALL(encoder, set_buffer(3, IsView(&scene.v)));
  EXPECT_CALL(encoder, set_buffer(4, IsView(&scene.q)));  // a dummy
  EXPECT_CALL(encoder, set_buffer(5, IsView(&scene.q)));  // a dummy
  EXPECT_CALL(encoder, set_buffer(6, IsView(&scene.pad)));
  EXPECT_CALL(encoder, set_buffer(7, IsView(&scene.q)));  // a dummy
  EXPECT_CALL(encoder, set_buffer(8, IsView(&scene.dst)));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, 28672));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{2, 4, 2}, Size3{32, 8, 1}));
  families::Bf16PrefillBuffers buffers = scene.buffers();
  buffers.tensors.mask = {};
  buffers.blk = {};
  families::encode_bf16_prefill(encoder, {attention, &pad, nullptr}, scene.parameters, buffers);
  expect_arguments(args, false);
  EXPECT_EQ(word_at(pad_args, 64), 0U) << "ne31";
  EXPECT_EQ(word_at(pad_args, 68), 1U) << "ne32";
  EXPECT_EQ(word_at(pad_args, 72), 1U) << "ne33";
}

TEST(Bf16PrefillDispatch, WholeTilesWithMaskTakeBlkAlone) {
  Scene scene;
  scene.parameters.kv_len = 128;
  scene.parameters.mask_batches = 2;
  scene.parameters.mask_heads = 1;
  scene.parameters.mask = {256, 2304, 2304};
  metal::Buffer mask(4608);
  families::Bf16PrefillBuffers buffers = scene.buffers();
  buffers.tensors.mask = {&mask};
  buffers.pad = {};
  const BoundKernel attention = bound("bf16_prefill", bf16_prefill_layout(), prefill_constants(true, false));
  const BoundKernel blk = bound("bf16_blk", bf16_blk_layout());
  NiceMock<MockEncoder> encoder;
  EXPECT_CALL(encoder, set_buffer(_, _)).Times(::testing::AnyNumber());
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function(kBlk, FunctionConstants{})));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{2, 2, 2}, Size3{32, 1, 1}));
  EXPECT_CALL(encoder, memory_barrier()).Times(1);
  EXPECT_CALL(encoder, set_pipeline(Function(kPrefill, prefill_constants(true, false))));
  EXPECT_CALL(encoder, set_buffer(5, IsView(&scene.q)));
  EXPECT_CALL(encoder, set_buffer(6, IsView(&scene.q)));  // a dummy
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{2, 4, 2}, Size3{32, 8, 1}));
  families::encode_bf16_prefill(encoder, {attention, nullptr, &blk}, scene.parameters, buffers);
}

TEST(Bf16PrefillDispatch, WholeTilesWithoutMaskTakeNeitherHelperNorBarrier) {
  Scene scene;
  scene.forget_mask();
  scene.parameters.kv_len = 128;
  scene.parameters.batches = 1;
  const BoundKernel attention = bound("bf16_prefill", bf16_prefill_layout(), prefill_constants(false, false));
  StrictMock<MockEncoder> encoder;
  EXPECT_CALL(encoder, set_pipeline(Function(kPrefill, prefill_constants(false, false))));
  EXPECT_CALL(encoder, set_bytes(0, _));
  for (const std::uint32_t dummy : {1U, 4U, 5U, 6U, 7U}) EXPECT_CALL(encoder, set_buffer(dummy, IsView(&scene.q)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.k)));
  EXPECT_CALL(encoder, set_buffer(3, IsView(&scene.v)));
  EXPECT_CALL(encoder, set_buffer(8, IsView(&scene.dst)));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, 28672));
  EXPECT_CALL(encoder, memory_barrier()).Times(0);
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{2, 4, 1}, Size3{32, 8, 1}));
  families::Bf16PrefillBuffers buffers = scene.buffers();
  buffers.pad = buffers.blk = {};
  families::encode_bf16_prefill(encoder, {attention, nullptr, nullptr}, scene.parameters, buffers);
}

TEST(Bf16PrefillDispatch, MaskHeadsBeyondKeyHeadsWidenThePadGrid) {
  Scene scene;
  scene.parameters.n_kv_heads = 1;
  const BoundKernel attention = bound("bf16_prefill", bf16_prefill_layout(), prefill_constants(true, true));
  const BoundKernel pad = bound("bf16_pad", bf16_pad_layout(), pad_constants(true));
  const BoundKernel blk = bound("bf16_blk", bf16_blk_layout());
  NiceMock<MockEncoder> encoder;
  EXPECT_CALL(encoder, dispatch_threadgroups(_, _)).Times(2);
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{64, 4, 2}, Size3{32, 1, 1}));
  families::encode_bf16_prefill(encoder, {attention, &pad, &blk}, scene.parameters, scene.buffers());
}

class Bf16VecNsg : public ::testing::TestWithParam<std::pair<std::uint32_t, std::size_t>> {};

TEST_P(Bf16VecNsg, OneThreadgroupPerQueryAndHead) {
  const auto [nsg, threadgroup_bytes] = GetParam();
  Scene scene;
  scene.parameters.q_element = metal::ScalarType::float32;
  scene.parameters.q = {2048, 18432, 73728};
  metal::Buffer q(147456);
  const BoundKernel kernel = bound("bf16_vec", bf16_vec_layout());
  StrictMock<MockEncoder> encoder;
  std::vector<std::byte> args;
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Function(kVec, FunctionConstants{})));
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(args));
  EXPECT_CALL(encoder, set_buffer(1, IsView(&q)));
  EXPECT_CALL(encoder, set_buffer(2, IsView(&scene.k)));
  EXPECT_CALL(encoder, set_buffer(3, IsView(&scene.v)));
  EXPECT_CALL(encoder, set_buffer(4, IsView(&scene.mask)));
  EXPECT_CALL(encoder, set_buffer(8, IsView(&scene.dst)));
  EXPECT_CALL(encoder, set_threadgroup_memory_length(0, threadgroup_bytes));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{9, 4, 2}, (Size3{32, nsg, 1})));
  families::Bf16Tensors tensors = scene.tensors();
  tensors.q = {&q};
  families::encode_bf16_vec(encoder, kernel, {scene.parameters, nsg}, tensors);
  expect_arguments(args, true);
  EXPECT_EQ(long_at(args, 16), 2048U) << "nb01";
  EXPECT_EQ(long_at(args, 24), 18432U) << "nb02";
  EXPECT_EQ(long_at(args, 32), 73728U) << "nb03";
}

INSTANTIATE_TEST_SUITE_P(All, Bf16VecNsg, ::testing::Values(std::pair(1U, 2304U), std::pair(2U, 3584U), std::pair(4U, 6144U)),
                         [](const auto& parameter) { return std::to_string(parameter.param.first); });

TEST(Bf16VecDispatch, WithoutMaskTheMaskIsTheVeryViewOfTheQueryAndFourSimdgroupsAreTheDefault) {
  Scene scene;
  scene.forget_mask();
  scene.parameters.q_element = metal::ScalarType::float32;
  scene.parameters.q = {2048, 18432, 73728};
  metal::Buffer heap(256 + 147456);
  const BoundKernel kernel = bound("bf16_vec", bf16_vec_layout());
  NiceMock<MockEncoder> encoder;
  std::vector<std::byte> args;
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce(save_to(args));
  EXPECT_CALL(encoder, set_buffer(_, _)).Times(3);
  EXPECT_CALL(encoder, set_buffer(1, metal::BufferView{&heap, 256}));
  EXPECT_CALL(encoder, set_buffer(4, metal::BufferView{&heap, 256}));
  EXPECT_CALL(encoder, dispatch_threadgroups(Size3{9, 4, 2}, Size3{32, 4, 1}));
  families::Bf16Tensors tensors = scene.tensors();
  tensors.q = {&heap, 256};
  tensors.mask = {};
  families::encode_bf16_vec(encoder, kernel, {scene.parameters, {}}, tensors);
  expect_arguments(args, false);
}

// --- refusals: nothing may be encoded, and the text holds the field and both values ---------------------------------------

struct Refusal {
  const char* name;
  void (*spoil)(Scene&, families::Bf16PrefillBuffers&);
  std::vector<std::string> words;
};

using S = Scene;
using B = families::Bf16PrefillBuffers;

// Refused by both families.
const std::vector<Refusal>& common_refusals() {
  static const std::vector<Refusal> refusals = {
      {"no_batches", [](S& s, B&) { s.parameters.batches = 0; }, {"batches", "0"}},
      {"no_heads", [](S& s, B&) { s.parameters.n_heads = 0; }, {"n_heads", "0"}},
      {"no_kv_heads", [](S& s, B&) { s.parameters.n_kv_heads = 0; }, {"n_kv_heads", "0"}},
      {"ragged_groups", [](S& s, B&) { s.parameters.n_kv_heads = 3; }, {"n_heads", "4", "n_kv_heads", "3"}},
      {"no_queries", [](S& s, B&) { s.parameters.queries = 0; }, {"queries", "0"}},
      {"no_keys", [](S& s, B&) { s.parameters.kv_len = 0; }, {"kv_len", "0"}},
      {"mask_heads", [](S& s, B&) { s.parameters.mask_heads = 3; }, {"n_heads", "4", "mask_heads", "3"}},
      {"mask_batches", [](S& s, B&) { s.parameters.mask_batches = 3; }, {"batches", "2", "mask_batches", "3"}},
      {"half_a_mask", [](S& s, B&) { s.parameters.mask_heads = 0; }, {"mask_heads", "0"}},
      {"softcap", [](S& s, B&) { s.parameters.logit_softcap = 30.0F; }, {"logit_softcap", "30"}},
      {"max_bias", [](S& s, B&) { s.parameters.max_bias = 8.0F; }, {"max_bias", "8"}},
      {"scale", [](S& s, B&) { s.parameters.scale = INFINITY; }, {"scale", "inf"}},
      {"q_element", [](S& s, B&) { s.parameters.q_element = metal::ScalarType::float16; }, {"q_element", "float16"}},
      {"q_rows", [](S& s, B&) { s.parameters.q.token = 512; }, {"nb01", "512"}},
      {"q_alignment", [](S& s, B&) { s.parameters.q.head += 2; }, {"nb02", "multiple"}},
      {"k_heads_overlap", [](S& s, B&) { s.parameters.k.head = 101376; }, {"nb12", "101376", "102400"}},
      {"v_batches_overlap", [](S& s, B&) { s.parameters.v.batch = 131072; }, {"nb23", "131072", "234496"}},
      {"mask_rows_overlap", [](S& s, B&) { s.parameters.mask.token = 198; }, {"nb31", "198", "200"}},
      {"mask_heads_overlap", [](S& s, B&) { s.parameters.mask.head = 1798; }, {"nb32", "1798", "1800"}},
      {"mask_alignment", [](S& s, B&) { s.parameters.mask.token = 201; }, {"nb31", "201", "2"}},
      {"k",
       [](S& s, B& b) {
         s.parameters.k.batch = 421888;
         b.tensors.k = {&s.k, 256};
       },
       {"k", "524032", "655360"}},
      {"v_unbound", [](S&, B& b) { b.tensors.v = {}; }, {"v", "0 bytes", "502784"}},
      {"mask_unbound", [](S&, B& b) { b.tensors.mask = {}; }, {"mask", "0 bytes", "7200"}},
      {"dst", [](S& s, B& b) { b.tensors.dst = {&s.dst, 4}; }, {"dst", "73724", "73728"}},
  };
  return refusals;
}

class Bf16PrefillRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(Bf16PrefillRefusal, NamesFieldAndValues) {
  const BoundKernel attention = bound("bf16_prefill", bf16_prefill_layout(), prefill_constants(true, true));
  const BoundKernel pad = bound("bf16_pad", bf16_pad_layout(), pad_constants(true));
  const BoundKernel blk = bound("bf16_blk", bf16_blk_layout());
  Scene scene;
  B buffers = scene.buffers();
  GetParam().spoil(scene, buffers);
  expect_refusal([&](MockEncoder& encoder) { families::encode_bf16_prefill(encoder, {attention, &pad, &blk}, scene.parameters, buffers); },
                 GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(Common, Bf16PrefillRefusal, ::testing::ValuesIn(common_refusals()),
                         [](const auto& parameter) { return parameter.param.name; });
INSTANTIATE_TEST_SUITE_P(Own, Bf16PrefillRefusal,
                         ::testing::Values(Refusal{"k_stride",
                                                   [](S& s, B&) {
                                                     s.parameters.k.token = 1032;
                                                     s.parameters.k.head = 131200;
                                                   },
                                                   {"nb11", "1032", "1024"}},
                                           Refusal{"v_stride",
                                                   [](S& s, B&) {
                                                     s.parameters.v.token = 1032;
                                                     s.parameters.v.head = 131200;
                                                   },
                                                   {"nb21", "1032", "1024"}},
                                           Refusal{"float_q",
                                                   [](S& s, B&) { s.parameters.q_element = metal::ScalarType::float32; },
                                                   {"q_element", "float", "bfloat"}},
                                           Refusal{"q", [](S& s, B& b) { b.tensors.q = {&s.q, 4}; }, {"q", "73724", "73728"}},
                                           Refusal{"pad", [](S& s, B& b) { b.pad = {&s.pad, 256}; }, {"pad", "528640", "528896"}},
                                           Refusal{"blk", [](S& s, B& b) { b.blk = {&s.blk, 4}; }, {"blk", "12", "16"}}),
                         [](const auto& parameter) { return parameter.param.name; });

class Bf16VecRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(Bf16VecRefusal, NamesFieldAndValues) {
  const BoundKernel kernel = bound("bf16_vec", bf16_vec_layout());
  Scene scene;
  metal::Buffer q(147456);
  scene.parameters.q_element = metal::ScalarType::float32;
  scene.parameters.q = {2048, 18432, 73728};
  B buffers = scene.buffers();
  buffers.tensors.q = {&q};
  GetParam().spoil(scene, buffers);
  expect_refusal([&](MockEncoder& encoder) { families::encode_bf16_vec(encoder, kernel, {scene.parameters, 4}, buffers.tensors); },
                 GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(Common, Bf16VecRefusal, ::testing::ValuesIn(common_refusals()),
                         [](const auto& parameter) { return parameter.param.name; });
INSTANTIATE_TEST_SUITE_P(Own, Bf16VecRefusal,
                         ::testing::Values(Refusal{"bfloat_q",
                                                   [](S& s, B&) { s.parameters.q_element = metal::ScalarType::bfloat16; },
                                                   {"q_element", "float", "bfloat"}},
                                           Refusal{"q", [](S& s, B& b) { b.tensors.q = {&s.q}; }, {"q", "73728", "147456"}},
                                           Refusal{"mask_is_q", [](S&, B& b) { b.tensors.mask = b.tensors.q; }, {"mask", "offset 0"}}),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(Bf16VecDispatch, OtherNumbersOfSimdgroupsAreRefused) {
  const BoundKernel kernel = bound("bf16_vec", bf16_vec_layout());
  Scene scene;
  scene.parameters.q_element = metal::ScalarType::float32;
  scene.parameters.q = {2048, 18432, 73728};
  for (const std::uint32_t nsg : {0U, 3U, 8U}) {
    expect_refusal([&](MockEncoder& encoder) { families::encode_bf16_vec(encoder, kernel, {scene.parameters, nsg}, scene.tensors()); },
                   {"nsg", std::to_string(nsg), "1, 2 or 4"});
  }
}

TEST(Bf16PrefillDispatch, HelpersAreNeededAndKernelsMustBeCompiledForTheCase) {
  Scene scene;
  const BoundKernel attention = bound("bf16_prefill", bf16_prefill_layout(), prefill_constants(true, true));
  const BoundKernel unmasked = bound("bf16_prefill", bf16_prefill_layout(), prefill_constants(false, true));
  const BoundKernel whole = bound("bf16_prefill", bf16_prefill_layout(), prefill_constants(true, false));
  const BoundKernel pad = bound("bf16_pad", bf16_pad_layout(), pad_constants(true));
  const BoundKernel unmasked_pad = bound("bf16_pad", bf16_pad_layout(), pad_constants(false));
  const BoundKernel blk = bound("bf16_blk", bf16_blk_layout());
  const auto launch = [&](const BoundKernel& kernel, const BoundKernel* pad_kernel, const BoundKernel* blk_kernel) {
    return [&, pad_kernel, blk_kernel](MockEncoder& encoder) {
      families::encode_bf16_prefill(encoder, {kernel, pad_kernel, blk_kernel}, scene.parameters, scene.buffers());
    };
  };
  expect_refusal(launch(attention, nullptr, &blk), {"pad", "100", "64"});
  expect_refusal(launch(attention, &pad, nullptr), {"blk", "mask"});
  expect_refusal(launch(unmasked, &pad, &blk), {"300", "false", "true"});
  expect_refusal(launch(whole, &pad, &blk), {"304", "false", "true"});
  expect_refusal(launch(attention, &unmasked_pad, &blk), {"100", "false", "true"});
}

}  // namespace
}  // namespace assay::tests::bf16_dispatch_test
