// The command as tests meet it: run with arguments, on kernel files of their own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace assay {

struct Outcome {
  int status = -1;
  std::string output;  // stdout and stderr
};

// `environment`: "NAME=value ..." before the command.
inline Outcome run_under(const std::string& environment, const std::string& arguments) {
  const std::string command = environment + " '" + ASSAY_BINARY_DIR + "/bin/assay' " + arguments + " 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof(buffer), pipe)) outcome.output.append(buffer, count);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

inline Outcome run_assay(const std::string& arguments) { return run_under("", arguments); }

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

inline std::string independent_kernel() {
  return read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/kernels/independent_tq4.metal");
}

// A kernel file of its own per test, removed with it.
class Cli : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("assay_cli_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text, const std::string& name = "kernel.metal") const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  // The kernel with one piece of its text replaced, which must be there once.
  std::string with(const std::string& from, const std::string& to) const {
    std::string text = independent_kernel();
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    EXPECT_EQ(text.find(from, place + 1), std::string::npos) << from << " occurs twice";
    if (place != std::string::npos) text.replace(place, from.size(), to);
    return write(text);
  }

  std::filesystem::path folder_;
};

}  // namespace assay
