// `assay compare` as people use it: iterations of our own kernels with one thing changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command.h"

namespace assay::tests::compare_test {
namespace {

using namespace ::testing;

class Compare : public ::testing::Test {
 protected:
  // A copy of one of our variants with one piece of its text replaced; the folder.
  [[nodiscard]] std::string copy(const std::string& variant, const std::string& from, const std::string& to,
                                 const std::string& name = "mine") const {
    const std::filesystem::path ours = kRoot / "kernels/variants" / variant;
    std::string text = read_file(ours / "kernel.metal");
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    if (place != std::string::npos) text.replace(place, from.size(), to);
    std::filesystem::create_directories(folder_.path() / name);
    std::ofstream(folder_.path() / name / "kernel.metal") << text;
    std::ofstream(folder_.path() / name / "variant.toml") << read_file(ours / "variant.toml");
    return (folder_.path() / name).string();
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::string line_of(const std::string& folder, const std::string& text) {
    const std::string all = read_file(std::filesystem::path(folder) / "kernel.metal");
    return std::to_string(std::ranges::count(all.substr(0, all.find(text)), '\n') + 1);
  }

  TemporaryFolder folder_;
};

TEST_F(Compare, ACopyHasTheSameBits) {
  const std::string mine =
      copy("fwht_v1", "const float other = simd_shuffle_xor(x[e], mask);\n            x[e] = upper ? other - x[e] : x[e] + other;",
           "// Renamed.\n            const float neighbour = simd_shuffle_xor(x[e], mask);\n\n            x[e] = upper ? neighbour - x[e] "
           ": x[e] + neighbour;");
  const Outcome outcome = run_assay("compare fwht_v1 " + mine + " --suite smoke --same-bits");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("same bits in all "), Not(HasSubstr("where they part")), HasSubstr("accumulator"),
                                    HasSubstr("SIMD-group calls")))
      << outcome.output;
}

TEST_F(Compare, AVariantHasItsOwnBits) {
  const Outcome outcome = run_assay("compare fwht_v1 fwht_v1 --suite smoke 'fwht_v1/d256/*'");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("fwht_v1@old"), HasSubstr("same bits in all ")));
}

TEST_F(Compare, NamesTheLineOfAnotherRounding) {
  const std::string mine = copy("fwht_v1", "x[e] *= scale;", "x[e] = x[e] / sqrt(float(D));");
  const std::string json = file("compare.json");
  const std::string markdown = file("compare.md");
  const Outcome outcome = run_assay("compare fwht_v1 " + mine + " --suite smoke --json " + json + " --markdown " + markdown);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("different bits in "), HasSubstr("ulp at element"),
                                    HasSubstr("kernel.metal:" + line_of(mine, "x[e] / sqrt") + ": x[e] = x[e] / sqrt(float(D));"),
                                    HasSubstr("the change that contains the line")));
  const auto document = nlohmann::json::parse(read_file(json));
  EXPECT_EQ(document["format"], "assay-comparison");
  EXPECT_EQ(document["summary"]["broke"], 0);
  EXPECT_GT(document["summary"]["other_bits"], 0);
  EXPECT_GT(document["summary"]["same_bits"], 0) << "a factor of 1/16 is exact";
  EXPECT_EQ(std::to_string(document["parting"]["new"]["line"].get<int>()), line_of(mine, "x[e] / sqrt"));
  EXPECT_EQ(std::to_string(document["parting"]["old"]["line"].get<int>()),
            line_of(std::string(ASSAY_SOURCE_DIR) + "/kernels/variants/fwht_v1", "x[e] *= scale"));
  EXPECT_THAT(document["smallest"].get<std::string>(), HasSubstr("/d512/h1/"));
  EXPECT_THAT(read_file(markdown), AllOf(HasSubstr("# mine compared with fwht_v1"), HasSubstr("```diff\n@@")));
  EXPECT_EQ(run_assay("compare fwht_v1 " + mine + " --suite smoke --same-bits --no-parting").status, 1);
}

