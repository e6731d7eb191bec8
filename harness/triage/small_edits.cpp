// Repairs a kernel by small edits: most mistakes are small, so one of the edits of mutation, or its opposite, may undo them.
//
// Edits are tried in the order of their likelihood and compiled several at a time, until one makes every failing case pass
// and breaks none.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/confirm.h"
#include "harness/triage/edit_order.h"
#include "harness/triage/edit_places.h"
#include "harness/triage/edit_trials.h"
#include "harness/triage/first_of_two.h"
#include "harness/triage/suspects.h"

namespace assay::harness {
namespace {

struct EditMeaning {
  std::string_view kind, says;
};

// `weight < 1e-3f`
bool compares_with_little(std::string_view condition) {
  constexpr double little = 0.1;
  const std::size_t sign = condition.find('<');
  if (sign == std::string_view::npos) return false;
  const double limit = std::strtod(std::string(condition.substr(sign + 1)).c_str(), nullptr);
  return limit > 0 && limit <= little;
}

// What is missing where this was added, or was wrong where it was replaced; empty where other mistakes have the same repair. `likely`: the
// class that the output tells.
EditMeaning meaning_of(const Source& source, const Edit& edit, std::string_view likely) {
  using namespace mistake;
  if (edit.op == "condition" && edit.replacement == "false" &&
      compares_with_little(std::string_view(source.text()).substr(edit.offset, edit.length)))
    return {kSkipped, "the repair keeps what has a small weight"};
  if (edit.op == "one_off" && (likely == kWindow || likely == kNewest || likely == kOldest))
    return {likely, "the repair moves a limit by one"};
  if (edit.op == "more_weight") return {kRescale, "the repair weighs what is summed up"};
  if (edit.op == "more_rescaling" || edit.op == "rescaled_array" || edit.op == "old_value")
    return {kRescale, "the repair rescales what was summed up before"};
  if (edit.op == "turned_ring") return {kRing, "the repair changes from where a ring is counted"};
  if (edit.op == "turned_exponent") return {kRescale, "the repair turns an exponent round"};
  if (edit.op == "more_statement" && (edit.replacement.find("*=") != std::string::npos || edit.replacement.find("/=") != std::string::npos))
    return {kRescale, "the repair rescales what was summed up before"};
  if (edit.op == "more_factor") return {kScale, "the repair adds a factor"};
  if (edit.op == "other_base") return {kScale, "the repair changes the base of an exponential"};
  if (edit.op == "other_function") return {kScale, "the repair calls another function"};
  if (edit.op == "more_logarithm") return {kUnnormalised, "the repair adds the logarithm of a sum"};
  if (edit.op == "guarded") return {kEmptyMerge, "the repair leaves out what has seen nothing"};
  if (edit.op == "other_type" && (edit.replacement == "float" || edit.replacement == "float4"))
    return {kHalf, "the repair computes in float"};
  const bool is_start = edit.replacement.find("INFINITY") != std::string::npos || edit.replacement.find("FLT_MAX") != std::string::npos;
  return edit.op == "start" && is_start ? EditMeaning{kMaximum, "the repair changes where the maximum starts"} : EditMeaning{};
}

// Of an edit that is made at several places that look alike, the first place at which alone it makes as many failing cases pass: `healed`.
std::optional<Edit> single_place(const Laboratory& laboratory, const Source& source, const Edit& edit, const EditSearch& search,
                                 std::size_t healed) {
  if (edit.also.empty()) return std::nullopt;
  std::vector<std::size_t> offsets = {edit.offset};
  offsets.insert(offsets.end(), edit.also.begin(), edit.also.end());
  for (const std::size_t offset : offsets) {
    Edit one = edit;
    one.offset = offset;
    one.also.clear();
    Laboratory repaired = with_text(laboratory, edited(source.text(), one));
    repaired.set_patience(EditTrials::patience());
    const auto passes = [&](const Case& test_case) { return repaired.verdict(test_case).status == Status::passed; };
    if (passes(search.failing.front()) && std::ranges::all_of(search.passing, passes) &&
        static_cast<std::size_t>(std::ranges::count_if(search.failing, passes)) >= healed)
      return one;
  }
  return std::nullopt;
}

// " and the same in lines 61, 72"
std::string other_lines(const Source& source, const Edit& edit) {
  std::set<std::uint32_t> lines;
  for (const std::size_t offset : edit.also) lines.insert(source.place(offset).line);
  lines.erase(source.place(edit.offset).line);
  if (lines.empty()) return {};
  return fmt::format(" and the same in line{} {}", lines.size() == 1 ? "" : "s", fmt::join(lines, ", "));
}

Suspect suspect_of(const Source& source, const Edit& edit, const std::string& text, const Confirmation& confirmation, std::size_t tried) {
  const std::uint32_t line = source.place(edit.offset).line;
  const Source after(text, source.name());
  return {.file = source.name(),
          .line = line,
          .why = fmt::format("with this small edit{}, {} ({} edits tried)", other_lines(source, edit), to_text(confirmation), tried),
          .is_elsewhere = false,
          .context = {},
          .repaired = std::string(base::trimmed(after.line(line)))};
}

}  // namespace

// Long because what was found is confirmed in the order in which it was found.
Blame blame_small_edits(const Laboratory& laboratory, const EditSearch& asked) {
  // What one edit breaks, others are likely to break.
  std::vector<Case> passing(asked.passing.begin(), asked.passing.end());
  EditSearch search = asked;
  search.passing = passing;
  const auto start = std::chrono::steady_clock::now();
  // The rest is for the first of two mistakes, if the landmarks would show it.
  constexpr double for_one = 0.7;
  const std::chrono::duration<double> whole = search.budget;
  if (search.landmarks != nullptr) search.budget *= for_one;
  const auto left = [&]() -> std::chrono::duration<double> { return search.budget - (std::chrono::steady_clock::now() - start); };
  Laboratory before = laboratory.with_source(laboratory.variant().source);
  const Source source(kernels::read_text(laboratory.variant().source), laboratory.variant().source.string());
  EditTrials trials(laboratory, source, search);
  const std::vector<Edit> edits = trials.spread(edits_to_try(laboratory.variant(), source, search));
  Blame blame;
  Blame partial;  // of an edit that does not make all failing cases pass: there may be another mistake
  std::size_t most_healed = 0;
  auto found_at = std::chrono::steady_clock::time_point::max();
  // What was found is worth a little more than the budget.
  constexpr std::chrono::seconds overtime(15);
  // Edits of several lines may do the same; then any of them may be the one. Those of the same batch cost little.
  constexpr std::chrono::seconds further(8);
  const auto confirms = [&] { return blame.suspects.empty() ? left() > -overtime : std::chrono::steady_clock::now() - found_at < further; };
  std::size_t count = 0;
  for (std::size_t first = 0; first < edits.size() && left().count() > 0 && blame.suspects.empty(); first += count) {
    if (search.edits_tried != nullptr) search.edits_tried(first, edits.size());
    count = std::min(trials.at_once(), edits.size() - first);
    const std::span<const Edit> some = std::span(edits).subspan(first, count);
    for (const std::size_t i : trials.promising(some)) {
      if (!confirms()) break;
      const std::uint32_t line = source.place(some[i].offset).line;
      // Of several edits of a line, the most likely one will do, and of several lines, few.
      constexpr std::size_t most_lines = 3;
      if (blame.suspects.size() >= most_lines || std::ranges::any_of(blame.suspects, [&](const Suspect& one) { return one.line == line; }))
        continue;
      Edit edit = simplified(source, some[i]);
      std::string text = edited(source.text(), edit);
      Laboratory repaired = with_text(laboratory, text);
      repaired.set_patience(EditTrials::patience());
      const auto passes = [&](const Case& test_case) { return repaired.verdict(test_case).status == Status::passed; };
      if (!passes(search.failing.front()) || !std::ranges::all_of(search.passing, passes)) continue;
      const auto healed = static_cast<std::size_t>(std::ranges::count_if(search.failing, passes));
      if (healed < search.failing.size() && (healed <= most_healed || !blame.suspects.empty())) continue;
      if (std::optional<Edit> one = single_place(laboratory, source, edit, search, healed)) {
        edit = std::move(*one);
        text = edited(source.text(), edit);
        repaired = with_text(laboratory, text);
        repaired.set_patience(EditTrials::patience());
      }
      constexpr std::chrono::duration<double> least = std::chrono::seconds(30);
      const Confirmation confirmation = confirm(before, repaired, search.given, std::max(least, left()));
      if (confirmation.breaks) {
        constexpr std::size_t most_passing = 20;
        if (passing.size() < most_passing) passing.insert(passing.end(), confirmation.broken.begin(), confirmation.broken.end());
        search.passing = passing;
        continue;
      }
      Suspect suspect = suspect_of(source, edit, text, confirmation, first + i + 1);
      if (confirmation.is_full()) {
        if (blame.suspects.empty()) {
          blame.repaired = text;
          const EditMeaning meaning = meaning_of(source, some[i], search.kind);
          blame.kind = meaning.kind;
          blame.says = meaning.says;
          found_at = std::chrono::steady_clock::now();
        }
        blame.suspects.push_back(std::move(suspect));
      } else if (const bool is_much = 4 * confirmation.healed >= confirmation.given; is_much && healed > most_healed) {
        partial = {.suspects = {std::move(suspect)}, .repaired = text, .is_partial = true, .kind = {}};
        most_healed = healed;
      }
    }
  }
  if (!blame.suspects.empty()) return blame;
  if (!partial.suspects.empty() || search.landmarks == nullptr) return partial;
  std::optional<FirstOfTwo> first = blame_first_of_two(laboratory, source, trials.half_right(), search, whole - search.budget);
  return first ? std::move(first->blame) : Blame{};
}

}  // namespace assay::harness
