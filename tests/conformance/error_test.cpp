// Error messages for sources that cannot run: file, line and name, in Metal's words.
//
// Source of all expectations: the Metal Shading Language Specification (what the language has not, what a pipeline needs).
// Long because each refusal is shown with its full text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "metal/compile/library.h"
#include "metal/errors.h"
#include "tests/conformance/execute.h"

namespace assay::tests::error_test {
namespace {

using namespace ::testing;

std::string with_library(std::string_view source) { return "#include <metal_stdlib>\nusing namespace metal;\n" + std::string(source); }

std::string failure_of(std::string_view source) { return failure({.source = with_library(source)}); }

struct RefusalRow {
  std::string name;
  std::string source;  // line 3 and on
  std::string place;   // what the message starts with
  std::string says;
};

TEST(Refusal, NamesFileLineAndConstruct) {
  const std::vector<RefusalRow> rows = {
      {"unknown name", "kernel void test(device int* out) {\n  out[0] = missing;\n}",
       "test.metal:4: error:", "undeclared identifier 'missing'"},
      {"no semicolon", "kernel void test(device int* out) {\n  out[0] = 1\n}", "test.metal:", "expected ';'"},
      {"store to a constant", "kernel void test(device int* out, constant int& n) {\n  n = 1;\n}", "test.metal:4: error:", "n"},
      {"address spaces mixed", "kernel void test(device int* out) {\n  threadgroup int* p = out;\n}",
       "test.metal:4: error:", "threadgroup int *"},
      {"error inside our headers", "kernel void test(device int* out) {\n  int3 v = int3(1, 2, 3);\n  out[0] = v.w;\n}",
       "test.metal:5: error:", "'w'"},
      {"argument without a role", "kernel void test(device int* out,\n  uint where) { out[where] = 1; }",
       "test.metal:4: error:", "'where'"},
      {"texture", "kernel void test(device int* out,\n  texture2d<float> image [[texture(0)]]) { out[0] = 1; }",
       "test.metal:4: error:", "texture"},
      {"unknown attribute", "kernel void test(device int* out,\n  uint a [[amplification_id]]) { out[0] = 1; }",
       "test.metal:4: error:", "amplification_id"},
      {"initialiser that is no constant",
       "static int computed(int n) {\n  volatile int z = n;\n  return *(int*)(long)(z + 5);\n}\nconstant int bad =\n    "
       "computed(3);\nkernel void test(device int* out) { out[0] = bad; }",
       "test.metal:", "must be initialised with a constant expression"},
      {"initialiser that never ends",
       "constexpr int computed(int n) {\n  volatile int s = n;\n  while (s != 77) {\n    if (s == 5) s = 4;\n  }\n  return s;\n}\n"
       "constant int bad = computed(3);\nkernel void test(device int* out) { out[0] = bad; }",
       "test.metal:", "must be initialised with a constant expression"},
      {"variable outside of functions", "int counter = 3;\nkernel void test(device int* out) { out[0] = ++counter; }",
       "test.metal:3: error:", "'counter' outlives the thread and is neither threadgroup nor constant"},
      {"static variable of a function", "kernel void test(device int* out) {\n  static int counter = 3;\n  out[0] = ++counter;\n}",
       "test.metal:4: error:", "'counter' outlives the thread"},
      {"buffer index", "kernel void test(device int* out [[buffer(31)]]) { out[0] = 1; }", "test.metal:3: error:", "buffer(31)"},
      {"one buffer index twice", "kernel void test(device int* out [[buffer(1)]],\n  constant int& n [[buffer(1)]]) { out[0] = n; }",
       "test.metal:3: error:", "'out' and 'n' have the same index [[buffer(1)]]"},
      {"one threadgroup index twice",
       "kernel void test(device int* out, threadgroup int* a [[threadgroup(0)]], threadgroup float* c [[threadgroup(0)]]) { out[0] = 1; }",
       "test.metal:3: error:", "'a' and 'c' have the same index [[threadgroup(0)]]"},
      {"members that become one",
       "struct A {\n  int v;\n  int f() constant { return v; }\n  int f() const constant { return v + 1; }\n};\n"
       "kernel void test(device int* out) { A a; out[0] = a.v; }",
       "test.metal:6: error:", "'f() constant' of 'A'"},
      {"double", "kernel void test(device int* out) {\n  double x = 1;\n  out[0] = x;\n}", "test.metal:4: error:", "'double'"},
      {"virtual", "struct A {\n  virtual int f() { return 1; }\n};\nkernel void test(device int* out) { A a; out[0] = a.f(); }",
       "test.metal:4: error:", "'virtual'"},
      {"recursion",
       "int f(int n) { return n < 1 ? 1 : n * f(n - 1); }\nkernel void test(device int* out, uint t [[thread_index_in_threadgroup]]) { "
       "out[t] = f(t); }",
       "test.metal:3: error:", "recursion"},
      {"unclosed brace", "kernel void test(device int* out) {\n  out[0] = 1;\n", "test.metal:3: error:", "never closed"},
      {"instantiation of nothing", "template [[host_name(\"test\")]] kernel void missing<1>(device int*);",
       "test.metal:3: error:", "'missing<1>'"},
      {"missing include", "#include \"nowhere.h\"\nkernel void test(device int* out) { out[0] = 1; }",
       "test.metal:3: fatal error:", "nowhere.h"},
      {"#error", "#error kernels only\nkernel void test(device int* out) { out[0] = 1; }", "test.metal:3: error:", "kernels only"},
  };
  for (const auto& row : rows) {
    const std::string text = failure_of(row.source);
    EXPECT_THAT(text, AllOf(StartsWith(row.place), HasSubstr(row.says))) << row.name;
    EXPECT_THAT(text, AllOf(Not(HasSubstr("__private")), Not(HasSubstr("__local")), Not(HasSubstr("__global")), Not(HasSubstr("OpenCL"))))
        << row.name;
  }
}

TEST(Refusal, TheLineIsTheOneInTheIncludedFile) {
  const auto folder = std::filesystem::temp_directory_path() / "assay_include_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "helper.h") << "#pragma once\ninline int helper() {\n  return nonsense;\n}\n";
  std::ofstream(folder / "kernel.metal") << with_library(
      "#include \"helper.h\"\nkernel void test(device int* out) { out[0] = helper(); }\n");
  const auto library = metal::Library::from_file(folder / "kernel.metal");
  try {
    (void)library->pipeline({"test", {}});
    FAIL() << "compiled";
  } catch (const metal::CompileError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("helper.h:3: error:"), HasSubstr("'nonsense'"), HasSubstr("return nonsense;")));
  }
  std::filesystem::remove_all(folder);
}

