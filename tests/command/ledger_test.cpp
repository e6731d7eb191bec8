// Runs that were interrupted and go on, runs in shards, and what is said of runs afterwards.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "harness/findings/fault_text.h"
#include "harness/ledger/ledger.h"
#include "reports/grouped.h"
#include "tests/support/command.h"

namespace assay::tests::ledger_test {
namespace {

using namespace ::testing;

std::string variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

class CliLedger : public Cli {
 protected:
  std::string ledger(const std::string& name) const { return (folder_ / name).string(); }

  // All that a verdict says which another run of the same must say too.
  using Said = std::tuple<std::string, std::string, std::uint64_t, double, std::size_t>;
  static std::map<std::string, Said> verdicts_in(const std::string& file) {
    const harness::Ledger ledger = harness::Ledger::open_existing(file);
    const std::vector<harness::RunRecord> runs = ledger.runs();
    EXPECT_EQ(runs.size(), 1U) << "one run, however often it was interrupted";
    std::map<std::string, Said> verdicts;
    for (const harness::CaseRecord& record : ledger.cases(runs.back().id)) {
      const bool is_new = verdicts
                              .try_emplace(record.name, record.status ? std::string(harness::to_string(*record.status)) : "none",
                                           reason_of(record), record.digest, record.judgement.max_ratio, record.judgement.compared)
                              .second;
      EXPECT_TRUE(is_new) << record.name;
    }
    return verdicts;
  }
  static std::string digest_of(const Outcome& outcome) {
    const std::size_t place = outcome.output.find("output digest ");
    return place == std::string::npos ? "" : outcome.output.substr(place, 30);
  }
};

// A run in a process group of its own.
class Group {
 public:
  explicit Group(const std::string& arguments, const std::string& output) {
    const std::string command = std::string("exec '") + ASSAY_BINARY_DIR + "/bin/assay' " + arguments + " > '" + output + "' 2>&1";
    process_ = fork();
    if (process_ == 0) {
      setpgid(0, 0);
      execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    setpgid(process_, process_);
  }
  // Whether it ended by itself within that time.
  bool ends_within(std::chrono::milliseconds time) {
    for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
      int status = 0;
      if (waitpid(process_, &status, WNOHANG) == process_) {
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }
  void kill_all() const { kill(-process_, SIGKILL); }
  void kill_supervisor() const { kill(process_, SIGKILL); }
  // The worker of the largest number; false if there is none. Compilers are no workers.
  bool kill_a_worker() const {
    pid_t worker = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const pid_t process = std::stoi(name);
      if (process == process_ || getpgid(process) != process_ || read_file(entry.path() / "comm") != "assay\n") continue;
      worker = std::max(worker, process);
    }
    return worker != 0 && kill(worker, SIGKILL) == 0;
  }
  void wait() { waitpid(process_, nullptr, 0); }
  // Whether all of it is gone, workers as well.
  bool is_gone() const {
    for (int i = 0; i < 100; ++i) {
      if (kill(-process_, 0) != 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  int status() const { return status_; }

 private:
  pid_t process_ = -1;
  int status_ = -1;
};

// On fibers, because vectors are done before they can be killed. ASSAY_KILLS=50 ASSAY_KILL_SELECTION=gate does it on the whole gate.
TEST_F(CliLedger, AResumedRunEqualsAnUninterruptedOneAfterAnyKill) {
  const std::string selection = variable("ASSAY_KILL_SELECTION", "gate --family tq4 --shard 1/3") + " --engine fibers --jobs 2";
  const int kills = std::stoi(variable("ASSAY_KILLS", "6"));
  const auto start = std::chrono::steady_clock::now();
  const Outcome undisturbed = run_assay("run " + selection + " --ledger " + ledger("undisturbed"));
  ASSERT_EQ(undisturbed.status, 0) << undisturbed.output;
  const std::chrono::duration<double, std::milli> whole = std::chrono::steady_clock::now() - start;

  std::mt19937 random(std::stoul(variable("ASSAY_KILL_SEED", "1")));
  const std::string resumed = "run " + selection + " --resume --ledger " + ledger("resumed");
  int killed = 0, workers = 0;
  bool is_over = false;
  while (killed < kills && !is_over) {
    Group group(resumed, (folder_ / "output").string());
    // A moment in what an undisturbed run would take for its share, or before it has begun.
    constexpr double kStart = 500;
    const double longest = kStart + 1.5 * whole.count() / kills;
    while (killed < kills) {
      is_over = group.ends_within(std::chrono::milliseconds(random() % static_cast<unsigned>(longest)));
      // The largest number may be that of the process that reads a fixture. Without it there is no run, and the next one goes on.
      if (is_over && group.status() == 2 &&
          read_file(folder_ / "output").find("that reads it was killed (signal 9)") != std::string::npos) {
        is_over = false;
        break;
      }
      if (is_over) {
        EXPECT_EQ(group.status(), 0) << read_file(folder_ / "output");
        break;
      }
      ++killed;
      if (random() % 2 == 0 && group.kill_a_worker()) {
        ++workers;
        continue;  // the supervisor goes on
      }
      random() % 2 == 0 ? group.kill_all() : group.kill_supervisor();
      group.wait();
      break;
    }
    EXPECT_TRUE(group.is_gone() || is_over || killed == kills) << "a worker outlived its supervisor";
    if (!is_over) group.kill_all(), group.wait();
  }
  const Outcome last = run_assay(resumed);
  EXPECT_EQ(last.status, 0) << last.output;
  std::printf("%d kills, %d of them of workers\n", killed, workers);
  EXPECT_GT(killed, 1) << "the run was over too soon";
  EXPECT_EQ(digest_of(last), digest_of(undisturbed));
  EXPECT_EQ(verdicts_in(ledger("resumed")), verdicts_in(ledger("undisturbed")));
  const harness::RunRecord run = harness::Ledger::open_existing(ledger("resumed")).runs().back();
  EXPECT_FALSE(run.finished.empty());
  EXPECT_FALSE(run.stopped);
}

TEST_F(CliLedger, AFinishedRunHasNothingLeft) {
  const std::string command = "run reduce_v1/d256/rows2/nwg4/gauss/s1 reduce_v1/d256/rows1/nwg1/gauss/s1 --ledger " + ledger("l");
  const Outcome first = run_assay(command + " --resume");
  EXPECT_EQ(first.status, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("has no run of these cases with the same policy"));
  const Outcome again = run_assay(command + " --resume");
  EXPECT_EQ(again.status, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("resumed: 2 of 2 cases already have a verdict"));
  EXPECT_THAT(again.output, HasSubstr("2 cases: 2 passed, 0 failed"));
  EXPECT_EQ(digest_of(again), digest_of(first));
  EXPECT_THAT(run_assay(command).output, Not(HasSubstr("resumed"))) << "only who asks for it";
}

TEST_F(CliLedger, AKernelThatChangedIsNotResumed) {
  const std::string words =
      " kernel/d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s1 --family tq4 --set tile=32 --set temperature=1 --resume "
      "--ledger " +
      ledger("l") + " --kernel ";
  const std::string kernel = write(independent_kernel());
  EXPECT_EQ(run_assay("run" + words + kernel).status, 0);
  write("// another comment\n" + independent_kernel());
  const Outcome comment = run_assay("run" + words + kernel);
  EXPECT_EQ(comment.status, 0) << comment.output;
  EXPECT_THAT(comment.output, HasSubstr("resumed: 1 of 1")) << "a comment changes nothing";
  with("State state = {-FLT_MAX / 2, 0};", "State state = {-FLT_MAX / 4, 0};");
  const Outcome changed = run_assay("run" + words + kernel);
  EXPECT_EQ(changed.status, 2);
  EXPECT_THAT(changed.output, HasSubstr("cannot be resumed, because this has changed since: kernel of kernel"));
}

TEST_F(CliLedger, AFailureOfTheFirstPartIsAFailureOfTheWhole) {
  with("* params.scale;", "* params.scale * 1.5f;");
  const std::string command =
      "run kernel/d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s1 kernel/d256/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1 --jobs 1 --fail-fast "
      "--family tq4 --set tile=32 --set temperature=1 --kernel '" +
      (folder_ / "kernel.metal").string() + "' --ledger " + ledger("l") + " --junit " + ledger("junit.xml");
  EXPECT_EQ(run_assay(command).status, 1);
  const Outcome resumed = run_assay(command + " --resume");
  EXPECT_EQ(resumed.status, 1);
  EXPECT_THAT(resumed.output, HasSubstr("2 cases: 0 passed, 2 failed"));
  EXPECT_THAT(read_file(folder_ / "junit.xml"), HasSubstr("tests=\"2\" failures=\"2\""));
}

TEST_F(CliLedger, ALedgerThatIsNoneCannotBeResumed) {
  const Outcome outcome = run_assay("run reduce_v1/d256/rows2/nwg4/gauss/s1 --resume --ledger none");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--resume needs a ledger"));
}

// ASSAY_SHARD_SELECTION=gate does it on the whole gate.
TEST_F(CliLedger, TwoShardsMergedAreOneUnshardedRun) {
  const std::string selection = "run " + variable("ASSAY_SHARD_SELECTION", "smoke --family reduce");
  const Outcome whole = run_assay(selection + " --ledger " + ledger("whole"));
  EXPECT_EQ(whole.status, 0) << whole.output;
  for (const std::string shard : {"1", "2"})
    EXPECT_EQ(run_assay(selection + " --shard " + shard + "/2 --ledger " + ledger("shard" + shard)).status, 0);
  const Outcome merged = run_assay("merge " + ledger("shard1") + " " + ledger("shard2") + " --ledger " + ledger("merged"));
  EXPECT_EQ(merged.status, 0) << merged.output;
  EXPECT_EQ(digest_of(merged), digest_of(whole));
  EXPECT_EQ(verdicts_in(ledger("merged")), verdicts_in(ledger("whole")));

  const Outcome half = run_assay("merge " + ledger("shard2") + " --ledger " + ledger("half"));
  EXPECT_EQ(half.status, 1);
  EXPECT_THAT(half.output, HasSubstr("missing: shard 1/2 was not given"));
  EXPECT_EQ(run_assay("merge " + ledger("shard1") + " " + ledger("whole") + " --ledger " + ledger("wrong")).status, 2);

  const Outcome diff = run_assay("diff " + ledger("whole") + " " + ledger("merged"));
  EXPECT_EQ(diff.status, 0) << diff.output;
  EXPECT_THAT(diff.output, HasSubstr(fmt::format(
                               "{} cases in both: 0 broke, 0 healed, 0 changed otherwise, 0 drifted by more than 0.05; different bits in 0",
                               reports::grouped(verdicts_in(ledger("whole")).size()))));
}

TEST_F(CliLedger, HistoryAndDiffTellWhatAChangeBroke) {
  const std::string words = "kernel/d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s1 --family tq4 --set tile=32 --set temperature=1 --ledger " +
                            ledger("l") + " --kernel ";
  const std::string kernel = write(independent_kernel());
  EXPECT_EQ(run_assay("run " + words + kernel).status, 0);
  with("* params.scale;", "* params.scale * 1.5f;");
  EXPECT_EQ(run_assay("run " + words + kernel).status, 1);

  const Outcome diff = run_assay("diff --ledger " + ledger("l"));
  EXPECT_EQ(diff.status, 1);
  EXPECT_THAT(diff.output, HasSubstr("environments differ: kernel of kernel"));
  EXPECT_THAT(diff.output, HasSubstr("passed -> failed"));
  EXPECT_THAT(diff.output, HasSubstr("again: assay run kernel/d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s1 --kernel"));
  EXPECT_EQ(run_assay("diff 2 1 --ledger " + ledger("l")).status, 0) << "what healed broke nothing";

  const Outcome history = run_assay("history --ledger " + ledger("l"));
  EXPECT_EQ(history.status, 0);
  EXPECT_THAT(history.output, HasSubstr("1/1       0"));
  EXPECT_THAT(history.output, HasSubstr("1/1       1"));
  const Outcome of_case = run_assay("history 'kernel/*' --ledger " + ledger("l"));
  EXPECT_EQ(of_case.status, 0);
  EXPECT_THAT(of_case.output, HasSubstr("different bits; environments differ: kernel of kernel"));
  EXPECT_EQ(run_assay("history 'nothing*' --ledger " + ledger("l")).status, 2);
  EXPECT_EQ(run_assay("diff 1 7 --ledger " + ledger("l")).status, 2);
  EXPECT_EQ(run_assay("diff latest~5 latest --ledger " + ledger("l")).status, 2);
  EXPECT_THAT(run_assay("diff one two").output, HasSubstr("'one' does not name a run"));
}

class CliLedgerTrust : public TestInFolder {
 protected:
  std::string ledger_ = (folder_ / "l.sqlite").string();
  const std::string run_ = "run smoke --family fwht --resume --ledger " + ledger_;
};

TEST_F(CliLedgerTrust, ARunOfAnotherUserIsShownButNotResumed) {
  const std::string mine = "ASSAY_KEY=" + (folder_ / "mine").string(), other = "ASSAY_KEY=" + (folder_ / "other").string();
  const std::string cache = " XDG_CACHE_HOME=" + (folder_ / "cache").string();
  ASSERT_EQ(run_under(mine + cache, run_).status, 0);
  EXPECT_THAT(run_under(mine + cache, run_).output, HasSubstr("resumed: 100 of 100 cases already have a verdict"));
  const Outcome refused = run_under(other + cache, run_);
  EXPECT_EQ(refused.status, 2) << refused.output;
  EXPECT_THAT(refused.output, AllOf(HasSubstr("run 1 of ledger " + ledger_ +
                                              " cannot be resumed: the description of run 1 is not sealed with "
                                              "your key"),
                                    HasSubstr("omit --resume")));
  EXPECT_THAT(run_under(other, "report --ledger " + ledger_).output, HasSubstr("run 1: 100 of 100"));
}

TEST_F(CliLedgerTrust, AFileThatIsDeletedWhileARunGoesOnIsNoPass) {
  const std::string assay = std::string("'") + ASSAY_BINARY_DIR + "/bin/assay'";
  const Outcome outcome = run_command("sh -c \"" + assay + " run smoke --family tq4 --ledger " + ledger_ + " & pid=\\$!; until [ -s " +
                                      ledger_ + " ]; do sleep 0.02; done; rm " + ledger_ + "; wait \\$pid\"");
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("ledger " + ledger_), HasSubstr("the file was deleted, moved or replaced")));
}

}  // namespace
}  // namespace assay::tests::ledger_test
