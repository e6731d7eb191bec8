// Evaluates the requests of lanes at a meeting point: stores and votes here, all others in a file each.
#include "metal/execute/collectives.h"

#include <bit>
#include <cstring>

#include "metal/execute/atomics.h"
#include "metal/execute/matrix.h"
#include "metal/execute/reductions.h"
#include "metal/execute/shuffles.h"

namespace assay::metal::execute {

namespace {

void commit(const Request& request) {
  // Common sizes are constants, so that each copy is a move and not a call.
  void* to = request.pointers[0];
  const void* from = request.pointers[1];
  switch (request.bytes) {
    case 2:
      std::memcpy(to, from, 2);
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    case 16:
      std::memcpy(to, from, 16);
      break;
    default:
      std::memmove(to, from, request.bytes);
  }
}

void perform_vote(SimdGroup& group, LaneMask participants, bool ballot) {
  LaneMask votes = 0;
  for_each_lane(group, participants, [&](Lane& lane) {
    if (!ballot || lane.request.words[0] != 0) votes |= LaneMask{1} << lane.index;
  });
  for_each_lane(group, participants, [&](Lane& lane) {
    const std::uint32_t width = ballot ? lane.request.words[1] : lane.request.words[0];
    const LaneMask group_mask = width == 32 ? ~LaneMask{0} : (LaneMask{1} << width) - 1;
    lane.request.result = votes >> (lane.index & ~(width - 1)) & group_mask;
  });
}

}  // namespace

void perform(SimdGroup& group, LaneMask participants) {
  const auto leader = static_cast<std::size_t>(std::countr_zero(participants));
  const Request& first = group.lanes[leader].request;
  const abi::Site& site = group.threadgroup->module().sites[group.sites[leader]];
  const auto service = static_cast<abi::Service>(site.service);
  switch (service) {
    case abi::kStore:
      if (Observer* observer = group.threadgroup->observer()) {
        for_each_lane(group, participants, [&](Lane& lane) {
          observer->wrote(lane, group.sites[lane.index], lane.request.pointers[0], lane.request.pointers[1], lane.request.bytes);
          commit(lane.request);
        });
        return;
      }
      for_each_lane(group, participants, [](Lane& lane) { commit(lane.request); });
      return;
    case abi::kSimdReduceWord:
      return perform_reduce_word(group, participants, site.operation);
    case abi::kSimdShuffleWord:
      return perform_shuffle_word(group, participants, site.operation);
    case abi::kSimdReduce:
      return perform_reduce(group, participants, first);
    case abi::kSimdShuffle:
      return perform_shuffle(group, participants, first);
    case abi::kSimdBallot:
    case abi::kSimdActive:
      return perform_vote(group, participants, service == abi::kSimdBallot);
    case abi::kMatrixMultiply:
      ++group.threadgroup->counters.matrix_multiplies;
      return perform_matrix_multiply(group.matrices, participants);
    case abi::kAtomic:
      return perform_atomics(group, participants);
    case abi::kReconverge:
    case abi::kTrace:
    case abi::kAccess:
    case abi::kArithmetic:
    case abi::kFence:
    case abi::kCopyShadows:
    case abi::kRounded:
    case abi::kRecord:
    case abi::kMisaligned:
    case abi::kUnset:
    case abi::kNarrowed:
    case abi::kBarrier:
    case abi::kVectorMeet:
    case abi::kVectorReduceWord:
    case abi::kVectorShuffleWord:
    case abi::kVectorYield:
    case abi::kVectorGiveUp:
    case abi::kVectorKeep:
    case abi::kVectorAccess:
    case abi::kVectorAccesses:
    case abi::kVectorMet:
    case abi::kServiceCount:
      return;
  }
}

}  // namespace assay::metal::execute
