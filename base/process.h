// Child processes: the one place where they start, and the one place where they end.
//
// A child starts as a copy of this process and keeps nothing of its descriptors but those that are named. It has /dev/null for standard
// input, writes no core file, is the first that the system takes where memory runs out, and never outlives the thread that started it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::base {

// The system grants no process, or no descriptor to talk with it: "the system refuses a pipe for a worker process: Too many open files".
class ProcessRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// `what` was refused, with the reason in errno.
[[noreturn]] void throw_refused(std::string_view what);

// What a child may take; 0: what the machine has.
struct ProcessLimits {
  std::uint64_t memory_bytes = 0;        // address space
  std::uint64_t added_memory_bytes = 0;  // the same, beyond what it has when it starts; for want of /proc no limit
  std::uint64_t processor_seconds = 0;   // of computing: SIGXCPU
};

// What SIGINT and SIGTERM do to a child. They reach every process of a terminal, and often it is for the parent to say what they mean.
enum class Interrupts { ignored, fatal };

struct ChildSetup {
  std::string_view name = "child process";  // in messages
  ProcessLimits limits = {};
  Interrupts interrupts = Interrupts::fatal;
  bool keeps_fault_handlers = false;  // those that this process has set up, for SIGSEGV and the like; else faults end the child
  int output = -1, errors = -1;       // descriptors that become stdout and stderr; -1: /dev/null
  int channel = -1;                   // the one further descriptor that it keeps, closed by exec
};

struct Ending {
  enum class Kind { exited, killed, unknown } kind = Kind::unknown;  // unknown: SIGCHLD is ignored
  int number = 0;                                                    // exit status; signal

  // "exit status 7", "signal 11 (Segmentation fault)"
  [[nodiscard]] std::string to_string() const;
};

// Owns a child: killed and reaped with this object at the latest.
class Process {
 public:
  Process() = default;  // none
  // Runs `body` in a child, with the number that the channel has there, -1 if there is none; the child exits with 0 when that returns, and
  // without destructors, exit handlers and buffered output, all of which are this process's. What `body` throws aborts the child. Where
  // other threads run, a lock that one of them holds stays locked in the child. Throws ProcessRefused.
  Process(const ChildSetup& setup, const std::function<void(int channel)>& body);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  // Waits at most so long. How it ended, once and for all; nothing while it runs.
  std::optional<Ending> end_within(std::chrono::milliseconds patience);
  Ending wait();
  // By SIGKILL, unless it has ended already: then of its own cause.
  Ending kill();

  // Of its memory, what is in use; 0 if the system does not tell.
  [[nodiscard]] std::uint64_t resident_bytes() const;
  // How long it has been ready to run while others had the processors, since its start; 0 if the system does not tell.
  [[nodiscard]] std::chrono::nanoseconds waited() const;

 private:
  Ending reap(int flags);

  pid_t id_ = -1;  // -1: reaped
  Ending ending_;
};

// Waits until something can be read from one of them or the other side is closed, until a signal comes, or so long.
void wait_for_any(std::span<const int> descriptors, std::chrono::milliseconds longest);

// How many threads this process has; waits a second for others to end.
[[nodiscard]] std::size_t count_threads();

}  // namespace assay::base
