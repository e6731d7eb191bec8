// Terminal output: progress, failures with their worst elements, and the summary.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "harness/findings/verdict.h"
#include "harness/process/runner.h"

namespace assay::cli {

// Shows the progress of a run: a bar that is redrawn on a terminal, plain lines elsewhere.
class Progress {
 public:
  Progress(const Options& options, std::size_t selected);

  // `is_repetition`: a failure that says nothing new, which is only counted.
  void show(const harness::Verdict& verdict, bool is_repetition = false);
  // Clears the bar, so that the following text starts on a new line.
  void finish();

 private:
  void draw();
  void show_failure(const harness::Verdict& verdict);
  void clear();

  const Options& options_;
  std::size_t selected_;
  std::size_t done_ = 0;
  std::size_t failures_ = 0, shown_failures_ = 0;
  double start_;
  double last_drawn_ = 0;
  bool is_terminal_;
};

// Status, name, reason and note of one case.
[[nodiscard]] std::string describe_head(const harness::Verdict& verdict);
// The same with hazards and worst elements.
[[nodiscard]] std::string describe_outcome(const harness::Verdict& verdict);
// For the launch of a host's trace, whose stages say where it went wrong.
[[nodiscard]] std::string describe_trace(const harness::Verdict& verdict);
// Of describe_outcome(), with the replay line.
[[nodiscard]] std::string describe_verdict(const harness::Verdict& verdict, const Options& options);
// Everything, including all figures.
[[nodiscard]] std::string describe_everything(const harness::Verdict& verdict, const Options& options);

// Prints such a text, which begins with the word of the status, and paints this word.
void say_verdict(harness::Status status, std::string_view text);
// Prints the closing lines of a run; `outside_limits` is the number of cases excluded by [limits].
void say_summary(const harness::Summary& summary, const Options& options, std::size_t outside_limits);

}  // namespace assay::cli
