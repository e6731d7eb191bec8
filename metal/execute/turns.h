// Lets the CPU threads of a dispatch execute their threadgroups at the same time, until one of them has to be alone.
#pragma once

#include <condition_variable>
#include <mutex>

namespace assay::metal::execute {

// A stray access is contained by mapping a page at its address, which all CPU threads would see. So from the first one on, the threadgroups
// of the dispatch run one at a time: no other can read what one of them writes to such a page.
class Turns {
 public:
  // Around each threadgroup.
  void begin(bool& is_mine) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_serial_ || running_ == 0; });
    ++running_;
    is_mine = is_serial_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  // In the middle of a threadgroup: returns when no other one runs, and none will until this one has ended.
  void be_alone(bool& is_mine) {
    if (is_mine) return;
    std::unique_lock lock(mutex_);
    is_serial_ = true;
    --running_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return running_ == 0; });
    ++running_;
    is_mine = true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_serial_ = false;
  unsigned running_ = 0;  // threadgroups that do not wait
};

}  // namespace assay::metal::execute
