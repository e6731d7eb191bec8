// A poisoned output between two poisoned guard bands, so that a write next to it shows; under the policy `checked` every access there does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "harness/judge/judge.h"
#include "metal/buffer.h"

namespace assay::tests {

// `count` floats. The band in front keeps the alignment that Metal asks of a buffer offset.
class GuardedBuffer {
 public:
  GuardedBuffer(std::size_t count, std::string label)
      : buffer_((count + 2 * kGuardWords) * sizeof(float), std::move(label)), count_(count) {}

  [[nodiscard]] metal::BufferView view() {
    return {.buffer = &buffer_, .offset = kGuardWords * sizeof(float), .limit = count_ * sizeof(float)};
  }
  [[nodiscard]] std::span<float> values() { return buffer_.as<float>().subspan(kGuardWords, count_); }
  [[nodiscard]] std::span<const float> values() const { return buffer_.as<float>().subspan(kGuardWords, count_); }
  [[nodiscard]] harness::GuardBands guards() const {
    const std::span<const std::uint32_t> words = buffer_.as<std::uint32_t>();
    return {words.first(kGuardWords), words.last(kGuardWords)};
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return buffer_.bytes(); }

 private:
  static constexpr std::size_t kGuardWords = 1024;  // 4 KiB: a row too far at any head_dim lands inside

  metal::Buffer buffer_;
  std::size_t count_;
};

}  // namespace assay::tests
