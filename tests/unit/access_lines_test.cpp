// The line of an access that native saw without one: taken from policy checked where it is certain, and nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/execute/access_lines.h"
#include "harness/findings/fault_text.h"

namespace assay::tests::access_lines_test {
namespace {

using metal::Hazard;
using metal::HazardKind;
using namespace ::testing;

Hazard beside_buffer(std::uint32_t written, const std::string& function = "f") {
  return {HazardKind::invalid_access, function, "a thread wrote behind it", {"k.metal", 3}, {}, 1, true, written};
}
Hazard checked_at(std::uint32_t line, std::uint32_t written, const std::string& function = "f") {
  return {HazardKind::out_of_bounds, function, "out of bounds", {"k.metal", line}, {}, 2, false, written};
}
// 0: no line.
std::uint32_t line_of(Hazard unplaced, const std::vector<Hazard>& checked) {
  std::vector<Hazard> hazards = {std::move(unplaced)};
  harness::take_lines(hazards, checked);
  return hazards[0].lacks_line ? 0 : hazards[0].first.line;
}

TEST(AccessLines, AreTakenIfAllAccessesThatItCanBeAreInOneLine) {
  EXPECT_EQ(line_of(beside_buffer(2), {checked_at(12, 2)}), 12U);
  EXPECT_EQ(line_of(beside_buffer(2), {checked_at(12, 2), checked_at(13, 4), checked_at(14, 0), checked_at(15, 2, "g")}), 12U)
      << "another buffer, a read, another function";
  EXPECT_EQ(line_of(beside_buffer(0), {checked_at(12, 0), checked_at(12, 2)}), 12U) << "an access of which nothing is known";
  std::vector<Hazard> hazards = {beside_buffer(2)};
  EXPECT_EQ(harness::hazard_text(hazards[0]), "invalid access in f: a thread wrote behind it") << "the kernel's line is not the access's";
  harness::take_lines(hazards, std::vector{checked_at(12, 2)});
  EXPECT_EQ(harness::hazard_text(hazards[0]),
            "k.metal:12: invalid access in f: a thread wrote behind it (the line is that of policy checked)");
}

TEST(AccessLines, OfAWriteBesideAnOutputIsTheOnlyOneThatWrites) {
  const auto line_of_write = [](const std::vector<Hazard>& checked) {
    const auto found = harness::find_stray_write(checked);
    return found ? found->first.line : 0;
  };
  EXPECT_EQ(line_of_write({checked_at(12, 2), checked_at(13, 0), checked_at(12, 4, "g")}), 12U) << "a read, and the same line";
  EXPECT_EQ(line_of_write({}), 0U);
  EXPECT_EQ(line_of_write({checked_at(12, 2), checked_at(13, 2)}), 0U);
  EXPECT_EQ(line_of_write({checked_at(12, 2), beside_buffer(2)}), 0U) << "checked lacks a line too";
  EXPECT_EQ(line_of_write({checked_at(12, metal::kWroteBesideThreadgroupMemory)}), 0U);
  EXPECT_EQ(harness::find_stray_write(std::vector{checked_at(12, 2)})->message, "out of bounds (the line is that of policy checked)");
}

TEST(AccessLines, AreNotNamedIfTheyAreNotCertain) {
  EXPECT_EQ(line_of(beside_buffer(2), {}), 0U);
  EXPECT_EQ(line_of(beside_buffer(2), {checked_at(12, 2), checked_at(13, 2)}), 0U);
  EXPECT_EQ(line_of(beside_buffer(2), {checked_at(12, 0)}), 0U) << "a read is no write";
  EXPECT_EQ(line_of(beside_buffer(0), {checked_at(12, 2), checked_at(13, 0)}), 0U);
  EXPECT_EQ(line_of(beside_buffer(2), {checked_at(12, 2), beside_buffer(2)}), 0U) << "checked lacks a line too";
  Hazard race = checked_at(12, 2);
  race.kind = HazardKind::device_race;
  EXPECT_EQ(line_of(beside_buffer(2), {race}), 0U);
}

}  // namespace
}  // namespace assay::tests::access_lines_test
