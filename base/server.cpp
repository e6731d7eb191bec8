// The two sides of a child that answers requests: framing, deadlines and last words.
#include "base/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/text.h"

namespace assay::base {
namespace {

// The message of a child without memory; it needs no allocation.
constexpr int kExitOutOfMemory = 117;
constexpr std::size_t kLongestQuote = 200;  // characters quoted from a dying process
// Between closing its descriptors and its end, a process needs only a moment.
constexpr std::chrono::seconds kPatience{1};

// Waits until the other side has read some of what is on its way. Returns false if nobody will.
bool wait_for_room(int channel) {
  pollfd room{channel, POLLOUT, 0};
  while (true) {
    const int count = poll(&room, 1, -1);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) return (room.revents & POLLOUT) != 0;
  }
}

bool send_all(int channel, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(channel, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN && wait_for_room(channel)) continue;
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// A message with room for one descriptor.
struct WithDescriptor {
  explicit WithDescriptor(std::span<std::byte> bytes) : part{bytes.data(), bytes.size()} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }

  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec part;
  msghdr header{};
};

// Sends all bytes with it. They are few: the system takes them at once.
bool send_with(int channel, std::span<std::byte> bytes, int descriptor) {
  WithDescriptor message(bytes);
  cmsghdr* header = CMSG_FIRSTHDR(&message.header);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  while (true) {
    const ssize_t count = sendmsg(channel, &message.header, MSG_NOSIGNAL);
    if (count < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_room(channel)))) continue;
    return count == static_cast<ssize_t>(bytes.size());
  }
}

bool send_message(int channel, std::span<const std::byte> message, int descriptor = -1) {
  std::uint64_t length = message.size();
  const auto first = std::as_writable_bytes(std::span(&length, 1));
  return (descriptor < 0 ? send_all(channel, first) : send_with(channel, first, descriptor)) && send_all(channel, message);
}

// Returns false at the end of the stream.
bool receive_all(int channel, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = read(channel, bytes.data(), bytes.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return false;
    if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// A descriptor arrives with the first byte that was sent with it. Returns how many bytes came, 0 at the end of the stream.
std::size_t receive_with(int channel, std::span<std::byte> bytes, Descriptor& descriptor) {
  WithDescriptor message(bytes);
  ssize_t count = 0;
  do count = recvmsg(channel, &message.header, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message.header); header != nullptr; header = CMSG_NXTHDR(&message.header, header)) {
    int number = -1;
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    descriptor = Descriptor(number);
  }
  return static_cast<std::size_t>(count);
}

// Only a service that takes descriptors over calls recvmsg(), which the process of a kernel may not.
bool receive_message(int channel, Bytes& message, const Service& service) {
  std::uint64_t length = 0;
  std::span<std::byte> rest = std::as_writable_bytes(std::span(&length, 1));
  Descriptor descriptor;
  if (service.take_over) {
    const std::size_t count = receive_with(channel, rest, descriptor);
    if (count == 0) return false;
    rest = rest.subspan(count);
  }
  if (!receive_all(channel, rest)) return false;
  message.resize(length);
  if (!receive_all(channel, message)) return false;
  if (descriptor.number() >= 0) service.take_over(std::move(descriptor));
  return true;
}

// The main loop of the child.
void serve(int channel, const Service& service) {
  try {
    service.begin();
    Bytes request;
    while (receive_message(channel, request, service)) {
      if (!send_message(channel, service.answer(request)) || service.is_over()) return;
    }
  } catch (const std::bad_alloc&) {
    _exit(kExitOutOfMemory);
  }
}

}  // namespace

bool send_to_client(int channel, std::span<const std::byte> message) { return send_message(channel, message); }

void Client::ask(std::span<const std::byte> request, int descriptor) { send_message(channel_.number(), request, descriptor); }

