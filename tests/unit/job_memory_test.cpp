// The buffers of a job: where contents and gaps go, what is fresh for each pass, and that a write to an input is detected.
#include "harness/execute/job_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "families/shared/strided_rows.h"
#include "fixtures/zero_pages.h"

namespace assay::tests::job_memory_test {
namespace {

using families::Job;
using families::StridedLayout;
using harness::JobMemory;

// One input of a job, in memory.
class InputMemory {
 public:
  explicit InputMemory(families::JobBuffer described) {
    job_.add(std::move(described));
    job_.passes.resize(1);
    memory_.emplace(job_);
    buffer_ = memory_->views(0).front().buffer;
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return buffer_->bytes(); }
  [[nodiscard]] bool is_unchanged() const { return memory_->is_unchanged(0); }

  // Writes one byte, for a moment.
  void expect_write_is_detected(std::size_t place) const {
    EXPECT_TRUE(is_unchanged()) << place;
    bytes()[place] ^= std::byte{1};
    EXPECT_FALSE(is_unchanged()) << place;
    bytes()[place] ^= std::byte{1};
    EXPECT_TRUE(is_unchanged()) << place;
  }
  void expect_gap(std::size_t place, std::byte wanted) const {
    EXPECT_EQ(bytes()[place], wanted) << place;
    expect_write_is_detected(place);
  }

