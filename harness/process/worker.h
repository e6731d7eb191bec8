// A process that executes cases and judges them. Their kernels run in a further process (execute/kernel_process.h).
//
// A worker is forked: it starts with everything that this process has prepared, above all the cases and the compiled kernels, and its
// changes affect only itself. Forking requires a process with a single thread, because a lock that another thread holds would stay
// locked in the child.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/server.h"
#include "harness/findings/verdict.h"

namespace assay::harness {

// The function that a worker calls for its case. An exception becomes a verdict: std::bad_alloc `crashed`, any other `mistrusted`.
using CaseFunction = std::function<Verdict(const Case&)>;

class Worker {
 public:
  // A GPU whose process the worker is to use (GpuPool).
  struct UsedGpu {
    int channel = -1;  // -1: none
    unsigned number = 0;
  };
  // Forks. `cases` and `execute` must outlive the worker. Throws metal::EnvironmentError if the system grants no process,
  // memory or descriptor.
  Worker(std::span<const Case> cases, const CaseFunction& execute, const UsedGpu& gpu);
  // Starts work on cases[index]. Call it only while the worker is idle.
  void assign(std::size_t index);
  // Readable when receive() has something to read.
  [[nodiscard]] int descriptor() const { return server_.descriptor(); }
  // Reads what has arrived, without waiting for more. Returns the verdict on the current case once there is one: the worker's own, or
  // `crashed` with the cause of the end in `faults`. After a crash, nothing else may be assigned.
  [[nodiscard]] std::optional<Verdict> receive();

  // Whether another process ended this one by SIGKILL.
  [[nodiscard]] bool was_killed() const { return was_killed_; }
  [[nodiscard]] const base::Process& process() const { return server_.process(); }

  [[nodiscard]] bool is_at_work() const { return at_work_; }
  // The current case, or the last one.
  [[nodiscard]] std::size_t index() const { return index_; }
  // The number of cases assigned before that one.
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
