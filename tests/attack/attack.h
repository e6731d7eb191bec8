// An attack as a test starts it: `assay` with a hostile file, a secret in its environment, and canaries that nothing may touch.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/files.h"

namespace assay::tests {

// The words are alternatives: the message names the attack if it contains one of them.
struct Row {
  std::string name;
  std::string top;   // at file scope of the wrong kernel
  std::string body;  // in its function
  std::vector<std::string> words;
  std::string command = "run --ledger none";
};
inline void PrintTo(const Row& row, std::ostream* stream) { *stream << row.name; }
inline std::string name_of(const ::testing::TestParamInfo<Row>& info) { return info.param.name; }

struct Ended {
  int status = -1;  // 128 + signal if one ended it
  bool stopped = false;
  int left_behind = 0;
  std::string output;  // stdout and stderr
};

class Attack : public TestInFolder {
 protected:
  static constexpr const char* kCase = "evil/d256/h1/standalone/gauss/s1";
  static constexpr const char* kToken = "secret-token-value";
  static constexpr const char* kContent = "SECRET-CONTENT-42";
  // SECURITY.md promises that a compiler ends after 60 s of processor time.
  static constexpr int kSeconds = 120;

  Attack() {
    for (const char* name : {"work", "canary", "cache", "state", "tmp", "outside"}) std::filesystem::create_directory(folder_ / name);
    write("untouched", "canary/canary");
    write(std::string(kContent) + "\n", "outside/secret.txt");
    std::filesystem::copy(warm(), folder_, std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(folder_ / "cache/assay", std::filesystem::perms::owner_all);
  }

  // The wrong kernel with an attack in it; @CANARY@ and @OUTSIDE@ are the folders.
  [[nodiscard]] std::string hostile(const std::string& top, const std::string& body) const { return placed(wrong(right(top, body))); }
  static std::string right(const std::string& top, const std::string& body) {
    const std::string row = "device float * row = data + head * D + lane * E;\n";
    return replaced_once(replaced_once(source_of("fwht_v1"), "using namespace metal;\n", "using namespace metal;\n" + top + "\n"), row,
                         row + body + "\n");
  }
  static std::string wrong(const std::string& source) { return replaced_once(source, "x[e] *= scale;", "x[e] *= scale * 1.5f;"); }
  [[nodiscard]] std::string placed(std::string text) const {
    for (const char* name : {"CANARY", "OUTSIDE", "WORK"}) {
      std::string folder = name;
      std::ranges::transform(folder, folder.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
      text = std::regex_replace(text, std::regex("@" + std::string(name) + "@"), (folder_ / folder).string());
    }
    return text;
  }

  // A variant in the folder `work/mine`.
  void describe(const std::string& description, const std::string& kernel) const {
    std::filesystem::create_directories(folder_ / "work/mine");
    write(kernel, "work/mine/kernel.metal");
    write(placed(description), "work/mine/variant.toml");
  }

  // Set-up that many tests share: `make` fills `work` and `cache` for the first of them, and the others get a copy.
  void once(const std::string& key, const std::function<void()>& make) const {
    static const TemporaryFolder shelf;
    const auto all = std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
    const bool is_made = std::filesystem::exists(shelf.path() / key);
    if (!is_made) make();
    for (const char* name : {"work", "cache"}) {
      const auto kept = shelf.path() / key / name;
      std::filesystem::create_directories(kept);
      std::filesystem::copy(is_made ? kept : folder_ / name, is_made ? folder_ / name : kept, all);
    }
  }

  // In the folder `work`; `before` is what the shell does first. A run that takes too long, too much memory or too much output is ended,
  // and says so.
  [[nodiscard]] Ended start(const std::string& arguments, const std::string& environment = "", const std::string& before = "") const {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const std::string log = (folder_ / "log").string();
    const std::string command = before + "exec env -C '" + (folder_ / "work").string() + "' GITHUB_TOKEN=" + kToken + " XDG_CACHE_HOME='" +
                                (folder_ / "cache").string() + "' XDG_STATE_HOME='" + (folder_ / "state").string() + "' TMPDIR='" +
                                (folder_ / "tmp").string() + "' " + environment + " '" + ASSAY_BINARY_DIR + "/bin/assay' " + arguments +
                                " >'" + log + "' 2>&1 </dev/null";
    const pid_t child = fork();
    if (child == 0) {
      setsid();
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const rlimit file{4ULL << 30U, 4ULL << 30U};
      setrlimit(RLIMIT_FSIZE, &file);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    process_ = child;
    Ended ended;
    int status = 0;
    const auto begin = std::chrono::steady_clock::now();
    while (waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
      std::error_code none;
      const auto size = std::filesystem::file_size(log, none);
      if (std::chrono::steady_clock::now() - begin < std::chrono::seconds(kSeconds) && (none || size < 64U << 20U) && memory_left())
        continue;
      ended.stopped = true;
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ended.left_behind = end_orphans();
    ended.output = read_file(log);
    return ended;
  }

  [[nodiscard]] Ended attack(const Row& row) const {
    write(hostile(row.top, row.body), "work/evil.metal");
    return start(arguments_of(row.command));
  }
  static std::string arguments_of(const std::string& command) {
    const std::string kernel = " --kernel evil.metal --family fwht ";
    if (command.starts_with("compile")) return command + " evil.metal";
    if (command.starts_with("list")) return command + kernel + "smoke";
    return command.starts_with("support") ? command + kernel : command + kernel + kCase;
  }

  // What holds after every attack.
  void expect_no_effect(const Ended& ended, bool is_refused = true) const {
    EXPECT_FALSE(ended.stopped) << "took more than " << kSeconds << " s, the machine's memory, or 64 MiB of output";
    EXPECT_EQ(ended.left_behind, 0) << "processes left behind";
    EXPECT_LT(ended.status, 128) << "a signal ended assay";
    EXPECT_NE(ended.status, 3) << "internal error";
    if (is_refused) {
      EXPECT_NE(ended.status, 0);
      EXPECT_FALSE(std::regex_search(ended.output, std::regex("(^|\n)passed |(^|\n)[0-9,]+ cases?: [1-9][0-9,]* passed")))
          << "a wrong kernel passed";
    }
    EXPECT_EQ(ended.output.find(kToken), std::string::npos) << "the token leaked";
    EXPECT_EQ(ended.output.find(kContent), std::string::npos) << "a file's content leaked";
    EXPECT_EQ(ended.output.find("777777"), std::string::npos) << "the kernel found what it looked for";
    EXPECT_EQ(ended.output.find('\x1b'), std::string::npos) << "an escape sequence";
    EXPECT_EQ(ended.output.find('\r'), std::string::npos) << "a carriage return";
    EXPECT_FALSE(std::regex_search(ended.output, std::regex("(^|\n)[ \t]*::"))) << "a workflow command";
    std::vector<std::string> canaries;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "canary")) canaries.push_back(file.path().filename().string());
    EXPECT_THAT(canaries, ::testing::ElementsAre("canary")) << "files were created";
    EXPECT_EQ(read_file(folder_ / "canary/canary"), "untouched");
    EXPECT_TRUE(read_file(folder_ / "outside/secret.txt") == std::string(kContent) + "\n") << "a file was overwritten";
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp")) << "temporary files were left behind";
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "cache/assay", none))
      EXPECT_EQ(file.path().string().find(".tmp"), std::string::npos) << file.path() << " was left behind";
    if (HasFailure()) std::printf("status %d, output:\n%.3000s\n", ended.status, ended.output.c_str());
  }
  static void expect_named(const Ended& ended, const std::vector<std::string>& words) {
    const bool named = std::ranges::any_of(words, [&](const std::string& word) { return ended.output.find(word) != std::string::npos; });
    EXPECT_TRUE(named) << "expected one of " << ::testing::PrintToString(words) << " in\n" << ended.output.substr(0, 3000);
  }

