#include "harness/run/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "harness/run/verdict_wire.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

// A verdict takes some kilobytes; a thousand times that can only come from a process that has lost its mind. In front of each
// stands its length.
constexpr std::size_t kLongestMessage = std::size_t{16} << 20;
// How a worker says that memory ran out, when it has none left to say it with.
constexpr int kExitOutOfMemory = 117;
constexpr int kExitNoChannel = 118;
constexpr std::size_t kLongestQuote = 200;  // characters of what a dying process wrote
// Between closing its descriptors and being gone, a process has next to nothing to do.
constexpr std::chrono::seconds kPatience{1};

[[noreturn]] void throw_refused(std::string_view what) {
  throw metal::EnvironmentError(fmt::format("the system refuses {}: {}; run fewer cases at a time", what, std::strerror(errno)));
}

// Ctrl-C and SIGTERM reach the whole process group, and it is for the supervisor to decide what they mean. Blocked while forking,
// so that a worker never runs the supervisor's handlers.
class BlockedInterrupts {
 public:
  BlockedInterrupts() {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before_);
  }
  BlockedInterrupts(const BlockedInterrupts&) = delete;
  BlockedInterrupts& operator=(const BlockedInterrupts&) = delete;
  ~BlockedInterrupts() { restore(); }
  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Where memory runs out, the system is to take a worker and spare the supervisor, which knows what to make of it.
void prefer_as_victim() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  constexpr std::string_view kScore = "500";
  [[maybe_unused]] const auto written = write(file, kScore.data(), kScore.size());
  close(file);
}

// Returns `channel` under another number.
int become_worker(pid_t supervisor, int channel, int output, const BlockedInterrupts& interrupts) {
  // It must not outlive the supervisor, which may have ended before the request took effect.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(0);
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  interrupts.restore();

  // In a supervisor that was started without stdin, stdout or stderr, the new descriptors may have taken their numbers.
  channel = fcntl(channel, F_DUPFD, STDERR_FILENO + 1);
  if (channel < 0) _exit(kExitNoChannel);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  // Descriptors of the supervisor are none of a worker's business, and a wild write() shall not find them. Refused by old
  // systems, which does no harm.
  if (channel > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, static_cast<unsigned>(channel) - 1, 0);
  close_range(static_cast<unsigned>(channel) + 1, ~0U, 0);

  // Every crash of a kernel would leave a file.
  constexpr rlimit kNone = {0, 0};
  setrlimit(RLIMIT_CORE, &kNone);
  prefer_as_victim();
  return channel;
}

Verdict execute_and_catch(const Case& about, const CaseFunction& execute) {
  try {
    return execute(about);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    Verdict verdict;
    verdict.about = about;
    verdict.is_internal = true;
    verdict.faults = {fault::InternalFailure{error.what()}};
    return verdict;
  }
}

