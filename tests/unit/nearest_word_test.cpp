// The word that a misspelt one probably means.
#include "base/nearest_word.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace assay::tests::nearest_word_test {
namespace {

using base::letters_apart, base::nearest_word;

TEST(NearestWord, CountsLettersToChange) {
  EXPECT_EQ(letters_apart("gauss", "gauss"), 0u);
  EXPECT_EQ(letters_apart("", "abc"), 3u);
  EXPECT_EQ(letters_apart("abc", ""), 3u);
  EXPECT_EQ(letters_apart("kitten", "sitting"), 3u);
  // Two neighbours in the wrong order are one mistake of a typist.
  EXPECT_EQ(letters_apart("shwo", "show"), 1u);
  EXPECT_EQ(letters_apart("ba", "ab"), 1u);
  EXPECT_EQ(letters_apart("wsho", "show"), 2u);
}

TEST(NearestWord, IsTheOneWithTheFewestMistakes) {
  const std::vector<std::string_view> words = {"run", "report", "mutate", "quantize", "dequantize"};
  EXPECT_EQ(nearest_word("rnu", words), "run");
  EXPECT_EQ(nearest_word("quantise", words), "quantize");
  EXPECT_EQ(nearest_word("dequantise", words), "dequantize");
  // Of equally near ones, the first.
  EXPECT_EQ(nearest_word("ab", {"ac", "ad"}), "ac");
}

TEST(NearestWord, MayBeMoreThanWhatWasTyped) {
  EXPECT_EQ(nearest_word("attn", {"reduce_v1", "attn_paged_v1"}), "attn_paged_v1");
  EXPECT_EQ(nearest_word("at", {"reduce_v1", "attn_paged_v1"}), "") << "two letters begin too many words";
}

TEST(NearestWord, IsNoneWhereTooMuchDiffers) {
  EXPECT_EQ(nearest_word("bogus", {"gauss", "run"}), "");
  EXPECT_EQ(nearest_word("xyz", {}), "");
  EXPECT_EQ(nearest_word("", {"a"}), "");
  EXPECT_EQ(nearest_word("ab", {"cd"}), "");
}

// A hostile file may have a key of a megabyte.
TEST(NearestWord, IsNotSearchedForALongText) {
  const std::string text(1U << 20U, 'a');
  EXPECT_EQ(nearest_word(text, {text}), "");
}

TEST(NearestWord, IsAQuestionBehindTheQuotedWord) {
  EXPECT_EQ(base::did_you_mean("gaus", std::vector<std::string>{"gauss"}), " (did you mean 'gauss'?)");
  EXPECT_EQ(base::did_you_mean("nothing", std::vector<std::string>{"gauss"}), "");
}

}  // namespace
}  // namespace assay::tests::nearest_word_test
