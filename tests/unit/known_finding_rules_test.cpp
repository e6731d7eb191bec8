// Known findings: what their two small languages say, what they refuse, and each rule of their settling, firing and quiet.
// Long because each rule of the grammar has a test that fires and one that does not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/cases/case.h"
#include "harness/findings/fault_text.h"
#include "harness/findings/known_finding.h"

namespace assay::tests::known_finding_rules_test {
namespace {

using namespace harness;

using namespace ::testing;

kernels::Variant variant_with(const std::string& when, const std::string& shows, const std::string& see = "") {
  kernels::Variant variant;
  variant.name = "some_v1";
  variant.family = "tq4";
  variant.description = "some/variant.toml";
  variant.known_findings = {{when, shows, see, 12}};
  return variant;
}

KnownFinding finding(const std::string& when, const std::string& shows) {
  const kernels::Variant variant = variant_with(when, shows);
  return {variant, variant.known_findings.front()};
}

Case case_of(const std::string& words = "d256/h8x2/kv33c64/ring0/win5/nwg4/gauss/s7") {
  return parse_case("some_v1/" + words, find_family("tq4"));
}

TEST(KnownFindingWhen, DepthAndLengthAreLimited) {
  const auto complaint = [](const std::string& when) -> std::string {
    try {
      static_cast<void>(finding(when, "nan"));
    } catch (const kernels::VariantError& error) {
      return error.what();
    }
    return {};
  };
  const auto around = [](std::string_view open, std::size_t count, std::string_view inner, std::string_view close) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += open;
    text += inner;
    for (std::size_t i = 0; i < count; ++i) text += close;
    return text;
  };
  EXPECT_EQ(complaint(around("(", 30, "n == 3", ")")), "");
  for (const auto& [open, inner, close] :
       {std::tuple{"(", "n == 3", ")"}, {"!", "(n == 3)", ""}, {"-", "n == 3", ""}, {"!(", "n == 3", ")"}}) {
    EXPECT_THAT(complaint(around(open, 1000, inner, close)), HasSubstr("it nests deeper than 32 levels")) << open;
  }
  EXPECT_THAT(complaint(around("(", 100'000, "n == 3", ")")), HasSubstr("it has more than 4096 characters"));
  EXPECT_EQ(complaint(around("n == 3 || ", 400, "n == 33", "")), "");
}

TEST(KnownFindingWhen, SpeaksOfAxesFixtureAndSeed) {
  const std::vector<std::string> holding = {"n == 33",
                                            "kv_len == 33 && cap == 64",
                                            "n_heads / n_kv_heads == 4",
                                            "n % 32 == 1 && nwg >= 4",
                                            "fixture == \"gauss\"",
                                            "'drift' != fixture",
                                            "seed == 7",
                                            "!(n == 32) && !(n == 34 || n == 35)",
                                            "n == 1 || n == 2 || window == 5",
                                            "n - 1 - 1 == 31",
                                            "2 + 3 * 4 == 14 && (2 + 3) * 4 == 20",
                                            "-n < -32",
                                            "n<=33&&n>=33",
                                            "d == 256 && h == 8 && g == 2 && mask_type == 2"};
  for (const std::string& when : holding) {
    EXPECT_TRUE(finding(when, "nan").matches(case_of())) << when;
    EXPECT_FALSE(finding("!(" + when + ")", "nan").matches(case_of())) << when;
  }
  const Case other = case_of("d512/h1x1/kv32c32/ring3/nomask/nwg1/drift/s8");
  for (const char* when : {"n == 33", "fixture == \"gauss\"", "seed == 7", "n > 32"})
    EXPECT_FALSE(finding(when, "nan").matches(other)) << when;
}

// Whether `when` matches this case of attention, or why it cannot be read.
std::string attention_matches(const std::string& when) {
  kernels::Variant variant = variant_with(when, "nan");
  variant.family = "attention";
  try {
    const Case value = parse_case("some_v1/half/d64x64/b2/h4x4/q1/k33/k_q8_0/alibi/ragged/gauss/s1", find_family("attention"));
    return KnownFinding(variant, variant.known_findings.front()).matches(value) ? "matches" : "does not match";
  } catch (const kernels::VariantError& error) {
    return error.what();
  }
}

TEST(KnownFindingWhen, AxesWithWordsAreComparedWithWordsOrWithTheirPlaces) {
  for (const char* when : {"mask == \"alibi\"", "mask == 'alibi' && ragged != 'no' && lk == 33", "k_type == 'q8_0'", "mask == 6",
                           "mask >= 6 && ragged == 'yes'", "sinks != 'yes'"})
    EXPECT_EQ(attention_matches(when), "matches") << when;
  EXPECT_EQ(attention_matches("mask == 'causal_alibi'"), "does not match");
  EXPECT_THAT(attention_matches("mask == 'tree'"), HasSubstr("axis mask has no word 'tree'; accepted: none, causal, window"));
  EXPECT_THAT(attention_matches("dk == 'many'"), HasSubstr("axis dk has numbers, and no word 'many'"));
  EXPECT_THAT(attention_matches("mask == 'alibi' || mask > 6"), HasSubstr("a text and an integer cannot be compared by >"));
}

TEST(KnownFindingWhen, WhatHasNoValueDoesNotMatch) {
  for (const char* when : {"n / ring_start == 1", "!(n / ring_start == 1)", "n % ring_start == 0", "9223372036854775807 + n > 0"}) {
    EXPECT_FALSE(finding(when, "nan").matches(case_of())) << when;
  }
  EXPECT_TRUE(finding("ring_start == 0 || n / ring_start == 1", "nan").matches(case_of())) << "decided before the division";
}

bool vec_matches(const std::string& words, const std::string& when) {
  kernels::Variant variant = variant_with(when, "nan");
  variant.family = "bf16_vec";
  return KnownFinding(variant, variant.known_findings.front()).matches(parse_case("some_v1/" + words, find_family("bf16_vec")));
}

// The largest key in sight, of masks whose rows are written out beside.
TEST(KnownFindingWhen, LastSeenIsTheLargestKeyInSightOfAnyQuery) {
  EXPECT_TRUE(vec_matches("b1/h1x1/q1/kv40r0/nomask/nsg1/gauss/s1", "last_seen == 39"));
  EXPECT_TRUE(vec_matches("b1/h1x1/q3/kv40r0/causal1x1/nsg1/gauss/s1", "last_seen == 39")) << "queries are the newest keys";
  EXPECT_TRUE(vec_matches("b1/h1x1/q2/kv40r0/row1x1/nsg1/gauss/s1", "last_seen == 39")) << "the other row sees everything";
  EXPECT_TRUE(vec_matches("b1/h1x1/q2/kv40r0/row1x1/low/nsg1/gauss/s1", "last_seen == 39"));
  // A random mask of one row hides a third of its keys, key 0 never.
  int hidden = 0;
  for (int seed = 0; seed < 300; ++seed) {
    const std::string words = fmt::format("b1/h1x1/q1/kv2r0/random1x1/nsg1/gauss/s{}", seed);
    EXPECT_NE(vec_matches(words, "last_seen == 0"), vec_matches(words, "last_seen == 1")) << words;
    hidden += vec_matches(words, "last_seen == 0") ? 1 : 0;
  }
  EXPECT_GT(hidden, 70);
  EXPECT_LT(hidden, 130);
  EXPECT_FALSE(vec_matches("b1/h1x1/q1/kv40r0/nomask/nsg1/h5-any/s1", "last_seen == 39")) << "of files nothing is known";
  EXPECT_THAT(([&] { return vec_matches("b1/h1x1/q1/kv40r0/nomask/nsg1/gauss/s1", "lastseen == 1"); }),
              testing::Throws<kernels::VariantError>(
                  testing::Property(&std::exception::what, HasSubstr("last_seen, most_seen, idle_pairs, fixture, seed"))));
}

// Simdgroups alone do not make a mask.
TEST(KnownFindingWhen, FamiliesWithoutAMaskKnowNothingOfOne) {
  kernels::Variant variant;
  variant.family = "tqhb";
  for (const char* quantity : {"last_seen", "most_seen", "idle_pairs"})
    EXPECT_THROW((KnownFinding(variant, {.when = fmt::format("{} > 0", quantity), .shows = "nan", .see = {}})), kernels::VariantError)
        << quantity;
}

TEST(KnownFindingWhen, MostSeenIsHowManyKeysTheQueryWithTheBestViewSees) {
  const std::vector<std::pair<std::string, int>> rows = {{"b1/h1x1/q1/kv40r7/nomask/nsg1/gauss/s1", 40},
                                                         {"b1/h1x1/q3/kv40r0/causal1x1/nsg1/gauss/s1", 40},
                                                         {"b1/h1x1/q3/kv40r0/win33m1x1/nsg1/gauss/s1", 33},
                                                         {"b1/h1x1/q3/kv20r0/win33m1x1/nsg1/gauss/s1", 20},
                                                         {"b1/h1x1/q2/kv40r0/row1x1/low/nsg1/gauss/s1", 40}};
  for (const auto& [words, most] : rows) EXPECT_TRUE(vec_matches(words, fmt::format("most_seen == {}", most))) << words;
  EXPECT_TRUE(vec_matches("b1/h1x1/q1/kv1000r0/random1x1/nsg1/gauss/s1", "most_seen > 550 && most_seen < 780")) << "two thirds of them";
  EXPECT_FALSE(vec_matches("b1/h1x1/q1/kv40r0/zero1x1/nsg1/h5-any/s1", "most_seen == 40")) << "of masks on file nothing is known";
}

// Of NSG simdgroups, which take chunks of 32 keys in turn, g is merged with g + NSG / 2, then g with g + NSG / 4, and so on.
TEST(KnownFindingWhen, IdlePairsAreRowsInWhichTwoSimdgroupsThatMeetSawNothing) {
  const std::vector<std::pair<std::string, int>> rows = {
      {"b1/h1x1/q1/kv32r0/nomask/nsg1/gauss/s1", 0},     {"b1/h1x1/q1/kv32r0/nomask/nsg2/gauss/s1", 0},
      {"b1/h1x1/q1/kv32r0/nomask/nsg4/gauss/s1", 1},     {"b1/h1x1/q1/kv33r0/nomask/nsg4/gauss/s1", 0},
      {"b1/h1x1/q1/kv1r31/nomask/nsg4/gauss/s1", 1},     {"b1/h1x1/q2/kv256r0/row1x1/nsg2/gauss/s1", 1},
      {"b1/h1x1/q2/kv256r0/row1x1/nsg1/gauss/s1", 0},    {"b1/h1x1/q2/kv256r0/row1x1/low/nsg2/gauss/s1", 0},
      {"b1/h1x1/q40/kv64r0/causal1x1/nsg4/gauss/s1", 8},  // queries 24 to 31 of 64 see the first chunk alone
      {"b1/h1x1/q40/kv64r0/causal1x1/nsg2/gauss/s1", 0}};
  for (const auto& [words, idle] : rows) EXPECT_TRUE(vec_matches(words, fmt::format("idle_pairs == {}", idle))) << words;
  EXPECT_TRUE(vec_matches("b1/h1x1/q1/kv32r0/nomask/nsg4/h5-any/s1", "idle_pairs == 1")) << "for any content of the file";
  EXPECT_FALSE(vec_matches("b1/h1x1/q1/kv320r0/nomask/nsg4/h5-any/s1", "idle_pairs == 1"));
}

TEST(KnownFindingGrammar, WhatCannotBeReadNamesFileLineAndWhatIsAccepted) {
  const std::vector<std::tuple<std::string, std::string, std::vector<std::string>>> wrongs = {
      {"nsg == 4", "nan", {"family tq4 has no axis 'nsg'", "kv_len (n)", "fixture, seed"}},
      {"n = 4", "nan", {"column 3", "an operator or the end", "'='"}},
      {"n", "nan", {"not a condition", "n <= 32"}},
      {"n + 1", "nan", {"not a condition"}},
      {"n == ", "nan", {"found the end", "a number, a name"}},
      {"(n == 4", "nan", {"')'"}},
      {"n == 4 n", "nan", {"column 8", "'n'", "an operator or the end"}},
      {"n < 4 < 5", "nan", {"column 7", "'<'"}},
      {"n == 4 && 3", "nan", {"column 11", "an integer is not a condition"}},
      {"n == 1.5.2", "nan", {"an operator"}},
      {"n + fixture == 3", "nan", {"a text is not a number, as '+' needs"}},
      {"n == 99999999999999999999", "nan", {"64-bit integer"}},
      {"fixture == gauss", "nan", {"has no axis 'gauss'"}},
      {"fixture == \"gaus\"", "nan", {"has no fixture 'gaus'", "gauss"}},
      {"fixture < \"gauss\"", "nan", {"a text and a text cannot be compared by <"}},
      {"fixture == 3", "nan", {"a text and an integer cannot be compared by =="}},
      {"\"gauss\" == \"gauss\"", "nan", {"compares two texts that never change"}},
      {"fixture == \"gauss", "nan", {"closing \""}},
      {"", "nan", {"the end"}},
      {"n == 4", "NaN", {"'NaN' is not a signature", "not_written", "hazard:KIND@LINE", "invalid_access"}},
      {"n == 4", "nan ||", {"'' is not a signature"}},
      {"n == 4", "mistrusted", {"'mistrusted' is not a signature"}},
      {"n == 4", "error/bound > 0.5", {"X >= 1"}},
      {"n == 4", "error/bound < 5", {"X >= 1"}},
      {"n == 4", "error/bound > nan", {"X >= 1"}},
      {"n == 4", "hazard:race", {"'hazard:race'", "barrier_divergence"}},
      {"n == 4", "hazard:invalid_access@", {"is not a signature"}},
      {"n == 4", "hazard:invalid_access@x", {"is not a signature"}},
  };
  for (const auto& [when, shows, words] : wrongs) {
    try {
      static_cast<void>(finding(when, shows));
      ADD_FAILURE() << when << " / " << shows << " was read";
    } catch (const kernels::VariantError& error) {
      EXPECT_THAT(error.what(), HasSubstr("some/variant.toml:12: [[known_finding]]")) << when;
      for (const std::string& word : words) EXPECT_THAT(error.what(), HasSubstr(word)) << when << " / " << shows;
    }
  }
}

Verdict verdict_of(Status status) {
  Verdict verdict;
  verdict.test_case = case_of();
  verdict.status = status;
  verdict.judgement.compared = 100;
  return verdict;
}

Verdict with_nans() {
  Verdict verdict = verdict_of(Status::failed);
  verdict.judgement.nans = 3;
  verdict.judgement.max_ratio = std::numeric_limits<double>::infinity();
  return verdict;
}

Verdict above_bound(double ratio) {
  Verdict verdict = verdict_of(Status::failed);
  verdict.judgement.above_bound = 1;
  verdict.judgement.max_ratio = ratio;
  return verdict;
}

Verdict with_hazard(metal::HazardKind kind, const std::string& file, std::uint32_t line) {
  Verdict verdict = verdict_of(Status::hazard);
  metal::Hazard hazard;
  hazard.kind = kind;
  hazard.first = {file, line};
  verdict.hazards.push_back(hazard);
  return verdict;
}

TEST(KnownFindingShows, EachSignatureFiresOnItsVerdictAndOnNoOther) {
  Verdict infinite = verdict_of(Status::failed);
  infinite.judgement.infs = 1;
  Verdict missing = verdict_of(Status::failed);
  missing.judgement.not_written = 1;
  const Verdict access = with_hazard(metal::HazardKind::invalid_access, "/home/x/kernel.metal", 41);
  const std::vector<std::pair<std::string, Verdict>> all = {
      {"nan", with_nans()},
      {"inf", infinite},
      {"not_written", missing},
      {"error/bound > 3.5", above_bound(4)},
      {"hazard:invalid_access@kernel.metal:41", access},
      {"hazard:barrier_divergence", with_hazard(metal::HazardKind::barrier_divergence, "kernel.metal", 3)},
      {"crashed", verdict_of(Status::crashed)},
      {"timeout", verdict_of(Status::timeout)},
      {"rejected", verdict_of(Status::rejected)},
  };
  for (const auto& [shows, own] : all) {
    for (const auto& [other_shows, verdict] : all) {
      EXPECT_EQ(finding("n > 0", shows).is_shown_by(verdict), shows == other_shows) << shows << " on that of " << other_shows;
    }
    EXPECT_FALSE(finding("n > 0", shows).is_shown_by(verdict_of(Status::passed))) << shows;
    EXPECT_FALSE(finding("n > 0", shows).is_shown_by(verdict_of(Status::mistrusted))) << shows;
    EXPECT_EQ(finding("n > 0", "failed").is_shown_by(own), own.status == Status::failed) << shows;
  }
  EXPECT_FALSE(finding("n > 0", "error/bound > 4").is_shown_by(above_bound(4)));
  EXPECT_TRUE(finding("n > 0", "hazard:invalid_access").is_shown_by(access));
  EXPECT_TRUE(finding("n > 0", "hazard:invalid_access@41").is_shown_by(access));
  EXPECT_FALSE(finding("n > 0", "hazard:invalid_access@42").is_shown_by(access));
  EXPECT_FALSE(finding("n > 0", "hazard:invalid_access@other.metal:41").is_shown_by(access));
  EXPECT_FALSE(finding("n > 0", "hazard:invalid_access@ernel.metal:41").is_shown_by(access));
  EXPECT_TRUE(finding("n > 0", "timeout || nan").is_shown_by(with_nans()));
}

Verdict settled(Verdict verdict, const kernels::Variant& variant, metal::Policy policy = metal::Policy::native) {
  settle_known_findings(known_findings_of(variant), verdict, policy);
  return verdict;
}

TEST(KnownFindingSettles, WhatFailsAsDeclaredIsKnown) {
  const Verdict verdict = settled(with_nans(), variant_with("n == 33", "nan", "FINDINGS.md#3"));
  EXPECT_EQ(verdict.status, Status::known);
  EXPECT_TRUE(is_success(verdict.status));
  EXPECT_THAT(reason_of(verdict), HasSubstr("some/variant.toml:12 (when n == 33, shows nan; see FINDINGS.md#3)"));
  EXPECT_THAT(verdict.known, ::testing::ElementsAre("FINDINGS.md#3"));
}

TEST(KnownFindingSettles, WithoutDeclarationAFailureIsOne) {
  kernels::Variant none = variant_with("n == 33", "nan");
  none.known_findings.clear();
  const Verdict verdict = settled(with_nans(), none);
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_TRUE(verdict.faults.empty());
}

TEST(KnownFindingSettles, WhatPassesAlthoughItMatchesMustBeStruck) {
  const Verdict verdict = settled(verdict_of(Status::passed), variant_with("n == 33", "nan"));
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_THAT(reason_of(verdict), HasSubstr("no longer occurs: remove it"));
  EXPECT_EQ(settled(verdict_of(Status::passed), variant_with("n == 34", "nan")).status, Status::passed);
}

TEST(KnownFindingSettles, WhatFailsSoWithoutMatchingStaysAFailureAndSaysSo) {
  const Verdict same = settled(with_nans(), variant_with("n == 34", "nan"));
  EXPECT_EQ(same.status, Status::failed);
  EXPECT_THAT(reason_of(same), HasSubstr("`when` does not include this case"));
  const Verdict different = settled(with_nans(), variant_with("n == 34", "inf"));
  EXPECT_EQ(different.status, Status::failed);
  EXPECT_TRUE(different.faults.empty());
}

TEST(KnownFindingSettles, WhatFailsOtherwiseStaysAFailure) {
  const Verdict verdict = settled(above_bound(2), variant_with("n == 33", "nan"));
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_THAT(reason_of(verdict), HasSubstr("should occur here, but does not"));
}

TEST(KnownFindingSettles, WhatShowsMoreThanDeclaredStaysAFailure) {
  Verdict both = with_nans();
  both.judgement.not_written = 5;
  const Verdict more = settled(both, variant_with("n == 33", "nan"));
  EXPECT_EQ(more.status, Status::failed);
  EXPECT_THAT(reason_of(more), HasSubstr("fails in more ways than"));
  EXPECT_EQ(settled(both, variant_with("n == 33", "nan || not_written")).status, Status::known);
  EXPECT_EQ(settled(both, variant_with("n == 33", "failed")).status, Status::known);

  Verdict guards = with_nans();
  guards.judgement.guard_violations = 1;
  EXPECT_EQ(settled(guards, variant_with("n == 33", "nan")).status, Status::failed) << "memory beside the output was not declared";

  Verdict hazards = with_hazard(metal::HazardKind::invalid_access, "kernel.metal", 41);
  EXPECT_EQ(settled(hazards, variant_with("n == 33", "hazard:invalid_access@41")).status, Status::known);
  hazards.hazards.push_back(hazards.hazards.front());
  hazards.hazards.back().first.line = 50;
  EXPECT_EQ(settled(hazards, variant_with("n == 33", "hazard:invalid_access@41")).status, Status::hazard);
}

TEST(KnownFindingSettles, WhatCheckedAloneCanShowHoldsUnderItAlone) {
  const kernels::Variant variant = variant_with("n == 33", "hazard:uninitialised_read");
  EXPECT_EQ(settled(verdict_of(Status::passed), variant).status, Status::passed);
  EXPECT_EQ(settled(verdict_of(Status::passed), variant, metal::Policy::checked).status, Status::failed) << "it no longer shows";
  const Verdict unwritten = with_hazard(metal::HazardKind::uninitialised_read, "kernel.metal", 41);
  EXPECT_EQ(settled(unwritten, variant, metal::Policy::checked).status, Status::known);
  EXPECT_EQ(settled(unwritten, variant_with("n == 33", "hazard:race_between_threadgroups"), metal::Policy::checked).status, Status::hazard);
  // Both policies can show one of these.
  EXPECT_EQ(settled(verdict_of(Status::passed), variant_with("n == 33", "nan || hazard:uninitialised_read")).status, Status::failed);
}

TEST(KnownFindingSettles, WhatIsOutOfBoundsUnderCheckedIsTheInvalidAccessOfNative) {
  const Verdict outside = with_hazard(metal::HazardKind::out_of_bounds, "kernel.metal", 41);
  EXPECT_EQ(settled(outside, variant_with("n == 33", "hazard:invalid_access"), metal::Policy::checked).status, Status::known);
  EXPECT_EQ(settled(outside, variant_with("n == 33", "hazard:barrier_divergence"), metal::Policy::checked).status, Status::hazard);
}

TEST(KnownFindingSettles, ADeclaredHazardUnderCheckedExcusesADeclaredOutput) {
  kernels::Variant variant = variant_with("n == 33", "nan");
  const Verdict misaligned = with_hazard(metal::HazardKind::misaligned_access, "kernel.metal", 41);
  EXPECT_EQ(settled(misaligned, variant, metal::Policy::checked).status, Status::hazard) << "the hazard is not declared";
  variant.known_findings.push_back({"n == 33", "hazard:misaligned_access", "", 20});
  EXPECT_EQ(settled(misaligned, variant, metal::Policy::checked).status, Status::known);
}

// It happened as it is written, and every value was computed: what is wrong with them has to be declared as well, and to show.
TEST(KnownFindingSettles, AMisalignedAccessIsSeenByAllPoliciesAndExcusesNoOutput) {
  kernels::Variant variant = variant_with("n == 33", "hazard:misaligned_access");
  Verdict misaligned = with_hazard(metal::HazardKind::misaligned_access, "kernel.metal", 41);
  for (const auto policy : {metal::Policy::native, metal::Policy::shadow, metal::Policy::checked}) {
    EXPECT_EQ(settled(misaligned, variant, policy).status, Status::known);
    EXPECT_EQ(settled(verdict_of(Status::passed), variant, policy).status, Status::failed) << "it no longer shows";
  }
  misaligned.judgement.nans = 1;
  EXPECT_EQ(settled(misaligned, variant).status, Status::hazard) << "the output is not declared";
  variant.known_findings.push_back({"n == 33", "nan", "", 20});
  EXPECT_EQ(settled(misaligned, variant).status, Status::known);
  misaligned.judgement.nans = 0;
  EXPECT_EQ(settled(misaligned, variant).status, Status::hazard) << "the NaN no longer shows";
}

// What the policy `shadow` adds to a failure that native sees excuses nothing and accuses of nothing.
TEST(KnownFindingSettles, WhatIsKnownUnderNativeIsKnownUnderShadow) {
  Verdict both = with_nans();
  both.split.emplace();
  both.split->above_bound = 1;
  EXPECT_EQ(settled(both, variant_with("n == 33", "nan"), metal::Policy::shadow).status, Status::known);
  EXPECT_EQ(settled(both, variant_with("n == 33", "failed"), metal::Policy::shadow).status, Status::known);
  EXPECT_EQ(settled(verdict_of(Status::passed), variant_with("n == 33", "hazard:uninitialised_read"), metal::Policy::shadow).status,
            Status::passed)
      << "only checked can show it";
}

TEST(KnownFindingSettles, EveryFindingThatMatchesMustShow) {
  kernels::Variant variant = variant_with("n == 33", "nan");
  variant.known_findings.push_back({"nwg == 4", "not_written", "", 20});
  const Verdict one = settled(with_nans(), variant);
  EXPECT_EQ(one.status, Status::failed);
  EXPECT_THAT(reason_of(one), HasSubstr("some/variant.toml:20"));
  Verdict both = with_nans();
  both.judgement.not_written = 1;
  EXPECT_EQ(settled(both, variant).status, Status::known);
}

TEST(KnownFindingSettles, NeitherMistrustNorOurOwnFailureIsEverDeclared) {
  EXPECT_EQ(settled(verdict_of(Status::mistrusted), variant_with("n == 33", "failed")).status, Status::mistrusted);
  Verdict internal = verdict_of(Status::mistrusted);
  internal.is_internal = true;
  EXPECT_TRUE(settled(internal, variant_with("n == 33", "failed")).faults.empty());
  EXPECT_EQ(settled(verdict_of(Status::skipped), variant_with("n == 33", "failed")).status, Status::skipped);
}

}  // namespace
}  // namespace assay::tests::known_finding_rules_test
