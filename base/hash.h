// The hash that names cache entries, sources and toolchains.
//
// A cache entry is trusted by its name, and sources may be hostile, so the hash is cryptographic: an attacker cannot construct two texts
// with the same name. base/digest.h has the digest for comparing outputs.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace assay::base {

// BLAKE2b-256 of a sequence of strings, each preceded by its length.
class Hash {
 public:
  static constexpr std::size_t kHexDigits = 64;

  Hash();
  // With a key of 16 to 64 bytes: without it, the hash cannot be computed.
  explicit Hash(std::span<const std::byte> key);
  Hash(const Hash&) = default;
  Hash& operator=(const Hash&) = default;
  ~Hash();  // leaves nothing of the key in memory
  Hash& add(std::string_view text);
  [[nodiscard]] std::string hex() const;

 private:
  void add_bytes(std::string_view bytes);

  alignas(64) std::array<std::byte, 384> state_;  // state of libsodium, whose headers are not included here
};

}  // namespace assay::base
