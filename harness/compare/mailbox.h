// Carries results of workers that are too large or too special for a verdict.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/archive.h"

namespace assay::harness {

// A folder of files that workers leave and that the process that forked them takes. Removed with this object.
class Mailbox {
 public:
  // Throws metal::EnvironmentError if the folder cannot be created.
  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Replaces what was left under this name before. Throws std::runtime_error if it cannot be written.
  template <typename T>
  void leave(const std::string& name, const T& value) const {
    leave_bytes(name, base::to_bytes(value));
  }
  // Returns and removes what was left under this name; empty if nothing was. Throws base::DamagedArchive for data that leave()
  // did not write.
  template <typename T>
  [[nodiscard]] std::optional<T> take(const std::string& name) const {
    const std::optional<base::Bytes> bytes = take_bytes(name);
    return bytes ? std::optional(base::from_bytes<T>(*bytes)) : std::nullopt;
  }

 private:
  void leave_bytes(const std::string& name, std::span<const std::byte> bytes) const;
  [[nodiscard]] std::optional<base::Bytes> take_bytes(const std::string& name) const;
  [[nodiscard]] std::filesystem::path place_of(const std::string& name) const;
  std::filesystem::path folder_;
};

}  // namespace assay::harness
