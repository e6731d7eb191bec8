// The hash that names and the digest that compares: their published values, and what they tell apart.
#include <gtest/gtest.h>

#include <string>

#include "base/digest.h"
#include "base/hash.h"

namespace assay::tests::hashes_test {
namespace {

using base::Hash;

// Of the texts "1:a" and "0:", as b2sum -l 256 of coreutils has them.
TEST(Hash, IsBlake2bOfTextsBehindTheirLength) {
  EXPECT_EQ(Hash().add("a").hex(), "b77be9e440cdcebb5f87f574fbd263818947329581a58b3492ba78a675df3894");
  EXPECT_EQ(Hash().add("").hex(), "1dc653a1447946592fe2871eeb01d8fd6ae353bf04ab789199e38777da3fd0c7");
  EXPECT_EQ(Hash().hex(), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8") << "of nothing";
}

TEST(Hash, DistinguishesTextsWithEqualConcatenation) {
  EXPECT_NE(Hash().add("ab").add("c").hex(), Hash().add("a").add("bc").hex());
  EXPECT_NE(Hash().add("ab").hex(), Hash().add("ab").add("").hex());
  EXPECT_EQ(Hash().add(std::string(100000, 'x')).hex(), Hash().add(std::string(100000, 'x')).hex());
}

TEST(Hash, GoesOnAfterItWasAsked) {
  Hash hash;
  hash.add("a");
  const std::string once = hash.hex();
  EXPECT_EQ(hash.hex(), once);
  EXPECT_EQ(hash.add("b").hex(), Hash().add("a").add("b").hex());
}

// The values that FNV's authors publish.
TEST(Digest, IsFnv1a) {
  EXPECT_EQ(base::digest_of(""), 0xcbf29ce484222325U);
  EXPECT_EQ(base::digest_of("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(base::digest_of("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace assay::tests::hashes_test
