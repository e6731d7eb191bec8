#include "metal/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace assay::metal {

namespace {

std::size_t round_up(std::size_t size, std::size_t multiple) { return (size + multiple - 1) / multiple * multiple; }

}  // namespace

GuardedMemory::GuardedMemory(std::size_t size) {
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
}

GuardedMemory::~GuardedMemory() { munmap(mapping_, mapped_bytes_); }

}  // namespace assay::metal
