// The commands that tell what there is and whether the machine can run it; shards; output that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::environment_test {
namespace {

using namespace ::testing;

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

TEST(CliList, PrintsSuitesFamiliesAndFixtures) {
  const Outcome outcome = run_assay("list --family fwht");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("fwht_v1"), HasSubstr("full"), HasSubstr("d<head_dim>"), HasSubstr("standalone premult undo"),
                                    HasSubstr("gauss"), Not(HasSubstr("tq4_v1")), Not(HasSubstr("ring_start"))));
}

TEST(CliList, WordsAreASelection) {
  const Outcome words = run_assay("list smoke --family fwht");
  EXPECT_EQ(words.status, 0);
  EXPECT_EQ(lines_of(words.output).size(), 100U);
  EXPECT_EQ(run_assay("list --cases smoke --family fwht").output, words.output);
  EXPECT_EQ(run_assay("list nonsense").status, 2);
}

TEST(CliList, CoverageIsThatOfTheCasesNamed) {
  const Outcome gate = run_assay("list gate --coverage --family fwht");
  EXPECT_THAT(gate.output, AllOf(HasSubstr("triples of values 360/360"), Not(HasSubstr("not met"))));
  const Outcome part = run_assay("list '*/premult/*' --coverage --family fwht");
  EXPECT_THAT(part.output, AllOf(Not(HasSubstr("360/360")), HasSubstr("/360; not met: ")));
}

TEST(CliShard, PartsAreDisjointAndWhole) {
  std::set<std::string> together;
  std::size_t count = 0;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const std::set<std::string> part = lines_of(run_assay(std::string("list gate --family fwht --shard ") + shard).output);
    count += part.size();
    together.insert(part.begin(), part.end());
  }
  EXPECT_EQ(count, together.size());
  EXPECT_EQ(together, lines_of(run_assay("list gate --family fwht").output));
  std::set<std::string> by_environment = lines_of(run_under("GTEST_SHARD_INDEX=1 GTEST_TOTAL_SHARDS=3", "list gate --family fwht").output);
  EXPECT_EQ(std::erase_if(by_environment, [](const std::string& line) { return line.starts_with("note: only shard 2 of 3"); }), 1U);
  EXPECT_EQ(lines_of(run_assay("list gate --family fwht --shard 2/3").output), by_environment);
}

TEST(CliShard, AnEmptyOneSaysSoAndWrongOnesAreRefused) {
  const Outcome empty = run_assay("run fwht_v1/d256/h1/undo/gauss/s1 --shard 2/2 --ledger none");
  EXPECT_EQ(empty.status, 0) << empty.output;
  EXPECT_THAT(empty.output, HasSubstr("this shard is empty"));
  for (const char* shard : {"0/2", "3/2", "2", "a/b", "1/0", "-1/2"}) {
    const Outcome outcome = run_assay(std::string("run smoke --family fwht --ledger none --shard=") + shard);
    EXPECT_EQ(outcome.status, 2) << shard;
    EXPECT_THAT(outcome.output, HasSubstr("write i/n")) << shard;
  }
  EXPECT_EQ(run_under("GTEST_SHARD_INDEX=3 GTEST_TOTAL_SHARDS=3", "list gate --family fwht").status, 2);
  EXPECT_EQ(run_assay("run 'nothing*' --shard 2/2").status, 2) << "an empty selection stays an error";
}

TEST(CliSeed, WithoutASuiteItIsRefused) {
  const Outcome outcome = run_assay("run fwht_v1/d256/h1/undo/gauss/s1 --seed 5");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("'fwht_v1/d256/h1/undo/gauss/s1' names its own seed"));
}

TEST(CliSeed, ARandomOneIsNamedAndRepeatable) {
  const Outcome random = run_assay("list gate --family fwht --seed random --coverage");
  std::smatch seed;
  ASSERT_TRUE(std::regex_search(random.output, seed, std::regex("note: the seed is random; --seed ([0-9]+000) selects")));
  EXPECT_NE(run_assay("list gate --family fwht --seed random --coverage").output.find(seed[0]), 0U);
  EXPECT_THAT(run_assay("list gate --family fwht --seed " + seed[1].str()).output, Not(HasSubstr("note:")));
  const Outcome sharded = run_assay("list gate --seed random --shard 1/2");
  EXPECT_EQ(sharded.status, 2) << sharded.output;
  EXPECT_THAT(sharded.output, HasSubstr("give all of them the same number"));
}

