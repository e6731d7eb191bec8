#include "metal/compile/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "metal/errors.h"

extern char** environ;

namespace assay::metal::compile {

namespace {

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw EnvironmentError(fmt::format("no pipe for a child process: {}", std::strerror(errno)));
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_end(std::size_t which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// Drains both pipes together, so that a child which fills one of them does not block. False if one gives more than `most` bytes.
bool drain(Pipe& first, std::string& first_text, Pipe& second, std::string& second_text, std::size_t most) {
  std::array<pollfd, 2> waiting = {pollfd{first.read_end(), POLLIN, 0}, pollfd{second.read_end(), POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&first_text, &second_text};
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

// A limit of 0 is none. The hard one comes a second later, so that what reaches it dies of its own signal.
void limit(pid_t child, __rlimit_resource resource, std::uint64_t most) {
  if (most == 0) return;
  const rlimit wanted{most, most + 1};
  prlimit(child, resource, &wanted, nullptr);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const ProcessLimits& limits,
                          const std::filesystem::path& temporary_directory) {
  std::vector<char*> raw;
  for (const auto& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  // The first of a name counts.
  std::string place = "TMPDIR=" + temporary_directory.string();
  std::vector<char*> variables;
  if (!temporary_directory.empty()) variables.push_back(place.data());
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  variables.push_back(nullptr);
  Pipe output;
  Pipe errors;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.write_end(), STDERR_FILENO);
  pid_t child = 0;
  const int status = posix_spawnp(&child, raw[0], &actions, nullptr, raw.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) throw EnvironmentError(fmt::format("cannot start {}: {}", arguments[0], std::strerror(status)));
  limit(child, RLIMIT_AS, limits.memory_bytes);
  limit(child, RLIMIT_CPU, limits.processor_seconds);
  output.close_end(1);
  errors.close_end(1);
  ProcessResult result;
  result.is_cut = !drain(output, result.output, errors, result.errors, limits.output_bytes);
  if (result.is_cut) kill(child, SIGKILL);
  int wait_status = 0;
  while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
  }
  // Its own doing it cannot be, nor that of what it compiled.
  if (!result.is_cut && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL)
    throw EnvironmentError(fmt::format("{} was killed (signal 9), and not by assay: is memory short?", arguments[0]));
  result.exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  return result;
}

}  // namespace assay::metal::compile
