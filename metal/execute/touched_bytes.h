// The bytes of a buffer that were accessed: a bit for each. Parts of the buffer in which no bit is set use no memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace assay::metal::execute {

class TouchedBytes {
 public:
  explicit TouchedBytes(std::size_t bytes) : words_((bytes + 7) / 8 / sizeof(std::uint64_t) + 2) {
    // Pages of zeros from the system use no memory until they are written. Not those of calloc, which mallopt(M_PERTURB) has filled.
    void* pages = mmap(nullptr, bytes_of(words_), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    bits_ = Words(static_cast<std::uint64_t*>(pages), Unmap{bytes_of(words_)});
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
    other.for_each_word_in_memory([&](std::size_t word, std::uint64_t bits) {
      if (bits != 0) bits_[word] |= bits;
    });
  }
  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t count = 0;
    for_each_word_in_memory([&](std::size_t, std::uint64_t bits) { count += static_cast<std::uint64_t>(std::popcount(bits)); });
    return count;
  }

 private:
  // Pages that nobody wrote are left out: reading them would make each of them a page of zeros, which takes seconds for
  // gigabytes. A page that was written and then swapped out would be missed.
  template <typename F>
  void for_each_word_in_memory(F f) const {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> present((bytes_of(words_) + page - 1) / page, 1);
    if (present.size() > 1 && mincore(bits_.get(), bytes_of(words_), present.data()) != 0) std::ranges::fill(present, 1);
    const std::size_t words_of_page = page / sizeof(std::uint64_t);
    for (std::size_t number = 0; number < present.size(); ++number) {
      if ((present[number] & 1U) == 0) continue;
      for (std::size_t word = number * words_of_page; word < std::min(words_, (number + 1) * words_of_page); ++word) f(word, bits_[word]);
    }
  }
  static std::size_t bytes_of(std::size_t words) { return words * sizeof(std::uint64_t); }

  struct Unmap {
    std::size_t bytes;
    void operator()(std::uint64_t* bits) const { munmap(bits, bytes); }
  };
  using Words = std::unique_ptr<std::uint64_t[], Unmap>;

  std::size_t words_;
  Words bits_;
};

}  // namespace assay::metal::execute
