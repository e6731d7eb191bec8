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

namespace assay::harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
  EXPECT_THAT(changed.stale, ElementsAre(HasSubstr("which is now 'return a + 1;'")));

  const MutationScore unknown = score(results, declare("return a + 1;", "arithmetic:9:9:1"));
  EXPECT_THAT(unknown.stale, ElementsAre(HasSubstr("no mutant arithmetic:9:9:1 any more")));

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
  EXPECT_THAT(text, HasSubstr("3 mutants are missing from the score; the same command goes on"));
}

TEST(TrialResult, SurvivesItsOwnText) {
  TrialResult result = with(Fate::killed, Status::timeout);
  result.slowest_seconds = 1.25;
  result.policy = metal::Policy::checked;
  const TrialResult again = TrialResult::decode(result.encode());
  EXPECT_EQ(again.encode(), result.encode());
  EXPECT_EQ(again.verdict, Status::timeout);
  EXPECT_EQ(again.policy, metal::Policy::checked);
  EXPECT_EQ(again.faults, result.faults);
  EXPECT_EQ(again.why(), "2 elements above their bound");
  result.faults = tests::faults_of_every_kind();
  EXPECT_EQ(TrialResult::decode(result.encode()).faults, result.faults);
}

TEST(TrialResult, OfAnotherTextIsRefused) {
  const std::string good = with(Fate::killed).encode();
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW(static_cast<void>(TrialResult::decode(good.substr(0, length))), std::invalid_argument) << length;
  }
  EXPECT_THROW(
      static_cast<void>(TrialResult::decode("fate eaten\nverdict failed\ncase \nfaults 0000000000000000\nreason \ncases 1\nslowest 1\n")),
      std::invalid_argument);
  for (const char* faults : {"0", "00", "0100000000000000", "zz", "000000000000000000"})
    EXPECT_THROW(static_cast<void>(TrialResult::decode(std::string("fate killed\nverdict failed\npolicy native\ncase \nfaults ") + faults +
                                                       "\nreason \ncases 1\nslowest 1\n")),
                 std::invalid_argument)
        << faults;
  EXPECT_THROW(
      static_cast<void>(TrialResult::decode("fate killed\nverdict failed\ncase \nfaults 0000000000000000\nreason \ncases x\nslowest 1\n")),
      std::invalid_argument);
}

}  // namespace
}  // namespace assay::harness
