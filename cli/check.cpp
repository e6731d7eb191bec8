// Runs the cases of a check in its process. The first verdict waits for one function to be compiled, not for all.
#include "cli/check.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include "cli/console.h"
#include "cli/recording.h"
#include "cli/run.h"
#include "cli/workspace.h"
#include "families/described_launch.h"
#include "harness/cases/case.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "harness/process/verdict_wire.h"
#include "metal/errors.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kLongestMessage = std::uint64_t{16} << 20;
// Cases that run before further functions are compiled.
constexpr std::size_t kMostFirstCases = 8;
constexpr std::size_t kMostTexts = 20;
constexpr std::size_t kLongestText = 4000;
constexpr std::size_t kMostElements = 3;
// For recording the verdicts of a stopped check. The listener is asked every 100 ms.
constexpr std::chrono::milliseconds kPatience{300};

// What is wrong, and the first faulty elements, in lines that fit on a narrow terminal.
std::string text_of_failure(const harness::Verdict& verdict) {
  std::string text = describe_head(verdict);
  std::size_t most = kMostElements;
  for (const harness::WorstElement& element : verdict.judgement.worst) {
    if (element.fault == harness::ElementFault::none) continue;
    const std::size_t row = element.index / verdict.row_length;
    text += fmt::format("  row {} coordinate {}: {:.6g}, expected {:.6g}, error/bound {:.3g}\n", row, element.index % verdict.row_length,
                        element.actual, element.expected, element.ratio);
    if (--most == 0) break;
  }
  return text.substr(0, kLongestText);
}

// Sends what happens to the process that watches.
class Teller final : public harness::RunListener {
 public:
  explicit Teller(int channel) : channel_(channel) {}

  void tell(const CheckMessage& message) const { static_cast<void>(base::send_to_client(channel_, base::to_bytes(message))); }

  void started(const harness::Case&) override {}
  void finished(const harness::Verdict& verdict, const harness::Summary&) override {
    const std::string name = harness::format_case(verdict.test_case);
    summary.add(name, verdict);
    const bool has_text = !harness::is_success(verdict.status) && texts_++ < kMostTexts;
    tell(CheckedCase{name, verdict.status, has_text ? text_of_failure(verdict) : std::string()});
    if (keeps_verdicts) verdicts.push_back(verdict);
  }
  [[nodiscard]] bool tick() override { return !is_stopped(); }

  // Whether nobody listens any more.
  [[nodiscard]] bool is_stopped() const {
    pollfd end{channel_, 0, 0};
    return poll(&end, 1, 0) > 0;
  }

  harness::Summary summary;
  bool keeps_verdicts = true;
  std::vector<harness::Verdict> verdicts;

 private:
  int channel_;
  std::size_t texts_ = 0;
};

class Silence final : public harness::RunListener {
 public:
  void started(const harness::Case&) override {}
  void finished(const harness::Verdict&, const harness::Summary&) override {}
};

// The work of the process.
class Checking {
 public:
  Checking(int channel, const Options& options, const CheckRequest& request)
      : options_(with_strict_policy(options)), request_(request), teller_(channel) {}

  void run() {
    const auto start = std::chrono::steady_clock::now();
    workspace_ = open_workspace(options_);
    const std::vector<harness::Case> first = first_cases();
    run_first(first);
    if (teller_.is_stopped()) return;
    choose_cases();
    const std::vector<harness::Case>& cases = workspace_.selection.cases;
    teller_.tell(CheckBegun{workspace_.catalogue.front().family, cases.size()});
    if (first.empty()) run_first(alike(cases));
    if (teller_.is_stopped()) return;

    const harness::Workbench workbench(workspace_.catalogue, cases, workbench_options(options_, workspace_));
    const std::vector<std::string> notes = run_notes(options_, workspace_, workbench);
    teller_.tell(CheckNotes{notes});
    Recording recording(options_, workspace_.selection, workbench, notes);
    const std::vector<harness::Case> others = record_first(recording);
    harness::Recorder recorder = recording.recorder(teller_);
    run_cases(others, workbench, recorder);
    teller_.summary.selected = cases.size();
    teller_.summary.stopped = teller_.is_stopped();
    teller_.summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    static_cast<void>(recording.finish(teller_.summary));
  }

 private:
  // The request's first cases, which need no selection: for that, all functions of a file without description are compiled. None if there
  // are none, or the kernel does not have one of them any more.
  [[nodiscard]] std::vector<harness::Case> first_cases() const {
    if (request_.first.empty()) return {};
    harness::SelectionRequest named;
    named.words = request_.first;
    named.family = workspace_.catalogue.front().family;
    try {
      std::vector<harness::Case> cases = harness::select_cases(named, std::span(workspace_.catalogue).first(1)).cases;
      // The cheapest says first what is wrong.
      std::ranges::sort(
          cases, {}, [](const harness::Case& value) { return std::pair(value.family->work(value.values), harness::format_case(value)); });
      return alike(cases);
    } catch (const std::invalid_argument&) {
      return {};
    }
  }

