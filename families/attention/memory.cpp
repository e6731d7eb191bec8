// Stores the bytes of one input buffer, poisoned where nothing is stored.
#include "families/attention/memory.h"

#include "metal/guarded_memory.h"

namespace assay::families::attention {
namespace {

std::vector<std::byte> poisoned(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(metal::kReadPoisonWord >> i % 4 * 8);
  return bytes;
}

}  // namespace

Memory::Memory(std::size_t size) : size_(size) {
  if (size <= kLargestDenseBuffer) dense_ = poisoned(size);
}

std::span<std::byte> Memory::at(std::size_t offset, std::size_t length) {
  if (size_ <= kLargestDenseBuffer) return std::span(dense_).subspan(offset, length);
  std::vector<std::byte>& place = places_[offset];
  if (place.empty()) place = poisoned(length);
  return place;
}

JobBuffer Memory::buffer(std::string_view name) const {
  if (size_ <= kLargestDenseBuffer) return input_buffer(name, dense_);
  JobBuffer buffer{.argument = name, .size = size_, .gap = Gap::untouched};
  for (const auto& [offset, bytes] : places_) buffer.contents.push_back({offset, bytes});
  return buffer;
}

}  // namespace assay::families::attention
