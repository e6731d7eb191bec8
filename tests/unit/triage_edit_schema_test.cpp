// One source that holds many edits: its text, and that a kernel does with a choice what the edited source does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/mutate/mutant.h"
#include "harness/triage/edit_schema.h"
#include "metal/buffer.h"
#include "metal/compile/library.h"
#include "metal/devices/simulator.h"
#include "metal/errors.h"

namespace assay::tests::triage_edit_schema_test {
namespace {

using namespace ::testing;
using harness::Edit;
using harness::EditSchemata;
using harness::Source;

Edit edit_of(const Source& source, std::string_view what, std::string replacement) {
  return {"other_name", source.text().find(what), what.size(), std::move(replacement)};
}

TEST(TriageEditSchema, HoldsValuesAndStatements) {
  const Source source("void f(device int* a, int n) {\n  int i = n + 1;\n  if (i < n) a[i] = 2;\n}\n", "f.metal");
  const EditSchemata schemata(source);
  const std::vector<Edit> edits = {edit_of(source, "n + 1", "n - 1"), edit_of(source, "i < n", "i <= n"), edit_of(source, "a[i]", "a[n]")};
  for (const Edit& edit : edits) EXPECT_TRUE(schemata.can_hold(edit)) << edit.replacement;
  EXPECT_EQ(schemata.schema_of(edits).text,
            "void f(device int* a, int n) {\n  int i = (\n__assay_choice() == 1u ? (n - 1) :\n(n + 1));\n  if ((\n"
            "__assay_choice() == 2u ? (i <= n) :\n(i < n))) \ndo {\nif (__assay_choice() == 3u) { a[n] = 2; }\n"
            "if (!(__assay_choice() == 3u)) { a[i] = 2; }\n} while (false);\n}\n");
}

TEST(TriageEditSchema, DoesNotHoldWhatTheCompilerMustKnow) {
  const Source source(
      "constant int k = 1;\n#define M 2\nvoid f() {\n  constexpr int c = 3;\n  if constexpr (c > 4) { }\n  int a[5] = {6, 7};\n}\n",
      "f.metal");
  const EditSchemata schemata(source);
  for (const std::string_view number : {"1;", "2", "3;", "4)", "5]", "6,"})
    EXPECT_FALSE(schemata.can_hold(edit_of(source, number.substr(0, 1), "9"))) << number;
}

TEST(TriageEditSchema, KnowsTheEditsThatDoNotCompile) {
  const Source source("int f(int n) {\n  return n;\n}\n", "f.metal");
  const std::vector<Edit> edits = {edit_of(source, "n;", "n"), edit_of(source, "n;", "m"), edit_of(source, "n;", "k")};
  std::vector<Edit> held = edits;
  for (Edit& edit : held) edit.length = 1;
  const EditSchemata::Schema schema = EditSchemata(source).schema_of(held);
  EXPECT_THAT(harness::edits_with_errors(schema, "f.metal:4: error: no m\n note: here\nf.metal:1: error: elsewhere\n"), ElementsAre(1));
  EXPECT_THAT(harness::edits_with_errors(schema, "f.metal:1: error: elsewhere\n"), IsEmpty());
}

constexpr std::string_view kKernel = R"(#include <metal_stdlib>
using namespace metal;
constant float table[4] = {0.5f, 1.5f, -2.0f, 3.0f};
inline float weight_of(float score, float top) { return score > top ? 1.0f : exp(score - top); }
kernel void test(device float* out [[buffer(0)]], device const float* in [[buffer(1)]], uint lane [[thread_index_in_simdgroup]]) {
  float sum = 0.0f;
  float top = -1.0f;
  for (uint i = 0; i < 4; ++i) {
    const uint place = (lane + i * 3) % 32;
    const float score = in[place] * table[i % 4] - 0.25f;
    if (score < -8.0f || place == 7) continue;
    top = max(top, score);
    sum += weight_of(score, top) * (lane < 16 ? in[lane] : -in[31 - lane]);
  }
  const float all = simd_sum(sum);
  sum = sum / (1.0f + abs(all));
  if (lane % 2 == 0) sum += simd_shuffle_xor(top, 2);
  out[lane] = sum;
}
)";

// The output of 32 threads; nullopt if the source does not compile.
std::optional<std::vector<std::uint32_t>> output_of(const std::string& text, std::uint32_t choice, metal::Engine engine) {
  try {
    const auto library = metal::Library::from_source(text, "kernel.metal");
    metal::Buffer out(32 * sizeof(float), "out");
    metal::Buffer in(32 * sizeof(float), "in");
    for (std::size_t i = 0; i < 32; ++i) in.as<float>()[i] = static_cast<float>((i * 7) % 13) * 0.5F - 2.0F;
    metal::Simulator simulator({library}, {.engine = engine, .choice = choice});
    simulator.set_pipeline({"test", {}});
    simulator.set_buffer(0, {&out});
    simulator.set_buffer(1, {&in});
    simulator.dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
    const auto bits = out.as<std::uint32_t>();
    return std::vector<std::uint32_t>(bits.begin(), bits.end());
  } catch (const metal::CompileError&) {
    return std::nullopt;
  }
}

TEST(TriageEditSchema, AChoiceDoesWhatTheEditedSourceDoes) {
  const Source source(std::string(kKernel), "kernel.metal");
  const EditSchemata schemata(source);
  constexpr std::uint32_t loop = 8;  // an edit of it may not end
  std::vector<Edit> edits;
  std::vector<harness::Mutant> held;
  std::size_t number = 0;
  for (harness::Mutant& mutant : make_mutants(source)) {
    const Edit edit = {mutant.op, mutant.offset, mutant.length, mutant.replacement};
    // Every second one: each is also compiled alone.
    if (mutant.line == loop || !schemata.can_hold(edit) || number++ % 2 != 0) continue;
    edits.push_back(edit);
    held.push_back(std::move(mutant));
  }
  ASSERT_THAT(edits, SizeIs(Gt(40U)));
  const std::string together = schemata.schema_of(edits).text;
  for (const metal::Engine engine : {metal::Engine::vector, metal::Engine::fibers})
    EXPECT_EQ(output_of(together, 0, engine), output_of(std::string(kKernel), 0, engine));
  std::size_t changes = 0;
  const auto original = output_of(std::string(kKernel), 0, metal::Engine::vector);
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto alone = output_of(mutated_text(source, held[i]), 0, metal::Engine::vector);
    ASSERT_TRUE(alone) << held[i].id();
    EXPECT_EQ(output_of(together, static_cast<std::uint32_t>(i) + 1, metal::Engine::vector), alone) << held[i].id();
    changes += alone != original ? 1 : 0;
  }
  EXPECT_GT(changes, 30U);
}

TEST(TriageEditSchema, KernelsMayOnlyCompareTheChoice) {
  const auto compiles = [](const std::string& body) {
    return output_of("kernel void test(device float* out [[buffer(0)]], device const float* in [[buffer(1)]]) { " + body + " }", 0,
                     metal::Engine::vector)
        .has_value();
  };
  EXPECT_TRUE(compiles("out[0] = __assay_choice() == 1u ? 1.0f : 2.0f;"));
  EXPECT_FALSE(compiles("out[0] = float(__assay_choice());"));
  EXPECT_FALSE(compiles("uint __assay_choice(); out[0] = 1;"));
}

}  // namespace
}  // namespace assay::tests::triage_edit_schema_test
