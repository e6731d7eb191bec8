// Tracks which buffers of a simulator contain numbers computed by kernels, whose shadows may differ from the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "metal/buffer.h"
#include "metal/lane_abi.h"
#include "metal/source_location.h"

namespace assay::metal::execute {

class ShadowBuffers {
 public:
  // Call it at the start of a dispatch of the kernel on these buffers (null: none bound). Returns abi::Lane::shadowed_buffers.
  std::uint32_t begin(const abi::Module& module, std::span<const Buffer* const> buffers);

  // Whether a dispatch had the buffer bound, so that its numbers can have shadows of this simulator.
  [[nodiscard]] bool knows(const Buffer& buffer) const { return seen_.contains(buffer.id()); }
  // See Simulator.
  [[nodiscard]] const std::vector<SourceLocation>& lost() const { return lost_; }

 private:
  std::set<std::uint64_t> seen_, written_;  // by Buffer::id()
  std::set<const abi::Module*> modules_;
  std::vector<SourceLocation> lost_;
};

}  // namespace assay::metal::execute
