// How a kernel's arguments and struct fields are joined to the contract, and what is an ABI mismatch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "families/fwht/launch.h"
#include "families/registry.h"
#include "metal/errors.h"
#include "tests/contract/recording_encoder.h"

namespace assay::tests::binding_test {
namespace {

using namespace ::testing;
using enum metal::ScalarType;

void expect_mismatch(std::string_view family, metal::ArgumentLayout layout, const std::vector<std::string>& words) {
  try {
    bound(family, std::move(layout));
    ADD_FAILURE() << "nothing was refused";
  } catch (const metal::AbiMismatch& mismatch) {
    EXPECT_THAT(mismatch.what(), HasSubstr("test.metal:7: "));
    for (const std::string& word : words) EXPECT_THAT(mismatch.what(), HasSubstr(word));
  }
}

std::vector<std::byte> packed_fwht(const kernels::BoundKernel& kernel, std::uint32_t params_index, std::uint32_t data_index) {
  metal::Buffer data(2048);
  ::testing::NiceMock<MockEncoder> encoder;
  std::vector<std::byte> bytes;
  EXPECT_CALL(encoder, set_bytes(params_index, _)).WillOnce([&](std::uint32_t, std::span<const std::byte> packed) {
    bytes.assign(packed.begin(), packed.end());
  });
  EXPECT_CALL(encoder, set_buffer(data_index, _));
  families::encode_fwht(encoder, kernel, {.head_dim = 256, .num_heads = 2}, {&data});
  return bytes;
}

TEST(Binding, TheContractsOwnLayoutsBindWithoutNotes) {
  EXPECT_THAT(bound("tq4", tq4_layout()).notes(), IsEmpty());
  EXPECT_THAT(bound("reduce", reduce_layout()).notes(), IsEmpty());
  EXPECT_THAT(bound("fwht", fwht_layout()).notes(), IsEmpty());
}

TEST(Binding, NamesWinOverIndices) {
  metal::ArgumentLayout layout = fwht_layout();
  std::swap(layout.arguments[0].index, layout.arguments[1].index);
  packed_fwht(bound("fwht", layout), 0, 1);
}

TEST(Binding, ReorderedAndAdditionalFieldsAreFilledByNameAndReported) {
  metal::ArgumentLayout layout = fwht_layout();
  layout.arguments[1].layout->size = 24;
  layout.arguments[1].layout->fields = {field("num_heads", uint32, 0), field("gain", float32, 4), field("flags", uint64, 8),
                                        field("head_dim", uint32, 16)};
  kernels::KernelEntry entry = entry_of(layout);
  entry.fields.emplace("gain", metal::FieldValue::of(std::int64_t{3}));
  entry.fields.emplace("flags", metal::FieldValue::of(std::uint64_t{0x100000002}));
  const kernels::BoundKernel kernel(families::contract("fwht"), entry);
  EXPECT_THAT(kernel.notes(), ::testing::Contains(HasSubstr("a different order")));
  EXPECT_THAT(kernel.notes(), ::testing::Contains(HasSubstr("gain")));

  const std::vector<std::byte> bytes = packed_fwht(kernel, 1, 0);
  ASSERT_EQ(bytes.size(), 24U);
  EXPECT_EQ(word_at(bytes, 0), 2U) << "num_heads";
  EXPECT_EQ(float_at(bytes, 4), 3.0F) << "gain";
  EXPECT_EQ(word_at(bytes, 8), 2U) << "flags, low";
  EXPECT_EQ(word_at(bytes, 12), 1U) << "flags, high";
  EXPECT_EQ(word_at(bytes, 16), 256U) << "head_dim";
  EXPECT_EQ(word_at(bytes, 20), 0U) << "padding";
}

TEST(Binding, BindTableOtherLettersAndIndexStandInForTheName) {
  metal::ArgumentLayout layout = tq4_layout();
  layout.arguments[1].name = "q";         // other letters
  layout.arguments[2].name = "keys";      // index 2
  layout.arguments[3].name = "key_norm";  // [bind], at an index of its own
  layout.arguments[3].index = 12;
  kernels::KernelEntry entry = entry_of(layout);
  entry.bind.emplace("K_norms", "key_norm");
  const kernels::BoundKernel kernel(families::contract("tq4"), entry);
  EXPECT_THAT(kernel.notes(), ::testing::UnorderedElementsAre(HasSubstr("'q' is used as Q"), HasSubstr("'keys' is used as K_packed")));
  EXPECT_EQ(kernel.contract_name(kernel.entry().layout.arguments[3]), "K_norms");
}

TEST(Binding, PackedIndicesMayBeReadThroughWiderIntegers) {
  metal::ArgumentLayout layout = tq4_layout();
  layout.arguments[2].element = uint32;
  EXPECT_NO_THROW(bound("tq4", layout));
}

TEST(Binding, ParametersMayLieInDeviceMemoryThatTheKernelOnlyReads) {
  metal::ArgumentLayout layout = fwht_layout();
  layout.arguments[1].space = metal::AddressSpace::device;
  EXPECT_EQ(word_at(packed_fwht(bound("fwht", layout), 1, 0), 0), 256U) << "head_dim";
  metal::ArgumentLayout reduce = reduce_layout();
  reduce.arguments[3].space = metal::AddressSpace::device;
  EXPECT_NO_THROW(bound("reduce", reduce));
}

TEST(Binding, AKernelWithItsOwnThreadgroupMemoryGetsNoLength) {
  metal::ArgumentLayout layout = tq4_layout();
  layout.arguments.pop_back();
  layout.static_threadgroup_bytes = 4096;
  const kernels::BoundKernel kernel = bound("tq4", layout);
  ::testing::StrictMock<MockEncoder> encoder;
  kernel.set_threadgroup_memory(encoder, 1792);
}

TEST(Binding, ThreadgroupMemoryBeyondTheLimitIsAnErrorWithAllFigures) {
  metal::ArgumentLayout layout = tq4_layout();
  layout.static_threadgroup_bytes = 32768 - 1792;
  ::testing::NiceMock<MockEncoder> encoder;
  bound("tq4", layout).set_threadgroup_memory(encoder, 1792);
  layout.static_threadgroup_bytes += 16;
  try {
    bound("tq4", layout).set_threadgroup_memory(encoder, 1792);
    ADD_FAILURE() << "nothing was refused";
  } catch (const metal::EncodeError& error) {
    for (const char* word : {"test.metal:7", "flash_attn_vec_tq_dk256", "32784", "30992", "1792", "32768"})
      EXPECT_THAT(error.what(), HasSubstr(word));
  }
}

TEST(Binding, AKernelThatDeclaresTooMuchThreadgroupMemoryIsRefusedBeforeAnythingRuns) {
  metal::ArgumentLayout layout = fwht_layout();
  layout.static_threadgroup_bytes = 40960;
  try {
    bound("fwht", layout);
    ADD_FAILURE() << "nothing was refused";
  } catch (const metal::EncodeError& error) {
    for (const char* word : {"test.metal:7", "fwht_sign_premult_f32_d256", "40960", "32768"}) EXPECT_THAT(error.what(), HasSubstr(word));
  }
}

struct Mismatch {
  const char* name;
  std::string family;
  std::function<void(metal::ArgumentLayout&)> spoil;
  std::vector<std::string> words;
};

class AbiMismatch : public ::testing::TestWithParam<Mismatch> {};

TEST_P(AbiMismatch, NamesWhatDoesNotFit) {
  metal::ArgumentLayout layout = GetParam().family == "tq4"      ? tq4_layout()
                                 : GetParam().family == "reduce" ? reduce_layout()
                                                                 : fwht_layout();
  GetParam().spoil(layout);
  expect_mismatch(GetParam().family, layout, GetParam().words);
}

using L = metal::ArgumentLayout;
INSTANTIATE_TEST_SUITE_P(
    All, AbiMismatch,
    ::testing::Values(
        Mismatch{"missing_argument", "tq4", [](L& l) { l.arguments.erase(l.arguments.begin() + 5); }, {"V_norms (buffer 5)"}},
        Mismatch{"missing_argument_of_an_unindexed_kernel",
                 "tq4",
                 [](L& l) {
                   l.arguments.erase(l.arguments.begin() + 5);
                   l.arguments[5].index = 5;
                 },
                 {"V_norms (buffer 5)", "dst (buffer 5)"}},
        Mismatch{"unknown_argument",
                 "fwht",
                 [](L& l) { l.arguments.push_back(buffer_argument("bias", 2, float32, true)); },
                 {"bias", "buffer 2", "data"}},
        Mismatch{"output_is_const", "fwht", [](L& l) { l.arguments[0].is_const = true; }, {"data", "writable"}},
        Mismatch{"input_of_other_type", "tq4", [](L& l) { l.arguments[1].element = float16; }, {"Q", "float"}},
        Mismatch{"norms_as_integers", "tq4", [](L& l) { l.arguments[3].element = uint32; }, {"K_norms", "float"}},
        Mismatch{"parameters_that_the_kernel_may_write",
                 "tq4",
                 [](L& l) {
                   l.arguments[0].space = metal::AddressSpace::device;
                   l.arguments[0].is_const = false;
                 },
                 {"params", "constant", "const device"}},
        Mismatch{"scalar_is_float", "reduce", [](L& l) { l.arguments[3].element = float32; }, {"nwg_param", "integer"}},
        Mismatch{"missing_field", "tq4", [](L& l) { l.arguments[0].layout->fields.pop_back(); }, {"ring_start", "n_heads"}},
        Mismatch{"retyped_to_float", "tq4", [](L& l) { l.arguments[0].layout->fields[9].type = float32; }, {"nwg", "uint"}},
        Mismatch{"retyped_to_integer", "tq4", [](L& l) { l.arguments[0].layout->fields[5].type = uint32; }, {"scale", "float"}},
        Mismatch{"retyped_to_half", "tq4", [](L& l) { l.arguments[0].layout->fields[5].type = float16; }, {"scale", "float"}},
        Mismatch{"field_is_an_array", "fwht", [](L& l) { l.arguments[1].layout->fields[0].count = 2; }, {"head_dim"}},
        Mismatch{"valueless_field",
                 "fwht",
                 [](L& l) { l.arguments[1].layout->fields.push_back(field("tile", uint32, 8)); },
                 {"tile", "--set tile=", "head_dim", "num_heads"}},
        Mismatch{
            "two_threadgroup_arguments", "tq4", [](L& l) { l.arguments.push_back(threadgroup_argument("more", 1)); }, {"shmem", "more"}},
        Mismatch{"threadgroup_argument_of_a_family_without",
                 "fwht",
                 [](L& l) { l.arguments.push_back(threadgroup_argument("scratch", 0)); },
                 {"scratch"}}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(AbiMismatchOfBindTable, NamesTheArgumentThatIsNotThere) {
  kernels::KernelEntry entry = entry_of(tq4_layout());
  entry.bind.emplace("dst", "output");
  try {
    kernels::BoundKernel(families::contract("tq4"), entry);
    ADD_FAILURE() << "nothing was refused";
  } catch (const metal::AbiMismatch& mismatch) {
    EXPECT_THAT(mismatch.what(), HasSubstr("[bind] dst = 'output'"));
  }
}

}  // namespace
}  // namespace assay::tests::binding_test
