// The scripts for clusters (docs/CLUSTER.md) with a scheduler of our own making: shards, a lost one, a stopped one, and the merge.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"
#include "tests/support/command.h"

namespace assay::tests::cluster_test {
namespace {

using namespace ::testing;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class Cluster : public TestInFolder {
 protected:
  std::string place(const std::string& name) const { return (folder_ / name).string(); }
  std::string tool(const std::string& name) const { return fmt::format("'{}'", (kRoot / "tools/cluster" / name).string()); }

  // A program of that name, which comes first in PATH.
  void make_program(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(folder_ / "bin");
    const std::filesystem::path file = folder_ / "bin" / name;
    std::ofstream(file) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  Outcome run_tool(const std::string& words, const std::string& environment = "") const {
    return run_command(
        fmt::format("env PATH='{}/bin':\"$PATH\" ASSAY='{}/bin/assay' {} {}", folder_.string(), ASSAY_BINARY_DIR, environment, words));
  }
  // What Slurm does for one element of an array.
  Outcome run_task(std::size_t shard, std::size_t count, const std::string& arguments) const {
    return run_tool(
        fmt::format("{} '{}' {} {} {}", tool("slurm-task"), (kRoot / "tools/cluster").string(), count, place("runs"), arguments),
        fmt::format("SLURM_ARRAY_TASK_ID={} SLURM_ARRAY_JOB_ID=77 SLURM_CPUS_PER_TASK=2", shard));
  }
  // The names of the cases of the newest run, in order.
  static std::vector<std::string> cases_in(const std::string& file) {
    const harness::Ledger ledger = harness::Ledger::open_existing(file);
    std::vector<std::string> names;
    for (const harness::CaseRecord& record : ledger.cases(ledger.runs().back().id)) {
      EXPECT_TRUE(record.status.has_value()) << record.name;
      names.push_back(record.name);
    }
    return names;
  }
};

TEST_F(Cluster, ALostShardIsNamedSubmittedAgainAndThenEveryCaseIsThereOnce) {
  const std::string selection = "smoke --family reduce";
  make_program("sbatch", "printf '%s\\n' \"$@\" >> '" + place("submitted") + "'\n");
  const Outcome first =
      run_tool(fmt::format("{} 3 {} {}", tool("slurm-submit"), place("runs"), selection), "SBATCH_OPTIONS='--partition=p -n1'");
  EXPECT_EQ(first.status, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("100 cases: "));
  EXPECT_THAT(lines_of(read_file(place("submitted"))),
              IsSupersetOf({"--partition=p", "-n1", "--array=1-3", "--requeue", "--signal=B:TERM@60", "3", "smoke", "--family", "reduce"}));

  for (const std::size_t shard : {1U, 3U}) EXPECT_EQ(run_task(shard, 3, selection).status, 0);
  const Outcome part = run_tool(fmt::format("{} {}", tool("merge"), place("runs")));
  EXPECT_EQ(part.status, 1);
  EXPECT_THAT(part.output, HasSubstr("missing: shard 2/3 was not given\n"));
  EXPECT_THAT(part.output, HasSubstr("1 of 3 shards: 2\n"));
  EXPECT_EQ(read_file(place("runs/again.txt")), "2\n");

  EXPECT_EQ(run_tool(fmt::format("{} 3 {} {}", tool("slurm-submit"), place("runs"), selection)).status, 0);
  EXPECT_THAT(lines_of(read_file(place("submitted"))), Contains("--array=2"));
  EXPECT_EQ(run_task(2, 3, selection).status, 0);
  const Outcome whole = run_tool(fmt::format("{} {}", tool("merge"), place("runs")));
  EXPECT_EQ(whole.status, 0) << whole.output;
  EXPECT_EQ(read_file(place("runs/again.txt")), "");
  const std::vector<std::string> names = cases_in(place("runs/whole.sqlite"));
  EXPECT_EQ(names.size(), 100U);
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

TEST_F(Cluster, AShardThatRunsAgainKeepsItsVerdicts) {
  EXPECT_EQ(run_task(1, 4, "smoke --family fwht").status, 0);
  const Outcome again = run_task(1, 4, "smoke --family fwht");
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.output, HasSubstr("resumed: 25 of 25 cases already have a verdict"));
  EXPECT_EQ(cases_in(place("runs/shard-1-of-4.sqlite")).size(), 25U);
}

TEST_F(Cluster, ATaskWhoseTimeEndsStopsItsRunAndAsksForAnother) {
  // Slurm sends SIGTERM to the script alone; assay must receive it and end with 130.
  make_program("slow", "trap 'echo stopped in order; exit 130' TERM\n: > '" + place("started") + "'\nwhile :; do sleep 0.05; done\n");
  make_program("scontrol", "echo \"scontrol $*\"\n");
  const std::string task = fmt::format(
      "sh -c 'SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_JOB_ID=77 ASSAY=slow {} {} 9 {} soak & task=$!; while [ ! -e {} ]; do sleep 0.05; done; "
      "kill -TERM $task; wait $task'",
      (kRoot / "tools/cluster/slurm-task").string(), (kRoot / "tools/cluster").string(), place("runs"), place("started"));
  const Outcome stopped = run_tool(task);
  EXPECT_EQ(stopped.status, 130) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("stopped in order"));
  EXPECT_THAT(stopped.output, HasSubstr("scontrol requeue 77_5"));

  make_program("slow", "exit 1\n");
  const Outcome failed = run_tool(fmt::format("{} '{}' 9 {} soak", tool("slurm-task"), (kRoot / "tools/cluster").string(), place("runs")),
                                  "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_JOB_ID=77 ASSAY=slow");
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.output, Not(HasSubstr("requeue"))) << "a failure is a result";
}

TEST_F(Cluster, GnuParallelRunsEveryShardOnce) {
  if (run_command("parallel --version").status != 0) GTEST_SKIP() << "GNU parallel is not installed";
  const Outcome run = run_tool(fmt::format("{} 3 {} smoke --family fwht", tool("parallel-run"), place("runs")));
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run_tool(fmt::format("{} {}", tool("merge"), place("runs"))).status, 0);
  EXPECT_EQ(cases_in(place("runs/whole.sqlite")).size(), 100U);
}

