// Edits with members of structs, and with expressions that the source has elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "harness/triage/plausible_edits.h"
#include "harness/triage/wrapping_edits.h"
#include "tests/support/edits.h"

namespace assay::tests::wrapping_edits_test {
namespace {

using harness::Edit;
using harness::LineSuspicion;
using harness::Source;

const Source& ring_kernel() {
  static const Source source(R"(struct Ring { uint start, slots = 4; float scale; };
template <int D>
struct State {
  float top = -INFINITY;
  float sum = 0.0f, acc[D];
  void rise(float next) thread {
    const float shrink = exp(top - next);
    sum = sum + shrink;
    top = next;
  }
};
inline uint slot_of(constant Ring& ring, uint j) {
  const uint s = ring.start + j;
  return s < ring.slots ? s : s - ring.slots;
}
inline float capped(float x) { return tanh(x) * 30.0f; }
kernel void mine(constant Ring& ring, device const float* k, device float* out, uint lane) {
  State<4> state;
  for (uint key = 0; key < 8; ++key) {
    float score = k[slot_of(ring, key)];
    const float half_score = capped(score);
    state.rise(score);
    state.sum += k[key * 2] * half_score + k[(key + lane) * 2];
  }
  out[lane] = state.top;
}
)",
                             "mine.metal");
  return source;
}

TEST(EditsWithMembers, OnesWithInitialValuesAndOfMethodsAreKnown) {
  const Source& source = ring_kernel();
  const std::vector<Edit> edits = harness::plausible_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "out[lane] = state.top;", "out[lane] = state.top + log(state.sum);"));
  EXPECT_TRUE(makes(edits, source, "sum = sum + shrink;", "sum = sum * top + shrink;"));
  EXPECT_TRUE(makes(edits, source, "< ring.slots", "< ring.start"));
  for (const Edit& edit : edits) {
    EXPECT_EQ(edit.replacement.find("state.acc"), std::string::npos) << edit.replacement;
    EXPECT_EQ(edit.replacement.find("state.INFINITY"), std::string::npos) << edit.replacement;
    EXPECT_FALSE(edit.replacement.ends_with("state.rise")) << edit.replacement;
  }
}

TEST(PlausibleEdits, WhatAnIndexAStartAndASumInAnArrayLack) {
  const std::string text =
      R"(kernel void mine(device float * out [[buffer(0)]], device float * norms [[buffer(1)]], device uchar * codes [[buffer(2)]],
                 constant uint & count [[buffer(3)]]) {
  float best = -1e4f;
  float sums[4];
  for (uint t = 0; t < count; ++t) {
    const float norm = norms[count];
    const float fade = norm * best;
    best = norm;
    sums[t] += norm * codes[count + t];
  }
  half part[2];
  part[0] = half(best);
  out[0] = part[0] + sums[0];
}
)";
  const Source source(text, "mine.metal");
  const std::vector<Edit> edits = harness::plausible_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "norms[count]", "norms[count + t]"));
  EXPECT_TRUE(makes(edits, source, "best = -1e4f", "best = -INFINITY"));
  EXPECT_TRUE(makes(edits, source, "half part[2];\n  part[0] = half(best);", "float part[2];\n  part[0] = float(best);"));
  EXPECT_TRUE(makes(edits, source, "best = norm;", "{ for (int each = 0; each < 4; ++each) sums[each] *= fade; best = norm; };"));
}

TEST(WrappingEdits, PutValuesIntoCallsAndTakeThemOut) {
  const Source& source = ring_kernel();
  const std::vector<Edit> edits = harness::wrapping_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "k[key * 2]", "k[slot_of(ring, key) * 2]"));
  EXPECT_TRUE(makes(edits, source, "k[(key + lane) * 2]", "k[slot_of(ring, key + lane) * 2]"));
  EXPECT_TRUE(makes(edits, source, "state.rise(score)", "state.rise(capped(score))"));
  EXPECT_TRUE(makes(edits, source, "k[slot_of(ring, key)]", "k[(key)]"));
  EXPECT_TRUE(makes(edits, source, "float half_score = capped(score)", "float half_score = (score)"));
  // Not twice, and not within the function itself.
  EXPECT_FALSE(makes(edits, source, "slot_of(ring, key)", "slot_of(ring, slot_of(ring, key))"));
  for (const Edit& edit : edits) EXPECT_NE(source.place(edit.offset).line, 13U) << edit.replacement;
}

