// What only one kind of processor has stands where the preprocessor asks for that kind. Everything else has to build for x86-64 and for
// 64-bit ARM, and CI has only one of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/structure/house_rules.h"

namespace assay::tests::processors_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ASSAY_SOURCE_DIR;

// The text without what comments and strings hold. Lines stay where they are.
std::string code_of(std::string_view text) {
  std::string code;
  const auto skip_to = [&](std::size_t from, std::string_view end, std::size_t more) {
    std::size_t at = text.find(end, from);
    at = at == std::string_view::npos ? text.size() : at + more;
    for (const char c : text.substr(from, at - from)) {
      if (c == '\n') code += c;
    }
    return at;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const bool in_word = at != 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0;
    if (rest.starts_with("//")) {
      at = skip_to(at, "\n", 0);
    } else if (rest.starts_with("/*")) {
      at = skip_to(at + 2, "*/", 2);
    } else if (rest.starts_with("R\"") && !in_word) {
      const std::string end = ")" + std::string(rest.substr(2, rest.find('(') - 2)) + "\"";
      at = skip_to(at + 2, end, end.size());
    } else if (rest[0] == '"' || (rest[0] == '\'' && !in_word)) {
      code += rest[0];
      for (++at; at < text.size() && text[at] != rest[0] && text[at] != '\n'; ++at) {
        if (text[at] == '\\') ++at;
      }
      ++at;
    } else {
      code += text[at++];
    }
  }
  return code;
}

// Regular expressions are slow: most lines have none of these.
bool may_be_special(std::string_view line) {
  static constexpr std::array<std::string_view, 8> kParts = {"_mm", "__m", "__builtin_", "asm", "target", "gregs", "REG_R", ".h>"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return line.find(part) != std::string_view::npos; });
}

// "12: asm volatile(" for each line that only one kind of processor understands, below no #if that asks for a kind.
std::vector<std::string> unguarded(std::string_view text) {
  static const std::regex special(
      R"(\b_mm\d*_|\b__m(128|256|512)|\b__builtin_(ia32|arm|aarch64|cpu)_|<\w*intrin\.h>|<arm_\w+\.h>|\b(__)?asm(__)?\b|\btarget_clones\b)"
      R"(|\bgnu::target\b|__attribute__\(\(target|\bgregs\b|\bREG_R[A-Z]{2}\b)");
  static const std::regex asks(R"(__x86_64__|__aarch64__)");
  static const std::regex directive(R"(\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*))");
  std::vector<std::string> conditions;  // of the sections around a line, each with those of the sections before it
  std::vector<std::string> found;
  std::size_t number = 0;
  std::istringstream lines(code_of(text));
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const bool is_directive = line.find_first_not_of(" \t") == line.find('#');
    if (std::smatch parts; is_directive && std::regex_match(line, parts, directive)) {
      if (parts[1].str().starts_with("if")) conditions.emplace_back();
      if (conditions.empty()) continue;
      if (parts[1] == "endif")
        conditions.pop_back();
      else
        conditions.back() += parts[2].str();
    } else if (may_be_special(line) && std::regex_search(line, special)) {
      bool is_guarded = false;
      for (const std::string& condition : conditions) is_guarded = is_guarded || std::regex_search(condition, asks);
      if (!is_guarded) found.push_back(std::to_string(number) + ": " + line);
    }
  }
  return found;
}

TEST(Processors, WhatOnlyOneHasIsGuarded) {
  std::size_t count = 0;
  for (const std::string_view folder : folders()) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string path = fs::relative(entry.path(), kRoot).generic_string();
      // The headers of kernels are compiled by the clang that we start, and name functions of ours by asm.
      if ((entry.path().extension() != ".h" && entry.path().extension() != ".cpp") || path.starts_with("metal/shader/")) continue;
      ++count;
      std::ifstream stream(entry.path(), std::ios::binary);
      for (const std::string& line : unguarded(std::string(std::istreambuf_iterator<char>(stream), {})))
        ADD_FAILURE() << path << ":" << line << "\nonly one kind of processor has it: put it below #if defined(__x86_64__), and say what "
                      << "others do";
    }
  }
  EXPECT_GT(count, 100U);
}

TEST(Processors, GuardsAreFound) {
  EXPECT_EQ(unguarded("int x;\n  _mm_pause();\n"), std::vector<std::string>{"2:   _mm_pause();"});
  EXPECT_EQ(unguarded("#if A\nasm(R\"(\n  nop\n)\");\n#endif\n").size(), 1U);
  EXPECT_EQ(unguarded("#if defined(__x86_64__)\n#endif\n#include <xmmintrin.h>\n").size(), 1U);
  EXPECT_TRUE(
      unguarded("#if defined(__x86_64__)\n#if B\n_mm_pause();\n#endif\n#elif C\nasm(\"yield\");\n#else\nasm(\"\");\n#endif\n").empty());
  EXPECT_TRUE(unguarded("// _mm_pause()\nconst char* x = \"asm(\\\"nop\\\")\";\nauto y = R\"k(asm(\"nop\"))k\";\n").empty());
}

}  // namespace
}  // namespace assay::tests::processors_test
