// A set of byte offsets that only uses memory for the parts where it has members: the initialised bytes of a buffer.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace assay::metal::execute {

class ByteSet {
 public:
  ByteSet() = default;
  ByteSet(const ByteSet& other) { *this = other; }
  ByteSet& operator=(const ByteSet& other) {
    if (this == &other) return *this;
    pages_.clear();
    for (const auto& page : other.pages_) pages_.push_back(page ? std::make_unique<Page>(*page) : nullptr);
    return *this;
  }

  void insert(std::size_t first, std::size_t count) {
    while (count != 0) {
      const std::size_t within = first % kWordBits;
      const std::size_t part = std::min(count, kWordBits - within);
      word(first / kWordBits) |= mask(within, part);
      first += part;
      count -= part;
    }
  }

  // The first of the `count` offsets from `first` on that is not in the set, as a distance from `first`; `count` if all are in the set.
  [[nodiscard]] std::size_t first_missing(std::size_t first, std::size_t count) const {
    for (std::size_t done = 0; done < count;) {
      const std::size_t within = (first + done) % kWordBits;
      const std::size_t part = std::min(count - done, kWordBits - within);
      const std::uint64_t missing = mask(within, part) & ~value((first + done) / kWordBits);
      if (missing != 0) return done + static_cast<std::size_t>(std::countr_zero(missing)) - within;
      done += part;
    }
    return count;
  }

 private:
  static constexpr std::size_t kWordBits = 64;
  static constexpr std::size_t kPageWords = 128;
  using Page = std::array<std::uint64_t, kPageWords>;

  static std::uint64_t mask(std::size_t first, std::size_t count) {
    return (count == kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
  }
  std::uint64_t& word(std::size_t index) {
    const std::size_t page = index / kPageWords;
    if (page >= pages_.size() || !pages_[page]) add_page(page);
    return (*pages_[page])[index % kPageWords];
  }
  [[nodiscard]] std::uint64_t value(std::size_t index) const {
    const std::size_t page = index / kPageWords;
    return page >= pages_.size() || !pages_[page] ? 0 : (*pages_[page])[index % kPageWords];
  }
  void add_page(std::size_t page) {
    if (page >= pages_.size()) pages_.resize(page + 1);
    pages_[page] = std::make_unique<Page>();
  }

  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace assay::metal::execute
