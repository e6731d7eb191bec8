// A descriptor without a mandatory member is refused by the compiler, by name.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::descriptor_test {
namespace {

using Members = std::vector<std::string_view>;

// A struct, and its members without a default in the order of the struct. `contract` is a reference, which cannot be left out anyway.
struct Descriptor {
  std::string_view name;
  Members members;
};
const std::vector<Descriptor> kDescriptors = {
    {"Family",
     {"description", "axes", "words", "factors", "realise", "draw", "work", "has_fixture", "launch", "expression_names", "validate",
      "simdgroups", "files", "job", "minimum", "triage"}},
    {"FileRules", {"inputs", "output_shape", "generate", "expect"}},
    {"TriageRules", {"model", "mistakes", "probes", "steps", "followed", "place", "row_parts"}},
};

// A function that returns the struct with every mandatory member but one; empty: with all of them.
std::string function_without(const Descriptor& descriptor, std::string_view omitted) {
  std::ostringstream text;
  text << descriptor.name << " " << descriptor.name << "_without_" << (omitted.empty() ? "nothing" : omitted) << "() {\n  return {";
  if (descriptor.name == "Family") text << ".contract = kContract, ";
  for (const std::string_view member : descriptor.members) {
    if (member != omitted) text << "." << member << " = {}, ";
  }
  text << "};\n}\n";
  return text.str();
}

// How the build compiles the toy family, as far as warnings and include folders go.
std::string compiler_command() {
  const std::string commands = read_file(ASSAY_BINARY_DIR "/compile_commands.json");
  const std::size_t source = commands.find("-c " + (kRoot / "tests/families/toy/family.cpp").string());
  const std::string_view key = "\"command\": \"";
  const std::size_t start = commands.rfind(key, source);
  EXPECT_NE(source, std::string::npos);
  EXPECT_NE(start, std::string::npos);
  const std::string command = commands.substr(start + key.size(), source - start - key.size());
  return command.substr(0, command.rfind(" -o ")) + " -ferror-limit=0 -fsyntax-only ";
}

class FamilyDescriptor : public TestInFolder {};

TEST_F(FamilyDescriptor, DoesNotCompileWithoutAMandatoryMember) {
  std::string text =
      "#include \"families/family.h\"\nnamespace assay::families {\n"
      "constexpr kernels::FamilyContract kContract{};\n";
  std::size_t functions = 0;
  for (const Descriptor& descriptor : kDescriptors) {
    text += function_without(descriptor, {});
    for (const std::string_view member : descriptor.members) {
      text += function_without(descriptor, member);
      ++functions;
    }
  }
  const std::string file = write(text + "}\n", "descriptors.cpp");
  const Outcome outcome = run_command(compiler_command() + "'" + file + "'");
  // One diagnostic for each function, so none for those without an omission.
  std::size_t diagnostics = 0;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error:") != std::string::npos || line.find("warning:") != std::string::npos) ++diagnostics;
  }
  EXPECT_EQ(diagnostics, functions) << outcome.output;
  for (const Descriptor& descriptor : kDescriptors) {
    for (const std::string_view member : descriptor.members)
      EXPECT_NE(outcome.output.find("missing field '" + std::string(member) + "' initializer"), std::string::npos) << member;
  }
}

}  // namespace
}  // namespace assay::tests::descriptor_test
