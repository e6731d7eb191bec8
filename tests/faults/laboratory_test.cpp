// Versions of a source in which a part does not compile.
#include "harness/triage/laboratory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "families/registry.h"
#include "harness/cases/suite.h"
#include "harness/triage/suspects.h"
#include "kernels/variant.h"

namespace assay::tests::laboratory_test {
namespace {

// The case needs no `blk`, so it would pass with that of another kernel.
TEST(Laboratory, AVersionWithABrokenPartIsNone) {
  const std::vector<kernels::Variant> catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  harness::Laboratory laboratory({.catalogue = catalogue, .variant = "bf16_prefill_v2", .workbench = {}, .run = {}});
  const std::vector<harness::Case> cases = suite_cases(harness::Suite::smoke, laboratory.variant(), 0);
  const auto unmasked =
      std::ranges::find_if(cases, [](const harness::Case& one) { return harness::format_case(one).find("/nomask/") != std::string::npos; });
  ASSERT_NE(unmasked, cases.end());
  const harness::Case& test_case = *unmasked;
  ASSERT_EQ(laboratory.verdict(test_case).status, harness::Status::passed);
  std::string text = kernels::read_text(laboratory.variant().source);
  const std::string_view whole = "max(row[2 * lane], row[2 * lane + 1])";
  const std::size_t at = text.find(whole);
  ASSERT_NE(at, std::string::npos);
  harness::Laboratory other = harness::with_text(laboratory, text + "\n");
  EXPECT_EQ(other.verdict(test_case).status, harness::Status::passed);
  text.replace(at, whole.size(), "max(row[2 * lane]");
  harness::Laboratory broken = harness::with_text(laboratory, text);
  EXPECT_EQ(broken.verdict(test_case).status, harness::Status::skipped);
  EXPECT_THAT(broken.problem(test_case), ::testing::HasSubstr("kernel_flash_attn_ext_blk"));
}

}  // namespace
}  // namespace assay::tests::laboratory_test
