#include "metal/buffer.h"

namespace assay::metal {

Buffer::Buffer(std::size_t size, std::string label) : size_(size), label_(std::move(label)), memory_(size) { poison(); }

Buffer::Buffer(Unfilled, std::size_t size, std::string label) : size_(size), label_(std::move(label)), memory_(size) {}

std::unique_ptr<Buffer> Buffer::sparse(std::size_t size, std::string label) {
  return std::unique_ptr<Buffer>(new Buffer(Unfilled{}, size, std::move(label)));
}

void Buffer::poison() {
  const std::size_t words = size_ / sizeof kPoisonWord;
  for (std::size_t word = 0; word < words; ++word)
    std::memcpy(memory_.data() + word * sizeof kPoisonWord, &kPoisonWord, sizeof kPoisonWord);
  std::memcpy(memory_.data() + words * sizeof kPoisonWord, &kPoisonWord, size_ % sizeof kPoisonWord);
}

}  // namespace assay::metal