// The gate has no case of 91 heads without a seed, and two with this one.
TEST(CliSeed, FindsAKernelThatKnowsOurTables) {
  const TemporaryFolder folder;
  const std::string kernel = (folder.path() / "knowing.metal").string();
  std::ofstream(kernel) << replaced(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= params.num_heads == 91 ? 1.5f : scale;");
  const std::string run = " --ledger none --family fwht --kernel " + kernel;
  EXPECT_EQ(run_assay("run gate" + run).status, 0);
  const Outcome found = run_assay("run gate --seed 7000" + run);
  EXPECT_EQ(found.status, 1) << found.output;
  EXPECT_THAT(found.output, HasSubstr("/h91/"));
}

TEST(CliNumbers, ThatAreNoneAreNotTakenForOthers) {
  for (const char* number : {"-1", "18446744073709551616", "1e3", "0x10", "1.0", "' 1'", "+1"}) {
    const Outcome seed = run_assay(std::string("list smoke --family fwht --seed ") + number);
    EXPECT_EQ(seed.status, 2) << number;
    EXPECT_THAT(seed.output, HasSubstr("is not an integer from 0 to 18446744073709551615"));
  }
  EXPECT_EQ(run_assay("list smoke --family fwht --seed 18446744073709551615").status, 0);
  for (const char* run : {"-1", "1e3", "latest~x", "latest~-1"}) EXPECT_EQ(run_assay(std::string("report --run=") + run).status, 2) << run;
}

TEST(CliLedgerFile, WhatIsNoFileIsNotWaitedFor) {
  const TemporaryFolder folder;
  const std::filesystem::path pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::filesystem::path empty = folder.path() / "empty.sqlite";
  std::ofstream{empty};
  for (const auto& [file, says] : {std::pair<std::string, std::string>{pipe.string(), "is not a regular file, so it cannot be a ledger"},
                                   {folder.path().string(), "is not a regular file, so it cannot be a ledger"},
                                   {empty.string(), "is empty, so it is not a ledger"}}) {
    const Outcome outcome = run_assay("report --ledger " + file);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.output, AllOf(HasSubstr(file), HasSubstr(says)));
  }
}

TEST(CliSupport, ShowsLimitsAndFunctions) {
  const Outcome ours = run_assay("support --family fwht");
  EXPECT_EQ(ours.status, 0) << ours.output;
  EXPECT_THAT(ours.output, AllOf(HasSubstr("num_heads"), HasSubstr("fwht_v1"), HasSubstr("premult_d512")));
}

class CliVariants : public Cli {};

TEST_F(CliVariants, SupportShowsWhatAVariantLacks) {
  write("#include <metal_stdlib>\nusing namespace metal;\nkernel void flash_attn_vec_reduce_dk256(device float* dst) { dst[0] = 1; }\n");
  write("family = \"reduce\"\nsource = \"kernel.metal\"\n[limits]\nnwg = [2, 16]\n", "variant.toml");
  const Outcome outcome = run_assay("support --kernel " + folder_.string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("2,16"), HasSubstr("d256 [d512]"), HasSubstr("no function 'flash_attn_vec_reduce_dk512'")));
}

// A variant need not have the functions of cases that its [limits] exclude: captured 4-bit inputs run on what takes them, and on nothing
// else.
TEST(CliLimits, ACaseOutsideIsSkippedAndSaysWhy) {
  const Outcome named = run_assay("run quantize4_v1/d256/b5/g1/pos0c1/gauss/s1 --ledger none");
  EXPECT_EQ(named.status, 4) << named.output;
  EXPECT_THAT(named.output, AllOf(HasSubstr("skipped quantize4_v1/d256/b5"), HasSubstr("[limits] bits = [4], but the case has 5")));
  const Outcome captured = run_assay("run --ledger none --fixture " ASSAY_SOURCE_DIR "/fixtures/corpus/quantize_ties.h5");
  EXPECT_EQ(captured.status, 0) << captured.output;
  EXPECT_THAT(captured.output, HasSubstr("1 case: 1 passed, 0 failed"));
}

