// Aligns the traces of two iterations, and finds the first values that differ.
#include "harness/compare/parting.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace assay::harness {
namespace {

using metal::TracedOperation;
using metal::TracedThread;
using metal::TracedValue;
using metal::ValueTrace;

// A line of both sides, with one number for the two.
struct AlignedLine {
  LinePair pair;
  std::string old_file, new_file;
};

// Lines of the operations of a trace: indices into the aligned lines, or none.
constexpr std::size_t kNoLine = std::numeric_limits<std::size_t>::max();

const SourceText* text_of_file(std::span<const SourceText> texts, const std::string& file) {
  const auto found = std::ranges::find(texts, file, &SourceText::file);
  return found == texts.end() ? nullptr : &*found;
}

class Aligned {
 public:
  Aligned(const ValueTrace& old_trace, std::span<const SourceText> old_texts, const ValueTrace& new_trace,
          std::span<const SourceText> new_texts)
      : main(align_lines(old_texts.front().lines, new_texts.front().lines)) {
    add(old_texts.front(), new_texts.front(), main);
    for (const SourceText& text : old_texts.subspan(1)) {
      const auto name = [](const SourceText& one) { return std::filesystem::path(one.file).filename(); };
      const auto same = std::ranges::find(new_texts.subspan(1), name(text), name);
      if (same != new_texts.end()) add(text, *same, align_lines(text.lines, same->lines));
    }
    old_lines = lines_of(old_trace, [](const AlignedLine& line) { return std::pair(line.old_file, line.pair.old_line); });
    new_lines = lines_of(new_trace, [](const AlignedLine& line) { return std::pair(line.new_file, line.pair.new_line); });
    const std::vector<Operations> old_operations = operations_of(old_trace, old_lines);
    const std::vector<Operations> new_operations = operations_of(new_trace, new_lines);
    for (std::size_t line = 0; line < lines.size(); ++line) are_alike.push_back(old_operations[line] == new_operations[line]);
  }

  LineAlignment main;
  std::vector<AlignedLine> lines;
  std::vector<std::size_t> old_lines, new_lines;  // by operation
  std::vector<bool> are_alike;                    // by line: whether both sides do the same kinds of operations there, in the same order

 private:
  using Operations = std::vector<std::pair<TracedOperation::Kind, TracedOperation::Type>>;

  void add(const SourceText& before, const SourceText& after, const LineAlignment& alignment) {
    for (const LinePair& pair : alignment.pairs) lines.push_back({pair, before.file, after.file});
  }

  template <typename PlaceOf>
  [[nodiscard]] std::vector<std::size_t> lines_of(const ValueTrace& trace, const PlaceOf& place_of) const {
    std::map<std::pair<std::string, std::uint32_t>, std::size_t> known;
    for (std::size_t line = 0; line < lines.size(); ++line) known.emplace(place_of(lines[line]), line);
    std::vector<std::size_t> result;
    for (const TracedOperation& operation : trace.operations) {
      const auto found = known.find({operation.place.file, operation.place.line});
      result.push_back(found == known.end() ? kNoLine : found->second);
    }
    return result;
  }

  [[nodiscard]] std::vector<Operations> operations_of(const ValueTrace& trace, const std::vector<std::size_t>& line_of) const {
    std::vector<Operations> result(lines.size());
    for (std::size_t operation = 0; operation < trace.operations.size(); ++operation) {
      if (line_of[operation] != kNoLine)
        result[line_of[operation]].emplace_back(trace.operations[operation].kind, trace.operations[operation].type);
    }
    return result;
  }
};

// The positions of a thread's values, by aligned line.
using Positions = std::vector<std::vector<std::size_t>>;

Positions positions_of(const TracedThread& thread, const std::vector<std::size_t>& line_of, std::size_t lines) {
  Positions positions(lines);
  for (std::size_t position = 0; position < thread.values.size(); ++position) {
    const std::size_t line = line_of[thread.values[position].operation];
    if (line != kNoLine) positions[line].push_back(position);
  }
  return positions;
}

// The last value of each execution of a line. Operations are numbered in the order of the code, so an operation with a number that is
// not larger than the previous one begins the next execution.
std::vector<std::size_t> last_of_visits(const TracedThread& thread, const std::vector<std::size_t>& positions) {
  std::vector<std::size_t> last;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const bool ends = i + 1 == positions.size() || thread.values[positions[i + 1]].operation <= thread.values[positions[i]].operation;
    if (ends) last.push_back(positions[i]);
  }
  return last;
}

