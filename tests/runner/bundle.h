// A bundle on its way: exported, executed by the runner for Macs on a mocked Metal, and judged.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/command.h"

namespace assay::tests {

class Bundle : public Cli {
 protected:
  [[nodiscard]] std::filesystem::path bundle() const { return folder_ / "bundle"; }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return bundle() / name; }

  // `words`: cases and options.
  Outcome exported(const std::string& words) const { return run_assay("export " + words + " -o '" + bundle().string() + "'"); }
  // `failure`: what the mock does wrong (tests/runner/mock); empty: nothing.
  Outcome executed(const std::string& failure = "") const {
    return run_command("ASSAY_MOCK_METAL='" + failure + "' ASSAY_MOCK_CALLS='" + (folder_ / "calls").string() + "' '" + ASSAY_BINARY_DIR +
                       "/bin/assay_mock_runner' '" + bundle().string() + "'");
  }
  Outcome judged(const std::string& options = "") const { return run_assay("judge '" + bundle().string() + "' --ledger none " + options); }

  // All three; fails the test unless the first two work.
  Outcome taken_there_and_back(const std::string& words, const std::string& options = "") const {
    const Outcome out = exported(words + " " + options);
    EXPECT_EQ(out.status, 0) << out.output;
    const Outcome there = executed();
    EXPECT_EQ(there.status, 0) << there.output;
    return judged(options);
  }

  // What stands in the file, with a piece replaced.
  void change(const std::string& name, const std::string& from, const std::string& to) const {
    write(replaced(read_file(file(name)), from, to), "bundle/" + name);
  }

  // The digest of all outputs in the summary of a run.
  static std::string digest_in(const std::string& output) {
    const std::string before = "output digest ";
    const std::size_t at = output.rfind(before);
    return at == std::string::npos ? "none in " + output : output.substr(at + before.size(), 16);
  }
};

}  // namespace assay::tests
