#include "harness/run/cache_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace assay::harness {
namespace {

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

// Only pages that are in memory can hold anything else than zeros. (One that was written and swapped out meanwhile would be missed.)
bool is_untouched(std::span<const std::byte> bytes) {
  if (bytes.empty()) return true;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t end = begin + bytes.size();
  const std::uintptr_t first = begin / page * page;
  std::vector<unsigned char> in_memory((end - first + page - 1) / page);
  if (mincore(reinterpret_cast<void*>(first), end - first, in_memory.data()) != 0) return is_zero(bytes);
  for (std::size_t index = 0; index < in_memory.size(); ++index) {
    if ((in_memory[index] & 1U) == 0) continue;
    const std::uintptr_t from = std::max(begin, first + index * page);
    const std::uintptr_t to = std::min(end, first + (index + 1) * page);
    if (!is_zero(bytes.subspan(from - begin, to - from))) return false;
  }
  return true;
}

std::unique_ptr<metal::Buffer> make_cache_buffer(std::span<const std::byte> data, const CacheLayout& layout, std::string label) {
  if (!layout.is_sparse()) return metal::Buffer::of(data, std::move(label));
  auto buffer = metal::Buffer::sparse(data.size(), std::move(label));
  for (std::size_t head = 0; head < layout.heads; ++head)
    std::memcpy(buffer->bytes().data() + head * layout.row_bytes, data.data() + head * layout.row_bytes, layout.filled_bytes);
  return buffer;
}

bool holds_still(const metal::Buffer& buffer, std::span<const std::byte> data, const CacheLayout& layout) {
  const std::span<const std::byte> bytes = buffer.bytes();
  for (std::size_t head = 0; head < layout.heads; ++head) {
    const std::size_t start = head * layout.row_bytes;
    if (std::memcmp(bytes.data() + start, data.data() + start, layout.filled_bytes) != 0) return false;
    if (!is_untouched(bytes.subspan(start + layout.filled_bytes, layout.row_bytes - layout.filled_bytes))) return false;
  }
  return true;
}

}  // namespace assay::harness
