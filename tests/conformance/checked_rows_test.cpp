// Compiles and runs rows of the policy `checked`, and compares their hazards.
#include "tests/conformance/checked_rows.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/conformance/checked_kernel.h"
#include "tests/conformance/execute.h"

namespace assay::tests::checked_rows_test {
namespace {

using testing::HasSubstr;

std::vector<metal::Hazard> findings_of(const CheckedRow& row, const std::string& schedule, metal::Engine engine = metal::Engine::vector) {
  return execute({.source = checked_kernel(row.body, row.helpers),
                  .output_words = 256,
                  .inputs = {std::vector<std::uint32_t>(64, 7), {}, std::vector<std::uint32_t>(64, 0)},
                  .unwritten_words = {{2, 64}},
                  .threadgroups = {2, 1, 1},
                  .threads = {64, 1, 1},
                  .threadgroup_bytes = 1024,
                  .options = {.schedule = metal::Schedule::parse(schedule), .policy = metal::Policy::checked, .engine = engine}})
      .hazards;
}

std::string texts_of(const std::vector<metal::Hazard>& findings) {
  std::string all;
  for (const auto& finding : findings) all += fmt::format("{} ({} times)\n", finding.message, finding.count);
  return all;
}

// Of checked_kernel().
std::uint32_t in_source(std::uint32_t line) {
  if (line == kHelperLine) return 2;
  if (line == kKernelLine) return 3;
  return line == 0 ? 0 : line + 3;
}

}  // namespace

TEST_P(Checked, FindsItWhereItIsAndNothingElse) {
  const CheckedRow& row = GetParam();
  EXPECT_EQ(texts_of(findings_of(row, "forward")), texts_of(findings_of(row, "forward", metal::Engine::fibers)));
  for (const char* schedule : {"forward", "reverse"}) {
    const auto findings = findings_of(row, schedule);
    if (row.first_line == 0) {
      for (const auto& finding : findings) ADD_FAILURE() << schedule << ": " << finding.message;
      continue;
    }
    ASSERT_EQ(findings.size(), 1U) << schedule << ":\n" << texts_of(findings);
    EXPECT_EQ(to_string(findings[0].kind), to_string(row.kind)) << findings[0].message;
    const std::uint32_t second = findings[0].second ? findings[0].second->line : 0;
    const bool is_swapped = findings[0].first.line == in_source(row.second_line);  // who comes first is the schedule's affair
    EXPECT_EQ(findings[0].first.line, in_source(is_swapped ? row.second_line : row.first_line)) << findings[0].message;
    EXPECT_EQ(second, in_source(is_swapped ? row.first_line : row.second_line)) << findings[0].message;
    if (!is_swapped) EXPECT_THAT(findings[0].message, HasSubstr(row.words));
  }
}

}  // namespace assay::tests::checked_rows_test
