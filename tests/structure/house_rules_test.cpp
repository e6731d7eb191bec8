// Every source keeps the rules, and planted violations of each rule are reported.
#include "tests/structure/house_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/structure/include_scan.h"

namespace assay::tests::house_rules_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ASSAY_SOURCE_DIR;

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool is_source(const fs::path& file) {
  const fs::path extension = file.extension();
  return extension == ".h" || extension == ".cpp" || extension == ".hpp" || extension == ".cc" || extension == ".inc" ||
         extension == ".def";
}

// One source that breaks exactly one rule, and a twin that keeps it.
struct Planted {
  const char* name;
  const char* path;
  const char* broken;
  const char* message;  // a part of the violation's text
  const char* kept;
};

void PrintTo(const Planted& planted, std::ostream* stream) { *stream << planted.name; }

const Planted kPlanted[] = {
    {"metal_includes_upwards", "metal/a.cpp", "#include \"oracles/fwht.h\"", "it may include: base, math", "#include \"base/process.h\""},
    {"math_includes_metal", "math/a.cpp", "#include \"metal/buffer.h\"", "it may include: nothing", "#include \"math/names.h\""},
    {"sodium_in_metal", "metal/compile/a.cpp", "#include <sodium.h>", "enters the house in base/", "#include \"base/hash.h\""},
    {"mpfr_in_oracles", "oracles/a.cpp", "#include <mpfr.h>", "enters the house in math/", "#include \"math/functions.h\""},
    {"kernels_include_oracles", "kernels/a.cpp", "#include \"oracles/fwht.h\"", "it may include: base, math, metal",
     "#include \"metal/devices/encoder.h\""},
    {"kernels_include_simulator", "kernels/a.h", "#pragma once\n#include \"metal/devices/simulator.h\"", "not the simulator",
     "#pragma once\n#include \"metal/compile/library.h\""},
    {"launch_includes_library", "families/tq4/launch.cpp", "#include \"metal/compile/library.h\"", "launch code must not",
     "#include \"metal/argument_layout.h\""},
    {"launch_includes_simulator", "families/shared/decode_launch.cpp", "#include \"metal/devices/simulator.h\"", "launch code must not",
     "#include \"metal/errors.h\""},
    {"oracles_include_metal", "oracles/a.cpp", "#include \"metal/buffer.h\"", "it may include: base, math", "#include \"oracles/fwht.h\""},
    {"oracles_show_eigen", "oracles/a.h", "#pragma once\n#include <Eigen/Core>", "do not show Eigen", "#pragma once\n#include <span>"},
    {"fixtures_include_kernels", "fixtures/a.cpp", "#include \"kernels/variant.h\"", "it may include: base, oracles",
     "#include \"oracles/fwht.h\""},
    {"harness_includes_cli", "harness/execute/a.cpp", "#include \"cli/main.h\"", "harness/ must not", "#include \"kernels/variant.h\""},
    {"harness_includes_reports", "harness/execute/a.cpp", "#include \"reports/html.h\"", "harness/ must not", "#include \"fixtures/a.h\""},
    {"cases_include_judge", "harness/cases/a.cpp", "#include \"harness/judge/judge.h\"", "comes before harness/judge",
     "#include \"harness/cases/case.h\""},
    {"judge_includes_execute", "harness/judge/a.cpp", "#include \"harness/execute/execute.h\"", "comes before harness/execute",
     "#include \"harness/cases/case.h\""},
    {"execute_includes_ledger", "harness/execute/a.cpp", "#include \"harness/ledger/l.h\"", "comes before harness/ledger",
     "#include \"harness/judge/judge.h\""},
    {"ledger_includes_triage", "harness/ledger/a.cpp", "#include \"harness/triage/t.h\"", "comes before harness/triage",
     "#include \"harness/execute/execute.h\""},
    {"mutate_includes_triage", "harness/mutate/a.cpp", "#include \"harness/triage/t.h\"", "comes before harness/triage",
     "#include \"harness/ledger/l.h\""},
    {"metal_root_includes_layer", "metal/a.h", "#pragma once\n#include \"metal/execute/lanes.h\"", "the root of metal/ is its lowest layer",
     "#pragma once\n#include \"metal/buffer.h\""},
    {"translate_includes_compile", "metal/translate/a.cpp", "#include \"metal/compile/cache.h\"", "comes before metal/compile",
     "#include \"metal/errors.h\""},
    {"compile_includes_execute", "metal/compile/a.cpp", "#include \"metal/execute/services.h\"", "comes before metal/execute",
     "#include \"metal/translate/lexer.h\""},
    {"execute_includes_devices", "metal/execute/a.cpp", "#include \"metal/devices/simulator.h\"", "comes before metal/devices",
     "#include \"metal/compile/module.h\""},
    {"pass_includes_compile", "metal/pass/a.cpp", "#include \"metal/compile/cache.h\"", "stands beside the layers",
     "#include \"metal/lane_abi.h\""},
    {"compile_includes_pass", "metal/compile/a.cpp", "#include \"metal/pass/lockstep.h\"", "stands beside the layers",
     "#include \"metal/compile/cache.h\""},
    {"metal_file_in_no_layer", "metal/misc/a.cpp", "int x;", "no layer of metal/", nullptr},
    {"harness_file_in_no_room", "harness/misc/a.cpp", "int x;", "no room of harness/", nullptr},
    {"reports_include_oracles", "reports/a.cpp", "#include \"oracles/fwht.h\"", "it may include: base, harness",
     "#include \"harness/execute/execute.h\""},
    {"family_includes_tests", "families/fwht/family.cpp", "#include \"tests/faults/twins.h\"", "families/ must not",
     "#include \"families/fwht/contract.h\""},
    {"twins_include_nothing_of_no_folder", "families/fwht/twins.cpp", "#include \"twins.h\"", "not written from the root",
     "#include \"tests/faults/twins.h\""},
    {"cli_includes_tests", "cli/a.cpp", "#include \"tests/structure/a.h\"", "cli/ must not", "#include \"reports/html.h\""},
    {"metal_includes_tests", "metal/a.cpp", "#include \"tests/a.h\"", "metal/ must not", "#include \"metal/a.h\""},
    {"kernels_see_shader_headers", "kernels/a.cpp", "#include \"metal/shader/vec.h\"", "for kernels to see", "#include \"metal/errors.h\""},
    {"eigen_in_fixtures", "fixtures/a.cpp", "#include <Eigen/Dense>", "enters the house in oracles/", "#include <fmt/format.h>"},
    {"eigen_unsupported_in_metal", "metal/a.cpp", "#include <unsupported/Eigen/FFT>", "enters the house in oracles/", "#include <thread>"},
    {"toml_in_cli", "cli/a.cpp", "#include <toml++/toml.h>", "enters the house in kernels/", "#include <CLI/CLI.hpp>"},
    {"hdf5_in_harness", "harness/execute/a.cpp", "#include <hdf5.h>", "enters the house in fixtures/", "#include <sqlite3.h>"},
    {"sqlite_in_reports", "reports/a.cpp", "#include <sqlite3.h>", "enters the house in harness/", "#include <nlohmann/json.hpp>"},
    {"json_in_fixtures", "fixtures/a.cpp", "#include <nlohmann/json.hpp>", "enters the house in reports/ and cli/ only",
     "#include <hdf5.h>"},
    {"json_in_harness", "harness/execute/a.cpp", "#include <nlohmann/json.hpp>", "enters the house in reports/", "#include <sqlite3.h>"},
    {"cli11_in_reports", "reports/a.cpp", "#include <CLI/CLI.hpp>", "enters the house in cli/", "#include <string>"},
    {"gtest_in_harness", "harness/judge/a.cpp", "#include <gtest/gtest.h>", "enters the house in tests/", "#include <cmath>"},
    {"gmock_in_kernels", "kernels/a.cpp", "#include <gmock/gmock.h>", "enters the house in tests/", "#include <toml++/toml.h>"},
    {"benchmark_in_oracles", "oracles/a.cpp", "#include <benchmark/benchmark.h>", "enters the house in tests/", "#include <Eigen/Core>"},
    {"llvm_in_runtime", "metal/execute/a.cpp", "#include \"llvm/IR/Module.h\"", "enters the house in metal/pass/", "#include <dlfcn.h>"},
    {"clang_in_translator", "metal/translate/a.cpp", "#include <clang/AST/AST.h>", "enters the house in metal/pass/",
     "#include <sys/wait.h>"},
    {"unknown_package", "metal/a.cpp", "#include <absl/strings/str_cat.h>", "no package that the house knows", "#include <string_view>"},
    {"unknown_system_header", "metal/a.cpp", "#include <tbb.h>", "no package that the house knows", "#include <unistd.h>"},
    {"c_library_in_oracles", "oracles/a.cpp", "double y = std::exp(-x);", "'std::exp(' has other bits", "double y = math::exp(-x);"},
    {"c_library_in_harness", "harness/judge/a.cpp", "double y = std::pow (x, 2);", "has other bits", "throw std::logic_error(\"exp\");"},
    {"distribution_in_fixtures", "fixtures/a.cpp", "std::normal_distribution<double> d;", "has other bits", "// std::exp(x)"},
    {"fork_in_harness", "harness/execute/a.cpp", "const pid_t child = fork();", "starts or ends a process",
     "base::Process child(setup, work);"},
    {"kill_in_metal", "metal/compile/a.cpp", "  kill (child, SIGKILL);", "starts or ends a process", "child.kill();  // kill()"},
    {"base_includes_math", "base/a.cpp", "#include \"math/functions.h\"", "it may include: nothing", "const pid_t child = fork();"},
    {"eigens_exp_in_oracles", "oracles/a.cpp", "weights = scores.array().exp();", "'.exp(' has other bits", "weights.sum();"},
    {"relative_parent", "oracles/a.cpp", "#include \"../metal/buffer.h\"", "not written from the root", "#include \"oracles/a.h\""},
    {"relative_inside", "oracles/a.cpp", "#include \"oracles/../metal/buffer.h\"", "not written from the root", "#include \"oracles/a.h\""},
    {"neighbour_without_folder", "oracles/a.cpp", "#include \"fwht.h\"", "not written from the root", "#include \"oracles/fwht.h\""},
    {"absolute", "oracles/a.cpp", "#include \"/usr/include/stdio.h\"", "not written from the root", "#include <cstdio>"},
    {"own_header_in_brackets", "oracles/a.cpp", "#include <oracles/fwht.h>", "quotes, not brackets", "#include \"oracles/fwht.h\""},
    {"computed", "oracles/a.cpp", "#define H <vector>\n#include H", "computed include", "#include <vector>"},
    {"spaces_do_not_hide", "oracles/a.cpp", "  #  include   \"metal/buffer.h\"  // why", "it may include: base, math",
     "// #include \"metal/buffer.h\""},
    {"missing_pragma_once", "oracles/a.h", "int x;", "#pragma once", "#pragma once\nint x;"},
    {"shader_sees_host", "metal/shader/a.h", "#pragma once\n#include \"metal/buffer.h\"", "a shader header sees no",
     "#pragma once\n#include \"metal/shader/vec.h\""},
    {"shader_leaves_its_target", "metal/shader/nvptx/a.h", "#pragma once\n#include \"../../buffer.h\"", "relative include",
     "#pragma once\n#include \"../vec.h\""},
    {"shader_sees_system", "metal/shader/a.h", "#pragma once\n#include <cmath>", "a shader header sees no",
     "#pragma once\n#include <metal_stdlib>"},
    {"no_folder", "utils/a.cpp", "int x;", "no folder of the house", nullptr},
};