TEST(Places, AreTheUsersWhereverItsFileLies) {
  // As long as our own headers are recognised by name, a folder of that name hides the user's lines.
  const auto folder = std::filesystem::temp_directory_path() / "assay_place_test" / "metal" / "shader";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "kernel.metal") << with_library(
      "struct Args { int n; };\nkernel void test(device int* out, constant Args& a, uint t [[thread_index_in_threadgroup]]) {\n"
      "  if (t < 3) threadgroup_barrier(mem_flags::mem_none);\n  out[t] = a.n;\n}\n");
  const auto library = metal::Library::from_file(folder / "kernel.metal");
  ASSERT_TRUE(library->pipeline({"test", {}})->layout().find("a")->layout.has_value());
  metal::Simulator simulator({library});
  metal::Buffer out(128);
  const int n = 1;
  simulator.set_pipeline({"test", {}});
  simulator.set_buffer(0, {&out, 0});
  simulator.set_bytes(1, std::as_bytes(std::span(&n, 1)));
  simulator.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  ASSERT_EQ(simulator.hazards().size(), 1u);
  EXPECT_EQ(simulator.hazards()[0].first.line, 5u);
  std::filesystem::remove_all(folder.parent_path().parent_path());
}

// The compiler shortens paths by what they share with the folder it is started in.
TEST(Places, AreWholePaths) {
  const auto file = std::filesystem::current_path() / "assay_whole_path_test.metal";
  std::ofstream(file) << with_library(
      "int f(int n) { return n < 1 ? 1 : n * f(n - 1); }\nkernel void test(device int* out) { out[0] = f(out[1]); }\n");
  const auto library = metal::Library::from_file(file);
  try {
    (void)library->pipeline({"test", {}});
    FAIL() << "compiled";
  } catch (const metal::CompileError& error) {
    EXPECT_THAT(error.what(), StartsWith(file.string() + ":3: error:"));
  }
  std::filesystem::remove(file);
}

