#include "metal/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace assay::metal {

namespace {

std::size_t round_up(std::size_t size, std::size_t multiple) { return (size + multiple - 1) / multiple * multiple; }

// Margins count from an address that is a multiple of the poison word's size.
std::byte byte_of(std::uint32_t word, std::size_t offset) { return static_cast<std::byte>(word >> (offset % sizeof word * 8)); }

void fill(std::uint32_t word, std::byte* data, std::size_t first, std::size_t last) {
  for (; first < last && first % sizeof word != 0; ++first) data[first] = byte_of(word, first);
  for (; first + sizeof word <= last; first += sizeof word) std::memcpy(data + first, &word, sizeof word);
  for (; first < last; ++first) data[first] = byte_of(word, first);
}

bool is_margin(const std::byte* data, std::size_t first, std::size_t last) {
  for (; first < last && first % sizeof kMarginPoisonWord != 0; ++first) {
    if (data[first] != byte_of(kMarginPoisonWord, first)) return false;
  }
  for (; first + sizeof kMarginPoisonWord <= last; first += sizeof kMarginPoisonWord) {
    if (std::memcmp(data + first, &kMarginPoisonWord, sizeof kMarginPoisonWord) != 0) return false;
  }
  for (; first < last; ++first) {
    if (data[first] != byte_of(kMarginPoisonWord, first)) return false;
  }
  return true;
}

}  // namespace

GuardedMemory::GuardedMemory(std::size_t size) : size_(size) {
  const std::size_t usable = round_up(size, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  mapped_bytes_ = usable + 2 * kGuardBytes;
  void* mapping = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  if (usable != 0 && mprotect(mapping_ + kGuardBytes, usable, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping_, mapped_bytes_);
    throw std::bad_alloc();
  }
  data_ = mapping_ + kGuardBytes + usable - round_up(size, kAlignment);
  poison_margins();
}

void GuardedMemory::poison(std::uint32_t word) { fill(word, data_, 0, size_); }

std::optional<std::string_view> GuardedMemory::written_margin() const {
  const std::byte* first = mapping_ + kGuardBytes;
  if (!is_margin(first, 0, static_cast<std::size_t>(data_ - first))) return "before";
  if (!is_margin(data_, size_, round_up(size_, kAlignment))) return "behind";
  return std::nullopt;
}

void GuardedMemory::poison_margins() {
  std::byte* first = mapping_ + kGuardBytes;
  fill(kMarginPoisonWord, first, 0, static_cast<std::size_t>(data_ - first));
  fill(kMarginPoisonWord, data_, size_, round_up(size_, kAlignment));
}

GuardedMemory::~GuardedMemory() { munmap(mapping_, mapped_bytes_); }

}  // namespace assay::metal
