// What belongs to a release agrees with the sources: NOTICE with the packages that assay is built from, CHANGELOG.md with the version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace assay::tests::release_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ASSAY_SOURCE_DIR;

std::string text_of(const char* name) {
  std::ifstream stream(kRoot / name);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The first group of every match.
std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) found.insert((*match)[1]);
  return found;
}

// Libraries among the packages that the build needs; programs are named otherwise.
const std::string kLibraries = R"("build\|((?:lib[^|]*|[^|]*-dev))\|)";

TEST(Release, NoticeNamesEveryLibrary) {
  const std::set<std::string> libraries = matches(text_of("assay"), kLibraries);
  EXPECT_THAT(libraries, ::testing::IsSupersetOf({"libeigen3-dev", "llvm-19-dev", "libjs-chart.js", "nlohmann-json3-dev"}));
  const std::string notice = text_of("NOTICE");
  for (const std::string& library : libraries)
    EXPECT_TRUE(notice.find(library) != std::string::npos) << "NOTICE does not say on which terms assay uses " << library;
}

TEST(Release, NoticeNamesNoLibraryThatIsGone) {
  const std::set<std::string> listed = matches(text_of("assay"), R"("(?:build|ci)\|([^|]*)\|)");
  for (const std::string& library : matches(text_of("NOTICE"), R"(\b((?:lib|llvm|nlohmann)[a-z0-9.+-]*(?:-dev|\.js))\b)"))
    EXPECT_TRUE(listed.contains(library)) << "NOTICE names " << library << ", which assay does not use";
}

TEST(Release, TheLicenceIsChosenOrItsPlaceIsMarked) {
  const bool is_marked = text_of("NOTICE").find("TO BE CHOSEN BY THE OWNER") != std::string::npos;
  EXPECT_NE(is_marked, fs::exists(kRoot / "LICENSE"));
}

TEST(Release, TheChangelogHasTheVersion) {
  const std::set<std::string> versions = matches(text_of("CMakeLists.txt"), R"(project\(assay VERSION ([0-9.]+))");
  ASSERT_EQ(versions.size(), 1U);
  const std::string version = *versions.begin(), changes = text_of("CHANGELOG.md");
  EXPECT_TRUE(changes.find("\n## [" + version + "] - ") != std::string::npos ||
              changes.find("the coming " + version + ".") != std::string::npos)
      << "CHANGELOG.md has no section for " << version;
}

// A program that links the libraries of libassay-dev needs what find_package(assay) looks for.
TEST(Release, ThePackageOfTheLibrariesDependsOnWhatTheyLink) {
  const std::string packages = text_of("cmake/assay_packages.cmake");
  const std::size_t begin = packages.find("developed_with");
  const std::string dependencies = packages.substr(begin, packages.find(")\n", begin + 40) - begin);
  std::size_t linked = 0;
  for (const std::string& library : matches(text_of("assay"), kLibraries)) {
    // Inside of libraries and programs, or of the tests.
    static const std::set<std::string> inside = {"libclang-rt-19-dev", "llvm-19-dev",        "libclang-19-dev",
                                                 "libjs-chart.js",     "nlohmann-json3-dev", "libcli11-dev",
                                                 "libgtest-dev",       "libgmock-dev",       "libbenchmark-dev"};
    if (inside.contains(library)) continue;
    EXPECT_TRUE(dependencies.find(library) != std::string::npos) << "libassay-dev does not depend on " << library;
    ++linked;
  }
  EXPECT_GE(linked, 8U);
}

}  // namespace
}  // namespace assay::tests::release_test
