// Classifies the mistakes of a kernel one by one.
#include "harness/triage/each_mistake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/triage/hunks.h"
#include "harness/triage/nearby.h"
#include "harness/triage/repaired_class.h"
#include "harness/triage/suspects.h"
#include "kernels/variant.h"

namespace assay::harness {
namespace {

// nullopt if none of the cases fails. `own_file`: the source of which `alone` has an edited copy.
std::optional<Classification> classify_alone(Laboratory& alone, const std::string& own_file, const Blame& of_this,
                                             std::span<const Case> failing, std::span<const Case> passed) {
  const Verdict* first = alone.first_failure(failing, [](const Verdict&) { return true; });
  if (first == nullptr) return std::nullopt;
  const Case test_case = first->test_case;
  Evidence evidence;
  evidence.faults = first->faults;
  evidence.depends_on_order = has_kind(first->faults, FaultKind::order_dependence);
  evidence.hazards = alone.verdict_under(test_case, metal::Policy::checked).hazards;
  std::vector<Case> own, others(passed.begin(), passed.end());
  alone.prefetch(failing);
  for (const Case& given : failing) (is_success(alone.verdict(given).status) ? others : own).push_back(given);
  const Nearby nearby = observe_nearby(alone, test_case, test_case, others);
  Classification one = classify(nearby.failing, nearby.right(), evidence, alone.shelf());
  // The edited copy is in the cache, where nobody else finds it.
  if (auto* hazard = std::get_if<metal::Hazard>(&one.decided)) {
    const std::string copy = alone.variant().source.string();
    for (std::size_t at = hazard->message.find(copy); at != std::string::npos; at = hazard->message.find(copy, at + own_file.size()))
      hazard->message.replace(at, copy.size(), own_file);
  }
  classify_by_repair(alone, nearby, of_this, own, others, one);
  return one;
}

// The repair of the mistake in lines `first` to `last`. Of the second mistake is known what its edit shows.
Blame blame_of_place(const Blame& blamed, std::uint32_t first, std::uint32_t last) {
  Blame of_place = {.suspects = {}, .repaired = blamed.repaired, .is_partial = false, .kind = {}};
  if (first <= blamed.second_line && blamed.second_line <= last) {
    of_place.kind = blamed.second_kind;
    of_place.says = blamed.second_says;
  }
  return of_place;
}

// Whether both places have the same in place of the same.
bool is_same(std::string_view source, const std::vector<Hunk>& one, const std::vector<Hunk>& other) {
  return std::ranges::equal(one, other, [&](const Hunk& a, const Hunk& b) {
    return a.other == b.other && source.substr(a.begin, a.end - a.begin) == source.substr(b.begin, b.end - b.begin);
  });
}

}  // namespace

void classify_each(const Laboratory& laboratory, const Blame& blamed, std::span<const Case> failing, std::span<const Case> passed,
                   Classification& classification) {
  const std::string text = kernels::read_text(laboratory.variant().source);
  const std::optional<std::vector<Hunk>> hunks = hunks_between(text, blamed.repaired, true);
  if (!hunks) return;
  // Neighbouring lines are likely to be of one mistake.
  constexpr std::uint32_t near = 3;
  std::vector<std::vector<Hunk>> places;
  for (const std::vector<Hunk>& line : by_lines(*hunks)) {
    if (places.empty() || places.back().back().last_line + near < line.front().line) places.emplace_back();
    places.back().insert(places.back().end(), line.begin(), line.end());
  }
  if (places.size() != 2 || is_same(text, places.front(), places.back())) return;
  // What one known mistake explains is not two.
  const auto explains = [&](const Fit& fit) {
    return fit.kind == classification.kind && std::min(fit.goodness, fit.exact) >= kSureFit && !fit.is_pair && !fit.is_arbitrary;
  };
  if (std::holds_alternative<decided::BestFit>(classification.decided) && std::ranges::any_of(classification.fits, explains)) return;
  std::vector<Classification> found;
  for (std::size_t kept = 0; kept < places.size(); ++kept) {
    std::vector<Hunk> others;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i != kept) others.insert(others.end(), places[i].begin(), places[i].end());
    }
    Laboratory alone = with_text(laboratory, undone(text, others));
    const Blame of_place = blame_of_place(blamed, places[kept].front().line, places[kept].back().last_line);
    if (std::optional<Classification> one = classify_alone(alone, laboratory.variant().source.string(), of_place, failing, passed))
      found.push_back(std::move(*one));
  }
  // A half repaired mistake is one without a name.
  if (found.size() < 2 || std::ranges::any_of(found, [](const Classification& one) { return one.kind == mistake::kUnknown; })) return;
  // One mistake may have two places: the type of a variable, and a conversion of what is assigned to it.
  if (found[0].kind == found[1].kind) return;
  std::string says = fmt::format("two mistakes at once: {}; and ({}) {}", found[0].says, found[1].kind, found[1].says);
  found[0].says = std::move(says);
  classification = std::move(found[0]);
}

}  // namespace assay::harness
