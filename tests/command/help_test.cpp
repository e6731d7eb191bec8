// The help of every command: it has examples, and these use what the command has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::help_test {
namespace {

using ::testing::HasSubstr;

// The subcommands that `assay --help` lists: two blanks, the name, blanks, what it does.
std::vector<std::string> commands() {
  std::vector<std::string> names;
  std::istringstream help(run_assay("--help").output);
  bool is_listing = false;
  for (std::string line; std::getline(help, line);) {
    if (line == "Subcommands:") {
      is_listing = true;
    } else if (is_listing && line.empty()) {
      break;
    } else if (is_listing && line.starts_with("  ") && line[2] != ' ') {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return names;
}

// The lines of the help that are examples of `assay <command>`.
std::vector<std::string> examples(const std::string& help, const std::string& command) {
  std::vector<std::string> found;
  std::istringstream lines(help.substr(std::min(help.find("\nexamples\n"), help.size())));
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find("assay " + command + " "); line.starts_with("  ") && at != std::string::npos)
      found.push_back(line.substr(at));
    else if (line.ends_with("assay " + command))
      found.push_back(line.substr(line.size() - command.size() - 6));
  }
  return found;
}

TEST(CliHelp, EveryCommandHasExamplesOfItself) {
  const std::vector<std::string> all = commands();
  ASSERT_THAT(all, testing::IsSupersetOf({"run", "gate", "check-dispatch", "doctor"}));
  for (const std::string& command : all) {
    const Outcome help = run_assay(command + " --help");
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_FALSE(examples(help.output, command).empty()) << "assay " << command << " --help\n" << help.output;
  }
}

TEST(CliHelp, HelpIsACommandToo) {
  EXPECT_EQ(run_assay("help").output, run_assay("--help").output);
  EXPECT_EQ(run_assay("help run").output, run_assay("run --help").output);
}

TEST(CliHelp, ExamplesNameOptionsThatThereAre) {
  for (const std::string& command : commands()) {
    const std::string help = run_assay(command + " --help").output;
    const std::string options = help.substr(0, help.find("\nexamples\n"));
    for (const std::string& example : examples(help, command)) {
      std::istringstream words(example);
      for (std::string word; words >> word;) {
        if (word.starts_with("--")) EXPECT_THAT(options, HasSubstr(word)) << example;
      }
    }
  }
}

// A case that an example names can be asked for; without --kernel, because these are the user's own.
TEST(CliHelp, ExamplesNameCasesThatThereAre) {
  std::string names;
  for (const std::string& command : commands()) {
    for (const std::string& example : examples(run_assay(command + " --help").output, command)) {
      std::istringstream words(example);
      for (std::string word; words >> word;) {
        const bool is_variant = word.find("_v") < word.find('/');
        if (is_variant && word.find("/s") != std::string::npos && word.find('*') == std::string::npos) names += " " + word;
      }
    }
  }
  ASSERT_THAT(names, HasSubstr("tq4_v1/"));
  const Outcome outcome = run_assay("list" + names);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

}  // namespace
}  // namespace assay::tests::help_test
