// `assay compile`: what it reports of files that compile, do not compile, or need constants; as a table, as JSON and by its exit status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::compile_test {
namespace {

using namespace ::testing;

using Json = nlohmann::json;

constexpr const char* kStart = "#include <metal_stdlib>\nusing namespace metal;\n";

class CliCompile : public Cli {
 protected:
  Json json_of(const std::string& options, int status) const {
    const Outcome outcome = run_assay("compile " + (folder_ / "kernel.metal").string() + " --json " + options);
    EXPECT_EQ(outcome.status, status) << outcome.output;
    return Json::parse(outcome.output, nullptr, false);
  }
};

TEST_F(CliCompile, ReportsWhatAHostBinds) {
  write(std::string(kStart) +
        "struct Args { uint n; packed_float3 v; float4 w; };\n"
        "kernel void f(const device half* in [[buffer(3)]], device float4* out, constant Args& args [[buffer(7)]],\n"
        "              threadgroup float* shared [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {\n"
        "  threadgroup int mine[8];\n  mine[i % 8] = 1;\n  shared[i] = in[i];\n  out[i] = args.w + shared[i] + mine[0];\n}\n");
  const Json all = json_of("", 0);
  const Json& function = all["libraries"][0]["functions"][0];
  EXPECT_TRUE(all["all_compile"]);
  EXPECT_EQ(function["name"], "f");
  EXPECT_EQ(function["line"], 4);
  EXPECT_EQ(function["threadgroup_bytes"], 32);
  const Json& arguments = function["arguments"];
  ASSERT_EQ(arguments.size(), 4U);
  EXPECT_EQ(arguments[0]["index"], 3);
  EXPECT_EQ(arguments[0]["access"], "read");
  EXPECT_EQ(arguments[1]["access"], "read_write");
  EXPECT_EQ(arguments[1]["type"], "float4");
  EXPECT_EQ(arguments[3]["space"], "threadgroup");
  const Json& args = arguments[2]["struct"];
  EXPECT_EQ(args["size"], 32);  // 4 + 12, and a float4 at the next multiple of 16
  EXPECT_EQ(args["fields"][1]["offset"], 4);
  EXPECT_EQ(args["fields"][2]["offset"], 16);
}

// Of functions that share a table, those without a vector form are named.
TEST_F(CliCompile, FunctionsThatRunLaneByLaneAreNamedWithTheReason) {
  const auto kernel = [](const std::string& name, const std::string& second) {
    return "kernel void " + name + "(device uint* out, const device uint* in, uint lane [[thread_index_in_simdgroup]]) {\n" +
           "  switch (in[lane]) {\n    case 0: out[in[lane + 32]] = 7;\n    case 1: out[lane] " + second + " 1;\n  }\n}\n";
  };
  write(kStart + kernel("writes", "=") + kernel("reads", "+="));
  const std::string words = "compile " + (folder_ / "kernel.metal").string();
  const std::string reason = "runs lane by lane, several times slower than as vectors: lanes on one way of a branch read memory to which";
  EXPECT_THAT(run_assay(words).output, AllOf(HasSubstr("    writes reads\n"), HasSubstr("    reads\n      " + reason)));
  EXPECT_THAT(run_assay(words + " --function reads").output, AllOf(HasSubstr("    " + reason), Not(HasSubstr("      " + reason))));
}

TEST_F(CliCompile, TheLineIsNamedForWhichAKernelRunsLaneByLane) {
  write(std::string(kStart) +
        "kernel void reads(device uint* out, const device uint* in, uint lane [[thread_index_in_simdgroup]]) {\n"
        "  volatile const device uint* late = in;\n  out[lane] = late[lane] + 1;\n}\n");
  EXPECT_THAT(run_assay("compile " + (folder_ / "kernel.metal").string()).output,
              ContainsRegex("lane by lane.*\\(kernel\\.metal:[0-9]+\\)"));
}

TEST_F(CliCompile, OurKernelsHaveVectorForms) {
  for (const auto& variant : std::filesystem::directory_iterator(kRoot / "kernels/variants")) {
    const Outcome outcome = run_assay("compile " + variant.path().string());
    EXPECT_THAT(outcome.output, AllOf(HasSubstr(" 0 do not"), Not(HasSubstr("lane by lane")))) << variant.path();
  }
}

TEST_F(CliCompile, AFailureIsReportedOnceAndSetsTheExitStatus) {
  std::string text = std::string(kStart) + "template <typename T> kernel void f(device T* x [[buffer(0)]]) { x[0] = T(1).nonsense(); }\n";
  for (const char* type : {"int", "uint", "short"})
    text += std::string("template [[host_name(\"f_") + type + "\")]] kernel void f<" + type + ">(device " + type + "*);\n";
  text += "kernel void g(device int* x [[buffer(0)]]) { x[0] = undeclared; }\n";
  const std::string file = write(text + "kernel void right(device int* x [[buffer(0)]]) { x[0] = 1; }\n");
  const Outcome table = run_assay("compile " + file + " --jobs 2");
  EXPECT_EQ(table.status, 1);
  EXPECT_THAT(table.output, HasSubstr("5 functions: 1 compiles, 4 do not"));
  EXPECT_EQ(table.output.find("undeclared", table.output.find("undeclared identifier 'undeclared'") + 40),
            table.output.rfind("undeclared"));
  EXPECT_EQ(run_assay("compile " + file + " --function right").status, 0);
  EXPECT_EQ(run_assay("compile " + file + " --function nobody").status, 2);
  EXPECT_EQ(run_assay("compile " + file + ".gone").status, 2);
  EXPECT_EQ(run_assay("compile " + file + " --listing").status, 0);
}

TEST_F(CliCompile, WhatIsNoSourceOrHasNoKernelFails) {
  write("#include <nowhere.h>\n");
  EXPECT_THAT(json_of("", 1)["libraries"][0]["error"].get<std::string>(), HasSubstr("'nowhere.h' file not found"));
  write(std::string(kStart) + "int f() { return 1; }\n");
  EXPECT_EQ(json_of("", 1)["functions"], 0);
}

TEST_F(CliCompile, NeededConstantsAreNamedAndOthersAreNot) {
  const std::string file =
      write(std::string(kStart) +
            "constant bool FAST [[function_constant(0)]];\nconstant int SIZE [[function_constant(3)]];\n"
            "constant int TILE [[function_constant(4)]];\nconstant float UNUSED [[function_constant(5)]];\n"
            "kernel void needs(device int* x [[buffer(0)]]) { threadgroup int t[TILE]; t[0] = SIZE; x[0] = FAST ? t[0] : 1; }\n"
            "kernel void asks(device int* x [[buffer(0)]]) { x[0] = is_function_constant_defined(SIZE) ? SIZE : 2; }\n");
  const auto needed = [&](const Json& all, std::size_t function) {
    std::vector<std::string> names;
    for (const Json& constant : all["libraries"][0]["functions"][function]["needs_constants"]) names.push_back(constant["name"]);
    return names;
  };
  const Json all = json_of("", 0);
  EXPECT_THAT(needed(all, 0), ElementsAre("FAST", "SIZE", "TILE"));
  EXPECT_THAT(needed(all, 1), ElementsAre());
  EXPECT_EQ(all["libraries"][0]["constants"].size(), 4U);
  const Json given = json_of("--constant SIZE=3 --constant 4=16 --constant FAST=true", 0);
  EXPECT_THAT(needed(given, 0), ElementsAre());
  EXPECT_EQ(given["libraries"][0]["functions"][0]["threadgroup_bytes"], 64);
  for (const auto& [wrong, says] : {std::pair("NOBODY=1", "no such function constant; it has FAST (0), SIZE (3)"),
                                    std::pair("FAST=7", "does not fit its type, bool"), std::pair("SIZE", "is not an assignment")}) {
    const Outcome refused = run_assay("compile " + file + " --constant " + wrong);
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.output, HasSubstr(says));
  }
}

