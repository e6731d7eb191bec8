// Starts and ends child processes; nothing else in the program does.
//
// A child is a fork of this process that keeps only the named descriptors. Its standard input is /dev/null, it writes no core file, the
// system kills it first when memory runs out, and it never outlives the thread that started it.
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
#include <vector>

namespace assay::base {

// The system refused to create a process or descriptor: "cannot create a pipe for a worker process: Too many open files".
class ProcessRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// `what` could not be created, with the reason in errno.
[[noreturn]] void throw_refused(std::string_view what);

// Resource limits of a child; 0: unlimited.
struct ProcessLimits {
  std::uint64_t memory_bytes = 0;        // address space
  std::uint64_t added_memory_bytes = 0;  // the same, relative to its size at the start; no limit without /proc
  std::uint64_t processor_seconds = 0;   // processor time; exceeding it raises SIGXCPU
};

// How a child handles SIGINT and SIGTERM. A terminal sends SIGINT to the whole process group, so often only the parent should react.
enum class Interrupts { ignored, fatal };

struct ChildSetup {
  std::string_view name = "child process";  // in messages
  ProcessLimits limits = {};
  Interrupts interrupts = Interrupts::fatal;
  bool keeps_fault_handlers = false;  // keeps this process's handlers of SIGSEGV and similar signals; else faults end the child
  int output = -1, errors = -1;       // descriptors that become stdout and stderr; -1: /dev/null
  int channel = -1;                   // an additional descriptor that it keeps, closed by exec
  int passed_on = -1;                 // another one, which it has as kPassedOn
};
inline constexpr int kPassedOn = 4;

struct Ending {
  enum class Kind { exited, killed, unknown } kind = Kind::unknown;  // unknown: SIGCHLD is ignored
  int number = 0;                                                    // exit status; signal
  double processor_seconds = 0;                                      // that it and its ended children used

  // "exit status 7", "signal 11 (Segmentation fault)"
  [[nodiscard]] std::string to_string() const;
};

// Owns a child, and kills and reaps it in the destructor at the latest.
class Process {
 public:
  Process() = default;  // no child
  // Runs `body` in a child with the channel's descriptor there, -1 without one. When `body` returns, the child exits with 0, without
  // destructors, exit handlers or flushing buffers, which belong to this process. An exception of `body` aborts the child. A lock that
  // another thread holds stays locked in the child. Throws ProcessRefused.
  Process(const ChildSetup& setup, const std::function<void(int channel)>& body);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  // Waits at most this long. Returns how the child ended; nothing while it runs. Later calls return the same.
  std::optional<Ending> end_within(std::chrono::milliseconds patience);
  Ending wait();
  // Kills the child with SIGKILL. If it has already ended, its own ending is returned.
  Ending kill();

  // Resident memory in bytes, its own and that of its children, with all of the memory files (memfd_create) that it has open; 0 if
  // unknown.
  [[nodiscard]] std::uint64_t resident_bytes() const;
  // What all threads of it and of its present children have computed; 0 if unknown.
  [[nodiscard]] std::chrono::nanoseconds processor_time() const;
  // How long it and its present children have waited for a processor since their start; 0 if unknown.
  [[nodiscard]] std::chrono::nanoseconds waited() const;

 private:
  Ending reap(int flags);
  [[nodiscard]] std::vector<pid_t> family() const;  // itself and its children

  pid_t id_ = -1;  // -1: reaped
  Ending ending_;
};

// Waits until one of them is readable or closed by the other side, a signal arrives, or the time is over.
void wait_for_any(std::span<const int> descriptors, std::chrono::milliseconds longest);

// The number of threads of this process; waits up to a second for others to end.
[[nodiscard]] std::size_t count_threads();

}  // namespace assay::base
