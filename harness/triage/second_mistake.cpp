// Looks for a second mistake in a kernel in which one is undone.
#include "harness/triage/second_mistake.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/cases/case_size.h"
#include "harness/triage/classify.h"
#include "harness/triage/confirm.h"
#include "harness/triage/focus.h"
#include "harness/triage/nearby.h"
#include "harness/triage/without_repair.h"

namespace assay::harness {
namespace {

// The suspect of a kernel in which `first` is undone.
Suspect after(const Suspect& first, Suspect suspect, bool is_guess) {
  // Its file is the edited copy, which nobody else has.
  suspect.file = first.file;
  if (suspect.why.starts_with(kPlaceToLook)) {
    suspect.why.erase(0, kPlaceToLook.size());
    is_guess = true;
  }
  suspect.why = fmt::format("{}a second mistake: after the edit of line {}, {}", is_guess ? kPlaceToLook : "", first.line, suspect.why);
  return suspect;
}

// What was found for the second mistake is tried on what the first leaves; this tries both together on everything. Returns whether they
// repair.
bool confirm_both(const Laboratory& laboratory, Blame& blamed, std::uint32_t second_line, std::span<const Case> given) {
  Laboratory whole = with_text(laboratory, blamed.repaired);
  Laboratory before = laboratory.with_source(laboratory.variant().source);
  const Confirmation confirmation = confirm(before, whole, given, kConfirmation);
  if (confirmation.breaks || confirmation.healed == 0) return false;
  blamed.is_guess = false;
  blamed.is_partial = !confirmation.is_full();
  blamed.suspects.front().why = fmt::format("two mistakes: with this edit and that of line {}, {}", second_line, to_text(confirmation));
  return true;
}

}  // namespace

void blame_second_mistake(const Laboratory& laboratory, Blame& blamed, EditSearch search) {
  Laboratory half = with_text(laboratory, blamed.repaired);
  constexpr std::size_t most = 4;
  constexpr std::size_t most_passing = 10;
  std::vector<Case> left;
  std::vector<Case> healed(search.passing.begin(), search.passing.end());
  std::vector<Case> failing;
  std::vector<Case> passing(search.passing.begin(), search.passing.end());
  std::vector<Observation> observed;
  const std::span<const Case> given = search.given;
  half.prefetch(given);
  for (const Case& test_case : search.given) {
    if (half.verdict(test_case).status == Status::passed) {
      if (passing.size() < most_passing) passing.push_back(test_case);
      healed.push_back(test_case);
      continue;
    }
    left.push_back(test_case);
    if (failing.size() >= most || size_of(test_case) > kLargestNearby) continue;
    failing.push_back(test_case);
    if (std::optional<Observation> observation = half.observe(test_case); observation && observation->is_failure())
      observed.push_back(std::move(*observation));
  }
  if (failing.empty()) return;
  constexpr std::size_t looked_at = 2;
  Focus focus = focus_on(half, std::span(observed).first(std::min(looked_at, observed.size())));
  const Classification likely = likely_class(classify(observed, {}, {}, half.shelf()), left, healed);
  const bool knows_subject = focus_on_subject(half, likely, focus);
  search.kind = likely.kind;
  search.budget /= 2;
  search.is_kind_sure = likely.goodness >= kSureFit;
  const bool is_common = std::holds_alternative<decided::Common>(likely.decided);
  if ((search.is_kind_sure || is_common) && !blamed.is_guess) {
    blamed.left_kind = likely.kind;
    blamed.left_says = likely.says;
  }
  search.landmarks = nullptr;
  search.failing = failing;
  search.passing = passing;
  search.given = left;
  search.suspicion = focus.suspects.empty() && !knows_subject ? nullptr : &focus.suspicion;
  Blame second = blame_small_edits(half, search);
  const Suspect first = blamed.suspects.front();
  for (const Suspect& suspect : second.suspects.empty() ? focus.suspects : second.suspects)
    blamed.suspects.push_back(after(first, suspect, blamed.is_guess && second.suspects.empty()));
  if (second.suspects.empty()) return;
  const std::string half_repaired = std::exchange(blamed.repaired, second.repaired);
  blamed.is_partial = second.is_partial;
  blamed.second_line = second.suspects.front().line;
  blamed.second_kind = second.kind;
  blamed.second_says = second.says;
  if (!blamed.is_guess || confirm_both(laboratory, blamed, second.suspects.front().line, given)) return;
  blamed.repaired = half_repaired;
  blamed.suspects.resize(1);
}

}  // namespace assay::harness
