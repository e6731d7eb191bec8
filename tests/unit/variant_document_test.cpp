// docs/VARIANT.md has every entry, argument and struct field of every family, as the contracts have them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "families/registry.h"
#include "kernels/contract.h"
#include "tests/support/files.h"

namespace assay::tests {
namespace {

using namespace kernels;

using ::testing::HasSubstr;

std::string type_in_metal(metal::ScalarType type) {
  switch (type) {
    case metal::ScalarType::uint32:
      return "uint";
    case metal::ScalarType::int32:
      return "int";
    case metal::ScalarType::uint64:
      return "ulong";
    case metal::ScalarType::float32:
      return "float";
    default:
      return std::string(metal::to_string(type));
  }
}

std::string row(std::string_view family, const std::vector<std::string>& cells) {
  return fmt::format("| `{}` | {} |\n", family, fmt::join(cells, " | "));
}

std::string entries_of(const FamilyContract& family) {
  std::vector<std::string> words;
  for (const EntryContract& entry : family.entries) words.push_back(fmt::format("`{}`: `{}`", entry.key, entry.function));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string arguments_of(const FamilyContract& family) {
  std::vector<std::string> words;
  for (const ArgumentContract& argument : family.arguments)
    words.push_back(fmt::format("{0}`{1}` {2}{0}", argument.optional ? "*" : "", argument.name, argument.index));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string fields_of(const FamilyContract& family, bool optional) {
  std::vector<std::string> words;
  for (const FieldContract& field : family.fields) {
    if (field.optional == optional) words.push_back(fmt::format("`{}` {}", field.name, type_in_metal(field.type)));
  }
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, ", "));
}

TEST(VariantDocument, HasEveryEntryArgumentAndField) {
  const std::string document = read_file(kRoot / "docs/VARIANT.md");
  ASSERT_FALSE(families::contracts().empty());
  for (const FamilyContract& family : families::contracts()) {
    EXPECT_THAT(document, HasSubstr(row(family.name, {entries_of(family)})));
    EXPECT_THAT(document, HasSubstr(row(family.name, {arguments_of(family)})));
    EXPECT_THAT(document, HasSubstr(row(family.name, {fields_of(family, false), fields_of(family, true)})));
  }
}

}  // namespace
}  // namespace assay::tests