bool send_all(int channel, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(channel, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// False at the end of the stream.
bool receive_all(int channel, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = read(channel, bytes.data(), bytes.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return false;
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// The whole life of a worker. It ends without destructors, exit handlers and buffered output, all of which are the supervisor's.
[[noreturn]] void work(std::span<const Case> cases, const CaseFunction& execute, int channel) noexcept {
  try {
    std::uint64_t index = 0;
    while (receive_all(channel, std::as_writable_bytes(std::span(&index, 1)))) {
      const std::vector<std::byte> message = encode_verdict(execute_and_catch(cases[index], execute));
      const std::uint64_t length = message.size();
      if (!send_all(channel, std::as_bytes(std::span(&length, 1))) || !send_all(channel, message)) break;
    }
  } catch (const std::bad_alloc&) {
    _exit(kExitOutOfMemory);
  }
  _exit(0);
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Worker::Worker(std::span<const Case> cases, const CaseFunction& execute) : cases_(cases) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_refused("a socket for a worker process");
  channel_ = Descriptor(ends[0]);
  const Descriptor channel_of_worker(ends[1]);
  // Whoever writes more than a pipe holds loses the rest; nobody reads before the end.
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw_refused("a pipe for a worker process");
  output_ = Descriptor(ends[0]);
  const Descriptor output_of_worker(ends[1]);

  const pid_t supervisor = getpid();
  const BlockedInterrupts interrupts;
  process_ = fork();
  if (process_ == 0) work(cases, execute, become_worker(supervisor, channel_of_worker.number(), output_of_worker.number(), interrupts));
  if (process_ < 0) throw_refused("a worker process");
  fcntl(channel_.number(), F_SETFL, O_NONBLOCK);
}

Worker::Worker(Worker&& other) noexcept
    : cases_(other.cases_),
      channel_(std::move(other.channel_)),
      output_(std::move(other.output_)),
      message_(std::move(other.message_)),
      index_(other.index_),
      assigned_(other.assigned_),
      at_work_(other.at_work_),
      was_killed_(other.was_killed_),
      process_(std::exchange(other.process_, -1)) {}

Worker::~Worker() { kill_and_reap(); }

std::optional<int> Worker::reap(int flags) {
  int status = 0;
  pid_t ended = 0;
  do ended = waitpid(process_, &status, flags);
  while (ended < 0 && errno == EINTR);
  if (ended == 0) return std::nullopt;
  process_ = -1;
  if (ended < 0) return std::nullopt;
  return status;
}

void Worker::kill_and_reap() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  reap(0);
}

void Worker::assign(std::size_t index) {
  index_ = index;
  ++assigned_;
  at_work_ = true;
  message_.clear();
  const std::uint64_t request = index;
  // Should it have died meanwhile, receive() will find out.
  send_all(channel_.number(), std::as_bytes(std::span(&request, 1)));
}

std::optional<Verdict> Worker::receive() {
  std::array<std::byte, 65536> chunk;
  while (true) {
    const ssize_t count = read(channel_.number(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return std::nullopt;
    std::optional<Verdict> verdict;
    if (count <= 0) {
      verdict = ended();
    } else {
      message_.insert(message_.end(), chunk.begin(), chunk.begin() + count);
      verdict = verdict_in_message();
    }
    if (verdict) {
      at_work_ = false;
      return verdict;
    }
  }
}

std::optional<Verdict> Worker::verdict_in_message() {
  std::uint64_t length = 0;
  if (message_.size() < sizeof(length)) return std::nullopt;
  std::memcpy(&length, message_.data(), sizeof(length));
  const std::span<const std::byte> body = std::span(message_).subspan(sizeof(length));
  if (length <= kLongestMessage && body.size() < length) return std::nullopt;
  try {
    if (length > kLongestMessage) throw MalformedVerdict(fmt::format("announced as {} bytes", length));
    return decode_verdict(body.first(length), cases_[index_]);
  } catch (const MalformedVerdict& malformed) {
    kill_and_reap();
    return crashed(fault::MalformedVerdict{malformed.what(), last_words()});
  }
}

std::optional<Verdict> Worker::ended() {
  const auto patience_ends = std::chrono::steady_clock::now() + kPatience;
  std::optional<int> status = reap(WNOHANG);
  while (process_ >= 0 && std::chrono::steady_clock::now() < patience_ends) {
    poll(nullptr, 0, 1);
    status = reap(WNOHANG);
  }
  if (process_ >= 0) {
    kill_and_reap();
    return crashed(fault::ClosedChannel{last_words()});
  }
  if (!status) return crashed(fault::Vanished{last_words()});
  if (WIFSIGNALED(*status)) {
    const int number = WTERMSIG(*status);
    was_killed_ = number == SIGKILL;
    return crashed(fault::Killed{static_cast<std::uint64_t>(number), last_words()});
  }
  const int code = WEXITSTATUS(*status);
  if (code == kExitOutOfMemory) return crashed(fault::OutOfMemory{last_words()});
  return crashed(fault::Exited{static_cast<std::uint64_t>(code), last_words()});
}

std::uint64_t Worker::resident_bytes() const {
  std::ifstream file(fmt::format("/proc/{}/statm", process_));
  std::uint64_t size = 0, resident = 0;
  if (!(file >> size >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::chrono::nanoseconds Worker::waited() const {
  std::ifstream file(fmt::format("/proc/{}/schedstat", process_));
  std::int64_t ran = 0, waited = 0;
  if (!(file >> ran >> waited)) return std::chrono::nanoseconds::zero();
  return std::chrono::nanoseconds(waited);
}

Verdict Worker::crashed(Fault how) const {
  Verdict verdict;
  verdict.about = cases_[index_];
  verdict.status = Status::crashed;
  verdict.schedules = metal::Schedule{}.to_string();
  verdict.faults = {std::move(how)};
  return verdict;
}

// The first line with a letter in it: allocators and sanitizers name the damage there.
std::string Worker::last_words() const {
  std::array<char, 4096> text;
  const ssize_t count = read(output_.number(), text.data(), text.size());
  if (count <= 0) return {};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto end = text.begin() + count;
  for (auto line = text.begin(); line != end;) {
    const auto line_end = std::find(line, end, '\n');
    if (std::any_of(line, line_end, is_letter)) {
      std::string quote(line, line + std::min<std::ptrdiff_t>(line_end - line, kLongestQuote));
      std::ranges::replace_if(quote, [](char c) { return c < ' ' || c > '~'; }, '?');
      return quote;
    }
    line = line_end == end ? end : line_end + 1;
  }
  return {};
}

}  // namespace assay::harness
