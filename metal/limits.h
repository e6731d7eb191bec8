// Metal's limits on a compute dispatch, as enforced by the simulator.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::metal {

inline constexpr std::uint32_t kMaxThreadsPerThreadgroup = 1024;
inline constexpr std::size_t kMaxThreadgroupBytes = 32 * 1024;  // static and dynamic together
inline constexpr std::size_t kThreadgroupLengthMultiple = 16;
inline constexpr std::uint32_t kMaxBufferIndex = 30;
inline constexpr std::size_t kMaxSetBytes = 4096;

}  // namespace assay::metal
