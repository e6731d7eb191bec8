// Names of cases: printing and parsing are inverse, and what cannot be read is refused with the word and the alternatives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/selection.h"
#include "harness/cases/suite.h"

namespace assay::tests::case_names_test {
namespace {

using namespace harness;

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

kernels::Variant variant(const std::string& name, const std::string& family) {
  kernels::Variant result;
  result.name = name;
  result.family = family;
  return result;
}

TEST(CaseName, EveryAxisOfTheExampleIsRead) {
  const Case value = parse_case("tq4_v1/d512/h8x2/kv1024c2048/ring300/win33/nwg16/scale1/gauss/s7", find_family("tq4"));
  EXPECT_EQ(value.variant, "tq4_v1");
  EXPECT_EQ(value.at("head_dim"), 512);
  EXPECT_EQ(value.at("n_heads"), 8);
  EXPECT_EQ(value.at("n_kv_heads"), 2);
  EXPECT_EQ(value.at("kv_len"), 1024);
  EXPECT_EQ(value.at("kv_capacity"), 2048);
  EXPECT_EQ(value.at("ring_start"), 300);
  EXPECT_EQ(value.at("mask_type"), 2);
  EXPECT_EQ(value.at("sliding_window"), 33);
  EXPECT_EQ(value.at("nwg"), 16);
  EXPECT_EQ(value.at("scale"), 1);
  EXPECT_EQ(value.fixture, "gauss");
  EXPECT_EQ(value.seed, 7U);
}

TEST(CaseName, MaskWordsSetTypeAndWindow) {
  const auto mask = [](const std::string& word) {
    const Case value = parse_case("v/d256/h1x1/kv1c1/ring0/" + word + "/nwg1/gauss/s0", find_family("tq4"));
    return std::pair(value.at("mask_type"), value.at("sliding_window"));
  };
  EXPECT_EQ(mask("nomask"), std::pair(0L, 0L));
  EXPECT_EQ(mask("causal"), std::pair(1L, 0L));
  EXPECT_EQ(mask("win0"), std::pair(2L, 0L));
  EXPECT_EQ(mask("win77"), std::pair(2L, 77L));
  EXPECT_EQ(mask("nomaskwin5"), std::pair(0L, 5L));
  EXPECT_EQ(mask("causalwin5"), std::pair(1L, 5L));
}

TEST(CaseName, PrintingIsTheInverseOfParsing) {
  for (const char* name :
       {"tq4_v1/d512/h8x2/kv1024c2048/ring300/win33/nwg16/scale1/gauss/s7", "a/d256/h5x1/kv1c4/ring0/causalwin5/nwg1/needle/s0",
        "my-kernel.2/d256/h0x3/kv0c0/ring0/nomask/nwg0/gauss/s18446744073709551615"}) {
    EXPECT_EQ(format_case(parse_case(name, find_family("tq4"))), name);
  }
  EXPECT_EQ(format_case(parse_case("r/d512/rows3/nwg7/gauss/s1", find_family("reduce"))), "r/d512/rows3/nwg7/gauss/s1");
  for (const char* mode : {"standalone", "premult", "undo"}) {
    const std::string name = std::string("f/d256/h3/") + mode + "/gauss/s1";
    EXPECT_EQ(format_case(parse_case(name, find_family("fwht"))), name);
  }
  for (const char* name : {"q/d512/b4/g8/pos31c64/sliding/sf16/probe/gauss/s7", "q/d256/b8/g1/pos0c1/ties/s0",
                           "q/d512/b6/g3/pos4294967295c2/sliding/sfroot512/tiny/s1", "q/d512/b5/g3/pos1c2/sf1098907648/gauss/s1"}) {
    EXPECT_EQ(format_case(parse_case(name, find_family("quantize"))), name);
  }
  for (const char* name : {"d/d512/b4/g8/pos31c64/sf16/gauss/s7", "d/d256/b8/g1/pos0c1/ladder/s0"}) {
    EXPECT_EQ(format_case(parse_case(name, find_family("dequantize"))), name);
  }
}

TEST(CaseName, ParsingIsTheInverseOfPrintingOverTheWholeGate) {
  std::set<std::string> names;
  std::size_t count = 0;
  for (const Family& family : all_families()) {
    if (family.of_variant) continue;  // only its variants have cases
    for (const Case& value : suite_cases(Suite::gate, variant("some_v1", std::string(family.name())), 5)) {
      const std::string name = format_case(value);
      EXPECT_EQ(parse_case(name, family), value) << name;
      names.insert(name);
      ++count;
    }
  }
  EXPECT_GE(count, 300U);
  EXPECT_EQ(names.size(), count) << "two cases of the gate share a name";
}

TEST(CaseName, WordsMayComeInAnyOrderAndDefaultsMayBeWritten) {
  EXPECT_EQ(format_case(parse_case("v/s7/gauss/nwg2/scale0/kv64c64/nomask/ring3/h2x1/d256", find_family("tq4"))),
            "v/d256/h2x1/kv64c64/ring3/nomask/nwg2/gauss/s7");
}

// A factor of 0 is one that the launch refuses, not the name of another.
TEST(CaseName, AFactorOf0Is0) {
  for (const auto& [family, name] :
       {std::pair("quantize", "q/d512/b4/g1/pos0c1/sf0/gauss/s1"), std::pair("dequantize", "d/d512/b4/g1/pos0c1/sf0/gauss/s1"),
        std::pair("tq4", "v/d512/h1x1/kv1c1/ring0/nomask/nwg1/sf0/gauss/s1"),
        std::pair("tqhb", "v/d512/b8/h1x1/kv1c1/ring0/nomask/nwg1/nsg1/sf0/gauss/s1")}) {
    const Case value = parse_case(name, find_family(family));
    EXPECT_EQ(format_case(value), name);
    EXPECT_THAT([&] { value.family->validate(value); }, ThrowsMessage<std::invalid_argument>(HasSubstr("scale_factor_d512 = 0")));
  }
}

struct Wrong {
  const char* name;
  std::vector<std::string> words;
};

TEST(CaseName, WhatCannotBeReadIsRefusedWithTheWord) {
  const std::vector<Wrong> wrongs = {
      {"v/d256/h2x1/kv64c64/ring0/nomask/nwg1/gaus/s7", {"'gaus'", "gauss", "h<n_heads>x<n_kv_heads>"}},
      {"v/d256/h2x1/kv64c64/ring0/nomask/nwg1/gauss", {"s<seed>"}},
      {"v/d256/h2x1/kv64c64/ring0/nomask/nwg1/s7", {"fixture"}},
      {"v/d256/kv64c64/ring0/nomask/nwg1/gauss/s7", {"h<n_heads>x<n_kv_heads>", "missing"}},
      {"v/d256/h2x1/h2x1/kv64c64/ring0/nomask/nwg1/gauss/s7", {"'h2x1'", "repeats"}},
      {"v/d256/h2x1/kv64c64/ring0/nomask/win3/nwg1/gauss/s7", {"'win3'", "repeats"}},
      {"v/d256/h2x1/kv64c64/ring0/nomask/nwg1/gauss/s7/s8", {"'s8'", "repeats"}},
      {"v/d256/h2x1/kv064c64/ring0/nomask/nwg1/gauss/s7", {"'kv064c64'"}},
      {"v/d256/h2x1/kv64c64/ring-1/nomask/nwg1/gauss/s7", {"'ring-1'"}},
      {"v/d256/h2x1/kv64c64/ring0/nomask/nwg1x/gauss/s7", {"'nwg1x'"}},
      {"v/d128/h2x1/kv64c64/ring0/nomask/nwg1/gauss/s7", {"'d128'", "256 .. 512"}},
      {"v/d256/h2x1/kv99999999999999999999c64/ring0/nomask/nwg1/gauss/s7", {"'kv99999999999999999999c64'"}},
      {"v/d256//kv64c64/ring0/nomask/nwg1/gauss/s7", {"''"}},
      {"v/d256/h2x1/kv64c64/ring0/nomask/nwg1/scale2/gauss/s7", {"'scale2'", "0 .. 1", "the bits of floats"}},
      {"v", {"missing"}},
  };
  for (const Wrong& wrong : wrongs) {
    try {
      static_cast<void>(parse_case(wrong.name, find_family("tq4")));
      ADD_FAILURE() << wrong.name << " was read";
    } catch (const std::invalid_argument& refusal) {
      for (const std::string& word : wrong.words) EXPECT_THAT(refusal.what(), HasSubstr(word)) << wrong.name;
    }
  }
}

TEST(CaseSelection, GlobsMatchAcrossSlashes) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*c", "a/b/c"));
  EXPECT_TRUE(glob_match("*/nwg1/*", "v/d256/nwg1/gauss/s1"));
  EXPECT_TRUE(glob_match("a?c*", "abcd"));
  EXPECT_TRUE(glob_match("*ab*ab", "abxabyab"));
  EXPECT_FALSE(glob_match("*/nwg1/*", "v/d256/nwg16/gauss/s1"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_FALSE(glob_match("abc", "abcd"));
}

TEST(CaseSelection, NothingSelectedIsAnErrorAndNeverAPass) {
  const std::vector<kernels::Variant> variants = {variant("one", "fwht"), variant("two", "reduce")};
  const auto refusal = [&](std::vector<std::string> words, std::string family) -> std::string {
    try {
      static_cast<void>(select_cases({std::move(words), std::move(family), 0}, variants));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({}, ""), HasSubstr("nothing was selected"));
  EXPECT_THAT(refusal({"nothing*"}, ""), HasSubstr("'nothing*'"));
  EXPECT_THAT(refusal({"three/d256/h1/undo/gauss/s1"}, ""), HasSubstr("'three' is not a variant"));
  EXPECT_THAT(refusal({"one/d256/h1/undo/gauss/s1"}, "reduce"), HasSubstr("of family reduce"));
  EXPECT_THAT(refusal({"gate"}, "tq4"), HasSubstr("no variant of family tq4"));
  EXPECT_THAT(refusal({"gate"}, "tq5"), HasSubstr("'tq5'"));
  EXPECT_EQ(refusal({"gate"}, "fwht"), "");
}

TEST(CaseSelection, ACaseIsTakenOnceAndInTheOrderOfTheWords) {
  const std::vector<kernels::Variant> variants = {variant("one", "fwht")};
  const Selection selection =
      select_cases({{"one/d256/h7/undo/gauss/s1", "one/*/undo/*", "one/d256/h7/undo/gauss/s1", "gate"}, "", 0}, variants);
  EXPECT_EQ(format_case(selection.cases.front()), "one/d256/h7/undo/gauss/s1");
  std::set<std::string> names;
  for (const Case& value : selection.cases) names.insert(format_case(value));
  EXPECT_EQ(names.size(), selection.cases.size());
  EXPECT_EQ(selection.cases.size(), 1 + suite_cases(Suite::gate, variants.front(), 0).size());
}

TEST(CaseSelection, AGlobIsMatchedAgainstTheNamesOfEveryVariant) {
  const std::vector<kernels::Variant> variants = {variant("one", "fwht"), variant("on", "reduce"), variant("ones", "reduce")};
  std::vector<std::string> all;
  for (const kernels::Variant& one : variants) {
    for (const Case& value : suite_cases(Suite::gate, one, 0)) all.push_back(format_case(value));
  }
  for (const std::string glob : {"*", "o*", "on*", "on?/*", "on/*", "one*", "one/*", "one/d256/*", "o?e/*", "?n/*", "*s/*", "*/s7"}) {
    std::set<std::string> wanted;
    for (const std::string& name : all) {
      if (glob_match(glob, name)) wanted.insert(name);
    }
    ASSERT_FALSE(wanted.empty()) << glob;
    std::set<std::string> selected;
    for (const Case& value : select_cases({{glob}, "", 0}, variants).cases) selected.insert(format_case(value));
    EXPECT_EQ(selected, wanted) << glob;
  }
}

TEST(CaseSelection, OfASupersededVariantTheGateIsSmokeAndGlobsAndLongerSuitesAreWhole) {
  std::vector<kernels::Variant> variants = {variant("new", "reduce"), variant("old", "reduce")};
  variants[1].superseded_by = {"new", 3};
  const auto names_of = [&](const std::vector<std::string>& words) {
    std::map<std::string, std::set<std::string>> names;
    for (const Case& value : select_cases({words, "", 0}, variants).cases) names[value.variant].insert(format_case(value));
    return names;
  };
  const auto smoke = names_of({"smoke"}), gate = names_of({"gate"}), glob = names_of({"*"}), full = names_of({"full"});
  ASSERT_LT(smoke.at("old").size(), glob.at("old").size());
  EXPECT_EQ(gate.at("old"), smoke.at("old"));
  EXPECT_EQ(gate.at("new"), glob.at("new"));
  EXPECT_EQ(glob.at("old").size(), glob.at("new").size());
  EXPECT_EQ(full.at("old").size(), full.at("new").size());
  EXPECT_EQ(names_of({"old/*"}).at("old"), glob.at("old"));
}

}  // namespace
}  // namespace assay::tests::case_names_test
