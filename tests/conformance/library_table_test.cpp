// The table of the library in metal/LANGUAGE.md against the headers: every public name has a row, every row is true of the headers, and
// names tests that exist.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "metal/compile/compiler.h"
#include "metal/translate/lexer.h"

namespace assay::tests::library_table_test {
namespace {

namespace fs = std::filesystem;
using metal::translate::Token;
using metal::translate::TokenKind;
using Tokens = std::vector<Token>;
using Names = std::set<std::string>;

const fs::path kRoot = ASSAY_SOURCE_DIR;

std::string read(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

// ---- The headers' names

// Behind the bracket that closes the one at `at`.
std::size_t behind(const Tokens& tokens, std::size_t at, std::string_view open, std::string_view close) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    if (tokens[at].is(open)) ++depth;
    if (tokens[at].is(close) && --depth == 0) return at + 1;
  }
  return at;
}

// A declaration without its template heads and attributes.
std::vector<std::string> bare(const Tokens& tokens, std::size_t first, std::size_t last) {
  std::vector<std::string> words;
  for (std::size_t at = first; at < last;) {
    if (tokens[at].is("template")) {
      at = behind(tokens, at + 1, "<", ">");
    } else if (tokens[at].is("__attribute__")) {
      at = behind(tokens, at + 1, "(", ")");
    } else if (tokens[at].is("{")) {
      at = behind(tokens, at, "{", "}");
    } else {
      words.emplace_back(tokens[at++].text);
    }
  }
  return words;
}

// What a declaration outside of functions and classes declares; empty for assertions and operators.
std::string declared(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "static_assert" || words[0] == "extern") return {};
  const auto find = [&](std::string_view word) { return std::find(words.begin(), words.end(), word); };
  if (words[0] == "using") return find("=") != words.end() ? words[1] : words[1] == "namespace" ? "" : words.back();
  if (words[0] == "typedef") return words.back();
  if (find("operator") != words.end()) return {};
  if (words[0] == "struct" || words[0] == "class" || words[0] == "enum") return words[words[1] == "class" ? 2 : 1];
  int depth = 0;
  for (std::size_t at = 1; at < words.size(); ++at) {
    depth += words[at] == "<" ? 1 : words[at] == ">" ? -1 : 0;
    if (words[at] == "(" && depth == 0) return words[at - 1];
    if (words[at] == "[" && depth == 0) return words[at - 1];
    if (words[at] == "=" && depth == 0) return words[at - 1];
  }
  return {};
}

std::string joined(const std::vector<std::string>& scopes) {
  std::string path;
  for (const auto& scope : scopes)
    if (!scope.empty()) path += (path.empty() ? "" : "::") + scope;
  return path;
}

// Every name that the text declares in a namespace, with the namespace.
std::vector<std::pair<std::string, std::string>> declarations(const std::string& text) {
  const auto stream = metal::translate::tokenize(text, "");
  const Tokens& tokens = stream.tokens;
  std::vector<std::pair<std::string, std::string>> result;
  std::vector<std::string> scopes;
  for (std::size_t at = 0; at < tokens.size() && tokens[at].kind != TokenKind::end;) {
    if (tokens[at].is("}") || tokens[at].is(";")) {
      if (tokens[at].is("}") && !scopes.empty()) scopes.pop_back();
      ++at;
      continue;
    }
    if (tokens[at].is("namespace") || (tokens[at].is("extern") && tokens[at + 2].is("{"))) {
      scopes.emplace_back(tokens[at].is("namespace") ? tokens[at + 1].text : std::string_view());
      at += 3;
      continue;
    }
    const std::size_t first = at;
    for (; at < tokens.size() && !tokens[at].is(";"); ++at) {
      if (tokens[at].is("{")) {
        at = behind(tokens, at, "{", "}");
        if (tokens[at].is(";")) break;
        --at;
        // A function's body ends it; behind a class or an initialiser stands a semicolon.
        break;
      }
      if (tokens[at].is("(")) at = behind(tokens, at, "(", ")") - 1;
    }
    const std::size_t last = tokens[at].is(";") ? at : at + 1;
    if (const std::string name = declared(bare(tokens, first, last)); !name.empty()) result.emplace_back(joined(scopes), name);
    ++at;
  }
  return result;
}