struct Difference {
  std::size_t line = kNoLine;
  std::size_t occurrence = 0;
  std::optional<std::size_t> old_position, new_position;  // none: this side does not reach the line again
  [[nodiscard]] std::size_t when() const {
    return std::min(old_position.value_or(std::numeric_limits<std::size_t>::max()),
                    new_position.value_or(std::numeric_limits<std::size_t>::max()));
  }
};

bool are_equal(const TracedValue& a, TracedOperation::Type a_type, const TracedValue& b, TracedOperation::Type b_type) {
  if (a_type == b_type) return a.bits == b.bits;
  return metal::number_of(a, a_type) == metal::number_of(b, b_type);
}

// The first difference of a thread, by the earlier of its two clocks.
std::optional<Difference> first_difference(const ValueTrace& old_trace, const TracedThread& old_thread, const ValueTrace& new_trace,
                                           const TracedThread& new_thread, const Aligned& aligned) {
  const Positions old_positions = positions_of(old_thread, aligned.old_lines, aligned.lines.size());
  const Positions new_positions = positions_of(new_thread, aligned.new_lines, aligned.lines.size());
  std::optional<Difference> first;
  for (std::size_t line = 0; line < aligned.lines.size(); ++line) {
    const bool are_alike = aligned.are_alike[line];
    const std::vector<std::size_t> before = are_alike ? old_positions[line] : last_of_visits(old_thread, old_positions[line]);
    const std::vector<std::size_t> after = are_alike ? new_positions[line] : last_of_visits(new_thread, new_positions[line]);
    // A line is skipped if one side's compiler has removed it, or only moves values there.
    if (before.empty() != after.empty() && !are_alike) continue;
    for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
      Difference found{line, i, {}, {}};
      if (i < before.size()) found.old_position = before[i];
      if (i < after.size()) found.new_position = after[i];
      if (found.old_position && found.new_position) {
        const TracedValue& a = old_thread.values[*found.old_position];
        const TracedValue& b = new_thread.values[*found.new_position];
        if (are_equal(a, old_trace.operations[a.operation].type, b, new_trace.operations[b.operation].type)) continue;
      }
      if (!first || found.when() < first->when()) first = found;
      break;
    }
  }
  return first;
}

// The byte to which a value relates: the last one that its thread had read, or the next one, if the value's line is in a loop before
// the read. The line is before the read if its thread had read nothing when it first reached the line.
std::uint64_t read_about(const TracedThread& thread, std::size_t position, const std::vector<std::size_t>& line_of) {
  const auto& values = thread.values;
  const std::size_t line = line_of[values[position].operation];
  const auto first = std::ranges::find_if(values, [&](const TracedValue& value) { return line_of[value.operation] == line; });
  const std::uint64_t last = values[position].read;
  if (first->read != 0) return last;
  const auto next = std::ranges::find_if(values.begin() + static_cast<std::ptrdiff_t>(position), values.end(),
                                         [&](const TracedValue& value) { return value.read != last; });
  return next == values.end() ? last : next->read;
}

using ThreadKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
ThreadKey key_of(const TracedThread& thread) {
  return {thread.dispatch, thread.threadgroup.z, thread.threadgroup.y, thread.threadgroup.x, thread.thread};
}

PartingSide side_of(const ValueTrace& trace, const TracedThread& thread, std::optional<std::size_t> position, const std::string& file,
                    std::uint32_t line, std::span<const SourceText> texts) {
  PartingSide side{file, line, {}, {}};
  if (const SourceText* text = text_of_file(texts, file); text != nullptr && line <= text->lines.size())
    side.text = base::trimmed(text->lines[line - 1]);
  if (position) {
    const TracedValue& value = thread.values[*position];
    side.value = metal::number_of(value, trace.operations[value.operation].type);
  }
  return side;
}

