// What a description excuses when it is restricted to that of the base.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "families/registry.h"
#include "kernels/trust.h"

namespace assay::tests::variant_trust_test {
namespace {

using namespace ::testing;
using kernels::Variant;

const std::string kStart = "family = \"tq4\"\nsource = \"k.metal\"\n";

Variant parse(const std::string& text, const std::string& folder) {
  return kernels::parse_variant(kStart + text, "mine", folder + "/mine/variant.toml", families::contracts());
}

struct Held {
  Variant variant;
  std::vector<std::string> sentences;
};

Held hold(const std::string& text, const std::optional<std::string>& base) {
  Held held{parse(text, "branch"), {}};
  const std::optional<Variant> trusted = base ? std::optional(parse(*base, "base")) : std::nullopt;
  held.sentences = kernels::restrict_to_base(held.variant, trusted ? &*trusted : nullptr);
  return held;
}

std::string refusal(const std::string& text, const std::optional<std::string>& base) {
  try {
    (void)hold(text, base);
  } catch (const kernels::VariantError& error) {
    return error.what();
  }
  return "accepted";
}

const std::string kFinding = "[[known_finding]]\nwhen = \"d == 256\"\nshows = \"failed\"\n";
const std::string kWider = "[[known_finding]]\nwhen = \"d >= 256\"\nshows = \"failed\"\n";

TEST(Trust, AKnownFindingCountsIfTheBaseHasIt) {
  EXPECT_THAT(hold(kFinding, std::nullopt).variant.known_findings, IsEmpty());
  EXPECT_THAT(hold(kFinding, std::nullopt).sentences,
              ElementsAre("branch/mine/variant.toml:3: the known finding (when d == 256) does not count: no --trust file describes mine"));
  EXPECT_THAT(hold(kFinding, kWider).sentences,
              ElementsAre(AllOf(HasSubstr("does not count"), HasSubstr("base/mine/variant.toml does not say the same"))));
  const Held both = hold(kFinding + kWider, kFinding + "see = \"issue 1\"\n");
  ASSERT_EQ(both.variant.known_findings.size(), 1U);
  EXPECT_EQ(both.variant.known_findings[0].when, "d == 256");
  EXPECT_THAT(hold("", kFinding).sentences, IsEmpty()) << "one that was fixed";
}

TEST(Trust, WeakerStorageIsThatOfTheBase) {
  const std::string half = "[accuracy]\naccumulator = \"half\"\nreason = \"r\"\n",
                    bf16 = "[accuracy]\nstores = [\"bf16\"]\nreason = \"r\"\n";
  EXPECT_EQ(hold(half, std::nullopt).variant.accuracy.accumulator, "float");
  EXPECT_THAT(hold(half, std::nullopt).sentences, ElementsAre(HasSubstr("the weaker storage of [accuracy] does not count")));
  EXPECT_EQ(hold(half, half).variant.accuracy.accumulator, "half");
  EXPECT_THAT(hold(half, half).sentences, IsEmpty());
  EXPECT_THAT(hold(half, bf16).variant.accuracy.stores, ElementsAre("bf16"));
  EXPECT_EQ(hold(half, bf16).variant.accuracy.accumulator, "float");
  const std::string keys = "[accuracy]\nkeys = \"half\"\nreason = \"r\"\n";
  EXPECT_EQ(hold(keys, "").variant.accuracy.format("keys"), "float");
  EXPECT_EQ(hold(keys, keys).variant.accuracy.format("keys"), "half");
}

TEST(Trust, ADepthMayOnlyShrink) {
  const auto depth = [](int value) { return "[accuracy]\ndot_depth = " + std::to_string(value) + "\nreason = \"r\"\n"; };
  EXPECT_EQ(hold(depth(13), std::nullopt).variant.accuracy.dot_depth, 13U);
  EXPECT_EQ(hold(depth(9), depth(13)).variant.accuracy.dot_depth, 9U);
  EXPECT_EQ(hold(depth(20), depth(13)).variant.accuracy.dot_depth, 13U);
  EXPECT_EQ(hold("", depth(13)).variant.accuracy.dot_depth, 13U);
}

TEST(Trust, LimitsAndSuccessorAreThoseOfTheBase) {
  EXPECT_THAT(hold("[limits]\nhead_dim = [256]\n", std::nullopt).variant.limits, IsEmpty());
  EXPECT_THAT(hold("[limits]\nhead_dim = [256]\n", std::nullopt).sentences, ElementsAre(HasSubstr(":4: the limit head_dim = [256]")));
  const Held wider = hold("[limits]\nnwg = [1]\n", "[limits]\nnwg = [1, 2]\n");
  ASSERT_EQ(wider.variant.limits.size(), 1U);
  EXPECT_THAT(wider.variant.limits[0].values, ElementsAre(1, 2));
  EXPECT_THAT(hold("[limits]\nnwg = [2, 1]\n", "[limits]\nnwg = [1, 2]\n").sentences, IsEmpty());
  EXPECT_FALSE(hold("superseded_by = \"x\"\n", std::nullopt).variant.superseded_by);
  EXPECT_FALSE(hold("superseded_by = \"x\"\n", "superseded_by = \"y\"\n").variant.superseded_by);
  EXPECT_TRUE(hold("superseded_by = \"x\"\n", "superseded_by = \"x\"\n").variant.superseded_by);
}

TEST(Trust, WhatChoosesOtherCodeIsRefused) {
  for (const std::string text :
       {"[constants]\nFAST = true\n", "[constants]\nFAST = [1, 2]\n", "[fields]\nslow = 1\n", "[compile]\ndefine = [\"UNDER_TEST\"]\n",
        "[compile]\nmetal_version = \"3.0\"\n", "[entry]\nd256 = { define = [\"UNDER_TEST\"] }\n",
        "[[dispatch]]\nfunction = \"other\"\ngrid = 1\nthreads = 32\n"}) {
    EXPECT_THAT(refusal(text, std::nullopt), AllOf(HasSubstr("chooses which code is judged"), HasSubstr("no --trust file"))) << text;
    EXPECT_THAT(refusal(text, ""), HasSubstr("base/mine/variant.toml does not say the same")) << text;
    EXPECT_EQ(refusal(text, text), "accepted") << text;
    EXPECT_THAT(refusal("", text), HasSubstr("chooses which code is judged")) << text;
  }
  EXPECT_THAT(refusal("[constants]\nFAST = 1\n", "[constants]\nFAST = 2\n"), HasSubstr("[constants] chooses"));
  for (const std::string text : {"[entry]\nd256 = \"other\"\n", "[bind]\nK_packed = \"other\"\n", "[compile]\ninclude = [\"x\"]\n"}) {
    EXPECT_EQ(refusal(text, std::nullopt), "accepted") << text;
    EXPECT_THAT(refusal(text, ""), HasSubstr("chooses which code is judged")) << text;
    EXPECT_EQ(refusal(text, text), "accepted") << text;
  }
  Variant variant = parse("", "branch");
  Variant base = parse("", "base");
  base.source = "base/mine/other.metal";
  EXPECT_THROW((void)kernels::restrict_to_base(variant, &base), kernels::VariantError) << "the host builds another file";
}

}  // namespace
}  // namespace assay::tests::variant_trust_test
