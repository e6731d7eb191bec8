// The digest of outputs.
#include "harness/execute/output_digest.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/digest.h"

namespace assay::harness {
namespace {

// `nan`: what an invalid operation gives on ARM. With the sign of x86-64, of which the recorded digests are.
template <typename Word>
void add(std::uint64_t& digest, std::span<const std::byte> bytes, Word nan) {
  constexpr Word kSign = Word{1} << (8 * sizeof(Word) - 1);
  while (bytes.size() >= sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data(), sizeof(Word));
    if (word == nan) word |= kSign;
    base::add_to_digest(digest, std::bit_cast<std::array<std::byte, sizeof(Word)>>(word));
    bytes = bytes.subspan(sizeof(Word));
  }
  base::add_to_digest(digest, bytes);
}

}  // namespace

void add_output_to_digest(std::uint64_t& digest, std::span<const std::byte> bytes, metal::ScalarType type) {
  switch (type) {
    case metal::ScalarType::float16:
      return add<std::uint16_t>(digest, bytes, 0x7e00);
    case metal::ScalarType::bfloat16:
      return add<std::uint16_t>(digest, bytes, 0x7fc0);
    case metal::ScalarType::float32:
      return add<std::uint32_t>(digest, bytes, 0x7fc00000);
    default:
      return base::add_to_digest(digest, bytes);
  }
}

}  // namespace assay::harness
