// Bundles that were damaged or forged: each is an error that names the file, and nothing is judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "tests/runner/bundle.h"

namespace assay::tests::damaged_bundles_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

const std::string kCase = "reduce_v1/d256/rows1/nwg1/faint/s740";
const std::string kOther = "reduce_v1/d256/rows1/nwg1/gauss/s740";

class DamagedBundle : public Bundle {
 protected:
  void SetUp() override {
    ASSERT_EQ(exported(kCase + " " + kOther).status, 0);
    const Outcome there = executed();
    ASSERT_EQ(there.status, 0) << there.output;
    const Outcome outcome = judged();
    ASSERT_EQ(outcome.status, 0) << outcome.output;
  }

  void expect_error(const std::string& name, const std::string& text) const {
    const Outcome outcome = judged();
    EXPECT_EQ(outcome.status, 2) << outcome.output;
    EXPECT_THAT(outcome.output, AllOf(HasSubstr(file(name).string() + ": "), HasSubstr(text)));
  }

  // The first file of a folder of the bundle, relative to it.
  [[nodiscard]] std::string some(const std::string& folder) const {
    std::string least;
    for (const auto& entry : fs::directory_iterator(file(folder))) {
      const std::string name = folder + "/" + entry.path().filename().string();
      if (least.empty() || name < least) least = name;
    }
    return least;
  }
};

TEST_F(DamagedBundle, AShortOutputIsNamed) {
  const std::string name = some("outputs");
  fs::resize_file(file(name), fs::file_size(file(name)) - 1);
  expect_error(name, "but must have");
}

TEST_F(DamagedBundle, AMissingOutputIsNamed) {
  const std::string name = some("outputs");
  fs::remove(file(name));
  expect_error(name, "is missing");
}

TEST_F(DamagedBundle, AChangedOutputIsNamed) {
  const std::string name = some("outputs");
  std::string bytes = read_file(file(name));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write(bytes, "bundle/" + name);
  expect_error(name, "is not what the runner wrote");
}

TEST_F(DamagedBundle, SwappedOutputsAreNamed) {
  const std::string first = some("outputs");
  const std::string second = "outputs/1" + first.substr(first.find('-'));
  fs::rename(file(first), file("kept"));
  fs::rename(file(second), file(first));
  fs::rename(file("kept"), file(second));
  expect_error(first, "is not what the runner wrote");
}

TEST_F(DamagedBundle, LinksAreRefused) {
  const std::string name = some("outputs");
  fs::rename(file(name), folder_ / "elsewhere.bin");
  fs::create_symlink(folder_ / "elsewhere.bin", file(name));
  expect_error(name, "is a link");
  fs::remove(file(name));
  fs::rename(folder_ / "elsewhere.bin", file(name));
  fs::rename(file("outputs"), folder_ / "outputs");
  fs::create_directory_symlink(folder_ / "outputs", file("outputs"));
  expect_error(name, "cannot be read as a file of the bundle");
}

TEST_F(DamagedBundle, APipeIsNotWaitedFor) {
  const std::string name = some("outputs");
  fs::remove(file(name));
  ASSERT_EQ(run_command("mkfifo '" + file(name).string() + "'").status, 0);
  expect_error(name, "is not a regular file");
}

TEST_F(DamagedBundle, MissingResultsAreNamed) {
  fs::remove(file("results.json"));
  expect_error("results.json", "is missing");
}

TEST_F(DamagedBundle, AnUnfinishedRunIsNamed) {
  const std::string results = read_file(file("results.json"));
  const std::size_t second = results.find(",\n  {\"name\"");
  ASSERT_NE(second, std::string::npos);
  write(results.substr(0, second) + "\n]}\n", "bundle/results.json");
  expect_error("results.json", "has 1 cases, but the bundle has 2: the runner did not finish");
}

TEST_F(DamagedBundle, SwappedCasesAreNamed) {
  std::string results = read_file(file("results.json"));
  results = replaced(replaced(replaced(results, kCase, "THIRD"), kOther, kCase), "THIRD", kOther);
  write(results, "bundle/results.json");
  expect_error("results.json", "cases[0] is " + kOther);
}

TEST_F(DamagedBundle, AChangedIdIsNamed) {
  const std::string manifest = read_file(file("manifest.json"));
  const std::size_t at = manifest.find("\"id\": \"") + 7;
  const std::string id = manifest.substr(at, 64);
  change("manifest.json", id, std::string(64, '0'));
  expect_error("manifest.json", "cases[0].id");
  change("manifest.json", std::string(64, '0'), id);
  change("results.json", id, std::string(64, '0'));
  expect_error("results.json", "cases[0] is " + kCase + " with the id 0000");
}

