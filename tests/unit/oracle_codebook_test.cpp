// The tables: shape, order, symmetry, checksums taken over the published decimals, and the quantiser's boundaries.
#include "oracles/codebook.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/digest.h"

namespace assay::tests::oracle_codebook_test {
namespace {

// Over bytes, floats as little-endian words.
class Checksum {
 public:
  void add(std::uint8_t byte) { base::add_to_digest(digest_, std::as_bytes(std::span(&byte, 1))); }
  void add(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) add(static_cast<std::uint8_t>(word >> shift));
  }
  [[nodiscard]] std::uint64_t value() const { return digest_; }

 private:
  std::uint64_t digest_ = base::kEmptyDigest;
};

class OracleCodebook : public testing::TestWithParam<int> {};

TEST_P(OracleCodebook, IsAscendingAndSymmetric) {
  const auto table = oracles::codebook(GetParam());
  ASSERT_EQ(table.size(), std::size_t{1} << GetParam());
  for (std::size_t i = 0; i + 1 < table.size(); ++i) ASSERT_LT(table[i], table[i + 1]) << i;
  for (std::size_t i = 0; i < table.size(); ++i) ASSERT_EQ(table[i], -table[table.size() - 1 - i]) << i;
  EXPECT_EQ(oracles::largest_centroid(GetParam()), static_cast<double>(table.back()));
}

TEST_P(OracleCodebook, QuantiserCountsBoundariesStrictlyBelow) {
  const auto table = oracles::codebook(GetParam());
  for (std::size_t i = 0; i < table.size(); ++i) {
    ASSERT_EQ(oracles::quantize_coordinate(table, static_cast<double>(table[i])), i);
    if (i + 1 == table.size()) break;
    const float boundary = 0.5F * (table[i] + table[i + 1]);
    ASSERT_EQ(oracles::quantize_coordinate(table, static_cast<double>(boundary)), i) << "a tie goes down";
    ASSERT_EQ(oracles::quantize_coordinate(table, std::nextafter(static_cast<double>(boundary), 10.0)), i + 1);
  }
  EXPECT_EQ(oracles::quantize_coordinate(table, -1e9), 0);
  EXPECT_EQ(oracles::quantize_coordinate(table, 1e9), table.size() - 1);
  EXPECT_EQ(oracles::quantize_coordinate(table, 0.0), table.size() / 2 - 1);
}

INSTANTIATE_TEST_SUITE_P(Bits, OracleCodebook, testing::Values(4, 5, 6, 8));

TEST(OracleCodebook, ChecksumsOfTheTables) {
  const auto of_codebook = [](int bits) {
    Checksum checksum;
    for (const float centroid : oracles::codebook(bits)) checksum.add(centroid);
    return checksum.value();
  };
  EXPECT_EQ(of_codebook(4), 0x8401277df1b02a9dULL);
  EXPECT_EQ(of_codebook(5), 0xc243f0b8a425f271ULL);
  EXPECT_EQ(of_codebook(6), 0x56c50762cf79e16dULL);
  EXPECT_EQ(of_codebook(8), 0x5bf390729ece2d79ULL);
  const auto of_signs = [](int head_dim) {
    Checksum checksum;
    for (const std::uint8_t byte : oracles::sign_bits(head_dim)) checksum.add(byte);
    return checksum.value();
  };
  EXPECT_EQ(of_signs(256), 0xb76f0c3b7742bdb2ULL);
  EXPECT_EQ(of_signs(512), 0x8208e6d7624f7152ULL);
}

TEST(OracleCodebook, SignsAreReadLeastSignificantBitFirst) {
  // The first byte of both tables is 0xa7 = 10100111.
  for (const int dim : {256, 512}) {
    const int expected[8] = {-1, -1, -1, 1, 1, -1, 1, -1};
    for (int j = 0; j < 8; ++j) EXPECT_EQ(oracles::rotation_sign(dim, j), expected[j]) << j;
    ASSERT_EQ(oracles::sign_bits(dim).size(), static_cast<std::size_t>(dim / 8));
  }
}

TEST(OracleCodebook, RefusesOtherSizes) {
  EXPECT_THROW((void)oracles::codebook(7), std::invalid_argument);
  EXPECT_THROW((void)oracles::sign_bits(128), std::invalid_argument);
  EXPECT_THROW((void)oracles::rotation_sign(256, 256), std::invalid_argument);
}

}  // namespace
}  // namespace assay::tests::oracle_codebook_test
