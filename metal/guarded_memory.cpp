// Maps memory between guard pages, and checks the poison in its margins.
#include "metal/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>

#include "metal/shared_memory.h"

namespace assay::metal {

namespace {

std::size_t round_up(std::size_t size, std::size_t multiple) { return (size + multiple - 1) / multiple * multiple; }

std::size_t usable_bytes(std::size_t size) { return round_up(size, static_cast<std::size_t>(sysconf(_SC_PAGESIZE))); }

// `offset` counts from an address that is a multiple of the poison word's size.
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

// All existing blocks, by the start of their mapping.
struct Registered {
  const std::byte* first_usable;
  const std::byte* last_usable;  // one past the last usable byte
  const std::byte* end;
};
std::mutex registry_mutex;
const std::byte* guarded_begin = nullptr;
const std::byte* guarded_end = nullptr;
std::map<const std::byte*, Registered>& registry() {
  // Never destroyed, because buffers of static duration may outlive any other such object.
  static auto& all = *new std::map<const std::byte*, Registered>();
  return all;
}

}  // namespace

bool GuardedMemory::is_guard(const std::byte* page) {
  const std::lock_guard lock(registry_mutex);
  const bool is_in_range = page >= guarded_begin && page < guarded_end;
  const auto behind = registry().upper_bound(page);
  if (behind == registry().begin()) return is_in_range;
  const Registered& found = std::prev(behind)->second;
  return page < found.end ? page < found.first_usable || page >= found.last_usable : is_in_range;
}

void GuardedMemory::guard_range(std::byte* begin, std::size_t bytes) {
  mprotect(begin, bytes, PROT_NONE);
  guarded_begin = begin;
  guarded_end = begin + bytes;
}

GuardedMemory::GuardedMemory(std::size_t size, SharedMemory* shared, bool zeroed) : shared_(shared), size_(size) {
  const std::size_t usable = usable_bytes(size);
  mapped_bytes_ = usable + 2 * kGuardBytes;
  if (shared_ != nullptr) {
    mapping_ = shared_->take(mapped_bytes_, 2 * kGuardBytes, zeroed);
  } else {
    void* mapping = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    mapping_ = static_cast<std::byte*>(mapping);
    if (usable != 0 && mprotect(mapping_ + kGuardBytes, usable, PROT_READ | PROT_WRITE) != 0) {
      munmap(mapping_, mapped_bytes_);
      throw std::bad_alloc();
    }
  }
  data_ = mapping_ + kGuardBytes + usable - round_up(size, kAlignment);
  poison_margins();
  enter_registry();
}

GuardedMemory::GuardedMemory(std::byte* data, std::size_t size) : is_of_parent_(true), data_(data), size_(size) {
  const std::size_t usable = usable_bytes(size);
  mapped_bytes_ = usable + 2 * kGuardBytes;
  mapping_ = data + round_up(size, kAlignment) - usable - kGuardBytes;
  if (usable != 0 && mprotect(mapping_ + kGuardBytes, usable, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  enter_registry();
}

void GuardedMemory::enter_registry() {
  const std::lock_guard lock(registry_mutex);
  registry()[mapping_] = {mapping_ + kGuardBytes, mapping_ + mapped_bytes_ - kGuardBytes, mapping_ + mapped_bytes_};
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

GuardedMemory::~GuardedMemory() {
  {
    const std::lock_guard lock(registry_mutex);
    registry().erase(mapping_);
  }
  if (shared_ != nullptr)
    shared_->give_back();
  else if (is_of_parent_)
    mprotect(mapping_, mapped_bytes_, PROT_NONE);
  else
    munmap(mapping_, mapped_bytes_);
}

}  // namespace assay::metal
