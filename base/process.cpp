// Starts, limits, watches and ends child processes.
#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/text.h"

namespace assay::base {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kExitNotSetUp = 118;
constexpr int kChannel = STDERR_FILENO + 1;  // in a child
static_assert(kPassedOn == kChannel + 1);

// ---- in the child, where another thread of the parent may have held any lock: system calls only

// The child must not run the parent's signal handlers.
void set_signals(const ChildSetup& setup) {
  constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
  for (int number = 1; number < NSIG; ++number) {
    if (setup.keeps_fault_handlers && std::ranges::find(kFaults, number) != kFaults.end()) continue;
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL) signal(number, SIG_DFL);
  }
  if (setup.interrupts == Interrupts::ignored) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
  }
}

void close_between(int first, int last) {
  if (first <= last) close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0);
}

// Duplicates the descriptor to a number above kPassedOn.
int lifted(int descriptor) {
  if (descriptor < 0) return -1;
  const int number = fcntl(descriptor, F_DUPFD_CLOEXEC, kPassedOn + 1);
  if (number < 0) _exit(kExitNotSetUp);
  close(descriptor);
  return number;
}

// Descriptors 0 to 2 may be in use for other purposes, if the parent was started without stdin, stdout or stderr.
void keep_only(const ChildSetup& setup) {
  // Raises the limit of descriptors first, because the parent may use all that it has. Old systems refuse, which is harmless.
  std::array<int, 4> kept = {setup.output, setup.errors, setup.channel, setup.passed_on};
  std::ranges::sort(kept);
  int next = 0;
  for (const int descriptor : kept) {
    close_between(next, descriptor - 1);
    next = std::max(next, descriptor + 1);
  }
  close_between(next, INT_MAX);

  const int output = lifted(setup.output);
  const int errors = setup.errors == setup.output ? output : lifted(setup.errors);
  const int channel = lifted(setup.channel);
  const int passed_on = lifted(setup.passed_on);
  const int null = lifted(open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto place = [null](int descriptor, int number) { dup2(descriptor < 0 ? null : descriptor, number); };
  place(-1, STDIN_FILENO);
  place(output, STDOUT_FILENO);
  place(errors, STDERR_FILENO);
  int next_free = kChannel;
  if (channel >= 0) next_free = dup3(channel, kChannel, O_CLOEXEC) + 1;
  if (passed_on >= 0) next_free = dup3(passed_on, kPassedOn, O_CLOEXEC) + 1;
  close_between(next_free, INT_MAX);
}

std::uint64_t mapped_bytes() {
  std::array<char, 32> text{};  // in pages, before a blank
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  [[maybe_unused]] const ssize_t count = read(file, text.data(), text.size() - 1);
  close(file);
  return strtoull(text.data(), nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void limit(__rlimit_resource resource, std::uint64_t soft, std::uint64_t hard) {
  const rlimit wanted{soft, hard};
  setrlimit(resource, &wanted);
}

void limit_resources(const ProcessLimits& limits) {
  limit(RLIMIT_CORE, 0, 0);
  // The hard limit is a second later, so that the soft limit ends the child with its own signal.
  if (limits.processor_seconds != 0) {
    signal(SIGXCPU, SIG_DFL);
    limit(RLIMIT_CPU, limits.processor_seconds, limits.processor_seconds + 1);
  }
  if (limits.memory_bytes != 0) limit(RLIMIT_AS, limits.memory_bytes, limits.memory_bytes);
  if (limits.added_memory_bytes == 0) return;
  if (const std::uint64_t mapped = mapped_bytes(); mapped != 0)
    limit(RLIMIT_AS, mapped + limits.added_memory_bytes, mapped + limits.added_memory_bytes);
}

void prefer_as_victim() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  constexpr std::string_view kScore = "500";
  [[maybe_unused]] const auto written = write(file, kScore.data(), kScore.size());
  close(file);
}

[[noreturn]] void be_child(const ChildSetup& setup, pid_t parent, const sigset_t& signals, const std::function<void(int)>& body) noexcept {
  // The parent may have ended before the request took effect.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExitNotSetUp);
  set_signals(setup);
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  keep_only(setup);
  prefer_as_victim();
  limit_resources(setup.limits);
  body(setup.channel < 0 ? -1 : kChannel);
  _exit(0);
}

// Pages of memory files that the process has open, whoever wrote them and whether they are still mapped.
std::uint64_t bytes_of_memory_files(pid_t id) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", id), error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    struct stat status = {};
    if (std::filesystem::read_symlink(entry->path(), gone).string().starts_with("/memfd:") && stat(entry->path().c_str(), &status) == 0)
      bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

Ending ending_of(int status) {
  if (WIFSIGNALED(status)) return {Ending::Kind::killed, WTERMSIG(status)};
  return {Ending::Kind::exited, WEXITSTATUS(status)};
}

}  // namespace

void throw_refused(std::string_view what) {
  throw ProcessRefused(fmt::format("cannot create {}: {}", what, std::system_category().message(errno)));
}

Ends make_pipe(std::string_view name, int flags) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | flags) != 0) throw_refused(fmt::format("a pipe for a {}", name));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Ends make_socket(std::string_view name) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_refused(fmt::format("a socket for a {}", name));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::string Ending::to_string() const {
  if (kind == Kind::unknown) return "exit status unknown, because SIGCHLD is ignored";
  return kind == Kind::exited ? fmt::format("exit status {}", number) : fmt::format("signal {} ({})", number, strsignal(number));
}

