// What `assay watch` knows about a kernel, and how a screen shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/check.h"
#include "cli/raw_terminal.h"
#include "cli/say.h"
#include "harness/findings/verdict.h"

namespace assay::cli {

// One check, so far.
struct WatchState {
  enum class Phase { waiting, compiling, running, ended } phase = Phase::compiling;  // waiting: for a file that does not exist
  std::uint64_t cases = 0;                                                           // of the check
  std::map<harness::Status, std::size_t> counts;
  std::vector<CheckedCase> failures;  // with texts: the first of them
  std::vector<std::string> notes;
  CheckEnded ended;
  std::optional<double> first_seconds;  // from saving to the first verdict
  double seconds = 0;                   // from saving to the end

  // Takes a message in that arrived so long after saving.
  void take(const CheckMessage& message, double seconds_since_saving);
};

// A line that begins with a word that stands out.
struct ScreenLine {
  std::optional<Paint> paint;  // of `word`
  std::string word, rest;
};

// The verdict: a word, and a sentence with the counts.
[[nodiscard]] ScreenLine verdict_line(const WatchState& state);

// The times since saving; empty if there is no verdict yet.
[[nodiscard]] std::string times_text(const WatchState& state);

// At most as many lines as the screen has, the last with the keys. `message`: an answer to the last key. Apart from
// wide characters, no line is longer than the screen is wide.
[[nodiscard]] std::vector<ScreenLine> screen_lines(const WatchState& state, const std::string& title, const std::string& message,
                                                   const RawTerminal::Size& size);

}  // namespace assay::cli