TEST(Refusal, OfAFileThatIsNotThere) {
  try {
    (void)metal::Library::from_file("/nowhere/kernel.metal");
    FAIL() << "found";
  } catch (const metal::CompileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/kernel.metal"));
  }
}

// ---- function constants

constexpr std::string_view kConstants = R"(
constant int width [[function_constant(7)]];
constant bool wide [[function_constant(8)]];
constant float gain [[function_constant(20 + 1)]];
constant int twice = width * 2;
constant int width_or_4 = is_function_constant_defined(width) ? width : 4;
kernel void uses(device int* out) { out[0] = width; }
kernel void uses_derived(device int* out) { out[0] = twice; }
kernel void has_default(device int* out) { out[0] = width_or_4; }
kernel void as_size(device int* out, uint t [[thread_index_in_threadgroup]]) { int a[width]; for (int i = 0; i < width; ++i) a[i] = i; out[t] = a[int(t) % width]; }
kernel void guarded(device int* out) { if (is_function_constant_defined(wide) && wide) out[0] = 1; else out[0] = 2; }
kernel void floating(device float* out) { out[0] = gain; }
kernel void conditional(device int* out, device const int* extra [[buffer(1), function_constant(wide)]]) { if (wide) out[0] = extra[0]; else out[0] = -1; }
kernel void chooses(device int* out, uint t [[thread_index_in_threadgroup]]) { out[t] = t < 1 ? is_function_constant_defined(wide) ? 1 : 2 : is_function_constant_defined(wide); }
)";

TEST(FunctionConstants, SpecialiseThePipeline) {
  const auto run = [](std::string kernel, std::map<std::uint32_t, metal::FunctionConstant> constants) {
    return static_cast<int>(
        execute({.source = with_library(kConstants), .kernel = std::move(kernel), .threads = {1, 1, 1}, .constants = std::move(constants)})
            .output[0]);
  };
  EXPECT_EQ(run("uses", {{7, std::int64_t{-9}}}), -9);
  EXPECT_EQ(run("uses_derived", {{7, std::int64_t{21}}}), 42);
  EXPECT_EQ(run("has_default", {}), 4);
  EXPECT_EQ(run("has_default", {{7, std::int64_t{5}}}), 5);
  EXPECT_EQ(run("as_size", {{7, std::int64_t{3}}}), 0);
  EXPECT_EQ(run("chooses", {}), 2);
  EXPECT_EQ(run("chooses", {{8, false}}), 1);
  EXPECT_EQ(run("guarded", {}), 2);
  EXPECT_EQ(run("guarded", {{8, true}}), 1);
  EXPECT_EQ(std::bit_cast<float>(run("floating", {{21, 0.1}})), 0.1f);
  EXPECT_EQ(run("conditional", {{8, false}}), -1);
}

TEST(FunctionConstants, AnArgumentMayDependOnOne) {
  const auto library = metal::Library::from_source(with_library(kConstants), "test.metal");
  EXPECT_EQ(library->pipeline({"conditional", {{8, false}}})->layout().find("extra"), nullptr);
  EXPECT_NE(library->pipeline({"conditional", {{8, true}}})->layout().find("extra"), nullptr);
}

