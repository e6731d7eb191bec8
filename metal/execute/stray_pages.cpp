// Maps and unmaps pages of poison.
#include "metal/execute/stray_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "metal/guarded_memory.h"

namespace assay::metal::execute {

namespace {

const auto kPageBytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));

// Only a privileged process may map pages below this address, and the behaviour of a kernel must not depend on privileges.
constexpr std::uintptr_t kLowest = 65536;
// No process has pages from this address on. Processors of ARM with fewer bits have none from an earlier one on, where opening fails.
#if defined(__aarch64__)
constexpr unsigned kAddressBits = 48;
#else
constexpr unsigned kAddressBits = 47;
#endif
const std::uintptr_t kHighest = (std::uintptr_t{1} << kAddressBits) - kPageBytes;

void fill(std::byte* page) {
  auto* words = reinterpret_cast<std::uint32_t*>(page);
  std::fill_n(words, kPageBytes / sizeof *words, kReadPoisonWord);
}

}  // namespace

bool StrayPages::can_open(const void* address, bool is_nothing) {
  const auto at = reinterpret_cast<std::uintptr_t>(address) & ~(kPageBytes - 1);
  return at >= kLowest && at < kHighest && (is_nothing || GuardedMemory::is_guard(reinterpret_cast<const std::byte*>(at)));
}

bool StrayPages::open(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address) & ~(kPageBytes - 1);
  auto* data = reinterpret_cast<std::byte*>(at);
  const auto is_there = [data](const Page& page) { return page.data == data; };
  const auto opened = std::span(open_).first(open_count_);
  const auto kept = std::span(kept_).first(kept_count_);
  if (open_count_ == kMostOpen || std::ranges::any_of(opened, is_there)) return false;
  Page page{data, GuardedMemory::is_guard(data)};
  if (const auto found = std::ranges::find_if(kept, is_there); found != kept.end()) {
    page.was_guard = found->was_guard;
    *found = kept.back();
    --kept_count_;
    if (mprotect(data, kPageBytes, PROT_READ | PROT_WRITE) != 0) return false;
  } else {
    const int where = page.was_guard ? MAP_FIXED : MAP_FIXED_NOREPLACE;
    if (mmap(data, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | where, -1, 0) != data) return false;
  }
  fill(data);
  open_[open_count_++] = page;
  return true;
}

bool StrayPages::keeps(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address) & ~(kPageBytes - 1);
  return std::ranges::any_of(std::span(kept_).first(kept_count_),
                             [at](const Page& page) { return reinterpret_cast<std::uintptr_t>(page.data) == at; });
}

void StrayPages::close(bool keeps) {
  for (const Page& page : std::span(open_).first(open_count_)) {
    if (keeps && kept_count_ < kMostKept) {
      fill(page.data);
      mprotect(page.data, kPageBytes, PROT_READ);
      kept_[kept_count_++] = page;
    } else {
      remove(page);
    }
  }
  open_count_ = 0;
}

void StrayPages::clear() {
  close(false);
  for (const Page& page : std::span(kept_).first(kept_count_)) remove(page);
  kept_count_ = 0;
}

void StrayPages::remove(const Page& page) {
  if (page.was_guard) {
    mmap(page.data, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  } else {
    munmap(page.data, kPageBytes);
  }
}

}  // namespace assay::metal::execute
