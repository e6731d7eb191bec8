// A child process that answers requests, so that a crash in one of them does not affect this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "base/archive.h"
#include "base/descriptor.h"
#include "base/process.h"

namespace assay::base {

// Computes the answer to a request in the child. std::bad_alloc ends the child; any other exception aborts it.
using Answerer = std::function<Bytes(std::span<const std::byte> request)>;

// What a child does.
struct Service {
  Answerer answer;
  // Called before the first request arrives.
  std::function<void()> begin = [] {};
  // Called before the answer, with a descriptor that came with the request. Without this function, no descriptor is received.
  std::function<void(Descriptor)> take_over = {};
  // Called after an answer; the child ends if it is true.
  std::function<bool()> is_over = [] { return false; };
};

// Asks a child over its channel, also one that another process has started: then this process cannot see how the child ended.
class Client {
 public:
  Client(Descriptor channel, std::uint64_t longest_answer) : longest_answer_(longest_answer), channel_(std::move(channel)) {}

  // Sends a request, waiting while the child reads a long one; only if no answer is pending. If the child has died, receive() reports it.
  // The child gets a copy of `descriptor`, if there is one.
  void ask(std::span<const std::byte> request, int descriptor = -1);
  // A descriptor that is readable when receive() has something to do.
  [[nodiscard]] int descriptor() const { return channel_.number(); }

  struct Message {
    enum class Kind { answer, too_long, closed } kind = Kind::closed;
    Bytes bytes = {};             // the answer
    std::uint64_t announced = 0;  // announced size of a too long answer
  };
  // Reads what has arrived, without waiting. Nothing: no answer yet. After a failure there are no further answers.
  [[nodiscard]] std::optional<Message> receive();
  [[nodiscard]] Message wait();

 private:
  [[nodiscard]] std::optional<Message> complete_message();

  std::uint64_t longest_answer_;
  Descriptor channel_;  // carries requests and answers, each preceded by its length
  Bytes received_;
};

// For a child that reports without being asked: sends a message, which a Client at the other end of the channel receives as an answer.
// Waits while the Client reads earlier ones. False if nobody will receive it.
[[nodiscard]] bool send_to_client(int channel, std::span<const std::byte> message);

// The result of a request: an answer, or the reason why there is none.
struct Reply {
  enum class Kind {
    answer,
    too_long,       // the answer exceeded the size limit; the child was killed
    out_of_memory,  // the child ran out of memory
    ended,
    closed,  // the child closed its channel but kept running; it was killed
  } kind = Kind::answer;
  Bytes bytes = {};             // the answer
  std::uint64_t announced = 0;  // announced size of a too long answer
  Ending ending = {};           // how the child ended
};

// Keeps what the child writes to stdout and stderr, up to the capacity of a pipe, for last_words().
class Server {
 public:
  // Like Process; the descriptors of `setup` are set here. Everything that `answer` refers to is copied by the fork.
  Server(ChildSetup setup, std::uint64_t longest_answer, const Service& service);
  Server(const ChildSetup& setup, std::uint64_t longest_answer, const Answerer& answer) : Server(setup, longest_answer, Service{answer}) {}

  // As a Client's.
  void ask(std::span<const std::byte> request, int descriptor = -1) { client_.ask(request, descriptor); }
  [[nodiscard]] int descriptor() const { return client_.descriptor(); }
  [[nodiscard]] std::optional<Reply> receive();
  // The same, but waits: for as long as it takes, or until `deadline`.
  [[nodiscard]] Reply wait();
  [[nodiscard]] std::optional<Reply> receive_until(std::chrono::steady_clock::time_point deadline);

  // The first line that contains a letter: allocators and sanitizers report the damage there. Printable, and at most one line long.
  [[nodiscard]] std::string last_words() const;
  [[nodiscard]] Process& process() { return process_; }
  [[nodiscard]] const Process& process() const { return process_; }

 private:
  [[nodiscard]] Reply ended();

  Client client_;
  Descriptor output_;
  Process process_;
};

// ---- one function, called in a child

struct IsolationLimits {
  ProcessLimits process = {};
  std::chrono::milliseconds time{0};  // time limit from start to answer
  std::uint64_t answer_bytes = 0;     // size limit of the answer, as an archive
};

template <typename T>
struct IsolatedAnswer {
  enum class Kind { returned, threw, died, late } kind = Kind::died;
  T value = {};      // the returned value
  std::string text;  // what() of the exception, or how the child died
};

// A result as bytes; never `threw`.
[[nodiscard]] IsolatedAnswer<Bytes> answer_of_child(const IsolationLimits& limits, const std::function<Bytes()>& work);

// Runs `work` in a child and returns its result. The child shares only memory that is mapped as shared, prints nothing, and never outlives
// the call. Throws ProcessRefused.
template <typename T>
[[nodiscard]] IsolatedAnswer<T> call_isolated(const IsolationLimits& limits, const std::function<T()>& work) {
  using Kind = typename IsolatedAnswer<T>::Kind;
  using Outcome = std::variant<T, std::string>;
  const IsolatedAnswer<Bytes> answer = answer_of_child(limits, [&] {
    Outcome outcome;
    try {
      outcome.template emplace<0>(work());
    } catch (const std::bad_alloc&) {
      outcome.template emplace<1>("it needs more memory than it may take");
    } catch (const std::exception& error) {
      outcome.template emplace<1>(error.what());
    }
    return to_bytes(outcome);
  });
  if (answer.kind != IsolatedAnswer<Bytes>::Kind::returned) return {static_cast<Kind>(answer.kind), {}, answer.text};
  try {
    auto outcome = from_bytes<Outcome>(answer.value);
    if (outcome.index() == 0) return {Kind::returned, std::get<0>(std::move(outcome)), {}};
    return {Kind::threw, {}, std::get<1>(std::move(outcome))};
  } catch (const DamagedArchive& damaged) {
    return {Kind::died, {}, damaged.what()};
  }
}

}  // namespace assay::base