// The sum starts at 0, so that the first chunk comes to the same with any factor.
TEST_F(Compare, NamesTheChunkThatTheyPartIn) {
  const std::string mine = copy("tq4_v1", "S = S * ms + simd_sum(vs);", "S = S * (ms * 1.001f) + simd_sum(vs);");
  const std::string json = file("compare.json");
  const Outcome outcome = run_assay("compare tq4_v1 " + mine + " tq4_v1/d256/h2x1/kv100c100/ring0/nomask/nwg1/gauss/s7 --json " + json);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  const auto document = nlohmann::json::parse(read_file(json));
  EXPECT_EQ(document["parting"]["chunk"], 1) << outcome.output;
  EXPECT_EQ(std::to_string(document["parting"]["new"]["line"].get<int>()), line_of(mine, "1.001f")) << outcome.output;
  EXPECT_THAT(document["smallest"].get<std::string>(), HasSubstr("/h1x1/kv")) << outcome.output;
}

TEST_F(Compare, WhatBreaksIsListedAndFails) {
  const std::string mine = copy("fwht_v1", "x[e] *= scale;", "x[e] *= scale * 1.01f;");
  const Outcome outcome = run_assay("compare fwht_v1 " + mine + " --suite smoke");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("broke: "), HasSubstr("old passed\n"), HasSubstr("above their bound"), HasSubstr("scale * 1.01f")));
  const Outcome back = run_assay("compare " + mine + " fwht_v1 --suite smoke --no-parting");
  EXPECT_EQ(back.status, 0) << back.output;
  EXPECT_THAT(back.output, HasSubstr("healed: "));
}

TEST_F(Compare, ACrashCostsOneCaseAndNotTheRun) {
  const std::string mine =
      copy("fwht_v1", "const float scale = rsqrt(float(D));",
           "if (params.num_heads == 2) { while (data[0] == data[0] || head < 99) { } }\n    const float scale = rsqrt(float(D));");
  const Outcome outcome =
      run_assay("compare fwht_v1 " + mine + " --timeout 1 fwht_v1/d256/h1/standalone/gauss/s7 fwht_v1/d256/h2/standalone/gauss/s7");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("new timeout"), HasSubstr("same bits in all 1 case with outputs from both (2 in total), 1 broke"),
                    HasSubstr("replay: assay run mine/d256/h2/standalone/gauss/s7 --kernel " + mine)))
      << outcome.output;
}

TEST_F(Compare, TriesWhatIsClaimed) {
  const std::string mine = copy("fwht_v1", "x[e] *= scale;", "x[e] = x[e] / sqrt(float(D));");
  std::ofstream(std::filesystem::path(mine) / "variant.toml", std::ios::app)
      << "\nclaims = [\"same_bits_as:fwht_v1@head_dim=256\", \"same_bits_as:fwht_v1\"]\n";
  const Outcome outcome = run_assay("compare fwht_v1 " + mine + " --suite smoke --no-parting");
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("mine claims same_bits_as:fwht_v1@head_dim=256: holds in "),
                                    HasSubstr("mine claims same_bits_as:fwht_v1: BROKEN in ")))
      << outcome.output;
}

// At head_dim 256 both store the same for each value of the axis; at 512 one has a norm more.
TEST_F(Compare, FindsWhatStoragesHaveInCommon) {
  const Outcome outcome = run_assay("compare tq4_v1 tq4_v2 --suite smoke --no-parting '*/d*/h1x1/*'");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("the storage differs"), HasSubstr("limits: block_norms"), HasSubstr("only in old")))
      << outcome.output;
}

TEST_F(Compare, RefusesWhatItCannotDo) {
  const auto refused = [](const std::string& arguments, const std::string& because) {
    const Outcome outcome = run_assay("compare " + arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(because));
  };
  refused("fwht_v1 fwht_v9", "'fwht_v9' is not a variant, file or directory");
  refused("fwht_v1 reduce_v1", "of family reduce");
  refused("fwht_v1 fwht_v1 'fwht_v1/d257/*'", "no case of the suite matches");
  refused("fwht_v1 fwht_v1 smoke", "--suite");
  refused("fwht_v1 fwht_v1 --suite tiny", "tiny");
  refused("fwht_v1 fwht_v1 --family tq4", "is of family fwht, not of tq4");
  refused("fwht_v1 fwht_v1 --json /nowhere/at/all.json", "cannot be written");
  refused("fwht_v1", "NEW");
}

}  // namespace
}  // namespace assay::tests::compare_test