// Pointers, references to scalars and structs, threadgroup memory: an argument of any kind may be absent.
TEST(FunctionConstants, AbsentArgumentsOfEveryKindNeedNoBinding) {
  const std::string source = with_library(R"(
constant bool given [[function_constant(0)]];
struct Extra { float a; int b[3]; };
kernel void test(device float* out [[buffer(0)]], device const float* mask [[buffer(1), function_constant(given)]],
                 const constant int& stride [[buffer(2), function_constant(given)]], constant Extra& extra [[buffer(3), function_constant(given)]],
                 device atomic_uint& count [[buffer(4), function_constant(given)]], constant Extra* extras [[buffer(5), function_constant(given)]],
                 threadgroup float* scratch [[threadgroup(0), function_constant(given)]], uint t [[thread_index_in_threadgroup]]) {
  out[t] = 5;
  if (given) { scratch[t] = mask[stride]; out[t] = scratch[t] + extra.a + extras[1].a; atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); }
})");
  const auto outcome = execute({.source = source, .output_words = 1, .threads = {1, 1, 1}, .constants = {{0, false}}});
  EXPECT_TRUE(outcome.hazards.empty());
  EXPECT_EQ(outcome.output[0], 0x40a00000u);
  const auto present = metal::Library::from_source(source, "test.metal")->pipeline({"test", {{0, true}}});
  EXPECT_EQ(present->layout().arguments.size(), 7u);
}

TEST(FunctionConstants, UsedButWithoutAValueIsAnErrorThatNamesThem) {
  const auto fails = [](std::string kernel, std::map<std::uint32_t, metal::FunctionConstant> constants = {}) {
    return failure({.source = with_library(kConstants), .kernel = std::move(kernel), .constants = std::move(constants)});
  };
  EXPECT_THAT(fails("uses"), AllOf(StartsWith("test.metal:9: error:"), HasSubstr("'width'"), HasSubstr("index 7"), HasSubstr("no value")));
  EXPECT_THAT(fails("uses_derived"), AllOf(HasSubstr("'width'"), HasSubstr("index 7"), HasSubstr("no value")));
  EXPECT_THAT(fails("as_size"), AllOf(HasSubstr("'width'"), HasSubstr("index 7"), HasSubstr("no value")));
  EXPECT_THAT(fails("floating", {{21, true}}), AllOf(HasSubstr("'gain'"), HasSubstr("float"), HasSubstr("bool")));
  EXPECT_THAT(fails("uses", {{7, 1.5}}), AllOf(HasSubstr("'width'"), HasSubstr("int")));
}

TEST(Refusal, OfAKernelThatReturnsSomething) {
  for (const char* type :
       {"int", "float4", "device int*", "constant float&", "unsigned int", "S", "Number", "metal::vec<half, 2>", "inner::Number"}) {
    EXPECT_THAT(
        failure({.source = with_library(
                     "struct S { int a; };\nusing Number = int;\nnamespace inner { using Number = float; }\n[[maybe_unused]]\nkernel " +
                     std::string(type) + " test(device int* out) { out[0] = 1; }")}),
        AllOf(StartsWith("test.metal:7: error:"), HasSubstr("'test'"), HasSubstr(type), HasSubstr("returns void")))
        << type;
  }
  EXPECT_THAT(failure({.source = with_library("template <int N> [[kernel]] int f(device int* out) { return out[0] = N; }\n"
                                              "template [[host_name(\"test\")]] [[kernel]] int f<1>(device int* out);")}),
              AllOf(StartsWith("test.metal:3: error:"), HasSubstr("'f' returns 'int'")));
  // Of several only that one.
  const auto library = metal::Library::from_source(
      with_library("kernel int a(device int* out) { return 1; }\nkernel void b(device int* out) { out[0] = 1; }"), "test.metal");
  ASSERT_EQ(library->refused().size(), 1U);
  EXPECT_EQ(library->refused()[0].name, "a");
  EXPECT_TRUE(library->has_function("b"));
  for (const char* head : {"kernel void test", "[[kernel]] void test", "static kernel void test", "kernel Nothing test",
                           "kernel [[max_total_threads_per_threadgroup(64)]] void test", "using namespace metal; kernel auto test",
                           "inline [[kernel]] __attribute__((noinline)) void test"}) {
    const std::string trailing = std::string(head).find("auto") == std::string::npos ? "" : " -> void";
    EXPECT_EQ(failure({.source = with_library("using Nothing = void;\n" + std::string(head) + "(device int* out)" + trailing +
                                              " { out[0] = 1; }")}),
              "")
        << head;
  }
}

