// Unified diffs: the text, and that `patch` makes one file of the other with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "reports/unified_diff.h"
#include "tests/support/command.h"

namespace assay::tests::unified_diff_test {
namespace {

using reports::unified_diff;
using namespace ::testing;

TEST(UnifiedDiff, HasThreeLinesOfContext) {
  EXPECT_EQ(unified_diff("k.metal", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- a/k.metal\n+++ b/k.metal\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  EXPECT_EQ(unified_diff("k", "same\n", "same\n"), "");
}

TEST(UnifiedDiff, OfHostileNamesHasOneHeader) {
  EXPECT_THAT(unified_diff("a\n+++ b/etc", "1\n", "2\n"), StartsWith("--- a/a?+++ b/etc\n+++ b/a?+++ b/etc\n@@ -1 +1 @@\n"));
}

class UnifiedDiffPatch : public TestInFolder {};

TEST_F(UnifiedDiffPatch, MakesOneTextOfTheOther) {
  std::string many;
  for (int i = 0; i < 60; ++i) many += "line " + std::to_string(i % 7) + "\n";
  const std::string changed =
      replaced(replaced(many, "line 3\nline 4\nline 5\n", "line 3\nline 5\n"), "line 6\nline 0\n", "line 6\nnew\nline 0\n");
  const std::pair<std::string, std::string> rows[] = {{"a\nb\n", "b\n"},
                                                      {"", "a\n"},
                                                      {"a\n", ""},
                                                      {"a\nb", "a\nc"},
                                                      {"a\nb", "a\nb\n"},
                                                      {"a\r\nb\r\n", "a\r\nc\r\n"},
                                                      {many, changed},
                                                      {changed, many},
                                                      {"x\n" + many, many + "y\n"},
                                                      {many, "nothing\nin common\n"}};
  for (const auto& [before, after] : rows) {
    write(before, "k.metal");
    write(unified_diff("k.metal", before, after), "change.diff");
    const Outcome patched = run_command("cd '" + folder_.string() + "' && patch --binary -p1 -i change.diff");
    if (patched.status == 127) GTEST_SKIP() << "no patch";
    EXPECT_EQ(patched.status, 0) << patched.output;
    const std::string got = std::filesystem::exists(folder_ / "k.metal") ? read_file(folder_ / "k.metal") : "";
    EXPECT_EQ(got, after) << unified_diff("k.metal", before, after);
  }
}

}  // namespace
}  // namespace assay::tests::unified_diff_test
