// Turns that a process and its forks take one after the other, for what only one of them has room for.
#pragma once

#include <chrono>

namespace assay::base {

class Turns {
 public:
  // Forks that are made later share it. Throws std::system_error.
  Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns();

  // Holds a turn until its end. The turn of a process that ends, however it ends, is over.
  class Turn {
   public:
    Turn() = default;
    explicit Turn(Turns* of) : turns_(of) {}
    Turn(Turn&& other) noexcept;
    Turn& operator=(Turn&&) = delete;
    ~Turn();
    // Whether the wait was long enough.
    [[nodiscard]] bool is_taken() const { return turns_ != nullptr; }

   private:
    Turns* turns_ = nullptr;
  };
  // Waits for the turn, but not longer than that.
  [[nodiscard]] Turn take(std::chrono::duration<double> longest);

 private:
  struct Shared;
  Shared* shared_;
};

}  // namespace assay::base
