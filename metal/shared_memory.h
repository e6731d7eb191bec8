// Memory that this process shares with the children that it forks later. Buffers in it are seen by both.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/descriptor.h"

namespace assay::metal {

// Hands out regions far apart from each other and starts over when all are given back. Pages stay allocated for the next regions, because
// new ones cost more than the work on a small buffer.
class SharedMemory {
 public:
  // Reserves address space; only pages that are written take memory. Throws std::bad_alloc.
  SharedMemory();
  // The memory of another process, which has sent its file(). Throws std::bad_alloc.
  explicit SharedMemory(base::Descriptor file);
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  // A region of whole pages. Its bytes are 0 if `zeroed`, otherwise anything. `unused` of them are never written. Throws std::bad_alloc.
  [[nodiscard]] std::byte* take(std::size_t bytes, std::size_t unused, bool zeroed);
  void give_back();

  // The whole address range, for a child that forbids itself all access to it.
  [[nodiscard]] std::byte* begin() const { return begin_; }
  [[nodiscard]] static std::size_t size();
  // -1: where files cannot be as large, or the system has no memory files. Then only forks that are made later share it.
  [[nodiscard]] int file() const { return file_.number(); }

  // Offset from `first` and length of a part.
  struct Part {
    std::size_t at = 0;
    std::size_t length = 0;
  };
  // The parts of a region that have pages; all bytes outside of them are 0. Nothing: the system does not say.
  [[nodiscard]] std::optional<std::vector<Part>> parts_with_pages(const std::byte* first, std::size_t bytes) const;

 private:
  void map();
  void remove_pages(std::size_t first, std::size_t last);

  // Open as long as the memory is there, so that base::Process::resident_bytes() counts pages that only a child has touched.
  base::Descriptor file_;
  std::byte* begin_ = nullptr;
  std::size_t next_ = 0;              // offset of the next slot
  std::vector<std::size_t> longest_;  // by slot: bytes that may have pages
  std::size_t living_ = 0;            // regions not given back
};

}  // namespace assay::metal
