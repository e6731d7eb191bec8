// Lanes, the SIMD-groups that they form and the threadgroup that these form: the state of lockstep execution.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/cost.h"
#include "metal/execute/fiber.h"
#include "metal/execute/matrix.h"
#include "metal/execute/observer.h"
#include "metal/execute/schedule.h"
#include "metal/execute/strays.h"
#include "metal/execute/turns.h"
#include "metal/guarded_memory.h"
#include "metal/hazard.h"
#include "metal/lane_abi.h"
#include "metal/size3.h"

namespace assay::metal::execute {

class SimdGroup;
class Threadgroup;

// The request of a lane at the meeting point where it waits. The members are the arguments of the service's runtime function
// (metal/shader/runtime.h), in its order.
struct Request {
  std::array<std::uint32_t, 5> words{};
  std::array<void*, 4> pointers{};
  std::uint64_t bytes = 0;
  std::uint64_t result = 0;
};

struct Lane : abi::Lane {
  Suspended flow;
  SimdGroup* group = nullptr;
  Observer* observer = nullptr;  // of the dispatch; may be null
  Request request;
  std::uint32_t index = 0;  // in the SIMD-group
  std::byte* stack_bottom = nullptr;
  std::byte* stack_top = nullptr;

  [[nodiscard]] bool owns(const void* address) const { return address >= stack_bottom && address < stack_top; }
  // Whether a stack overflow of the lane would access the address: the guard, or memory below the guard for a large frame.
  [[nodiscard]] bool is_beyond_stack(const void* address) const {
    return address >= stack_bottom - StackPool::kStackBytes / 2 && address < stack_bottom + 2 * StackPool::kGuardBytes;
  }
  [[nodiscard]] std::string name() const;  // "thread (3, 0, 0)"
};

// 32 lanes in lockstep. A lane runs until its next meeting point. When no lane can run any more, those that are furthest behind in
// program order meet there and continue together.
class SimdGroup {
 public:
  LaneMask runnable = 0;
  LaneMask waiting = 0;
  LaneMask finished = 0;
  LaneMask existing = 0;                      // fewer than 32 at a ragged edge
  std::optional<std::uint32_t> barrier_site;  // set while the whole group waits at a threadgroup barrier
  Threadgroup* threadgroup = nullptr;
  Lane* lanes = nullptr;  // array of 32
  // Arrays instead of members of the lanes, because all elements are read when the lanes meet.
  std::array<std::uint32_t, abi::kLanes> sites{};   // where each waiting lane waits
  std::array<std::uint32_t, abi::kLanes> values{};  // operands and results of kSimdReduceWord and kSimdShuffleWord
  Suspended vectors;                                // the flow of the whole group, if it runs as vectors
  MatrixOperands matrices;                          // of kMatrixMultiply; the result replaces c

  [[nodiscard]] LaneMask live() const { return waiting | runnable; }
  [[nodiscard]] bool done() const { return finished == existing; }
  // The lane that runs, or that will run next: the first runnable one. There must be one.
  [[nodiscard]] std::size_t running() const { return static_cast<std::size_t>(std::countr_zero(runnable)); }
  [[nodiscard]] Lane& next_runnable() const { return lanes[running()]; }

  // Makes the running lane of the running group wait at `site`. Returns when the lane has met the others there.
  static void meet(std::uint32_t site);

  // Requires that no lane is runnable and some wait. Selects the lanes that are furthest behind. Performs their requests and makes them
  // runnable, or records that the group waits at a barrier, or aborts the threadgroup with a hazard.
  void resolve();

 private:
  [[nodiscard]] bool are_together() const;
  [[nodiscard]] LaneMask hindmost() const;
};

// Calls `visit(lane)` for each lane in the mask, ascending.
template <typename Visit>
void for_each_lane(const SimdGroup& group, LaneMask mask, Visit&& visit) {
  for (; mask != 0; mask &= mask - 1) visit(group.lanes[std::countr_zero(mask)]);
}

// Executes threadgroups one after the other on the calling CPU thread, reusing lanes, stacks and threadgroup memory.
class Threadgroup {
 public:
  // The execution of one threadgroup of a dispatch.
  struct Launch {
    const abi::Module* module = nullptr;
    Size3 position;          // threadgroup_position_in_grid
    Size3 grid;              // threadgroups per grid
    Size3 threads;           // of this threadgroup
    Size3 dispatch_threads;  // as dispatched
    Size3 total_threads;     // threads per grid
    const std::array<void*, abi::kMaxBuffers>* buffers = nullptr;
    const std::array<std::size_t, abi::kMaxBuffers>* buffer_sizes = nullptr;
    const ArgumentLayout* layout = nullptr;  // for messages
    const std::array<std::uint32_t, abi::kMaxBuffers>* threadgroup_offsets =
        nullptr;  // of threadgroup arguments, from the start of threadgroup memory
    std::uint32_t threadgroup_bytes = 0;
    std::uint32_t kept_buffers = 0;
    Schedule schedule;
    const std::array<std::uint32_t, abi::kMaxBuffers>* threadgroup_lengths = nullptr;  // of threadgroup arguments
    Observer* observer = nullptr;                                                      // of the dispatch
    std::uint32_t choice = 0;                                                          // what the kernel reads as abi::kChoice
    std::uint32_t shadowed_buffers = 0;                                                // for the policy `shadow`; see abi::Lane
    Turns* turns = nullptr;                                                            // shared by several CPU threads
    std::atomic<bool>* as_vectors = nullptr;  // whether SIMD-groups may run as vectors; reset by a threadgroup that has to be repeated
  };

