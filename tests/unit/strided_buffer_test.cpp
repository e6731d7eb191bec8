// Tensors whose rows, heads and batches do not stand as close as they could: where each row goes, and what lies between.
#include "harness/run/strided_buffer.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace assay::tests {
namespace {

using harness::StridedBuffer;
using harness::StridedLayout;

// Rows of 4 bytes, [2 batches, 3 heads, 2 rows], that hold 0, 1, 2, ...
std::vector<std::byte> rows() {
  std::vector<std::byte> bytes(48);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

void expect_rows(const StridedBuffer& buffer, const StridedLayout& layout) {
  std::size_t value = 0;
  for (std::size_t batch = 0; batch < layout.batches; ++batch) {
    for (std::size_t head = 0; head < layout.heads; ++head) {
      for (std::size_t row = 0; row < layout.rows; ++row) {
        const std::size_t first = batch * layout.strides.batch + head * layout.strides.head + row * layout.strides.token;
        for (std::size_t i = 0; i < layout.row_bytes; ++i, ++value)
          EXPECT_EQ(buffer.get()->bytes()[first + i], static_cast<std::byte>(value)) << batch << ' ' << head << ' ' << row << ' ' << i;
      }
    }
  }
}

// What lies between the rows, and a write there.
void expect_gap(const StridedBuffer& buffer, std::size_t place, std::byte wanted) {
  std::byte& byte = buffer.get()->bytes()[place];
  EXPECT_EQ(byte, wanted) << place;
  const std::byte before = byte;
  byte ^= std::byte{1};
  EXPECT_FALSE(buffer.holds_still()) << place;
  byte = before;
  EXPECT_TRUE(buffer.holds_still()) << place;
}

// The poison of inputs, not of outputs: an output made of it was written.
TEST(StridedBuffer, PutsHeadsApartWithPoisonBetween) {
  const std::vector<std::byte> data = rows();
  const StridedLayout layout{.batches = 2, .heads = 3, .rows = 2, .row_bytes = 4, .strides = {4, 12, 40}};
  const StridedBuffer buffer(data, layout, "v");
  ASSERT_EQ(buffer.get()->size(), 40U + 24 + 8);
  expect_rows(buffer, layout);
  expect_gap(buffer, 8, std::byte{0xd5});
  expect_gap(buffer, 35, std::byte{0x7f});
  expect_gap(buffer, 36, std::byte{0xd5});
}

TEST(StridedBuffer, PutsTokensBetweenHeads) {
  const std::vector<std::byte> data = rows();
  const StridedLayout layout{.batches = 2, .heads = 3, .rows = 2, .row_bytes = 4, .strides = {24, 8, 48}};
  const StridedBuffer buffer(data, layout, "q");
  ASSERT_EQ(buffer.get()->size(), 48U + 16 + 24 + 4);
  expect_rows(buffer, layout);
  expect_gap(buffer, 4, std::byte{0xd5});
}

TEST(StridedBuffer, ASparseOneHasRoomBehindItsRows) {
  const std::vector<std::byte> data = rows();
  constexpr std::size_t kHead = std::size_t{1} << 30;
  const StridedLayout layout{.batches = 2,
                             .heads = 3,
                             .rows = 2,
                             .row_bytes = 4,
                             .strides = {4, kHead, 3 * kHead},
                             .rows_behind = kHead / 4 - 2,
                             .is_sparse = true};
  const StridedBuffer buffer(data, layout, "k");
  ASSERT_EQ(buffer.get()->size(), 6 * kHead);
  expect_rows(buffer, layout);
  expect_gap(buffer, 8, std::byte{0});
  expect_gap(buffer, 6 * kHead - 1, std::byte{0});
}

TEST(StridedBuffer, AnotherNumberOfRowsIsRefused) {
  const std::vector<std::byte> data(44);
  EXPECT_THROW(StridedBuffer(data, {.batches = 2, .heads = 3, .rows = 2, .row_bytes = 4, .strides = {4, 8, 24}}, "k"),
               std::invalid_argument);
}

}  // namespace
}  // namespace assay::tests
