// A child process that answers requests one after the other, so that whatever one of them does to it, this process goes on.
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

// What a child answers to a request. Out of memory (std::bad_alloc), it ends; any other exception aborts it.
using Answerer = std::function<Bytes(std::span<const std::byte> request)>;

// What comes back: an answer, or how it came about that there is none.
struct Reply {
  enum class Kind {
    answer,
    too_long,       // it announced an answer of more bytes than it may give, and was killed
    out_of_memory,  // it had none left
    ended,
    closed,  // it closed its channel and ran on, and was killed
  } kind = Kind::answer;
  Bytes bytes = {};             // of the answer
  std::uint64_t announced = 0;  // bytes of what was too long
  Ending ending = {};           // of what ended
};

// What it writes to stdout and stderr is kept as far as a pipe holds it, for last_words().
class Server {
 public:
  // As Process; of `setup` the descriptors are set here. Everything that `answer` refers to is copied with this process.
  Server(ChildSetup setup, std::uint64_t longest_answer, const Answerer& answer);

  // Some kilobytes at most, and only if no answer is due. Should the child have died meanwhile, receive() will tell.
  void ask(std::span<const std::byte> request);
  // Readable when receive() has something to do.
  [[nodiscard]] int descriptor() const { return channel_.number(); }
  // Takes what has arrived, without waiting for more. Nothing: no answer yet. After anything but an answer there is no other.
  [[nodiscard]] std::optional<Reply> receive();
  // Waits until then.
  [[nodiscard]] std::optional<Reply> receive_until(std::chrono::steady_clock::time_point deadline);

  // The first line with a letter in it: allocators and sanitizers name the damage there. Printable, and no longer than a line.
  [[nodiscard]] std::string last_words() const;
  [[nodiscard]] Process& process() { return process_; }
  [[nodiscard]] const Process& process() const { return process_; }

 private:
  [[nodiscard]] std::optional<Reply> reply_in_message();
  [[nodiscard]] Reply ended();

  std::uint64_t longest_answer_;
  Descriptor channel_;  // requests go out, answers come in; in front of each stands its length
  Descriptor output_;
  Process process_;
  Bytes message_;
};

// ---- one function, called in a child

struct IsolationLimits {
  ProcessLimits process = {};
  std::chrono::milliseconds time{0};  // from start to answer
  std::uint64_t answer_bytes = 0;     // the longest answer that is accepted, as an archive
};

template <typename T>
struct IsolatedAnswer {
  enum class Kind { returned, threw, died, late } kind = Kind::died;
  T value = {};      // what was returned
  std::string text;  // what() of what was thrown; how it died
};

// What one answer of a child is, as bytes; never `threw`.
[[nodiscard]] IsolatedAnswer<Bytes> answer_of_child(const IsolationLimits& limits, const std::function<Bytes()>& work);

// Runs `work` in a child and hands over what it returns. The child shares nothing with this process but memory mapped as shared; it prints
// nothing and never outlives the call. Throws ProcessRefused.
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
