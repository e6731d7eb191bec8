// The hash that names things: entries of the cache, sources, toolchains.
//
// Whoever finds an entry under its name takes it for what the name was made of, and sources come from anybody: the hash is a cryptographic
// one, under which nobody can make two texts that share a name. What only compares outputs is base/digest.h.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace assay::base {

// BLAKE2b with 256 bits, of a sequence of texts, each delimited by its length.
class Hash {
 public:
  static constexpr std::size_t kHexDigits = 64;

  Hash();
  Hash& add(std::string_view text);
  [[nodiscard]] std::string hex() const;

 private:
  void add_bytes(std::string_view bytes);

  alignas(64) std::array<std::byte, 384> state_;  // libsodium's, whose headers stay out of this one
};

}  // namespace assay::base