 private:
  Job job_;
  std::optional<JobMemory> memory_;
  metal::Buffer* buffer_ = nullptr;
};

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

// Two heads of 64 MiB, of each of which 5,000 slots of a byte are filled.
TEST(JobMemory, ASparseCacheTakesMemoryOnlyForItsFilledSlots) {
  constexpr std::size_t kHead = std::size_t{1} << 26;
  constexpr std::size_t kFilled = 5000;
  const std::size_t before = resident_bytes();
  fixtures::SparseVector<std::byte> data(2 * kHead);
  for (const std::size_t head : {std::size_t{0}, kHead})
    std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(head), kFilled, std::byte{0x5a});
  const InputMemory memory(families::cache_buffer("K_packed", data, {2, kHead, kFilled}));
  ASSERT_EQ(memory.bytes().size(), 2 * kHead);
  EXPECT_TRUE(std::ranges::equal(memory.bytes().subspan(kHead, 8192), std::span(data).subspan(kHead, 8192)));
  for (const std::size_t place : {std::size_t{0}, kFilled - 1, kFilled, std::size_t{4096} * 1000 + 17, kHead - 1, kHead + 3, 2 * kHead - 1})
    memory.expect_write_is_detected(place);
  EXPECT_LT(resident_bytes(), before + (std::size_t{8} << 20));
}

// An output of 4 GiB of which a kernel may write 64 bytes.
TEST(JobMemory, ASparseOutputHasItsFillWhereItIsReadAndShowsOtherWrites) {
  constexpr std::size_t kSize = std::size_t{1} << 32U;
  constexpr std::size_t kSlot = kSize - 8000;
  constexpr std::size_t kStray = std::size_t{1} << 31U;
  const std::size_t before = resident_bytes();
  Job job;
  job.add({.argument = "packed",
           .role = families::BufferRole::output,
           .size = kSize,
           .gap = families::Gap::untouched,
           .fills = {std::byte{0xa5}, std::byte{0x5a}},
           .filled = {{kSlot, 64}}});
  job.passes.resize(2);
  const JobMemory memory(job);
  memory.views(1).front().buffer->bytes()[kStray] = std::byte{1};
  const families::Results results = memory.results();
  const auto parts_with = [&](std::size_t pass, std::size_t place) {
    return std::ranges::count_if(results.at(0, pass).parts, [&](const auto& part) { return place - part.at < part.length; });
  };
  for (const std::size_t pass : {std::size_t{0}, std::size_t{1}}) {
    const families::BufferResult& result = results.at(0, pass);
    EXPECT_EQ(result.bytes[kSlot], job.buffers[0].fills[pass]);
    EXPECT_EQ(result.bytes[kSlot + 64], std::byte{0});
    EXPECT_FALSE(result.written<std::byte>(kSlot + 63));
    EXPECT_EQ(parts_with(pass, kSlot), 1);
    EXPECT_LT(result.parts.size(), 2000U);
  }
  EXPECT_EQ(parts_with(0, kStray), 0);
  EXPECT_EQ(parts_with(1, kStray), 1);
  EXPECT_LT(resident_bytes(), before + (std::size_t{32} << 20));
}

TEST(JobMemory, AFullCacheIsCopiedAndComparedWhole) {
  const std::vector<std::byte> data(300, std::byte{7});
  const InputMemory memory(families::cache_buffer("V_packed", data, {3, 100, 100}));
  EXPECT_TRUE(std::ranges::equal(memory.bytes(), data));
  memory.expect_write_is_detected(299);
}

TEST(JobMemory, RoomBehindTheContentsIsUnwrittenAndComparedToo) {
  const std::vector<std::byte> data(8, std::byte{7});
  const InputMemory memory({.argument = "htmp", .size = 16, .contents = {{0, data}}});
  memory.expect_gap(8, std::byte{0xe5});
  memory.expect_gap(15, std::byte{0x7f});
}

// Rows of 4 bytes, [2 batches, 3 heads, 2 rows], that hold 0, 1, 2, ...
std::vector<std::byte> rows() {
  std::vector<std::byte> bytes(48);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

void expect_rows(const InputMemory& memory, const StridedLayout& layout) {
  std::size_t value = 0;
  for (std::size_t batch = 0; batch < layout.batches; ++batch) {
    for (std::size_t head = 0; head < layout.heads; ++head) {
      for (std::size_t row = 0; row < layout.rows; ++row) {
        const std::size_t first = batch * layout.strides.batch + head * layout.strides.head + row * layout.strides.token;
        for (std::size_t i = 0; i < layout.row_bytes; ++i, ++value)
          EXPECT_EQ(memory.bytes()[first + i], static_cast<std::byte>(value)) << batch << ' ' << head << ' ' << row << ' ' << i;
      }
    }
  }
}

// The poison of inputs, not of outputs: an output computed from it was written.
TEST(JobMemory, PutsHeadsApartWithPoisonBetween) {
  const std::vector<std::byte> data = rows();
  const StridedLayout layout{.batches = 2, .heads = 3, .rows = 2, .row_bytes = 4, .strides = {4, 12, 40}};
  const InputMemory memory(families::strided_buffer("v", data, layout));
  ASSERT_EQ(memory.bytes().size(), 40U + 24 + 8);
  expect_rows(memory, layout);
  memory.expect_gap(8, std::byte{0xd5});
  memory.expect_gap(35, std::byte{0x7f});
  memory.expect_gap(36, std::byte{0xd5});
}

TEST(JobMemory, PutsTokensBetweenHeads) {
  const std::vector<std::byte> data = rows();
  const StridedLayout layout{.batches = 2, .heads = 3, .rows = 2, .row_bytes = 4, .strides = {24, 8, 48}};
  const InputMemory memory(families::strided_buffer("q", data, layout));
  ASSERT_EQ(memory.bytes().size(), 48U + 16 + 24 + 4);
  expect_rows(memory, layout);
  memory.expect_gap(4, std::byte{0xd5});
}

TEST(JobMemory, ASparseTensorHasRoomBehindItsRows) {
  const std::vector<std::byte> data = rows();
  constexpr std::size_t kHead = std::size_t{1} << 30;
  const StridedLayout layout{.batches = 2,
                             .heads = 3,
                             .rows = 2,
                             .row_bytes = 4,
                             .strides = {4, kHead, 3 * kHead},
                             .rows_behind = kHead / 4 - 2,
                             .is_sparse = true};
  const InputMemory memory(families::strided_buffer("k", data, layout));
  ASSERT_EQ(memory.bytes().size(), 6 * kHead);
  expect_rows(memory, layout);
  memory.expect_gap(8, std::byte{0});
  memory.expect_gap(6 * kHead - 1, std::byte{0});
}

TEST(JobMemory, AnotherNumberOfRowsIsRefused) {
  const std::vector<std::byte> data(44);
  EXPECT_THROW(
      static_cast<void>(families::strided_buffer("k", data, {.batches = 2, .heads = 3, .rows = 2, .row_bytes = 4, .strides = {4, 8, 24}})),
      std::invalid_argument);
}

TEST(JobMemory, EveryPassHasFreshOutputsBetweenGuards) {
  Job job;
  families::JobBuffer described = families::output_buffer("packed", 6);
  described.fills = {std::byte{0xa5}, std::byte{0x5a}};
  const std::size_t packed = job.add(described);
  const std::size_t norms = job.add(families::output_buffer("norms", 8));
  job.passes.resize(2);
  const JobMemory memory(job);
  for (const std::size_t pass : {0U, 1U}) {
    const families::Views views = memory.views(pass);
    EXPECT_EQ(views[packed].offset, harness::kGuardBytes);
    EXPECT_EQ(views[packed].size(), 6U);
    views[norms].buffer->as<float>()[harness::kGuardBytes / 4] = 1.0F;
    if (pass == 1) views[norms].buffer->bytes()[harness::kGuardBytes + 8] = std::byte{0};
  }
  const families::Results results = memory.results();
  EXPECT_EQ(results.of<std::byte>(packed, 0).front(), std::byte{0xa5});
  EXPECT_EQ(results.of<std::byte>(packed, 1).back(), std::byte{0x5a});
  EXPECT_EQ(results.of(norms, 1)[0], 1.0F);
  EXPECT_TRUE(results.passes[0][norms].has_intact_guards);
  EXPECT_FALSE(results.passes[1][norms].has_intact_guards);
  EXPECT_TRUE(results.passes[1][packed].has_intact_guards);
}

}  // namespace
}  // namespace assay::tests::job_memory_test
