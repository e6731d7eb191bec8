// Repairs a kernel by small edits: most mistakes are small, so one of the edits of mutation, or its opposite, may undo them.
//
// Edits are tried in the order of their likelihood and compiled several at a time, until one makes every failing case pass
// and breaks none.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "harness/mutate/mutant.h"
#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/triage/absent_edits.h"
#include "harness/triage/confirm.h"
#include "harness/triage/edit_places.h"
#include "harness/triage/edit_trials.h"
#include "harness/triage/exchanged_edits.h"
#include "harness/triage/first_of_two.h"
#include "harness/triage/ordered.h"
#include "harness/triage/plausible_edits.h"
#include "harness/triage/suspects.h"
#include "harness/triage/wrapping_edits.h"
#include "math/functions.h"

namespace assay::harness {
namespace {

using Words = std::span<const std::string_view>;

// Operators of harness/mutate and the opposites below, by what they change.
constexpr std::array<std::string_view, 9> kLimits = {"relation", "plus_one",  "minus_one", "drop_constant", "one_off",
                                                     "logic",    "condition", "min_max",   "step"};
constexpr std::array<std::string_view, 11> kPlaces = {"swap_arguments", "swap_indices",  "other_index", "remainder",
                                                      "arithmetic",     "bits",          "twice",       "plus_one",
                                                      "minus_one",      "drop_constant", "drop_operand"};
constexpr std::array<std::string_view, 5> kAmounts = {"drop_operand", "arithmetic", "twice", "sign", "swap_arguments"};
// Edits that repair nothing: no real mistake makes a constant wrong by a thousandth.
constexpr std::array<std::string_view, 2> kNever = {"float_constant", "drop_barrier"};
// Of the plausible edits, those that are many.
constexpr std::array<std::string_view, 7> kFarFetched = {"more_factor", "more_term",      "more_stride",   "more_rescaling",
                                                         "minus",       "drop_statement", "rescaled_array"};

bool is_among(std::string_view word, Words words) { return std::ranges::find(words, word) != words.end(); }

Words likely_operators(std::string_view kind) {
  using namespace mistake;
  if (is_among(kind, std::array{kWindow, kRing, kNewest, kOldest, kChunk, kWorkgroup, kSimdgroup, kMask, kMaximum, kNotWritten, kRounding}))
    return kLimits;
  if (is_among(kind, std::array{kNorm, kHead, kNibbles, kCodebook, kSigns})) return kPlaces;
  if (is_among(kind, std::array{kScale, kUnnormalised, kRescale})) return kAmounts;
  return kLimits;  // these go wrong most often
}

// Whether the brackets from token `open` on are the head of a loop that doubles or halves its variable: of one over distances of lanes.
bool heads_stages(const std::vector<SourceToken>& tokens, std::size_t open) {
  constexpr std::array<std::string_view, 4> steps = {"*=", "/=", "<<=", ">>="};
  if (open == 0 || !tokens[open].is("(") || !tokens[open - 1].is("for")) return false;
  return std::any_of(tokens.begin() + static_cast<std::ptrdiff_t>(open), tokens.begin() + static_cast<std::ptrdiff_t>(tokens[open].match),
                     [&](const SourceToken& token) { return is_among(token.text, steps); });
}

// Edits that are not mutants, but undo some.
std::vector<Edit> opposite_edits(const Source& source) {
  std::vector<Edit> edits;
  for (const SourcePiece& piece : source.pieces()) {
    std::size_t behind = 0;  // an attribute, whose numbers are of no value of the kernel's
    std::size_t stages = 0;  // the end of the head of a loop
    for (std::size_t i = 0; i < piece.tokens.size(); ++i) {
      const SourceToken& token = piece.tokens[i];
      if (token.is("[") && i + 1 < piece.tokens.size() && piece.tokens[i + 1].is("[")) behind = token.match;
      if (i < behind) continue;
      if (heads_stages(piece.tokens, i)) stages = token.match;
      const auto replace = [&](std::string_view op, std::string text) {
        edits.push_back({op, token.offset, token.text.size(), std::move(text)});
      };
      if (token.is("/")) replace("remainder", "%");
      if (plus_one(token.text).empty()) continue;
      replace("minus_one", fmt::format("({} - 1)", token.text));
      const std::string_view twice = i < stages ? "stage" : "twice";
      replace(twice, fmt::format("({} * 2)", token.text));
      replace(twice, fmt::format("({} / 2)", token.text));
    }
  }
  return edits;
}

// How unlikely the operator is to repair what landmarks say is wrong; 0: likely.
double unlikeliness(std::string_view op, LineSuspicion::Fault fault, Words likely) {
  using Fault = LineSuspicion::Fault;
  constexpr double second = 1, unlikely = 1.5, far_fetched = 3;
  if (is_among(op, likely) && fault != Fault::limit) return 0;
  const bool is_name = op == "other_name" || op == "near_number" || op == "renamed";
  constexpr double last = 4, early = 0.25;
  if (op == "other_base") return early;
  if (op == "more_statement") return last;
  if (op == "stage" || op == "other_function" || op == "unused" || op == "rounded_up" || op == "flagged" || op == "given") return 0;
  if (op == "more_weight" || op == "more_logarithm" || op == "other_type" || op == "other_quotient" || op == "other_order" ||
      op == "summed" || op == "old_value" || op == "other_near" || op.starts_with("moved_") || op == "swapped_statements" ||
      op.starts_with("turned") || op == "wrapped" || op == "unwrapped")
    return second;
  if (fault == Fault::limit) {
    // The first of them go wrong most often.
    constexpr double next = 0.15;
    if (is_among(op, kLimits)) return next * static_cast<double>(std::ranges::find(kLimits, op) - kLimits.begin());
    if (op == "more_bound" || op == "more_size") return second;
    return is_name || op == "more_term" || op == "size" ? unlikely : far_fetched;
  }
  if (fault == Fault::place) return is_among(op, kPlaces) || is_name ? 0 : op == "more_term" || op == "more_stride" ? second : far_fetched;
  if (op == "more_bound" || op == "more_size") return unlikely + second;
  if (fault == Fault::amount && (is_among(op, kAmounts) || op == "start")) return 0;
  if (fault == Fault::amount && (op == "more_factor" || op == "minus" || op == "more_rescaling")) return second;
  return is_among(op, kFarFetched) ? far_fetched : unlikely;
}

// Operators that undo mistakes of a class and make few edits, so that they are tried early on all lines.
bool is_made_for(std::string_view op, std::string_view kind) {
  using namespace mistake;
  if (op == "more_logarithm") return kind == kUnnormalised || kind == kUnknown || kind == kRescale || kind == kScale;
  if (op == "more_bound") return is_among(kind, std::array{kMask, kNewest, kWindow, kSinks, kUnknown});
  if (op == "other_quotient") return is_among(kind, std::array{kHead, kRing, kStride, kLayout, kNotWritten, kUninitialised});
  // What arguments are for that no line uses.
  if (op == "flagged" || op == "given") return true;
  if (op == "guarded") return kind == kEmptyMerge;
  if (op == "one_off") return is_among(kind, std::array{kWindow, kNewest, kOldest});
  if (op == "turned_exponent") return is_among(kind, std::array{kRescale, kScale, kUnnormalised, kChunk, kUnknown});
  if (op == "turned_ring") return is_among(kind, std::array{kRing, kWindow, kOldest, kNewest, kUnknown});
  if (op == "other_type") return kind == kHalf;
  if (op == "old_value") return is_among(kind, std::array{kRescale, kUnnormalised, kUnknown, kMaximum});
  if (op == "more_weight") return is_among(kind, std::array{kRescale, kUnnormalised, kWorkgroup, kSimdgroup, kUnknown});
  if (op == "rescaled_array") return kind == kRescale;
  // The first or the last stage of a sum over lanes, or of a merge, is missing.
  if (op == "stage") return is_among(kind, std::array{kSimdgroup, kChunk, kCoordinates, kTransform, kUnnormalised, kUnknown});
  if (op == "rounded_up")
    return is_among(kind, std::array{kNewest, kChunk, kNotWritten, kUninitialised, kWorkgroup, kCoordinates, kUnknown});
  if (op == "other_order") return is_among(kind, std::array{kHead, kStride, kLayout});
  if (op == "wrapped") return is_among(kind, std::array{kRing, kSoftcap, kStride});
  if (op == "swapped_statements" || op.starts_with("moved_")) return is_among(kind, std::array{kMask, kScale, kSoftcap, kSinks, kRescale});
  return op == "size" && is_among(kind, std::array{kWindow, kChunk, kMask, kNewest, kOldest});
}

// Edits of suspect lines first; on a line, the likely ones first.
std::vector<Edit> order_by_suspicion(const Source& source, std::vector<Edit> edits, std::string_view kind, const LineSuspicion& suspicion) {
  const Words likely = likely_operators(kind);
  for (Edit& edit : plausible_edits(source, suspicion)) edits.push_back(std::move(edit));
  for (Edit& edit : absent_edits(source, suspicion)) edits.push_back(std::move(edit));
  for (Edit& edit : wrapping_edits(source, suspicion)) edits.push_back(std::move(edit));
  for (Edit& edit : exchanged_edits(source, suspicion)) edits.push_back(std::move(edit));
  const auto cost_of = [&](const Edit& edit) {
    constexpr double least = 0.01;
    const double suspect = std::max(least, suspicion.of(source.place(edit.offset).line));
    const double operation = unlikeliness(edit.op, suspicion.fault, likely);
    const double cost = operation - (suspicion.fault == LineSuspicion::Fault::limit ? 2 : 4) * math::log2(suspect);
    constexpr double soon = 1.5, first = 0;
    if (is_made_for(edit.op, kind)) return std::min(cost, kind == mistake::kUnknown ? soon : first);
    // Initial values are few, and what they are wrong for shows far behind them.
    constexpr double early = 4;
    return edit.op == "start" ? std::min(cost, early) : cost;
  };
  struct Ordered {
    double cost;
    Edit edit;
  };
  std::vector<Ordered> ordered;
  for (Edit& edit : edits) ordered.push_back({cost_of(edit), std::move(edit)});
  order_by(ordered, [](const Ordered& one) { return one.cost; });
  // An operator that makes thousands of edits does not keep others waiting that make few.
  std::map<std::string_view, double> made;
  for (Ordered& one : ordered) {
    constexpr double few = 32;
    one.cost += math::log2(1 + made[one.edit.op]++ / few) / 2;
  }
  order_by(ordered, [](const Ordered& one) { return one.cost; });
  edits.clear();
  for (Ordered& one : ordered) edits.push_back(std::move(one.edit));
  return edits;
}

// Some of the first, then one of the second, each edit once; behind an edit the same at all places that look alike.
std::vector<Edit> in_turn(const Source& source, const std::vector<Edit>& first, const std::vector<Edit>& second, std::size_t some) {
  std::vector<Edit> joined;
  std::set<std::tuple<std::vector<std::size_t>, std::size_t, std::string>> known;
  const auto take_one = [&](const Edit& edit) {
    if (known.emplace(edit.offsets(), edit.length, edit.replacement).second) joined.push_back(edit);
  };
  const auto take = [&](const Edit& edit) {
    take_one(edit);
    if (const std::optional<Edit> everywhere = repeated(source, edit)) take_one(*everywhere);
  };
  std::size_t next = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    take(first[i]);
    if (i % some == 0 && next < second.size()) take(second[next++]);
  }
  for (; next < second.size(); ++next) take(second[next]);
  return joined;
}

// The most likely first.
std::vector<Edit> edits_to_try(const Source& source, const EditSearch& search) {
  std::vector<Edit> edits = opposite_edits(source);
  for (Mutant& mutant : make_mutants(source)) edits.push_back({mutant.op, mutant.offset, mutant.length, std::move(mutant.replacement)});
  std::erase_if(edits, [](const Edit& edit) { return is_among(edit.op, kNever); });
  leave_out_instantiations(source, edits);
  const Words likely = likely_operators(search.kind);
  // Sorted by operator: of two edits with the same meaning, the more likely one is found.
  const auto length = static_cast<double>(source.text().size());
  order_by(edits, [&](const Edit& edit) {
    const auto rank = std::ranges::find(likely, edit.op) - likely.begin();
    return static_cast<double>(edit.offset) + static_cast<double>(rank) * length;
  });
  if (search.suspicion == nullptr) {
    LineSuspicion all;
    for (std::uint32_t line = 1; line <= source.line_count(); ++line) all.by_line[line] = 1;
    const std::vector<Edit> ordered = order_by_suspicion(source, edits, search.kind, all);
    constexpr std::size_t alike = 2;
    return in_turn(source, ordered, edits, alike);
  }
  // A known mistake that explains the output says as much as landmarks, about which some hidden key may enter.
  const std::size_t some = search.is_kind_sure ? 1 : 3;
  return in_turn(source, order_by_suspicion(source, edits, search.kind, *search.suspicion), edits, some);
}

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
  if (edit.op == "one_off" && is_among(likely, std::array{kWindow, kNewest, kOldest})) return {likely, "the repair moves a limit by one"};
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
  const std::vector<Edit> edits = trials.spread(edits_to_try(source, search));
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
