// Tables of the contract in the numbers of a source: as a switch, integers of a fixed point, constructors of vectors.
#include "harness/triage/written_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "families/family.h"
#include "harness/mutate/source.h"

namespace assay::tests::written_table_test {
namespace {

using harness::WrittenTable;

const families::ContractTable& steps() {
  static const families::ContractTable table{"the steps", {-1.5, -1.125, -0.75, -0.25, 0.25, 0.75, 1.125, 1.5}, false};
  return table;
}

std::vector<WrittenTable> tables_in(const std::string& text) {
  return harness::find_written_tables(harness::Source(text, "mine.metal"), steps());
}

TEST(WrittenTable, IsFoundInASwitch) {
  const std::string text =
      "float step(uint code) {\n  switch (code) {\n    case 0: return -1.5f;\n    case 1: return -1.125f;\n    case 2: return -0.7506f;\n"
      "    case 3: return -0.25f;\n    case 4: return 0.25f;\n    case 5: return 0.75f;\n    case 6: return 1.125f;\n    default: return "
      "1.5f;\n"
      "  }\n}\n";
  const std::vector<WrittenTable> tables = tables_in(text);
  ASSERT_EQ(tables.size(), 1U);
  ASSERT_EQ(tables[0].entries.size(), 1U);
  EXPECT_EQ(tables[0].entries[0].index, 2U);
  EXPECT_EQ(text.substr(tables[0].entries[0].offset, tables[0].entries[0].length), "-0.7506f");
  EXPECT_EQ(tables[0].entries[0].right, "-0.75f");
}

TEST(WrittenTable, IsFoundAsIntegersOfAFixedPoint) {
  const std::vector<WrittenTable> tables = tables_in("constant int steps[8] = {-15000, -11250, -7500, -2500, 2500, 7500, 12150, 15000};\n");
  ASSERT_EQ(tables.size(), 1U);
  ASSERT_EQ(tables[0].entries.size(), 1U);
  EXPECT_EQ(tables[0].entries[0].right, "11250");
  EXPECT_DOUBLE_EQ(tables[0].entries[0].value, 1.215);
}

TEST(WrittenTable, MayHaveAFactorAndConstructorsOfVectors) {
  const std::vector<WrittenTable> tables =
      tables_in("constant float4 steps[2] = {float4(-4.5f, -3.375f, -2.25f, -0.75f), float4(0.75f, 2.25f, 3.375f, 4.6f)};\n");
  ASSERT_EQ(tables.size(), 1U);
  ASSERT_EQ(tables[0].entries.size(), 1U);
  EXPECT_EQ(tables[0].entries[0].index, 7U);
  EXPECT_EQ(tables[0].entries[0].right, "4.5f");
}

TEST(WrittenTable, MayStandInAnyOrderAndAsBits) {
  const std::vector<WrittenTable> chosen = tables_in(
      "float step(uint i) {\n  float a = i & 1 ? 1.5f : 1.125f;\n  if (i & 2) a = i & 1 ? 0.75f : 0.2506f;\n"
      "  if (i & 4) a = i & 2 ? (i & 1 ? -1.5f : -0.25f) : i & 1 ? -0.75f : -1.125f;\n  return a;\n}\n");
  ASSERT_EQ(chosen.size(), 1U);
  ASSERT_EQ(chosen[0].entries.size(), 1U);
  EXPECT_EQ(chosen[0].entries[0].right, "0.25f");
  const std::vector<WrittenTable> bits = tables_in(
      "constant uint bits[8] = {0xbfc00000u, 0xbf900000u, 0xbf400000u, 0xbe800000u, 0x3e800000u, 0x3f400000u, 0x3f900100u, "
      "0x3fc00000u};\n");
  ASSERT_EQ(bits.size(), 1U);
  ASSERT_EQ(bits[0].entries.size(), 1U);
  EXPECT_EQ(bits[0].entries[0].right, "0x3f900000u");
}

// Each of them is nearly the contract's, and none exactly.
TEST(WrittenTable, MayLackDigitsInEveryEntry) {
  const std::vector<WrittenTable> tables =
      tables_in("constant float steps[8] = {-1.5004f, -1.1254f, -0.7504f, -0.2504f, 0.2504f, 0.7504f, 1.1254f, 1.5004f};\n");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].entries.size(), 8U);
}

// Sorted, the last numbers of one table and the first of the next would be another wrong one.
TEST(WrittenTable, DoesNotReachIntoAnother) {
  EXPECT_TRUE(tables_in("constant float other[4] = {-1.4f, -1.1f, 1.1f, 1.4f};\n"
                        "constant float steps[8] = {-1.5f, -1.125f, -0.75f, -0.25f, 0.25f, 0.75f, 1.125f, 1.5f};\n")
                  .empty());
}

TEST(WrittenTable, RightOnesAndOtherNumbersAreNone) {
  EXPECT_TRUE(tables_in("constant float steps[8] = {-1.5f, -1.125f, -0.75f, -0.25f, 0.25f, 0.75f, 1.125f, 1.5f};\n").empty());
  EXPECT_TRUE(tables_in("constant float other[8] = {1.5f, 1.125f, 0.75f, 0.25f, 0.25f, 0.75f, 1.125f, 1.5f};\n").empty());
  EXPECT_TRUE(tables_in("float f(float x) { return x * 0.5f - 1.5f + 0.25f; }\n").empty());
}

}  // namespace
}  // namespace assay::tests::written_table_test