  // The processes below the command that runs, which another thread started.
  [[nodiscard]] std::vector<pid_t> descendants() const {
    std::vector<pid_t> found = {process_};
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::error_code none;
      for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(found[i]) + "/task", none)) {
        std::ifstream children(task.path() / "children");
        for (pid_t child = 0; children >> child;) found.push_back(child);
      }
    }
    return found;
  }
  mutable std::atomic<pid_t> process_ = 0;

 private:
  // What every run needs first, and no attack is about: our headers compiled, and a key.
  static const std::filesystem::path& warm() {
    static const TemporaryFolder folder;
    static const bool is_made = [] {
      for (const char* name : {"cache", "state"}) std::filesystem::create_directory(folder.path() / name);
      const std::string command = "XDG_CACHE_HOME='" + (folder.path() / "cache").string() + "' XDG_STATE_HOME='" +
                                  (folder.path() / "state").string() + "' '" + ASSAY_BINARY_DIR +
                                  "/bin/assay' run --ledger none fwht_v1/d256/h1/standalone/gauss/s1 >/dev/null 2>&1";
      if (std::system(command.c_str()) != 0) ADD_FAILURE() << "does not run: " << command;
      for (const auto& file : std::filesystem::directory_iterator(folder.path() / "cache/assay")) {
        if (file.path().extension() != ".pch") std::filesystem::remove(file.path());
      }
      return true;
    }();
    static_cast<void>(is_made);
    return folder.path();
  }

  static bool memory_left() {
    std::ifstream stream("/proc/meminfo");
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with("MemAvailable:")) return std::stoll(line.substr(13)) > 3LL << 20U;
    }
    return true;
  }
  // Processes that the command left are ours to reap. They have a moment to end by themselves.
  static int end_orphans() {
    int left = 0;
    for (int turn = 0; turn < 400; ++turn) {
      pid_t ended = 0;
      while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) continue;
      if (ended < 0) return left;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (turn < 50) continue;
      std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
      for (pid_t child = 0; children >> child; ++left) kill(child, SIGKILL);
    }
    return left;
  }
};

// A test per row: no effect, and the message names it.
class Rows : public Attack, public ::testing::WithParamInterface<Row> {};

}  // namespace assay::tests