Process::Process(const ChildSetup& setup, const std::function<void(int)>& body) {
  const pid_t parent = getpid();
  // Signals are blocked while the child is created, so that it never runs a handler of its parent.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  id_ = fork();
  if (id_ == 0) be_child(setup, parent, before, body);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (id_ < 0) throw_refused(fmt::format("a {}", setup.name));
}

Process::Process(Process&& other) noexcept : id_(std::exchange(other.id_, -1)), ending_(other.ending_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(ending_, other.ending_);
  return *this;
}

Process::~Process() {
  if (id_ >= 0) kill();
}

Ending Process::reap(int flags) {
  if (id_ < 0) return ending_;
  int status = 0;
  pid_t ended = 0;
  rusage used{};
  do ended = wait4(id_, &status, flags, &used);
  while (ended < 0 && errno == EINTR);
  if (ended == 0) return {};
  id_ = -1;
  if (ended > 0) {
    ending_ = ending_of(status);
    constexpr double micro = 1e-6;
    ending_.processor_seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                                static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * micro;
  }
  return ending_;
}

std::optional<Ending> Process::end_within(std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  for (reap(WNOHANG); id_ >= 0 && Clock::now() < end; reap(WNOHANG)) wait_for_any({}, std::chrono::milliseconds(1));
  return id_ < 0 ? std::optional(ending_) : std::nullopt;
}

Ending Process::wait() { return reap(0); }

Ending Process::kill() {
  if (id_ >= 0) ::kill(id_, SIGKILL);
  return reap(0);
}

std::vector<pid_t> Process::family() const {
  std::vector<pid_t> all = {id_};
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", id_));
  for (pid_t child = 0; file >> child;) all.push_back(child);
  return all;
}

std::uint64_t Process::resident_bytes() const {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::uint64_t own = 0, most_shared = 0;
  for (const pid_t id : family()) {
    std::ifstream file(fmt::format("/proc/{}/statm", id));
    std::uint64_t size = 0, resident = 0, shared = 0;
    if (!(file >> size >> resident >> shared)) continue;
    own += (resident - std::min(resident, shared)) * page;
    // What one of them shares is mostly the others' too.
    most_shared = std::max(most_shared, shared * page);
  }
  return own + std::max(most_shared, bytes_of_memory_files(id_));
}

std::chrono::nanoseconds Process::processor_time() const {
  std::uint64_t ticks = 0;
  for (const pid_t id : family()) {
    std::ifstream file(fmt::format("/proc/{}/stat", id));
    const std::string text = read_all(file);
    std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size())));
    constexpr int kBefore = 12;  // fields from the name's end to the first of the two times, in proc(5)
    std::string skipped;
    for (int field = 0; field < kBefore; ++field) fields >> skipped;
    std::uint64_t user = 0, system = 0;
    if (fields >> user >> system) ticks += user + system;
  }
  return std::chrono::nanoseconds(std::chrono::seconds(1)) * static_cast<std::int64_t>(ticks) / sysconf(_SC_CLK_TCK);
}

std::chrono::nanoseconds Process::waited() const {
  std::int64_t all = 0;
  for (const pid_t id : family()) {
    std::ifstream file(fmt::format("/proc/{}/schedstat", id));
    std::int64_t ran = 0, waited = 0;
    if (file >> ran >> waited) all += waited;
  }
  return std::chrono::nanoseconds(all);
}

void wait_for_any(std::span<const int> descriptors, std::chrono::milliseconds longest) {
  std::vector<pollfd> requests;
  requests.reserve(descriptors.size());
  for (const int descriptor : descriptors) requests.push_back({descriptor, POLLIN, 0});
  poll(requests.data(), requests.size(), static_cast<int>(longest.count()));
}

// A joined thread may still be listed for a moment.
std::size_t count_threads() {
  // qemu has a thread of its own in each process whose program it translates, and carries it over a fork (.ci/aarch64).
  const char* emulator = std::getenv("ASSAY_THREADS_OF_EMULATOR");
  const std::size_t others = emulator == nullptr ? 0 : std::strtoul(emulator, nullptr, 10);
  for (const Clock::time_point end = Clock::now() + std::chrono::seconds(1);; wait_for_any({}, std::chrono::milliseconds(1))) {
    std::error_code unreadable;
    const auto tasks = std::filesystem::directory_iterator("/proc/self/task", unreadable);
    const auto threads = unreadable ? 1 : static_cast<std::size_t>(std::distance(tasks, std::filesystem::directory_iterator()));
    if (threads <= 1 + others || Clock::now() >= end) return threads - std::min(others, threads - 1);
  }
}

}  // namespace assay::base
