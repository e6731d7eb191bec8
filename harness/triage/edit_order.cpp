// Orders edits by what they change and by how suspect their lines are.
#include "harness/triage/edit_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/mutate/mutant.h"
#include "harness/triage/absent_edits.h"
#include "harness/triage/edit_places.h"
#include "harness/triage/exchanged_edits.h"
#include "harness/triage/ordered.h"
#include "harness/triage/plausible_edits.h"
#include "harness/triage/unused_edits.h"
#include "harness/triage/unused_names.h"
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
constexpr std::array<std::string_view, 8> kFarFetched = {"more_factor", "more_term",      "more_stride",    "more_rescaling",
                                                         "minus",       "drop_statement", "rescaled_array", "capped"};

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
  if (op == "stage" || op == "other_function" || op == "unused" || op == "rounded_up" || op == "flagged" || op == "given" ||
      op == "divided")
    return 0;
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
  if (op == "flagged" || op == "given" || op == "divided") return true;
  if (op == "windowed") return is_among(kind, std::array{kMask, kWindow, kOldest, kUnknown});
  if (op == "guarded") return kind == kEmptyMerge;
  if (op == "one_off") return is_among(kind, std::array{kWindow, kNewest, kOldest});
  if (op == "turned_exponent") return is_among(kind, std::array{kRescale, kScale, kUnnormalised, kChunk, kUnknown});
  if (op == "capped") return kind == kSoftcap;
  if (op == "other_turn") return is_among(kind, std::array{kRing, kHead, kStride, kSinks});
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
std::vector<Edit> order_by_suspicion(const Source& source, std::vector<Edit> edits, const EditSearch& search,
                                     const std::vector<std::string>& subject, const LineSuspicion& suspicion) {
  const std::string_view kind = search.kind;
  const Words likely = likely_operators(kind);
  for (Edit& edit : plausible_edits(source, suspicion)) edits.push_back(std::move(edit));
  for (Edit& edit : absent_edits(source, suspicion)) edits.push_back(std::move(edit));
  for (Edit& edit : unused_edits(source, suspicion, subject)) edits.push_back(std::move(edit));
  for (Edit& edit : wrapping_edits(source, suspicion)) edits.push_back(std::move(edit));
  for (Edit& edit : exchanged_edits(source, suspicion)) edits.push_back(std::move(edit));
  const auto cost_of = [&](const Edit& edit) {
    constexpr double least = 0.01;
    const double suspect = std::max(least, suspicion.of(source.place(edit.offset).line));
    const double operation = unlikeliness(edit.op, suspicion.fault, likely);
    const double cost = operation - (suspicion.fault == LineSuspicion::Fault::limit ? 2 : 4) * math::log2(suspect);
    // Among such edits, those of suspect lines come first.
    constexpr double soon = 1.5, first = 0, by_line = 0.03;
    const auto is_added = [&](const std::string& name) { return edit.replacement.find(name) != std::string::npos; };
    const bool adds_subject = edit.op.starts_with("unused") && std::ranges::any_of(subject, is_added);
    if (adds_subject || is_made_for(edit.op, kind)) return std::min(cost, (kind == mistake::kUnknown ? soon : first) + by_line * cost);
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

}  // namespace

std::vector<Edit> edits_to_try(const kernels::Variant& variant, const Source& source, const EditSearch& search) {
  std::vector<Edit> edits = opposite_edits(source);
  for (Mutant& mutant : make_mutants(source)) edits.push_back({mutant.op, mutant.offset, mutant.length, std::move(mutant.replacement)});
  std::erase_if(edits, [](const Edit& edit) { return is_among(edit.op, kNever); });
  leave_out_instantiations(source, edits);
  const Words likely = likely_operators(search.kind);
  const std::vector<std::string> subject = names_of_class(variant, source, search.kind);
  // Sorted by operator: of two edits with the same meaning, the more likely one is found.
  const auto length = static_cast<double>(source.text().size());
  order_by(edits, [&](const Edit& edit) {
    const auto rank = std::ranges::find(likely, edit.op) - likely.begin();
    return static_cast<double>(edit.offset) + static_cast<double>(rank) * length;
  });
  if (search.suspicion == nullptr) {
    LineSuspicion all;
    for (std::uint32_t line = 1; line <= source.line_count(); ++line) all.by_line[line] = 1;
    const std::vector<Edit> ordered = order_by_suspicion(source, edits, search, subject, all);
    constexpr std::size_t alike = 2;
    return in_turn(source, ordered, edits, alike);
  }
  // A known mistake that explains the output says as much as landmarks, about which some hidden key may enter.
  const std::size_t some = search.is_kind_sure ? 1 : 3;
  return in_turn(source, order_by_suspicion(source, edits, search, subject, *search.suspicion), edits, some);
}

}  // namespace assay::harness
