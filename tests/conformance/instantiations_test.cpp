// Explicit instantiations in every spelling, attributes wherever Metal takes them, arguments that exist under a function constant only.
//
// Source of all expectations: the Metal Shading Language Specification.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "metal/compile/library.h"
#include "tests/conformance/execute.h"

namespace assay::tests::instantiations_test {
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

constexpr std::string_view kDependent = R"(
constexpr int kFirst = 1;
template <typename T> struct Slots { static constant constexpr int kSecond = sizeof(T) / 2; };
template <int N> kernel void plain(device int* out [[buffer(0)]], device const int* a [[buffer(N)]], threadgroup int* t [[threadgroup(N - 1)]],
                                   uint lane [[thread_index_in_threadgroup]]) { t[lane] = 10 * a[0]; out[lane] = t[lane] + N; }
template [[host_name("plain_1")]] kernel void plain<1>(device int*, device const int*, threadgroup int*, uint);
template [[host_name("plain_2")]] kernel void plain<2>(device int* out [[buffer(0)]], device const int* a [[buffer(2)]], threadgroup int* t, uint lane);
template [[host_name("plain_3")]] kernel decltype(plain<3>) plain<3>;
namespace inner {
#define INDEX(x) [[buffer(x)]]
template <typename T, int N = 2, bool Far = false>
kernel void typed(device T* a INDEX(sizeof(T) / 4), device int* out [[buffer(0)]], constant int& b INDEX(Slots<T>::kSecond + N + (Far ? kFirst : 0)),
                  device const int* c, uint lane [[thread_index_in_threadgroup]]) { out[lane] = int(a[0]) + 10 * b + 100 * c[0]; }
#define ONE(name, ...) template [[host_name(name)]] kernel void typed<__VA_ARGS__>
ONE("float_2", float)(device float*, device int*, constant int&, device const int*, uint);
ONE("float_3", float, 3, true)(device float*, device int*, constant int&, device const int*, uint);
template [[host_name("deduced")]] kernel void typed(device long*, device int*, constant int&, device const int*, uint);
}
template [[host_name("outside")]] kernel void inner::typed<long, 1>(device long*, device int*, constant int&, device const int*, uint);
template [[host_name("by_type")]] kernel decltype(inner::typed<int, 7>) inner::typed<int, 7>;
template <typename... T> kernel void counted(device int* out [[buffer(sizeof...(T) - 1)]]) { out[0] = sizeof...(T); }
template [[host_name("counted_1")]] kernel void counted<float>(device int*);
template [[host_name("counted_2")]] kernel void counted<float, int>(device int*);
template <int kFirst> kernel void hidden(device int* out [[buffer(kFirst)]]) { out[0] = kFirst; }
template [[host_name("hidden_0")]] kernel void hidden<0>(device int*);
template <> kernel void hidden<9>(device int* out [[buffer(0)]]) { out[0] = 99; }
template [[host_name("hidden_4")]] kernel void hidden<4>(device int*);
constant bool has_extra [[function_constant(0)]];
template <int N> kernel void optional(device int* out, device const int* extra [[buffer(N), function_constant(has_extra)]]) { out[0] = N; if (has_extra) out[0] += extra[0]; }
template [[host_name("optional_1")]] kernel void optional<1>(device int*, device const int*);
template [[host_name("optional_5")]] kernel void optional<5>(device int*, device const int*);
template <int N> kernel void couple(device int* a [[buffer(N)]], device int* b [[buffer(1)]]) { a[0] = b[0]; }
template [[host_name("couple_0")]] kernel void couple<0>(device int*, device int*);
template [[host_name("couple_1")]] kernel void couple<1>(device int*, device int*);
template [[host_name("couple_31")]] kernel void couple<31>(device int*, device int*);
template [[host_name("couple_minus")]] kernel void couple<-1>(device int*, device int*);
)";

