// What `assay quality` prints of the figures of harness/quality.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "harness/quality/quality.h"
#include "tests/support/command.h"

namespace assay::tests::quality_test {
namespace {

using namespace harness;

using ::testing::HasSubstr;

const char* const kSmall = "quality --bits 8 --head-dim 256 --kv-len 16 --fixture gauss";

TEST(QualityCommand, PrintsWhatItReportsAndThatItJudgesNothing) {
  const Outcome outcome = run_assay(kSmall);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  for (const char* word : {"1.523434", "gauss", "first percentile", "not judged"}) EXPECT_THAT(outcome.output, HasSubstr(word));
}

TEST(QualityCommand, PrintsJsonWithTheSameFigures) {
  const Outcome outcome = run_assay(std::string(kSmall) + " --seed 3 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const nlohmann::json document = nlohmann::json::parse(outcome.output);
  ASSERT_EQ(document.at("codebooks").size(), 1U);
  EXPECT_NEAR(document["codebooks"][0].at("ratio").get<double>(), 1.523434, 1e-6);
  ASSERT_EQ(document.at("attention").size(), 1U);
  const nlohmann::json& row = document["attention"][0];
  const QualityRequest request{.head_dim = 256, .bits = 8, .kv_len = 16, .seed = 3};
  const FixtureQuality quality = fixture_quality(fixtures::find_fixture("gauss"), request);
  EXPECT_EQ(row.at("fixture"), "gauss");
  EXPECT_EQ(row.at("nrmse").get<double>(), quality.similarity.nrmse);
  EXPECT_EQ(row.at("cosine_first_percentile").get<double>(), quality.similarity.percentile_cosine);
}

TEST(QualityCommand, RefusesWhatIsNotThere) {
  EXPECT_EQ(run_assay("quality --bits 7").status, 2);
  const Outcome unknown = run_assay("quality --fixture gaus");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.output, HasSubstr("no fixture \"gaus\""));
  const Outcome sourceless = run_assay("quality --fixture idle");
  EXPECT_EQ(sourceless.status, 2);
  EXPECT_THAT(sourceless.output, HasSubstr("\"idle\" has no source level"));
}

}  // namespace
}  // namespace assay::tests::quality_test