// Does not depend on O_NONBLOCK, which all processes with the channel share.
std::optional<Client::Message> Client::receive() {
  // Two answers may have come at once.
  if (std::optional<Message> message = complete_message()) return message;
  std::array<std::byte, 65536> chunk;
  while (true) {
    const ssize_t count = recv(channel_.number(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return std::nullopt;
    if (count <= 0) return Message{};
    received_.insert(received_.end(), chunk.begin(), chunk.begin() + count);
    if (std::optional<Message> message = complete_message()) return message;
  }
}

Client::Message Client::wait() {
  while (true) {
    if (std::optional<Message> message = receive()) return *std::move(message);
    wait_for_any(std::array{descriptor()}, std::chrono::hours(1));
  }
}

std::optional<Client::Message> Client::complete_message() {
  std::uint64_t length = 0;
  if (received_.size() < sizeof(length)) return std::nullopt;
  std::memcpy(&length, received_.data(), sizeof(length));
  if (length > longest_answer_) return Message{.kind = Message::Kind::too_long, .announced = length};
  const std::span<const std::byte> body = std::span(received_).subspan(sizeof(length));
  if (body.size() < length) return std::nullopt;
  Message message{.kind = Message::Kind::answer, .bytes = {body.begin(), body.begin() + static_cast<std::ptrdiff_t>(length)}};
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(sizeof(length) + length));
  return message;
}

Server::Server(ChildSetup setup, std::uint64_t longest_answer, const Service& service) : client_(Descriptor(), longest_answer) {
  Ends channel = make_socket(setup.name);
  // Output beyond the capacity of the pipe is lost, because it is read only at the end.
  Ends output = make_pipe(setup.name, O_NONBLOCK);
  setup.output = setup.errors = output.theirs.number();
  setup.channel = channel.theirs.number();
  process_ = Process(setup, [&](int own) { serve(own, service); });
  client_ = Client(std::move(channel.ours), longest_answer);
  output_ = std::move(output.ours);
}

std::optional<Reply> Server::receive() {
  std::optional<Client::Message> message = client_.receive();
  if (!message) return std::nullopt;
  switch (message->kind) {
    case Client::Message::Kind::answer:
      return Reply{.bytes = std::move(message->bytes)};
    case Client::Message::Kind::too_long:
      process_.kill();
      return Reply{.kind = Reply::Kind::too_long, .announced = message->announced};
    case Client::Message::Kind::closed:
      break;
  }
  return ended();
}

Reply Server::wait() {
  while (true) {
    if (std::optional<Reply> reply = receive()) return *std::move(reply);
    wait_for_any(std::array{descriptor()}, std::chrono::hours(1));
  }
}

std::optional<Reply> Server::receive_until(std::chrono::steady_clock::time_point deadline) {
  while (true) {
    if (std::optional<Reply> reply = receive()) return reply;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    wait_for_any(std::array{descriptor()}, left);
  }
}

Reply Server::ended() {
  const std::optional<Ending> ending = process_.end_within(kPatience);
  if (!ending) {
    process_.kill();
    return {.kind = Reply::Kind::closed};
  }
  const bool ran_out = ending->kind == Ending::Kind::exited && ending->number == kExitOutOfMemory;
  return {.kind = ran_out ? Reply::Kind::out_of_memory : Reply::Kind::ended, .ending = *ending};
}

std::string Server::last_words() const {
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(read(output_.number(), text.data(), text.size()), 0)));
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (const std::string_view line : lines_of(text)) {
    std::string quote(line.substr(0, kLongestQuote));
    std::ranges::replace_if(quote, [](char c) { return c < ' ' || c > '~'; }, '?');
    if (std::ranges::any_of(quote, is_letter)) return quote;
  }
  return {};
}

IsolatedAnswer<Bytes> answer_of_child(const IsolationLimits& limits, const std::function<Bytes()>& work) {
  using Kind = IsolatedAnswer<Bytes>::Kind;
  const auto deadline = std::chrono::steady_clock::now() + limits.time;
  const ChildSetup setup{.limits = limits.process, .interrupts = Interrupts::ignored};
  Server child(setup, limits.answer_bytes, [&](std::span<const std::byte>) { return work(); });
  child.ask({});
  std::optional<Reply> reply = child.receive_until(deadline);
  if (!reply) return {Kind::late, {}, fmt::format("no answer within {} s", static_cast<double>(limits.time.count()) / 1000.0)};
  switch (reply->kind) {
    case Reply::Kind::answer:
      return {Kind::returned, std::move(reply->bytes), {}};
    case Reply::Kind::too_long:
      return {Kind::died, {}, fmt::format("an answer of more than {} bytes", limits.answer_bytes)};
    case Reply::Kind::out_of_memory:
      return {Kind::died, {}, "out of memory"};
    case Reply::Kind::ended:
      return {Kind::died, {}, reply->ending.to_string()};
    case Reply::Kind::closed:
      return {Kind::died, {}, "it closed the channel for its answer but kept running"};
  }
  return {};
}

}  // namespace assay::base