class PlantedViolation : public testing::TestWithParam<Planted> {};

TEST_P(PlantedViolation, IsReportedOnceAndItsTwinIsNot) {
  const Planted& planted = GetParam();
  const auto violations = check_source(planted.path, planted.broken);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_NE(violations[0].to_string().find(planted.message), std::string::npos) << violations[0].to_string();
  EXPECT_EQ(violations[0].file, planted.path);
  if (planted.kept == nullptr) return;
  const auto kept = check_source(planted.path, planted.kept);
  EXPECT_TRUE(kept.empty()) << kept.front().to_string();
}

INSTANTIATE_TEST_SUITE_P(Rules, PlantedViolation, testing::ValuesIn(kPlanted),
                         [](const testing::TestParamInfo<Planted>& planted) { return std::string(planted.param.name); });

TEST(IncludeScan, FindsDirectivesAsACompilerWould) {
  const std::string text =
      "#include \"metal/a.h\"\n"
      "// #include \"metal/comment.h\"\n"
      "/* #include \"metal/block.h\"\n"
      "#include \"metal/block_too.h\" */ #include <vector>\n"
      "const int n = 1'000; const char q = '\"';\n"
      "const char* s = \"\\\"\\n#include <string>\";\n"
      "const char* r = R\"msl(\n#include <metal_stdlib>\n)\" )msl\";\n"
      "#error it's not closed\n"
      "\t#\tinclude\t<map>  // why\n"
      "auto t = u8R\"(\n#include <inside>\n)\";\n"
      "#include \"metal/last.h\"";
  const auto includes = includes_of(text);
  ASSERT_EQ(includes.size(), 4u);
  EXPECT_EQ(includes[0].target, "metal/a.h");
  EXPECT_EQ(includes[0].form, Include::Form::quoted);
  EXPECT_EQ(includes[0].line, 1u);
  EXPECT_EQ(includes[1].target, "vector");
  EXPECT_EQ(includes[1].form, Include::Form::angled);
  EXPECT_EQ(includes[1].line, 4u);
  EXPECT_EQ(includes[2].target, "map");
  EXPECT_EQ(includes[2].line, 11u);
  EXPECT_EQ(includes[3].target, "metal/last.h");
  EXPECT_EQ(includes[3].line, 15u);
}

