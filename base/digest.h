// The digest for comparing outputs and inputs, also used to derive seeds.
//
// 64-bit FNV-1a. Its values are printed, recorded in tests/golden and in ledgers, and added over cases, so they must not change. Collisions
// are easy to construct, but harmless: a digest is only compared with one recorded by us for the same case, to find differences between
// machines, versions and schedules. No verdict depends on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace assay::base {

inline constexpr std::uint64_t kEmptyDigest = 0xcbf29ce484222325U;

inline void add_to_digest(std::uint64_t& digest, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) digest = (digest ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
}
inline void add_to_digest(std::uint64_t& digest, std::string_view text) { add_to_digest(digest, std::as_bytes(std::span(text))); }

// Continues `digest` with more data.
[[nodiscard]] inline std::uint64_t digest_of(std::string_view text, std::uint64_t digest = kEmptyDigest) {
  add_to_digest(digest, text);
  return digest;
}

}  // namespace assay::base
