// Starts a command, drains its output under limits, and waits for its end.
#include "base/command.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/descriptor.h"
#include "base/process.h"

namespace assay::base {
namespace {

// Reads both pipes alternately, so that the child never blocks on a full one. Returns false if one delivers more than `most` bytes.
bool drain(const Ends& output, const Ends& errors, CommandResult& result, std::size_t most) {
  std::array<pollfd, 2> waiting = {pollfd{output.ours.number(), POLLIN, 0}, pollfd{errors.ours.number(), POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&result.output, &result.errors};
  std::array<char, 65536> chunk;
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return true;
    for (std::size_t which = 0; which < waiting.size(); ++which) {
      if (waiting[which].fd < 0 || waiting[which].revents == 0) continue;
      const auto count = read(waiting[which].fd, chunk.data(), chunk.size());
      if (count > 0) {
        texts[which]->append(chunk.data(), static_cast<std::size_t>(count));
        if (texts[which]->size() > most) return false;
      } else if (count == 0 || errno != EINTR) {
        waiting[which].fd = -1;
      }
    }
  }
  return true;
}

// The errno of a failed exec; 0 on success, when exec closes the pipe.
int failed(const Ends& failure) {
  int reason = 0;
  ssize_t count = 0;
  do count = read(failure.ours.number(), &reason, sizeof reason);
  while (count < 0 && errno == EINTR);
  return count == sizeof reason ? reason : 0;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& arguments, const CommandLimits& limits,
                          const std::filesystem::path& temporary_directory) {
  std::vector<char*> raw;
  for (const auto& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  // The first definition of a variable takes precedence.
  std::string place = "TMPDIR=" + temporary_directory.string();
  std::vector<char*> variables;
  if (!temporary_directory.empty()) variables.push_back(place.data());
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  variables.push_back(nullptr);

  const ChildSetup plain;
  Ends output = make_pipe(plain.name), errors = make_pipe(plain.name), failure = make_pipe(plain.name);
  const ChildSetup setup{.limits = {.memory_bytes = limits.memory_bytes, .processor_seconds = limits.processor_seconds},
                         .output = output.theirs.number(),
                         .errors = errors.theirs.number(),
                         .channel = failure.theirs.number()};
  // Other threads may be running, so the child makes only system calls until exec.
  Process child(setup, [&](int channel) {
    execvpe(raw[0], raw.data(), variables.data());
    const int reason = errno;
    [[maybe_unused]] const auto written = write(channel, &reason, sizeof reason);
    _exit(127);
  });
  for (Ends* pipe : {&output, &errors, &failure}) pipe->theirs.close();
  if (const int reason = failed(failure); reason != 0)
    throw ProcessRefused(fmt::format("cannot start {}: {}", arguments[0], std::system_category().message(reason)));

  CommandResult result;
  result.is_cut = !drain(output, errors, result, limits.output_bytes);
  const Ending ending = result.is_cut ? child.kill() : child.wait();
  const bool is_killed = ending.kind == Ending::Kind::killed;
  result.was_killed = is_killed && ending.number == SIGKILL && !result.is_cut;
  result.exit_code = is_killed ? 128 + ending.number : ending.number;
  return result;
}

}  // namespace assay::base
