// A family from outside: a folder (toy/) and one line (toy/main.cpp). Every command of assay knows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/command.h"

namespace assay::tests::toy_test {
namespace {

using ::testing::HasSubstr;

class ToyFamily : public TestInFolder {
 protected:
  static Outcome run_toy(const std::string& arguments) {
    return run_command(std::string("'" ASSAY_BINARY_DIR "/bin/assay_toy' ") + arguments);
  }
  static std::string variants() { return " --variants '" + folder_of_kernels() + "'"; }
  static std::string folder_of_kernels() { return (kRoot / "tests/families/toy/kernels").string(); }
  // The kernel with a mistake.
  [[nodiscard]] std::string doubling() const {
    return "'" + write(replaced_once(read_file(folder_of_kernels() + "/toy_v1/kernel.metal"), "3.0f", "2.0f")) + "'";
  }
  static void expect(const std::string& arguments, int status, const std::string& needle) {
    const Outcome outcome = run_toy(arguments);
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(needle)) << arguments;
  }
};

constexpr const char* kCase = " toy_v1/rows2/gauss/s1";

TEST_F(ToyFamily, IsListedAndCompiled) {
  expect("list" + variants(), 0, "three times its input");
  expect("list --cases gate" + variants(), 0, "toy_v1/rows33/");
  expect("support" + variants(), 0, "rows");
  expect("compile '" + folder_of_kernels() + "/toy_v1/kernel.metal'", 0, "toy");
  expect("doctor", 0, "all 32 lanes right");
}

TEST_F(ToyFamily, RunsAndIsJudged) {
  const std::string ledger = " --ledger '" + write("", "unused") + ".sqlite'";
  expect("gate" + variants() + ledger, 0, "0 failed");
  expect("run smoke" + variants() + ledger + " --policy checked", 0, "0 failed");
  expect("report" + ledger, 0, "toy_v1");
  expect("history" + ledger, 0, "run smoke");
  expect("diff" + ledger, 0, "0 broke");
  expect("show" + variants() + kCase, 0, "passed");
  expect("explain" + variants() + kCase, 0, "float multiply");
  expect("cost" + variants() + kCase, 0, "toy_triple");
  expect("run toy_v1/rows0/gauss/s1" + variants() + " --ledger none", 1, "rejected");
  expect("run --family toy --ledger none --kernel " + doubling(), 1, "above bound");
}

TEST_F(ToyFamily, HasFixtureFilesAndDispatches) {
  const std::string file = write("", "unused") + ".h5";
  expect("fixture generate toy/rows2/gauss/s1 -o '" + file + "'", 0, "3 tensors");
  expect("fixture verify '" + file + "'", 0, "the expectation matches the oracle");
  expect("run --ledger none" + variants() + " --fixture '" + file + "'", 0, "passed");
  expect("dispatch" + variants() + kCase, 0, "toy_triple");
  const Outcome trace = run_toy("dispatch --json" + variants() + kCase);
  expect("check-dispatch --execute" + variants() + " '" + write(trace.output, "trace.json") + "'", 0, "executed on the simulator: passed");
}

TEST_F(ToyFamily, IsPackedFromRawFiles) {
  static_cast<void>(write(std::string(2 * 256 * sizeof(float), '\0'), "data.bin"));
  const std::string manifest = write(R"({"attributes": {"family": "toy", "rows": 2},
    "tensors": [{"name": "inputs/src", "file": "data.bin", "element": "float32", "shape": [2, 256]}]})",
                                     "manifest.json");
  const std::string file = (folder_ / "packed.h5").string();
  expect("pack '" + manifest + "' -o '" + file + "'", 0, "1 tensor,");
  expect("run --ledger none" + variants() + " --fixture '" + file + "'", 0, "passed toy_v1/rows2/h5-packed/s0");
}

TEST_F(ToyFamily, IsMergedFromShards) {
  const auto ledger = [&](const std::string& name) { return " '" + (folder_ / name).string() + ".sqlite'"; };
  expect("run smoke" + variants() + " --shard 1/2 --ledger" + ledger("one"), 0, "4 passed");
  expect("run smoke" + variants() + " --shard 2/2 --ledger" + ledger("two"), 0, "4 passed");
  expect("merge" + ledger("one") + ledger("two") + " --ledger" + ledger("all"), 0, "8 passed, 0 failed");
}

// It measures codebooks, so it takes no kernel.
TEST_F(ToyFamily, LeavesTheQualityOfCodebooksAlone) {
  expect("quality --bits 8 --head-dim 256 --kv-len 16 --fixture gauss", 0, "codebooks: mean squared error");
}

TEST_F(ToyFamily, IsTriagedComparedAndMutated) {
  expect("triage smoke --family toy" + variants() + " --repair-seconds 0 --kernel " + doubling(), 1, "wrong-scale");
  expect("compare toy_v1 " + doubling() + " --family toy --suite smoke" + variants(), 1, "toy_v1");
  // The launch starts no thread more than needed, so a kernel without its test for that survives.
  expect("mutate toy_v1 --suite smoke --max 6" + variants(), 1, "survived condition");
}

}  // namespace
}  // namespace assay::tests::toy_test
