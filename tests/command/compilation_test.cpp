// What a kernel's host says to its compiler: include folders, macros, the version of the language, several files, a library for each
// configuration. Said on the command line and in a variant.toml, and kept in replay lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/command.h"

namespace assay::tests::compilation_test {
namespace {

using namespace ::testing;

constexpr const char* kCase = "/d256/h1/standalone/gauss/s1";

class CliCompilation : public Cli {
 protected:
  static std::string rotation() { return source_of("fwht_v1"); }
  // `before` in front of a kernel that is right.
  std::string with_start(const std::string& before) const { return write(before + rotation()); }
  std::string in_folder(const std::string& folder, const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(folder_ / folder);
    return write(text, folder + "/" + name);
  }
  Outcome run_lone(const std::string& options) const {
    return run_assay("run kernel" + std::string(kCase) + " --family fwht --kernel " + (folder_ / "kernel.metal").string() + " " + options);
  }
  std::string ledger() const { return " --ledger " + (folder_ / "ledger.sqlite").string(); }
};

TEST_F(CliCompilation, FoldersAndMacrosOfTheCommandLineCount) {
  in_folder("host", "host.h", "#define FROM_HOST 7\n");
  with_start("#include <host.h>\n#if FROM_HOST != 7 || TILE != 4 || !defined(FAST)\n#error wrong\n#endif\n");
  const std::string host = (folder_ / "host").string();
  EXPECT_EQ(run_lone("--ledger none --include " + host + " --define TILE=4 -D FAST").status, 0);
  EXPECT_EQ(run_lone("--ledger none -I " + host + " -DTILE=4 -DFAST").status, 0);
  const Outcome other = run_lone("--ledger none -I " + host + " -DTILE=5 -DFAST");
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.output, HasSubstr("kernel.metal:3: error: wrong"));
  const Outcome without = run_lone("--ledger none -DTILE=4 -DFAST");
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.output, AllOf(HasSubstr("kernel.metal:1:"), HasSubstr("'host.h' file not found")));
}

TEST_F(CliCompilation, TheWorkingDirectoryIsNoPlaceToIncludeFrom) {
  write("#define NEAR 1\n", "beside.h");
  in_folder("deep", "kernel.metal", "#include \"beside.h\"\n" + rotation());
  const std::string words = "run kernel" + std::string(kCase) + " --ledger none --family fwht --kernel deep/kernel.metal";
  const std::string there = "cd " + folder_.string() + " &&";
  const Outcome outside = run_under(there, words);
  EXPECT_EQ(outside.status, 2) << outside.output;
  EXPECT_THAT(outside.output, HasSubstr("deep/kernel.metal:1: fatal error: 'beside.h' file not found"));
  EXPECT_EQ(run_under(there, words + " -I .").status, 0);
  in_folder("deep", "beside.h", "#define NEAR 1\n");
  EXPECT_EQ(run_under(there, words).status, 0);
}

TEST_F(CliCompilation, TheVersionOfTheLanguageIsWhatTheHostAsksFor) {
  with_start("#if __METAL_VERSION__ != 240\n#error another version\n#endif\n");
  EXPECT_EQ(run_lone("--ledger none --metal-version 2.4").status, 0);
  EXPECT_EQ(run_lone("--ledger none --metal-version 240").status, 0);
  EXPECT_EQ(run_lone("--ledger none").status, 2);
  const Outcome four = run_lone("--ledger none --metal-version 4.0");
  EXPECT_EQ(four.status, 2);
  EXPECT_THAT(four.output, AllOf(HasSubstr("Metal 4.0 is not supported"), HasSubstr("3.1, 3.2")));
  for (const char* wrong : {"3.3", "metal", "31", "3"}) {
    const Outcome refused = run_lone("--ledger none --metal-version " + std::string(wrong));
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.output, HasSubstr("'" + std::string(wrong) + "' is not a version of Metal"));
  }
}

TEST_F(CliCompilation, WhatDefinesOrIncludesNothingIsRefused) {
  with_start("");
  for (const char* wrong : {"2X", "''", "'a b'", "=1", "'X-Y=1'"}) {
    const Outcome refused = run_lone("--ledger none --define " + std::string(wrong));
    EXPECT_EQ(refused.status, 2) << wrong;
    EXPECT_THAT(refused.output, HasSubstr("is not a macro definition")) << wrong;
  }
  EXPECT_THAT(run_lone("--ledger none --include /nowhere/at/all").output, HasSubstr("'/nowhere/at/all' is not a folder"));
}

TEST_F(CliCompilation, ReplayLinesAndTriageSayItAgain) {
  in_folder("host dir", "host.h", "");
  std::string text = rotation();
  const std::string right = "x[e] *= scale;";
  ASSERT_NE(text.find(right), std::string::npos);
  text.replace(text.find(right), right.size(), "x[e] *= FACTOR scale;");
  write("#include <host.h>\n#if __METAL_VERSION__ != 300\n#error version\n#endif\n" + text);
  const std::string said = "--include '" + (folder_ / "host dir").string() + "' --define 'FACTOR=2 *' --metal-version 3.0";
  const Outcome run = run_lone(said + ledger());
  EXPECT_EQ(run.status, 1) << run.output;
  const Outcome report = run_assay("report" + ledger());
  EXPECT_THAT(report.output, HasSubstr(said)) << report.output;
  const Outcome triage = run_assay("triage --repair-seconds 0" + ledger());
  EXPECT_THAT(triage.output, AllOf(HasSubstr("kernel/d256"), Not(HasSubstr("error: version")))) << triage.output;
}

