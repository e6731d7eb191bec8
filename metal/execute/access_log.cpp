// Records accessed bytes, and compares two records.
#include "metal/execute/access_log.h"

#include <algorithm>

#include "metal/execute/lanes.h"

namespace assay::metal::execute {

void AccessLog::watch(const Buffer& buffer) {
  Touched& touched = buffers_[buffer.id()];
  touched.first = buffer.bytes().data();
  touched.label = buffer.label();
  touched.read.resize(buffer.size());
  touched.written.resize(buffer.size());
}

void AccessLog::record(const void* address, std::size_t bytes, bool is_write) {
  const auto* first = static_cast<const std::byte*>(address);
  for (auto& [id, touched] : buffers_) {
    if (first < touched.first || first >= touched.first + touched.read.size()) continue;
    const auto offset = static_cast<std::size_t>(first - touched.first);
    auto& bits = is_write ? touched.written : touched.read;
    for (std::size_t byte = offset; byte < std::min(offset + bytes, bits.size()); ++byte) bits[byte] = true;
    return;
  }
}

void AccessLog::accessed(const Lane& lane, const void* address, std::size_t bytes, bool is_write) {
  if (!lane.owns(address)) record(address, bytes, is_write);
}

std::optional<AccessLog::Conflict> AccessLog::conflict(const AccessLog& earlier, const AccessLog& later) {
  for (const auto& [id, before] : earlier.buffers_) {
    const auto found = later.buffers_.find(id);
    if (found == later.buffers_.end()) continue;
    const Touched& after = found->second;
    std::optional<Conflict> conflict;
    for (std::size_t byte = 0; byte < before.read.size(); ++byte) {
      const bool clash = (before.written[byte] && (after.read[byte] || after.written[byte])) || (before.read[byte] && after.written[byte]);
      if (!clash && conflict) return conflict;
      if (!clash) continue;
      if (!conflict) conflict = Conflict{after.label, byte, byte, before.written[byte], after.written[byte]};
      conflict->last_byte = byte;
    }
    if (conflict) return conflict;
  }
  return std::nullopt;
}

}  // namespace assay::metal::execute
