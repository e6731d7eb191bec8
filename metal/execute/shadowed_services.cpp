// Replacements for some of the runtime's functions in kernels that carry shadows.
#include "metal/execute/shadowed_services.h"

#include <cstring>

#include "metal/execute/lanes.h"
#include "metal/execute/shadow_cells.h"
#include "metal/execute/shadow_watch.h"

namespace assay::metal::execute {

namespace {

using Store = void (*)(abi::Lane*, std::uint32_t, void*, const void*, std::uint64_t);
using Multiply = std::uint64_t (*)(abi::Lane*, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t);
Store plain_store = nullptr;
Multiply plain_multiply = nullptr;

void service_store(abi::Lane* abi_lane, std::uint32_t site, void* destination, const void* source, std::uint64_t bytes) {
  auto& lane = *static_cast<Lane*>(abi_lane);
  auto& cells = ShadowCells::instance();
  if (lane.owns(destination)) {
    std::memmove(destination, source, bytes);
    return cells.copy(destination, source, bytes);
  }
  if (lane.owns(source)) return plain_store(abi_lane, site, destination, source, bytes);
  // Copied here and not in plain_store(), so that the shadows are copied too.
  auto* copy = static_cast<std::byte*>(__builtin_alloca_with_align(bytes, 512));
  std::memcpy(copy, source, bytes);
  cells.copy(copy, source, bytes);
  plain_store(abi_lane, site, destination, copy, bytes);
}

std::uint64_t service_multiply(abi::Lane* lane, std::uint32_t site, std::uint64_t a, std::uint64_t b, std::uint64_t c, double* shadows) {
  static_cast<Lane*>(lane)->request.pointers[0] = shadows;
  return plain_multiply(lane, site, a, b, c);
}

void service_copy(abi::Lane*, std::uint32_t, const void* destination, const void* source, std::uint64_t bytes) {
  ShadowCells::instance().copy(destination, source, bytes);
}

void service_rounded(abi::Lane* abi_lane, std::uint32_t operation, const double* rows) {
  const auto& lane = *static_cast<Lane*>(abi_lane);
  static_cast<ShadowWatch*>(lane.observer)->rounded(lane, operation, rows);
}

}  // namespace

Services shadowed(Services services) {
  plain_store = reinterpret_cast<Store>(services[abi::kStore]);
  plain_multiply = reinterpret_cast<Multiply>(services[abi::kMatrixMultiply]);
  services[abi::kStore] = reinterpret_cast<Service>(service_store);
  services[abi::kMatrixMultiply] = reinterpret_cast<Service>(service_multiply);
  services[abi::kCopyShadows] = reinterpret_cast<Service>(service_copy);
  services[abi::kRounded] = reinterpret_cast<Service>(service_rounded);
  return services;
}

}  // namespace assay::metal::execute
