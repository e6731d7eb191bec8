// Replacements for some of the runtime's functions in kernels that were compiled to be checked.
#include "metal/execute/checked_services.h"

#include "metal/execute/checked_vector_services.h"
#include "metal/execute/checker.h"
#include "metal/execute/lanes.h"

namespace assay::metal::execute {

namespace {

using Store = void (*)(abi::Lane*, std::uint32_t, void*, const void*, std::uint64_t);
using Atomic = void (*)(abi::Lane*, std::uint32_t, std::uint32_t, std::uint32_t, void*, void*, const void*);
Store plain_store = nullptr;
Atomic plain_atomic = nullptr;

// The cast is safe: dispatches of such kernels have no other observer.
Checker& checker_of(const Lane& lane) { return static_cast<Checker&>(*lane.observer); }

void* service_access(abi::Lane* abi_lane, std::uint32_t access, void* address, std::uint64_t bytes) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  return checker_of(lane).access(lane, access, address, bytes);
}

void service_store(abi::Lane* abi_lane, std::uint32_t site, void* destination, const void* source, std::uint64_t bytes) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  // A forbidden store still meets the stores of the other lanes, but writes nothing.
  if (!checker_of(lane).may_write(lane, site, destination, bytes)) bytes = 0;
  plain_store(abi_lane, site, destination, source, bytes);
}

void service_atomic(abi::Lane* abi_lane, std::uint32_t site, std::uint32_t operation, std::uint32_t type, void* object, void* operand,
                    const void* desired) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  const std::uint32_t bytes = lane.group->threadgroup->module().accesses[site].bytes;
  plain_atomic(abi_lane, site, operation, type, checker_of(lane).access(lane, site, object, bytes), operand, desired);
}

void service_fence(abi::Lane* abi_lane, std::uint32_t, std::uint32_t flags) { checker_of(*static_cast<Lane*>(abi_lane)).fence(flags); }

void service_arithmetic(abi::Lane* abi_lane, std::uint32_t operation, const std::byte* slots) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  checker_of(lane).arithmetic(lane, operation, slots);
}

}  // namespace

Services checked(Services services) {
  plain_store = reinterpret_cast<Store>(services[abi::kStore]);
  plain_atomic = reinterpret_cast<Atomic>(services[abi::kAtomic]);
  services[abi::kStore] = reinterpret_cast<Service>(service_store);
  services[abi::kAtomic] = reinterpret_cast<Service>(service_atomic);
  services[abi::kAccess] = reinterpret_cast<Service>(service_access);
  services[abi::kFence] = reinterpret_cast<Service>(service_fence);
  services[abi::kArithmetic] = reinterpret_cast<Service>(service_arithmetic);
  add_checked_vector_services(services);
  return services;
}

}  // namespace assay::metal::execute
