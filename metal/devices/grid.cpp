// Checks the size of a dispatch.
#include "metal/devices/grid.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "metal/errors.h"
#include "metal/limits.h"

namespace assay::metal::devices {
namespace {

std::uint32_t threads_along(std::uint32_t threadgroups, std::uint32_t threads, std::string_view axis) {
  const std::uint64_t total = std::uint64_t{threadgroups} * threads;
  if (total > std::numeric_limits<std::uint32_t>::max())
    throw EncodeError(fmt::format("{} x {} threads along {} exceed 32 bits", threadgroups, threads, axis));
  return static_cast<std::uint32_t>(total);
}

}  // namespace

Grid grid_of_threadgroups(Size3 threadgroups, Size3 threads_per_threadgroup) {
  return {
      threadgroups, threads_per_threadgroup,
      Size3{threads_along(threadgroups.x, threads_per_threadgroup.x, "x"), threads_along(threadgroups.y, threads_per_threadgroup.y, "y"),
            threads_along(threadgroups.z, threads_per_threadgroup.z, "z")}};
}

Grid grid_of_threads(Size3 threads, Size3 threads_per_threadgroup) {
  const auto groups = [](std::uint32_t count, std::uint32_t size) { return size == 0 ? 0 : count / size + (count % size != 0 ? 1 : 0); };
  return {Size3{groups(threads.x, threads_per_threadgroup.x), groups(threads.y, threads_per_threadgroup.y),
                groups(threads.z, threads_per_threadgroup.z)},
          threads_per_threadgroup, threads};
}

void check_grid(const ArgumentLayout& layout, const Grid& grid) {
  for (const auto& [size, what] : {std::pair{grid.threadgroups, "grid"}, std::pair{grid.threads, "threadgroup"}}) {
    if (size.x == 0 || size.y == 0 || size.z == 0)
      throw EncodeError(fmt::format("'{}': a {} of {} x {} x {} is empty", layout.function, what, size.x, size.y, size.z));
  }
  const Size3& threads = grid.threads;
  if (threads.count() > layout.max_total_threads) {
    throw EncodeError(
        fmt::format("'{}': {} x {} x {} = {} threads per threadgroup are more than the {} that {} allows", layout.function, threads.x,
                    threads.y, threads.z, threads.count(), layout.max_total_threads,
                    layout.max_total_threads == kMaxThreadsPerThreadgroup ? "Metal" : "the kernel's max_total_threads_per_threadgroup"));
  }
}

}  // namespace assay::metal::devices