TEST_F(CliCompile, StructsAreReportedWithAllMembers) {
  const std::string file = write(
      std::string(kStart) +
      "struct P { int n; union { struct { float a; float b; }; float2 v; }; struct { short x; struct { char c; float d; } deep; } inner;\n"
      "  union { int i; float f; } either[3]; atomic_uint count; float4x4 m; half2x3 h; int grid[2][3]; };\n"
      "kernel void f(constant P& p [[buffer(0)]], device atomic_uint* a [[buffer(1)]], device atomic<float>& b [[buffer(2)]],\n"
      "              device float4x4* m [[buffer(3)]], device matrix<half, 2, 3>* h [[buffer(4)]], device int* out [[buffer(5)]]) { out[0] "
      "= p.n; }\n");
  const Json arguments = json_of("", 0)["libraries"][0]["functions"][0]["arguments"];
  std::map<std::string, std::pair<std::string, std::size_t>> fields;
  for (const Json& field : arguments[0]["struct"]["fields"]) fields[field["name"]] = {field["type"], field["offset"]};
  using Fields = std::map<std::string, std::pair<std::string, std::size_t>>;
  EXPECT_EQ(fields, (Fields{{"n", {"int", 0}},
                            {"a", {"float", 8}},
                            {"b", {"float", 12}},
                            {"v", {"float2", 8}},
                            {"inner", {"struct", 16}},
                            {"inner.x", {"short", 16}},
                            {"inner.deep", {"struct", 20}},
                            {"inner.deep.c", {"char", 20}},
                            {"inner.deep.d", {"float", 24}},
                            {"either", {"union[3]", 28}},
                            {"either[0].i", {"int", 28}},
                            {"either[0].f", {"float", 28}},
                            {"count", {"atomic_uint", 40}},
                            {"m", {"float4x4", 48}},
                            {"h", {"half2x3", 112}},
                            {"grid", {"int[6]", 128}}}));
  const auto type = [&](std::size_t index) { return arguments[index]["type"].get<std::string>(); };
  EXPECT_EQ(type(1), "atomic_uint");
  EXPECT_EQ(type(2), "atomic<float>");  // as it is written
  EXPECT_EQ(type(3), "float4x4");
  EXPECT_EQ(type(4), "half2x3");
  for (std::size_t index = 1; index < 5; ++index) EXPECT_TRUE(arguments[index]["struct"].is_null()) << index;
  EXPECT_THAT(run_assay("compile " + file).output,
              AllOf(HasSubstr("28  either[0].f   float"), HasSubstr("device atomic_uint*"), Not(HasSubstr("value_"))));
}

