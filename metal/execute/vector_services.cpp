// Meetings of SIMD-groups that run as vectors: hands the lanes' requests to the functions that perform them for lanes.
#include "metal/execute/vector_services.h"

#include <bit>
#include <cstring>
#include <vector>

#include "metal/execute/collectives.h"
#include "metal/execute/lanes.h"
#include "metal/execute/matrix.h"
#include "metal/execute/reductions.h"
#include "metal/execute/shuffles.h"

namespace assay::metal::execute {

namespace {

using Words = std::uint64_t[abi::kLanes];

SimdGroup& group_of(abi::Lane* first) { return *static_cast<Lane*>(first)->group; }

void* pointer(std::uint64_t word) { return reinterpret_cast<void*>(word); }

// The request of one lane, from the arguments of its service in the order of metal/shader/runtime.h.
void set_request(Request& request, abi::Service service, const Words* words, std::size_t lane) {
  const auto word = [&](std::size_t argument) { return static_cast<std::uint32_t>(words[argument][lane]); };
  const auto place = [&](std::size_t argument) { return pointer(words[argument][lane]); };
  switch (service) {
    case abi::kSimdReduce:
      request.words = {word(0), word(1), word(2), word(3)};
      request.pointers[0] = place(4);
      return;
    case abi::kSimdShuffle:
      request.words = {word(0), word(1), word(2), word(5), word(6)};
      request.pointers = {place(3), place(4)};
      return;
    case abi::kSimdBallot:
    case abi::kBarrier:
      request.words = {word(0), word(1)};
      return;
    case abi::kSimdActive:
      request.words = {word(0)};
      return;
    case abi::kAtomic:
      request.words = {word(0), word(1)};
      request.pointers = {place(2), place(3), place(4)};
      return;
    case abi::kStore:
      request.pointers = {place(0), place(1)};
      request.bytes = words[2][lane];
      return;
    default:
      return;
  }
}

// Reads all that lanes store before any of it is written.
void store(SimdGroup& group, LaneMask lanes) {
  Threadgroup& threadgroup = *group.threadgroup;
  std::vector<std::byte> values;
  for_each_lane(group, lanes, [&](Lane& lane) {
    const auto* from = static_cast<const std::byte*>(lane.request.pointers[1]);
    values.insert(values.end(), from, from + lane.request.bytes);
  });
  const std::byte* value = values.data();
  for_each_lane(group, lanes, [&](Lane& lane) {
    threadgroup.keep(lane.request.pointers[0], lane.request.bytes);
    std::memcpy(lane.request.pointers[0], value, lane.request.bytes);
    value += lane.request.bytes;
  });
}

void meet(abi::Lane* first, std::uint32_t site, LaneMask lanes, LaneMask finished, const Words* words, std::uint64_t* results) {
  SimdGroup& group = group_of(first);
  Threadgroup& threadgroup = *group.threadgroup;
  const auto service = static_cast<abi::Service>(threadgroup.module().sites[site].service);
  const bool all = (lanes | finished) == group.existing;
  for_each_lane(group, lanes, [&](Lane& lane) {
    set_request(lane.request, service, words, lane.index);
    group.sites[lane.index] = site;
  });
  if (service == abi::kBarrier) {
    const bool for_threadgroup = group.lanes[std::countr_zero(lanes)].request.words[0] == 1;
    if (!all || (for_threadgroup && lanes != group.existing)) threadgroup.give_up(group);
    ++first->meetings;
    if (for_threadgroup) {
      group.barrier_site = site;
      group.waiting = lanes;
      group.runnable = 0;
    }
    if (for_threadgroup || first->yields != 0) threadgroup.yield(group);
    return;
  }
  ++first->meetings;
  if (service != abi::kStore && service != abi::kReconverge) {
    ++first->collectives;
    if (!all) ++first->divergent_collectives;
  }
  if (service == abi::kStore) {
    // To memory of the lane itself, it is no meeting.
    if (threadgroup.is_on_stack(group, pointer(words[0][std::countr_zero(lanes)]))) --first->meetings;
    store(group, lanes);
  } else if (service == abi::kMatrixMultiply) {
    for_each_lane(group, lanes, [&](Lane& lane) {
      const std::size_t place = place_in_matrix(lane.index);
      group.matrices.a[place] = words[0][lane.index];
      group.matrices.b[place] = words[1][lane.index];
      group.matrices.c[place] = words[2][lane.index];
    });
    ++first->products;
    perform_matrix_multiply(group.matrices, lanes);
    for_each_lane(group, lanes, [&](Lane& lane) { results[lane.index] = group.matrices.c[place_in_matrix(lane.index)]; });
  } else {
    if (service == abi::kAtomic) {
      for_each_lane(group, lanes, [&](Lane& lane) { threadgroup.keep(lane.request.pointers[0], sizeof(std::uint64_t)); });
    }
    perform(group, lanes);
    for_each_lane(group, lanes, [&](Lane& lane) { results[lane.index] = lane.request.result; });
  }
  if (first->yields != 0) threadgroup.yield(group);
}

void reduce_word(abi::Lane* first, LaneMask lanes, std::uint32_t operation, std::uint32_t* values) {
  SimdGroup& group = group_of(first);
  std::memcpy(group.values.data(), values, sizeof group.values);
  perform_reduce_word(group, lanes, operation);
  std::memcpy(values, group.values.data(), sizeof group.values);
}

void shuffle_word(abi::Lane* first, LaneMask lanes, std::uint32_t operation, std::uint32_t* values, const std::uint32_t* arguments) {
  SimdGroup& group = group_of(first);
  std::memcpy(group.values.data(), values, sizeof group.values);
  for_each_lane(group, lanes, [&](Lane& lane) { lane.request.words[0] = arguments[lane.index]; });
  perform_shuffle_word(group, lanes, operation);
  std::memcpy(values, group.values.data(), sizeof group.values);
}

void yield(abi::Lane* first, std::uint32_t) {
  SimdGroup& group = group_of(first);
  group.threadgroup->yield(group);
}

void keep(abi::Lane* first, LaneMask lanes, std::byte* const* addresses, std::uint64_t bytes) {
  const SimdGroup& group = group_of(first);
  for_each_lane(group, lanes, [&](const Lane& lane) { group.threadgroup->keep(addresses[lane.index], bytes); });
}

void give_up(abi::Lane* first, std::uint32_t) {
  SimdGroup& group = group_of(first);
  group.threadgroup->give_up(group);
}

}  // namespace

void add_vector_services(Services& functions) {
  functions[abi::kVectorMeet] = reinterpret_cast<Service>(meet);
  functions[abi::kVectorReduceWord] = reinterpret_cast<Service>(reduce_word);
  functions[abi::kVectorShuffleWord] = reinterpret_cast<Service>(shuffle_word);
  functions[abi::kVectorYield] = reinterpret_cast<Service>(yield);
  functions[abi::kVectorKeep] = reinterpret_cast<Service>(keep);
  functions[abi::kVectorGiveUp] = reinterpret_cast<Service>(give_up);
}

}  // namespace assay::metal::execute
