// The bytes of device buffers that a dispatch accessed, for the hazards of a concurrent encoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metal/buffer.h"
#include "metal/execute/observer.h"

namespace assay::metal::execute {

class AccessLog : public Observer {
 public:
  // Records accesses to this buffer from now on. The buffer must exist as long as accesses are recorded; the record may outlive it.
  void watch(const Buffer& buffer);

  // Records an access of `bytes` bytes; ignored outside of the watched buffers.
  void record(const void* address, std::size_t bytes, bool is_write);

  void accessed(const Lane& lane, const void* address, std::size_t bytes, bool is_write) override;

  struct Conflict {
    std::string buffer;          // its label
    std::size_t first_byte = 0;  // of the lowest contiguous range in conflict
    std::size_t last_byte = 0;
    bool earlier_writes = false;
    bool later_writes = false;
  };
  // The first bytes that one of two dispatches writes and the other one accesses.
  [[nodiscard]] static std::optional<Conflict> conflict(const AccessLog& earlier, const AccessLog& later);

 private:
  struct Touched {
    const std::byte* first = nullptr;  // of the buffer's bytes
    std::string label;
    std::vector<bool> read;
    std::vector<bool> written;
  };
  std::map<std::uint64_t, Touched> buffers_;  // by Buffer::id()
};

}  // namespace assay::metal::execute
