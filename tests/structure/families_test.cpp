// No source outside families/ knows a family: neither its name, nor its headers, nor its axes and arguments.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/structure/include_scan.h"

namespace assay::tests {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ASSAY_SOURCE_DIR;

// In the folders below families/, operations have these names, whether or not a family is about them.
constexpr std::array<std::string_view, 4> kOperations = {"dequantize", "fwht", "quantize", "reduce"};

// Literals that are the name of an axis or of an argument, and mean something else.
struct OtherMeaning {
  std::string_view file;
  std::string_view literal;
};
constexpr std::array<OtherMeaning, 6> kOtherMeanings = {{
    {"cli/command_quality.cpp", "bits"},  // keys of JSON, on rows that belong to no family
    {"cli/command_quality.cpp", "head_dim"},
    {"cli/command_quality.cpp", "kv_len"},
    {"harness/mutate/operators.cpp", "bits"},        // a group of operators
    {"harness/triage/small_edits.cpp", "bits"},      // the same
    {"harness/findings/fault_members.h", "kv_len"},  // a member of a fault, on the wire and in ledgers
}};

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool is_source(const fs::path& file) { return file.extension() == ".h" || file.extension() == ".cpp" || file.extension() == ".html"; }

template <typename Visit>
void each_source(std::string_view folder, const Visit& visit) {
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    if (entry.is_regular_file() && is_source(entry.path())) visit(fs::relative(entry.path(), kRoot).generic_string(), read(entry.path()));
  }
}

// What the pattern's first group matches in the sources of families/.
std::set<std::string> found_in_families(const char* pattern) {
  std::set<std::string> names;
  const std::regex regex(pattern);
  each_source("families", [&](const std::string&, const std::string& text) {
    for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) names.insert((*match)[1]);
  });
  return names;
}

unsigned line_of(const std::string& text, std::ptrdiff_t offset) {
  return static_cast<unsigned>(1 + std::count(text.begin(), text.begin() + offset, '\n'));
}

// "file:line: names tq4" for every match whose first group is one of the names.
template <typename IsMeant>
std::string occurrences(std::string_view folder, const char* pattern, const std::set<std::string>& names, const IsMeant& is_meant) {
  std::string report;
  const std::regex regex(pattern);
  each_source(folder, [&](const std::string& path, const std::string& text) {
    if (path.starts_with("kernels/variants/")) return;
    for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
      const std::string name = (*match)[1];
      if (!names.contains(name) || !is_meant(path, name)) continue;
      report += path + ":" + std::to_string(line_of(text, match->position())) + ": names " + name + "\n";
    }
  });
  return report;
}

TEST(Families, NoOtherSourceNamesOne) {
  const std::set<std::string> names = found_in_families("FamilyContract \\w+\\{\\s*\"(\\w+)\"");
  ASSERT_TRUE(names.contains("tq4") && names.contains("bf16_pad"));
  for (const std::string_view folder : {"base", "math", "metal", "kernels", "oracles", "fixtures"}) {
    const bool has_operations = folder != "kernels";
    EXPECT_EQ(occurrences(folder, "(\\w+)", names,
                          [&](const std::string&, const std::string& name) {
                            return !has_operations || std::ranges::find(kOperations, name) == kOperations.end();
                          }),
              "");
  }
  for (const std::string_view folder : {"harness", "reports", "cli"})
    EXPECT_EQ(occurrences(folder, "(\\w+)", names, [](const std::string&, const std::string&) { return true; }), "");
}

TEST(Families, NoOtherSourceNamesAnAxisOrAnArgument) {
  std::set<std::string> names = found_in_families("(?:\\.name = |float_axis\\()\"(\\w+)\"");
  ASSERT_TRUE(names.contains("kv_len") && names.contains("scale") && names.contains("rms_probe"));
  names.merge(found_in_families("ArgumentContract\\{\"(\\w+)\""));
  ASSERT_TRUE(names.contains("K_packed"));
  const auto is_meant = [](const std::string& path, const std::string& name) {
    return std::ranges::none_of(kOtherMeanings, [&](const OtherMeaning& other) { return other.file == path && other.literal == name; });
  };
  for (const std::string_view folder : {"harness", "reports", "cli"}) EXPECT_EQ(occurrences(folder, "\"(\\w+)\"", names, is_meant), "");
}

TEST(Families, TheirHeadersAreTheirOwn) {
  for (const std::string_view folder : {"harness", "reports", "cli"}) {
    each_source(folder, [](const std::string& path, const std::string& text) {
      for (const Include& include : includes_of(text)) {
        const bool is_inside = include.target.starts_with("families/") && include.target.find('/', 9) != std::string::npos;
        EXPECT_FALSE(is_inside) << path << ":" << include.line << ": includes " << include.target;
      }
    });
  }
}

}  // namespace
}  // namespace assay::tests
