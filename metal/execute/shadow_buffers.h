// Which buffers of a simulator hold numbers that kernels have computed, and so may have shadows that are not the numbers themselves.
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
  // A dispatch of the kernel on these buffers begins (null where none is bound); returns abi::Lane::shadowed_buffers.
  std::uint32_t begin(const abi::Module& module, std::span<const Buffer* const> buffers);

  // Whether a dispatch had the buffer bound, so that its numbers can have shadows of this simulator.
  [[nodiscard]] bool knows(const Buffer& buffer) const { return seen_.contains(buffer.id()); }
  // As Simulator has it.
  [[nodiscard]] const std::vector<SourceLocation>& lost() const { return lost_; }

 private:
  std::set<std::uint64_t> seen_, written_;  // by Buffer::id()
  std::set<const abi::Module*> modules_;
  std::vector<SourceLocation> lost_;
};

}  // namespace assay::metal::execute
