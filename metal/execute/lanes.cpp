// Runs the lanes of a threadgroup: meeting points, barriers, and the turns of SIMD-groups.
#include "metal/execute/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/mix.h"
#include "metal/buffer.h"
#include "metal/execute/collectives.h"
#include "metal/execute/faults.h"
#include "metal/execute/shadow_cells.h"
#include "metal/execute/shadowed_collectives.h"
#include "metal/limits.h"

namespace assay::metal::execute {

namespace {

void lane_main(void* owner) {
  flow_begun();
  auto& lane = *static_cast<Lane*>(owner);
  for (;;) {
    lane.group->threadgroup->module().entry(&lane);
    const LaneMask bit = LaneMask{1} << lane.index;
    lane.group->runnable &= ~bit;
    lane.group->finished |= bit;
    lane.group->threadgroup->leave(lane);
  }
}

// Negative if `a` is behind `b` in program order, 0 if they are at the same site of the same iteration.
int compare_progress(const SimdGroup& group, const Lane& a, const Lane& b, const abi::Module& module) {
  const std::uint32_t number_a = group.sites[a.index];
  const std::uint32_t number_b = group.sites[b.index];
  const abi::Site& site_a = module.sites[number_a];
  const abi::Site& site_b = module.sites[number_b];
  const auto depth = std::min(site_a.depth, site_b.depth);
  for (std::uint32_t level = 0; level < depth && site_a.loops[level] == site_b.loops[level]; ++level) {
    if (a.iteration[level] != b.iteration[level]) return a.iteration[level] < b.iteration[level] ? -1 : 1;
  }
  if (number_a != number_b) return number_a < number_b ? -1 : 1;
  return 0;
}

std::string count_of(LaneMask lanes, std::string_view noun) {
  const int count = std::popcount(lanes);
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

// Whether all waiting lanes are at the same site of the same iteration.
bool SimdGroup::are_together() const {
  const auto leader = static_cast<std::size_t>(std::countr_zero(waiting));
  const std::uint32_t site = sites[leader];
  const std::uint32_t depth = threadgroup->module().sites[site].depth;
  // The loop covers all lanes, because that needs no branches; lanes that do not wait are masked out.
  LaneMask elsewhere = 0;
  for (std::uint32_t lane = 0; lane < abi::kLanes; ++lane) elsewhere |= LaneMask{sites[lane] != site} << lane;
  for (std::uint32_t level = 0; level < depth; ++level) {
    const std::uint32_t iteration = lanes[leader].iteration[level];
    for (std::uint32_t lane = 0; lane < abi::kLanes; ++lane) elsewhere |= LaneMask{lanes[lane].iteration[level] != iteration} << lane;
  }
  return (elsewhere & waiting) == 0;
}

LaneMask SimdGroup::hindmost() const {
  const abi::Module& module = threadgroup->module();
  const Lane* first = &lanes[std::countr_zero(waiting)];
  LaneMask result = LaneMask{1} << first->index;
  for (LaneMask rest = waiting & (waiting - 1); rest != 0; rest &= rest - 1) {
    const Lane& lane = lanes[std::countr_zero(rest)];
    const int order = compare_progress(*this, lane, *first, module);
    if (order > 0) continue;
    if (order < 0) {
      first = &lane;
      result = 0;
    }
    result |= LaneMask{1} << lane.index;
  }
  return result;
}

void SimdGroup::resolve() {
  const LaneMask meeting = are_together() ? waiting : hindmost();
  const std::uint32_t site = sites[static_cast<std::size_t>(std::countr_zero(meeting))];
  const Lane& first = lanes[std::countr_zero(meeting)];
  const auto service = static_cast<abi::Service>(threadgroup->module().sites[site].service);
  const bool all = meeting == waiting;
  ++threadgroup->counters.meeting_points;
  if (Observer* observer = threadgroup->observer()) observer->met(site);
  if (service != abi::kBarrier) {
    if (service != abi::kStore && service != abi::kReconverge) {
      ++threadgroup->counters.collectives;
      if (!all) ++threadgroup->counters.divergent_collectives;
    }
    threadgroup->module().shadows == abi::kNoShadows ? perform(*this, meeting) : perform_shadowed(*this, meeting);
    waiting &= ~meeting;
    runnable = meeting;
    return;
  }

  const bool for_threadgroup = first.request.words[0] == 1;
  const std::string name = for_threadgroup ? "threadgroup_barrier" : "simdgroup_barrier";
  if (!all) {
    const Lane& other = lanes[std::countr_zero(waiting & ~meeting)];
    threadgroup->abort(
        threadgroup->barrier_divergence(site, fmt::format("{} reached {}", count_of(meeting, "lane"), name), sites[other.index],
                                        fmt::format("{} of the same SIMD-group went", count_of(waiting & ~meeting, "lane"))));
    return;
  }
  if (!for_threadgroup) {
    if (Observer* observer = threadgroup->observer())
      observer->simdgroup_barrier(first.builtins[abi::kSimdgroupIndexInThreadgroup][0], first.request.words[1]);
    waiting = 0;
    runnable = meeting;
    return;
  }
  if (finished != 0) {
    threadgroup->abort(
        threadgroup->barrier_divergence(site, fmt::format("{} reached {}", count_of(meeting, "lane"), name), std::nullopt,
                                        fmt::format("{} of the same SIMD-group had returned from the kernel", count_of(finished, "lane"))));
    return;
  }
  barrier_site = site;
}

Threadgroup::Threadgroup() = default;

Threadgroup::~Threadgroup() = default;

SourceLocation Threadgroup::location(std::uint32_t site) const {
  const abi::Site& place = module().sites[site];
  return {module().files[place.file], place.line};
}

Hazard Threadgroup::barrier_divergence(std::uint32_t site, const std::string& who, std::optional<std::uint32_t> other,
                                       const std::string& what) const {
  Hazard hazard;
  hazard.kind = HazardKind::barrier_divergence;
  hazard.first = location(site);
  hazard.message = fmt::format("{}:{}: barrier divergence: {} here, but {}", hazard.first.file, hazard.first.line, who, what);
  if (other) {
    hazard.second = location(*other);
    hazard.message += fmt::format(" to {}:{}", hazard.second->file, hazard.second->line);
  }
  hazard.message += fmt::format(" (threadgroup {}, {}, {})", launch_->position.x, launch_->position.y, launch_->position.z);
  return hazard;
}

void Threadgroup::prepare_lane(Lane& lane, const Launch& launch, std::uint32_t thread) {
  const auto set = [&lane](abi::Builtin which, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    lane.builtins[which][0] = x;
    lane.builtins[which][1] = y;
    lane.builtins[which][2] = z;
  };
  const auto set_size = [&set](abi::Builtin which, const Size3& size) { set(which, size.x, size.y, size.z); };
  const std::uint32_t x = thread % launch.threads.x;
  const std::uint32_t y = thread / launch.threads.x % launch.threads.y;
  const std::uint32_t z = thread / launch.threads.x / launch.threads.y;
  set(abi::kThreadPositionInThreadgroup, x, y, z);
  // Threadgroups at a ragged edge keep their place in the grid of full ones.
  set(abi::kThreadPositionInGrid, launch.position.x * launch.dispatch_threads.x + x, launch.position.y * launch.dispatch_threads.y + y,
      launch.position.z * launch.dispatch_threads.z + z);
  set_size(abi::kThreadgroupPositionInGrid, launch.position);
  set_size(abi::kThreadgroupsPerGrid, launch.grid);
  set_size(abi::kThreadsPerThreadgroup, launch.threads);
  set_size(abi::kDispatchThreadsPerThreadgroup, launch.dispatch_threads);
  set_size(abi::kThreadsPerGrid, launch.total_threads);
  const auto threads = static_cast<std::uint32_t>(launch.threads.count());
  const auto dispatched = static_cast<std::uint32_t>(launch.dispatch_threads.count());
  set(abi::kThreadIndexInThreadgroup, thread, 0, 0);
  set(abi::kThreadIndexInSimdgroup, thread % abi::kLanes, 0, 0);
  set(abi::kSimdgroupIndexInThreadgroup, thread / abi::kLanes, 0, 0);
  set(abi::kSimdgroupsPerThreadgroup, (threads + abi::kLanes - 1) / abi::kLanes, 0, 0);
  set(abi::kDispatchSimdgroupsPerThreadgroup, (dispatched + abi::kLanes - 1) / abi::kLanes, 0, 0);
  set(abi::kThreadsPerSimdgroup, abi::kLanes, 0, 0);
  set(abi::kThreadIndexInQuadgroup, thread % 4, 0, 0);
  set(abi::kQuadgroupIndexInThreadgroup, thread / 4, 0, 0);
  set(abi::kQuadgroupsPerThreadgroup, (threads + 3) / 4, 0, 0);
  set(abi::kDispatchQuadgroupsPerThreadgroup, (dispatched + 3) / 4, 0, 0);
  set(abi::kGridOrigin, 0, 0, 0);
  set_size(abi::kGridSize, launch.total_threads);
  set(abi::kChoice, launch.choice, 0, 0);
  lane.kept_buffers = launch.kept_buffers;
  lane.observer = launch.observer;
  lane.quick = nullptr;
  lane.block_counts = nullptr;
  if (launch.module->shadows != abi::kNoShadows) {
    lane.cells = ShadowCells::instance().data();
    lane.shadowed_buffers = launch.shadowed_buffers;
    lane.weights = nullptr;
    lane.is_watched = 0;
  }
  if (launch.observer != nullptr) launch.observer->prepare(lane);
  std::copy(launch.buffers->begin(), launch.buffers->end(), lane.buffers);
  for (std::size_t index = 0; index < abi::kMaxBuffers; ++index)
    lane.threadgroup_arguments[index] = memory_->data() + (*launch.threadgroup_offsets)[index];
  lane.threadgroup_memory = reinterpret_cast<char*>(memory_->data());
}

void Threadgroup::prepare_groups(const Launch& launch) {
  launch_ = &launch;
  hazard_.reset();
  strays_.begin_threadgroup((std::uint64_t{launch.position.z} * launch.grid.y + launch.position.y) * launch.grid.x + launch.position.x);
  random_state_ = launch.schedule.seed;
  for (const auto coordinate : {launch.position.x, launch.position.y, launch.position.z})
    random_state_ = base::next_random(random_state_) ^ coordinate;
  if (!memory_ || memory_->size() != launch.threadgroup_bytes) memory_.emplace(launch.threadgroup_bytes);
  memory_->poison(kReadPoisonWord);
  const auto threads = static_cast<std::uint32_t>(launch.threads.count());
  active_groups_ = (threads + abi::kLanes - 1) / abi::kLanes;
  while (groups_.size() < active_groups_) {
    lanes_.push_back(std::make_unique<std::array<Lane, abi::kLanes>>());
    for (std::uint32_t index = 0; index < abi::kLanes; ++index) {
      (*lanes_.back())[index].index = index;
    }
    SimdGroup group;
    group.threadgroup = this;
    group.lanes = lanes_.back()->data();
    groups_.push_back(group);
  }
  for (std::size_t number = 0; number < active_groups_; ++number) {
    SimdGroup& group = groups_[number];
    const auto first = static_cast<std::uint32_t>(number * abi::kLanes);
    const auto count = std::min(abi::kLanes, threads - first);
    group.existing = count == abi::kLanes ? ~LaneMask{0} : (LaneMask{1} << count) - 1;
    group.runnable = group.existing;
    group.waiting = 0;
    group.finished = 0;
    group.barrier_site.reset();
    for_each_lane(group, group.existing, [&](Lane& lane) { lane.group = &group; });
  }
}

void Threadgroup::begin(Observer& observer, const Launch& launch) const {
  observer.begin_threadgroup({launch.position,
                              static_cast<std::uint32_t>(launch.threads.count()),
                              {memory_->data(), launch.threadgroup_bytes},
                              *launch.threadgroup_offsets,
                              *launch.threadgroup_lengths});
}

void Threadgroup::prepare(const Launch& launch) {
  prepare_groups(launch);
  if (launch.observer != nullptr) begin(*launch.observer, launch);
  for (std::size_t number = 0; number < active_groups_; ++number) {
    for_each_lane(groups_[number], groups_[number].existing, [&](Lane& lane) {
      prepare_lane(lane, launch, static_cast<std::uint32_t>(number * abi::kLanes) + lane.index);
      if (lane.flow.context == nullptr) {
        // Only here, because a kernel that runs as vectors needs no stack for each lane.
        lane.stack_bottom = stacks_.bottom(number * abi::kLanes + lane.index);
        lane.stack_top = stacks_.top(number * abi::kLanes + lane.index);
        prepare_flow(lane.flow, &lane, lane.stack_top, static_cast<std::size_t>(lane.stack_top - lane.stack_bottom), lane_main);
      }
    });
  }
}

std::optional<Hazard> Threadgroup::run(const Launch& launch) {
  if (can_run_vectors(launch) && run_vectors(launch)) return std::nullopt;
  if (launch.observer != nullptr && launch.as_vectors != nullptr && launch.module->vector_entry != nullptr) {
    // What the observer has seen of an attempt cannot be taken back, and it describes nothing. So the whole dispatch starts again.
    put_back();
    launch.as_vectors->store(false, std::memory_order_relaxed);
    return std::nullopt;
  }
  prepare(launch);
  if (launch.turns != nullptr) launch.turns->begin(is_alone_);
  const auto fault = run_guarded(
      [this] {
        running_group = choose();
        switch_flow(caller_, running_group->next_runnable().flow);
      },
      [this](const Fault& found) { return strays_.contain(found); });
  if (launch.turns != nullptr) launch.turns->end();
  strays_.report();
  if (fault) abort(invalid_access(*fault));
  ++counters.threadgroups;
  if (const auto side = memory_->written_margin()) {
    memory_->poison_margins();
    if (!hazard_) {
      Hazard hazard;
      hazard.kind = HazardKind::invalid_access;
      hazard.lacks_line = true;
      hazard.written = kWroteBesideThreadgroupMemory;
      hazard.message = fmt::format("invalid access: a thread wrote {} the {} bytes of threadgroup memory (threadgroup {}, {}, {})", *side,
                                   launch.threadgroup_bytes, launch.position.x, launch.position.y, launch.position.z);
      abort(std::move(hazard));
    }
  }
  if (hazard_) {
    // Lanes that were suspended in the middle of the kernel never resume, so they get new stacks.
    for (std::size_t number = 0; number < active_groups_; ++number) {
      for_each_lane(groups_[number], groups_[number].existing, [](Lane& lane) { lane.flow.context = nullptr; });
    }
  }
  return std::move(hazard_);
}

void Threadgroup::leave(Lane& lane) {
  Suspended& flow = next(*lane.group);
  if (&flow != &lane.flow) switch_flow(lane.flow, flow);
}

Suspended& Threadgroup::next(SimdGroup& current) {
  if (current.runnable != 0) return current.next_runnable().flow;
  if (current.waiting != 0 && !current.barrier_site) {
    current.resolve();
    if (hazard_) return caller_;
    // Under a random schedule, another SIMD-group may run at any meeting point, not only where this one must wait.
    const bool overtaken =
        launch_->schedule.kind == Schedule::Kind::random && active_groups_ > 1 && base::next_random(random_state_) % 4 == 0;
    if (current.runnable != 0 && !overtaken) return current.next_runnable().flow;
  }
  for (;;) {
    if (SimdGroup* group = choose()) {
      running_group = group;
      return group->next_runnable().flow;
    }
    if (!release_barrier()) return caller_;
  }
}

SimdGroup* Threadgroup::choose() {
  std::array<SimdGroup*, kMaxThreadsPerThreadgroup / abi::kLanes> candidates{};
  std::size_t count = 0;
  for (std::size_t number = 0; number < active_groups_; ++number) {
    if (groups_[number].runnable != 0) candidates[count++] = &groups_[number];
  }
  if (count == 0) return nullptr;
  switch (launch_->schedule.kind) {
    case Schedule::Kind::forward:
      return candidates[0];
    case Schedule::Kind::reverse:
      return candidates[count - 1];
    case Schedule::Kind::random:
      return candidates[base::next_random(random_state_) % count];
  }
  return nullptr;
}

// Called when no SIMD-group can run: all have finished, or wait at the barrier. Returns false if nothing can run any more.
bool Threadgroup::release_barrier() {
  const SimdGroup* at_barrier = nullptr;
  const SimdGroup* returned = nullptr;
  for (std::size_t number = 0; number < active_groups_; ++number) {
    const SimdGroup& group = groups_[number];
    if (group.done()) {
      returned = &group;
    } else if (at_barrier == nullptr) {
      at_barrier = &group;
    } else if (*group.barrier_site != *at_barrier->barrier_site) {
      abort(barrier_divergence(*at_barrier->barrier_site,
                               fmt::format("SIMD-group {} waits at threadgroup_barrier", at_barrier - groups_.data()), group.barrier_site,
                               fmt::format("SIMD-group {} went to another", number)));
      return false;
    }
  }
  if (at_barrier == nullptr) return false;
  if (returned != nullptr) {
    abort(barrier_divergence(*at_barrier->barrier_site,
                             fmt::format("SIMD-group {} waits at threadgroup_barrier", at_barrier - groups_.data()), std::nullopt,
                             fmt::format("SIMD-group {} had returned from the kernel", returned - groups_.data())));
    return false;
  }
  if (Observer* observer = launch_->observer)
    observer->threadgroup_barrier(*at_barrier->barrier_site, at_barrier->lanes[std::countr_zero(at_barrier->waiting)].request.words[1]);
  for (std::size_t number = 0; number < active_groups_; ++number) {
    SimdGroup& group = groups_[number];
    group.barrier_site.reset();
    group.runnable = group.waiting;
    group.waiting = 0;
  }
  return true;
}

}  // namespace assay::metal::execute
