// Explicit instantiations in every spelling, attributes wherever Metal takes them, arguments that exist under a function constant only.
//
// Source of all expectations: the Metal Shading Language Specification.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metal/library.h"
#include "tests/conformance/execute.h"

namespace assay::conformance {
namespace {

std::string with_library(std::string_view source) { return "#include <metal_stdlib>\nusing namespace metal;\n" + std::string(source); }

constexpr const char* kTemplate = R"(
template <typename T, int N = 2>
kernel void test(device T* out [[buffer(0)]], constant T* in [[buffer(1)]], threadgroup T* tile [[threadgroup(0)]],
                 uint lane [[thread_index_in_threadgroup]]) {
  tile[lane] = in[0];
  out[lane] = tile[lane] * T(N);
}
)";

void expect_doubled(const std::string& instantiation) {
  SCOPED_TRACE(instantiation);
  const auto outcome =
      execute({.source = with_library(kTemplate + instantiation), .kernel = "doubled", .inputs = {{21}}, .threadgroup_bytes = 128});
  EXPECT_TRUE(outcome.hazards.empty());
  EXPECT_THAT(outcome.output, testing::Each(42U));
}

TEST(Instantiations, MayRepeatParametersWithTheirAttributes) {
  expect_doubled(R"(template [[host_name("doubled")]] kernel void test<int>(device int* out [[buffer(0)]], constant int* in [[buffer(1)]],
      threadgroup int* tile [[threadgroup(0)]], uint lane [[thread_index_in_threadgroup]]);)");
  expect_doubled(R"(template [[host_name("doubled")]] [[kernel]] void test<int, 2>(device int* [[buffer(0)]], constant int* [[buffer(1)]],
      threadgroup int* [[threadgroup(0)]], uint [[thread_index_in_threadgroup]]);)");
  expect_doubled(R"(template [[host_name("dou" "bled")]] kernel void test<int>(device int*, constant int*, threadgroup int*, uint);)");
}

TEST(Instantiations, MayNameTheFunctionsType) {
  expect_doubled(R"(template [[host_name("doubled")]] [[kernel]] decltype(test<int>) test<int>;)");
  expect_doubled(R"(typedef decltype(test<int, 2>) test_t; template [[host_name("doubled")]] kernel test_t test<int, 2>;)");
}

TEST(Instantiations, MayComeFromNestedMacros) {
  expect_doubled(R"(
#define INSTANTIATE(name, T) template [[host_name(name)]] [[kernel]] void test<T>(device T* out [[buffer(0)]], constant T* in [[buffer(1)]], \
    threadgroup T* tile [[threadgroup(0)]], uint lane [[thread_index_in_threadgroup]]);
#define INSTANTIATE_BOTH(a, b, T) INSTANTIATE(#a #b, T) INSTANTIATE(#b "_" #a, T)
INSTANTIATE_BOTH(dou, bled, int))");
}

