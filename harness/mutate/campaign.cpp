#include "harness/mutate/campaign.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "metal/errors.h"

namespace assay::harness {
namespace {

constexpr int kPollMilliseconds = 200;
constexpr double kSlowestTimes = 10;

TrialResult unjudged(std::string reason) {
  TrialResult result;
  result.reason = std::move(reason);
  return result;
}

TrialResult cut_off(Cut cut) {
  TrialResult result = unjudged(cut == Cut::interrupted ? "interrupted" : "the budget was used up");
  result.cut = cut;
  return result;
}

// One process that tries one mutant and writes the result, encoded, into a pipe. Killed when it goes out of scope unfinished.
class TrialProcess {
 public:
  TrialProcess(const Trial& trial, const std::string& mutated, std::chrono::duration<double> timeout, std::size_t index) : index_(index) {
    int ends[2];
    if (pipe(ends) != 0) fail("a pipe for a mutant's result");
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) {
      close(ends[0]);
      close(ends[1]);
      fail("a process for a mutant");
    }
    if (pid_ == 0) {
      close(ends[0]);
      become_trial(parent, trial, mutated, timeout, ends[1]);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  TrialProcess(TrialProcess&& other) noexcept
      : index_(other.index_),
        pid_(std::exchange(other.pid_, -1)),
        output_(std::exchange(other.output_, -1)),
        text_(std::move(other.text_)) {}
  TrialProcess& operator=(TrialProcess&& other) noexcept {
    std::swap(index_, other.index_);
    std::swap(pid_, other.pid_);
    std::swap(output_, other.output_);
    std::swap(text_, other.text_);
    return *this;
  }
  ~TrialProcess() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      static_cast<void>(reap());
    }
    if (output_ >= 0) close(output_);
  }

  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] int output() const { return output_; }

  // Takes what there is to read; true once there will be no more.
  bool read_more() {
    char buffer[4096];
    const ssize_t count = read(output_, buffer, sizeof(buffer));
    if (count > 0) text_.append(buffer, static_cast<std::size_t>(count));
    return count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
  }

  TrialResult finish() {
    const int status = reap();
    if (WIFSIGNALED(status))
      return unjudged(fmt::format("its process was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))));
    try {
      const bool is_cached = text_.starts_with(kCached);
      TrialResult result = TrialResult::decode(std::string_view(text_).substr(is_cached ? kCached.size() : 0));
      result.is_cached = is_cached;
      return result;
    } catch (const std::invalid_argument& error) {
      return unjudged(fmt::format("its process ended with status {} and left no result ({})", WEXITSTATUS(status), error.what()));
    }
  }

 private:
  static constexpr std::string_view kCached = "cached yes\n";

  [[noreturn]] static void fail(std::string_view what) {
    throw metal::EnvironmentError(fmt::format("cannot get {}: {}", what, std::strerror(errno)));
  }

  // Never returns: what the parent would do at its end is not this process's business.
  [[noreturn]] static void become_trial(pid_t parent, const Trial& trial, const std::string& mutated, std::chrono::duration<double> timeout,
                                        int output) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    // Interrupted is interrupted: what is not judged now is judged by the next run.
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    TrialResult result;
    try {
      result = trial.run(mutated, timeout);
    } catch (const std::exception& error) {
      result = unjudged(error.what());
      std::ranges::replace(result.reason, '\n', ' ');
    }
    const std::string text = (result.is_cached ? std::string(kCached) : std::string()) + result.encode();
    for (std::size_t written = 0; written < text.size();) {
      const ssize_t count = write(output, text.data() + written, text.size() - written);
      if (count < 0 && errno != EINTR) _exit(1);
      written += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    }
    _exit(0);
  }

  int reap() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  std::size_t index_;
  pid_t pid_ = -1;
  int output_ = -1;
  std::string text_;
};

// Waits until something can be read or some time has passed.
void wait_for_any(const std::vector<TrialProcess>& running, std::vector<pollfd>& requests) {
  requests.clear();
  for (const TrialProcess& process : running) requests.push_back({process.output(), POLLIN, 0});
  if (poll(requests.data(), requests.size(), kPollMilliseconds) < 0) {
    for (pollfd& request : requests) request.revents = 0;
  }
}

TrialResult judge_alone(const Trial& trial, const std::string& text, std::chrono::duration<double> timeout, const std::atomic<bool>& stop) {
  std::vector<TrialProcess> running;
  running.emplace_back(trial, text, timeout, 0);
  std::vector<pollfd> requests;
  while (!stop) {
    wait_for_any(running, requests);
    if (requests.front().revents != 0 && running.front().read_more()) return running.front().finish();
  }
  return cut_off(Cut::interrupted);
}

}  // namespace

std::vector<TrialResult> run_campaign(const Trial& trial, const Source& source, std::span<const Mutant> mutants,
                                      const CampaignOptions& options, const std::atomic<bool>& stop, CampaignListener& listener) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(options.budget);
  std::vector<TrialResult> results(mutants.size(), cut_off(Cut::interrupted));
  const TrialResult original = judge_alone(trial, source.text(), std::chrono::duration<double>(0), stop);
  if (stop) return results;
  if (original.fate == Fate::unjudged) throw std::runtime_error(fmt::format("{} cannot be judged: {}", source.name(), original.why()));
  if (original.fate != Fate::survived) {
    throw std::invalid_argument(fmt::format(
        "{} is not right before anything is changed in it, and mutants of a wrong kernel prove nothing: under policy {} {} {}: {}",
        source.name(), policy_name(original.policy), to_string(original.verdict), original.case_name, original.why()));
  }
  const auto timeout = std::max(options.timeout, std::chrono::duration<double>(kSlowestTimes * original.slowest_seconds));

  std::vector<TrialProcess> running;
  std::vector<pollfd> requests;
  std::size_t next = 0;
  std::size_t done = 0;
  while (!stop && done < mutants.size()) {
    if (next < mutants.size() && std::chrono::steady_clock::now() >= end) {
      std::fill(results.begin() + static_cast<std::ptrdiff_t>(next), results.end(), cut_off(Cut::out_of_budget));
      done += mutants.size() - next;
      next = mutants.size();
      continue;
    }
    while (running.size() < std::max(1U, options.jobs) && next < mutants.size()) {
      running.emplace_back(trial, mutated_text(source, mutants[next]), timeout, next);
      ++next;
    }
    wait_for_any(running, requests);
    for (std::size_t i = running.size(); i-- > 0;) {
      if (requests[i].revents == 0 || !running[i].read_more()) continue;
      const std::size_t index = running[i].index();
      results[index] = running[i].finish();
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      if (!stop) listener.judged(mutants[index], results[index], ++done, mutants.size());
    }
  }
  return results;
}

}  // namespace assay::harness