  Threadgroup();
  ~Threadgroup();

  // Runs to the end, or to the first hazard that ends the threadgroup. Returns that hazard.
  std::optional<Hazard> run(const Launch& launch);

  ExecutionCounters counters;
  // Hazards since the last call after which the threadgroup continued.
  std::vector<Incidents::Incident> take_incidents() { return strays_.incidents.take(); }

  // For lanes and SIMD-groups.
  Observer* observer() const { return launch_->observer; }
  const abi::Module& module() const { return *launch_->module; }
  SourceLocation location(std::uint32_t site) const;
  // Suspends `lane`, which is no longer runnable, and runs the next lane.
  void leave(Lane& lane);
  void abort(Hazard hazard) { hazard_ = std::move(hazard); }

  // ---- vectors.cpp: for SIMD-groups that run as vectors, called on the group's own flow
  // The group has met, or waits at a barrier; another group may run. Returns when this one goes on.
  void yield(SimdGroup& group);
  void finish(SimdGroup& group);
  // Ends the threadgroup, whose lanes then run one by one. Does not return.
  [[noreturn]] void give_up(SimdGroup& group);
  // Keeps what a store or an atomic operation is about to change, if the dispatch also reads it: for the threadgroup, and for the whole
  // dispatch if it has an observer.
  void forget_kept() { kept_.clear(); }
  void keep(const void* address, std::size_t bytes);
  [[nodiscard]] bool is_on_stack(const SimdGroup& group, const void* address);
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t number = 0; number < active_groups_; ++number) for_each_lane(groups_[number], groups_[number].existing, visit);
  }
  Strays& strays() { return strays_; }
  void run_alone() const {
    if (launch_->turns != nullptr) launch_->turns->be_alone(is_alone_);
  }
  [[nodiscard]] std::string name() const;  // " (threadgroup 1, 0, 0)"
  // Whether the bytes lie within memory of the dispatch.
  [[nodiscard]] bool has(const void* address, std::size_t bytes) const;
  // Describes one byte, or several bytes, of the dispatch's memory.
  [[nodiscard]] std::string describe_address(const void* address, std::uint32_t buffers) const;
  [[nodiscard]] std::string describe_bytes(const void* address, std::size_t bytes) const;
  Hazard barrier_divergence(std::uint32_t site, const std::string& who, std::optional<std::uint32_t> other, const std::string& what) const;

 private:
  // Memory that the dispatch may access.
  struct Memory {
    const std::byte* data = nullptr;
    std::size_t size = 0;
    std::string name;
    std::string label;  // the name in messages of the policy `checked`
    std::size_t element_bytes = 1;
    std::uint32_t bit = std::uint32_t{1} << abi::kMaxBuffers;  // in Strays::buffers_of()
  };
  [[nodiscard]] std::vector<Memory> memories() const;
  Hazard invalid_access(const Fault& fault);
  void prepare(const Launch& launch);
  void prepare_groups(const Launch& launch);
  void begin(Observer& observer, const Launch& launch) const;
  [[nodiscard]] bool can_run_vectors(const Launch& launch) const;
  void put_back();
  // Returns false if the threadgroup has to run again, lane by lane: nothing of this attempt is left.
  bool run_vectors(const Launch& launch);
  [[nodiscard]] SimdGroup* next_group();
  void prepare_lane(Lane& lane, const Launch& launch, std::uint32_t thread);
  // The flow to run next: that of a lane, or that of run()'s caller when all lanes are done.
  Suspended& next(SimdGroup& current);
  SimdGroup* choose();
  bool release_barrier();

  struct Kept {
    std::byte* address;
    std::vector<std::byte> bytes;
  };

  StackPool stacks_;
  StackPool vector_stacks_;  // by group
  std::vector<Kept> kept_;   // in the order of the changes
  bool gave_up_ = false;
  std::vector<std::unique_ptr<std::array<Lane, abi::kLanes>>> lanes_;
  std::vector<SimdGroup> groups_;  // all groups ever needed; the first active_groups_ take part
  std::size_t active_groups_ = 0;
  std::optional<GuardedMemory> memory_;  // threadgroup memory of the current dispatch
  const Launch* launch_ = nullptr;
  Suspended caller_;
  std::optional<Hazard> hazard_;
  std::uint64_t random_state_ = 0;
  Strays strays_{*this};
  mutable bool is_alone_ = false;  // state for launch_->turns
};

// The group whose lanes this CPU thread runs. With SimdGroup::running it gives the current and the next lane without reading the lane's
// data. So the processor can start on the next lane while it still waits for data of this one.
inline thread_local constinit SimdGroup* running_group = nullptr;

// Inline because it runs once per lane and meeting point, which makes it the hottest function.
inline void SimdGroup::meet(std::uint32_t site) {
  SimdGroup& group = *running_group;
  const std::size_t index = group.running();
  Lane& lane = group.lanes[index];
  group.sites[index] = site;
  group.waiting |= LaneMask{1} << index;
  group.runnable &= group.runnable - 1;
  if (group.runnable != 0) {
    switch_flow(lane.flow, group.next_runnable().flow);
  } else {
    group.threadgroup->leave(lane);
  }
}

}  // namespace assay::metal::execute
