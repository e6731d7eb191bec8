// Conditions that the constants of a case decide, and the statements that they exclude from slices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"
#include "harness/triage/known_constants.h"
#include "harness/triage/slices.h"

namespace assay::tests::known_constants_test {
namespace {

using harness::KnownConstants;
using harness::Slices;
using harness::Source;
using namespace ::testing;

std::optional<bool> read(const std::string& condition) {
  const Source source(condition, "condition.metal");
  const auto value_of = [](std::string_view name) -> std::optional<std::int64_t> {
    static const KnownConstants known = {{"on", 1}, {"off", 0}, {"kind", 2}};
    const auto found = known.find(name);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
  const std::vector<harness::SourceToken>& tokens = source.pieces().front().tokens;
  return harness::known_condition(tokens, 0, tokens.size(), value_of);
}

TEST(KnownConstants, DecideAConditionIfNoOtherNameCanChangeIt) {
  for (const char* condition : {"on", "!off", "(on)", "on || other", "other > 3 || on", "kind == 2", "kind != 1 && on", "!(off && other)",
                                "kind >= 0x2u", "(kind < 3) && (on || other)", "true"})
    EXPECT_EQ(read(condition), true) << condition;
  for (const char* condition : {"off", "!on", "off && other", "other[3] < 2 && off", "kind == 1", "!(on || other)", "off || kind > 2"})
    EXPECT_EQ(read(condition), false) << condition;
  for (const char* condition :
       {"other", "on && other", "off || other", "kind == other", "on ? other : off", "kind + 1 == 3", "on.x", "f(on)"})
    EXPECT_EQ(read(condition), std::nullopt) << condition;
}

constexpr std::string_view kText = R"(constant bool is_paged [[function_constant(0)]];
long place(device const int * table, long base, int key) {
  if (!is_paged) {
    return base + key;
  }
  return table[key / 8] * 8 + key % 8;
}
kernel void mine(device const float * k, device const int * table, device float * out, constant long & base, uint lane) {
  float score = k[place(table, base, lane)];
  if constexpr (is_paged) {
    score = score * 2;
  } else {
    score = score + 3;
  }
  out[lane] = score;
}
)";
enum Line : std::uint32_t { kPlain = 4, kPaged = 6, kScore = 9, kTwice = 11, kMore = 13, kStore = 15 };

TEST(KnownConstants, ExcludeStatementsFromSlices) {
  const Source source(std::string(kText), "mine.metal");
  const std::uint32_t store[] = {kStore};
  const auto lines = [&](const KnownConstants& known) {
    std::vector<std::uint32_t> found;
    for (const auto& [line, cost] : Slices(source, {}, known).behind(store, {})) found.push_back(line);
    return found;
  };
  EXPECT_THAT(lines({}), IsSupersetOf({+kPlain, +kPaged, +kScore, +kTwice, +kMore}));
  EXPECT_THAT(lines({{"is_paged", 1}}), AllOf(IsSupersetOf({+kPaged, +kScore, +kTwice}), Not(Contains(+kPlain)), Not(Contains(+kMore))));
  EXPECT_THAT(lines({{"is_paged", 0}}), AllOf(IsSupersetOf({+kPlain, +kScore, +kMore}), Not(Contains(+kPaged)), Not(Contains(+kTwice))));
}

TEST(KnownConstants, ALocalVariableOfTheNameIsAnother) {
  const Source source(
      "kernel void mine(device float * out, uint lane) {\n"
      "  bool is_paged = lane > 3;\n"
      "  float x = 1;\n"
      "  if (is_paged) {\n"
      "    x = 2;\n"
      "  }\n"
      "  out[lane] = x;\n"
      "}\n",
      "mine.metal");
  const std::uint32_t store[] = {7};
  EXPECT_TRUE(Slices(source, {}, {{"is_paged", 0}}).behind(store, {}).contains(5));
}

}  // namespace
}  // namespace assay::tests::known_constants_test
