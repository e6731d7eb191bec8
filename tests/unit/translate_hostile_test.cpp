// Hostile sources: for any bytes, the translator ends with a translation or with a CompileError at a place, and soon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "metal/compile/library.h"
#include "metal/errors.h"
#include "metal/translate/limits.h"
#include "metal/translate/translation.h"
#include "tests/support/files.h"

namespace assay::tests::translate_hostile_test {
namespace {

using namespace metal;
using namespace metal::translate;

using namespace ::testing;

std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

// What the translator has against a source; empty if nothing.
std::string complaint(std::string source) {
  try {
    const Translation translation = Translation::of(std::move(source), "k.metal");
    for (const Kernel& kernel : translation.kernels()) static_cast<void>(translation.render(kernel, {}, {}));
    return {};
  } catch (const CompileError& error) {
    return error.what();
  }
}

// Among them what tests/fuzz found, cut short.
TEST(TranslateHostile, WhatEndsInTheMiddleIsRefusedWithAPlace) {
  for (const char* source : {"(",
                             "[[",
                             "[[a",
                             "{",
                             "a ? b",
                             "a ? b :",
                             "template",
                             "template <",
                             "template [[host_name(\"a\")]]",
                             "kernel",
                             "kernel void f(",
                             "kernel void f() [[",
                             "kernel void f(device float* x [[buffer(0",
                             "using",
                             "using namespace",
                             "typedef",
                             "enum",
                             "enum E {",
                             "struct S { S(",
                             "struct S { S() thread",
                             "struct S { int f() const device",
                             "constant int a [[function_constant(0)]]",
                             "namespace",
                             "void f() { for",
                             "void f() { for (;;)",
                             "void f() { do",
                             "void f() { do {} while",
                             "void f() { if (a) b; else",
                             "}",
                             "\"abc",
                             "\"abc\\",
                             "'",
                             "/*",
                             "R\"(abc",
                             "R\"",
                             "void f() { threadgroup float x",
                             "void f() { static_cast<half>(",
                             "void f() { (half)",
                             "is_function_constant_defined",
                             "is_function_constant_defined(",
                             "void f() { decltype(",
                             "# 1 \"",
                             "constexpr int a[",
                             "constexpr int a = "}) {
    const std::string text = complaint(source);
    if (text.empty()) continue;
    EXPECT_THAT(text, StartsWith("k.metal:1: error: ")) << source;
  }
  EXPECT_THAT(complaint("kernel void f("), StartsWith("k.metal:1: error: "));
  EXPECT_THAT(complaint("using"), HasSubstr("the file ends in the middle"));
}

TEST(TranslateHostile, BytesThatAreNoTextAreRefusedOrPassedOn) {
  using namespace std::string_literals;
  for (const std::string& source : {"\0"s, "kernel\0void f() {}"s, "\xff\xfe\xc0\x80"s, "kernel void \xff() {}"s, "\r\n\v\f"s, "# \0 1"s}) {
    EXPECT_THAT(complaint(source), testing::AnyOf("", StartsWith("k.metal:"))) << testing::PrintToString(source);
  }
}

// A message ends at a NUL, and then says nothing.
TEST(TranslateHostile, ControlCharactersDoNotEndAMessageOrPaintTheTerminal) {
  using namespace std::string_literals;
  EXPECT_EQ(complaint("# 7 \"a\0b\x1b[31m\"\n}"s), "a?b?[31m:7: error: '}' closes nothing");
  EXPECT_THAT(complaint("kernel void f(device float* a [[x\0]]) {}"s), HasSubstr("argument 'a': [[x?]] is not supported"));
}

TEST(TranslateHostile, CutOffAnywhereAKernelOfOursDoesNoHarm) {
  const std::filesystem::path variants = kRoot / "kernels/variants";
  for (const char* variant : {"bf16_prefill_v2", "tqhb_v2"}) {
    std::ifstream stream(variants / variant / "kernel.metal", std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(stream), {}};
    ASSERT_GT(whole.size(), 1000U);
    std::size_t refused = 0;
    for (std::size_t length = 0; length < whole.size(); length += 7) refused += complaint(whole.substr(0, length)).empty() ? 0 : 1;
    EXPECT_GT(refused, 100U);
  }
}

TEST(TranslateHostile, DepthIsLimited) {
  const auto nested = [](std::size_t depth) {
    return "constant int a [[function_constant(" + repeated("(", depth - 2) + "1" + repeated(")", depth - 2) + ")]];";
  };
  const std::string message = "k.metal:1: error: brackets nest more than 256 deep";
  // Two brackets of the attribute and a parenthesis stand around them.
  EXPECT_EQ(complaint(nested(100)), "");
  EXPECT_EQ(complaint(nested(256)), message);
  EXPECT_EQ(complaint(repeated("(", 300'000)), message);
  EXPECT_EQ(complaint(repeated("namespace a {", 100'000)), message);
  EXPECT_THAT(complaint("void f() { for (;;) " + repeated("if (a) ", 100'000) + ";}"), HasSubstr("statements nest more than 512 deep"));
  EXPECT_THAT(complaint("void f() { for (;;) " + repeated("do ", 100'000) + ";}"), HasSubstr("statements nest more than 512 deep"));
  // Signs and casts need no brackets to nest.
  for (const char* sign : {"- ", "!", "~", "1 ? 2 : "}) {
    EXPECT_THAT(complaint("constant int a [[function_constant(" + repeated(sign, 100'000) + "1)]];"), HasSubstr("is not known")) << sign;
  }
  EXPECT_EQ(complaint("void f(half a) { a = " + repeated("(half)", 1000) + "a; }"), "");
}

TEST(TranslateHostile, SizeIsLimited) {
  EXPECT_THAT(complaint(std::string(kLargestSource + 1, ' ')), HasSubstr("the source has 16777217 bytes once it is preprocessed"));
  EXPECT_THAT(complaint(std::string(kMostTokens + 1, ';')), HasSubstr("more than 1048576 words and signs"));
  EXPECT_EQ(complaint("int " + std::string(kLongestName, 'a') + ";"), "");
  EXPECT_THAT(complaint("int " + std::string(kLongestName + 1, 'a') + ";"), HasSubstr("a name of more than 1024 characters"));
  EXPECT_THAT(complaint(repeated("namespace " + std::string(1000, 'a') + " {", 2) + "}}"), HasSubstr("a qualified name of more than 1024"));
  EXPECT_THAT(complaint("namespace " + repeated("a::", 1000) + "b {}"), HasSubstr("a qualified name of more than 1024"));
  EXPECT_THAT(complaint("kernel void f(" + repeated("device float* a, ", 200) + "device float* b) {}"),
              HasSubstr("a kernel with more than 128 arguments"));
  EXPECT_THAT(complaint(repeated("kernel void f() {} ", kMostKernels + 1)), HasSubstr("more than 16384 kernel functions"));
}

// What takes the square of its length, or more.
TEST(TranslateHostile, WorkIsLimited) {
  // One of several ways (the fuzz target knows more): each takes seconds until the limit is reached.
  EXPECT_THAT(complaint(repeated("using namespace a;", 20'000) + repeated("constexpr int b = c;", 20'000)),
              HasSubstr("takes too long to translate"));
}

// Before the translator sees anything.
TEST(TranslateHostile, WhatThePreprocessorMakesOfASourceIsLimited) {
  std::string bomb = "#define A0 one two three four five six seven eight nine ten\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "A" + std::to_string(i - 1) + " ";
    bomb += "#define A" + std::to_string(i) + " " + repeated(before, 10) + "\n";
  }
  const auto refusal = [](const std::string& source) -> std::string {
    try {
      static_cast<void>(Library::from_source(source, "bomb.metal"));
    } catch (const CompileError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal(bomb + "A9\n"), "bomb.metal:1: error: the source has more than 16777216 bytes once it is preprocessed");
  EXPECT_EQ(refusal(bomb + "// A9\n"), "");
}

TEST(TranslateHostile, ManyFilesInMarkersAreDistinguishedFast) {
  std::string source;
  for (int i = 0; i < 200'000; ++i) source += "# 1 \"f" + std::to_string(i) + "\"\n";
  EXPECT_THAT(complaint(source + "}"), StartsWith("f199999:1: error: "));
}

TEST(TranslateHostile, AnEnumeratorBehindTheLargestNumberHasNoValue) {
  const std::string source = "enum E : long { last = 9223372036854775807, behind, known = 3 };";
  EXPECT_EQ(complaint(source + "constant int a [[function_constant(known)]];"), "");
  EXPECT_THAT(complaint(source + "constant int a [[function_constant(behind)]];"), HasSubstr("the index 'behind' is not known"));
}

TEST(TranslateHostile, NoTokenSpansLines) {
  EXPECT_THAT(complaint("const char* a = R\"(one\ntwo)\";"), HasSubstr("a raw string of several lines is not supported"));
  EXPECT_THAT(complaint("const char* a = R\"01234567890123456(x)01234567890123456\";"), HasSubstr("a raw string that does not begin"));
  EXPECT_THAT(complaint("const char* a = \"one\\\ntwo\";"), HasSubstr("does not end"));
  EXPECT_EQ(complaint("const char* a = R\"x(one)x\";"), "");
}

TEST(TranslateHostile, MessagesAreNotAsLongAsTheSource) {
  const std::string text = complaint("constant int a [[function_constant(" + repeated("b + ", 10'000) + "b)]];");
  EXPECT_THAT(text, HasSubstr("is not known"));
  EXPECT_LT(text.size(), 4096U);
}

}  // namespace
}  // namespace assay::tests::translate_hostile_test