TEST_F(CliCompile, ConstantsThatAreVectorsAreGivenByCommas) {
  const std::string file = write(std::string(kStart) +
                                 "constant uint2 TILE [[function_constant(1)]];\nconstant float3 SCALE [[function_constant(2)]];\n"
                                 "kernel void needs(device float* x [[buffer(0)]]) { threadgroup float t[TILE.x * TILE.y]; t[0] = SCALE.z; "
                                 "x[0] = t[0]; }\n");
  const Json unset = json_of("", 0)["libraries"][0];
  EXPECT_EQ(unset["constants"][0]["type"], "uint2");
  EXPECT_EQ(unset["functions"][0]["needs_constants"].size(), 2U);
  const Json given = json_of("--constant TILE=4,8 --constant 2=1,2.5,-3", 0)["libraries"][0];
  EXPECT_EQ(given["functions"][0]["needs_constants"].size(), 0U);
  EXPECT_EQ(given["functions"][0]["threadgroup_bytes"], 128);
  EXPECT_THAT(run_assay("compile " + file + " --listing").output, HasSubstr("1  TILE   uint2"));
  for (const auto& [wrong, says] :
       {std::pair("TILE=4", "1 value is given (4), but its type, uint2, has 2"),
        std::pair("TILE=4,5,6", "3 values are given (4, 5, 6), but its type, uint2, has 2"),
        std::pair("TILE=4,0.5", "does not fit its type, uint2: 0.5"), std::pair("TILE=4,", "'' in the value of 'TILE=4,' is not a number"),
        std::pair("TILE=4,x", "'x' in the value of 'TILE=4,x' is not a number")}) {
    const Outcome refused = run_assay("compile " + file + " --constant " + wrong);
    EXPECT_EQ(refused.status, 2) << wrong;
    EXPECT_THAT(refused.output, HasSubstr(says));
  }
}

