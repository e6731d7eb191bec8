// Confirms a repair on failing cases and on suite `smoke`.
#include "harness/triage/confirm.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "harness/cases/case_size.h"
#include "harness/cases/suite.h"
#include "harness/triage/ordered.h"

namespace assay::harness {

Confirmation confirm(Laboratory& before, Laboratory& repaired, std::span<const Case> given, std::chrono::duration<double> budget) {
  const auto start = std::chrono::steady_clock::now();
  const auto is_over = [&] { return std::chrono::steady_clock::now() - start >= budget; };
  Confirmation confirmation;
  constexpr std::size_t together = 20;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (is_over()) {
      confirmation.is_complete = false;
      return confirmation;
    }
    if (i % together == 0) repaired.prefetch(given.subspan(i, std::min(together, given.size() - i)));
    ++confirmation.given;
    confirmation.healed += repaired.verdict(given[i]).status == Status::passed ? 1 : 0;
  }
  std::vector<Case> smoke = suite_cases(Suite::smoke, before.variant(), 0);
  order_by(smoke, [](const Case& test_case) { return size_of(test_case); });
  for (std::size_t i = 0; i < smoke.size(); ++i) {
    const Case& test_case = smoke[i];
    if (is_over()) {
      confirmation.is_complete = false;
      return confirmation;
    }
    if (i % together == 0) repaired.prefetch(std::span(smoke).subspan(i, std::min(together, smoke.size() - i)));
    const Status status = repaired.verdict(test_case).status;
    if (status == Status::skipped) continue;
    ++confirmation.smoke;
    if (status == Status::passed) {
      ++confirmation.passing;
    } else if (before.verdict(test_case).status == Status::passed) {
      confirmation.breaks = true;
      confirmation.broken = {test_case};
      return confirmation;
    }
  }
  return confirmation;
}

std::string to_text(const Confirmation& confirmation) {
  const auto part = [](std::size_t some, std::size_t all, const char* what) {
    if (all == 1 && some == 1) return fmt::format("the {} case", what);
    return some == all ? fmt::format("all {} {} cases", all, what) : fmt::format("{} of {} {} cases", some, all, what);
  };
  if (confirmation.smoke == 0 && !confirmation.is_complete)
    return fmt::format("{} pass; there was no time for the others and suite smoke",
                       part(confirmation.healed, confirmation.given, "failing"));
  return fmt::format("{} and {} of suite smoke pass{}", part(confirmation.healed, confirmation.given, "failing"),
                     part(confirmation.passing, confirmation.smoke, "supported"),
                     confirmation.is_complete ? "" : "; there was no time for the others");
}

}  // namespace assay::harness
