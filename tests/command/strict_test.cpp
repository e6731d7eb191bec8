// What excuses a kernel: counted in every report, no pass if nothing else remains, and under --strict only what the base says too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command.h"

namespace assay::tests::strict_test {
namespace {

using namespace ::testing;
namespace fs = std::filesystem;

class CliStrict : public TestInFolder {
 protected:
  // fwht, wrong for d = 512, with this description.
  std::string wrong(const std::string& description, const std::string& where = "mine") const {
    return described(replaced(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= D == 512 ? 1.001f * scale : scale;"), description, where);
  }
  std::string described(const std::string& kernel, const std::string& description, const std::string& where = "mine") const {
    fs::create_directories(folder_ / where);
    write(kernel, where + "/kernel.metal");
    write("family = \"fwht\"\nsource = \"kernel.metal\"\n" + description, where + "/variant.toml");
    return (folder_ / where).string();
  }
  // A description of the base alone, without its sources.
  std::string base(const std::string& description) const {
    fs::create_directories(folder_ / "base/mine");
    write("family = \"fwht\"\nsource = \"kernel.metal\"\n" + description, "base/mine/variant.toml");
    return " --trust " + (folder_ / "base/mine/variant.toml").string();
  }
  static Outcome run(const std::string& kernel, const std::string& options = "", const std::string& cases = "smoke") {
    return run_assay("run " + cases + " --ledger none --kernel " + kernel + options);
  }
};

const std::string kOf512 = "[[known_finding]]\nwhen = \"d == 512\"\nshows = \"failed\"\nsee = \"issue 12\"\n";
const std::string kOf256 = "[limits]\nhead_dim = [256]\n";

TEST_F(CliStrict, AKnownFindingOfTheFileUnderTestIsAFailure) {
  const std::string kernel = wrong(kOf512);
  const Outcome plain = run(kernel);
  EXPECT_EQ(plain.status, 0) << plain.output;
  EXPECT_THAT(plain.output, ContainsRegex("\nexcused: [0-9]+ failed as known\n"));
  const Outcome strict = run(kernel, " --strict");
  EXPECT_EQ(strict.status, 1) << strict.output;
  EXPECT_THAT(strict.output, AllOf(HasSubstr("note: strict: " + kernel +
                                             "/variant.toml:3: the known finding (when d == 512) does not count: "
                                             "no --trust file describes mine"),
                                   Not(HasSubstr("excused:")), HasSubstr("--trust none")));
  EXPECT_EQ(run(kernel, base(kOf512)).status, 0) << "the base has it";
  EXPECT_EQ(run(kernel, " --trust " + (folder_ / "base").string()).status, 0) << "a folder of variants";
  EXPECT_EQ(run(kernel, base("")).status, 1) << "the base does not have it";
  EXPECT_EQ(run(kernel, base("[[known_finding]]\nwhen = \"d == 512 && num_heads == 1\"\nshows = \"failed\"\n")).status, 1);
  EXPECT_EQ(run(kernel, " --trust /nowhere/variant.toml").status, 2);
}

TEST_F(CliStrict, LimitsOfTheFileUnderTestDoNotCount) {
  const std::string kernel = wrong(kOf256);
  const Outcome plain = run(kernel);
  EXPECT_EQ(plain.status, 0) << plain.output;
  EXPECT_THAT(plain.output, ContainsRegex("\nexcused: [0-9]+ outside of the limits\n"));
  EXPECT_EQ(run(kernel, " --strict").status, 1);
  EXPECT_EQ(run(kernel, base(kOf256)).status, 0);
}

TEST_F(CliStrict, AMissingFunctionSaysThatLimitsDoNotCount) {
  fs::create_directories(folder_ / "mine");
  write("#include <metal_stdlib>\nusing namespace metal;\nkernel void f64(device float* out) { out[0] = 0.0f; }\n", "mine/kernel.metal");
  write(
      "family = \"attention\"\nsource = \"kernel.metal\"\n[limits]\ndk = [64]\ndv = \"dk\"\n"
      "[[dispatch]]\nfunction = \"f{dk}\"\ngrid = [1]\nthreads = [32]\n",
      "mine/variant.toml");
  const std::string kernel = (folder_ / "mine").string();
  const std::string advice = "under --strict, those of this file do not count: --trust FILE";
  const Outcome strict = run(kernel, " --strict");
  EXPECT_EQ(strict.status, 2);
  EXPECT_THAT(strict.output, AllOf(HasSubstr("[limits] excludes cases without a function"), HasSubstr(advice)));
  EXPECT_THAT(run(kernel, " --trust " + kernel).output, Not(HasSubstr(advice)));
}

TEST_F(CliStrict, AFileWithoutFunctionsDoesNotChooseItsCases) {
  std::string text = source_of("fwht_v1");
  for (const char* signs :
       {"standalone_f32\", 512, SIGNS_NONE", "sign_premult_f32\", 512, SIGNS_BEFORE", "sign_undo_f32\", 512, SIGNS_AFTER"})
    text = replaced_once(text, std::string("INSTANTIATE_FWHT(\"fwht_") + signs + ")", "");
  write(text, "lone.metal");
  const std::string lone = (folder_ / "lone.metal").string() + " --family fwht";
  const Outcome plain = run(lone);
  EXPECT_EQ(plain.status, 0) << plain.output;
  const Outcome strict = run(lone, " --strict");
  EXPECT_EQ(strict.status, 2) << strict.output;
  EXPECT_THAT(strict.output, HasSubstr("does not choose its cases"));
  EXPECT_EQ(run(lone, " --strict --limit head_dim=256").status, 0);
}

TEST_F(CliStrict, SettingsThatChooseOtherCodeAreRefused) {
  const std::string kernel = described(
      replaced(source_of("fwht_v1"), "x[e] *= scale;", "\n#ifdef UNDER_TEST\nx[e] *= scale;\n#else\nx[e] *= 2.0f * scale;\n#endif\n"),
      "[compile]\ndefine = [\"UNDER_TEST\"]\n");
  EXPECT_EQ(run(kernel).status, 0);
  const Outcome strict = run(kernel, " --strict");
  EXPECT_EQ(strict.status, 2) << strict.output;
  EXPECT_THAT(strict.output, HasSubstr("chooses which code is judged"));
  EXPECT_EQ(run(kernel, base("[compile]\ndefine = [\"UNDER_TEST\"]\n")).status, 0);
  described(source_of("fwht_v1"), "");
  EXPECT_EQ(run(kernel, " --strict --define UNDER_TEST").status, 0) << "the command line is not under test";
}

TEST_F(CliStrict, WhereNothingPassesIsNoPass) {
  const std::string kernel = wrong(kOf512);
  const Outcome known = run(kernel, "", "mine/d512/h1/undo/gauss/s1");
  EXPECT_EQ(known.status, 4) << known.output;
  EXPECT_THAT(known.output, AllOf(HasSubstr("nothing passed: every selected case was skipped or failed as known"),
                                  HasSubstr("excused: 1 failed as known\n")));
  EXPECT_EQ(run(kernel, "", "mine/d512/h1/undo/gauss/s1 mine/d256/h1/undo/gauss/s1").status, 0);
  const Outcome skipped = run(wrong(kOf256), "", "mine/d512/h1/undo/gauss/s1");
  EXPECT_EQ(skipped.status, 4) << skipped.output;
  EXPECT_THAT(skipped.output, HasSubstr("nothing passed: every selected case was skipped\n"));
  EXPECT_EQ(run(wrong(kOf256), " --strict", "mine/d512/h1/undo/gauss/s1").status, 1) << "it is run, and wrong";
}

TEST_F(CliStrict, EveryReportCountsWhatIsExcused) {
  const std::string ledger = " --ledger " + (folder_ / "l.sqlite").string();
  ASSERT_EQ(run_assay("run smoke --kernel " + wrong(kOf512) + ledger).status, 0);
  const auto report = [&](const char* format) { return run_assay(std::string("report --format ") + format + ledger).output; };
  const auto excused = nlohmann::json::parse(report("json")).at("summary").at("excused");
  EXPECT_GT(excused.at("known"), 0);
  EXPECT_EQ(excused.at("skipped"), 0);
  const std::string text = std::to_string(excused.at("known").get<int>()) + " failed as known";
  EXPECT_THAT(report("markdown"), HasSubstr("Excused: " + text + ".\n"));
  EXPECT_THAT(report("junit"), HasSubstr("name=\"excused in the whole run\" value=\"" + text + "\""));
}

TEST_F(CliStrict, APartThatDoesNotCompileIsSaidAndFails) {
  const std::string kernel = described(source_of("fwht_v1") +
                                           "\nfloat unused(float a) { return undeclared + a; }\n"
                                           "kernel void other(device float* x [[buffer(0)]]) { x[0] = missing; }\n",
                                       "");
  const std::string cases = "mine/d256/h1/standalone/gauss/s1";
  const Outcome plain = run(kernel, "", cases);
  EXPECT_EQ(plain.status, 0) << plain.output;
  for (const char* text : {"note: unused does not compile and is left out, because no selected case needs it: ",
                           "note: other does not compile and is left out", "undeclared identifier 'undeclared'", "identifier 'missing'"})
    EXPECT_THAT(plain.output, HasSubstr(text));
  const Outcome strict = run(kernel, " --strict", cases);
  EXPECT_EQ(strict.status, 1) << strict.output;
  EXPECT_THAT(strict.output, HasSubstr("strict: the kernel under test has 2 parts that no compiler accepts, which counts as a failure"));
  EXPECT_THAT(run(described(source_of("fwht_v1"), ""), " --strict", cases).output,
              AllOf(Not(HasSubstr("not compile")), Not(HasSubstr("no compiler"))));
}

TEST_F(CliStrict, ADescriptionNamesNothingOutsideOfItsFolder) {
  const std::string kernel = described(source_of("fwht_v1"), "");
  write(source_of("fwht_v1"), "outside.metal");
  const auto refused = [&](const std::string& description) {
    write("family = \"fwht\"\n" + description, "mine/variant.toml");
    const Outcome outcome = run(kernel);
    EXPECT_EQ(outcome.status, 2) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("outside of the folder of this file")) << description;
  };
  refused("source = \"../outside.metal\"\n");
  refused("source = \"" + (folder_ / "outside.metal").string() + "\"\n");
  refused("source = [\"kernel.metal\", \"../outside.metal\"]\n");
  refused("source = \"kernel.metal\"\n[compile]\ninclude = [\"..\"]\n");
  refused("source = \"kernel.metal\"\n[compile]\ninclude = [\"/usr/include\"]\n");
  fs::create_symlink("../outside.metal", folder_ / "mine/link.metal");
  refused("source = \"link.metal\"\n");
  fs::create_directory_symlink("/usr", folder_ / "mine/usr");
  refused("source = \"kernel.metal\"\n[compile]\ninclude = [\"usr/include\"]\n");
  fs::create_symlink("kernel.metal", folder_ / "mine/inside.metal");
  write("family = \"fwht\"\nsource = \"inside.metal\"\n", "mine/variant.toml");
  EXPECT_EQ(run(kernel).status, 0) << "a link to a file of the folder";
}

}  // namespace
}  // namespace assay::tests::strict_test
