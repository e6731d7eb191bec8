// `assay watch`: runs cases whenever a kernel is saved, and shows the verdict on one screen.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/this_program.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/kernel_watch.h"
#include "cli/options.h"
#include "cli/own_words.h"
#include "cli/raw_terminal.h"
#include "cli/say.h"
#include "cli/signal_pipe.h"
#include "cli/terminal.h"
#include "cli/watch_screen.h"
#include "cli/workspace.h"
#include "harness/ledger/shell_line.h"

namespace assay::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::chrono::hours kForever{1};
constexpr std::size_t kMostShown = 3;  // failing cases in plain output

// Lines for a file, a pipe or an editor: a block for each save.
class PlainView final : public WatchView {
 public:
  explicit PlainView(const Options& options) : options_(options) {}

  void stopped() override { say("stopped, because a file was saved again\n\n"); }
  void started(const WatchState& state) override {
    shown_ = 0;
    say("checking {}\n", options_.kernel);
    if (state.phase == WatchState::Phase::waiting) say_end(state);
    std::fflush(stdout);
  }
  void told(const WatchState& state, const CheckMessage& message) override {
    if (const auto* checked = std::get_if<CheckedCase>(&message)) say_case(*checked);
    if (const auto* noted = std::get_if<CheckNotes>(&message)) {
      for (const std::string& note : noted->notes) say("note: {}\n", note);
    }
    if (std::holds_alternative<CheckEnded>(message)) say_end(state);
    std::fflush(stdout);
  }

 private:
  void say_case(const CheckedCase& checked) {
    if (!checked.text.empty() && shown_++ < kMostShown)
      say_verdict(checked.status, checked.text + (checked.text.ends_with('\n') ? "" : "\n"));
  }

  void say_end(const WatchState& state) {
    if (!state.ended.text.empty()) say("{}\n", state.ended.text);
    const ScreenLine line = verdict_line(state);
    const std::string times = times_text(state);
    say("{}{}{}{}{}\n\n", line.word, line.rest.empty() ? "" : ": ", line.rest, times.empty() ? "" : "; ", times);
  }

  const Options& options_;
  std::size_t shown_ = 0;
};

// A screen that is drawn again at most so often.
class ScreenView final : public WatchView {
 public:
  explicit ScreenView(const Options& options)
      : title_(options.kernel),
        cases_(options.words.empty() ? "what failed, then smoke" : fmt::format("{}", fmt::join(options.words, " "))) {}

  void stopped() override {}
  void started(const WatchState&) override { answer({}); }
  void told(const WatchState&, const CheckMessage& message) override {
    if (const auto* begun = std::get_if<CheckBegun>(&message)) kernel_ = fmt::format(" ({})", begun->family);
    is_changed_ = true;
  }

  void change() { is_changed_ = true; }
  // Shows the answer to a key, until there is another one.
  void answer(std::string text) {
    answer_ = std::move(text);
    is_changed_ = true;
  }
  [[nodiscard]] std::optional<milliseconds> next_drawing() const {
    if (!is_changed_) return std::nullopt;
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(drawn_ + kInterval - Clock::now()));
  }
  void draw(const WatchState& state) {
    if (!is_changed_ || Clock::now() < drawn_ + kInterval) return;
    is_changed_ = false;
    drawn_ = Clock::now();
    const auto lines = screen_lines(state, fmt::format("{}{}: {}", title_, kernel_, cases_), answer_, RawTerminal::size());
    control(stdout, Control::go_home);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i != 0) control(stdout, Control::next_line);
      if (lines[i].paint)
        put_painted(stdout, *lines[i].paint, lines[i].word);
      else
        put(stdout, lines[i].word);
      put(stdout, lines[i].rest);
      control(stdout, Control::end_line);
    }
    control(stdout, Control::clear_below);
    std::fflush(stdout);
  }

 private:
  static constexpr milliseconds kInterval{50};

  std::string title_, kernel_, cases_, answer_;
  bool is_changed_ = true;
  Clock::time_point drawn_;
};

// Adds what repeats the kernel and its options.
std::vector<std::string> with_kernel(std::vector<std::string> words, const Options& options, std::vector<std::string> further) {
  std::ranges::move(replay_options(options), std::back_inserter(words));
  std::ranges::move(further, std::back_inserter(words));
  return words;
}

// The screen, its keys, and the commands that take its place for a while.
class Screen {
 public:
  explicit Screen(const Options& options) : options_(options), view_(options), watch_(options, view_) {}

  int run() {
    watch_.start();
    while (!status_) {
      wait_for_anything();
      take_signals();
      if (const std::optional<char> key = terminal_.key(); key && !status_) press(*key);
      if (!status_) watch_.step();
      if (!status_) view_.draw(watch_.state());
    }
    return *status_;
  }

 private:
  void wait_for_anything() {
    std::vector<pollfd> awaited;
    watch_.add_awaited(awaited);
    const std::optional<milliseconds> drawing = view_.next_drawing();
    wait(std::move(awaited), std::min(watch_.longest_wait(), drawing.value_or(milliseconds::max())));
  }