TEST(Attributes, OfCompilersChangeNothing) {
  const auto outcome = execute({.source = with_library(R"(
[[clang::always_inline]] static int one(int x) { return x; }
static inline int two [[clang::noinline]] (int x) { return 2 * x; }
struct [[gnu::packed]] Tight { char c; [[maybe_unused]] int n; };
[[deprecated("use two")]] [[nodiscard]] inline int three(int x) { return 3 * x; }
[[visible]] int four(int x) { return 4 * x; }
[[user_annotation("a")]] [[kernel]] [[max_total_threads_per_threadgroup(64)]] void test(
    device int* out [[buffer(0)]] [[maybe_unused]], [[maybe_unused]] uint lane [[thread_index_in_threadgroup]]) {
  [[clang::code_align(32)]] for (int i = 0; i < 2; ++i) [[likely]] { if (lane > 40) [[unlikely]] out[0] = 9; }
  switch (lane & 1) {
    case 0: out[lane] = one(1); [[clang::fallthrough]];
    case 1: out[lane] = two(1) + int(sizeof(Tight)); break;
    default: break;
  }
  [[unroll]] for (int i = 0; i < 2; ++i) out[lane] += three(1) + four(0);
}
[[early_fragment_tests]] fragment float4 shade(float4 p [[position]]) { return p; }
)")});
  EXPECT_TRUE(outcome.hazards.empty());
  EXPECT_THAT(outcome.output, testing::Each(2U + 5U + 6U));
}

TEST(Attributes, LimitThreadsWhereverTheyStand) {
  for (const std::string head : {"[[kernel]] [[max_total_threads_per_threadgroup(32 * 2)]] void test(device int* out)",
                                 "kernel void test [[max_total_threads_per_threadgroup(64)]] (device int* out)",
                                 "[[kernel, max_total_threads_per_threadgroup(64)]] void test(device int* out)",
                                 "kernel void test(device int* out) [[max_total_threads_per_threadgroup(64)]]"}) {
    SCOPED_TRACE(head);
    const auto library = metal::Library::from_source(with_library(head + " { out[0] = 1; }"), "test.metal");
    EXPECT_EQ(library->pipeline({"test", {}})->layout().max_total_threads, 64U);
  }
}

TEST(FunctionConstants, AloneDecideWhetherAnArgumentExists) {
  const std::string source = with_library(R"(
constant bool has_mask [[function_constant(0)]];
constant int kind [[function_constant(1)]];
constant bool has_bias = has_mask && kind == 2;
kernel void test(device int* out [[buffer(0)]], device const int* mask [[function_constant(has_mask)]],
                 constant int& bias [[function_constant(has_bias)]], uint lane [[thread_index_in_threadgroup]]) {
  out[lane] = 1;
  if (has_mask) out[lane] += mask[0];
  if (has_bias) out[lane] += bias;
})");
  const auto run = [&](bool mask, std::int64_t kind, std::vector<std::vector<std::uint32_t>> inputs) {
    return execute({.source = source, .inputs = std::move(inputs), .constants = {{0, mask}, {1, kind}}}).output[0];
  };
  EXPECT_EQ(run(false, 2, {}), 1U);
  EXPECT_EQ(run(true, 1, {{10}}), 11U);
  EXPECT_EQ(run(true, 2, {{10}, {100}}), 111U);
}

// The specification takes any constant expression of integers.
TEST(Attributes, TakeIndicesThatOnlyTheCompilerKnows) {
  const std::string source = with_library(R"(
constexpr uint next(uint n) { return n + 1; }
template <typename T> struct Traits;
template <> struct Traits<float> { static constant constexpr uint kIndex = 3; };
namespace inner {
struct Pair { int a, b; };
constant bool doubled [[function_constant(next(1))]];
kernel void test(device int* out [[buffer(next(0) - 1)]], device const int* a [[buffer(sizeof(Pair) / 8)]],
                 device const int* b [[buffer(next(1))]], device const int* c [[buffer(Traits<float>::kIndex)]]) {
  out[0] = (a[0] + 10 * b[0] + 100 * c[0]) * (doubled ? 2 : 1);
}
})");
  const auto outcome =
      execute({.source = source, .kernel = "inner::test", .inputs = {{1}, {2}, {3}}, .threads = {1, 1, 1}, .constants = {{2, true}}});
  EXPECT_EQ(outcome.output[0], 642U);
  const auto layout = metal::Library::from_source(source, "test.metal")->pipeline({"inner::test", {{2, true}}})->layout();
  EXPECT_EQ(layout.find("c")->index, 3U);
}

TEST(Attributes, ThatNobodyCanEvaluateAreRefused) {
  EXPECT_THAT(
      failure({.source = with_library("int run_time(int n);\nkernel void test(device int* out [[buffer(run_time(0))]]) { out[0] = 1; }")}),
      testing::AllOf(testing::StartsWith("test.metal:4: error:"), testing::HasSubstr("[[buffer(run_time(0))]] is not known")));
}

}  // namespace
}  // namespace assay::conformance
