// `assay mutate` as a user meets it: a score, survivors as diffs, results that are kept, mutants that never end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/command.h"
#include "tests/support/own_cache.h"

namespace assay::tests::mutate_test {
namespace {

using namespace ::testing;

using CliMutate = Cli;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Results that are kept, whole ones only.
std::size_t kept_results(const std::filesystem::path& cache) {
  std::size_t count = 0;
  std::error_code none_yet;
  for (const auto& entry : std::filesystem::directory_iterator(cache / "assay", none_yet)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".mutant") && !name.ends_with(".tmp.mutant")) ++count;
  }
  return count;
}

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

// A terminated run prints a summary of what was judged until then.
TEST_F(CliMutate, ASigtermEndsItWithASummary) {
  const OwnCache cache(folder_ / "cache");
  const std::string output = (folder_ / "out.txt").string();
  const pid_t command = fork();
  if (command == 0) {
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    const std::string binary = std::string(ASSAY_BINARY_DIR) + "/bin/assay";
    execl(binary.c_str(), "assay", "mutate", "reduce_v1", "--suite", "smoke", "--policies", "native", "--max", "60", "--jobs", "1",
          nullptr);
    _exit(127);
  }
  ASSERT_GT(command, 0);
  int status = 0;
  while (kept_results(folder_ / "cache") < 2 && waitpid(command, &status, WNOHANG) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(command, SIGTERM);
  waitpid(command, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  EXPECT_THAT(read_file(output), AllOf(HasSubstr("60 mutants (a sample of "), HasSubstr("not judged"), HasSubstr("score")));
}

TEST_F(CliMutate, KilledMidwayItGoesOnWithTheRest) {
  const OwnCache cache(folder_ / "cache");
  const std::string json = (folder_ / "out.json").string();
  constexpr std::size_t kMutants = 8;
  const pid_t command = fork();
  if (command == 0) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    const std::string binary = std::string(ASSAY_BINARY_DIR) + "/bin/assay";
    execl(binary.c_str(), "assay", "mutate", "reduce_v1", "--suite", "smoke", "--policies", "native", "--max", "8", "--jobs", "1", nullptr);
    _exit(127);
  }
  ASSERT_GT(command, 0);
  // That of the original, and those of two mutants.
  while (kept_results(folder_ / "cache") < 3 && waitpid(command, nullptr, WNOHANG) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(command, SIGKILL);
  waitpid(command, nullptr, 0);
  const std::size_t kept = kept_results(folder_ / "cache") - 1;
  ASSERT_GE(kept, 2U);
  ASSERT_LT(kept, kMutants) << "it was over before it was killed";

  const Outcome rest = run_assay("mutate reduce_v1 --suite smoke --policies native --max 8 --jobs 1 --json " + json);
  EXPECT_EQ(rest.status, 0) << rest.output;
  EXPECT_THAT(rest.output, HasSubstr("8 mutants (a sample of "));
  // One more may have been on its way into the cache when the command was killed.
  const std::size_t cached = count_of(read_file(json), "\"cached\": true");
  EXPECT_GE(cached, kept);
  EXPECT_LE(cached, kept + 1);
  EXPECT_EQ(count_of(read_file(json), "\"cached\": false"), kMutants - cached);
}

TEST_F(CliMutate, ABudgetEndsItAndTheSameCommandGoesOn) {
  const OwnCache cache(folder_ / "cache");
  const std::string arguments = "mutate reduce_v1 --suite smoke --policies native --max 5 --jobs 1";
  const Outcome cut = run_assay(arguments + " --budget 0.001");
  EXPECT_EQ(cut.status, 5) << cut.output;
  EXPECT_THAT(cut.output, HasSubstr("not judged, the budget was used up: 5 ("));
  EXPECT_THAT(cut.output, HasSubstr("5 mutants are not yet judged and not in the score; run the same command again"));
  const Outcome whole = run_assay(arguments + " --budget 60");
  EXPECT_EQ(whole.status, 0) << whole.output;
  EXPECT_THAT(whole.output, Not(HasSubstr("not judged")));
}

// The kernel as it stands writes every element twice; a mutant that drops one of the two stores survives.
TEST_F(CliMutate, ASurvivorIsShownAndFailsTheRun) {
  const std::string source = source_of("reduce_v1");
  std::string twice = source;
  const std::string store = "dst4[i] = sum * inv;";
  twice.replace(twice.find(store), store.size(), store + "\n" + store);
  const Outcome outcome = run_assay("mutate " + write(twice) + " --family reduce --suite smoke --mutant drop_statement:56:1:1");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  for (const char* part : {"survived drop_statement:56:1:1 after 200 cases", "-dst4[i] = sum * inv;\n+;", "score 0.0 %"})
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
  std::string source = source_of("reduce_v1");
  source.replace(source.find("sum * inv"), 9, "sum * 2.0");
  const Outcome outcome = run_assay("mutate " + write(source) + " --family reduce --suite smoke --max 3");
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("already fails unchanged"));
}

TEST_F(CliMutate, WrongUseEndsWithStatus2AndAMessage) {
  for (const auto& [arguments, part] : {std::pair<const char*, const char*>{"nobody_v1", "nobody_v1"},
                                        {"reduce_v1 --suite everything", "everything"},
                                        {"reduce_v1 --mutant arithmetic:1:1:1", "no mutant 'arithmetic:1:1:1'"},
                                        {"reduce_v1 --max 0", "--max"},
                                        {"reduce_v1 --policies native,nobody", "nobody"},
                                        {"reduce_v1 --policies native,native", "'native' occurs twice"},
                                        {"reduce_v1 --budget 0", "--budget"},
                                        {"", "KERNEL"}}) {
    const Outcome outcome = run_assay(std::string("mutate ") + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << "\n" << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(part)) << arguments;
  }
}

}  // namespace
}  // namespace assay::tests::mutate_test
