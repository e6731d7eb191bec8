// Tries barriers between statements.
#include "harness/triage/missing_barrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
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
struct Gap {
  std::size_t offset = 0;
  std::uint32_t line = 0;
  std::size_t depth = 0;  // blocks around it
};

// Whether a `{` begins a block, and not a list of values.
bool begins_block(const std::vector<SourceToken>& tokens, std::size_t i) {
  if (i == 0) return false;
  const SourceToken& before = tokens[i - 1];
  return before.is(")") || before.is("else") || before.is("do") || before.is(";") || before.is("{") || before.is("}");
}

std::vector<Gap> gaps_of(const Source& source) {
  std::vector<Gap> gaps;
  for (const SourcePiece& piece : source.pieces()) {
    if (piece.is_macro) continue;
    const std::vector<SourceToken>& tokens = piece.tokens;
    std::vector<std::size_t> ends;  // of the blocks around i
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      const bool is_between = tokens[i - 1].is(";") || tokens[i - 1].is("{") || tokens[i - 1].is("}");
      if (is_between && !ends.empty() && !tokens[i].is("else") && !tokens[i].is("while"))
        gaps.push_back({tokens[i].offset, source.place(tokens[i].offset).line, ends.size()});
      while (!ends.empty() && i >= ends.back()) ends.pop_back();
      if (tokens[i].is("(") && tokens[i].match > i) {
        i = tokens[i].match;
      } else if (tokens[i].is("{") && tokens[i].match > i) {
        // Only within functions: a block there is that of a function, or within one.
        if (begins_block(tokens, i) && (!ends.empty() || tokens[i - 1].is(")"))) {
          ends.push_back(tokens[i].match);
        } else if (!ends.empty()) {
          i = tokens[i].match;
        }
      }
    }
  }
  return gaps;
}

std::string with_barriers(const std::string& text, std::span<const Gap> gaps) {
  std::string result;
  std::size_t done = 0;
  std::uint32_t number = 0;
  for (const Gap& gap : gaps) {
    result += text.substr(done, gap.offset - done);
    result += fmt::format("if (__assay_choice() == {}u) {} ", ++number, kBarrierCall);
    done = gap.offset;
  }
  return result + text.substr(done);
}

std::string with_barrier(const std::string& text, const Gap& gap) {
  return text.substr(0, gap.offset) + std::string(kBarrierCall) + " " + text.substr(gap.offset);
}

// The more likely ones first.
void order(std::vector<Gap>& gaps, const metal::Hazard& race) {
  const std::uint32_t one = race.first.line;
  const std::uint32_t other = race.second ? race.second->line : one;
  const auto [first, last] = std::minmax(one, other);
  const auto distance = [&](const Gap& gap) -> double {
    if (gap.line > first && gap.line <= last) return last - gap.line;
    constexpr double elsewhere = 1000;
    return elsewhere + (gap.line > last ? gap.line - last : 2.0 * (first - gap.line));
  };
  const std::size_t fewest = gaps.empty() ? 0 : std::ranges::min(gaps, {}, &Gap::depth).depth;
  order_by(gaps, [&](const Gap& gap) {
    constexpr double deeper = 10000;
    return distance(gap) + deeper * static_cast<double>(gap.depth - fewest);
  });
}

}  // namespace

Blame blame_missing_barrier(const Laboratory& laboratory, const metal::Hazard& race, std::span<const Case> racing,
                            std::span<const Case> given) {
  const std::filesystem::path& file = laboratory.variant().source;
  const Source source(kernels::read_text(file), file.string());
  const std::vector<Gap> gaps = gaps_of(source);
  Laboratory all = with_text(laboratory, with_barriers(source.text(), gaps));
  std::vector<std::uint32_t> left(gaps.size());
  std::iota(left.begin(), left.end(), 1U);
  for (const Case& test_case : racing) {
    const std::vector<Laboratory::Trial> trials = all.try_choices(test_case, left, metal::Policy::checked);
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (trials[i].passes) kept.push_back(left[i]);
    }
    left = std::move(kept);
  }
  std::vector<Gap> helping;
  for (const std::uint32_t number : left) helping.push_back(gaps[number - 1]);
  order(helping, race);
  Laboratory before = laboratory.with_source(file);
  constexpr std::size_t most = 3;
  helping.resize(std::min(helping.size(), most));
  for (const Gap& gap : helping) {
    const std::string text = with_barrier(source.text(), gap);
    Laboratory repaired = with_text(laboratory, text);
    constexpr std::chrono::duration<double> budget = std::chrono::seconds(20);
    const Confirmation confirmation = confirm(before, repaired, given, budget);
    if (confirmation.breaks || confirmation.healed < confirmation.given) continue;
    const Source after(text, source.name());
    return {.suspects = {{.file = source.name(),
                          .line = gap.line,
                          .why = fmt::format("with a barrier before this line, no simdgroup races, and {} ({} places tried)",
                                             to_text(confirmation), gaps.size()),
                          .is_elsewhere = false,
                          .context = {},
                          .repaired = std::string(base::trimmed(after.line(gap.line)))}},
            .repaired = text,
            .is_partial = false,
            .kind = mistake::kBarrier};
  }
  return {};
}

}  // namespace assay::harness
