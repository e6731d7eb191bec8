// Which bytes of which device buffers a dispatch touched: what a concurrent encoder needs to know of its dispatches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metal/buffer.h"

namespace assay::metal::execute {

class AccessLog {
 public:
  // Accesses are looked for in this buffer too, from now on. It lives as long as accesses are recorded; what was recorded may outlive it.
  void watch(const Buffer& buffer);

  // Notes an access of `bytes` bytes; one that lies in no watched buffer is ignored.
  void record(const void* address, std::size_t bytes, bool is_write);

  struct Conflict {
    std::string buffer;          // its label
    std::size_t first_byte = 0;  // of the lowest contiguous range in conflict
    std::size_t last_byte = 0;
    bool earlier_writes = false;
    bool later_writes = false;
  };
  // The first place where one of two dispatches writes what the other touches.
  [[nodiscard]] static std::optional<Conflict> conflict(const AccessLog& earlier, const AccessLog& later);

 private:
  struct Touched {
    const std::byte* first = nullptr;  // of its bytes
    std::string label;
    std::vector<bool> read;
    std::vector<bool> written;
  };
  std::map<std::uint64_t, Touched> buffers_;  // by Buffer::id()
};

}  // namespace assay::metal::execute
