// File descriptors that are closed with their owner, and with exec.
#pragma once

#include <unistd.h>

#include <string_view>
#include <utility>

namespace assay::base {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  [[nodiscard]] int number() const { return number_; }  // -1: none
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

// A pipe passes data from `theirs` to `ours`; a socket works both ways. Throws ProcessRefused: "a pipe for a " `name`.
struct Ends {
  Descriptor ours, theirs;
};
[[nodiscard]] Ends make_pipe(std::string_view name, int flags = 0);
[[nodiscard]] Ends make_socket(std::string_view name);

}  // namespace assay::base
