// The families that a program gives to the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "families/registry.h"

namespace assay::tests::program_families_test {
namespace {

using families::Family;
using families::own_families;
using families::use_families;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ProgramFamilies, OursAreThoseOfAProgramThatGivesNone) {
  const std::vector<Family> ours = own_families();
  ASSERT_EQ(families::all_families().size(), ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(families::all_families()[i].name(), ours[i].name());
}

TEST(ProgramFamilies, AreSomeHaveTheirOwnNamesAndComeFirst) {
  EXPECT_THAT([] { use_families({}); }, ThrowsMessage<std::invalid_argument>(HasSubstr("at least one family")));
  std::vector<Family> twice = own_families();
  twice.push_back(twice.front());
  EXPECT_THAT([&] { use_families(twice); }, ThrowsMessage<std::invalid_argument>(HasSubstr("two families have the name 'tq4'")));
  static_cast<void>(families::all_families());
  EXPECT_THAT([] { use_families(own_families()); }, ThrowsMessage<std::logic_error>(HasSubstr("after the families were used")));
}

}  // namespace
}  // namespace assay::tests::program_families_test