TEST_F(CliCompilation, SeveralFilesAreOneTranslationUnit) {
  const std::string text = rotation();
  const std::size_t cut = text.find("#define INSTANTIATE");
  ASSERT_NE(cut, std::string::npos);
  in_folder("built", "once.h", "#pragma once\ninline int once() { return 1; }\n");
  in_folder("built", "first.metal", "#include \"once.h\"\n" + text.substr(0, cut));
  in_folder("built", "second.metal", "#include \"once.h\"\n" + text.substr(cut));
  in_folder("built", "variant.toml", "family = \"fwht\"\nsource = [\"first.metal\", \"second.metal\"]\n");
  const std::string words = "run built" + std::string(kCase) + " --ledger none --kernel ";
  EXPECT_EQ(run_assay(words + (folder_ / "built").string()).status, 0);
  EXPECT_EQ(run_assay(words + (folder_ / "built" / "second.metal").string()).status, 0);
  in_folder("built", "second.metal", "\n#error of the second\n");
  EXPECT_THAT(run_assay(words + (folder_ / "built").string()).output, HasSubstr("second.metal:2: error: of the second"));
  in_folder("built", "second.metal", "\nkernel void broken(device float* x) { x[0] = nonsense; }\n" + text.substr(cut));
  EXPECT_EQ(run_assay(words + (folder_ / "built").string()).status, 0) << "a kernel that is not wanted may be wrong";
  in_folder("built", "second.metal",
            "\nint nonsense() { return missing; }\n" + text.substr(cut) + "\nconstant int kNeeded = nonsense();\n");
  EXPECT_EQ(run_assay(words + (folder_ / "built").string()).status, 0) << "nor what it needs";
  in_folder("built", "variant.toml", "family = \"fwht\"\nsource = [\"first.metal\", \"third.metal\"]\n");
  EXPECT_THAT(run_assay(words + (folder_ / "built").string()).output, HasSubstr("third.metal' is not a file"));
}

// One name for two functions that differ in macros only: the wrong library would compute the other size.
TEST_F(CliCompilation, APipelineHasMacrosOfItsOwn) {
  std::string text = rotation();
  text.resize(text.find("#define INSTANTIATE"));
  text += "template [[host_name(\"rotate\")]] kernel fwht_f32_t fwht_f32<HEAD_DIM, SIGNS_NONE>;\n";
  in_folder("both", "kernel.metal", text);
  const std::string start = "family = \"fwht\"\nsource = \"kernel.metal\"\n[entry]\n";
  in_folder("both", "variant.toml",
            start +
                "standalone_d256 = { function = \"rotate\", define = [\"HEAD_DIM=256\"] }\n"
                "standalone_d512 = { function = \"rotate\", define = [\"HEAD_DIM=512\"] }\n");
  const std::string both = " --ledger none --kernel " + (folder_ / "both").string();
  const Outcome right = run_assay("run both/d256/h3/standalone/gauss/s1 both/d512/h3/standalone/gauss/s1 --policy checked" + both);
  EXPECT_EQ(right.status, 0) << right.output;
  EXPECT_THAT(right.output, HasSubstr("2 cases: 2 passed"));
  const std::string trace = (folder_ / "trace.json").string();
  ASSERT_EQ(run_assay("dispatch both/d512/h3/standalone/gauss/s1 --json --kernel " + (folder_ / "both").string() + " > " + trace).status,
            0);
  const Outcome executed = run_assay("check-dispatch " + trace + " --execute --kernel " + (folder_ / "both").string());
  EXPECT_EQ(executed.status, 0) << executed.output;
  in_folder("both", "variant.toml",
            start +
                "standalone_d256 = { function = \"rotate\", define = [\"HEAD_DIM=512\"] }\n"
                "standalone_d512 = { function = \"rotate\", define = [\"HEAD_DIM=512\"] }\n");
  EXPECT_EQ(run_assay("run both/d256/h3/standalone/gauss/s1" + both).status, 1);
}

TEST_F(CliCompilation, MutantsAreBuiltAsTheHostBuildsThem) {
  in_folder("own/host", "host.h", "#define FROM_HOST 1\n");
  in_folder("own", "kernel.metal", "#include <host.h>\n#ifndef FROM_HOST\n#error wrong\n#endif\n" + rotation());
  in_folder("own", "variant.toml", "family = \"fwht\"\nsource = \"kernel.metal\"\n[compile]\ninclude = [\"host\"]\n");
  const Outcome tried = run_assay("mutate " + (folder_ / "own").string() + " --max 2 --seed 3 --suite smoke --policies native");
  EXPECT_THAT(tried.output, AllOf(Not(HasSubstr("wrong")), HasSubstr("killed"))) << tried.output;
  EXPECT_THAT(tried.output, Not(HasSubstr("2 stillborn"))) << tried.output;
}

}  // namespace
}  // namespace assay::tests::compilation_test
