// Rows of covering designs in the cache: found again, and believed only for the same subject, levels and content.
#include "harness/cases/stored_design.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/support/own_cache.h"

namespace assay::tests::stored_design_test {
namespace {

namespace fs = std::filesystem;
using harness::Row;

class StoredDesign : public ::testing::Test {
 protected:
  // The rows of an entry; counts how often they had to be made.
  std::vector<Row> rows(const std::string& subject = "gate of fwht", std::vector<int> levels = {3, 3}) {
    harness::CoveringDesign design;
    design.levels = std::move(levels);
    return harness::stored_rows("design-1.rows", subject, design, [this] {
      ++made_;
      return rows_;
    });
  }
  [[nodiscard]] fs::path entry() const { return folder_.path() / "assay" / "design-1.rows"; }

  std::vector<Row> rows_ = {{0, 1}, {2, 0}};
  int made_ = 0;

 private:
  TemporaryFolder folder_;
  OwnCache cache_{folder_.path()};
};

TEST_F(StoredDesign, IsMadeOnce) {
  EXPECT_EQ(rows(), rows_);
  EXPECT_EQ(rows(), rows_);
  EXPECT_EQ(made_, 1);
}

TEST_F(StoredDesign, ADesignWithoutRowsIsMadeOnceToo) {
  rows_.clear();
  EXPECT_EQ(rows(), rows_);
  EXPECT_EQ(rows(), rows_);
  EXPECT_EQ(made_, 1);
}

TEST_F(StoredDesign, OfAnotherSubjectIsMadeAgain) {
  EXPECT_EQ(rows("gate of fwht"), rows_);
  rows_ = {{1, 1}};
  EXPECT_EQ(rows("gate of tq4"), rows_);
  EXPECT_EQ(made_, 2);
}

TEST_F(StoredDesign, WithOtherLevelsIsMadeAgain) {
  EXPECT_EQ(rows("gate of fwht", {3, 3}), rows_);
  rows_ = {{0, 1}};
  EXPECT_EQ(rows("gate of fwht", {2, 3}), rows_);
  EXPECT_EQ(made_, 2);
}

TEST_F(StoredDesign, IsMadeAgainWhereItsFileWasChanged) {
  EXPECT_EQ(rows(), rows_);
  std::string text = read_file(entry());
  const std::size_t level = text.find('\n', text.find('\n') + 1) + 1;
  ASSERT_EQ(text.substr(level, 4), std::string({0, 1, 2, 0}));
  text[level] = 2;
  std::ofstream(entry(), std::ios::binary) << text;
  EXPECT_EQ(rows(), rows_);
  EXPECT_EQ(made_, 2);
}

}  // namespace
}  // namespace assay::tests::stored_design_test