TEST_F(DamagedBundle, AnInputThatWasChangedIsNamed) {
  const std::string name = some("inputs");
  std::string bytes = read_file(file(name));
  bytes.front() = static_cast<char>(bytes.front() ^ 1);
  write(bytes, "bundle/" + name);
  expect_error(name, "its contents were changed");
}

TEST_F(DamagedBundle, ASourceThatIsMissingIsNamed) {
  const std::string name = some("sources");
  fs::remove(file(name));
  expect_error(name, "is missing");
}

TEST_F(DamagedBundle, EveryChangedValueOfTheManifestIsNamed) {
  const struct {
    std::string from, to, place;
  } rows[] = {
      {"\"version\": 1,", "\"version\": 2,", "version: is 2"},
      {"assay-bundle", "another", "format"},
      {"\"math\": \"precise\"", "\"math\": \"sloppy\"", "math: is 'sloppy'"},
      {"\"metal_version\": 310", "\"metal_version\": 300", "cases[0].pipelines[0].metal_version: is 300"},
      {"\"role\": \"output\"", "\"role\": \"input\"", "].role: is \"input\""},
      {"\"threads\": [32", "\"threads\": [64", "].threads[0]: is 64"},
      {"\"offset\": 0", "\"offset\": 4", "].offset: is 4"},
      {"\"fill\": \"e57fe57f\"", "\"fill\": \"00000000\"", "].fill: is \"00000000\""},
      {kCase, "reduce_v1/d256/rows1/nwg2/faint/s740", "cases[0]"},
      {kCase, "smoke", "cases[0].name: 'smoke' is no name of a case"},
      {kCase, "reduce_v1/*", "cases[0].name: 'reduce_v1/*' is no name of a case"},
      {kCase, kOther, "cases[1].name: '" + kOther + "' is no case here, or occurs twice"},
      {"\"math\"", "\"version\": 1, \"math\"", "has the key 'version' twice"},
      {"\"cases\"", "\"files\"", "cases: is missing"},
  };
  const std::string whole = read_file(file("manifest.json"));
  for (const auto& [from, to, place] : rows) {
    SCOPED_TRACE(from + " -> " + to);
    write(replaced(whole, from, to), "bundle/manifest.json");
    expect_error("manifest.json", place);
  }
  write(whole.substr(0, whole.size() / 2), "bundle/manifest.json");
  expect_error("manifest.json", "is not JSON");
}

TEST_F(DamagedBundle, HostileResultsAreNamed) {
  const std::string buffer = "{\"buffer\": ";
  const struct {
    std::string from, to, place;
  } rows[] = {
      {buffer, buffer + "9", "has buffer 9"},
      {buffer, "{\"buffer\": -", "cases[0].buffers[0].buffer: must be number"},
      {"\"digest\": \"", "\"digest\": \"z", "cases[0].buffers[0].digest"},
      {"\"executed_on\": \"", "\"executed_on\": \"\\u001b[2J", "executed_on: must name the device in printable ASCII"},
      {"\"runner\"", "\"verdict\": \"passed\", \"runner\"", "verdict: is an unknown key"},
      {"\"buffers\": [", "\"error\": {\"stage\": \"judge\", \"text\": \"\"}, \"buffers\": [", "cases[0].error.stage: is 'judge'"},
      {"\"buffers\": [{", "\"buffers\": [], \"other\": [{", "cases[0].other: is an unknown key"},
  };
  const std::string whole = read_file(file("results.json"));
  for (const auto& [from, to, place] : rows) {
    SCOPED_TRACE(from + " -> " + to);
    write(replaced(whole, from, to), "bundle/results.json");
    expect_error("results.json", place);
  }
  const std::size_t first = whole.find(buffer);
  write(whole.substr(0, first) + whole.substr(whole.find("]}", first)), "bundle/results.json");
  expect_error("results.json", "lacks buffer");
  write(std::string(100, '['), "bundle/results.json");
  expect_error("results.json", "nests deeper");
}

TEST_F(DamagedBundle, AnotherKernelIsNamed) {
  const std::string variant = (kRoot / "kernels/variants/reduce_v1").string();
  fs::copy(variant, folder_ / "reduce_v1");
  write(read_file(folder_ / "reduce_v1/kernel.metal") + "\n// changed\n", "reduce_v1/kernel.metal");
  const Outcome outcome = judged("--kernel '" + (folder_ / "reduce_v1").string() + "'");
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("manifest.json: cases[0].pipelines[0].source: is \"sources/"));
}

TEST_F(DamagedBundle, AFolderThatIsNoBundleIsNamed) {
  const Outcome outcome = run_assay("judge '" + (folder_ / "absent").string() + "'");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("absent: is not the folder of a bundle"));
}

}  // namespace
}  // namespace assay::tests::damaged_bundles_test