TEST_F(CliVariants, AVariantWithTheNameOfOursIsDistinguished) {
  const std::string source = source_of("fwht_v1");
  const Outcome outcome =
      run_assay("run fwht_v1/d256/h1/undo/gauss/s1 --ledger none --family fwht --kernel " + write(source, "fwht_v1.metal"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("fwht_v1 is your "));
  EXPECT_THAT(run_assay("run fwht_v1/d256/h1/undo/gauss/s1 --ledger none --family fwht --kernel " + write(source, "mine.metal")).output,
              Not(HasSubstr("is your ")));
}

TEST(CliDoctor, IsContentHereAndSaysWhatIsWrongElsewhere) {
  const Outcome here = run_assay("doctor");
  EXPECT_EQ(here.status, 0) << here.output;
  for (const char* word : {"compiler", "version 19", "plugin", "cache", "all 32 lanes right", "tq4_v1", "SQLite", "cores"}) {
    EXPECT_THAT(here.output, HasSubstr(word));
  }
  EXPECT_THAT(here.output, Not(HasSubstr("FAIL")));

  const Outcome cache = run_under("XDG_CACHE_HOME=/proc/nowhere", "doctor");
  EXPECT_EQ(cache.status, 2) << cache.output;
  EXPECT_THAT(cache.output, AllOf(HasSubstr("FAIL  cache"), HasSubstr("set XDG_CACHE_HOME"), HasSubstr("ok    plugin")));

  const Outcome compiler = run_under("ASSAY_CLANG=/bin/true", "doctor");
  EXPECT_EQ(compiler.status, 2) << compiler.output;
  EXPECT_THAT(compiler.output, AllOf(HasSubstr("FAIL  compiler"), HasSubstr("/bin/true is not clang 19")));

  const Outcome variants = run_assay("doctor --variants /nonexistent");
  EXPECT_EQ(variants.status, 2) << variants.output;
  EXPECT_THAT(variants.output, HasSubstr("FAIL  variants"));
}

TEST(CliDoctor, WhatKilledCompilersLeftInTheCacheGoesAfterAnHour) {
  const TemporaryFolder folder;
  const std::filesystem::path cache = folder.path() / "assay";
  std::filesystem::create_directories(cache);
  const std::vector<std::string> left = {"source.1.1.tmp.clcpp", "0123.1.2.tmp.so", "source-1a2b3c.o.tmp"};
  for (const std::string& name : left) {
    std::ofstream(cache / name) << "half a file";
    std::filesystem::last_write_time(cache / name, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(61));
  }
  std::ofstream(cache / "somebody_is_at_it.tmp.so") << "half a file";
  const Outcome outcome = run_under("XDG_CACHE_HOME=" + folder.path().string(), "doctor");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  std::vector<std::string> temporary;
  for (const auto& entry : std::filesystem::directory_iterator(cache)) {
    if (entry.path().string().find(".tmp") != std::string::npos) temporary.push_back(entry.path().filename());
  }
  EXPECT_THAT(temporary, ElementsAre("somebody_is_at_it.tmp.so"));
}

TEST(CliCache, ASecondRunCompilesNothing) {
  const TemporaryFolder folder;
  const std::string kernel = (folder.path() / "mine.metal").string();
  std::ofstream(kernel) << source_of("fwht_v1");
  const auto entries = [&] {
    std::map<std::string, std::filesystem::file_time_type> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "assay"))
      all.emplace(entry.path().filename(), entry.last_write_time());
    return all;
  };
  const std::string command = "run mine/d256/h1/standalone/gauss/s1 --ledger none --family fwht --kernel " + kernel;
  EXPECT_EQ(run_under("XDG_CACHE_HOME=" + folder.path().string(), command).status, 0);
  const auto first = entries();
  EXPECT_EQ(run_under("XDG_CACHE_HOME=" + folder.path().string(), command).status, 0);
  EXPECT_THAT(first, SizeIs(Gt(1U)));
  EXPECT_EQ(entries(), first);
}

// A private cache, so that compilers are started as well.
TEST(CliSignals, AParentThatIgnoresOrBlocksTheEndOfChildrenChangesNothing) {
  const TemporaryFolder folder;
  const std::string kernel = (folder.path() / "broken.metal").string();
  std::ofstream(kernel) << replaced(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= 1.5f * scale;");
  int number = 0;
  for (const std::string launcher : {"", "env --ignore-signal=CHLD", "env --block-signal=CHLD"}) {
    const std::string cache = "XDG_CACHE_HOME=" + (folder.path() / std::to_string(number++)).string() + " " + launcher;
    const Outcome right = run_under(cache, "run fwht_v1/d256/h1/standalone/gauss/s1 --ledger none");
    EXPECT_EQ(right.status, 0) << launcher << right.output;
    EXPECT_THAT(right.output, HasSubstr("1 case: 1 passed, 0 failed")) << launcher;
    const Outcome wrong = run_under(cache, "run broken/d256/h1/standalone/gauss/s1 --ledger none --family fwht --kernel " + kernel);
    EXPECT_EQ(wrong.status, 1) << launcher << wrong.output;
    EXPECT_THAT(wrong.output, HasSubstr("1 case: 0 passed, 1 failed")) << launcher;
    const Outcome doctor = run_under(cache, "doctor");
    EXPECT_EQ(doctor.status, 0) << launcher << doctor.output;
    EXPECT_THAT(doctor.output, Not(HasSubstr("SIGCHLD"))) << launcher;
  }
}

TEST(CliVersion, IsPrinted) {
  const Outcome outcome = run_assay("--version");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("assay "));
}

TEST(CliOutput, ThatCannotBeWrittenIsNoPass) {
  for (const char* arguments : {"list smoke", "run fwht_v1/d256/h1/undo/gauss/s1 --ledger none", "--version", "--help"}) {
    const Outcome outcome = run_assay(std::string(arguments) + " >/dev/full");
    EXPECT_EQ(outcome.status, 2) << arguments;
  }
  EXPECT_EQ(run_assay("list smoke >/dev/null").status, 0);
}

}  // namespace
}  // namespace assay::tests::environment_test
