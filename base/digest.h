// The digest that compares things: outputs of cases, inputs, selections; seeds come from it as well.
//
// FNV-1a with 64 bits. Its values are printed, recorded in tests/golden and in ledgers, and added up over cases, so they stay as they are.
// It is simple to make another text of the same digest, and does no harm: a digest is held against one that we recorded of the same case,
// to find what differs between machines, versions and schedules; no verdict depends on it, and nothing is found or trusted by it.
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

// Behind what `digest` is of.
[[nodiscard]] inline std::uint64_t digest_of(std::string_view text, std::uint64_t digest = kEmptyDigest) {
  add_to_digest(digest, text);
  return digest;
}

}  // namespace assay::base
