// The functions that compiled kernels call: each records the lane's request and waits at the meeting point.
#include "metal/execute/services.h"

#include <cstring>

#include "metal/execute/lanes.h"
#include "metal/execute/vector_services.h"

namespace assay::metal::execute {

namespace {

Request& request_of(abi::Lane* lane) { return static_cast<Lane*>(lane)->request; }

void service_store(abi::Lane* abi_lane, std::uint32_t site, void* destination, const void* source, std::uint64_t bytes) {
  auto& lane = *static_cast<Lane*>(abi_lane);
  if (lane.owns(destination)) {
    std::memmove(destination, source, bytes);
    return;
  }
  Request& request = request_of(abi_lane);
  request.pointers[0] = destination;
  request.pointers[1] = const_cast<void*>(source);
  request.bytes = bytes;
  if (!lane.owns(source)) {
    lane.group->sites[lane.index] = site;  // so that a fault of the copy is reported at this site
    // Copied first: another lane's store at this meeting point may change the shared memory that the copy reads.
    auto* copy = static_cast<std::byte*>(__builtin_alloca(bytes));
    std::memcpy(copy, source, bytes);
    request.pointers[1] = copy;
  }
  SimdGroup::meet(site);
}

// These use running_group instead of the lane's index; lanes.h says why.
std::uint32_t service_reduce_word(abi::Lane*, std::uint32_t site, std::uint32_t value) {
  running_group->values[running_group->running()] = value;
  SimdGroup::meet(site);
  return running_group->values[running_group->running()];
}

std::uint32_t service_shuffle_word(abi::Lane* lane, std::uint32_t site, std::uint32_t value, std::uint32_t argument) {
  running_group->values[running_group->running()] = value;
  request_of(lane).words[0] = argument;
  SimdGroup::meet(site);
  return running_group->values[running_group->running()];
}

void service_reduce(abi::Lane* lane, std::uint32_t site, std::uint32_t operation, std::uint32_t type, std::uint32_t count,
                    std::uint32_t width, void* value) {
  Request& request = request_of(lane);
  request.words = {operation, type, count, width};
  request.pointers[0] = value;
  SimdGroup::meet(site);
}

void service_shuffle(abi::Lane* lane, std::uint32_t site, std::uint32_t mode, std::uint32_t bytes, std::uint32_t width, void* value,
                     const void* fill, std::uint32_t argument, std::uint32_t modulo) {
  Request& request = request_of(lane);
  request.words = {mode, bytes, width, argument, modulo};
  request.pointers = {value, const_cast<void*>(fill)};
  SimdGroup::meet(site);
}

void service_misaligned(abi::Lane* abi_lane, std::uint32_t access, const void* address) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  lane.group->threadgroup->strays().misaligned(lane, access, address);
}

void service_unset(abi::Lane* abi_lane, std::uint32_t access, std::uint64_t offset) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  lane.group->threadgroup->strays().unset(lane, access, offset);
}

void service_narrowed(abi::Lane* abi_lane, std::uint32_t access, std::uint64_t value, std::uint64_t kept, std::uint32_t type) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  lane.group->threadgroup->strays().narrowed(lane, access, {value, kept, type});
}

std::uint64_t service_ballot(abi::Lane* lane, std::uint32_t site, std::uint32_t predicate, std::uint32_t width) {
  Request& request = request_of(lane);
  request.words = {predicate, width};
  SimdGroup::meet(site);
  return request.result;
}

std::uint64_t service_active(abi::Lane* lane, std::uint32_t site, std::uint32_t width) {
  Request& request = request_of(lane);
  request.words = {width};
  SimdGroup::meet(site);
  return request.result;
}

void service_barrier(abi::Lane* lane, std::uint32_t site, std::uint32_t scope, std::uint32_t flags) {
  Request& request = request_of(lane);
  request.words = {scope, flags};
  SimdGroup::meet(site);
}

std::uint64_t service_matrix_multiply(abi::Lane*, std::uint32_t site, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const std::size_t place = place_in_matrix(running_group->running());
  auto& operands = running_group->matrices;
  operands.a[place] = a;
  operands.b[place] = b;
  operands.c[place] = c;
  SimdGroup::meet(site);
  return running_group->matrices.c[place_in_matrix(running_group->running())];
}

void service_trace(abi::Lane* abi_lane, std::uint32_t, const void* address, std::uint64_t bytes, std::uint32_t is_write) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  lane.observer->accessed(lane, address, bytes, is_write != 0);
}

void service_record(abi::Lane* abi_lane, std::uint32_t operation, const void* value, std::uint64_t bytes) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  lane.observer->computed(lane, operation, value, bytes);
}

void service_reconverge(abi::Lane*, std::uint32_t site) { SimdGroup::meet(site); }

void service_atomic(abi::Lane* lane, std::uint32_t site, std::uint32_t operation, std::uint32_t type, void* object, void* operand,
                    const void* desired) {
  Request& request = request_of(lane);
  request.words = {operation, type};
  request.pointers = {object, operand, const_cast<void*>(desired)};
  SimdGroup::meet(site);
}

}  // namespace

Services plain_services() {
  Services functions{};
  functions[abi::kStore] = reinterpret_cast<Service>(service_store);
  functions[abi::kSimdReduceWord] = reinterpret_cast<Service>(service_reduce_word);
  functions[abi::kSimdShuffleWord] = reinterpret_cast<Service>(service_shuffle_word);
  functions[abi::kSimdReduce] = reinterpret_cast<Service>(service_reduce);
  functions[abi::kSimdShuffle] = reinterpret_cast<Service>(service_shuffle);
  functions[abi::kSimdBallot] = reinterpret_cast<Service>(service_ballot);
  functions[abi::kSimdActive] = reinterpret_cast<Service>(service_active);
  functions[abi::kBarrier] = reinterpret_cast<Service>(service_barrier);
  functions[abi::kMatrixMultiply] = reinterpret_cast<Service>(service_matrix_multiply);
  functions[abi::kTrace] = reinterpret_cast<Service>(service_trace);
  functions[abi::kRecord] = reinterpret_cast<Service>(service_record);
  functions[abi::kReconverge] = reinterpret_cast<Service>(service_reconverge);
  functions[abi::kMisaligned] = reinterpret_cast<Service>(service_misaligned);
  functions[abi::kUnset] = reinterpret_cast<Service>(service_unset);
  functions[abi::kNarrowed] = reinterpret_cast<Service>(service_narrowed);
  functions[abi::kAtomic] = reinterpret_cast<Service>(service_atomic);
  add_vector_services(functions);
  return functions;
}

}  // namespace assay::metal::execute