// What a kernel may name: namespace metal and the global one, and what may come into them. fast:: and the like as kernels write them.
Names public_names(const std::string& text) {
  const std::map<std::string, std::string> prefixes = {
      {"", ""},           {"metal", ""},   {"metal::fast", "fast::"}, {"metal::precise", "precise::"}, {"__assay::offered", ""},
      {"simd", "simd::"}, {"std", "std::"}};
  Names names;
  for (const auto& [scope, name] : declarations(text)) {
    const auto prefix = prefixes.find(scope);
    if (prefix == prefixes.end() || name.starts_with("__assay")) continue;
    names.insert(prefix->second + (name.starts_with("metal_atomic_") ? name.substr(6) : name));
  }
  return names;
}

Names macros(const std::string& text) {
  Names names;
  const std::regex define(R"(#define (\w+))");
  for (std::sregex_iterator match(text.begin(), text.end(), define), end; match != end; ++match) names.insert((*match)[1]);
  return names;
}

// ---- The table

struct TableRow {
  std::string line;
  Names names;
  std::string state;
  Names tests;
};

// `a{b,c}d` is abd and acd, as in a shell.
void expand(const std::string& pattern, Names& names) {
  const auto open = pattern.find('{');
  if (open == std::string::npos) {
    names.insert(pattern);
    return;
  }
  const auto close = pattern.find('}', open);
  std::size_t start = open + 1;
  while (start <= close) {
    const auto end = std::min(pattern.find(',', start), close);
    expand(pattern.substr(0, open) + pattern.substr(start, end - start) + pattern.substr(close + 1), names);
    start = end + 1;
  }
}

Names quoted(const std::string& cell) {
  Names names;
  const std::regex quote("`([^`]+)`");
  for (std::sregex_iterator match(cell.begin(), cell.end(), quote), end; match != end; ++match) expand((*match)[1], names);
  return names;
}

const char* const kHeading = "## The library, name by name";

std::vector<TableRow> table_of(const std::string& document) {
  std::vector<TableRow> rows;
  const auto start = document.find(kHeading);
  if (start == std::string::npos) throw std::runtime_error("no table of the library");
  std::istringstream lines(document.substr(start));
  const std::regex row(R"(\| (.*) \| (.*) \| (.*) \| (.*) \|)");
  std::smatch cells;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    if (!std::regex_match(line, cells, row)) {
      rows.push_back({line, {}, "", {}});
      continue;
    }
    const std::string state = cells[3];
    rows.push_back({line, quoted(cells[1]), state.substr(0, state.find(" (")), quoted(cells[4])});
  }
  return rows;
}

Names tests_of(const fs::path& folder) {
  Names names;
  const std::regex test(R"(TEST(?:_P|_F)?\((\w+), (\w+)\))");
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".cpp") continue;
    const std::string text = read(file.path());
    for (std::sregex_iterator match(text.begin(), text.end(), test), end; match != end; ++match)
      names.insert(fmt::format("{}.{}", (*match)[1].str(), (*match)[2].str()));
  }
  return names;
}

