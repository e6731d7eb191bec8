// `assay mutate` as a user meets it: a score, survivors as diffs, results that are kept, mutants that never end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "tests/unit/cli_command.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using CliMutate = Cli;

// A cache of the test's own, so that what is found in it was put there by the test.
class OwnCache {
 public:
  explicit OwnCache(const std::filesystem::path& folder) {
    if (const char* value = std::getenv(kName)) before_ = value;
    setenv(kName, folder.c_str(), 1);
  }
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;
  ~OwnCache() {
    if (before_) {
      setenv(kName, before_->c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }

 private:
  static constexpr const char* kName = "XDG_CACHE_HOME";
  std::optional<std::string> before_;
};

TEST_F(CliMutate, ASampleOfReduceIsKilled) {
  const Outcome outcome = run_assay("mutate reduce_v1 --suite smoke --max 6 --seed 2");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("6 mutants (a sample of "));
  EXPECT_THAT(outcome.output, HasSubstr(" 0 survived"));
  EXPECT_THAT(outcome.output, Not(HasSubstr(" 0 killed")));
}

const std::string kOneMutant = "reduce_v1 --suite smoke --mutant drop_statement:40:9:1 --json ";

TEST_F(CliMutate, ResultsAreKeptUntilTheSourceChanges) {
  const OwnCache cache(folder_ / "cache");
  const std::string json = (folder_ / "out.json").string();
  const Outcome first = run_assay("mutate " + kOneMutant + json);
  EXPECT_EQ(first.status, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("1 killed"));
  EXPECT_THAT(read_file(json), HasSubstr("\"cached\": false"));
  EXPECT_EQ(run_assay("mutate " + kOneMutant + json).status, 0);
  EXPECT_THAT(read_file(json), HasSubstr("\"cached\": true"));
  EXPECT_EQ(run_assay("mutate reduce_v1 --suite smoke --mutant drop_statement:41:9:1 --json " + json).status, 0);
  EXPECT_THAT(read_file(json), HasSubstr("\"cached\": false")) << "another mutant, another result";
}

// The kernel as it stands writes every element twice; a mutant that drops one of the two stores survives.
TEST_F(CliMutate, ASurvivorIsShownAndFailsTheRun) {
  const std::string source = read_file(std::string(ASSAY_SOURCE_DIR) + "/kernels/variants/reduce_v1/kernel.metal");
  std::string twice = source;
  const std::string store = "dst4[i] = sum * inv;";
  twice.replace(twice.find(store), store.size(), store + "\n" + store);
  const Outcome outcome = run_assay("mutate " + write(twice) + " --family reduce --suite smoke --mutant drop_statement:56:1:1");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  for (const char* part : {"survived drop_statement:56:1:1 after 100 cases", "-dst4[i] = sum * inv;\n+;", "score 0.0 %"})
    EXPECT_THAT(outcome.output, HasSubstr(part));
}

TEST_F(CliMutate, AMutantThatNeverEndsIsKilledByTheTimeout) {
  const Outcome outcome = run_assay("mutate fwht_v1 --suite smoke --timeout 1 --mutant arithmetic:81:51:1");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("killed by: timeout 1"));
}

TEST_F(CliMutate, WhatDoesNotCompileOrCompilesToTheSameDoesNotCount) {
  const Outcome outcome =
      run_assay("mutate reduce_v1 --suite smoke --mutant drop_operand:33:35:1 --mutant arithmetic:40:27:1 --mutant drop_statement:40:9:1");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("1 killed, 0 survived, 1 equivalent, 1 stillborn; score 100.0 %"));
  EXPECT_THAT(outcome.output, HasSubstr("equivalent: compiles to the same code as the original"));
}

TEST_F(CliMutate, AKernelThatIsWrongItselfProvesNothing) {
  std::string source = read_file(std::string(ASSAY_SOURCE_DIR) + "/kernels/variants/reduce_v1/kernel.metal");
  source.replace(source.find("sum * inv"), 9, "sum * 2.0");
  const Outcome outcome = run_assay("mutate " + write(source) + " --family reduce --suite smoke --max 3");
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("not right before anything is changed in it"));
}

TEST_F(CliMutate, WrongUseEndsWithStatus2AndAMessage) {
  for (const auto& [arguments, part] : {std::pair<const char*, const char*>{"nobody_v1", "nobody_v1"},
                                        {"reduce_v1 --suite everything", "everything"},
                                        {"reduce_v1 --mutant arithmetic:1:1:1", "no mutant 'arithmetic:1:1:1'"},
                                        {"reduce_v1 --max 0", "--max"},
                                        {"", "KERNEL"}}) {
    const Outcome outcome = run_assay(std::string("mutate ") + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << "\n" << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(part)) << arguments;
  }
}

}  // namespace
}  // namespace assay
