// Edits that undo what authors mix up: the order of two counts, arguments with similar names.
#include "harness/triage/exchanged_edits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"
#include "harness/triage/slices.h"
#include "tests/support/edits.h"

namespace assay::tests::exchanged_edits_test {
namespace {

using harness::Edit;
using harness::LineSuspicion;
using harness::Source;

constexpr std::string_view kText = R"(#include <metal_stdlib>
struct Sizes { int k_page, k_row, v_page, v_row; int heads; float k_scale, v_scale; };
struct Rows { int page, row; float scale; };
kernel void mine(device float * out [[buffer(0)]], constant Sizes & sizes [[buffer(1)]], int group, int fan, int lane, int count) {
  Rows keys{sizes.k_page, sizes.k_row, sizes.k_scale};
  Rows values{sizes.k_page, sizes.k_row, sizes.v_scale};
  for (int r = 0; r < fan; ++r) {
    const int head = r / count * sizes.heads + group;
    const int at = keys.page + lane * 8 + r;
    out[at] = values.scale - lane * 8 + head;
  }
}
)";

std::vector<Edit> edits_of(const Source& source) {
  LineSuspicion all;
  for (std::uint32_t line = 1; line <= source.line_count(); ++line) all.by_line[line] = 1;
  return harness::exchanged_edits(source, all);
}

TEST(ExchangedEdits, TheOtherCountRunsFaster) {
  const Source source(std::string(kText), "mine.metal");
  const std::vector<Edit> edits = edits_of(source);
  EXPECT_TRUE(makes(edits, source, "r / count * sizes.heads + group", "group * fan + r / count"));
  EXPECT_TRUE(makes(edits, source, "r / count * sizes.heads + group", "group * count + r / count"));
  EXPECT_TRUE(makes(edits, source, "lane * 8 + r", "r * fan + lane"));
  // What is subtracted is no sum with what follows.
  EXPECT_FALSE(makes(edits, source, "lane * 8 + head", "head * fan + lane"));
}

TEST(ExchangedEdits, NamesThatDifferInOnePartChangeTogether) {
  const Source source(std::string(kText), "mine.metal");
  const std::vector<Edit> edits = edits_of(source);
  EXPECT_TRUE(makes(edits, source, "values{sizes.k_page, sizes.k_row", "values{sizes.v_page, sizes.v_row"));
  EXPECT_TRUE(makes(edits, source, "keys{sizes.k_page, sizes.k_row, sizes.k_scale", "keys{sizes.v_page, sizes.v_row, sizes.v_scale"));
  EXPECT_FALSE(makes(edits, source, "values{sizes.k_page", "values{sizes.v_page")) << "one name alone";
}

TEST(ExchangedEdits, ARingIsCountedFromTheOtherEnd) {
  const std::string text = R"(struct Sizes { uint start, slots; };
kernel void mine(device float * out [[buffer(0)]], constant Sizes & sizes [[buffer(1)]], uint slot) {
  const uint key = (slot + sizes.start) % sizes.slots;
  const uint age = (slot + sizes.slots - sizes.start) % sizes.slots;
  out[key] = float(age);
}
)";
  const Source source(text, "mine.metal");
  const std::vector<Edit> edits = edits_of(source);
  EXPECT_TRUE(makes(edits, source, "(slot + sizes.start) %", "(slot + sizes.slots - sizes.start) %"));
  EXPECT_TRUE(makes(edits, source, "(slot + sizes.slots - sizes.start) %", "(slot + sizes.start) %"));
}

TEST(ExchangedEdits, AreMadeOnSuspectLinesAlone) {
  const Source source(std::string(kText), "mine.metal");
  LineSuspicion one;
  one.by_line[8] = 1;
  const std::vector<Edit> edits = harness::exchanged_edits(source, one);
  EXPECT_FALSE(edits.empty());
  for (const Edit& edit : edits) EXPECT_EQ(source.place(edit.offset).line, 8U) << edit.replacement;
}

}  // namespace
}  // namespace assay::tests::exchanged_edits_test
