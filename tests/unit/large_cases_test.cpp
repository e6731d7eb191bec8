// The gates of families over caches have cases whose buffers exceed 2^31 bytes: by a slot, and by tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/code_bytes.h"
#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/cases/suite.h"

namespace assay::tests::large_cases_test {
namespace {

using ::testing::Contains;

// Widths of indices and head sizes with which the offset of the written slot alone, or with its head, exceeds 2^31 bytes.
TEST(LargeCases, QuantizeWritesBehindTwoGigabytes) {
  constexpr std::int64_t kFar = std::int64_t{1} << 31U;
  int by_slot = 0;
  int by_head = 0;
  for (const std::string_view name : families::find_family("quantize").own_cases) {
    const harness::Case one = harness::parse_case("mine/" + std::string(name), families::find_family("quantize"));
    const auto row = static_cast<std::int64_t>(base::code_bytes(one.size("bits"), one.size("head_dim")));
    const std::int64_t slot = one.at("is_sliding") != 0 ? one.at("write_pos") % one.at("cache_capacity") : one.at("write_pos");
    if (slot * row > kFar) ++by_slot;
    if (((one.at("num_kv_heads") - 1) * one.at("cache_capacity") + slot) * row > kFar) ++by_head;
  }
  EXPECT_EQ(by_slot, 2);
  EXPECT_EQ(by_head, 6);
}

TEST(LargeCases, TokensOfBfloatCachesAreFarApart) {
  EXPECT_THAT(families::find_family("bf16_vec").own_cases, Contains("b1/h2x2/q2/kv128r0/nomask/tokens/far/nsg2/gauss/s1"));
  EXPECT_THAT(families::find_family("bf16_prefill").own_cases, Contains("b1/h2x2/q9/kv128r0/nomask/tokens/far/gauss/s1"));
}

}  // namespace
}  // namespace assay::tests::large_cases_test
