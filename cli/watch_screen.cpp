// Lays out the screen of `assay watch`.
#include "cli/watch_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/printable.h"

namespace assay::cli {
namespace {

using Phase = WatchState::Phase;

constexpr std::size_t kWideKeys = 52;  // columns

std::string text_of_counts(const WatchState& state) {
  std::string text;
  for (const auto& [status, count] : state.counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(status));
  if (state.cases != 0) text += fmt::format(" of {} case{}", state.cases, state.cases == 1 ? "" : "s");
  return text;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80; }

// The first `columns` characters; at least one, so that wrapping ends.
std::string_view start_of(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t characters = 0; end < text.size(); ++characters) {
    if (characters == std::max<std::size_t>(columns, 1)) break;
    ++end;
    while (end < text.size() && is_continuation(text[end])) ++end;
  }
  return text.substr(0, end);
}

// As much as fits into a line. A blank is a better place to end than the middle of a word, unless the line would be half empty.
std::string_view line_of(std::string_view text, std::size_t columns) {
  const std::string_view whole = start_of(text, columns);
  if (whole.size() == text.size()) return whole;
  const std::size_t blank = whole.rfind(' ');
  return blank == std::string_view::npos || blank < whole.size() / 2 ? whole : whole.substr(0, blank + 1);
}

// Lines as a screen of this width shows them. Quoted lines of a source are cut off, others go on in the next line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  const std::string safe = printable(text);
  for (const std::string_view original : base::lines_of(safe)) {
    std::string line;
    for (const char c : original) line += c == '\t' ? std::string("    ") : std::string(1, c);
    const bool is_quoted = line.starts_with("    ");
    std::string_view rest = line;
    do {
      const std::string_view part = is_quoted ? start_of(rest, columns) : line_of(rest, columns);
      lines.emplace_back(part);
      rest.remove_prefix(part.size());
    } while (!rest.empty() && !is_quoted);
  }
  return lines;
}

// As much of it as fits into a line.
std::string first_line(std::string_view text, std::size_t columns) {
  const std::string safe = printable(text);
  return std::string(start_of(safe, columns));
}

std::vector<ScreenLine> lines_of_text(std::string_view text, std::size_t columns) {
  std::vector<ScreenLine> lines;
  for (std::string& line : wrapped(text, columns)) lines.push_back({{}, {}, std::move(line)});
  return lines;
}

// The word of its status stands out in the first line.
std::vector<ScreenLine> lines_of_failure(const CheckedCase& failure, std::size_t columns) {
  std::vector<ScreenLine> lines = lines_of_text(failure.text, columns);
  const std::string_view word = to_string(failure.status);
  if (!lines.empty() && lines.front().rest.starts_with(word)) {
    lines.front() = {Paint::failure, std::string(word), lines.front().rest.substr(word.size())};
  }
  return lines;
}

std::vector<ScreenLine> body_lines(const WatchState& state, std::size_t columns) {
  std::vector<ScreenLine> body;
  const auto append = [&](std::vector<ScreenLine> more) {
    if (!body.empty() && !more.empty()) body.push_back({});
    std::ranges::move(more, std::back_inserter(body));
  };
  append(lines_of_text(state.ended.text, columns));
  for (const CheckedCase& failure : state.failures) append(lines_of_failure(failure, columns));
  std::string notes;
  for (const std::string& note : state.notes) notes += fmt::format("note: {}\n", note);
  append(lines_of_text(notes, columns));
  return body;
}

}  // namespace

void WatchState::take(const CheckMessage& message, double seconds_since_saving) {
  if (const auto* begun = std::get_if<CheckBegun>(&message)) {
    cases = begun->cases;
  } else if (const auto* checked = std::get_if<CheckedCase>(&message)) {
    phase = Phase::running;
    ++counts[checked->status];
    if (!first_seconds) first_seconds = seconds_since_saving;
    if (!checked->text.empty()) failures.push_back(*checked);
  } else if (const auto* noted = std::get_if<CheckNotes>(&message)) {
    notes = noted->notes;
  } else {
    ended = std::get<CheckEnded>(message);
    phase = Phase::ended;
    seconds = seconds_since_saving;
  }
}

ScreenLine verdict_line(const WatchState& state) {
  using Kind = CheckEnded::Kind;
  if (state.phase == Phase::waiting) return {{}, "WAITING", "the file does not exist now"};
  if (state.ended.kind == Kind::compile_error) return {Paint::failure, "COMPILE ERROR", {}};
  if (state.ended.kind == Kind::other_error) return {Paint::failure, "ERROR", {}};
  if (state.counts.empty()) return {{}, "CHECKING", {}};
  const std::string counts = text_of_counts(state);
  const bool has_failure = std::ranges::any_of(state.counts, [](const auto& count) { return !harness::is_success(count.first); });
  if (has_failure) return {Paint::failure, "FAILED", counts};
  if (state.phase != Phase::ended) return {Paint::success, "PASSED SO FAR", counts};
  // What was skipped shows nothing.
  const bool has_pass = state.counts.contains(harness::Status::passed) || state.counts.contains(harness::Status::not_required);
  return has_pass ? ScreenLine{Paint::success, "PASSED", counts} : ScreenLine{Paint::failure, "NOTHING PASSED", counts};
}

std::string times_text(const WatchState& state) {
  std::string text;
  if (state.first_seconds) text = fmt::format("{:.2f} s to the first verdict", *state.first_seconds);
  if (state.phase == Phase::ended) text += fmt::format("{}{:.2f} s in all", text.empty() ? "" : ", ", state.seconds);
  return text;
}

std::vector<ScreenLine> screen_lines(const WatchState& state, const std::string& title, const std::string& message,
                                     const RawTerminal::Size& size) {
  ScreenLine verdict = verdict_line(state);
  verdict.word = fmt::format("  {}  ", verdict.word);
  const std::size_t left = size.columns - std::min(size.columns, verdict.word.size() + 1);
  verdict.rest = fmt::format(" {}", start_of(verdict.rest, left));
  const auto cut = [&](const std::string& text) { return ScreenLine{{}, {}, first_line(text, size.columns)}; };
  std::vector<ScreenLine> lines = {cut(title), {}, std::move(verdict), cut(times_text(state)), {}};

  constexpr std::size_t kFoot = 2;  // an empty line or the message, and the keys
  std::vector<ScreenLine> body = body_lines(state, size.columns);
  const std::size_t room = size.lines > lines.size() + kFoot ? size.lines - lines.size() - kFoot : 0;
  if (body.size() > room) {
    const std::size_t more = body.size() - room + 1;
    body.resize(room);
    if (room > 0) body.back() = {{}, {}, fmt::format("... ({} more lines)", more)};
  }
  std::ranges::move(body, std::back_inserter(lines));
  lines.resize(std::max(lines.size(), size.lines - std::min(size.lines, kFoot)));
  lines.push_back(cut(message));
  lines.push_back(
      {{},
       {},
       size.columns < kWideKeys ? "e explain t triage g gate r run q quit" : "e explain   t triage   g gate   r run again   q quit"});
  if (lines.size() > size.lines) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(size.lines));
  return lines;
}

}  // namespace assay::cli
