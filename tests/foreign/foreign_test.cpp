// Kernels by authors who had seen neither the translator nor its tests, in the styles of other projects: every one of them compiles, and
// what they compute is what its author's own reference says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "metal/compile/library.h"
#include "metal/errors.h"
#include "tests/foreign/execute_run.h"

namespace assay::foreign {
namespace {

// Where ASSAY_FOREIGN=all does not ask for everything: kernels of one file that are compiled to the end, from the first one on, and the
// share of the runs that is executed; both are evenly spread.
constexpr std::size_t kKernelsOfAFile = 1;
constexpr std::size_t kOneRunOf = 8;

bool wants_all() {
  const char* wanted = std::getenv("ASSAY_FOREIGN");
  return wanted != nullptr && std::string_view(wanted) == "all";
}

std::vector<std::string> files() {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(path_of(""))) {
    if (entry.path().extension() == ".metal") result.push_back(entry.path().stem().string());
  }
  std::sort(result.begin(), result.end());
  return result;
}

// What compiles without values for constants needs none; what needs some says which, and its run gives them.
bool lacks_constants(const metal::Error& error) { return std::string_view(error.what()).find("has no value") != std::string_view::npos; }

std::vector<Run> selected_runs() {
  auto runs = all_runs();
  if (wants_all()) return runs;
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.name < b.name; });
  std::vector<Run> result;
  for (std::size_t index = 0; index < runs.size(); index += kOneRunOf) result.push_back(std::move(runs[index]));
  return result;
}

class ForeignFile : public testing::TestWithParam<std::string> {};

TEST_P(ForeignFile, Compiles) {
  const auto library = metal::Library::from_file(path_of(GetParam() + ".metal"));
  const auto& functions = library->functions();
  ASSERT_FALSE(functions.empty());
  for (const auto& refused : library->refused()) ADD_FAILURE() << refused.name << ": " << refused.reason;
  const std::size_t step = wants_all() ? 1 : std::max<std::size_t>(1, functions.size() / kKernelsOfAFile);
  for (std::size_t index = 0; index < functions.size(); index += step) {
    try {
      (void)library->pipeline({functions[index].name, {}});
    } catch (const metal::Error& error) {
      EXPECT_TRUE(lacks_constants(error)) << functions[index].name << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ForeignFile, testing::ValuesIn(files()), [](const auto& info) { return info.param; });

class ForeignRun : public testing::TestWithParam<Run> {};

void expect_right(const Run& run, metal::Policy policy) {
  const auto outcome = execute(run, policy);
  for (const auto& hazard : outcome.hazards) ADD_FAILURE() << hazard;
  for (const auto& mistake : outcome.mistakes) ADD_FAILURE() << mistake;
  EXPECT_GT(outcome.compared, 0U);
}

TEST_P(ForeignRun, Native) { expect_right(GetParam(), metal::Policy::native); }
TEST_P(ForeignRun, Checked) { expect_right(GetParam(), metal::Policy::checked); }

INSTANTIATE_TEST_SUITE_P(All, ForeignRun, testing::ValuesIn(selected_runs()), [](const auto& info) { return info.param.name; });

TEST(ForeignRuns, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const auto& run : all_runs()) EXPECT_TRUE(names.insert(run.name).second) << run.name;
}

// The comparison itself: a wrong value, a NaN and an infinity are found, a value within its tolerance is not.
TEST(ForeignRuns, AWrongElementIsAMistake) {
  const auto runs = all_runs();
  const auto of_floats = std::find_if(runs.begin(), runs.end(), [](const auto& run) {
    return !run.expectations.empty() && run.expectations[0].format == Format::f32 && !std::isinf(run.expectations[0].values[0]);
  });
  ASSERT_NE(of_floats, runs.end());
  auto run = *of_floats;
  EXPECT_TRUE(execute(run, metal::Policy::native).mistakes.empty());
  auto& expectation = run.expectations[0];
  expectation.values[0] += 3 * expectation.tolerances[0] + 1;
  EXPECT_EQ(execute(run, metal::Policy::native).mistakes.size(), 1U);
}

}  // namespace
}  // namespace assay::foreign
