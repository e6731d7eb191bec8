// Lists the mutants of a source, and shows and samples them.
#include "harness/mutate/mutant.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/mix.h"
#include "base/text.h"
#include "harness/mutate/operators.h"

namespace assay::harness {
namespace {

constexpr std::uint32_t kContext = 3;  // context lines of a hunk

std::uint64_t random_of(std::uint64_t seed) { return base::next_random(seed); }

std::size_t rank_of(std::string_view op) {
  const auto& names = operator_names();
  return static_cast<std::size_t>(std::ranges::find(names, op) - names.begin());
}

}  // namespace

std::string Mutant::id() const { return fmt::format("{}:{}:{}:{}", op, line, column, number); }

std::vector<Mutant> make_mutants(const Source& source) {
  std::vector<Edit> edits;
  for (const SourcePiece& piece : source.pieces()) {
    std::vector<Edit> more = edits_of(piece, source.text());
    edits.insert(edits.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  std::ranges::sort(edits, {}, [](const Edit& edit) { return std::tuple(edit.offset, rank_of(edit.op), edit.length, edit.replacement); });

  std::vector<Mutant> mutants;
  for (Edit& edit : edits) {
    const auto same = [&](const Mutant& other) {
      return other.offset == edit.offset && other.length == edit.length && other.replacement == edit.replacement;
    };
    if (std::string_view(source.text()).substr(edit.offset, edit.length) == edit.replacement || std::ranges::any_of(mutants, same))
      continue;
    Mutant mutant;
    mutant.op = edit.op;
    const SourcePlace place = source.place(edit.offset);
    mutant.line = place.line;
    mutant.column = place.column;
    mutant.offset = edit.offset;
    mutant.length = edit.length;
    mutant.replacement = std::move(edit.replacement);
    if (!mutants.empty() && mutants.back().op == mutant.op && mutants.back().offset == mutant.offset)
      mutant.number = mutants.back().number + 1;
    mutants.push_back(std::move(mutant));
  }
  return mutants;
}

std::string mutated_text(const Source& source, const Mutant& mutant) {
  std::string text = source.text();
  return text.replace(mutant.offset, mutant.length, mutant.replacement);
}

std::string diff_hunk(const Source& source, const Mutant& mutant) {
  // An edit stays within the lines from its first byte to its last.
  const std::uint32_t last_line = source.place(mutant.offset + std::max<std::size_t>(mutant.length, 1) - 1).line;
  const std::uint32_t first = mutant.line > kContext ? mutant.line - kContext : 1;
  const std::uint32_t last = std::min(last_line + kContext, source.line_count());

  const std::size_t start = mutant.offset - (mutant.column - 1);
  const std::string_view last_text = source.line(last_line);
  const std::size_t end = static_cast<std::size_t>(last_text.data() + last_text.size() - source.text().data());
  const std::string mutated = mutated_text(source, mutant);
  const std::size_t mutated_end = end + mutant.replacement.size() - mutant.length;
  const std::vector<std::string_view> added = base::lines_of(std::string_view(mutated).substr(start, mutated_end - start));

  const std::size_t context = (mutant.line - first) + (last - last_line);
  std::string hunk = fmt::format("@@ -{},{} +{},{} @@ {}\n", first, last - first + 1, first, context + added.size(), mutant.id());
  for (std::uint32_t line = first; line < mutant.line; ++line) hunk += fmt::format(" {}\n", source.line(line));
  for (std::uint32_t line = mutant.line; line <= last_line; ++line) hunk += fmt::format("-{}\n", source.line(line));
  for (const std::string_view line : added) hunk += fmt::format("+{}\n", line);
  for (std::uint32_t line = last_line + 1; line <= last; ++line) hunk += fmt::format(" {}\n", source.line(line));
  return hunk;
}

std::vector<Mutant> sample(std::vector<Mutant> mutants, std::size_t count, std::uint64_t seed) {
  if (mutants.size() <= count) return mutants;
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (std::size_t i = 0; i < mutants.size(); ++i) order.emplace_back(random_of(random_of(seed) ^ i), i);
  std::ranges::sort(order);
  order.resize(count);
  std::ranges::sort(order, {}, &std::pair<std::uint64_t, std::size_t>::second);
  std::vector<Mutant> picked;
  for (const auto& [random, index] : order) picked.push_back(std::move(mutants[index]));
  return picked;
}

}  // namespace assay::harness
