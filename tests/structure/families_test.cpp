// No source outside families/ knows a family: neither its name, nor its headers, nor its axes and arguments.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/structure/include_scan.h"

namespace assay::tests::families_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ASSAY_SOURCE_DIR;

// In the folders below families/, operations have these names, whether or not a family is about them.
constexpr std::array<std::string_view, 4> kOperations = {"dequantize", "fwht", "quantize", "reduce"};

// Words of families that are plain English inside a longer text.
constexpr std::array<std::string_view, 7> kPlainEnglish = {"attention", "bits", "cache", "data", "layout", "query", "scale"};

// Other words of families that mean something else in one place.
struct OtherMeaning {
  std::string_view path;  // a file, or a folder with '/' at the end
  std::string_view word;
};
constexpr std::array<OtherMeaning, 20> kOtherMeanings = {{
    {"cli/command_completion.cpp", "q"},  // bash's printf -v %q
    {"cli/command_completion.cpp", "v"},
    {"cli/command_watch.cpp", "q"},  // the key to quit
    {"cli/watch_screen.cpp", "q"},
    {"cli/command_quality.cpp", "bits"},  // rows of numbers that belong to no family
    {"cli/command_quality.cpp", "head_dim"},
    {"cli/command_quality.cpp", "attention"},
    {"cli/command_quality.cpp", "kv_len"},
    {"harness/quality/", "head_dim"},
    {"harness/quality/", "kv_capacity"},  // a member of oracles::DecodeShape
    {"harness/quality/", "kv_len"},
    {"harness/mutate/operators.cpp", "bits"},   // a group of operators
    {"harness/triage/edit_order.cpp", "bits"},  // the same
    {"cli/options.cpp", "codebook_bits"},       // an example in the help
    {"cli/command_doctor.cpp", "cache"},        // of compiled kernels
    {"cli/command_pack.cpp", "q"},              // an example in a message
    {"cli/command_pack.cpp", "packed"},         // what the command did
    {"reports/html/page.html", "data"},         // HTML
    {"reports/html/page.html", "src"},
    {"reports/compilation_html.cpp", "src"},
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

struct Word {
  std::string text;
  unsigned line;
  bool in_literal;
  bool is_whole;  // the literal is this word
};

// The words of a source without its comments and includes.
std::vector<Word> words_of(const std::string& text) {
  static const std::regex token(R"re(//|#include|'(?:\\.|[^'\\\n])'|"|\w+|\n|\\.)re");
  std::vector<Word> words;
  unsigned line = 1;
  std::ptrdiff_t literal = -1;  // its first character
  bool is_skipped = false;      // the rest of the line
  for (std::sregex_iterator match(text.begin(), text.end(), token), end; match != end; ++match) {
    const std::string found = match->str();
    const std::ptrdiff_t behind = match->position() + match->length();
    if (found == "\n") {
      ++line;
      is_skipped = false;
    } else if (is_skipped) {
      continue;
    } else if (literal < 0 && (found == "//" || found == "#include")) {
      is_skipped = true;
    } else if (found == "\"") {
      literal = literal < 0 ? behind : -1;
    } else if (std::isalnum(static_cast<unsigned char>(found.front())) != 0 || found.front() == '_') {
      words.push_back({found, line, literal >= 0, literal == match->position() && text[static_cast<std::size_t>(behind)] == '"'});
    }
  }
  return words;
}

TEST(Families, NoOtherSourceNamesAnAxisAnArgumentOrAField) {
  std::set<std::string> names = found_in_families("(?:\\.name = |float_axis\\()\"(\\w+)\"");
  ASSERT_TRUE(names.contains("kv_len") && names.contains("scale") && names.contains("rms_probe"));
  names.merge(found_in_families("(?:ArgumentContract|FieldContract)\\{\"(\\w+)\""));
  ASSERT_TRUE(names.contains("K_packed") && names.contains("norms_per_pos"));
  const auto has_other_meaning = [](const std::string& path, const std::string& word) {
    return std::ranges::any_of(kOtherMeanings,
                               [&](const OtherMeaning& other) { return path.starts_with(other.path) && other.word == word; });
  };
  for (const std::string_view folder : {"harness", "reports", "cli"}) {
    each_source(folder, [&](const std::string& path, const std::string& text) {
      for (const Word& word : words_of(text)) {
        // In code, only words that no other code would choose.
        if (!names.contains(word.text) || !(word.in_literal || word.text.find('_') != std::string::npos)) continue;
        if (!word.is_whole && std::ranges::find(kPlainEnglish, word.text) != kPlainEnglish.end()) continue;
        EXPECT_TRUE(has_other_meaning(path, word.text)) << path << ":" << word.line << ": names " << word.text;
      }
    });
  }
}

// A word in a literal or in code is found; one in a comment is not.
TEST(Families, WordsAreFoundInsideLiterals) {
  std::string found;
  for (const Word& word : words_of("int a; // b\nf(\"c //d\", '\"', \"e\");\n"))
    found += word.text + std::to_string(word.line) + (word.is_whole ? "whole " : word.in_literal ? "literal " : " ");
  EXPECT_EQ(found, "int1 a1 f2 c2literal d2literal e2whole ");
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
}  // namespace assay::tests::families_test
