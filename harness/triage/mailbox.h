// What workers bring home beside their verdicts: whatever is too large or too particular for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace assay::harness {

// Numbers and texts, one behind the other, for a process of the same executable.
class Parcel {
 public:
  Parcel() = default;
  explicit Parcel(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    append(std::as_bytes(std::span(&value, 1)));
  }
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void put(const std::vector<T>& values) {
    put(values.size());
    append(std::as_bytes(std::span(values)));
  }
  void put(const std::string& text) {
    put(text.size());
    append(std::as_bytes(std::span(text)));
  }

  // In the order in which they were put. Throw std::out_of_range behind the end: who wrote it did not come to his.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void take(T& value) {
    std::memcpy(&value, next(sizeof(T)).data(), sizeof(T));
  }
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void take(std::vector<T>& values) {
    const std::span<const std::byte> bytes = counted(sizeof(T));
    values.resize(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  void take(std::string& text) {
    const std::span<const std::byte> bytes = counted(1);
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void append(std::span<const std::byte> more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
  std::span<const std::byte> counted(std::size_t each) {
    std::size_t count = 0;
    take(count);
    if (count > (bytes_.size() - at_) / each) throw std::out_of_range("a parcel ends before what it counts");
    return next(count * each);
  }
  std::span<const std::byte> next(std::size_t size) {
    if (size > bytes_.size() - at_) throw std::out_of_range("a parcel ends too early");
    at_ += size;
    return std::span<const std::byte>(bytes_).subspan(at_ - size, size);
  }

  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

// A folder of files that workers leave and the process that forked them takes; removed with this object.
class Mailbox {
 public:
  // Throws metal::EnvironmentError if there is no place for it.
  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // What was left under this name before is replaced. Throws std::runtime_error if it cannot be written.
  void leave(const std::string& name, const Parcel& parcel) const;
  // Nothing if nobody left it; it is gone afterwards.
  [[nodiscard]] std::optional<Parcel> take(const std::string& name) const;

 private:
  [[nodiscard]] std::filesystem::path place_of(const std::string& name) const;
  std::filesystem::path folder_;
};

}  // namespace assay::harness
