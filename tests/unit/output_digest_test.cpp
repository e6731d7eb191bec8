// The digest of outputs is the same on every machine, and any other bit changes it.
#include "harness/execute/output_digest.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/digest.h"

namespace assay::tests::output_digest_test {
namespace {

template <typename Word>
std::uint64_t digest_of(const std::vector<Word>& words, metal::ScalarType type) {
  std::uint64_t digest = base::kEmptyDigest;
  harness::add_output_to_digest(digest, std::as_bytes(std::span(words)), type);
  return digest;
}

TEST(OutputDigest, TheNanOfAnInvalidOperationHasNoSign) {
  using enum metal::ScalarType;
  EXPECT_EQ(digest_of<std::uint32_t>({1, 0x7fc00000}, float32), digest_of<std::uint32_t>({1, 0xffc00000}, float32));
  EXPECT_EQ(digest_of<std::uint16_t>({1, 0x7e00}, float16), digest_of<std::uint16_t>({1, 0xfe00}, float16));
  EXPECT_EQ(digest_of<std::uint16_t>({1, 0x7fc0}, bfloat16), digest_of<std::uint16_t>({1, 0xffc0}, bfloat16));
}

TEST(OutputDigest, EveryOtherBitCounts) {
  using enum metal::ScalarType;
  EXPECT_NE(digest_of<std::uint32_t>({0x7fc00001}, float32), digest_of<std::uint32_t>({0xffc00001}, float32));
  EXPECT_NE(digest_of<std::uint32_t>({0x7f800000}, float32), digest_of<std::uint32_t>({0xff800000}, float32));
  EXPECT_NE(digest_of<std::uint32_t>({0}, float32), digest_of<std::uint32_t>({0x80000000}, float32));
  EXPECT_NE(digest_of<std::uint16_t>({0x7e00}, bfloat16), digest_of<std::uint16_t>({0xfe00}, bfloat16));
  EXPECT_NE(digest_of<std::uint16_t>({0x7fc0}, float16), digest_of<std::uint16_t>({0xffc0}, float16));
  EXPECT_NE(digest_of<std::uint32_t>({0x7fc00000}, uint32), digest_of<std::uint32_t>({0xffc00000}, uint32));
}

// As base/digest.h has it, bytes behind the last element too: digests are recorded.
TEST(OutputDigest, OfOtherWordsItIsThatOfTheBytes) {
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 0xff, 0xc0, 0x7f, 9};
  std::uint64_t plain = base::kEmptyDigest;
  base::add_to_digest(plain, std::as_bytes(std::span(bytes)));
  for (const auto type : {metal::ScalarType::uint8, metal::ScalarType::float16, metal::ScalarType::float32})
    EXPECT_EQ(digest_of(bytes, type), plain) << to_string(type);
}

}  // namespace
}  // namespace assay::tests::output_digest_test
