// Lets the CPU threads of a dispatch execute their threadgroups at the same time, until one of them must run alone.
#pragma once

#include <condition_variable>
#include <mutex>

namespace assay::metal::execute {

// To contain a stray access, a page is mapped at its address, which all CPU threads would see. So from the first stray access on, the
// threadgroups of the dispatch run one at a time. Then no other threadgroup can read what one writes to such a page.
class Turns {
 public:
  // Called at the start of each threadgroup.
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

  // Called in the middle of a threadgroup. Returns when no other threadgroup runs; none starts until this one has ended.
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
