// Distributes the threadgroups of a dispatch over CPU threads, and sorts their hazards.
#include "metal/execute/dispatch.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <tuple>

namespace assay::metal::execute {

namespace {

// A pool of threadgroup executors, which keep their stacks from one dispatch to the next.
class Executors {
 public:
  std::unique_ptr<Threadgroup> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Threadgroup>();
    auto executor = std::move(idle_.back());
    idle_.pop_back();
    return executor;
  }
  void give_back(std::unique_ptr<Threadgroup> executor) {
    executor->counters = {};
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(executor));
  }
  static Executors& instance() {
    static Executors executors;
    return executors;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Threadgroup>> idle_;
};

void add(ExecutionCounters& total, const ExecutionCounters& part) {
  total.threadgroups += part.threadgroups;
  total.meeting_points += part.meeting_points;
  total.collectives += part.collectives;
  total.divergent_collectives += part.divergent_collectives;
  total.matrix_multiplies += part.matrix_multiplies;
}

class Run {
 public:
  explicit Run(const Dispatch& dispatch) : dispatch_(dispatch), count_(dispatch.launch.grid.count()) {}

  std::vector<Hazard> operator()(ExecutionCounters& counters) {
    work_all();
    if (!failure_ && starts_again()) {
      next_ = 0;
      found_.clear();
      counters_ = {};
      is_again_ = true;
      if (dispatch_.start_again) dispatch_.start_again();
      work_all();
    }
    if (failure_) std::rethrow_exception(failure_);
    add(counters, counters_);
    std::ranges::sort(found_,
                      [](const Found& a, const Found& b) { return std::tie(a.threadgroup, a.order) < std::tie(b.threadgroup, b.order); });
    std::vector<Hazard> hazards;
    for (Found& found : found_) merge(hazards, std::move(found.hazard));
    return hazards;
  }

 private:
  struct Found {
    std::uint64_t threadgroup;
    std::size_t order;  // within the threadgroup
    Hazard hazard;
  };
  static constexpr std::size_t kEnd = ~std::size_t{0};  // sorts last

  // If a threadgroup cannot stay vectors, all run on fibers, which overwrite what the others have written. Where the dispatch also reads
  // what it writes, only the later ones do, unless an observer has seen the others.
  [[nodiscard]] bool starts_again() const {
    const bool overwrites = dispatch_.launch.kept_buffers == 0 || dispatch_.launch.observer != nullptr;
    return dispatch_.engine == Engine::vector && !as_vectors_ && overwrites && !is_again_;
  }

  void work_all() {
    const auto workers = static_cast<unsigned>(std::min<std::uint64_t>(std::max(1u, dispatch_.threads), count_));
    std::vector<std::jthread> others;
    for (unsigned worker = 1; worker < workers; ++worker) others.emplace_back([this] { work(); });
    work();
  }

  void work() {
    try {
      auto executor = Executors::instance().take();
      executor->forget_kept();
      for (std::uint64_t index = next_++; index < count_ && !starts_again(); index = next_++) {
        if (auto hazard = executor->run(launch_of(index))) {
          const std::lock_guard lock(mutex_);
          found_.push_back({index, kEnd, std::move(*hazard)});
        }
      }
      auto incidents = executor->take_incidents();
      const std::lock_guard lock(mutex_);
      for (std::size_t order = 0; order < incidents.size(); ++order)
        found_.push_back({incidents[order].threadgroup, order, std::move(incidents[order].hazard)});
      add(counters_, executor->counters);
      Executors::instance().give_back(std::move(executor));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }

  Threadgroup::Launch launch_of(std::uint64_t index) {
    Threadgroup::Launch launch = dispatch_.launch;
    if (dispatch_.threads > 1) launch.turns = &turns_;
    if (dispatch_.engine == Engine::vector && !is_again_) launch.as_vectors = &as_vectors_;
    const Size3& grid = launch.grid;
    launch.position = {static_cast<std::uint32_t>(index % grid.x), static_cast<std::uint32_t>(index / grid.x % grid.y),
                       static_cast<std::uint32_t>(index / grid.x / grid.y)};
    const auto at_edge = [](std::uint32_t position, std::uint32_t full, std::uint32_t total) {
      return std::min(full, total - position * full);
    };
    launch.threads = {at_edge(launch.position.x, launch.dispatch_threads.x, launch.total_threads.x),
                      at_edge(launch.position.y, launch.dispatch_threads.y, launch.total_threads.y),
                      at_edge(launch.position.z, launch.dispatch_threads.z, launch.total_threads.z)};
    return launch;
  }

  const Dispatch& dispatch_;
  std::uint64_t count_;
  std::atomic<std::uint64_t> next_ = 0;
  std::mutex mutex_;
  std::vector<Found> found_;
  Turns turns_;
  std::atomic<bool> as_vectors_ = true;
  bool is_again_ = false;
  ExecutionCounters counters_;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<Hazard> run(const Dispatch& dispatch, ExecutionCounters& counters) { return Run(dispatch)(counters); }

}  // namespace assay::metal::execute
