// A mock encoder and the pieces that the contract tests build their kernels from.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "families/registry.h"
#include "kernels/binding.h"
#include "metal/argument_layout.h"
#include "metal/devices/encoder.h"

namespace assay::tests {

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

MATCHER_P(Function, name, "") { return arg.function == name && arg.constants.empty(); }
MATCHER_P2(Function, name, constants, "") { return arg.function == name && arg.constants == constants; }
MATCHER_P(IsView, buffer, "") { return arg.buffer == buffer && arg.offset == 0; }
MATCHER_P2(IsView, buffer, offset, "") { return arg.buffer == buffer && arg.offset == std::size_t{offset}; }

// What one set_bytes carried.
inline auto save_to(std::vector<std::byte>& bytes) {
  return [&bytes](std::uint32_t, std::span<const std::byte> data) { bytes.assign(data.begin(), data.end()); };
}

// The launch encodes nothing, and its refusal holds all of these words: the field and both values.
template <typename Launch>
void expect_refusal(const Launch& launch, const std::vector<std::string>& words) {
  testing::StrictMock<MockEncoder> encoder;  // any call fails the test
  try {
    launch(encoder);
    ADD_FAILURE() << "nothing was refused";
  } catch (const std::invalid_argument& refusal) {
    for (const std::string& word : words) EXPECT_THAT(refusal.what(), testing::HasSubstr(word));
  }
}

// The little-endian word at a byte offset.
inline std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}
inline float float_at(std::span<const std::byte> bytes, std::size_t offset) {
  float value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// A field as reflection would report it; the offsets are the caller's literals.
inline metal::StructField field(std::string name, metal::ScalarType type, std::size_t offset) {
  return {name, std::string(metal::to_string(type)), type, 1, offset, metal::size_of(type)};
}

inline metal::BoundArgument buffer_argument(std::string name, std::uint32_t index, metal::ScalarType element, bool is_const) {
  metal::BoundArgument argument;
  argument.name = std::move(name);
  argument.index = index;
  argument.is_const = is_const;
  argument.element = element;
  argument.type_name = metal::to_string(element);
  argument.size = metal::size_of(element);
  return argument;
}

inline metal::BoundArgument struct_argument(std::string name, std::uint32_t index, metal::StructLayout layout) {
  metal::BoundArgument argument;
  argument.name = std::move(name);
  argument.space = metal::AddressSpace::constant;
  argument.index = index;
  argument.is_reference = true;
  argument.is_const = true;
  argument.type_name = layout.name;
  argument.size = layout.size;
  argument.layout = std::move(layout);
  return argument;
}

inline metal::BoundArgument scalar_argument(std::string name, std::uint32_t index) {
  metal::BoundArgument argument = buffer_argument(std::move(name), index, metal::ScalarType::uint32, true);
  argument.space = metal::AddressSpace::constant;
  argument.is_reference = true;
  return argument;
}

inline metal::BoundArgument threadgroup_argument(std::string name, std::uint32_t index) {
  metal::BoundArgument argument = buffer_argument(std::move(name), index, metal::ScalarType::float16, false);
  argument.space = metal::AddressSpace::threadgroup;
  return argument;
}

inline metal::ArgumentLayout layout_of(std::string function, std::vector<metal::BoundArgument> arguments) {
  metal::ArgumentLayout layout;
  layout.function = std::move(function);
  layout.file = "test.metal";
  layout.line = 7;
  layout.arguments = std::move(arguments);
  return layout;
}

inline kernels::KernelEntry entry_of(metal::ArgumentLayout layout) {
  kernels::KernelEntry entry;
  entry.pipeline.function = layout.function;
  entry.layout = std::move(layout);
  return entry;
}

inline std::uint64_t long_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// The arguments and structs that the contract writes down, spelled out byte by byte.
metal::ArgumentLayout tq4_layout(const std::string& function = "flash_attn_vec_tq_dk256");
metal::ArgumentLayout tq4_blocks_layout(const std::string& function);  // tq4_v2
metal::ArgumentLayout tqhb_layout(const std::string& function);        // tqhb_v1
metal::ArgumentLayout tqhb_banks_layout(const std::string& function);  // tqhb_v2
metal::ArgumentLayout reduce_layout(const std::string& function = "flash_attn_vec_reduce_dk256");
metal::ArgumentLayout fwht_layout(const std::string& function = "fwht_sign_premult_f32_d256");
metal::ArgumentLayout quantize4_layout(const std::string& function);
metal::ArgumentLayout quantizehb_layout(const std::string& function);
metal::ArgumentLayout dequantize_layout(const std::string& function, bool is_4bit);
metal::ArgumentLayout bf16_prefill_layout();
metal::ArgumentLayout bf16_vec_layout();
metal::ArgumentLayout bf16_pad_layout();
metal::ArgumentLayout bf16_blk_layout();

inline kernels::BoundKernel bound(std::string_view family, metal::ArgumentLayout layout,
                                  const std::map<std::uint32_t, metal::FunctionConstant>& constants = {}) {
  kernels::KernelEntry entry = entry_of(std::move(layout));
  entry.pipeline.constants = constants;
  return {families::contract(family), std::move(entry)};
}

}  // namespace assay::tests
