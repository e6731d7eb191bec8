// Reserves the shared address space and reuses its pages.
#include "metal/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <numeric>
#include <utility>

namespace assay::metal {
namespace {

constexpr std::size_t kSize = std::size_t{1} << 42;
// A region begins at a multiple of it, so that pages of one region serve the next one.
constexpr std::size_t kSlot = std::size_t{1} << 35;
// Unused on both sides of a region: an offset that overflows 32 bits leads there, for any factor.
constexpr std::size_t kGap = std::size_t{1} << 34;
// More than that is returned to the system when no region is left.
constexpr std::size_t kKept = std::size_t{64} << 20;

base::Descriptor make_file() {
  rlimit largest{};
  if (getrlimit(RLIMIT_FSIZE, &largest) != 0 || largest.rlim_cur < kSize) return base::Descriptor();
  base::Descriptor file(memfd_create("assay buffers", MFD_CLOEXEC));
  return file.number() < 0 || ftruncate(file.number(), kSize) != 0 ? base::Descriptor() : std::move(file);
}

}  // namespace

SharedMemory::SharedMemory() : file_(make_file()) { map(); }

SharedMemory::SharedMemory(base::Descriptor file) : file_(std::move(file)) { map(); }

void SharedMemory::map() {
  const int kind = file_.number() < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* mapping = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, file_.number(), 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(mapping);
}

SharedMemory::~SharedMemory() { munmap(begin_, kSize); }

std::size_t SharedMemory::size() { return kSize; }

std::byte* SharedMemory::take(std::size_t bytes, std::size_t unused, bool zeroed) {
  if (bytes > kSize || next_ + kGap + bytes > kSize) throw std::bad_alloc();
  const std::size_t first = next_ + kGap;
  const std::size_t slot = next_ / kSlot;
  next_ = (first + bytes + kSlot - 1) / kSlot * kSlot;
  if (zeroed) remove_pages(first, first + bytes);
  // Before and behind it, a buffer has guard bytes, which take no memory.
  if (longest_.size() < next_ / kSlot) longest_.resize(next_ / kSlot);
  longest_[slot] = std::max(longest_[slot], bytes - std::min(bytes, unused));
  ++living_;
  return begin_ + first;
}

void SharedMemory::give_back() {
  if (--living_ != 0) return;
  if (std::accumulate(longest_.begin(), longest_.end(), std::size_t{0}) > kKept) {
    remove_pages(0, longest_.size() * kSlot);
    longest_.clear();
  }
  next_ = 0;
}

// The file knows its holes, so that gigabytes without pages take one call. To ask for the state of each page takes a millisecond a
// gigabyte.
std::optional<std::vector<SharedMemory::Part>> SharedMemory::parts_with_pages(const std::byte* first, std::size_t bytes) const {
  if (file_.number() < 0) return std::nullopt;
  const off_t begin = first - begin_;
  const off_t end = begin + static_cast<off_t>(bytes);
  std::vector<Part> parts;
  for (off_t at = begin; at < end;) {
    const off_t data = lseek(file_.number(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole up to the end of the file
    if (data < 0) return std::nullopt;
    if (data >= end) break;
    const off_t hole = lseek(file_.number(), data, SEEK_HOLE);
    if (hole <= data) return std::nullopt;
    at = std::min(hole, end);
    parts.push_back({static_cast<std::size_t>(data - begin), static_cast<std::size_t>(at - data)});
  }
  return parts;
}

void SharedMemory::remove_pages(std::size_t first, std::size_t last) {
  // Whole pages, outward.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  first = first / page * page;
  last = (last + page - 1) / page * page;
  if (first >= last) return;
  // Both do the same to a file, but qemu ignores the advice.
  const int failed = file_.number() < 0 ? madvise(begin_ + first, last - first, MADV_REMOVE)
                                        : fallocate(file_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                                                    static_cast<off_t>(last - first));
  if (failed != 0) throw std::bad_alloc();
}

}  // namespace assay::metal
