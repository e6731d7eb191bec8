// Habits that a machine can check: a source begins with the sentence that says what it is, long functions give a reason, and tests are
// where their names say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/structure/house_rules.h"

namespace assay::tests::habits_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ASSAY_SOURCE_DIR;
constexpr std::size_t kLongestFunction = 60;  // lines of code, without blank lines and comments
constexpr std::string_view kReason = "Long because ";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines(1);
  for (const char character : text) {
    if (character == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += character;
    }
  }
  return lines;
}

std::size_t indentation(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

bool is_comment(const std::string& line) { return line.compare(indentation(line), 2, "//") == 0; }

// Whether the text begins with a comment whose first paragraph holds a sentence. A reason for its length is none.
bool begins_with_a_sentence(std::string_view text) {
  std::string paragraph;
  if (text.starts_with("/* ")) {
    paragraph = text.substr(3, text.find("*/") - 3);
  } else {
    for (const std::string& line : lines_of(text)) {
      if (!line.starts_with("// ")) break;
      paragraph += line.substr(3) + " ";
    }
  }
  return paragraph.find(". ") != std::string::npos && !paragraph.starts_with(kReason);
}

// "12: void f() {" for each function of this indentation with more than kLongestFunction lines of code and no reason in the comment above
// it. The text is as clang-format leaves it, so a line with less or the same indentation begins the function that the next such `}` ends.
std::vector<std::string> long_functions(const std::vector<std::string>& lines, std::size_t indent) {
  static const std::regex no_function(R"(\s*(namespace|struct|class|enum|union|if|for|while|switch|else|do|try|catch|case|\}).*)");
  std::vector<std::string> found;
  std::size_t first = 0;
  std::size_t code = 0;
  bool has_reason = false;
  bool next_has_reason = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.starts_with('#')) continue;
    if (line.empty()) {
      next_has_reason = false;
    } else if (is_comment(line)) {
      if (indentation(line) <= indent) next_has_reason = next_has_reason || line.find(kReason) != std::string::npos;
    } else if (indentation(line) > indent) {
      ++code;
    } else {
      const bool ends = line == std::string(indent, ' ') + "}";
      if (ends && code > kLongestFunction && !has_reason && !std::regex_match(lines[first], no_function))
        found.push_back(std::to_string(first + 1) + ": " + lines[first]);
      first = i;
      code = 0;
      has_reason = next_has_reason;
      next_has_reason = false;
    }
  }
  return found;
}

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Every source of the folders by its path from the root. Inputs of fuzz targets are no sources of ours.
std::map<std::string, std::string> sources(const std::vector<std::string>& extensions) {
  std::map<std::string, std::string> texts;
  for (const std::string_view folder : folders()) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string path = fs::relative(entry.path(), kRoot).generic_string();
      if (!entry.is_regular_file() || path.starts_with("tests/fuzz/corpus/")) continue;
      if (std::ranges::find(extensions, entry.path().extension().string()) != extensions.end()) texts[path] = read(entry.path());
    }
  }
  EXPECT_GE(texts.size(), 10U);
  return texts;
}

TEST(Habits, EverySourceBeginsWithASentence) {
  for (const auto& [path, text] : sources({".h", ".cpp", ".metal", ".js", ".css"}))
    EXPECT_TRUE(begins_with_a_sentence(text)) << path << " does not begin with a sentence that says what it is";
}

TEST(Habits, ASentenceIsAComment) {
  EXPECT_TRUE(begins_with_a_sentence("// Reads\n// a file. Slowly.\n#pragma once\n"));
  EXPECT_TRUE(begins_with_a_sentence("/* Colours. */\n:root {}\n"));
  EXPECT_FALSE(begins_with_a_sentence("#pragma once\n// Reads a file.\n"));
  EXPECT_FALSE(begins_with_a_sentence("// Reads\n#include <a.b>\n"));
  EXPECT_FALSE(begins_with_a_sentence("// Long because it reads a file.\nint x;\n"));
}

TEST(Habits, NoSourceIsLongWithoutAReason) {
  for (const auto& [path, text] : sources({".h", ".cpp", ".metal", ".js"}))
    EXPECT_FALSE(is_too_long(text)) << path << " has more than 400 lines; a comment at its top that begins with `Long because` may say why";
  std::string text(400, '\n');
  EXPECT_FALSE(is_too_long(text));
  text += '\n';
  EXPECT_TRUE(is_too_long(text));
  EXPECT_TRUE(is_too_long("#include <map>\n// Long because it is said too late.\n" + text));
  EXPECT_FALSE(is_too_long("// A table.\n// Long because each row is a function of the library.\n#include <map>\n" + text));
}

// Functions of tests are mostly tables of rows.
TEST(Habits, NoFunctionIsLongWithoutAReason) {
  for (const auto& [path, text] : sources({".h", ".cpp"})) {
    if (path.starts_with("tests/")) continue;
    const std::vector<std::string> lines = lines_of(text);
    for (const std::size_t indent : {0U, 2U}) {
      for (const std::string& function : long_functions(lines, indent))
        ADD_FAILURE() << path << ":" << function << " has more than " << kLongestFunction
                      << " lines; a comment above it that contains `Long because` may say why";
    }
  }
}

TEST(Habits, ALongFunctionIsFoundInItsClassToo) {
  const auto function = [](const std::string& blanks, std::size_t lines) {
    std::string text = blanks + "void f(int a,\n" + blanks + "       int b) {\n";
    for (std::size_t i = 0; i < lines; ++i) text += blanks + "  ++a;\n\n" + blanks + "  // More.\n";
    return text + blanks + "}\n";
  };
  // The second line of the signature counts.
  EXPECT_TRUE(long_functions(lines_of(function("", 59)), 0).empty());
  EXPECT_EQ(long_functions(lines_of(function("", 60)), 0), std::vector<std::string>{"1: void f(int a,"});
  EXPECT_EQ(long_functions(lines_of("class C {\n" + function("  ", 60) + "};\n"), 2), std::vector<std::string>{"2:   void f(int a,"});
  EXPECT_TRUE(long_functions(lines_of("// Long because it counts.\n" + function("", 60)), 0).empty());
  EXPECT_FALSE(long_functions(lines_of("// Long because it counts.\nint g();\n" + function("", 60)), 0).empty());
  EXPECT_TRUE(long_functions(lines_of("namespace n {\n" + function("  ", 3) + "}\n"), 0).empty());
}

TEST(Habits, TestsAreInFilesOfTheirKind) {
  static const std::regex test("(^|\n)TEST(_[FP])?\\(");
  for (const auto& [path, text] : sources({".cpp"})) {
    if (!std::regex_search(text, test)) continue;
    EXPECT_TRUE(path.starts_with("tests/") && path.ends_with("_test.cpp")) << path << " has tests";
    // The other project has a namespace of its own, and authors of foreign kernels need nothing of assay. All others are compiled
    // together with sources of their folder, whose helpers often have the same names.
    if (path.starts_with("tests/consumer/") || path.starts_with("tests/foreign/")) continue;
    const std::string name = "assay::tests::" + fs::path(path).stem().string();
    EXPECT_NE(text.find("\nnamespace " + name + " {"), std::string::npos) << path << " is not in " << name;
  }
}

}  // namespace
}  // namespace assay::tests::habits_test
