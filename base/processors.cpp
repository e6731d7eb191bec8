// Asks the scheduler and the control group.
#include "base/processors.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace assay::base {
namespace {

namespace fs = std::filesystem;

unsigned schedulable_processors() {
  const unsigned all = std::max(1U, std::thread::hardware_concurrency());
  cpu_set_t allowed;
  // Fails on machines with more processors than the set has room for.
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return all;
  return std::clamp(static_cast<unsigned>(CPU_COUNT(&allowed)), 1U, all);
}

// The folder of this process's control group, version 2; empty if there is none.
fs::path control_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::/")) return fs::path("/sys/fs/cgroup") / line.substr(4);
  }
  return {};
}

unsigned limit_of_control_groups(unsigned most) {
  const fs::path root = "/sys/fs/cgroup";
  for (fs::path group = control_group(); !group.empty(); group = group.parent_path()) {
    std::ifstream file(group / "cpu.max");
    std::string text;
    if (std::getline(file, text)) {
      const unsigned limit = processors_of_quota(text);
      if (limit > 0) most = std::min(most, limit);
    }
    if (group == root || group == group.parent_path()) break;
  }
  return most;
}

}  // namespace

unsigned processors_of_quota(std::string_view cpu_max) {
  std::istringstream words{std::string(cpu_max)};
  std::uint64_t quota = 0, period = 0;
  if (!(words >> quota >> period) || quota == 0 || period == 0) return 0;
  constexpr std::uint64_t most = 1U << 16U;
  return static_cast<unsigned>(std::min(most, quota / period + (quota % period == 0 ? 0 : 1)));
}

unsigned usable_processors() {
  static const unsigned count = limit_of_control_groups(schedulable_processors());
  return count;
}

}  // namespace assay::base
