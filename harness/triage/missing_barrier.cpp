// Tries barriers between statements.
#include "harness/triage/missing_barrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/text.h"
#include "harness/mutate/source.h"
#include "harness/triage/confirm.h"
#include "harness/triage/ordered.h"
#include "kernels/variant.h"

namespace assay::harness {
namespace {

constexpr std::string_view kBarrierCall = "threadgroup_barrier(mem_flags::mem_threadgroup);";

// A place between statements of a function.
struct StatementGap {
  std::size_t offset = 0;
  std::uint32_t line = 0;
  std::size_t depth = 0;  // blocks around it
  bool is_in_kernel = false;
  std::uint32_t first = 0, last = 0;  // lines of the function around it
  bool has_barrier = false;           // whether that function has one
  bool helps = false;
};

// Whether the function whose body begins at token `open` is a kernel.
bool is_kernel(const std::vector<SourceToken>& tokens, std::size_t open) {
  for (std::size_t i = open; i-- > 0 && !tokens[i].is(";") && !tokens[i].is("}");) {
    if (tokens[i].is("kernel")) return true;
  }
  return false;
}

// Whether tokens from `open` to its match call a barrier.
bool has_barrier(const std::vector<SourceToken>& tokens, std::size_t open) {
  return std::any_of(tokens.begin() + static_cast<std::ptrdiff_t>(open), tokens.begin() + static_cast<std::ptrdiff_t>(tokens[open].match),
                     [](const SourceToken& token) { return token.is("threadgroup_barrier"); });
}

// Whether a `{` begins a block, and not a list of values.
bool begins_block(const std::vector<SourceToken>& tokens, std::size_t i) {
  if (i == 0) return false;
  const SourceToken& before = tokens[i - 1];
  return before.is(")") || before.is("const") || before.is("else") || before.is("do") || before.is(";") || before.is("{") || before.is("}");
}

std::vector<StatementGap> gaps_of(const Source& source) {
  std::vector<StatementGap> gaps;
  for (const SourcePiece& piece : source.pieces()) {
    if (piece.is_macro) continue;
    const std::vector<SourceToken>& tokens = piece.tokens;
    std::vector<std::size_t> ends;  // of the blocks around i
    std::size_t end_of_list = 0;
    StatementGap function;  // what all of its places have in common
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      const bool is_between = tokens[i - 1].is(";") || tokens[i - 1].is("{") || tokens[i - 1].is("}");
      if (is_between && i - 1 != end_of_list && !ends.empty() && !tokens[i].is("else") && !tokens[i].is("while")) {
        StatementGap gap = function;
        gap.offset = tokens[i].offset;
        gap.line = source.place(tokens[i].offset).line;
        gap.depth = ends.size();
        gaps.push_back(gap);
      }
      while (!ends.empty() && i >= ends.back()) ends.pop_back();
      if (tokens[i].is("(") && tokens[i].match > i) {
        i = tokens[i].match;
      } else if (tokens[i].is("{") && tokens[i].match > i) {
        // Only within functions: a block there is that of a function, or within one.
        if (begins_block(tokens, i) && (!ends.empty() || tokens[i - 1].is(")") || tokens[i - 1].is("const"))) {
          if (ends.empty()) {
            function.is_in_kernel = is_kernel(tokens, i);
            function.first = source.place(tokens[i].offset).line;
            function.last = source.place(tokens[tokens[i].match].offset).line;
            function.has_barrier = has_barrier(tokens, i);
          }
          ends.push_back(tokens[i].match);
        } else if (!ends.empty()) {
          i = end_of_list = tokens[i].match;
        }
      }
    }
  }
  return gaps;
}

std::string with_barriers(const std::string& text, std::span<const StatementGap> gaps) {
  std::string result;
  std::size_t done = 0;
  std::uint32_t number = 0;
  for (const StatementGap& gap : gaps) {
    result += text.substr(done, gap.offset - done);
    result += fmt::format("if (__assay_choice() == {}u) {} ", ++number, kBarrierCall);
    done = gap.offset;
  }
  return result + text.substr(done);
}

std::string with_barrier(const std::string& text, const StatementGap& gap) {
  return text.substr(0, gap.offset) + std::string(kBarrierCall) + " " + text.substr(gap.offset);
}

// Those that help, the more likely ones first: in a function that is no kernel, if it makes both accesses, or one and has a barrier,
// because such a function protects what it shares itself; else in kernels. Then in the fewest blocks. Of a stretch of such places it is the
// first one if the stretch begins behind a write of the race, which most kernels finish before they go on; else the last one, before which
// all that must be done first is done. Where both accesses are in a loop and the first one belongs to the round before, a barrier at the
// end of the loop does as well as one at its beginning; most kernels have it at the end.
std::vector<StatementGap> ordered(const std::vector<StatementGap>& gaps, const metal::Hazard& race) {
  const std::uint32_t one = race.first.line;
  const std::uint32_t other = race.second ? race.second->line : one;
  const std::uint32_t first = std::min(one, other);
  const std::uint32_t last = std::max(one, other);
  const auto holds = [](const StatementGap& gap, std::uint32_t line) { return gap.first <= line && line <= gap.last; };
  const auto is_around = [&](const StatementGap& gap) {
    const bool has_first = holds(gap, first), has_last = holds(gap, last);
    return !gap.is_in_kernel && ((has_first && has_last) || (gap.has_barrier && (has_first || has_last)));
  };
  const bool in_helper = std::ranges::any_of(gaps, [&](const StatementGap& gap) { return gap.helps && is_around(gap); });
  const bool in_kernel = !in_helper && std::ranges::any_of(gaps, [](const StatementGap& gap) { return gap.helps && gap.is_in_kernel; });
  const auto is_in_scope = [&](const StatementGap& gap) { return in_helper ? is_around(gap) : gap.is_in_kernel == in_kernel; };
  std::size_t depth = std::numeric_limits<std::size_t>::max();
  for (const StatementGap& gap : gaps) depth = gap.helps && is_in_scope(gap) ? std::min(depth, gap.depth) : depth;
  std::vector<StatementGap> level;
  std::ranges::copy_if(gaps, std::back_inserter(level), [&](const StatementGap& gap) { return is_in_scope(gap) && gap.depth == depth; });
  const auto is_behind_write = [&](std::size_t i) {
    const std::uint32_t before = i == 0 || level[i - 1].first != level[i].first ? level[i].first : level[i - 1].line;
    const auto is_between = [&](bool writes, std::uint32_t line) { return writes && before <= line && line < level[i].line; };
    return is_between(race.first_writes, one) || is_between(race.second_writes, other);
  };
  std::vector<StatementGap> chosen;
  for (std::size_t i = 0; i < level.size();) {
    const std::size_t begin = i;
    while (i < level.size() && level[i].helps) ++i;
    if (i > begin) chosen.push_back(level[is_behind_write(begin) ? begin : i - 1]);
    if (i == begin) ++i;
  }
  order_by(chosen, [&](const StatementGap& gap) -> double {
    if (gap.line > first && gap.line <= last) return 0;
    constexpr double behind = 0.1, before = 3;
    return gap.line > last ? behind * (gap.line - last) : before * (1.0 + first - gap.line);
  });
  return chosen;
}

// Marks the places where a barrier makes all of `racing` pass. If there are none, another mistake may remain: then those where it leaves no
// race.
void mark_helping(const Laboratory& laboratory, const std::string& text, std::vector<StatementGap>& gaps, std::span<const Case> racing) {
  Laboratory all = with_text(laboratory, with_barriers(text, gaps));
  std::vector<std::uint32_t> numbers(gaps.size());
  std::iota(numbers.begin(), numbers.end(), 1U);
  std::vector<bool> passes(gaps.size(), true), orders(gaps.size(), true);
  for (const Case& test_case : racing) {
    const std::vector<Laboratory::Trial> trials = all.try_choices(test_case, numbers, metal::Policy::checked);
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      passes[i] = passes[i] && trials[i].passes;
      orders[i] = orders[i] && trials[i].has_ended && std::ranges::none_of(trials[i].hazards, needs_barrier);
    }
  }
  const bool is_whole = std::ranges::find(passes, true) != passes.end();
  for (std::size_t i = 0; i < gaps.size(); ++i) gaps[i].helps = is_whole ? passes[i] : orders[i];
}

}  // namespace