TEST(Refusal, AnUnclosedBracketCostsItsDeclarationOnly) {
  const std::string before =
      "namespace a { inline namespace b {\nstruct S { int x[2]; } s;\nkernel void first(device int* out) { out[0] = 41; }\n";
  const auto library = [](const std::string& source) { return metal::Library::from_source(with_library(source), "test.metal"); };
  for (const auto& [broken, says] : std::vector<std::pair<std::string, std::string>>{
           {"inline int helper(int x) {\n  if (x > 1) {\n  return 2;\n}", "'{' of 'helper'"},
           {"[[kernel]] void helper(device int* out [[buffer(0)]]) {\n  out[0] = (1;\n}", "'{' of 'helper'"},
           {"inline int helper(int x, int y\n{ return x; }", "'(' of 'helper'"},
           {"struct helper {\n int f() const { return 1; }\n", "'{' of 'helper'"},
           {"constant int helper[] = {1, 2,\n;", "'{' of 'helper'"}}) {
    SCOPED_TRACE(broken);
    const auto it = library(before + broken +
                            "\ntemplate <int N> kernel void last(device int* out) { out[0] = N; }\n"
                            "template [[host_name(\"last_1\")]] kernel void last<1>(device int*);\n"
                            "kernel void needs(device int* out) { out[0] = sizeof(helper); }\n}}\n");
    for (const char* right : {"a::b::first", "last_1"}) EXPECT_NO_THROW(static_cast<void>(it->pipeline({right, {}}))) << right;
    try {
      static_cast<void>(it->pipeline({"a::b::needs", {}}));
      FAIL() << "compiled";
    } catch (const metal::Error& error) {
      EXPECT_THAT(error.what(),
                  testing::AnyOf(AllOf(StartsWith("test.metal:6: error:"), HasSubstr(says + " is never closed")), HasSubstr("'helper'")));
    }
  }
  // A kernel function of its own is listed with the reason.
  const auto it = library(
      "kernel void whole(device int* out) { out[0] = 1; }\nkernel void half_done(device int* out) {\n  for (;;) {\n  out[0] = 1;\n}\n");
  EXPECT_TRUE(it->has_function("whole"));
  ASSERT_EQ(it->refused().size(), 1U);
  EXPECT_EQ(it->refused()[0].name, "half_done");
  EXPECT_THAT(it->refused()[0].reason, AllOf(StartsWith("test.metal:4: error:"), HasSubstr("'{' of 'half_done' is never closed")));
  EXPECT_TRUE(library(before + "}}\n")->refused().empty());
  // Nothing stands before it: the whole file is refused, as one whose namespace has no end.
  EXPECT_THAT(failure({.source = with_library("kernel void test(device int* out) {\n  out[0] = 1;\n")}),
              AllOf(StartsWith("test.metal:3: error:"), HasSubstr("'{' of 'test' is never closed")));
  EXPECT_THAT(failure({.source = with_library("namespace a {\nkernel void test(device int* out) { out[0] = 1; }\n")}),
              HasSubstr("never closed"));
}

