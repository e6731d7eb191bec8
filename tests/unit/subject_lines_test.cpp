// Lines that compute with what a mistake is about, by the names that a launch gives to a kernel.
#include "harness/triage/subject_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "families/registry.h"
#include "kernels/variant.h"

namespace assay::tests::subject_lines_test {
namespace {

using namespace ::testing;
using harness::SubjectLine;

constexpr std::string_view kDescription = R"(family = "attention"
source = "k.metal"

[limits]
dk      = [64]
softcap = [0, 30]

[[dispatch]]
function  = "f"
grid      = ["h"]
threads   = [32]
constants = { 0 = "softcap > 0" }

[dispatch.arguments.job]
share  = "h / g"
extent = ["lq", "lk"]
limit  = "softcap"
past   = "offset"
)";

constexpr std::string_view kSource = R"(#include <metal_stdlib>
constant bool capped [[function_constant(0)]];
struct Job { uint share; uint2 extent; float limit; int past; };
float soft(float x, float most) {
  return most * tanh(x / most);
}
kernel void f(constant Job& job, device float* out, uint head) {
  const uint group = head / job.share;
  const uint rows = job.extent.x;
  const int past = job.past;
  for (uint i = 0; i < job.extent.y; ++i) {
    if (int(i) > int(rows) + past) break;
    float s = float(group + i);
    if (capped) s = soft(s, job.limit);
    out[i] = s;
  }
}
)";
enum Line : std::uint32_t { kGlobal = 2, kTanh = 5, kGroup = 8, kRows, kPast, kLoop, kSees, kUse, kCapped, kStore };

class SubjectLines : public Test {
 protected:
  [[nodiscard]] std::map<std::uint32_t, SubjectLine> lines_of(std::string_view kind, std::string says = "") const {
    harness::Classification mistake;
    mistake.kind = kind;
    mistake.says = std::move(says);
    return harness::subject_lines(variant_, source_, slices_, mistake);
  }
  [[nodiscard]] std::uint32_t most_suspect(std::string_view kind) const { return harness::most_suspect(lines_of(kind), {}, false); }

  kernels::Variant variant_ = kernels::parse_variant(kDescription, "k", "k/variant.toml", families::contracts());
  harness::Source source_{std::string(kSource), "k.metal"};
  harness::Slices slices_{source_, {}};
};

TEST_F(SubjectLines, ALineThatNamesTheSubjectComesBeforeOneThatUsesWhatItComputes) {
  const auto lines = lines_of(harness::mistake::kHead);
  EXPECT_EQ(most_suspect(harness::mistake::kHead), kGroup);
  ASSERT_TRUE(lines.contains(kGroup));
  EXPECT_EQ(lines.at(kGroup).name, "share");
  EXPECT_EQ(lines.at(kGroup).meaning, "h / g");
  ASSERT_TRUE(lines.contains(kUse));
  EXPECT_LT(lines.at(kUse).weight, lines.at(kGroup).weight);
}

// `past` is right where batches are of one length.
TEST_F(SubjectLines, WhereANumberMustNotBeTakenAsItIsTheLineThatTakesItComesFirst) {
  const auto taken = lines_of(harness::mistake::kMask, "the offset of the queries is that of the longest batch, in every batch");
  ASSERT_TRUE(taken.contains(kPast) && taken.contains(kSees));
  EXPECT_GT(taken.at(kPast).weight, taken.at(kSees).weight);
  const auto computed = lines_of(harness::mistake::kMask, "the offset is one larger");
  EXPECT_EQ(computed.at(kPast).weight, computed.at(kSees).weight);
}

TEST_F(SubjectLines, OfAVectorOnlyTheElementCounts) {
  const auto lines = lines_of(harness::mistake::kChunk);
  EXPECT_TRUE(lines.contains(kLoop));
  EXPECT_FALSE(lines.contains(kRows)) << "extent.x is lq";
  EXPECT_EQ(most_suspect(harness::mistake::kChunk), kLoop);
}

