// A process that executes cases, so that whatever a kernel does to it, ours goes on.
//
// A worker is forked: it starts with everything this process has prepared (the cases and the compiled kernels above all), and
// what it changes is its own. Forking takes a process of one thread: in the child, a lock that another thread held would stay
// locked.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/server.h"
#include "harness/findings/verdict.h"

namespace assay::harness {

// What a worker does with its case. An exception becomes a verdict: std::bad_alloc `crashed`, any other `mistrusted`.
using CaseFunction = std::function<Verdict(const Case&)>;

class Worker {
 public:
  // Forks. `cases` and `execute` must outlive it. Throws metal::EnvironmentError if the system grants no process, memory or
  // descriptor for it.
  Worker(std::span<const Case> cases, const CaseFunction& execute);
  // Sets it to work on cases[index]; only if it is not at work.
  void assign(std::size_t index);
  // Readable when receive() has something to do.
  [[nodiscard]] int descriptor() const { return server_.descriptor(); }
  // Takes what has arrived, without waiting for more. The verdict on the case at work, once there is one: the worker's own, or
  // `crashed` with what ended the process in `faults`. Nothing else may be assigned after a crash.
  [[nodiscard]] std::optional<Verdict> receive();

  // Whether somebody else ended the process by SIGKILL.
  [[nodiscard]] bool was_killed() const { return was_killed_; }
  [[nodiscard]] const base::Process& process() const { return server_.process(); }

  [[nodiscard]] bool is_at_work() const { return at_work_; }
  // The case at work, or the last one.
  [[nodiscard]] std::size_t index() const { return index_; }
  // How many it was given before that one.
  [[nodiscard]] std::size_t cases_before() const { return assigned_ - 1; }

 private:
  [[nodiscard]] Verdict verdict_of(const base::Reply& reply);
  [[nodiscard]] Verdict crashed(Fault how) const;

  std::span<const Case> cases_;
  base::Server server_;
  std::size_t index_ = 0;
  std::size_t assigned_ = 0;
  bool at_work_ = false;
  bool was_killed_ = false;
};

}  // namespace assay::harness