// The arguments that each instantiation binds, by name and index.
TEST(Attributes, OfATemplateMayDependOnItsParameters) {
  const auto library = metal::Library::from_source(with_library(kDependent), "test.metal");
  const auto indices = [&](std::string kernel, std::map<std::uint32_t, metal::FunctionConstant> constants = {}) {
    std::map<std::string, std::uint32_t> declared;
    std::map<std::string, std::uint32_t> compiled;
    const auto function = std::ranges::find(library->functions(), kernel, &metal::FunctionDeclaration::name);
    for (const auto& argument : function->arguments) declared[argument.name] = argument.index;
    for (const auto& argument : library->pipeline({kernel, std::move(constants)})->layout().arguments)
      compiled[argument.name] = argument.index;
    EXPECT_EQ(declared, compiled) << kernel;
    return declared;
  };
  using Indices = std::map<std::string, std::uint32_t>;
  EXPECT_EQ(indices("plain_1"), (Indices{{"out", 0}, {"a", 1}, {"t", 0}}));
  EXPECT_EQ(indices("plain_2"), (Indices{{"out", 0}, {"a", 2}, {"t", 1}}));
  EXPECT_EQ(indices("plain_3"), (Indices{{"out", 0}, {"a", 3}, {"t", 2}}));
  // sizeof(float) / 4 = 1, 4 / 2 + 2 = 4; what has no index gets the first that is free.
  EXPECT_EQ(indices("float_2"), (Indices{{"a", 1}, {"out", 0}, {"b", 4}, {"c", 2}}));
  EXPECT_EQ(indices("float_3"), (Indices{{"a", 1}, {"out", 0}, {"b", 6}, {"c", 2}}));  // 2 + 3 + 1
  EXPECT_EQ(indices("deduced"), (Indices{{"a", 2}, {"out", 0}, {"b", 6}, {"c", 1}}));  // 8 / 2 + 2
  EXPECT_EQ(indices("outside"), (Indices{{"a", 2}, {"out", 0}, {"b", 5}, {"c", 1}}));
  EXPECT_EQ(indices("by_type"), (Indices{{"a", 1}, {"out", 0}, {"b", 9}, {"c", 2}}));
  EXPECT_EQ(indices("counted_1"), (Indices{{"out", 0}}));
  EXPECT_EQ(indices("counted_2"), (Indices{{"out", 1}}));
  EXPECT_EQ(indices("hidden_0"), (Indices{{"out", 0}}));  // the parameter, not the constant of the same name
  EXPECT_EQ(indices("hidden_4"), (Indices{{"out", 4}}));  // the template's, not the specialisation's
  EXPECT_EQ(indices("hidden<9>"), (Indices{{"out", 0}}));
  EXPECT_EQ(indices("optional_1", {{0, true}}), (Indices{{"out", 0}, {"extra", 1}}));
  EXPECT_EQ(indices("optional_5", {{0, true}}), (Indices{{"out", 0}, {"extra", 5}}));
  EXPECT_EQ(indices("couple_0"), (Indices{{"a", 0}, {"b", 1}}));
  // What cannot be is refused for that instantiation alone.
  std::map<std::string, std::string> refused;
  for (const auto& function : library->refused()) refused[function.name] = function.reason;
  EXPECT_EQ(refused.size(), 3U);
  EXPECT_THAT(refused["couple_1"], testing::AllOf(testing::HasSubstr("'a' and 'b'"), testing::HasSubstr("[[buffer(1)]]")));
  EXPECT_THAT(refused["couple_31"],
              testing::AllOf(testing::HasSubstr("[[buffer(N)]], which is 31 in 'couple<31>'"), testing::HasSubstr("0 to 30")));
  EXPECT_THAT(refused["couple_minus"], testing::HasSubstr("which is -1 in 'couple<-1>'"));
}

TEST(Attributes, OfATemplateBindWhatTheHostBindsThere) {
  const auto run = [](std::string kernel, std::vector<std::vector<std::uint32_t>> inputs) {
    metal::Simulator simulator({metal::Library::from_source(with_library(kDependent), "test.metal")}, {});
    simulator.set_pipeline({std::move(kernel), {}});
    metal::Buffer output(32 * sizeof(std::uint32_t), "output");
    simulator.set_buffer(0, {&output, 0});
    std::vector<std::unique_ptr<metal::Buffer>> buffers;
    for (const auto& words : inputs) {
      buffers.push_back(metal::Buffer::of<std::uint32_t>(words));
      simulator.set_buffer(static_cast<std::uint32_t>(buffers.size()), {buffers.back().get(), 0});
    }
    for (std::uint32_t index = 0; index < 3; ++index) simulator.set_threadgroup_memory_length(index, 128);
    simulator.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
    EXPECT_TRUE(simulator.hazards().empty());
    return output.as<std::uint32_t>()[31];
  };
  const std::vector<std::vector<std::uint32_t>> inputs = {{3}, {4, 0}, {5}, {6, 0}, {7}, {8, 0}};
  EXPECT_EQ(run("plain_1", inputs), 31U);  // 10 * 3 + 1
  EXPECT_EQ(run("plain_2", inputs), 42U);
  EXPECT_EQ(run("plain_3", inputs), 53U);
  EXPECT_EQ(run("outside", inputs), 4U + 70U + 300U);  // a at 2, b at 5, c at 1
}

TEST(Attributes, ThatCannotBeEvaluatedAreRefused) {
  EXPECT_THAT(
      failure({.source = with_library("int run_time(int n);\ntemplate <int N> kernel void f(device int* out [[buffer(run_time(N))]]) { "
                                      "out[0] = 1; }\ntemplate [[host_name(\"test\")]] kernel void f<1>(device int*);")}),
      testing::AllOf(testing::StartsWith("test.metal:5: error:"), testing::HasSubstr("'out'"),
                     testing::HasSubstr("[[buffer(run_time(N))]] of 'f<1>' is not known")));
  EXPECT_THAT(
      failure({.source = with_library("int run_time(int n);\nkernel void test(device int* out [[buffer(run_time(0))]]) { out[0] = 1; }")}),
      testing::AllOf(testing::StartsWith("test.metal:4: error:"), testing::HasSubstr("[[buffer(run_time(0))]] is not known")));
}

}  // namespace
}  // namespace assay::tests::instantiations_test
