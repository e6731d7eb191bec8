// How many processors this process may use.
#pragma once

#include <string_view>

namespace assay::base {

// At least 1: the processors that the scheduler may give it (taskset, cpusets), or fewer if its control group limits its processor time
// (`docker run --cpus=2`), rounded up. std::thread::hardware_concurrency() knows of neither on every machine. Known from the first call on.
[[nodiscard]] unsigned usable_processors();

// Processors that a cgroup's `cpu.max` allows ("200000 100000": 2), rounded up; 0 if it sets no limit or is not understood.
[[nodiscard]] unsigned processors_of_quota(std::string_view cpu_max);

}  // namespace assay::base
