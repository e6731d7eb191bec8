// Serialises values for a process of the same build. The reader does not trust the bytes, because a damaged process may have written them.
//
// A function fields() beside a type lists its members for reading and writing. It names every member, so that a new member stops the build
// there:
//
//   void fields(auto& archive, base::OneOf<WorstElement> auto& value) {
//     auto& [index, expected] = value;
//     each(archive, index, expected);
//   }
//
// For an enumeration, `largest(E)` beside it gives the largest accepted value. Numbers are 64-bit words; strings and lists follow their
// length. Equal values give equal bytes. Different byte sequences give different values, except for maps.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace assay::base {

using Bytes = std::vector<std::byte>;

// Bytes that do not encode a value; what() says where and why.
class DamagedArchive : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// Matches T when reading and const T when writing.
template <typename T, typename Of>
concept OneOf = std::same_as<std::remove_const_t<T>, Of>;

// Reads or writes members in order, for fields().
template <typename Archive, typename... Members>
void each(Archive& archive, Members&... members) {
  (archive(members), ...);
}

template <typename T>
concept Enumeration = std::is_enum_v<T>;
// Types that are also words in memory.
template <typename T>
concept Word = std::same_as<T, double> || (std::integral<T> && sizeof(T) == sizeof(std::uint64_t));

class ArchiveWriter {
 public:
  template <std::integral T>
  void operator()(const T& value) {
    word(static_cast<std::uint64_t>(value));
  }
  void operator()(const double& value) { word(std::bit_cast<std::uint64_t>(value)); }
  void operator()(const float& value) { word(std::bit_cast<std::uint32_t>(value)); }
  template <Enumeration T>
  void operator()(const T& value) {
    word(static_cast<std::uint64_t>(value));
  }
  void operator()(const std::string& text) {
    word(text.size());
    append(std::as_bytes(std::span(text)));
  }
  template <typename T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    word(values.size());
    if constexpr (Word<T>) {
      append(std::as_bytes(std::span(values)));
    } else {
      for (const T& value : values) (*this)(value);
    }
  }
  template <typename Key, typename T, typename Compare>
  void operator()(const std::map<Key, T, Compare>& values) {
    word(values.size());
    for (const auto& [key, value] : values) each(*this, key, value);
  }
  template <typename First, typename Second>
  void operator()(const std::pair<First, Second>& value) {
    each(*this, value.first, value.second);
  }
  template <typename... Kinds>
  void operator()(const std::variant<Kinds...>& value) {
    word(value.index());
    std::visit(*this, value);
  }
  void operator()(const std::monostate&) {}
  template <typename T>
    requires std::is_class_v<T>
  void operator()(const T& value) {
    fields(*this, value);
  }

  Bytes bytes;

 private:
  void append(std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
  void word(std::uint64_t value) { append(std::as_bytes(std::span(&value, 1))); }
};

// Throws DamagedArchive. Allocates at most a small multiple of the size of the input.
class ArchiveReader {
 public:
  explicit ArchiveReader(std::span<const std::byte> bytes) : rest_(bytes), size_(bytes.size()) {}

  template <std::unsigned_integral T>
  void operator()(T& value) {
    value = static_cast<T>(word(std::numeric_limits<T>::max(), "number"));
  }
  template <std::signed_integral T>
    requires Word<T>
  void operator()(T& value) {
    value = static_cast<T>(word(kAnything, "number"));
  }
  void operator()(bool& value) { value = word(1, "truth value") != 0; }
  void operator()(double& value) { value = std::bit_cast<double>(word(kAnything, "number")); }
  void operator()(float& value) {
    value = std::bit_cast<float>(static_cast<std::uint32_t>(word(std::numeric_limits<std::uint32_t>::max(), "number")));
  }
  template <Enumeration T>
  void operator()(T& value) {
    value = static_cast<T>(word(largest(T{}), "enumerator"));
  }
  void operator()(std::string& text) {
    const std::span<const std::byte> characters = take(count(1));
    text.assign(reinterpret_cast<const char*>(characters.data()), characters.size());
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    bool is_there = false;
    (*this)(is_there);
    if (is_there) (*this)(value.emplace());
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    std::size_t left = count(sizeof(std::uint64_t));
    if constexpr (Word<T>) {
      const std::span<const std::byte> bytes = take(left * sizeof(T));
      values.resize(left);
      if (left != 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      // Grows one by one, so that a wrong count reaches the end of the input before it allocates much memory.
      for (; left != 0; --left) (*this)(values.emplace_back());
    }
  }
  template <typename Key, typename T, typename Compare>
  void operator()(std::map<Key, T, Compare>& values) {
    for (std::size_t left = count(2 * sizeof(std::uint64_t)); left != 0; --left) {
      std::pair<Key, T> entry;
      (*this)(entry);
      values.insert(std::move(entry));
    }
  }
  template <typename First, typename Second>
  void operator()(std::pair<First, Second>& value) {
    each(*this, value.first, value.second);
  }
  template <typename... Kinds>
  void operator()(std::variant<Kinds...>& value) {
    const std::uint64_t index = word(sizeof...(Kinds) - 1, "kind");
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((I == index ? (*this)(value.template emplace<I>()) : void()), ...);
    }(std::index_sequence_for<Kinds...>{});
  }
  void operator()(std::monostate&) {}
  template <typename T>
    requires std::is_class_v<T>
  void operator()(T& value) {
    fields(*this, value);
  }

  void expect_end() const {
    if (!rest_.empty()) throw DamagedArchive(fmt::format("{} bytes behind the end, which is at {}", rest_.size(), place()));
  }

 private:
  static constexpr std::uint64_t kAnything = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] std::size_t place() const { return size_ - rest_.size(); }

  std::span<const std::byte> take(std::size_t wanted) {
    if (wanted > rest_.size())
      throw DamagedArchive(fmt::format("{} bytes are missing at byte {} of {}", wanted - rest_.size(), place(), size_));
    const std::span<const std::byte> taken = rest_.first(wanted);
    rest_ = rest_.subspan(wanted);
    return taken;
  }
  std::uint64_t word(std::uint64_t limit, const char* what) {
    const std::size_t start = place();
    std::array<std::byte, sizeof(std::uint64_t)> raw;
    std::ranges::copy(take(raw.size()), raw.begin());
    const auto value = std::bit_cast<std::uint64_t>(raw);
    if (value > limit) throw DamagedArchive(fmt::format("{} {} at byte {} is above {}", what, value, start, limit));
    return value;
  }
  // Reads the length of a list whose elements take at least `smallest` bytes each.
  std::size_t count(std::size_t smallest) {
    const std::size_t longest = rest_.size() < sizeof(std::uint64_t) ? 0 : (rest_.size() - sizeof(std::uint64_t)) / smallest;
    return static_cast<std::size_t>(word(longest, "count"));
  }

  std::span<const std::byte> rest_;
  std::size_t size_;
};

template <typename T>
[[nodiscard]] Bytes to_bytes(const T& value) {
  ArchiveWriter writer;
  writer(value);
  return std::move(writer.bytes);
}

// Throws DamagedArchive for bytes that to_bytes() cannot produce.
template <typename T>
[[nodiscard]] T from_bytes(std::span<const std::byte> bytes) {
  T value;
  ArchiveReader reader(bytes);
  reader(value);
  reader.expect_end();
  return value;
}

}  // namespace assay::base
