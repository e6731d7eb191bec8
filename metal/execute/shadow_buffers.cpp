// Records which buffers a dispatch writes, and where its kernel loses shadows.
#include "metal/execute/shadow_buffers.h"

#include <algorithm>

#include "metal/execute/shadow_cells.h"

namespace assay::metal::execute {

std::uint32_t ShadowBuffers::begin(const abi::Module& module, std::span<const Buffer* const> buffers) {
  // Shadows that an earlier simulator left at these addresses must not be used.
  for (const Buffer* buffer : buffers) {
    if (buffer != nullptr && seen_.insert(buffer->id()).second) ShadowCells::instance().forget(buffer->bytes().data(), buffer->size());
  }
  std::uint32_t result = 0;
  for (std::uint32_t index = 0; index < buffers.size(); ++index) {
    if (buffers[index] == nullptr) continue;
    if ((module.written_buffers >> index & 1u) != 0) written_.insert(buffers[index]->id());
  }
  for (std::uint32_t index = 0; index < buffers.size(); ++index) {
    if (buffers[index] != nullptr && written_.contains(buffers[index]->id())) result |= 1u << index;
  }
  if (modules_.insert(&module).second) {
    for (const abi::Lost& place : std::span(module.lost, module.lost_count)) {
      const SourceLocation where{module.files[place.file], place.line};
      if (std::ranges::find(lost_, where) == lost_.end()) lost_.push_back(where);
    }
  }
  return result;
}

}  // namespace assay::metal::execute
