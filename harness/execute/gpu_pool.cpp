// Starts processes that have a GPU, lends them, and replaces those that have ended or may be damaged.
#include "harness/execute/gpu_pool.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "harness/execute/gpu_service.h"
#include "harness/prepare/gpu_driver.h"

namespace assay::harness {

struct GpuPool::Place {
  base::Server server;
  std::size_t cases = 0;
  bool is_lent = false;
  bool is_spoiled = false;

  [[nodiscard]] bool is_sound() { return !is_spoiled && !server.process().end_within(std::chrono::milliseconds(0)); }
};

namespace {

std::map<unsigned, GpuPool>& pools() {
  static std::map<unsigned, GpuPool> all;
  return all;
}

}  // namespace

GpuPool::GpuPool(unsigned gpu) : gpu_(gpu) { on_gpu::prepare_turns(); }

GpuPool::~GpuPool() = default;

GpuPool& GpuPool::of(const metal::DeviceChoice& device) { return pools().try_emplace(device.number, device.number).first->second; }

void GpuPool::end_all() { pools().clear(); }

void GpuPool::start(std::size_t count) {
  while (places_.size() < count) places_.push_back({on_gpu::start(used_driver(), gpu_)});
}

GpuPool::Loan GpuPool::lend(bool unused) {
  const auto serves = [unused](Place& place) { return !place.is_lent && place.is_sound() && (!unused || place.cases == 0); };
  auto chosen = std::ranges::find_if(places_, serves);
  if (chosen == places_.end()) {
    // An idle process that does not serve is replaced, so that their number stays.
    const auto idle = std::ranges::find_if(places_, [](const Place& place) { return !place.is_lent; });
    if (idle != places_.end()) places_.erase(idle);
    places_.push_back({on_gpu::start(used_driver(), gpu_)});
    chosen = std::prev(places_.end());
  }
  chosen->is_lent = true;
  return Loan(*chosen);
}

GpuPool::Loan::Loan(Loan&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}

GpuPool::Loan& GpuPool::Loan::operator=(Loan&& other) noexcept {
  std::swap(place_, other.place_);
  return *this;
}

GpuPool::Loan::~Loan() {
  if (place_ != nullptr) place_->is_lent = false;
}

int GpuPool::Loan::channel() const { return place_ == nullptr ? -1 : place_->server.descriptor(); }

std::size_t GpuPool::Loan::cases_before() const { return place_ == nullptr || place_->cases == 0 ? 0 : place_->cases - 1; }

void GpuPool::Loan::count_case() {
  if (place_ != nullptr) ++place_->cases;
}

void GpuPool::Loan::spoil() {
  if (place_ != nullptr) place_->is_spoiled = true;
}

}  // namespace assay::harness