TEST(WrappingEdits, AddUpWhatLanesHave) {
  const Source source(R"(inline float of_team(float x) { return x + simd_shuffle_xor(x, 1); }
inline float of_all(float x) { return simd_max(x); }
kernel void mine(device const float* k, device float* out, uint lane [[thread_index_in_simdgroup]]) {
  const float part = k[lane];
  float top = of_all(part);
  out[0] = top * part;
}
)",
                      "mine.metal");
  const std::vector<Edit> edits = harness::wrapping_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "out[0] = top * part", "out[0] = top * simd_sum(part)"));
  EXPECT_TRUE(makes(edits, source, "out[0] = top * part", "out[0] = top * simd_max(part)"));
  // No line calls it.
  EXPECT_TRUE(makes(edits, source, "out[0] = top * part", "out[0] = top * of_team(part)"));
  EXPECT_FALSE(makes(edits, source, "return simd_max(x)", "return simd_max(simd_max(x))"));
}

TEST(PlausibleEdits, RoundUpQuotientsAndExchangeSizes) {
  const Source source(R"(constant int kWide = 64;
template <int ROWS, int COLS>
kernel void mine(device const float* k, device float* out, constant int& keys, uint lane) {
  const int parts = keys / ROWS;
  const int each = keys / int(lane);
  out[lane] = k[lane * ROWS + parts] * each;
}
)",
                      "mine.metal");
  const std::vector<Edit> edits = harness::plausible_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "keys / ROWS", "((keys + ROWS - 1) / ROWS)"));
  EXPECT_TRUE(makes(edits, source, "keys / int(lane)", "((keys + int(lane) - 1) / int(lane))"));
  EXPECT_TRUE(makes(edits, source, "k[lane * ROWS", "k[lane * COLS"));
  EXPECT_TRUE(makes(edits, source, "k[lane * ROWS", "k[lane * kWide"));
}

TEST(PlausibleEdits, WeighWhatOneSideOfAMergeLacks) {
  const Source source(R"(kernel void mine(device float4* sums, device float* out, int lane) {
  const float a = exp(out[0]);
  float b = exp(out[1]);
  const float4 other = simd_shuffle_xor(sums[lane], 8);
  sums[lane] = sums[lane] * a + other;
  out[lane] = a + b;
}
)",
                      "mine.metal");
  const std::vector<Edit> edits = harness::plausible_edits(source, all_lines(source));
  const auto ops = [&](std::string_view op) { return std::ranges::count(edits, op, &Edit::op); };
  EXPECT_TRUE(makes(edits, source, "* a + other", "* a + other * b"));
  EXPECT_EQ(ops("more_weight"), 2) << "`other` with each of the numbers a and b; a sum without a product has no weights";
  // Nothing may be assigned to a constant.
  EXPECT_FALSE(makes(edits, source, "out[lane] = a + b", "{ a = b; out[lane] = a + b; }"));
  EXPECT_TRUE(makes(edits, source, "out[lane] = a + b", "{ b = a; out[lane] = a + b; }"));
}

TEST(PlausibleEdits, KeepWhatARunningValueWas) {
  const Source source(R"(typedef struct { int past; float top[2]; } State;
kernel void mine(device float* out, constant State& state, float x, int length, int position) {
  float top = state.top[0];
  top = max(top, x);
  const float old = top;
  const float shrink = exp(top - top);
  const int from = max(0, length - state.past);
  out[from] = old * shrink;
}
)",
                      "mine.metal");
  const std::vector<Edit> edits = harness::plausible_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "top = max(top, x);\n  const float old = top;", "const float old = top; top = max(top, x);"));
  EXPECT_TRUE(makes(edits, source, "top = max(top, x);\n  const float old = top;\n  const float shrink = exp(top",
                    "const float old_value = top; top = max(top, x);\n  const float old = top;\n  const float shrink = exp(old_value"));
  EXPECT_TRUE(makes(edits, source, "max(0, length -", "max(0, (position + 1) -"));
  // The members of a struct whose name is behind it.
  EXPECT_TRUE(makes(edits, source, "length - state.past", "length - (state.past + 1)"));
}

TEST(WrappingEdits, AreOfSuspectLinesOnly) {
  const Source& source = ring_kernel();
  LineSuspicion one;
  one.by_line = {{23, 1.0}};
  const std::vector<Edit> edits = harness::wrapping_edits(source, one);
  EXPECT_FALSE(edits.empty());
  for (const Edit& edit : edits) EXPECT_EQ(source.place(edit.offset).line, 23U) << edit.replacement;
}

}  // namespace
}  // namespace assay::tests::wrapping_edits_test
