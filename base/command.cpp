// Starts a command, drains its output under limits, and waits for its end.
#include "base/command.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>

#include "base/descriptor.h"
#include "base/process.h"

namespace assay::base {
namespace {

using Clock = std::chrono::steady_clock;

// What a command says before it starts, on a pipe that exec closes.
struct Start {
  pid_t id = -1;
  int reason = 0;  // the errno of a failed exec
};

// Waits until exec has succeeded or failed.
Start read_start(const Ends& pipe) {
  Start start;
  std::array<int, 2> numbers{};
  std::size_t bytes = 0;
  for (;;) {
    const auto count = read(pipe.ours.number(), reinterpret_cast<char*>(numbers.data()) + bytes, sizeof numbers - bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    bytes += static_cast<std::size_t>(count);
  }
  if (bytes >= sizeof(int)) start.id = numbers[0];
  if (bytes == sizeof numbers) start.reason = numbers[1];
  return start;
}

// Ends what the command has started and left behind. Its own id stands for the group until it is reaped.
void end_group(pid_t id) {
  if (id > 0) ::kill(-id, SIGKILL);
}

enum class Drained { all, too_much, too_late, stopped };

// How often a command that may be stopped is looked at, besides the signals that arrive.
constexpr std::int64_t kLongestWait = 100;  // ms

// Reads both pipes alternately, so that the child never blocks on a full one. The group ends with the command, so that no other process
// keeps the pipes open.
Drained drain(const Ends& output, const Ends& errors, pid_t id, CommandResult& result, const CommandLimits& limits) {
  const Descriptor command(static_cast<int>(syscall(SYS_pidfd_open, id, 0)));  // -1 on old systems: then the time limit ends the others
  std::array<pollfd, 3> waiting = {pollfd{output.ours.number(), POLLIN, 0}, pollfd{errors.ours.number(), POLLIN, 0},
                                   pollfd{command.number(), POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&result.output, &result.errors};
  const Clock::time_point end = Clock::now() + std::chrono::seconds(limits.seconds);
  std::array<char, 65536> chunk;
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (limits.seconds != 0 && left <= 0) return Drained::too_late;
    if (limits.stop != nullptr && *limits.stop) return Drained::stopped;
    std::int64_t patience = limits.seconds == 0 ? -1 : std::min<std::int64_t>(left, 1 << 30);
    if (limits.stop != nullptr) patience = patience < 0 ? kLongestWait : std::min(patience, kLongestWait);
    if (poll(waiting.data(), waiting.size(), static_cast<int>(patience)) < 0) {
      if (errno != EINTR) return Drained::all;
      continue;
    }
    if (waiting[2].revents != 0) {
      end_group(id);
      waiting[2] = {-1, 0, 0};
    }
    for (std::size_t which = 0; which < texts.size(); ++which) {
      if (waiting[which].fd < 0 || waiting[which].revents == 0) continue;
      const auto count = read(waiting[which].fd, chunk.data(), chunk.size());
      if (count > 0) {
        texts[which]->append(chunk.data(), static_cast<std::size_t>(count));
        if (texts[which]->size() > limits.output_bytes) return Drained::too_much;
      } else if (count == 0 || errno != EINTR) {
        waiting[which].fd = -1;
      }
    }
  }
  return Drained::all;
}

// What a command sees of this process's environment, which holds secrets of the user.
std::vector<std::string> clean_environment(const std::filesystem::path& temporary_directory) {
  const char* path = std::getenv("PATH");
  const char* temporary = std::getenv("TMPDIR");
  std::vector<std::string> variables = {"LANG=C.UTF-8", fmt::format("PATH={}", path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path)};
  if (!temporary_directory.empty()) {
    variables.push_back("TMPDIR=" + temporary_directory.string());
  } else if (temporary != nullptr) {
    variables.push_back(fmt::format("TMPDIR={}", temporary));
  }
  return variables;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& arguments, const CommandLimits& limits,
                          const std::filesystem::path& temporary_directory, const Reach* reach) {
  if (reach != nullptr) prepare_sandbox();
  std::vector<char*> raw;
  for (const auto& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  std::vector<std::string> environment = clean_environment(temporary_directory);
  std::vector<char*> variables;
  for (auto& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);

  const ChildSetup plain;
  Ends output = make_pipe(plain.name), errors = make_pipe(plain.name), started = make_pipe(plain.name);
  const ChildSetup setup{.limits = {.memory_bytes = limits.memory_bytes, .processor_seconds = limits.processor_seconds},
                         .output = output.theirs.number(),
                         .errors = errors.theirs.number(),
                         .channel = started.theirs.number()};
  // Other threads may be running, so the child makes only system calls until exec.
  Process child(setup, [&](int channel) {
    setsid();
    std::array<int, 2> start = {getpid(), 0};
    [[maybe_unused]] auto written = write(channel, start.data(), sizeof start[0]);
    if (reach != nullptr) confine_compiler(*reach);
    execvpe(raw[0], raw.data(), variables.data());
    start[1] = errno;
    written = write(channel, &start[1], sizeof start[1]);
    _exit(127);
  });
  for (Ends* pipe : {&output, &errors, &started}) pipe->theirs.close();
  const Start start = read_start(started);
  if (start.reason != 0)
    throw ProcessRefused(fmt::format("cannot start {}: {}", arguments[0], std::system_category().message(start.reason)));

  CommandResult result;
  const Drained drained = drain(output, errors, start.id, result, limits);
  result.is_cut = drained == Drained::too_much;
  result.is_stopped = drained == Drained::stopped;
  bool is_late = drained == Drained::too_late;
  if (drained != Drained::all) end_group(start.id);
  // A command may have closed its pipes and run on.
  for (const auto end = Clock::now() + std::chrono::seconds(limits.seconds);;) {
    siginfo_t test_case = {};
    const bool is_limited = limits.seconds != 0 || limits.stop != nullptr;
    const bool waits = is_limited && !is_late && !result.is_stopped;
    const int failed = waitid(P_PID, static_cast<id_t>(start.id), &test_case, WEXITED | WNOWAIT | (waits ? WNOHANG : 0));
    if (failed != 0 && errno == EINTR) continue;
    if (failed != 0 || !waits || test_case.si_pid != 0) break;
    is_late = limits.seconds != 0 && Clock::now() >= end;
    result.is_stopped = limits.stop != nullptr && *limits.stop;
    if (is_late || result.is_stopped) end_group(start.id);
    wait_for_any({}, std::chrono::milliseconds(1));
  }
  end_group(start.id);
  const Ending ending = child.wait();
  const bool is_killed = ending.kind == Ending::Kind::killed;
  result.is_late = is_late;
  // Behind the limit of processor time, a program that handles the signal may not get to its end before the kernel kills it.
  const bool is_used_up = limits.processor_seconds != 0 && ending.processor_seconds >= static_cast<double>(limits.processor_seconds) &&
                          ending.number == SIGKILL;
  result.was_killed = is_killed && ending.number == SIGKILL && !is_used_up && !result.is_cut && !result.is_stopped && !is_late;
  result.exit_code = is_killed ? 128 + (is_used_up ? SIGXCPU : ending.number) : ending.number;
  return result;
}

}  // namespace assay::base
