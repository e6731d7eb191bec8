// The bytes of a buffer that were accessed: a bit for each. Parts of the buffer in which no bit is set use no memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace assay::metal::execute {

class TouchedBytes {
 public:
  explicit TouchedBytes(std::size_t bytes) : words_((bytes + 7) / 8 / sizeof(std::uint64_t) + 2) {
    // Zeroed pages from the system use no memory until they are written.
    bits_.reset(static_cast<std::uint64_t*>(std::calloc(words_, sizeof(std::uint64_t))));
    if (bits_ == nullptr) throw std::bad_alloc();
  }

  // Bit i % 8 of byte i / 8 stands for byte i. Eight bytes may be read and written at any of these bytes.
  [[nodiscard]] std::byte* bits() { return reinterpret_cast<std::byte*>(bits_.get()); }

  void insert(std::size_t first, std::size_t count) {
    for (constexpr std::size_t kAtOnce = 32; count != 0;) {
      const std::size_t part = count < kAtOnce ? count : kAtOnce;
      std::uint64_t word = 0;
      std::memcpy(&word, bits() + first / 8, sizeof word);
      word |= ((std::uint64_t{1} << part) - 1) << first % 8;
      std::memcpy(bits() + first / 8, &word, sizeof word);
      first += part;
      count -= part;
    }
  }
  // `other` must be of the same buffer.
  void insert(const TouchedBytes& other) {
    for (std::size_t word = 0; word < words_; ++word) {
      if (other.bits_[word] != 0) bits_[word] |= other.bits_[word];
    }
  }
  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t count = 0;
    for (std::size_t word = 0; word < words_; ++word) count += static_cast<std::uint64_t>(std::popcount(bits_[word]));
    return count;
  }

 private:
  struct Free {
    void operator()(std::uint64_t* bits) const { std::free(bits); }
  };
  std::size_t words_;
  std::unique_ptr<std::uint64_t[], Free> bits_;
};

}  // namespace assay::metal::execute
