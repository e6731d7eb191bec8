// Edits at several places of a source, and those that repair nothing.
#include "harness/triage/edit_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/triage/edit_schema.h"

namespace assay::tests::edit_places_test {
namespace {

using namespace ::testing;
using harness::Edit;
using harness::Source;

constexpr std::string_view kText = R"(template <typename T> void f(device T* k, device T* v, int head, int kv, int group) {
  device T* keys = k + head % kv * 64;
  device T* values = v + head % kv * 64;
  int other = head % group;
}
template [[host_name("f_float")]] void f<float>(device float* k, device float* v, int head, int kv, int group);
MAKE(float, 128)
struct S { int size = 4; };
constant int kSize = 5;
)";

class EditPlaces : public Test {
 protected:
  [[nodiscard]] Edit edit_of(std::string_view what, std::string replacement, std::size_t behind = 0) const {
    return {"other_quotient", kText.find(what, behind), what.size(), std::move(replacement)};
  }
  Source source_{std::string(kText), "f.metal"};
};

TEST_F(EditPlaces, AnEditIsRepeatedWhereTheSameTokensAreAround) {
  const std::optional<Edit> everywhere = harness::repeated(source_, edit_of("% kv", "/ group"));
  ASSERT_TRUE(everywhere);
  const std::string text = harness::edited(std::string(kText), *everywhere);
  EXPECT_THAT(text, HasSubstr("k + head / group * 64;\n  device T* values = v + head / group * 64;\n  int other = head % group;"));
  EXPECT_THAT(everywhere->offsets(), ElementsAre(kText.find("% kv"), kText.rfind("% kv")));
}

TEST_F(EditPlaces, TheSecondPlaceGivesTheSameEditAsTheFirst) {
  const std::optional<Edit> one = harness::repeated(source_, edit_of("% kv", "/ group"));
  const std::optional<Edit> other = harness::repeated(source_, edit_of("% kv", "/ group", kText.find("values")));
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->offsets(), other->offsets());
}

TEST_F(EditPlaces, WhatStandsOnceIsNotRepeated) { EXPECT_FALSE(harness::repeated(source_, edit_of("% group", "/ group"))); }

TEST_F(EditPlaces, InstantiationsAreLeftOut) {
  std::vector<Edit> edits = {edit_of("64", "65"), edit_of("128", "129"), edit_of("float>", "half>"), edit_of("4;", "5;"),
                             edit_of("5;", "6;")};
  harness::leave_out_instantiations(source_, edits);
  std::vector<std::string> left;
  for (const Edit& edit : edits) left.push_back(edit.replacement);
  EXPECT_THAT(left, ElementsAre("65", "5;", "6;"));
}

TEST_F(EditPlaces, ASchemaMakesARepeatedEditAtAllPlacesWithOneChoice) {
  const std::optional<Edit> everywhere = harness::repeated(source_, edit_of("% kv", "/ group"));
  ASSERT_TRUE(everywhere);
  const harness::EditSchemata schemata(source_);
  ASSERT_TRUE(schemata.can_hold(*everywhere));
  const harness::EditSchemata::Schema schema = schemata.schema_of(std::vector<Edit>{*everywhere});
  EXPECT_THAT(schema.text, AllOf(HasSubstr("__assay_choice() == 1u ? (k + head / group * 64)"),
                                 HasSubstr("__assay_choice() == 1u ? (v + head / group * 64)")));
  ASSERT_THAT(schema.lines, SizeIs(1));
  EXPECT_THAT(schema.lines.front(), SizeIs(2));
  EXPECT_THAT(harness::edits_with_errors(schema, "f.metal:6: error: wrong in the second\n"), ElementsAre(0));
}

// The source with an edit as it is written.
std::string written(std::string text, std::string_view what, std::string replacement) {
  const Source source(text, "f.metal");
  const Edit edit = {"twice", text.find(what), what.size(), std::move(replacement)};
  return harness::edited(std::move(text), harness::simplified(source, edit));
}

TEST(SimplifiedEdit, HasNoNeedlessText) {
  EXPECT_EQ(written("void f() { b = x < (p.width - 1); }", "1", "(1 - 1)"), "void f() { b = x < p.width; }");
  EXPECT_EQ(written("void f() { b = x < p.width - 1u; }", "1u", "(1u - 1)"), "void f() { b = x < p.width; }");
  EXPECT_EQ(written("void f() { b = x[i + 7]; }", "7", "(7 / 2)"), "void f() { b = x[i + 3]; }");
  EXPECT_EQ(written("void f() { b = i * 16; }", "16", "(16 * 2)"), "void f() { b = i * 32; }");
  EXPECT_EQ(written("void f() { for (; i < n; ++i) {} }", "n", "(n - 1)"), "void f() { for (; i < n - 1; ++i) {} }");
}

TEST(SimplifiedEdit, MeansTheSame) {
  EXPECT_EQ(written("void f() { b = i * n; }", "n", "(n - 1)"), "void f() { b = i * (n - 1); }");
  EXPECT_EQ(written("void f() { b = i - n; }", "n", "(n - 1)"), "void f() { b = i - (n - 1); }");
  EXPECT_EQ(written("void f() { b = n % 2; }", "n", "(n + 1)"), "void f() { b = (n + 1) % 2; }");
  EXPECT_EQ(written("void f() { b = n.x; }", "n", "(n + 1)"), "void f() { b = (n + 1).x; }");
  EXPECT_EQ(written("void f() { b = x - 1 * c; }", "1", "(1 - 1)"), "void f() { b = x - 0 * c; }") << "0 is a factor";
  EXPECT_EQ(written("void f() { b = -1; }", "1", "(1 - 1)"), "void f() { b = -0; }") << "no operand before the sign";
  EXPECT_EQ(written("void f() { b = 0; }", "0", "(0 - 1)"), "void f() { b = 0 - 1; }") << "below 0";
  EXPECT_EQ(written("void f() { b = g(x - 1); }", "1", "(1 - 1)"), "void f() { b = g(x); }") << "the parentheses of a call";
  EXPECT_EQ(written("void f() { b = c * (x - 1); }", "1", "(1 - 1)"), "void f() { b = c * (x); }");
  EXPECT_EQ(written("void f() { b = n; }", "n", "(n) * (k)"), "void f() { b = (n) * (k); }") << "not around all of it";
}

}  // namespace
}  // namespace assay::tests::edit_places_test