// ---- kernels that fault

// Below the buffer: above it might lie the end of what an address can be.
TEST(InvalidAccess, IsAHazardWithItsLineAndTheKernelGoesOn) {
  const auto outcome =
      execute({.source = with_library(
                   "kernel void test(device int* out, uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {\n"
                   "  out[32 * g + t] = 1;\n  if (g == 1 && t == 5) ((device int*)(7ul << 40))[t] = 1;\n  out[32 * g + simd_sum(1) - 32 + "
                   "t] = 2;\n}"),
               .output_words = 96,
               .threadgroups = {3, 1, 1}});
  ASSERT_EQ(outcome.hazards.size(), 1u);
  EXPECT_EQ(outcome.hazards[0].kind, metal::HazardKind::invalid_access);
  EXPECT_THAT(outcome.hazards[0].message,
              AllOf(StartsWith("test.metal:5:"), HasSubstr("thread (5, 0, 0) writes"), HasSubstr("threadgroup 1, 0, 0")));
  for (const std::uint32_t word : outcome.output) EXPECT_EQ(word, 2u);
}

#if defined(__x86_64__)
// The processor names no address then; it must not be reported as one outside all buffers.
TEST(InvalidAccess, AtAnAddressThatNoProcessorHas) {
  const auto outcome = execute({.source = with_library("kernel void test(device int* out, uint t [[thread_index_in_threadgroup]]) {\n"
                                                       "  out[t + (1ul << 60)] = 1;\n}")});
  ASSERT_EQ(outcome.hazards.size(), 1u);
  EXPECT_THAT(outcome.hazards[0].message,
              AllOf(StartsWith("test.metal:4:"), HasSubstr("out of any range"), HasSubstr("given up"), Not(HasSubstr("no buffer"))));
}
#endif

TEST(InvalidAccess, AnOverrunOfABufferIsNamed) {
  const auto outcome = execute({.source = with_library("kernel void test(device int* out, device const int* in, uint t "
                                                       "[[thread_index_in_threadgroup]]) {\n  out[t] = in[t + 1000];\n}"),
                                .inputs = {std::vector<std::uint32_t>(64)}});
  ASSERT_EQ(outcome.hazards.size(), 1u);
  EXPECT_THAT(outcome.hazards[0].message, HasSubstr("byte 4000 of buffer 1 ('in'), which has 256"));
}

TEST(InvalidAccess, AnOverrunOfThreadgroupMemoryIsFound) {
  for (const std::uint32_t bytes : {128u, 80u, 1024u, 32768u}) {
    const auto run = [&](std::uint32_t extra) {
      return execute(
          {.source = with_library(
               "kernel void test(device int* out, constant uint& n, threadgroup int* x, uint t [[thread_index_in_threadgroup]]) {\n"
               "  for (uint i = t; i < n; i += 32) x[i] = 1;\n  out[t] = x[t % (n < 32 ? n : 32)];\n}"),
           .inputs = {{bytes / 4 + extra}},
           .threadgroup_bytes = bytes});
    };
    EXPECT_TRUE(run(0).hazards.empty()) << bytes;
    const auto outcome = run(1);
    ASSERT_EQ(outcome.hazards.size(), 1u) << bytes;
    EXPECT_EQ(outcome.hazards[0].kind, metal::HazardKind::invalid_access);
    EXPECT_THAT(outcome.hazards[0].message, AllOf(HasSubstr("threadgroup memory"), HasSubstr(std::to_string(bytes))));
  }
}

