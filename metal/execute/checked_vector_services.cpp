// Checks of SIMD-groups that run as vectors. What the checker cannot describe ends the attempt, and the dispatch starts again lane by lane.
#include "metal/execute/checked_vector_services.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "metal/execute/checker.h"
#include "metal/execute/lanes.h"

namespace assay::metal::execute {

namespace {

using Words = std::uint64_t[abi::kLanes];
using Meet = void (*)(abi::Lane*, std::uint32_t, LaneMask, LaneMask, const Words*, std::uint64_t*);
Meet plain_meet = nullptr;

SimdGroup& group_of(abi::Lane* first) { return *static_cast<Lane*>(first)->group; }

// The cast is safe: dispatches of such kernels have no other observer.
Checker& checker_of(const SimdGroup& group) { return static_cast<Checker&>(*group.threadgroup->observer()); }

void go_on_if_all_is_described(SimdGroup& group) {
  if (checker_of(group).has_left_out()) group.threadgroup->give_up(group);
}

void access(abi::Lane* first, LaneMask lanes, std::uint32_t number, std::byte* address, std::int64_t step, std::uint64_t bytes) {
  SimdGroup& group = group_of(first);
  checker_of(group).access_all(group, number, lanes, {address, step, nullptr}, bytes);
  go_on_if_all_is_described(group);
}

void accesses(abi::Lane* first, LaneMask lanes, std::uint32_t number, std::byte* const* addresses, std::uint64_t bytes) {
  SimdGroup& group = group_of(first);
  checker_of(group).access_all(group, number, lanes, {nullptr, 0, addresses}, bytes);
  go_on_if_all_is_described(group);
}

void met(abi::Lane* first, std::uint32_t site) { checker_of(group_of(first)).met(site); }

// Whether each lane writes as many bytes as the others, just behind those of the lane before it.
bool follow_each_other(const Words* words) {
  std::uint64_t odd = 0;
  for (std::uint64_t lane = 0; lane < abi::kLanes; ++lane)
    odd |= (words[2][lane] ^ words[2][0]) | (words[0][lane] ^ (words[0][0] + lane * words[2][0]));
  return odd == 0;
}

// As lanes store that run one by one: all are asked before any of them writes, and then they write in ascending order.
void store(abi::Lane* first, std::uint32_t site, LaneMask lanes, const Words* words) {
  SimdGroup& group = group_of(first);
  Threadgroup& threadgroup = *group.threadgroup;
  Checker& checker = checker_of(group);
  const auto address = [&](std::uint32_t lane) { return reinterpret_cast<std::byte*>(words[0][lane]); };
  const auto value = [&](std::uint32_t lane) { return reinterpret_cast<const std::byte*>(words[1][lane]); };
  const auto bytes = [&](std::uint32_t lane) { return words[2][lane]; };
  const bool is_own = threadgroup.is_on_stack(group, address(static_cast<std::uint32_t>(std::countr_zero(lanes))));
  thread_local std::vector<std::byte> values;
  values.clear();
  const bool is_noted =
      lanes == ~LaneMask{0} && !is_own && follow_each_other(words) && checker.note_write(group, site, address(0), bytes(0));
  for_each_lane(group, lanes, [&](const Lane& lane) {
    if (!is_own && !is_noted) static_cast<void>(checker.may_write(lane, site, address(lane.index), bytes(lane.index)));
    values.insert(values.end(), value(lane.index), value(lane.index) + bytes(lane.index));
  });
  go_on_if_all_is_described(group);
  const std::byte* from = values.data();
  for_each_lane(group, lanes, [&](const Lane& lane) {
    if (!is_own && !is_noted) checker.wrote(lane, site, address(lane.index), from, bytes(lane.index));
    go_on_if_all_is_described(group);
    threadgroup.keep(address(lane.index), bytes(lane.index));
    std::memcpy(address(lane.index), from, bytes(lane.index));
    from += bytes(lane.index);
  });
  if (is_own) return;  // no meeting
  ++first->meetings;
  checker.met(site);
  if (first->yields != 0) threadgroup.yield(group);
}

void meet(abi::Lane* first, std::uint32_t site, LaneMask lanes, LaneMask finished, const Words* words, std::uint64_t* results) {
  const SimdGroup& group = group_of(first);
  const abi::Module& module = group.threadgroup->module();
  const auto any = static_cast<std::size_t>(std::countr_zero(lanes));
  const std::uint32_t service = module.sites[site].service;
  if (service == abi::kStore) return store(first, site, lanes, words);
  if (service == abi::kAtomic) {
    std::array<std::byte*, abi::kLanes> addresses{};
    std::ranges::transform(words[2], addresses.begin(), [](std::uint64_t word) { return reinterpret_cast<std::byte*>(word); });
    accesses(first, lanes, site, addresses.data(), module.accesses[site].bytes);
  }
  if (service == abi::kBarrier && words[0][any] != 1)
    checker_of(group).simdgroup_barrier(first->builtins[abi::kSimdgroupIndexInThreadgroup][0], static_cast<std::uint32_t>(words[1][any]));
  checker_of(group).met(site);
  plain_meet(first, site, lanes, finished, words, results);
}

}  // namespace

void add_checked_vector_services(Services& functions) {
  plain_meet = reinterpret_cast<Meet>(functions[abi::kVectorMeet]);
  functions[abi::kVectorMeet] = reinterpret_cast<Service>(meet);
  functions[abi::kVectorAccess] = reinterpret_cast<Service>(access);
  functions[abi::kVectorAccesses] = reinterpret_cast<Service>(accesses);
  functions[abi::kVectorMet] = reinterpret_cast<Service>(met);
}

}  // namespace assay::metal::execute
