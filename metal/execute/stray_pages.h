// Pages of poison, mapped at an unmapped address for the duration of one invalid access.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::metal::execute {

// Used by signal handlers, so it does not allocate from the heap.
class StrayPages {
 public:
  // Whether a page may be mapped at the address. `is_nothing`: the fault says that the address is unmapped; otherwise it may
  // be a guard.
  static bool can_open(const void* address, bool is_nothing);
  // Lets the instruction that faulted at `address` read poison, and write. Returns false if the page is in use, or if too many
  // pages are open.
  bool open(const void* address);
  [[nodiscard]] bool is_open() const { return open_count_ != 0; }
  // Whether close() has kept a page at the address.
  [[nodiscard]] bool keeps(const void* address) const;
  // Discards what was written. With `keeps`, the pages stay as readable poison until clear().
  void close(bool keeps);
  // Unmaps all pages.
  void clear();

 private:
  struct Page {
    std::byte* data = nullptr;
    bool was_guard = false;  // or nothing
  };
  static void remove(const Page& page);
  static constexpr std::size_t kMostOpen = 8;  // enough for a copy between two vectors that each cross a page, and for a gather
  static constexpr std::size_t kMostKept = 1024;
  std::array<Page, kMostOpen> open_{};
  std::array<Page, kMostKept> kept_{};
  std::size_t open_count_ = 0;
  std::size_t kept_count_ = 0;
};

}  // namespace assay::metal::execute