  // The first case, and those behind it that need no other function.
  [[nodiscard]] std::vector<harness::Case> alike(const std::vector<harness::Case>& cases) const {
    const kernels::Variant& user = workspace_.catalogue.front();
    std::vector<harness::Case> first;
    for (const harness::Case& value : cases) {
      if (first.size() == kMostFirstCases) break;
      if (families::functions_text(value, user) == families::functions_text(cases.front(), user)) first.push_back(value);
    }
    return first;
  }

  void run_first(const std::vector<harness::Case>& cases) {
    if (cases.empty()) return;
    run_cases(cases, harness::Workbench(workspace_.catalogue, cases, workbench_options(options_, workspace_)), teller_);
  }

  // Fills the selection. Without words of the user, cases that failed elsewhere, such as in the gate, join smoke.
  void choose_cases() {
    std::vector<std::string> words = options_.words;
    if (words.empty()) {
      words = request_.first;
      words.emplace_back("smoke");
    }
    try {
      select(workspace_, options_, words);
    } catch (const std::invalid_argument&) {
      if (!options_.words.empty() || words.size() == 1) throw;
      // The kernel does not have one of the cases any more.
      workspace_ = open_workspace(options_);
      select(workspace_, options_, {"smoke"});
    }
  }

  void run_cases(std::span<const harness::Case> cases, const harness::Workbench& workbench, harness::RunListener& listener) const {
    const harness::RunOptions running = run_options_for(options_, cases.size());
    const std::atomic<bool> never = false;
    static_cast<void>(harness::run_cases(cases, workbench, running, never, listener));
  }

  // Records the verdicts from before there was a run to record them in. Returns the cases that have none, those that failed last at the
  // front.
  std::vector<harness::Case> record_first(Recording& recording) {
    std::set<std::string> selected, finished;
    for (const harness::Case& value : workspace_.selection.cases) selected.insert(harness::format_case(value));
    Silence silence;
    harness::Recorder recorder = recording.recorder(silence);
    for (const harness::Verdict& verdict : std::exchange(teller_.verdicts, {})) {
      if (!selected.contains(*finished.insert(harness::format_case(verdict.test_case)).first)) continue;
      recorder.started(verdict.test_case);
      recorder.finished(verdict, teller_.summary);
    }
    teller_.keeps_verdicts = false;
    const std::set<std::string> failed(request_.first.begin(), request_.first.end());
    std::vector<harness::Case> front, back;
    for (const harness::Case& value : workspace_.selection.cases) {
      const std::string name = harness::format_case(value);
      if (!finished.contains(name)) (failed.contains(name) ? front : back).push_back(value);
    }
    std::ranges::move(back, std::back_inserter(front));
    return front;
  }

  const Options options_;
  const CheckRequest& request_;
  Teller teller_;
  Workspace workspace_;
};

// Exceptions end here: out of a child's body they would abort it.
void be_check(int channel, const Options& options, const CheckRequest& request) {
  using Kind = CheckEnded::Kind;
  const Teller teller(channel);
  try {
    Checking checking(channel, options, request);
    checking.run();
    teller.tell(CheckEnded{});
  } catch (const metal::CompileError& error) {
    teller.tell(CheckEnded{Kind::compile_error, error.what()});
  } catch (const std::exception& error) {
    teller.tell(CheckEnded{Kind::other_error, error.what()});
  }
}

}  // namespace

Check::Check(const Options& options, const CheckRequest& request) {
  base::Ends channel = base::make_socket("check");
  const base::ChildSetup setup{.name = "process for a check", .interrupts = base::Interrupts::ignored, .channel = channel.theirs.number()};
  process_ = base::Process(setup, [&](int own) { be_check(own, options, request); });
  client_.emplace(std::move(channel.ours), kLongestMessage);
}

Check::~Check() {
  client_.reset();
  if (!process_.end_within(kPatience)) process_.kill();
}

std::optional<CheckMessage> Check::receive() {
  using Kind = base::Client::Message::Kind;
  const std::optional<base::Client::Message> message = client_->receive();
  if (!message) return std::nullopt;
  if (message->kind == Kind::answer) {
    try {
      return base::from_bytes<CheckMessage>(message->bytes);
    } catch (const base::DamagedArchive& damaged) {
      return CheckEnded{CheckEnded::Kind::other_error, damaged.what()};
    }
  }
  return CheckEnded{CheckEnded::Kind::other_error, fmt::format("the process that ran the cases ended: {}", process_.kill().to_string())};
}

}  // namespace assay::cli