TEST(InvalidAccess, AWriteBeforeThreadgroupMemoryIsFound) {
  const auto run = [](std::uint32_t bytes, std::uint32_t back) {
    return execute(
        {.source = with_library(
             "kernel void test(device int* out, constant uint& back, threadgroup int* x, uint t [[thread_index_in_threadgroup]]) {\n"
             "  threadgroup int* y = x - int(back); y[t] = 1;\n  out[t] = y[t];\n}"),
         .inputs = {{back}},
         .threadgroup_bytes = bytes});
  };
  for (const std::uint32_t bytes : {128u, 1792u, 32768u}) {
    EXPECT_TRUE(run(bytes, 0).hazards.empty()) << bytes;
    for (const std::uint32_t back : {32u, 1u, 700u, 5000u}) {
      const auto outcome = run(bytes, back);
      // An access outside even the page of the memory is reported with its line, a read too.
      ASSERT_EQ(outcome.hazards.size(), outcome.hazards[0].first.line == 3 ? 1u : 2u) << bytes << " " << back;
      EXPECT_EQ(outcome.hazards[0].kind, metal::HazardKind::invalid_access);
      EXPECT_THAT(outcome.hazards[0].message, AllOf(HasSubstr("before"), HasSubstr("threadgroup memory")));
    }
  }
}

// Near misses of a buffer touch neither a guard page nor another buffer.
TEST(InvalidAccess, AWriteBesideABufferIsFound) {
  const auto run = [](std::int32_t first) {
    return execute({.source = with_library("kernel void test(device int* out, constant int& first, device int* other, uint t "
                                           "[[thread_index_in_threadgroup]]) {\n  other[first + int(t)] = 1;\n  out[t] = 0;\n}"),
                    .inputs = {{static_cast<std::uint32_t>(first)}, std::vector<std::uint32_t>(33)}});
  };
  for (const std::int32_t first : {0, 1}) EXPECT_TRUE(run(first).hazards.empty()) << first;
  for (const auto& [first, side] : {std::pair{-1, "before"}, std::pair{-900, "before"}, std::pair{2, "behind"}}) {
    const auto outcome = run(first);
    ASSERT_EQ(outcome.hazards.size(), 1u) << first;
    EXPECT_THAT(outcome.hazards[0].message, AllOf(HasSubstr(side), HasSubstr("the 132 bytes of buffer 2 ('other')")));
  }
}

TEST(InvalidAccess, TooLargePrivateMemoryIsFound) {
  const auto outcome = execute(
      {.source = with_library("kernel void test(device float* out, uint t [[thread_index_in_threadgroup]]) {\n  float big[1000000];\n"
                              "  for (uint i = 0; i < 1000000; ++i) big[(i * 7 + t) % 1000000] = i;\n  out[t] = big[t];\n}")});
  ASSERT_EQ(outcome.hazards.size(), 1u);
  EXPECT_THAT(outcome.hazards[0].message, HasSubstr("512 KiB"));
}

TEST(InvalidAccess, AHundredKilobytesOfPrivateMemoryAreFine) {
  const auto outcome =
      execute({.source = with_library("kernel void test(device float* out, uint t [[thread_index_in_threadgroup]]) {\n  float big[25000];\n"
                                      "  for (uint i = 0; i < 25000; ++i) big[(i * 7 + t) % 25000] = i;\n  out[t] = big[t];\n}")});
  EXPECT_TRUE(outcome.hazards.empty());
}

TEST(ThreadSpace, ConstReferencesBindTemporariesAndVariables) {
  const auto outcome =
      execute({.source = with_library(
                   "struct Box { int v; int get() const { return v; } };\n"
                   "int twice(const thread int& x) { return 2 * x; }\nint sum(thread const int4& v) { return v.x + v.y + v.z + v.w; }\n"
                   "template <typename T> T pass(T const thread& x) { return x; }\nint open(const thread Box& b) { return b.get(); }\n"
                   "kernel void test(device int* out, uint t [[thread_index_in_threadgroup]]) {\n  int a = int(t);\n"
                   "  out[t] = twice(a + 1) + twice(a) + sum(int4(a) + 1) + pass(a * 2) + open(Box{a});\n}")});
  for (std::uint32_t t = 0; t < 32; ++t) EXPECT_EQ(outcome.output[t], 2 * (t + 1) + 2 * t + 4 * (t + 1) + 2 * t + t);
}

