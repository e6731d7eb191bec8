// Errors of clang with their places, and those that no further attempt to compile can mend.
#include "metal/compile/error_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

namespace assay::tests::error_lines_test {
namespace {

using namespace ::testing;
using namespace metal::compile;

TEST(ErrorLines, HavePlacesAndLeaveOutNotesAndQuotedLines) {
  const auto lines = error_lines(
      "a:b.metal:12: error: use of undeclared identifier 'x: error: y'\n    12 | int i = x; // :3: error: z\n"
      "h.h:4: note: here\nno place: error: a\n: error: b\nh.h:5: error: expected ';'\n");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].file, "a:b.metal");
  EXPECT_EQ(lines[0].line, 12U);
  EXPECT_EQ(lines[0].text, "use of undeclared identifier 'x: error: y'");
  EXPECT_EQ(lines[1].whole, "h.h:5: error: expected ';'");
}

// What fails for lack of a file or of space would compile later.
TEST(ErrorLines, OnlyErrorsAboutSourcesWouldBeGivenAgain) {
  EXPECT_TRUE(are_about_sources("a.metal:3: error: unknown type name 'flat'\n    3 | flat x; // error: y\n1 error generated.\n"));
  EXPECT_TRUE(are_about_sources("<source>:3:7:{3:1-3:2}: fatal error: too many errors emitted, stopping now\n"));
  for (const std::string_view text :
       {"", "1 error generated.\n", "fatal error: PCH file '/c/x.pch' not found: module file not found\n",
        "a.metal:3: error: x\nLLVM ERROR: IO failure on output stream: No space left on device\n",
        "clang++-19: error: unable to execute command\n", "error: unable to open output file 'x.o': 'No space left on device'\n"})
    EXPECT_FALSE(are_about_sources(text)) << text;
}

TEST(ErrorLines, ConversionsAndAddressSpacesMayBeMended) {
  for (const std::string_view text : {"use of undeclared identifier 'x'", "unknown type name 'flat'", "expected ';' after expression"})
    EXPECT_TRUE(is_beyond_repair(text)) << text;
  for (const std::string_view text : {"no matching function for call to 'f'", "invalid operands to binary expression ('half' and 'bfloat')",
                                      "assigning 'device float *' to 'thread float *' changes address space of pointer"})
    EXPECT_FALSE(is_beyond_repair(text)) << text;
}

}  // namespace
}  // namespace assay::tests::error_lines_test
