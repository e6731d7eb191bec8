// The tokeniser of Metal text: a source as it is written, its directives and their macros, and what comparisons make of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/compare/source_words.h"
#include "metal/errors.h"
#include "metal/translate/lexer.h"

namespace assay::tests::tokens_test {
namespace {

using metal::translate::Form;
using metal::translate::tokenize;
using metal::translate::TokenStream;
using namespace ::testing;

std::vector<std::string> texts(const TokenStream& stream) {
  std::vector<std::string> result;
  for (const auto& token : stream.tokens) {
    if (token.kind != metal::translate::TokenKind::end) result.push_back(std::to_string(token.line) + " " + std::string(token.text));
  }
  return result;
}

struct Directive {
  std::string directive, body;
  friend bool operator==(const Directive&, const Directive&) = default;
};
std::vector<Directive> directives(const TokenStream& stream) {
  std::vector<Directive> result;
  for (const auto& directive : stream.directives) {
    result.push_back({stream.source->substr(directive.first, directive.last - directive.first),
                      stream.source->substr(directive.body, directive.last - directive.body)});
  }
  return result;
}

TEST(Tokens, OfASourceAsItIsWrittenLeaveDirectivesOut) {
  const TokenStream stream = tokenize(
      "# 7 \"no marker\"\n"
      "/* a */ #define N (x + \\\n  1)  // one\r\n"
      "int a; # b\n"
      "  #\tdefine F(x, y) x##y\n"
      "#define EMPTY\n"
      "char c = '#'; // it's\n"
      "#pragma unroll",
      "a.metal", Form::written);
  EXPECT_THAT(texts(stream), ElementsAre("4 int", "4 a", "4 ;", "4 #", "4 b", "7 char", "7 c", "7 =", "7 '#'", "7 ;"));
  EXPECT_THAT(directives(stream),
              ElementsAre(Directive{"# 7 \"no marker\"", ""}, Directive{"#define N (x + \\\n  1)  // one\r", " (x + \\\n  1)  // one\r"},
                          Directive{"#\tdefine F(x, y) x##y", " x##y"}, Directive{"#define EMPTY", ""}, Directive{"#pragma unroll", ""}));
}

TEST(Tokens, OfTheSameSourcePreprocessedFollowItsMarkers) {
  const TokenStream stream = tokenize("# 7 \"b.metal\"\nint a;\n#pragma unroll\nb", "a.metal");
  EXPECT_THAT(texts(stream), ElementsAre("7 int", "7 a", "7 ;", "9 b"));
  EXPECT_THAT(stream.files, ElementsAre("a.metal", "b.metal"));
  EXPECT_THAT(stream.directives, IsEmpty());
}

TEST(Tokens, ThatDoNotEndAreRefusedUnlessTheyAreCompared) {
  for (const std::string source : {"a = 'x;\nb", "a \"b\nc", "a /* b"}) {
    EXPECT_THROW(static_cast<void>(tokenize(source, "a.metal", Form::written)), metal::CompileError) << source;
    EXPECT_NO_THROW(static_cast<void>(tokenize(source, "a.metal", Form::compared))) << source;
  }
  EXPECT_THAT(texts(tokenize("#error don't\nb 'c' /* d", "", Form::compared)),
              ElementsAre("1 #", "1 error", "1 don", "1 '", "1 t", "2 b", "2 'c'"));
}

std::vector<std::string> words(const std::string& source) {
  std::vector<std::string> result;
  for (const auto& word : harness::source_words(source)) result.emplace_back(word.text);
  return result;
}

TEST(Tokens, FindQuotedIncludesOutsideOfComments) {
  using metal::translate::has_quoted_include;
  EXPECT_TRUE(has_quoted_include("#include <metal_stdlib>\n #  include \"a.h\"\n"));
  EXPECT_FALSE(has_quoted_include("#include <metal_stdlib>\n// #include \"a.h\"\n/* #include \"a.h\" */ int x;"));
  EXPECT_FALSE(has_quoted_include("#include"));
}

TEST(SourceWords, JoinMembersAndShifts) {
  EXPECT_THAT(words("a.b[1.5f]>>=c >> d.e;"), ElementsAre("a.b", "[", "1.5f", "]", ">>=", "c", ">>", "d.e", ";"));
  EXPECT_THAT(words("a . b > > c"), ElementsAre("a", ".", "b", ">", ">", "c"));
  EXPECT_THAT(words("\"x.y\".z 1e-5"), ElementsAre("\"x.y\"", ".z", "1e-5"));
}

TEST(SourceWords, KnowTheirPlaces) {
  const std::string source = "#define A \\\n  1 // x\n/* y\n */ b";
  const auto found = harness::source_words(source);
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found[4].text, "1");
  EXPECT_EQ(found[4].line, 2U);
  EXPECT_EQ(found[5].text, "b");
  EXPECT_EQ(found[5].line, 4U);
  for (const auto& word : found) EXPECT_EQ(source.substr(word.offset, word.text.size()), word.text);
  EXPECT_EQ(found[3].text, "\\");
  EXPECT_TRUE(found[0].is_sign);
  EXPECT_FALSE(found[1].is_sign);
}

}  // namespace
}  // namespace assay::tests::tokens_test
