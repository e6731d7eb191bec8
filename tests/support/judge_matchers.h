// GoogleMock matchers over harness/judge: EXPECT_THAT(output, IsWithinBoundOf(expected)). All judging happens there; here a verdict
// becomes a match, and its worst elements the message.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "harness/findings/fault_text.h"
#include "harness/judge/judge.h"
#include "oracles/expected.h"

namespace assay::tests {

inline std::string_view fault_text(harness::ElementFault fault) {
  switch (fault) {
    case harness::ElementFault::none:
      return "";
    case harness::ElementFault::above_bound:
      return " ABOVE BOUND";
    case harness::ElementFault::not_written:
      return " NEVER WRITTEN";
    case harness::ElementFault::nan:
      return " NAN";
    case harness::ElementFault::infinite:
      return " INFINITE";
  }
  return "";
}

// "2 above bound, 1 NaN", then why the comparison is mistrusted, then the worst elements, a line each.
inline std::string describe(const harness::Judgement& judgement) {
  std::string text =
      fmt::format("{} compared, {} above bound, {} never written, {} NaN, {} infinite, {} guard words changed", judgement.compared,
                  judgement.above_bound, judgement.not_written, judgement.nans, judgement.infs, judgement.guard_violations);
  if (judgement.mistrusted) text += "; mistrusted: " + harness::text_of(harness::fault_of(*judgement.mistrusted));
  for (const harness::WorstElement& worst : judgement.worst) {
    text += fmt::format("\n  [{}] expected {:.9g}, actual {:.9g}, error {:.4g}, bound {:.4g}, error/bound {:.4g}{}", worst.index,
                        worst.expected, worst.actual, std::abs(worst.actual - worst.expected), worst.bound, worst.ratio,
                        fault_text(worst.fault));
  }
  return text;
}

class WithinBoundMatcher {
 public:
  using is_gtest_matcher = void;

  WithinBoundMatcher(oracles::Expected expected, harness::JudgeOptions options) : expected_(std::move(expected)), options_(options) {}

  template <typename Output>
  bool MatchAndExplain(const Output& output, ::testing::MatchResultListener* listener) const {
    const std::span values(std::data(output), std::size(output));
    const harness::Judgement judgement = harness::judge(values, expected_, {}, options_);
    *listener << describe(judgement);
    return judgement.passed();
  }
  void DescribeTo(std::ostream* os) const { *os << "is within the bound of all " << expected_.size() << " expected elements"; }
  void DescribeNegationTo(std::ostream* os) const { *os << "is not within the bound of all " << expected_.size() << " expected elements"; }

 private:
  oracles::Expected expected_;
  harness::JudgeOptions options_;
};

// Matches contiguous floats or doubles that harness::judge() passes: every element within its bound, and the comparison worth
// something (one that proves nothing does not match). Sizes that differ throw, as judge() does.
inline WithinBoundMatcher IsWithinBoundOf(oracles::Expected expected, harness::JudgeOptions options = {}) {
  return {std::move(expected), options};
}

}  // namespace assay::tests