std::vector<std::string> lines_between(const SourceText& text, std::uint32_t first, std::uint32_t count) {
  const auto begin = text.lines.begin() + std::ptrdiff_t{first} - 1;
  return {begin, begin + std::ptrdiff_t{count}};
}

// The change that contains the parting first, then those before it, the nearest first, then those after it.
void add_changes(Parting& parting, const LineAlignment& alignment, const SourceText& before, const SourceText& after, bool is_in_main) {
  const std::uint32_t line = is_in_main ? parting.new_side.line : 0;
  std::vector<ChangedText> changes;
  for (const LineHunk& hunk : alignment.hunks) {
    changes.push_back({hunk, lines_between(before, hunk.old_first, hunk.old_count), lines_between(after, hunk.new_first, hunk.new_count),
                       line >= hunk.new_first && line < hunk.new_first + hunk.new_count});
  }
  const auto rank = [&](const ChangedText& change) {
    const std::int64_t distance = std::int64_t{line} - std::int64_t{change.hunk.new_first};
    return std::tuple(!change.holds_parting, distance < 0, distance < 0 ? -distance : distance, change.hunk.old_first);
  };
  std::ranges::sort(changes, {}, rank);
  parting.further_changes = changes.size() - std::min(changes.size(), kMostChanges);
  changes.resize(std::min(changes.size(), kMostChanges));
  parting.changes = std::move(changes);
}

}  // namespace

std::optional<Parting> find_parting(const ValueTrace& old_trace, std::span<const SourceText> old_texts, const ValueTrace& new_trace,
                                    std::span<const SourceText> new_texts) {
  const Aligned aligned(old_trace, old_texts, new_trace, new_texts);
  std::map<ThreadKey, const TracedThread*> old_threads;
  for (const TracedThread& thread : old_trace.threads) old_threads.emplace(key_of(thread), &thread);

  struct Found {
    std::tuple<std::uint32_t, std::size_t, ThreadKey> rank;
    Difference difference;
    const TracedThread* old_thread;
    const TracedThread* new_thread;
  };
  std::optional<Found> first;
  for (const TracedThread& thread : new_trace.threads) {
    const auto partner = old_threads.find(key_of(thread));
    if (partner == old_threads.end()) continue;
    const auto difference = first_difference(old_trace, *partner->second, new_trace, thread, aligned);
    if (!difference) continue;
    // If a trace was cut, a side that reaches a line less often proves nothing.
    const bool is_cut = old_trace.is_cut || new_trace.is_cut;
    if (is_cut && (!difference->old_position || !difference->new_position)) continue;
    const std::tuple rank{thread.dispatch, difference->when(), key_of(thread)};
    if (!first || rank < first->rank) first = Found{rank, *difference, partner->second, &thread};
  }
  if (!first) return std::nullopt;

  const AlignedLine& line = aligned.lines[first->difference.line];
  Parting parting;
  parting.dispatch = first->new_thread->dispatch;
  parting.function = new_trace.functions[parting.dispatch];
  parting.threadgroup = first->new_thread->threadgroup;
  parting.thread = first->new_thread->thread;
  parting.occurrence = first->difference.occurrence;
  parting.is_cut = old_trace.is_cut || new_trace.is_cut;
  parting.old_side = side_of(old_trace, *first->old_thread, first->difference.old_position, line.old_file, line.pair.old_line, old_texts);
  parting.new_side = side_of(new_trace, *first->new_thread, first->difference.new_position, line.new_file, line.pair.new_line, new_texts);
  if (const auto position = first->difference.new_position) parting.read = read_about(*first->new_thread, *position, aligned.new_lines);
  const std::size_t agreed = first->difference.new_position.value_or(first->new_thread->values.size());
  for (std::size_t position = 0; position < agreed; ++position) {
    if (aligned.new_lines[first->new_thread->values[position].operation] != kNoLine) ++parting.agreed;
  }
  add_changes(parting, aligned.main, old_texts.front(), new_texts.front(), line.new_file == new_texts.front().file);
  return parting;
}

}  // namespace assay::harness
