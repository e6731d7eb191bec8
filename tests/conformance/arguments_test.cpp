// How a kernel may write its arguments: arrays, references to structs in any space, and what may feed them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metal/compile/library.h"
#include "metal/compile/pipeline.h"
#include "metal/errors.h"
#include "tests/conformance/execute.h"

namespace assay::tests::arguments_test {
namespace {

using namespace ::testing;

std::string with_library(std::string_view source) { return "#include <metal_stdlib>\nusing namespace metal;\n" + std::string(source); }

std::vector<std::uint32_t> floats(std::initializer_list<float> values) {
  std::vector<std::uint32_t> words;
  for (const float value : values) words.push_back(std::bit_cast<std::uint32_t>(value));
  return words;
}
float number(std::uint32_t word) { return std::bit_cast<float>(word); }

TEST(ArrayArgument, IsAPointerToItsElements) {
  const std::string source = with_library(R"(
kernel void test(device float data[] [[buffer(0)]], constant float table[4] [[buffer(1)]], device const half4 v[] [[buffer(2)]],
                 const device int (&pair)[2] [[buffer(3)]], device const float rows[][2] [[buffer(4)]], threadgroup float scratch[] [[threadgroup(0)]],
                 uint t [[thread_index_in_threadgroup]]) {
  scratch[t] = table[t % 4];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  data[t] = scratch[t ^ 1] + float(v[1].z) + pair[1] + rows[1][1];
}
template <typename T> kernel void add(device T x[] [[buffer(0)]], constant T y[2] [[buffer(1)]], uint t [[thread_index_in_threadgroup]]) { x[t] = y[0] + y[1]; }
template [[host_name("add_float")]] kernel void add<float>(device float x[] [[buffer(0)]], constant float y[2] [[buffer(1)]], uint t [[thread_index_in_threadgroup]]);
)");
  const auto outcome = execute(
      {.source = source, .inputs = {floats({1, 2, 3, 4}), {0, 0, 0, 0x4400}, {0, 10}, floats({0, 0, 0, 100})}, .threadgroup_bytes = 128});
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(number(outcome.output[t]), static_cast<float>((t % 4 ^ 1) + 1) + 4 + 10 + 100);
  EXPECT_EQ(number(execute({.source = source, .kernel = "add_float", .inputs = {floats({1, 2})}}).output[31]), 3.0f);

  const auto library = metal::Library::from_source(source, "test.metal");
  const auto& layout = library->pipeline({"test", {}})->layout();
  EXPECT_EQ(layout.find("table")->size, 4u);
  EXPECT_TRUE(layout.find("table")->is_const);
  EXPECT_EQ(layout.find("v")->element, metal::ScalarType::float16);
  EXPECT_EQ(layout.find("v")->element_count, 4u);
  EXPECT_FALSE(layout.find("data")->is_reference);
}

// The host sets the fields of structs within a struct one by one, whether or not their types have names.
TEST(StructArgument, HasTheFieldsOfStructsWithinIt) {
  const auto library = metal::Library::from_source(with_library(R"(
struct Pitch { long batch; packed_float3 colour; };
typedef struct { Pitch rows; half weight; } Walk;
struct Job { uint n; Walk walk; Pitch each[2]; float2x2 turn; struct { int low; } part; };
kernel void test(device float* out [[buffer(0)]], constant Job& job [[buffer(1)]]) { out[0] = job.walk.rows.batch + job.n + job.part.low; }
)"),
                                                   "test.metal");
  const metal::StructLayout& job = *library->pipeline({"test", {}})->layout().find("job")->layout;
  std::vector<std::string> fields;
  for (const metal::StructField& field : job.fields)
    fields.push_back(fmt::format("{} {} {} {}", field.name, field.offset, metal::to_string(field.type), field.count));
  EXPECT_THAT(fields,
              ElementsAre("n 0 uint32 1", "walk 8 other 1", "walk.rows 8 other 1", "walk.rows.batch 8 int64 1",
                          "walk.rows.colour 16 float32 3", "walk.weight 32 float16 1", "each 40 other 2", "each[0].batch 40 int64 1",
                          "each[0].colour 48 float32 3", "turn 88 other 1", "part 104 other 1", "part.low 104 int32 1"));
}

constexpr std::string_view kStructs = R"(
struct P { uint n; float scale; };
struct State { uint count; float sums[3]; void add(float x) device { sums[count] = x; ++count; } };
kernel void test(device float* out, device const P& params [[buffer(1)]], const device P& more [[buffer(2)]], P device const& third [[buffer(3)]],
                 uint t [[thread_index_in_threadgroup]]) { out[t] = params.scale * params.n + more.n + third.scale; }
kernel void writes(device float* out, device State& state [[buffer(1)]], uint t [[thread_index_in_threadgroup]]) {
  if (t == 0) { state.add(5); state.sums[2] = 7; }
  simdgroup_barrier(mem_flags::mem_device);
  out[t] = state.sums[0] + state.count + state.sums[2];
}
)";

TEST(StructReference, LiesInDeviceMemoryToo) {
  const auto outcome =
      execute({.source = with_library(kStructs), .inputs = {{3, 0x40000000}, {10, 0}, {0, std::bit_cast<std::uint32_t>(100.0f)}}});
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(number(outcome.output[t]), 116.0f);
  const auto written = execute({.source = with_library(kStructs), .kernel = "writes", .inputs = {{0, 0, 0, 0}}});
  EXPECT_TRUE(written.hazards.empty());
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(number(written.output[t]), 13.0f);
}

// MLX feeds `const device size_t&` with setBytes.
TEST(StructReference, IsFedByBytesIfTheKernelCannotWriteToIt) {
  const auto library = metal::Library::from_source(with_library(kStructs), "test.metal");
  metal::Simulator simulator({library});
  metal::Buffer output(128);
  const std::array<std::uint32_t, 4> words = {3, 0x40000000, 0, 0};
  simulator.set_buffer(0, {&output, 0});
  for (const std::uint32_t index : {1u, 2u, 3u}) simulator.set_bytes(index, std::as_bytes(std::span(words)));
  simulator.set_pipeline({"test", {}});
  simulator.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(output.as<float>()[31], 2.0f * 3 + 3 + 2);
  simulator.set_pipeline({"writes", {}});
  try {
    simulator.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
    FAIL() << "written to a copy";
  } catch (const metal::EncodeError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'state'"), HasSubstr("writable device reference"), HasSubstr("set_bytes")));
  }
}

}  // namespace
}  // namespace assay::tests::arguments_test