TEST_F(CliCompile, InstantiationsOfOneTemplateShareATable) {
  std::string text =
      std::string(kStart) +
      "template <typename T, int N> kernel void f(device T* x [[buffer(0)]], constant uint& n [[buffer(1)]]) { x[0] = T(n + N); }\n"
      "#define ONE(t, n) template [[host_name(\"f_\" #t \"_\" #n)]] kernel void f<t, n>(device t*, constant uint&);\n"
      "#define FOUR(t, n) ONE(t, n##0) ONE(t, n##1) ONE(t, n##2) ONE(t, n##3)\n"
      "#define ALL(t) FOUR(t, 1) FOUR(t, 2) FOUR(t, 3) FOUR(t, 4) FOUR(t, 5)\nALL(float) ALL(half) ALL(int)\n";
  const Outcome listing = run_assay("compile " + write(text) + " --listing");
  EXPECT_EQ(listing.status, 0);
  EXPECT_THAT(listing.output, AllOf(HasSubstr("60 functions"), HasSubstr("f_half_41"), HasSubstr("buffer 1  n")));
  EXPECT_EQ(listing.output.find("buffer 1"), listing.output.rfind("buffer 1"));
  std::size_t longest = 0;
  for (std::size_t start = 0; start < listing.output.size();) {
    const std::size_t end = listing.output.find('\n', start);
    longest = std::max(longest, end - start);
    start = end + 1;
  }
  EXPECT_LE(longest, 100U + folder_.string().size());
}

TEST_F(CliCompile, FamiliesAreListedHereAndWhereOneIsWrongOrMissing) {
  const std::string variants = std::string(ASSAY_SOURCE_DIR) + "/kernels/variants";
  const Outcome ours = run_assay("compile " + variants + "/reduce_v1");
  EXPECT_EQ(ours.status, 0) << ours.output;
  EXPECT_THAT(ours.output, HasSubstr("families\n  reduce\n    d256: flash_attn_vec_reduce_dk256\n    d512:"));
  const std::string file = write(std::string(kStart) +
                                 "kernel void a(device float* data [[buffer(0)]], device float* other [[buffer(9)]]) { data[0] = 1; }\n"
                                 "kernel void b(device float* x [[buffer(8)]], device float* y [[buffer(9)]]) { x[0] = y[0]; }\n");
  for (const std::string family : {"", " --family fwht"}) {
    const Outcome refused = run_assay("run --ledger none --kernel " + file + family);
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.output, AllOf(HasSubstr("the nearest is fwht, with 'a'"), HasSubstr("no argument for params"),
                                      HasSubstr("assay compile " + file), Not(HasSubstr("function 'b'"))))
        << refused.output;
  }
  const std::string rotation = write(read_file(variants + "/fwht_v1/kernel.metal"));
  const Outcome missing = run_assay("run --ledger none --kernel " + rotation);
  EXPECT_THAT(missing.output, AllOf(HasSubstr("--family (tq4,"), Not(HasSubstr("bf16_pad")), HasSubstr("its arguments match family fwht")))
      << missing.output;
}

TEST_F(CliCompile, WhatNoFunctionNeedsIsCountedToo) {
  write(std::string(kStart) +
        "float unused(float a) { return undeclared + a; }\n"
        "float user(float a) { return unused(a); }\n"
        "kernel void f(device float* x [[buffer(0)]]) { x[0] = 1; }\n"
        "kernel void g(device float* x [[buffer(0)]]) { x[0] = 2; }\n");
  const Json all = json_of("", 1);
  EXPECT_EQ(all["functions"], 3);
  EXPECT_EQ(all["failures"], 1);
  const Json& refused = all["libraries"][0]["refused"];
  ASSERT_EQ(refused.size(), 1U) << "once, and not the function that calls it";
  EXPECT_EQ(refused[0]["name"], "unused");
  EXPECT_EQ(refused[0]["line"], 3);
  const Outcome table = run_assay("compile " + (folder_ / "kernel.metal").string());
  EXPECT_THAT(table.output, AllOf(HasSubstr("3 functions: 2 compile, 1 does not"), HasSubstr("use of undeclared identifier 'undeclared'")));
  EXPECT_EQ(run_assay("compile " + (folder_ / "kernel.metal").string() + " --function f").status, 0);
}

}  // namespace
}  // namespace assay::tests::compile_test
