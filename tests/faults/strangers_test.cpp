// Triage of kernels that strangers wrote, with mistakes that they planted: no right source resembles them.
//
// CTest tries quick ones. ASSAY_STRANGERS=all tries all and takes an hour; ASSAY_STRANGERS=<name> tries one. A line is printed for
// each. tests/faults/planted/README.md holds the record.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/suite.h"
#include "harness/triage/triage.h"
#include "kernels/variant.h"

namespace assay::tests::strangers_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kFolder = fs::path(ASSAY_SOURCE_DIR) / "tests/faults/strangers";

// A folder with the variant whose source has the mistake.
fs::path plant(const json& row) {
  const std::string kernel = row.at("kernel");
  std::ifstream stream(kFolder / kernel / "kernel.metal");
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  const std::vector<json> changes = row.at("changes");
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    const auto first = lines.begin() + change->at("line").get<std::ptrdiff_t>() - 1;
    const std::vector<std::string> from = change->at("from");
    const std::vector<std::string> to = change->at("to");
    lines.insert(lines.erase(first, first + static_cast<std::ptrdiff_t>(from.size())), to.begin(), to.end());
  }
  // The path is part of what is compiled: the same for every run, so that the cache of compiled kernels serves the next one.
  const fs::path parent = fs::temp_directory_path() / fmt::format("assay_strangers_{}", getuid()) / row.at("name").get<std::string>();
  fs::create_directories(parent / kernel);
  fs::copy_file(kFolder / kernel / "variant.toml", parent / kernel / "variant.toml", fs::copy_options::overwrite_existing);
  std::ofstream(parent / kernel / "kernel.metal") << fmt::format("{}\n", fmt::join(lines, "\n"));
  return parent;
}

struct Hit {
  bool kind = false, line = false;
};

// Whether the class is that of a mistake, or one that its author also calls right.
bool is_right_kind(const json& row, const harness::Finding& finding) {
  std::vector<std::string> wanted = row.at("also_right");
  wanted.push_back(row.at("class"));
  return std::ranges::any_of(wanted,
                             [&](const std::string& kinds) { return kinds.find(finding.classification.kind) != std::string::npos; });
}

Hit try_one(const json& row) {
  const std::vector<kernels::Variant> catalogue = kernels::find_variants(plant(row), families::contracts());
  const kernels::Variant& variant = catalogue.front();
  harness::Laboratory laboratory({.catalogue = catalogue, .variant = variant.name, .workbench = {}, .run = {}});
  std::vector<harness::Verdict> failures;
  harness::TriageOptions options;
  for (const harness::Case& test_case : suite_cases(harness::Suite::smoke, variant, 0)) {
    const harness::Verdict& verdict = laboratory.verdict(test_case);
    if (!is_success(verdict.status)) failures.push_back(verdict);
    if (verdict.status == harness::Status::passed) options.passed.push_back(test_case);
  }
  EXPECT_FALSE(failures.empty());
  const auto start = std::chrono::steady_clock::now();
  const std::vector<harness::Finding> findings = harness::triage(laboratory, failures, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  Hit hit;
  std::set<std::uint32_t> named;
  std::set<std::string> kinds;
  for (const harness::Finding& finding : findings) {
    hit.kind = hit.kind || (&finding == &findings.front() && is_right_kind(row, finding));
    kinds.emplace(finding.classification.kind);
    for (const harness::Suspect& suspect : finding.suspects) {
      if (&suspect == &finding.suspects.front() || !suspect.repaired.empty()) named.insert(suspect.line);
    }
  }
  constexpr int near = 3;
  for (const int line : row.at("lines")) {
    for (const std::uint32_t other : named) hit.line = hit.line || std::abs(static_cast<int>(other) - line) <= near;
  }
  fmt::print("{} {:6.1f} s  {} -> {}{}  lines {} -> {}{}\n", row.at("name").get<std::string>(), seconds.count(),
             row.at("class").get<std::string>(), fmt::join(kinds, ", "), hit.kind ? "" : " MISS", row.at("lines").dump(),
             fmt::join(named, ", "), hit.line ? "" : " MISS");
  return hit;
}

TEST(Strangers, ClassAndLineAreNamed) {
  std::ifstream stream(kFolder / "mistakes.json");
  const json rows = json::parse(stream);
  const char* given = std::getenv("ASSAY_STRANGERS");
  const std::string asked = given == nullptr ? "" : given;
  const std::set<std::string> quick = {"K01", "K02", "K03", "J03", "J04", "J06"};
  std::size_t tried = 0, kinds = 0, lines = 0;
  for (const json& row : rows) {
    const std::string name = row.at("name");
    if (asked.empty() ? !quick.contains(name) : asked != "all" && asked != name) continue;
    const Hit hit = try_one(row);
    ++tried;
    kinds += hit.kind ? 1 : 0;
    lines += hit.line ? 1 : 0;
  }
  fmt::print("of {} mistakes the class is right in {}, the line within three in {}\n", tried, kinds, lines);
  ASSERT_GT(tried, 0U);
  if (!asked.empty()) return;
  EXPECT_EQ(kinds, tried);
  EXPECT_EQ(lines, tried);
}

}  // namespace
}  // namespace assay::tests::strangers_test
