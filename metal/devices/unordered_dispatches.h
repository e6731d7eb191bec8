// The dispatches of a concurrent encoder that nothing orders, and the hazards between them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/execute/access_log.h"
#include "metal/hazard.h"

namespace assay::metal::devices {

class UnorderedDispatches {
 public:
  // Adds a dispatch that has run. Returns its conflicts with the dispatches since the last barrier, which may run at the same time.
  std::vector<Hazard> add(std::uint64_t number, const ArgumentLayout& layout, execute::AccessLog log);
  // Called at a memory_barrier(), which orders later dispatches after all earlier ones.
  void clear() { dispatches_.clear(); }

 private:
  struct Dispatch {
    std::uint64_t number;
    ArgumentLayout layout;
    execute::AccessLog log;
  };
  std::vector<Dispatch> dispatches_;
};

}  // namespace assay::metal::devices
