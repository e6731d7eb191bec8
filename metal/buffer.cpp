#include "metal/buffer.h"

#include <cstdlib>
#include <new>

namespace assay::metal {

namespace {

constexpr std::size_t kAlignment = 256;

std::byte* allocate(std::size_t size) {
  const std::size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
  if (data == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(data);
}

}  // namespace

Buffer::Buffer(std::size_t size, std::string label) : size_(size), label_(std::move(label)), data_(allocate(size)) { poison(); }

void Buffer::Free::operator()(std::byte* data) const { std::free(data); }

void Buffer::poison() {
  const std::size_t words = size_ / sizeof kPoisonWord;
  for (std::size_t word = 0; word < words; ++word) std::memcpy(data_.get() + word * sizeof kPoisonWord, &kPoisonWord, sizeof kPoisonWord);
  std::memcpy(data_.get() + words * sizeof kPoisonWord, &kPoisonWord, size_ % sizeof kPoisonWord);
}

}  // namespace assay::metal
