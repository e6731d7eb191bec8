// Runs the SIMD-groups of a threadgroup as vectors: one flow for each group instead of one for each lane.
//
// Vector code does what the lanes would do, and describes nothing: whenever something has to be reported (a fault, a barrier that not all
// lanes reach, a misaligned access), the threadgroup starts again and its lanes run one by one.
#include <cstring>

#include "base/mix.h"
#include "metal/execute/faults.h"
#include "metal/execute/lanes.h"

namespace assay::metal::execute {

namespace {

void group_main(void* owner) {
  flow_begun();
  auto& first = *static_cast<Lane*>(owner);
  for (;;) {
    Threadgroup& threadgroup = *first.group->threadgroup;
    threadgroup.module().vector_entry(&first);
    threadgroup.finish(*first.group);
  }
}

}  // namespace

std::string_view size_refusal(const abi::Module& module, Size3 threads) {
  if (threads.count() % abi::kLanes != 0) return "the threads of a threadgroup are no multiple of 32";
  if (module.vector_needs_rows != 0 && threads.x % abi::kLanes != 0)
    return "the width of a threadgroup is no multiple of 32, and the kernel reads positions in it";
  return {};
}

bool Threadgroup::can_run_vectors(const Launch& launch) const {
  const abi::Module& module = *launch.module;
  return launch.as_vectors != nullptr && module.vector_entry != nullptr && (launch.observer == nullptr || module.is_checked != 0) &&
         size_refusal(module, launch.threads).empty() && launch.as_vectors->load(std::memory_order_relaxed);
}

bool Threadgroup::run_vectors(const Launch& launch) {
  prepare_groups(launch);
  if (launch.observer != nullptr) begin(*launch.observer, launch);
  const ExecutionCounters before = counters;
  if (launch.observer == nullptr) kept_.clear();
  gave_up_ = false;
  const bool yields = launch.schedule.kind == Schedule::Kind::random && active_groups_ > 1;
  for (std::size_t number = 0; number < active_groups_; ++number) {
    SimdGroup& group = groups_[number];
    Lane& first = group.lanes[0];
    prepare_lane(first, launch, static_cast<std::uint32_t>(number * abi::kLanes));
    if (launch.observer != nullptr) {
      for_each_lane(group, group.existing, [&](Lane& lane) {
        lane.builtins[abi::kThreadIndexInThreadgroup][0] = first.builtins[abi::kThreadIndexInThreadgroup][0] + lane.index;
      });
    }
    first.meetings = first.collectives = first.divergent_collectives = first.products = 0;
    first.yields = yields ? 1 : 0;
    if (group.vectors.context == nullptr) {
      auto* top = vector_stacks_.top(number);
      prepare_flow(group.vectors, &first, top, static_cast<std::size_t>(top - vector_stacks_.bottom(number)), group_main);
    }
  }
  if (launch.turns != nullptr) launch.turns->begin(is_alone_);
  const auto fault = run_guarded(
      [this] {
        running_group = choose();
        switch_flow(caller_, running_group->vectors);
      },
      [](const Fault&) { return Containment::end; });
  if (launch.turns != nullptr) launch.turns->end();
  bool is_done = !fault && !gave_up_ && !hazard_;
  if (memory_->written_margin()) {
    memory_->poison_margins();
    is_done = false;
  }
  if (is_done) {
    ++counters.threadgroups;
    for (std::size_t number = 0; number < active_groups_; ++number) {
      const Lane& first = groups_[number].lanes[0];
      counters.meeting_points += first.meetings;
      counters.collectives += first.collectives;
      counters.divergent_collectives += first.divergent_collectives;
      counters.matrix_multiplies += first.products;
    }
    return true;
  }
  put_back();
  counters = before;
  for (std::size_t number = 0; number < active_groups_; ++number) groups_[number].vectors.context = nullptr;
  launch.as_vectors->store(false, std::memory_order_relaxed);
  return false;
}

// The group to run next; null if all are done or the threadgroup ends.
SimdGroup* Threadgroup::next_group() {
  for (;;) {
    if (SimdGroup* group = choose()) return group;
    if (!release_barrier()) return nullptr;
  }
}

void Threadgroup::yield(SimdGroup& group) {
  // As in next(): the draws of a random schedule are those of lanes that run one by one.
  const bool overtaken =
      launch_->schedule.kind == Schedule::Kind::random && active_groups_ > 1 && base::next_random(random_state_) % 4 == 0;
  if (group.runnable != 0 && !overtaken) return;
  SimdGroup* next = next_group();
  if (next == &group) return;
  running_group = next;
  switch_flow(group.vectors, next == nullptr ? caller_ : next->vectors);
}

void Threadgroup::finish(SimdGroup& group) {
  group.finished = group.existing;
  group.runnable = 0;
  SimdGroup* next = next_group();
  running_group = next;
  switch_flow(group.vectors, next == nullptr ? caller_ : next->vectors);
}

void Threadgroup::give_up(SimdGroup& group) {
  gave_up_ = true;
  switch_flow(group.vectors, caller_);
  __builtin_unreachable();
}

void Threadgroup::keep(const void* address, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(address);
  if (launch_->kept_buffers == 0 || (first >= memory_->data() && first < memory_->data() + memory_->size())) return;
  kept_.push_back({const_cast<std::byte*>(first), {first, first + bytes}});
}

void Threadgroup::put_back() {
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) std::memcpy(kept->address, kept->bytes.data(), kept->bytes.size());
  kept_.clear();
}

bool Threadgroup::is_on_stack(const SimdGroup& group, const void* address) {
  const auto number = static_cast<std::size_t>(&group - groups_.data());
  return address >= vector_stacks_.bottom(number) && address < vector_stacks_.top(number);
}

}  // namespace assay::metal::execute
