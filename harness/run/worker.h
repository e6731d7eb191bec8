// A process that executes cases, so that whatever a kernel does to it, ours goes on.
//
// A worker is forked: it starts with everything this process has prepared (the cases and the compiled kernels above all), and
// what it changes is its own. Forking takes a process of one thread: in the child, a lock that another thread held would stay
// locked.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/run/verdict.h"

namespace assay::harness {

// What a worker does with its case. An exception becomes a verdict: std::bad_alloc `crashed`, any other `mistrusted`.
using CaseFunction = std::function<Verdict(const Case&)>;

// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

class Worker {
 public:
  // Forks. `cases` and `execute` must outlive it. Throws metal::EnvironmentError if the system grants no process, memory or
  // descriptor for it.
  Worker(std::span<const Case> cases, const CaseFunction& execute);
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&&) = delete;
  // Kills the process if it still runs, and leaves no zombie.
  ~Worker();

  // Sets it to work on cases[index]; only if it is not at work.
  void assign(std::size_t index);
  // Readable when receive() has something to do.
  [[nodiscard]] int descriptor() const { return channel_.number(); }
  // Takes what has arrived, without waiting for more. The verdict on the case at work, once there is one: the worker's own, or
  // `crashed` with what ended the process in `faults`. Nothing else may be assigned after a crash.
  [[nodiscard]] std::optional<Verdict> receive();

  // Whether somebody else ended the process by SIGKILL.
  [[nodiscard]] bool was_killed() const { return was_killed_; }
  // Of its memory, what is in use; 0 if the system does not tell.
  [[nodiscard]] std::uint64_t resident_bytes() const;
  // How long it has been ready to run while others had the processors, since its start; 0 if the system does not tell.
  [[nodiscard]] std::chrono::nanoseconds waited() const;

  [[nodiscard]] bool is_at_work() const { return at_work_; }
  // The case at work, or the last one.
  [[nodiscard]] std::size_t index() const { return index_; }
  // How many it was given before that one.
  [[nodiscard]] std::size_t cases_before() const { return assigned_ - 1; }

 private:
  [[nodiscard]] std::optional<Verdict> ended();
  [[nodiscard]] std::optional<Verdict> verdict_in_message();
  // Status as waitpid() gives it; nothing while the process runs, and if the system does not tell (SIGCHLD is ignored).
  std::optional<int> reap(int flags);
  void kill_and_reap();
  [[nodiscard]] Verdict crashed(Fault how) const;
  [[nodiscard]] std::string last_words() const;

  std::span<const Case> cases_;
  Descriptor channel_;  // indices go out, verdicts come in
  Descriptor output_;   // what it writes to stdout and stderr: nothing, unless its end is a noisy one
  std::vector<std::byte> message_;
  std::size_t index_ = 0;
  std::size_t assigned_ = 0;
  bool at_work_ = false;
  bool was_killed_ = false;
  pid_t process_ = -1;  // -1: it has ended and was reaped
};

}  // namespace assay::harness
