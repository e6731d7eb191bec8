// Buffers of gigabytes that take memory where something stands: what is copied, and that a write anywhere shows.
#include "harness/run/cache_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "fixtures/zero_pages.h"

namespace assay::tests {
namespace {

using harness::CacheLayout;

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

class SparseCache : public testing::Test {
 protected:
  // Two heads of 2 GiB, of each of which 5,000 bytes count.
  static constexpr CacheLayout kLayout{2, std::size_t{1} << 31, 5000};

  SparseCache() : data_(kLayout.heads * kLayout.row_bytes) {
    for (std::size_t head = 0; head < kLayout.heads; ++head)
      std::fill_n(data_.begin() + static_cast<std::ptrdiff_t>(head * kLayout.row_bytes), kLayout.filled_bytes, std::byte{0x5a});
    buffer_ = make_cache_buffer(data_, kLayout, "K_packed");
  }
  bool holds() const { return holds_still(*buffer_, data_, kLayout); }

  fixtures::SparseVector<std::byte> data_;
  std::unique_ptr<metal::Buffer> buffer_;
};

TEST_F(SparseCache, TakesMemoryOnlyWhereSomethingStands) {
  ASSERT_EQ(buffer_->size(), std::size_t{1} << 32);
  EXPECT_TRUE(std::ranges::equal(buffer_->bytes().subspan(kLayout.row_bytes, 8192), std::span(data_).subspan(kLayout.row_bytes, 8192)));
  EXPECT_TRUE(holds());
  EXPECT_LT(resident_bytes(), std::size_t{400} << 20);
}

TEST_F(SparseCache, AWriteAnywhereShowsAndAReadDoesNot) {
  for (const std::size_t place : {std::size_t{0}, kLayout.filled_bytes - 1, kLayout.filled_bytes, std::size_t{4096} * 1000 + 17,
                                  kLayout.row_bytes - 1, kLayout.row_bytes + 3, 2 * kLayout.row_bytes - 1}) {
    std::byte& byte = buffer_->bytes()[place];
    const std::byte before = byte;
    EXPECT_TRUE(holds()) << place;
    byte = std::byte{1};
    EXPECT_FALSE(holds()) << place;
    byte = before;
    EXPECT_TRUE(holds()) << place;
  }
}

TEST(FullCache, IsCopiedAndComparedWhole) {
  const std::vector<std::byte> data(300, std::byte{7});
  const CacheLayout layout{3, 100, 100};
  const auto buffer = make_cache_buffer(data, layout, "V_packed");
  EXPECT_TRUE(holds_still(*buffer, data, layout));
  buffer->bytes()[299] = std::byte{8};
  EXPECT_FALSE(holds_still(*buffer, data, layout));
}

}  // namespace
}  // namespace assay::tests
