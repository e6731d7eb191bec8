// Looks for jumps, types, buffers and usual names in what a repair changes.
#include "harness/triage/repaired_thing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "families/mistake_words.h"
#include "families/mistakes.h"
#include "families/registry.h"
#include "harness/compare/source_words.h"
#include "harness/mutate/source.h"
#include "harness/triage/expression_terms.h"
#include "harness/triage/given_names.h"
#include "harness/triage/hunks.h"
#include "harness/triage/slices.h"
#include "harness/triage/unused_names.h"

namespace assay::harness {
namespace {

namespace mistake = families::mistake;

constexpr auto kCodeTypes = std::to_array<std::string_view>({"char", "uchar", "int8_t", "uint8_t"});
constexpr auto kNarrowTypes = std::to_array<std::string_view>({"half", "half2", "half4", "bfloat", "bfloat2", "bfloat4"});

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool fits(std::string_view name, std::string_view part) {
  const std::string text = lower(name);
  return part.starts_with('^') ? text.starts_with(part.substr(1)) : text.find(part) != std::string::npos;
}

// The first of the table that one of the names has.
std::optional<std::pair<std::string_view, std::string>> find_word(const std::vector<std::string>& names,
                                                                  std::span<const families::MistakeWord> table) {
  for (const auto& [part, kind] : table) {
    for (const std::string& name : names) {
      if (fits(name, part)) return std::pair(kind, name);
    }
  }
  return std::nullopt;
}

// The launch gives values to `cap` where a kernel says `params.cap`: such a word comes with its parts.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  for (const SourceWord& word : source_words(text)) {
    words.emplace_back(word.text);
    if (word.is_sign || std::isdigit(static_cast<unsigned char>(word.text.front())) != 0) continue;
    if (word.text.find('.') == std::string_view::npos) continue;
    for (std::size_t begin = 0; begin < word.text.size();) {
      const std::size_t end = std::min(word.text.find('.', begin), word.text.size());
      if (end > begin) words.emplace_back(word.text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return words;
}

// What both sources have where they differ, and all of the lines around it.
struct Change {
  std::vector<std::string> removed, added, around;
  std::vector<std::uint32_t> lines;  // of the source that has more there
  bool is_factor = false;            // a product has other factors, and nothing else differs

  [[nodiscard]] std::vector<std::string> words() const {
    std::vector<std::string> both = added;
    both.insert(both.end(), removed.begin(), removed.end());
    return both;
  }
};

// Whether the bytes are a factor of a product.
bool is_factor(std::string_view source, const Hunk& hunk) {
  constexpr std::string_view blanks = " \t\n";
  if (hunk.begin == hunk.end || hunk.other.empty()) return false;
  const std::size_t before = hunk.begin == 0 ? std::string_view::npos : source.find_last_not_of(blanks, hunk.begin - 1);
  const std::size_t behind = source.find_first_not_of(blanks, hunk.end);
  return (before != std::string_view::npos && source[before] == '*') || (behind != std::string_view::npos && source[behind] == '*');
}

Change change_between(std::string_view source, const std::vector<Hunk>& hunks) {
  Change change;
  change.is_factor = !hunks.empty() && std::ranges::all_of(hunks, [&](const Hunk& hunk) { return is_factor(source, hunk); });
  for (const Hunk& hunk : hunks) {
    for (std::string& word : words_in(source.substr(hunk.begin, hunk.end - hunk.begin))) change.removed.push_back(std::move(word));
    for (std::string& word : words_in(hunk.other)) change.added.push_back(std::move(word));
    const std::size_t before = hunk.begin == 0 ? 0 : source.rfind('\n', hunk.begin - 1) + 1;
    for (std::string& word : words_in(source.substr(before, source.find('\n', hunk.end) - before)))
      change.around.push_back(std::move(word));
    for (std::uint32_t line = hunk.line; line <= hunk.last_line; ++line) change.lines.push_back(line);
  }
  return change;
}

bool has_one_of(const std::vector<std::string>& words, std::span<const std::string_view> some) {
  return std::ranges::any_of(words, [&](const std::string& word) { return std::ranges::find(some, word) != some.end(); });
}

std::optional<RepairedThing> thing_of_types(const Change& change) {
  const auto is_typed = [&](std::span<const std::string_view> types) {
    return has_one_of(change.added, types) || has_one_of(change.removed, types);
  };
  if (has_one_of(change.removed, kCodeTypes) && has_one_of(change.added, kCodeTypes))
    return RepairedThing{mistake::kCodebook, "the repair changes whether codes have a sign, so they stand for other values"};
  if (has_one_of(change.removed, kNarrowTypes) && is_typed(std::to_array<std::string_view>({"float", "float2", "float4"})))
    return RepairedThing{mistake::kHalf, "the repair computes in float"};
  return std::nullopt;
}

// The tensor that an argument gets, where it has another name.
std::string tensor_of(const kernels::Variant& variant, std::string_view argument) {
  if (variant.launch) {
    for (const kernels::DispatchDescription& dispatch : variant.launch->dispatches) {
      const auto found = dispatch.arguments.find(argument);
      if (found == dispatch.arguments.end() || found->second.elements.size() != 1) continue;
      if (const std::optional<std::string_view> name = found->second.elements.front().sole_name()) return std::string(*name);
    }
  }
  const auto bound = std::ranges::find(variant.bind, argument, [](const auto& pair) { return std::string_view(pair.second); });
  return std::string(bound == variant.bind.end() ? argument : std::string_view(bound->first));
}

// Whether the name is an array of each thread's own: `float acc[4];`.
bool is_local_array(const Source& source, std::string_view name) {
  for (const SourcePiece& piece : source.pieces()) {
    const std::vector<SourceToken>& tokens = piece.tokens;
    for (std::size_t i = 1; i + 2 < tokens.size(); ++i) {
      const bool has_type = tokens[i - 1].is_identifier() || tokens[i - 1].is_angle;
      if (tokens[i].is(name) && has_type && !tokens[i - 1].is("return") && tokens[i + 1].is("[") && !tokens[i + 2].is("[")) return true;
    }
  }
  return false;
}

std::optional<RepairedThing> thing_of_arrays(const kernels::Variant& variant, const Source& source, const Slices& slices,
                                             const std::set<std::string_view>& arrays) {
  std::vector<std::string> tensors;
  bool is_shared = false;
  for (const std::string_view name : arrays) {
    if (slices.is_threadgroup(name)) {
      is_shared = true;
    } else if (!is_local_array(source, name)) {
      tensors.push_back(tensor_of(variant, name));
    }
  }
  if (const auto found = find_word(tensors, families::buffer_words()))
    return RepairedThing{found->first, fmt::format("the repair changes how or where '{}' is accessed", found->second)};
  if (is_shared) return RepairedThing{mistake::kSimdgroup, "the repair changes what simdgroups of a workgroup hand over to one another"};
  return std::nullopt;
}

// An argument that no line uses, and that the repair uses: what it is for is ignored.
std::optional<RepairedThing> thing_of_unused(const std::vector<GivenName>& names, const Source& source, const Change& change) {
  constexpr auto kinds = std::to_array<std::string_view>({mistake::kSoftcap, mistake::kSinks, mistake::kScale, mistake::kHead,
                                                          mistake::kMask, mistake::kWindow, mistake::kRing, mistake::kNewest});
  for (const std::string_view unused : unused_names(source)) {
    const std::string name(unused);
    if (std::ranges::find(change.added, name) == change.added.end()) continue;
    const std::vector<std::string> given = given_to(names, name);
    for (const std::string_view kind : kinds) {
      const families::MistakeSubject* subject = families::subject_of(kind);
      const auto is_about = [&](const families::SubjectName& one) { return std::ranges::find(given, one.name) != given.end(); };
      if (subject != nullptr && std::ranges::any_of(subject->names, is_about))
        return RepairedThing{kind, fmt::format("the kernel ignores '{}', which the repair uses", name)};
    }
  }
  return std::nullopt;
}

// Whether a factor only stands elsewhere: `sum(x) * f` for `sum(x * f)`, on a line with a sum over lanes.
bool moves_factor(const Change& change) {
  constexpr auto sums = std::to_array<std::string_view>({"simd_sum", "quad_sum"});
  constexpr auto marks = std::to_array<std::string_view>({"*", "(", ")"});
  const bool is_moved = !change.added.empty() && std::ranges::is_permutation(change.added, change.removed);
  return is_moved && has_one_of(change.added, marks) && has_one_of(change.around, sums) &&
         std::ranges::find(change.around, "*") != change.around.end();
}

// What the launch gives to a name of these, whatever the kernel calls it.
std::optional<RepairedThing> thing_of_given(const std::vector<GivenName>& names, const std::vector<std::string>& words) {
  constexpr auto kinds = std::to_array<std::string_view>(
      {mistake::kSoftcap, mistake::kSinks, mistake::kScale, mistake::kRing, mistake::kWindow, mistake::kHead, mistake::kMask});
  for (const std::string_view kind : kinds) {
    const families::MistakeSubject* subject = families::subject_of(kind);
    for (const std::string& name : words) {
      const std::vector<std::string> given = given_to(names, name);
      const auto is_given = [&](const families::SubjectName& one) { return std::ranges::find(given, one.name) != given.end(); };
      // The first name of a subject is the thing itself. A number of heads is in most indices; what divides one by another is a mapping.
      const bool is_about = kind == mistake::kHead ? std::ranges::all_of(subject->names, is_given) : is_given(subject->names.front());
      if (is_about) return RepairedThing{kind, fmt::format("the repair is about '{}'", name)};
    }
  }
  return std::nullopt;
}

// Whether the repair only changes names of heads and of their numbers.
bool is_about_heads(const std::vector<std::string>& words) {
  std::size_t heads = 0;
  for (const std::string& word : words) {
    if (word.empty() || (std::isalpha(static_cast<unsigned char>(word.front())) == 0 && word.front() != '_')) continue;
    // A part of another word is the struct that this one is a member of.
    const bool is_part = std::ranges::any_of(words, [&](const std::string& whole) { return whole.starts_with(word + "."); });
    if (is_part) continue;
    const std::string name = lower(word);
    if (name.find("head") == std::string::npos || name.find("dim") != std::string::npos || name.find("size") != std::string::npos)
      return false;
    ++heads;
  }
  return heads > 0;
}

// Whether bytes of the source choose among the codes of a block: they are in an index of a small integer that is a member of a struct.
bool chooses_code(const Source& source, const Hunk& hunk) {
  for (const SourcePiece& piece : source.pieces()) {
    const std::vector<SourceToken>& tokens = piece.tokens;
    const StructMembers members = members_of(piece);
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (!tokens[i].is("[") || tokens[i].match <= i || !tokens[i - 1].is_identifier()) continue;
      const bool is_inside = tokens[i].offset < hunk.begin && hunk.end <= tokens[tokens[i].match].offset;
      if (is_inside && std::ranges::find(kCodeTypes, members.type_of(tokens[i - 1].text)) != kCodeTypes.end()) return true;
    }
  }
  return false;
}

// Whether a line is the head of a loop over butterflies between lanes: its step doubles or halves, and its body shuffles and subtracts.
bool heads_butterflies(const kernels::Variant& variant, const Source& source, const Slices& slices, std::uint32_t line) {
  constexpr auto steps = std::to_array<std::string_view>({"*=", "/=", "<<=", ">>="});
  constexpr std::uint32_t body = 8;
  const std::vector<std::string> head = words_in(source.line(line));
  const auto doubles_itself = [&](std::size_t i) { return i > 0 && i + 1 < head.size() && head[i] == "+=" && head[i - 1] == head[i + 1]; };
  bool doubles = has_one_of(head, steps);
  for (std::size_t i = 0; i < head.size(); ++i) doubles = doubles || doubles_itself(i);
  if (!slices.is_loop(line) || !doubles) return false;
  // A family that transforms and knows no keys has no other loops of this kind.
  const std::vector<families::Mistake> known = families::family_of(variant).triage.mistakes();
  const auto knows = [&](std::string_view kind) { return std::ranges::find(known, kind, &families::Mistake::kind) != known.end(); };
  if (knows(mistake::kTransform) && !knows(mistake::kChunk)) return true;
  bool shuffles = false, subtracts = false;
  for (std::uint32_t next = line + 1; next <= std::min(line + body, source.line_count()); ++next) {
    const std::vector<std::string> words = words_in(source.line(next));
    shuffles = shuffles || std::ranges::find(words, "simd_shuffle_xor") != words.end();
    subtracts = subtracts || std::ranges::find(words, "-") != words.end();
  }
  return shuffles && subtracts;
}

// Whether a line is the head of a loop over distances of lanes, whose body adds what other lanes hold.
bool heads_sum_of_lanes(const Source& source, const Slices& slices, std::uint32_t line) {
  constexpr auto steps = std::to_array<std::string_view>({"*=", "/=", "<<=", ">>="});
  constexpr auto shuffles =
      std::to_array<std::string_view>({"simd_shuffle_xor", "simd_shuffle_down", "quad_shuffle_xor", "quad_shuffle_down"});
  constexpr std::uint32_t body = 3;
  if (!slices.is_loop(line) || !has_one_of(words_in(source.line(line)), steps)) return false;
  for (std::uint32_t next = line; next <= std::min(line + body, source.line_count()); ++next) {
    const std::vector<std::string> words = words_in(source.line(next));
    const bool adds = std::ranges::find(words, "+=") != words.end() || std::ranges::find(words, "+") != words.end();
    if (adds && has_one_of(words, shuffles)) return true;
  }
  return false;
}

// Whether the repair gives an addend a factor, or takes one: `sum += weight * other[i]` for `sum += other[i]`.
bool weighs_addend(const Change& change) {
  const auto has = [](const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
  };
  return has(change.added, "*") != has(change.removed, "*") && (has(change.around, "+=") || has(change.around, "+"));
}

// Loops end where keys, parts or masks do; the names beside what the repair changes may tell.
RepairedThing thing_of_limits(const std::vector<GivenName>& names, const Change& change) {
  if (std::optional<RepairedThing> thing = thing_of_given(names, change.around)) {
    thing->is_vague = thing->is_limit = true;
    return *thing;
  }
  const families::MistakeSubject* mask = families::subject_of(mistake::kMask);
  for (const std::string& name : change.around) {
    for (const std::string& given : given_to(names, name)) {
      if (mask != nullptr && std::ranges::find(mask->names, given, &families::SubjectName::name) != mask->names.end())
        return {mistake::kMask, fmt::format("the repair changes the limits of a loop, which depend on '{}'", name), true, true};
    }
  }
  return {mistake::kChunk, "the repair changes the limits of a loop", true, true};
}

std::optional<RepairedThing> thing_of_places(const kernels::Variant& variant, const Source& source, const Change& change) {
  const Slices slices(source, {});
  std::set<std::string_view> here, behind;
  bool limits_loop = false;
  for (const std::uint32_t line : change.lines) {
    here.merge(slices.arrays_of(line));
    Slices::Decided decided = slices.decided_by(line);
    behind.merge(decided.arrays);
    limits_loop = limits_loop || decided.limits_loop;
  }
  if (std::optional<RepairedThing> thing = thing_of_arrays(variant, source, slices, here)) {
    // The norm of a block is chosen by a sum; what an index is multiplied by is the distance of rows.
    if (thing->kind == mistake::kNorm && change.is_factor) thing->kind = mistake::kStride;
    if (thing->kind == mistake::kSimdgroup && weighs_addend(change))
      return RepairedThing{mistake::kRescale, "the repair changes the weight of what is merged"};
    return thing;
  }
  if (std::ranges::any_of(change.lines, [&](std::uint32_t line) { return heads_butterflies(variant, source, slices, line); }))
    return RepairedThing{mistake::kTransform, "the repair changes which butterflies a transform has"};
  if (std::ranges::any_of(change.lines, [&](std::uint32_t line) { return heads_sum_of_lanes(source, slices, line); }))
    return RepairedThing{mistake::kCoordinates, "the repair changes over which lanes a sum is taken"};
  if (limits_loop) return thing_of_limits(given_names(variant, source), change);
  std::optional<RepairedThing> thing = thing_of_arrays(variant, source, slices, behind);
  if (thing) thing->is_vague = true;
  return thing;
}

}  // namespace

std::optional<RepairedThing> repaired_thing(const kernels::Variant& variant, const std::string& source, const std::string& repaired) {
  const std::optional<std::vector<Hunk>> forth = hunks_between(source, repaired, true);
  const std::optional<std::vector<Hunk>> back = hunks_between(repaired, source, true);
  if (!forth || !back) return std::nullopt;
  const Change change = change_between(source, *forth);
  const Source before(source, variant.source.string());
  const std::vector<GivenName> names = given_names(variant, before);
  if (std::optional<RepairedThing> thing = thing_of_unused(names, before, change)) return thing;
  const auto chooses_codes = [](const Source& text, const std::vector<Hunk>& hunks) {
    return !hunks.empty() && std::ranges::all_of(hunks, [&](const Hunk& hunk) { return chooses_code(text, hunk); });
  };
  if (chooses_codes(before, *forth) || chooses_codes(Source(repaired, variant.source.string()), *back))
    return RepairedThing{mistake::kNibbles, "the repair changes which code of a block is read"};
  if (const auto found = find_word(change.words(), families::mistake_words())) {
    // Lanes add up all kinds of things.
    const bool is_vague = found->first == mistake::kCoordinates;
    return RepairedThing{found->first, fmt::format("the repair is about '{}'", found->second), is_vague};
  }
  if (std::optional<RepairedThing> thing = thing_of_given(names, change.words())) return thing;
  if (is_about_heads(change.words())) return RepairedThing{mistake::kHead, "the repair changes which head is used"};
  if (has_one_of(change.added, kJumps) || has_one_of(change.removed, kJumps))
    return RepairedThing{mistake::kChunk, "the repair changes where a loop or a function is left", true};
  if (std::optional<RepairedThing> thing = thing_of_types(change)) return thing;
  // A statement that the repair removes is not in the repaired source.
  const bool is_removed = change.added.empty() && !change.removed.empty();
  const auto thing_after = [&] {
    return thing_of_places(variant, Source(repaired, variant.source.string()), change_between(repaired, *back));
  };
  const std::optional<RepairedThing> thing = is_removed ? thing_of_places(variant, before, change) : thing_after();
  if (thing && (!thing->is_vague || thing->is_limit)) return thing;
  if (moves_factor(change)) return RepairedThing{mistake::kRescale, "the repair moves a factor into or out of a sum over lanes"};
  // Words beside the change say more than an array that depends on it.
  if (const auto found = find_word(change.around, families::mistake_words()))
    return RepairedThing{found->first, fmt::format("the repair is about '{}'", found->second), true};
  return thing;
}

}  // namespace assay::harness
