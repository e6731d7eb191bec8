// The mutants of small sources, written down by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "harness/mutate/mutant.h"
#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/mutate/structure.h"
#include "metal/errors.h"

namespace assay::tests::mutate_mutants_test {
namespace {

using namespace harness;

using namespace ::testing;

// "operator:line:column:number `before` -> `after`"
std::vector<std::string> listed(const std::string& text) {
  const Source source(text, "kernel.metal");
  std::vector<std::string> result;
  for (const Mutant& mutant : make_mutants(source)) {
    result.push_back(mutant.id() + " `" + text.substr(mutant.offset, mutant.length) + "` -> `" + mutant.replacement + "`");
  }
  return result;
}

TEST(Mutants, OfASmallKernelAreTheseAndNoOthers) {
  const std::string text = R"(#include <metal_stdlib>
using namespace metal; // a + b
#define WIDTH 32
template <short D> kernel void f(device float* x [[buffer(0)]], constant uint& n [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  static_assert(D > 1, "a - b");
  if (i >= n) return;
  float a[4];
  x[i] = max(x[i], -1.5f);
  threadgroup_barrier(mem_flags::mem_none);
}
template [[host_name("f_4")]] kernel decltype(f<4>) f<4>;
)";
  EXPECT_THAT(listed(text), ElementsAre("plus_one:3:15:1 `32` -> `33`",                          //
                                        "drop_constant:3:15:1 `32` -> `0`",                      //
                                        "condition:6:7:1 `i >= n` -> `false`",                   //
                                        "condition:6:7:2 `i >= n` -> `true`",                    //
                                        "relation:6:9:1 `>=` -> `>`",                            //
                                        "drop_statement:6:15:1 `return` -> ``",                  //
                                        "drop_statement:8:3:1 `x[i] = max(x[i], -1.5f)` -> ``",  //
                                        "min_max:8:10:1 `max` -> `min`",                         //
                                        "sign:8:20:1 `-` -> ``",                                 //
                                        "float_constant:8:21:1 `1.5f` -> `1.5015f`",             //
                                        "drop_barrier:9:3:1 `threadgroup_barrier(mem_flags::mem_none)` -> ``"));
}

// One line of a function body and what is made of it.
std::vector<std::string> of_line(const std::string& line) {
  std::vector<std::string> result;
  for (const std::string& mutant : listed("void f(device float4* p, uint i, uint j, int k) {\n" + line + "\n}\n")) {
    result.push_back(mutant.substr(0, mutant.find(':')) + mutant.substr(mutant.find(" `")));
  }
  return result;
}

TEST(Mutants, OfOneLine) {
  EXPECT_THAT(of_line("k += i << 2;"), ElementsAre("drop_statement `k += i << 2` -> ``", "arithmetic `+=` -> `-=`", "bits `<<` -> `>>`",
                                                   "plus_one `2` -> `3`", "drop_constant `2` -> `0`"));
  EXPECT_THAT(of_line("for (uint t = 0; t < i; ++t) {}"), ElementsAre("plus_one `0` -> `1`", "relation `<` -> `<=`", "step `++` -> `--`"));
  EXPECT_THAT(of_line("while (i != j) break;"),
              ElementsAre("condition `i != j` -> `false`", "relation `!=` -> `==`", "drop_statement `break` -> ``"));
  EXPECT_THAT(
      of_line("float a = i > j ? 1.0f : 0.0f;"),
      ElementsAre("sign `i > j ? 1.0f : 0.0f` -> `-(i > j ? 1.0f : 0.0f)`", "condition `i > j` -> `false`", "condition `i > j` -> `true`",
                  "relation `>` -> `>=`", "float_constant `1.0f` -> `1.001f`", "float_constant `0.0f` -> `1.0f`"));
  EXPECT_THAT(of_line("g(i, j);"), ElementsAre("drop_statement `g(i, j)` -> ``", "swap_arguments `i, j` -> `j, i`"));
  EXPECT_THAT(of_line("h(min(i, j));"), ElementsAre("drop_statement `h(min(i, j))` -> ``", "min_max `min` -> `max`"));
  EXPECT_THAT(of_line("p[i * 4 + j] = 0;"),
              ElementsAre("drop_statement `p[i * 4 + j] = 0` -> ``", "drop_operand `i *` -> ``", "drop_operand `i * 4 +` -> ``",
                          "swap_indices `i * 4 + j` -> `j * 4 + i`", "other_index `i` -> `j`", "arithmetic `*` -> `/`",
                          "plus_one `4` -> `5`", "drop_constant `4` -> `1`", "arithmetic `+` -> `-`", "drop_operand `+ j` -> ``",
                          "other_index `j` -> `i`", "plus_one `0` -> `1`"));
  EXPECT_THAT(of_line("bool b = i < j && k == 7;"),
              ElementsAre("drop_operand `i < j &&` -> ``", "relation `<` -> `<=`", "logic `&&` -> `||`", "drop_operand `&& k == 7` -> ``",
                          "relation `==` -> `!=`", "plus_one `7` -> `8`", "drop_constant `7` -> `0`"));
}

TEST(Mutants, LeaveDeclarationsAndWhatIsNoArithmeticAlone) {
  for (const char* line :
       {"device const float4* q = p;", "threadgroup float s[32];", "float4x4 m;", "using T = vec<float, 4>;", "typedef int my_int;",
        "float4 v = as_type<float4>(i);", "static_assert(1 + 1 == 2, \"a * b\");", "/* i + j */ // k * 2", "int a, b;"}) {
    EXPECT_THAT(of_line(line), ::testing::AnyOf(IsEmpty(), ElementsAre(HasSubstr("sign `as_type")))) << line;
  }
}

TEST(Mutants, AreNumberedInOrderAndNoTwoAreAlike) {
  const std::string text =
      "int f(int a, int b) {\n  return a + b + a - 1 + g(a, b, 3);\n}\n#define SQUARE(x) ((x) * (x))\n#define DECLARE(n) template void f<n "
      "+ 1>();\n";
  const Source source(text, "kernel.metal");
  const std::vector<Mutant> mutants = make_mutants(source);
  ASSERT_GT(mutants.size(), 10U);
  std::set<std::string> ids;
  std::set<std::string> texts;
  for (const Mutant& mutant : mutants) {
    EXPECT_TRUE(ids.insert(mutant.id()).second) << mutant.id();
    EXPECT_TRUE(texts.insert(mutated_text(source, mutant)).second) << mutant.id();
    EXPECT_NE(mutated_text(source, mutant), text) << mutant.id();
    EXPECT_NE(mutant.line, 5U) << "a macro that declares has no arithmetic: " << mutant.id();
  }
  EXPECT_TRUE(ids.contains("arithmetic:4:24:1"));
}

TEST(Mutants, ShiftsAreNoTemplates) {
  EXPECT_THAT(of_line("k = i >> 1 > 2;"), ::testing::Contains("bits `>>` -> `<<`"));
  EXPECT_THAT(of_line("array<array<int, 2>, 2> a;"), IsEmpty());
}

TEST(Mutants, BracketsWithoutAPartnerAreRefusedByFileAndLine) {
  try {
    Source("void f() {\n  g((1);\n}\n", "mine.metal");
    FAIL();
  } catch (const metal::CompileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("mine.metal:"));
    EXPECT_THAT(error.what(), HasSubstr("has no matching bracket"));
  }
}

TEST(Mutants, ConstantsKeepBaseAndSuffix) {
  EXPECT_EQ(plus_one("0xFu"), "0x10u");
  EXPECT_EQ(plus_one("07"), "010");
  EXPECT_EQ(plus_one("0b11"), "0b100");
  EXPECT_EQ(plus_one("99ul"), "100ul");
  EXPECT_EQ(plus_one("1.5f"), "");
  EXPECT_EQ(changed_float("2.0h"), "2.002h");
  EXPECT_EQ(changed_float("0.f"), "1.0f");
  EXPECT_EQ(changed_float("1e10f"), "1.001e+10f");
  EXPECT_EQ(changed_float("12"), "");
}

TEST(Mutants, AHunkIsAUnifiedDiff) {
  const Source source("int f() {\n  int a = 1;\n  g(a,\n    2);\n  return a;\n}\n", "kernel.metal");
  const std::vector<Mutant> mutants = make_mutants(source);
  const auto found = std::ranges::find(mutants, "swap_arguments:3:5:1", &Mutant::id);
  ASSERT_NE(found, mutants.end());
  EXPECT_EQ(diff_hunk(source, *found),
            "@@ -1,7 +1,7 @@ swap_arguments:3:5:1\n int f() {\n   int a = 1;\n-  g(a,\n-    2);\n+  g(2,\n+    a);\n   return a;\n }\n \n");
}

TEST(Mutants, ASampleIsFixedByItsSeed) {
  const Source source("int f(int a) { return a + 1 + a * 2 + a / 3 + (a - 4) * 5 + a % 6; }\n", "kernel.metal");
  const std::vector<Mutant> all = make_mutants(source);
  const auto ids = [](const std::vector<Mutant>& mutants) {
    std::vector<std::string> result;
    for (const Mutant& mutant : mutants) result.push_back(mutant.id());
    return result;
  };
  EXPECT_EQ(ids(sample(all, 5, 1)), ids(sample(all, 5, 1)));
  EXPECT_NE(ids(sample(all, 5, 1)), ids(sample(all, 5, 2)));
  EXPECT_EQ(sample(all, 5, 1).size(), 5U);
  EXPECT_EQ(ids(sample(all, all.size(), 1)), ids(all));
}

}  // namespace
}  // namespace assay::tests::mutate_mutants_test