TEST_F(SubjectLines, FunctionsAndConstantsOfTheSubjectCount) {
  const auto lines = lines_of(harness::mistake::kSoftcap);
  EXPECT_TRUE(lines.contains(kTanh));
  EXPECT_TRUE(lines.contains(kCapped));
  EXPECT_FALSE(lines.contains(kGlobal)) << "a declaration computes nothing";
  EXPECT_EQ(most_suspect(harness::mistake::kSoftcap), kCapped);
}

// A launch that says what `g` is has no other name for a variable of the kernel's own.
TEST_F(SubjectLines, AVariableOfOneLetterIsNoNameOfTheLaunch) {
  std::string text(kSource);
  text.replace(text.find("float s = float(group + i)"), 7, "float g = 1.0f, s");
  const harness::Source source(text, "k.metal");
  harness::Classification mistake;
  mistake.kind = harness::mistake::kHead;
  const auto lines = harness::subject_lines(variant_, source, harness::Slices(source, {}), mistake);
  EXPECT_EQ(harness::most_suspect(lines, {}, false), kGroup);
  EXPECT_TRUE(!lines.contains(kUse) || lines.at(kUse).name == "share");
}

TEST_F(SubjectLines, NumbersAndAttributesTellTooWhatALineDoes) {
  const harness::Source source(
      R"(kernel void f(device const uchar* codes, device float* out, uint lane, uint teams [[simdgroups_per_threadgroup]]) {
  const uchar code = codes[lane / 2];
  const int low = code & 0xF;
  for (uint other = 1; other < teams; other *= 2) out[lane] += float(low);
}
)",
      "k.metal");
  const auto most_suspect = [&](std::string_view kind) {
    harness::Classification mistake;
    mistake.kind = kind;
    return harness::most_suspect(harness::subject_lines(variant_, source, harness::Slices(source, {}), mistake), {}, false);
  };
  EXPECT_EQ(most_suspect(harness::mistake::kNibbles), 3U);
  EXPECT_EQ(most_suspect(harness::mistake::kSimdgroup), 4U);
}

TEST_F(SubjectLines, AClassWithoutASubjectHasNone) {
  EXPECT_THAT(lines_of(harness::mistake::kHalf), IsEmpty());
  EXPECT_THAT(lines_of(harness::mistake::kSinks), IsEmpty()) << "the kernel has no sinks";
  EXPECT_EQ(most_suspect(harness::mistake::kHalf), 0U);
}

TEST_F(SubjectLines, LandmarksDecideAmongLinesThatNameTheSame) {
  const auto lines = lines_of(harness::mistake::kSoftcap);
  harness::LineSuspicion suspicion;
  suspicion.by_line[kTanh] = 1;
  suspicion.by_line[kStore] = 1;
  EXPECT_NE(harness::most_suspect(lines, suspicion, false), kStore) << "it is not about the soft cap";
}

TEST_F(SubjectLines, SuspicionIsRaisedAndNeverLowered) {
  harness::LineSuspicion suspicion;
  suspicion.by_line[kGroup] = 0.2;
  suspicion.by_line[kStore] = 0.9;
  harness::suspect_subject(lines_of(harness::mistake::kHead), source_.line_count(), true, suspicion);
  EXPECT_EQ(suspicion.of(kGroup), 1.0);
  EXPECT_EQ(suspicion.of(kStore), 0.9);
  harness::LineSuspicion nothing;
  harness::suspect_subject(lines_of(harness::mistake::kHead), source_.line_count(), false, nothing);
  EXPECT_LT(nothing.of(kGroup), 1.0);
  EXPECT_GT(nothing.of(kGroup), nothing.of(kStore));
  EXPECT_GT(nothing.of(kStore), 0.0) << "where nothing is known, every line is worth a try";
}

TEST(WritesElement, OnlyWhereOneIsAssigned) {
  const harness::Source source("void f(device int* a) {\n  a[0] = 1;\n  int b = a[0];\n  a[1] += 2;\n}\n", "f.metal");
  EXPECT_TRUE(harness::writes_element(source, 2));
  EXPECT_FALSE(harness::writes_element(source, 3));
}

}  // namespace
}  // namespace assay::tests::subject_lines_test