bool needs_barrier(const metal::Hazard& hazard) {
  using enum metal::HazardKind;
  return hazard.kind == threadgroup_race || hazard.kind == unfenced_barrier;
}

Blame blame_missing_barrier(const Laboratory& laboratory, const metal::Hazard& race, std::span<const Case> racing,
                            std::span<const Case> given) {
  const std::filesystem::path& file = laboratory.variant().source;
  const Source source(kernels::read_text(file), file.string());
  std::vector<StatementGap> gaps = gaps_of(source);
  mark_helping(laboratory, source.text(), gaps, racing);
  std::vector<StatementGap> helping = ordered(gaps, race);
  Laboratory before = laboratory.with_source(file);
  constexpr std::size_t most = 3;
  helping.resize(std::min(helping.size(), most));
  Blame blame, half;
  for (const StatementGap& gap : helping) {
    // One more place that does as well is enough.
    if (blame.suspects.size() > 1) break;
    const std::string text = with_barrier(source.text(), gap);
    Laboratory repaired = with_text(laboratory, text);
    const Confirmation confirmation = confirm(before, repaired, given, kConfirmation);
    if (confirmation.breaks || confirmation.healed == 0) continue;
    const bool is_partial = confirmation.healed < confirmation.given;
    Blame& found = is_partial ? half : blame;
    if (is_partial && !half.suspects.empty()) continue;
    const Source after(text, source.name());
    found.suspects.push_back({.file = source.name(),
                              .line = gap.line,
                              .why = fmt::format("with a barrier before this line, the smallest case has no race, and {} ({} places tried)",
                                                 to_text(confirmation), gaps.size()),
                              .is_elsewhere = false,
                              .context = {},
                              .repaired = std::string(base::trimmed(after.line(gap.line)))});
    if (!found.repaired.empty()) continue;
    found.repaired = text;
    found.kind = mistake::kBarrier;
    found.is_partial = is_partial;
  }
  return blame.suspects.empty() ? half : blame;
}

}  // namespace assay::harness
