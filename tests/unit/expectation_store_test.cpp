// Kept expectations: found again bit for bit, never for another content, never from a damaged or foreign file, and within a limit.
#include "harness/execute/expectation_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "tests/support/files.h"

namespace assay::tests::expectation_store_test {
namespace {

namespace fs = std::filesystem;
using harness::ExpectationStore;
using oracles::Expected;

const std::string kName = "00000000000000000000000000000000000000000000000000000000000000001";

Expected some_expectation(double first = 1.0) {
  return {.value = {first, -0.0, std::numeric_limits<double>::quiet_NaN(), 0x1p-1074},
          .bound = {0.0, 0x1p-30, std::numeric_limits<double>::infinity(), 1.0},
          .magnitude = {1.0, 2.0, 3.0, 4.0}};
}

class Expectations : public ::testing::Test {
 protected:
  Expectations() { setenv("ASSAY_KEY", (folder_.path() / "key").c_str(), 1); }
  ~Expectations() override { unsetenv("ASSAY_KEY"); }

  [[nodiscard]] fs::path folder() const { return folder_.path() / "expectations"; }
  [[nodiscard]] fs::path file() const { return folder() / kName; }
  [[nodiscard]] bool is_believed() const { return ExpectationStore(folder()).find(kName).has_value(); }