TEST(IntegerDivision, ByZeroDoesNotTrap) {
  const auto outcome = execute({.source = with_library("kernel void test(device int* out, uint t [[thread_index_in_threadgroup]]) {\n"
                                                       "  int d = int(t) - 5; int4 v = int4(7) / int4(d, 1, d, 2); out[t] = 100 / d + 100 "
                                                       "% d + (INT_MIN / (d == 1 ? -1 : 1) != 0 ? v.y : 0);\n}")});
  EXPECT_TRUE(outcome.hazards.empty());
  EXPECT_EQ(static_cast<int>(outcome.output[7]), 50 + 0 + 7);
}

// ---- the cache

TEST(Cache, ADamagedEntryIsMadeAnew) {
  const auto folder = std::filesystem::temp_directory_path() / "assay_cache_test";
  std::filesystem::remove_all(folder);
  metal::CompileOptions options;
  options.cache_directory = folder;
  const std::string source = with_library("kernel void test(device int* out) { out[0] = 77; }");
  (void)metal::Library::from_source(source, "test.metal", options)->pipeline({"test", {}});
  std::size_t damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".so") continue;
    std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) / 2);
    ++damaged;
  }
  EXPECT_EQ(damaged, 1u);
  const auto pipeline = metal::Library::from_source(source, "test.metal", options)->pipeline({"test", {}});
  EXPECT_EQ(pipeline->layout().function, "test");
  std::filesystem::remove_all(folder);
}

// Clang needs the precompiled headers: where they are not made again, it did not run.
TEST(Cache, AnswersWithTheErrorsThatItKeepsUnlessTheyAreDamaged) {
  const auto folder = std::filesystem::temp_directory_path() / "assay_cache_errors_test";
  std::filesystem::remove_all(folder);
  metal::CompileOptions options;
  options.cache_directory = folder;
  const auto error = [&] {
    try {
      (void)metal::Library::from_source(with_library("kernel void test(device int* out) { out[0] = unknown; }"), "test.metal", options)
          ->pipeline({"test", {}});
    } catch (const metal::CompileError& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  const auto entries = [&](std::string_view extension) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == extension) found.push_back(entry.path());
    }
    return found;
  };
  const std::string first = error();
  EXPECT_NE(first.find("unknown"), std::string::npos) << first;
  for (const auto& headers : entries(".pch")) std::filesystem::remove(headers);
  EXPECT_EQ(error(), first);
  EXPECT_TRUE(entries(".pch").empty());

  const auto errors = entries(".errors");
  ASSERT_FALSE(errors.empty());
  for (const auto& kept : errors) std::ofstream(kept, std::ios::app) << "x";
  EXPECT_EQ(error(), first);
  EXPECT_EQ(entries(".pch").size(), 1u);
  std::filesystem::remove_all(folder);
}

// A checkout or an update of the sources gives our headers another date, and not always another text.
TEST(Cache, DoesNotGoByTheDateOfOurHeaders) {
  const auto folder = std::filesystem::temp_directory_path() / "assay_cache_date_test";
  std::filesystem::remove_all(folder);
  metal::CompileOptions options;
  options.cache_directory = folder;
  const auto compile = [&](std::string_view body) {
    (void)metal::Library::from_source(with_library(body), "test.metal", options)->pipeline({"test", {}});
  };
  compile("kernel void test(device int* out) { out[0] = 1; }");
  const std::filesystem::path header = std::filesystem::path(ASSAY_SOURCE_DIR) / "metal/shader/vec.h";
  const auto date = std::filesystem::last_write_time(header);
  std::filesystem::last_write_time(header, date + std::chrono::seconds(7));
  EXPECT_NO_THROW(compile("kernel void test(device int* out) { out[0] = 2; }"));
  std::filesystem::last_write_time(header, date);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace assay::tests::error_test