// What is wrong with a table, a line each.
std::vector<std::string> faults(const std::vector<TableRow>& rows, const Names& headers, const Names& tests) {
  std::vector<std::string> result;
  Names listed;
  for (const auto& row : rows) {
    const bool is_there = row.state == "as specified" || row.state == "borrowed" || row.state == "offered" || row.state == "yields";
    const bool is_not = row.state == "absent" || row.state == "refused";
    if (!is_there && !is_not) result.push_back(fmt::format("the state '{}' is none: {}", row.state, row.line));
    if (row.names.empty() || row.tests.empty()) result.push_back("no name or no test: " + row.line);
    for (const auto& name : row.names) {
      if (is_there && !headers.contains(name))
        result.push_back(fmt::format("{} is {} in the table, and not in the headers", name, row.state));
      if (is_not && headers.contains(name)) result.push_back(fmt::format("{} is {} in the table, and in the headers", name, row.state));
      if (!listed.insert(name).second) result.push_back(name + " stands in the table twice");
    }
    for (const auto& test : row.tests)
      if (!tests.contains(test)) result.push_back(fmt::format("no test is called {}: {}", test, row.line));
  }
  for (const auto& name : headers)
    if (!listed.contains(name)) result.push_back(name + " is in the headers, and not in the table");
  return result;
}

Names names_of_headers() {
  const fs::path shader = metal::compile::find_toolchain().shader;
  Names names = public_names(metal::compile::Compiler(metal::CompileOptions()).preprocess({{shader / "kernel.h", "kernel.h"}}));
  names.merge(macros(read(shader / "include" / "assay_macros.h")));
  return names;
}

TEST(LibraryTable, HasEveryNameOfTheHeadersAndATestForEach) {
  const Names headers = names_of_headers();
  // Not vacuous: some of each kind.
  for (const char* name : {"max", "fast::max", "simd_sum", "__metal_simd_xor", "vec_elements", "float3x2", "packed_half3", "M_PI_BF",
                           "atomic_float", "is_same_v", "mem_flags", "std::void_t"})
    EXPECT_TRUE(headers.contains(name)) << name;
  EXPECT_FALSE(headers.contains("reduce_bits"));
  for (const auto& fault : faults(table_of(read(kRoot / "metal" / "LANGUAGE.md")), headers, tests_of(kRoot / "tests" / "conformance")))
    ADD_FAILURE() << fault;
}

TEST(LibraryTable, ItsCheckFindsWhatIsWrong) {
  const std::string text =
      "namespace metal { namespace __detail { int hidden(int x) { return x; } } template <class T> struct A { void member(); }; inline int "
      "f(A<int> x) { return 1; } using B = int; constexpr int c = 3; enum class D { e }; typedef int E; namespace fast { int f(); } }";
  const Names names = public_names(text);
  EXPECT_EQ(names, (Names{"A", "f", "B", "c", "D", "E", "fast::f"}));
  const Names tests = {"S.T"};
  const auto table = [](const std::string& rows) {
    return table_of(std::string(kHeading) + "\n| names | types | state | test |\n|---|---|---|---|\n" + rows);
  };
  const std::string good =
      "| `{A,B}`, `c` | x | as specified (1.2) | `S.T` |\n| `D`, `E`, `{,fast::}f` | x | borrowed | `S.T` |\n| `g` | x | absent | `S.T` "
      "|\n";
  EXPECT_TRUE(faults(table(good), names, tests).empty());
  const auto count = [&](const std::string& rows) { return faults(table(rows), names, tests).size(); };
  EXPECT_EQ(count(good + "| `A` | x | as specified | `S.T` |\n"), 1u);
  EXPECT_EQ(count(good + "| `h` | x | as specified | `S.T` |\n"), 1u);
  EXPECT_EQ(count(good + "| `h` | x | absent | `S.U` |\n"), 1u);
  EXPECT_EQ(count(good + "| `h` | x | absent | nobody knows |\n"), 1u);
  EXPECT_EQ(count(good + "| `h` | x | absent |\n"), 2u);
  EXPECT_EQ(count(good + "| `h` | x | perhaps | `S.T` |\n"), 1u);
  EXPECT_EQ(count("| `{A,B}`, `c` | x | as specified | `S.T` |\n"), 4u);
  EXPECT_EQ(count("| `{A,B}`, `c`, `D`, `E`, `fast::f` | x | as specified | `S.T` |\n| `f` | x | absent | `S.T` |\n"), 1u);
}

}  // namespace
}  // namespace assay::tests::library_table_test