// Of everything that the rules speak about.
std::map<std::string, std::string> sources() {
  std::map<std::string, std::string> texts;
  for (const std::string_view folder : folders()) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string path = fs::relative(entry.path(), kRoot).generic_string();
      // tests/consumer is another project, whose root is there.
      if (entry.is_regular_file() && is_source(entry.path()) && !path.starts_with("tests/consumer/")) texts[path] = read(entry.path());
    }
  }
  return texts;
}

TEST(HouseRules, EverySourceKeepsThem) {
  std::set<std::string> folders_with_sources;
  std::string report;
  for (const auto& [path, text] : sources()) {
    folders_with_sources.insert(path.substr(0, path.find('/')));
    for (const Violation& violation : check_source(path, text)) report += violation.to_string() + "\n";
  }
  EXPECT_EQ(report, "");
  // A walk that found nothing would pass as well.
  EXPECT_EQ(folders_with_sources.size(), folders().size());
}

// Whether a text has the name of something that prints, and behind it what is printed. (A regular expression takes seconds for all
// sources.)
bool prints(std::string_view text) {
  const auto is_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (const std::string_view name : {"fmt::print", "fmt::println", "cout", "cerr", "clog", "fputs", "fputc", "puts", "putchar", "printf",
                                      "fprintf", "dprintf", "fwrite"}) {
    for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
      if (at > 0 && is_of_word(text[at - 1])) continue;
      const std::size_t next = std::min(text.find_first_not_of(" \t\n", at + name.size()), text.size());
      if (text.substr(next).starts_with('(') || text.substr(next).starts_with("<<")) return true;
    }
  }
  return false;
}

