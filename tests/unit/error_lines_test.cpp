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

TEST(ErrorLines, ConversionsAndAddressSpacesMayBeMended) {
  for (const std::string_view text : {"use of undeclared identifier 'x'", "unknown type name 'flat'", "expected ';' after expression"})
    EXPECT_TRUE(is_beyond_repair(text)) << text;
  for (const std::string_view text : {"no matching function for call to 'f'", "invalid operands to binary expression ('half' and 'bfloat')",
                                      "assigning 'device float *' to 'thread float *' changes address space of pointer"})
    EXPECT_FALSE(is_beyond_repair(text)) << text;
}

}  // namespace
}  // namespace assay::tests::error_lines_test
