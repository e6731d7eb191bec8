// A robust mutex in memory that forks share.
#include "base/turns.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cmath>
#include <ctime>
#include <new>
#include <system_error>
#include <utility>

namespace assay::base {

struct Turns::Shared {
  pthread_mutex_t mutex;
};

Turns::Turns() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "shared memory for turns");
  shared_ = new (memory) Shared;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&shared_->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

Turns::~Turns() { munmap(shared_, sizeof(Shared)); }

Turns::Turn Turns::take(std::chrono::duration<double> longest) {
  timespec end{};
  clock_gettime(CLOCK_REALTIME, &end);
  const double whole = std::floor(longest.count());
  end.tv_sec += static_cast<time_t>(whole);
  end.tv_nsec += static_cast<long>((longest.count() - whole) * 1e9);
  if (end.tv_nsec >= 1'000'000'000) end.tv_sec += 1, end.tv_nsec -= 1'000'000'000;
  const int result = pthread_mutex_timedlock(&shared_->mutex, &end);
  // Its holder has ended. Nothing but the turn itself is shared.
  if (result == EOWNERDEAD) pthread_mutex_consistent(&shared_->mutex);
  return result == 0 || result == EOWNERDEAD ? Turn(this) : Turn();
}

Turns::Turn::Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}

Turns::Turn::~Turn() {
  if (turns_ != nullptr) pthread_mutex_unlock(&turns_->shared_->mutex);
}

}  // namespace assay::base