 private:
  TemporaryFolder folder_;
};

TEST_F(Expectations, AreFoundAgainBitForBit) {
  const ExpectationStore store(folder());
  EXPECT_FALSE(store.find(kName).has_value());
  store.keep(kName, some_expectation());
  const auto found = store.find(kName);
  ASSERT_TRUE(found.has_value());
  const auto bits = [](const std::vector<double>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), 8 * values.size());
  };
  EXPECT_EQ(bits(found->value), bits(some_expectation().value));
  EXPECT_EQ(bits(found->bound), bits(some_expectation().bound));
  EXPECT_EQ(bits(found->magnitude), bits(some_expectation().magnitude));
  EXPECT_FALSE(store.find(kName + "2").has_value());
  struct stat status = {};
  ASSERT_EQ(stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

TEST_F(Expectations, OnlyThoseThatWereDearAreKept) {
  const ExpectationStore store(folder());
  int asked = 0;
  const auto cheap = [&] {
    ++asked;
    return Expected{std::vector<double>(100'000), std::vector<double>(100'000), std::vector<double>(100'000)};
  };
  const auto dear = [&] {
    ++asked;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return some_expectation();
  };
  for (int time = 0; time < 2; ++time) static_cast<void>(store.get(kName + "c", cheap));
  EXPECT_EQ(asked, 2);
  for (int time = 0; time < 2; ++time) EXPECT_EQ(store.get(kName + "d", dear).magnitude, some_expectation().magnitude);
  EXPECT_EQ(asked, 3);
}

TEST_F(Expectations, AnyChangedByteCounts) {
  const ExpectationStore store(folder());
  store.keep(kName, some_expectation());
  const std::string sound = read_file(file());
  for (std::size_t at = 0; at < sound.size(); ++at) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(file(), std::ios::binary) << damaged;
    ASSERT_FALSE(is_believed()) << "byte " << at;
  }
  for (const std::string& other : {sound.substr(0, sound.size() - 1), sound + "0", std::string(), sound.substr(0, 4)}) {
    std::ofstream(file(), std::ios::binary) << other;
    ASSERT_FALSE(is_believed()) << other.size();
  }
  std::ofstream(file(), std::ios::binary) << sound;
  EXPECT_TRUE(is_believed());
}

TEST_F(Expectations, AFileOfAnotherNameOrKeyOrALinkCountsForNothing) {
  const ExpectationStore store(folder());
  store.keep(kName + "a", some_expectation());
  fs::copy(folder() / (kName + "a"), file());
  EXPECT_FALSE(is_believed()) << "the name is sealed";

  store.keep(kName, some_expectation());
  EXPECT_TRUE(is_believed());
  fs::rename(file(), folder() / "elsewhere");
  fs::create_symlink(folder() / "elsewhere", file());
  EXPECT_FALSE(is_believed()) << "a link";
  fs::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_FALSE(is_believed()) << "a pipe";
  fs::remove(file());
  fs::rename(folder() / "elsewhere", file());
  EXPECT_TRUE(is_believed());
  fs::remove(folder().parent_path() / "key");
  EXPECT_FALSE(is_believed()) << "sealed with another key";
}

TEST_F(Expectations, ThoseUsedLongestAgoGoFirst) {
  const ExpectationStore store(folder(), 10'000);
  const Expected large{std::vector<double>(100), std::vector<double>(100), std::vector<double>(100)};  // 2.4 KB
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
    store.keep(kName + name, large);
    fs::last_write_time(folder() / (kName + name), fs::file_time_type::clock::now() - std::chrono::hours('z' - name));
  }
  EXPECT_TRUE(store.find(kName + "a").has_value()) << "used again";
  store.tidy();
  std::set<char> left;
  for (const auto& entry : fs::directory_iterator(folder())) left.insert(entry.path().string().back());
  EXPECT_EQ(left, (std::set<char>{'a', 'd', 'e'}));
}

TEST_F(Expectations, WithoutAPlaceOrAKeyNothingIsKept) {
  const ExpectationStore nowhere("/proc/nothing/here");
  nowhere.keep(kName, some_expectation());
  EXPECT_FALSE(nowhere.find(kName).has_value());
  setenv("ASSAY_KEY", "/proc/nothing/key", 1);
  const ExpectationStore store(folder());
  store.keep(kName, some_expectation());
  EXPECT_FALSE(fs::exists(file()));
}

// Whatever an expectation may depend on is in its name.
TEST(ExpectationName, DiffersWithEverythingThatTheExpectationMayDependOn) {
  const families::Family& family = families::find_family("tq4");
  const auto named = [&](const std::string& name) { return harness::parse_case(name, family); };
  const std::string base = "one/d256/h8x2/kv33c64/ring0/nomask/nwg1/gauss/s7";
  const harness::Case test_case = named(base);
  const kernels::Variant variant;
  const oracles::ArithmeticProfile& profile = oracles::simulator_profile();
  const std::string name = harness::expectation_name(test_case, variant, profile, "expected");

  EXPECT_EQ(harness::expectation_name(test_case, variant, profile, "expected"), name);
  EXPECT_EQ(harness::expectation_name(named("two" + base.substr(3)), variant, profile, "expected"), name) << "the name of a variant";

  std::set<std::string> names = {name};
  const auto add = [&](const std::string& other) { EXPECT_TRUE(names.insert(other).second); };
  add(harness::expectation_name(test_case, variant, profile, "exact"));
  add(harness::expectation_name(test_case, variant, oracles::metal_profile(), "expected"));
  add(harness::expectation_name(named(replaced(base, "s7", "s8")), variant, profile, "expected"));
  add(harness::expectation_name(named(replaced(base, "gauss", "needle")), variant, profile, "expected"));
  add(harness::expectation_name(named(replaced(base, "kv33", "kv34")), variant, profile, "expected"));
  harness::Case beyond = test_case;
  beyond.beyond = family.omissions.front().id;
  add(harness::expectation_name(beyond, variant, profile, "expected"));
  const auto with = [&](auto change) {
    kernels::Variant other = variant;
    change(other);
    return harness::expectation_name(test_case, other, profile, "expected");
  };
  add(with([](auto& other) { other.accuracy.dot_depth = 3; }));
  add(with([](auto& other) { other.accuracy.accumulator = "half"; }));
  add(with([](auto& other) { other.accuracy.accumulator_keys = 3; }));
  add(with([](auto& other) { other.accuracy.stores = {"half"}; }));
  add(with([](auto& other) { other.accuracy.merge_store = "half"; }));
  add(with([](auto& other) { other.accuracy.formats["keys"] = "half"; }));
  add(with([](auto& other) { other.reads_hidden = true; }));
  add(with([](auto& other) { other.settings["max_bias"] = 4; }));
  add(with([](auto& other) { other.fields["field"] = metal::FieldValue::of(std::uint32_t{1}); }));
  EXPECT_EQ(with([](auto& other) { other.accuracy.reason = "why"; }), name);
}

}  // namespace
}  // namespace assay::tests::expectation_store_test
