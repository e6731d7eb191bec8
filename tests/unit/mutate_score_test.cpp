// From verdicts on mutants to a score: what counts, and when a declaration of equivalence holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/mutate/score.h"
#include "kernels/equivalent_mutants.h"
#include "kernels/variant.h"
#include "reports/mutation.h"
#include "tests/unit/every_fault.h"

namespace assay::tests::mutate_score_test {
namespace {

using namespace harness;

using namespace ::testing;

const char* const kText = "int f(int a) {\n  return a + 1;\n}\n";

TrialResult with(Fate fate, Status verdict = Status::failed) {
  TrialResult result;
  result.fate = fate;
  result.verdict = verdict;
  result.case_name = "reduce_v1/d256/rows1/nwg1/gauss/s1";
  result.faults = {fault::AboveBound{2}};
  result.cases = 7;
  return result;
}

class Score : public ::testing::Test {
 protected:
  Source source_{kText, "kernel.metal"};
  std::vector<Mutant> mutants_ = make_mutants(source_);

  MutationScore score(const std::vector<TrialResult>& results, const std::string& declared = "") const {
    return score_mutants(source_, mutants_, mutants_, results, kernels::parse_equivalent_mutants(declared, "equivalent.toml"));
  }
};

TEST_F(Score, CountsKilledAgainstSurvivedOnly) {
  // drop_operand, arithmetic, plus_one, drop_constant
  ASSERT_EQ(mutants_.size(), 4U);
  const MutationScore result = score({with(Fate::killed), with(Fate::survived), with(Fate::equivalent), with(Fate::stillborn)});
  EXPECT_DOUBLE_EQ(result.tally.score(), 0.5);
  EXPECT_EQ(result.tally.total(), 4U);
  EXPECT_EQ(result.killers.at(Status::failed), 1U);
  EXPECT_EQ(result.policies.at(metal::Policy::native), 1U);
  ASSERT_EQ(result.by_line.size(), 1U);
  EXPECT_DOUBLE_EQ(result.by_line.at(2).score(), 0.5);
  EXPECT_DOUBLE_EQ(Tally{}.score(), 1.0);
}

TEST_F(Score, ADeclarationHoldsForTheLineItWasMadeFor) {
  const std::string id = mutants_[1].id();
  const auto declare = [&](const std::string& line, const std::string& of) {
    return "[[equivalent]]\nline = '" + line + "'\nids = ['" + of + "']\nreason = 'because'\n";
  };
  const std::vector<TrialResult> results = {with(Fate::killed), with(Fate::survived), with(Fate::killed), with(Fate::killed)};

  const MutationScore held = score(results, declare("return a + 1;", id));
  EXPECT_EQ(held.tally.equivalent, 1U);
  EXPECT_EQ(held.tally.survived, 0U);
  EXPECT_EQ(held.mutants[1].equivalence, "because");
  EXPECT_THAT(held.stale, IsEmpty());

  const MutationScore changed = score(results, declare("return a + 2;", id));
  EXPECT_EQ(changed.tally.survived, 1U);
  EXPECT_THAT(changed.stale, ElementsAre(HasSubstr("but the line is now 'return a + 1;'")));

  const MutationScore unknown = score(results, declare("return a + 1;", "arithmetic:9:9:1"));
  EXPECT_THAT(unknown.stale, ElementsAre(HasSubstr("mutant arithmetic:9:9:1 no longer exists")));

  const MutationScore refuted = score(results, declare("return a + 1;", mutants_[0].id()));
  EXPECT_THAT(refuted.refuted, ElementsAre(HasSubstr("is declared equivalent (because), but under policy native failed reduce_v1/")));
  EXPECT_EQ(refuted.tally.killed, 3U);
}

TEST_F(Score, DescriptionsThatTheGrammarDoesNotHaveAreRefusedByLine) {
  const auto message = [](const std::string& text) {
    try {
      static_cast<void>(kernels::parse_equivalent_mutants(text, "equivalent.toml"));
    } catch (const kernels::VariantError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message("[[equivalent]]\nline = 'a'\nids = ['b']\nreason = 'c'\n"), IsEmpty());
  EXPECT_THAT(message("[[equivalent]]\nline = 'a'\nids = ['b']\n"), HasSubstr("equivalent.toml:1: [[equivalent]] needs reason"));
  EXPECT_THAT(message("[[equivalent]]\nline = 'a'\nids = []\nreason = 'c'\n"), HasSubstr("needs ids"));
  EXPECT_THAT(message("[[equivalent]]\nline = 'a'\nids = ['b', 'b']\nreason = 'c'\n"), HasSubstr("'b' is given twice"));
  EXPECT_THAT(message("[[equivalent]]\nline = 'a'\nwhy = 'b'\n"), HasSubstr("equivalent.toml:3: unknown key 'why'"));
  EXPECT_THAT(message("[equivalent]\nline = 'a'\n"), HasSubstr("[[equivalent]] tables"));
  EXPECT_THAT(message("[[equivalent\n"), HasSubstr("not valid TOML"));
}

TEST_F(Score, ReportsTellTheSame) {
  const MutationScore result = score({with(Fate::killed, Status::hazard), with(Fate::survived), with(Fate::killed), with(Fate::stillborn)});
  reports::MutationRun run;
  run.variant = "reduce_v1";
  run.suite = "gate";
  run.policies = {"native", "checked"};
  run.cases = 450;
  run.all_mutants = 4;
  const std::string text = reports::mutation_text(run, source_, result);
  for (const char* part : {"4 mutants of reduce_v1: 2 killed, 1 survived, 0 equivalent, 1 stillborn; score 66.7 %",
                           "killed by: failed 1, hazard 1; under policies: native 2", "line 2: 1 of 3 survived: return a + 1;",
                           "under policies native, checked", "survived arithmetic:2:12:1 after 7 cases",
                           "-  return a + 1;\n+  return a - 1;", "executed on the simulator"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("a sample of")));
  run.all_mutants = 40;
  EXPECT_THAT(reports::mutation_text(run, source_, result), HasSubstr("4 mutants (a sample of 40)"));
  const std::string json = reports::mutation_json(run, source_, result);
  for (const char* part : {"\"killed\": 2", "\"survived\": 1", "\"hazard\": 1", "\"fate\": \"survived\"", "\"text\": \"return a + 1;\"",
                           "\"policy\": \"native\"", "\"case\": \"reduce_v1/d256/rows1/nwg1/gauss/s1\""}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
  EXPECT_THAT(reports::mutation_markdown(run, source_, result), HasSubstr("```diff\n@@"));
}

TEST_F(Score, WhatIsMissingIsSaid) {
  TrialResult missing;
  missing.reason = "the budget was used up";
  const MutationScore result = score({with(Fate::killed), missing, missing, missing});
  EXPECT_DOUBLE_EQ(result.tally.score(), 1.0);
  const std::string text = reports::mutation_text({}, source_, result);
  EXPECT_THAT(text, HasSubstr("3 not judged; score 100.0 %"));
  EXPECT_THAT(text, HasSubstr("not judged, the budget was used up: 3 (" + mutants_[1].id()));
  EXPECT_THAT(text, HasSubstr("3 mutants are not yet judged and not in the score; run the same command again"));
}

TEST(TrialResult, SurvivesItsArchive) {
  TrialResult result = with(Fate::killed, Status::timeout);
  result.slowest_seconds = 1.25;
  result.policy = metal::Policy::checked;
  result.is_cached = true;
  const auto again = base::from_bytes<TrialResult>(base::to_bytes(result));
  EXPECT_EQ(base::to_bytes(again), base::to_bytes(result));
  EXPECT_EQ(again.verdict, Status::timeout);
  EXPECT_EQ(again.policy, metal::Policy::checked);
  EXPECT_EQ(again.faults, result.faults);
  EXPECT_EQ(again.why(), "2 elements above their bound");
  EXPECT_EQ(again.slowest_seconds, 1.25);
  EXPECT_TRUE(again.is_cached);
  result.faults = faults_of_every_kind();
  EXPECT_EQ(base::from_bytes<TrialResult>(base::to_bytes(result)).faults, result.faults);
}

TEST(TrialResult, OfOtherBytesIsRefused) {
  const base::Bytes good = base::to_bytes(with(Fate::killed));
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_THROW(static_cast<void>(base::from_bytes<TrialResult>(std::span(good).first(length))), base::DamagedArchive) << length;
  base::Bytes fate_of_no_kind = good;
  fate_of_no_kind.front() = std::byte{5};
  EXPECT_THROW(static_cast<void>(base::from_bytes<TrialResult>(fate_of_no_kind)), base::DamagedArchive);
  base::Bytes longer = good;
  longer.push_back(std::byte{0});
  EXPECT_THROW(static_cast<void>(base::from_bytes<TrialResult>(longer)), base::DamagedArchive);
}

}  // namespace
}  // namespace assay::tests::mutate_score_test