TEST(HouseRules, WhatPrintsIsSeen) {
  for (const char* text : {"  fmt::print(\"\");", "std::cerr<<1", "puts (x)", "std::cout\n << 1"}) EXPECT_TRUE(prints(text)) << text;
  for (const char* text : {"snprintf(a, b)", "blueprint(x)", "std::cout;", "outputs(1)", "a.printed(1)", "print"})
    EXPECT_FALSE(prints(text)) << text;
}

// cli/say.cpp writes printable text only, from any source.
TEST(HouseRules, OnePlacePrints) {
  std::set<std::string> printing;
  for (const auto& [path, text] : sources()) {
    if (!path.starts_with("tests/") && prints(text)) printing.insert(path);
  }
  EXPECT_EQ(printing, std::set<std::string>{"cli/say.cpp"});
}

TEST(HouseRules, SubjectsOfTheLastCommitsAreShort) {
  if (!fs::exists(kRoot / ".git")) GTEST_SKIP() << "no history here";
  FILE* pipe = popen(("git -c safe.directory='*' -C '" + kRoot.string() + "' log -20 --format=%s").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string subjects;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) subjects += static_cast<char>(c);
  if (pclose(pipe) != 0) GTEST_SKIP() << "no git here, or no history";
  std::istringstream lines(subjects);
  for (std::string subject; std::getline(lines, subject);) EXPECT_LE(subject.size(), 72U) << subject;
}

TEST(HouseRules, RootHoldsTheAgreedFoldersOnly) {
  std::vector<std::string> directories;
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    if (entry.is_directory()) directories.push_back(entry.path().filename().string());
  }
  EXPECT_GE(directories.size(), 8u);
  const auto violations = check_root(directories);
  EXPECT_TRUE(violations.empty()) << violations.front().to_string();
}

TEST(HouseRules, AStrangeFolderInTheRootIsReported) {
  const std::vector<std::string> directories = {"metal", "build", ".git", "utils", "docs"};
  const auto violations = check_root(directories);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].file, "utils");
}

}  // namespace
}  // namespace assay::tests::house_rules_test
