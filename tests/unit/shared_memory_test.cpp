// Shared memory: which parts of a region have pages, whichever process touched them.
#include "metal/shared_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

namespace assay::tests::shared_memory_test {
namespace {

using metal::SharedMemory;

constexpr std::size_t kGigabyte = std::size_t{1} << 30;
const auto kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

TEST(SharedMemory, TellsThePartsThatEitherProcessHasWritten) {
  SharedMemory memory;
  std::byte* region = memory.take(5 * kGigabyte, 0, true);
  const auto none = memory.parts_with_pages(region, 5 * kGigabyte);
  ASSERT_TRUE(none.has_value()) << "the system has no memory files";
  EXPECT_TRUE(none->empty());

  region[kGigabyte] = std::byte{1};
  if (const pid_t child = fork(); child == 0) {
    region[4 * kGigabyte + 2 * kPage + 5] = std::byte{1};
    region[4 * kGigabyte + 3 * kPage] = std::byte{1};
    _exit(0);
  } else {
    ASSERT_GT(child, 0);
    waitpid(child, nullptr, 0);
  }
  const auto parts = memory.parts_with_pages(region, 5 * kGigabyte);
  ASSERT_TRUE(parts.has_value());
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ(parts->front().at, kGigabyte);
  EXPECT_EQ(parts->front().length, kPage);
  EXPECT_EQ(parts->back().at, 4 * kGigabyte + 2 * kPage);
  EXPECT_EQ(parts->back().length, 2 * kPage);
}

TEST(SharedMemory, APartEndsWithTheRange) {
  SharedMemory memory;
  std::byte* region = memory.take(4 * kPage, 0, true);
  for (std::size_t page = 0; page < 4; ++page) region[page * kPage] = std::byte{1};
  const auto parts = memory.parts_with_pages(region + kPage / 2, 2 * kPage);
  ASSERT_TRUE(parts.has_value());
  ASSERT_EQ(parts->size(), 1U);
  EXPECT_EQ(parts->front().at, 0U);
  EXPECT_EQ(parts->front().length, 2 * kPage);
}

// What may be kept counts, not the guards beside it: many small buffers keep their pages, one large one does not.
TEST(SharedMemory, KeepsPagesOfSmallRegionsForTheNext) {
  constexpr std::size_t kGuards = std::size_t{8} << 20;
  constexpr std::size_t kRegions = 100;
  SharedMemory memory;
  const auto has_pages = [&](std::size_t bytes) {
    std::byte* region = memory.take(kGuards + bytes, kGuards, false);
    const bool has = !memory.parts_with_pages(region, kGuards + bytes).value().empty();
    region[kGuards / 2] = std::byte{1};
    return has;
  };
  for (const bool again : {false, true}) {
    for (std::size_t number = 0; number < kRegions; ++number) EXPECT_EQ(has_pages(kPage), again) << number;
    for (std::size_t number = 0; number < kRegions; ++number) memory.give_back();
  }
  EXPECT_TRUE(has_pages(kGigabyte));
  memory.give_back();
  EXPECT_FALSE(has_pages(kPage));
  memory.give_back();
}

}  // namespace
}  // namespace assay::tests::shared_memory_test