  // For the user, and for what else is awaited.
  void wait(std::vector<pollfd> awaited, milliseconds longest) {
    awaited.insert(awaited.begin(), {{signals_.descriptor(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}});
    poll(awaited.data(), awaited.size(), static_cast<int>(longest.count()));
    if ((awaited[1].revents & (POLLHUP | POLLERR)) != 0) status_ = kExitInterrupted;
  }

  void take_signals() {
    const SignalPipe::Arrived arrived = signals_.take();
    if (arrived.interrupt || arrived.end) status_ = kExitInterrupted;
    if (arrived.resize) view_.change();
  }

  void press(char key) {
    view_.answer({});
    if (key == 'q') status_ = kExitPassed;
    if (key == 'r') watch_.start();
    if (key == 'g') run_command(gate_words());
    if (key != 'e' && key != 't') return;
    const std::vector<CheckedCase>& failures = watch_.state().failures;
    if (failures.empty()) {
      view_.answer("no case has failed in this check");
      return;
    }
    std::vector<std::string> words = {key == 'e' ? "explain" : "triage"};
    for (const CheckedCase& failure : failures) {
      if (key == 't' || words.size() == 1) words.push_back(failure.name);
    }
    run_command(with_kernel(std::move(words), options_, further_words_for_names(options_)));
  }

  [[nodiscard]] std::vector<std::string> gate_words() const {
    std::vector<std::string> words = with_kernel({"gate"}, options_, further_words(options_));
    if (!options_.ledger.empty()) words.insert(words.end(), {"--ledger", options_.ledger});
    return words;
  }

  void run_command(const std::vector<std::string>& words) {
    terminal_.leave();
    say("$ assay {}\n", harness::shell_line(words));
    std::fflush(stdout);
    base::Process command = base::start_this_program(words);
    // Ctrl-C is for the command alone, which gets it from the terminal.
    bool is_over = false;
    while (!is_over && !status_) {
      is_over = command.end_within(milliseconds(50)).has_value();
      if (signals_.take().end) status_ = kExitInterrupted;
    }
    if (!status_) wait_for_key();
    terminal_.enter();
    view_.change();
  }

  void wait_for_key() {
    say("\npress any key to return to the screen\n");
    std::fflush(stdout);
    terminal_.read_keys();
    while (!status_ && !terminal_.key()) {
      wait({}, kForever);
      take_signals();
    }
  }

  const Options& options_;
  SignalPipe signals_;
  ScreenView view_;
  KernelWatch watch_;
  RawTerminal terminal_;  // last: whatever cannot start says so in lines
  std::optional<int> status_;
};

int watch_in_lines(const Options& options) {
  SignalPipe signals;
  PlainView view(options);
  KernelWatch watch(options, view);
  watch.start();
  while (true) {
    std::vector<pollfd> awaited = {{signals.descriptor(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
    watch.add_awaited(awaited);
    poll(awaited.data(), awaited.size(), static_cast<int>(watch.longest_wait().count()));
    const SignalPipe::Arrived arrived = signals.take();
    const bool is_unread = (awaited[1].revents & (POLLERR | POLLHUP)) != 0;
    if (arrived.interrupt || arrived.end || is_unread || std::ferror(stdout) != 0) return kExitInterrupted;
    watch.step();
  }
}

int watch(const Options& options) {
  // Reports mistakes on the command line, which no edit of the kernel mends.
  const Options checked = with_strict_policy(options);
  static_cast<void>(workbench_options(checked, open_workspace(checked)));
  static_cast<void>(run_options(checked));
  if (is_terminal(stdout) && isatty(STDIN_FILENO) == 1) return Screen(options).run();
  return watch_in_lines(options);
}

}  // namespace

void add_watch(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(
      app, action, "watch",
      "Run cases whenever a kernel, a file that it includes or its variant.toml is saved, and show the verdict: first the cases that "
      "failed last, then suite smoke",
      watch);
  command->add_option("FILE", options->kernel, "A kernel of your own: a .metal file, or a directory with a variant.toml")->required();
  command->add_option("CASE", options->words, "Cases, globs, suites instead of smoke; those that failed last run first");
  add_selection(*command, *options);
  command->remove_option(command->get_option("--kernel"));
  command->remove_option(command->get_option("--shard"));  // a part of the cases could miss those that fail
  add_execution(*command, *options);
  add_profile(*command, *options);
  add_jobs(*command, *options, "cases to run");
  add_ledger(*command, *options);
  command->footer(R"(examples
  assay watch mine.metal --family FAMILY
  assay watch kernels/mine
  assay watch mine.metal --family FAMILY 'FAMILY/*/nwg16/*' --policy checked
  assay watch mine.metal --family FAMILY < /dev/null | tee log      lines instead of the screen

keys
  e explain the first failing case   t triage the failing cases   g run the gate
  r run again                        q quit

Without a terminal, each save gives a block of lines. What ran is recorded in the ledger, as by `assay run`.

exit status
  0 the key q   2 bad usage or environment   130 stopped by Ctrl-C or SIGTERM, or nobody reads the lines any more)");
}

}  // namespace assay::cli