TEST_F(Cluster, ToolsSayHowToCallThem) {
  for (const std::string name : {"shard", "merge", "slurm-submit", "parallel-run"}) {
    const Outcome outcome = run_tool(tool(name));
    EXPECT_EQ(outcome.status, 2) << name;
    EXPECT_THAT(outcome.output, HasSubstr("usage: " + name));
  }
}

// A shard of a repeated suite is the list, taken apart.
TEST_F(Cluster, ShardsOfSoakAreEveryNthCaseOfTheList) {
  const std::vector<std::string> all = lines_of(run_assay("list soak --family dequantize").output);
  ASSERT_GT(all.size(), 5000U);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
  constexpr std::size_t kCount = 7;
  std::size_t found = 0;
  for (std::size_t shard = 0; shard < kCount; ++shard) {
    const auto own = lines_of(run_assay(fmt::format("list soak --family dequantize --shard {}/{}", shard + 1, kCount)).output);
    for (std::size_t i = 0; i < own.size(); ++i) ASSERT_EQ(own[i], all.at(shard + i * kCount));
    found += own.size();
  }
  EXPECT_EQ(found, all.size());
}

TEST_F(Cluster, DesignsComeFromTheCacheAndADamagedOneIsFoundAgain) {
  const std::string environment = fmt::format("XDG_CACHE_HOME='{}'", folder_.string());
  const auto list = [&] { return run_under(environment, "list full --family dequantize").output; };
  const std::string first = list();
  std::map<std::filesystem::path, std::string> entries;
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "assay")) {
    if (file.path().extension() == ".rows") entries[file.path()] = read_file(file.path());
  }
  ASSERT_GT(entries.size(), 1U);
  EXPECT_EQ(list(), first);
  for (const auto& [file, entry] : entries) EXPECT_EQ(read_file(file), entry);

  // Without its seal, and with that of another entry's name.
  const auto half = [](const std::string& entry) { return entry.substr(0, entry.size() / 2); };
  const auto other = [](const std::string&) { return std::string("covering design\n"); };
  const auto nothing = [](const std::string&) { return std::string(); };
  for (const std::function<std::string(const std::string&)>& damaged :
       {std::function(half), std::function(other), std::function(nothing)}) {
    for (const auto& [file, entry] : entries) std::ofstream(file, std::ios::binary) << damaged(entry);
    EXPECT_EQ(list(), first);
    for (const auto& [file, entry] : entries) EXPECT_EQ(read_file(file), entry);
  }
}

TEST_F(Cluster, AnEstimateRunsNothing) {
  const Outcome outcome = run_assay("run soak --estimate --policy checked --ledger " + place("none.sqlite"));
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              ContainsRegex("[0-9]+ cases: [0-9]+ CPU hours, without compilation; policy checked takes several times as long"));
  EXPECT_THAT(outcome.output, ContainsRegex("suggestion: [0-9]+ shards of about 30 CPU minutes each"));
  EXPECT_FALSE(std::filesystem::exists(place("none.sqlite")));
  EXPECT_THAT(run_assay("run fwht_v1/d256/h8/standalone/gauss/s1 --estimate").output, HasSubstr("1 case: 0 CPU seconds"));
}

}  // namespace
}  // namespace assay::tests::cluster_test
