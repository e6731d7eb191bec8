// The launch code of another project, executed by the installed simulator.
#include "launch/hadamard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "harness/judge/judge.h"
#include "metal/buffer.h"
#include "metal/compile/library.h"
#include "metal/devices/simulator.h"
#include "oracles/fwht.h"

namespace {

namespace metal = assay::metal;
using namespace ::testing;

class MockEncoder : public metal::ComputeEncoder {
 public:
  MOCK_METHOD(void, set_pipeline, (const metal::PipelineDescriptor&), (override));
  MOCK_METHOD(void, set_buffer, (std::uint32_t, metal::BufferView), (override));
  MOCK_METHOD(void, set_bytes, (std::uint32_t, std::span<const std::byte>), (override));
  MOCK_METHOD(void, set_threadgroup_memory_length, (std::uint32_t, std::size_t), (override));
  MOCK_METHOD(void, memory_barrier, (), (override));
  MOCK_METHOD(void, dispatch_threadgroups, (metal::Size3, metal::Size3), (override));
  MOCK_METHOD(void, dispatch_threads, (metal::Size3, metal::Size3), (override));
};

TEST(Hadamard, DispatchesOneSimdgroupARow) {
  metal::Buffer rows(3 * 512 * sizeof(float));
  StrictMock<MockEncoder> encoder;
  InSequence order;
  EXPECT_CALL(encoder, set_pipeline(Field(&metal::PipelineDescriptor::function, "hadamard_rows_512")));
  std::vector<std::uint32_t> shape(2);
  EXPECT_CALL(encoder, set_bytes(0, _)).WillOnce([&](std::uint32_t, std::span<const std::byte> bytes) {
    ASSERT_EQ(bytes.size(), 8U);
    std::memcpy(shape.data(), bytes.data(), bytes.size());
  });
  EXPECT_CALL(encoder, set_buffer(1, Field(&metal::BufferView::buffer, &rows)));
  EXPECT_CALL(encoder, dispatch_threadgroups(metal::Size3{3, 1, 1}, metal::Size3{32, 1, 1}));
  encode_hadamard(encoder, 3, 512, {&rows});
  EXPECT_THAT(shape, testing::ElementsAre(3, 512));
}

TEST(Hadamard, RefusesWhatNoKernelTakes) {
  metal::Buffer rows(4);
  StrictMock<MockEncoder> encoder;
  EXPECT_THROW(encode_hadamard(encoder, 1, 128, {&rows}), std::invalid_argument);
  EXPECT_THROW(encode_hadamard(encoder, 0, 256, {&rows}), std::invalid_argument);
}

// The transform of a unit vector is a row of the matrix: every element 1/16, its signs those of the index's bits.
TEST(Hadamard, TransformsAUnitVectorOnTheSimulator) {
  constexpr unsigned kIndex = 37;
  const auto library = metal::Library::from_file(KERNEL);
  metal::Buffer rows(256 * sizeof(float), "rows");
  for (float& value : rows.as<float>()) value = 0.0F;
  rows.as<float>()[kIndex] = 1.0F;
  metal::Simulator simulator({library});
  encode_hadamard(simulator, 1, 256, {&rows});
  const auto values = rows.as<float>();
  for (unsigned j = 0; j < values.size(); ++j) {
    const bool is_negative = __builtin_parity(j & kIndex) != 0;
    ASSERT_EQ(values[j], is_negative ? -0.0625F : 0.0625F) << "element " << j;
  }
}

// The oracle and the judge of assay, without its command.
TEST(Hadamard, IsWithinTheBoundOfTheOracle) {
  const auto library = metal::Library::from_file(KERNEL);
  metal::Buffer rows(3 * 512 * sizeof(float), "rows");
  std::vector<float> inputs(3 * 512);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<float>(i % 37) - 18.3F;
  std::ranges::copy(inputs, rows.as<float>().begin());
  metal::Simulator simulator({library});
  encode_hadamard(simulator, 3, 512, {&rows});
  const auto expected = assay::oracles::fwht(inputs, 512, assay::oracles::FwhtMode::plain);
  const auto judgement = assay::harness::judge(rows.as<float>(), expected);
  EXPECT_TRUE(judgement.passed()) << judgement.max_ratio;
  EXPECT_EQ(judgement.compared, inputs.size());
}

}  // namespace
