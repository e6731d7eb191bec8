// families/<name>/contract.md has every function, argument, struct field and function constant of its family, and what its contract leaves
// out, as the descriptor has them.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "kernels/contract.h"
#include "tests/support/files.h"

namespace assay::tests::contract_documents_test {
namespace {

using kernels::ArgumentContract;
using kernels::ConstantContract;
using kernels::EntryContract;
using kernels::FamilyContract;
using kernels::FieldContract;
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

std::string row(std::string_view what, const std::string& cell) { return fmt::format("| {} | {} |\n", what, cell); }

std::string constants_of(const FamilyContract& family) {
  std::vector<std::string> words;
  for (const ConstantContract& constant : family.constants) words.push_back(fmt::format("{}: {}", constant.index, constant.meaning));
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, ", "));
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

std::string table_of(const FamilyContract& family) {
  return fmt::format("| `{}` | |\n|---|---|\n", family.name) + row("functions, by key of `[entry]`", entries_of(family)) +
         row("arguments, each with its buffer index; *may be missing*", arguments_of(family)) +
         row("fields that the struct must have", fields_of(family, false)) + row("fields that it may lack", fields_of(family, true)) +
         row("function constants that launch code sets", constants_of(family));
}

std::string omissions_of(const families::Family& family) {
  std::string table = "| no case of the gate | claim |\n|---|---|\n";
  for (const families::Omission& omission : family.omissions) {
    table += fmt::format("| {} | {} |\n", omission.sentence,
                         omission.ability.empty() ? "-" : fmt::format("`{}`: {}", omission.id, omission.ability));
  }
  return table + "\n";
}

TEST(ContractDocuments, HaveEveryFunctionArgumentFieldAndCaseName) {
  ASSERT_FALSE(families::all_families().empty());
  for (const families::Family& family : families::all_families()) {
    const std::string document = read_file(kRoot / "families" / std::string(family.name()) / "contract.md");
    EXPECT_TRUE(document.starts_with(fmt::format("# {}: {}\n", family.name(), family.description))) << document.substr(0, 100);
    EXPECT_THAT(document, HasSubstr(table_of(family.contract)));
    for (const FamilyContract& helper : family.helper_contracts) EXPECT_THAT(document, HasSubstr(table_of(helper)));
    EXPECT_THAT(document, HasSubstr(omissions_of(family)));
    EXPECT_THAT(document, HasSubstr(fmt::format("```text\n{}\n```\n", harness::name_grammar(family))));
  }
}

}  // namespace
}  // namespace assay::tests::contract_documents_test
