// Reserves the shared address space and reuses its pages.
#include "metal/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace assay::metal {
namespace {

constexpr std::size_t kSize = std::size_t{1} << 40;
// More than that is returned to the system when no region is left.
constexpr std::size_t kKept = std::size_t{64} << 20;

}  // namespace

SharedMemory::SharedMemory() : file_(memfd_create("assay buffers", MFD_CLOEXEC)) {
  if (file_ < 0) throw std::bad_alloc();
  void* mapping = MAP_FAILED;
  if (ftruncate(file_, kSize) == 0) mapping = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (mapping == MAP_FAILED) {
    close(file_);
    throw std::bad_alloc();
  }
  begin_ = static_cast<std::byte*>(mapping);
}

SharedMemory::~SharedMemory() {
  munmap(begin_, kSize);
  close(file_);
}

std::size_t SharedMemory::size() { return kSize; }

std::byte* SharedMemory::take(std::size_t bytes, bool zeroed) {
  if (bytes > kSize - next_) throw std::bad_alloc();
  const std::size_t first = next_;
  next_ += bytes;
  if (zeroed) remove_pages(first, std::min(next_, used_end_));
  used_end_ = std::max(used_end_, next_);
  ++living_;
  return begin_ + first;
}

void SharedMemory::give_back() {
  if (--living_ != 0) return;
  next_ = 0;
  if (used_end_ <= kKept) return;
  remove_pages(kKept, used_end_);
  used_end_ = kKept;
}

void SharedMemory::remove_pages(std::size_t first, std::size_t last) {
  if (first < last &&
      fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first), static_cast<off_t>(last - first)) != 0)
    throw std::bad_alloc();
}

}  // namespace assay::metal
