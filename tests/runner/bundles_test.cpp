// Bundles exported, executed elsewhere and judged: the verdicts and the bits are those of an execution here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/digest.h"
#include "tests/runner/bundle.h"
#include "tests/support/json_schema.h"

namespace assay::tests::bundles_test {
namespace {

using namespace ::testing;

const std::string kCase = "tq4_v1/d256/h8x2/kv65c65/ring30/win33/nwg2/gauss/s7";

// A case of each family and launch, with function constants, several dispatches, barriers, half, bfloat, gaps and probes among them.
const std::vector<std::string> kCases = {
    kCase,
    "attn_blocks_v1/float/d64x64/b3/h1x1/q1/k255/k_half/alibi/mask_half/blhd/shared_kv/nsg2/tiny/s971",
    "attn_nwg_v1/float/d256x256/b1/h1x1/q1/k129/nomask/ring0room7/blocks3/tiny/s658",
    "attn_paged_v1/half/d64x64/b3/h1x1/q1/k31/nomask/page8room0/tiny/s715",
    "attn_simd_v1/half/d64x64/b2/h1x1/q1/k2/causal/sinks/scale_one/room1/gaps_kv/tiny/s5",
    "attn_split_v1/half/d32x32/b2/h1x1/q1/k33/nomask/mask_half/cap30/room1/gaps_kv/blocks32/tiny/s48",
    "attn_tiles_v1/bfloat/d64x64/b3/h1x1/q33/k31/causal/offset_other/blhd/gaps_inputs/tiny/s609",
    "bf16_prefill_v2/b1/h1x1/q7/kv1r0/random1x1/low/drift/s618",
    "bf16_vec_v2/b1/h1x1/q1/kv1r0/zero1x1/scale1/nsg4/drift/s225",
    "dequantize_v1/d256/b4/g2/pos1c33/sf16/poisoned/s879",
    "fwht_v1/d256/h1/standalone/heavy/s111",
    "quantize4_v1/d256/b4/g4/pos31c32/sf16/probe/gauss/s67",
    "quantizehb_v1/d256/b5/g2/pos0c1/sliding/sfroot512/ties/s895",
    "reduce_v1/d256/rows1/nwg1/faint/s740",
    "tqhb_v2/d256/b8/h1x1/kv257c257/ring31/win258/nwg4/nsg4/fuse/scale1/sf16/cancel/s605",
};

std::string all_cases() {
  std::string words;
  for (const std::string& name : kCases) words += name + ' ';
  return words;
}

using BundleOfCases = Bundle;

TEST_F(BundleOfCases, HasTheBitsAndVerdictsOfAnExecutionHere) {
  const Outcome here = run_assay("run " + all_cases() + " --schedule forward --ledger none");
  const Outcome there = taken_there_and_back(all_cases());
  EXPECT_EQ(there.status, here.status) << there.output;
  EXPECT_EQ(digest_in(there.output), digest_in(here.output)) << there.output << here.output;
  EXPECT_THAT(there.output, AllOf(HasSubstr("15 cases: "), HasSubstr("0 faulty"),
                                  HasSubstr("executed elsewhere: Mock \"GPU\" of assay, macOS Version 0 (mock), judged here"),
                                  Not(HasSubstr("executed on the simulator"))));
}

TEST_F(BundleOfCases, HasAManifestAsTheSchemaSays) {
  using nlohmann::json;
  Validator schema(json::parse(read_file(kRoot / "docs/bundle.schema.json")));
  ASSERT_EQ(exported(all_cases()).status, 0);
  json manifest = json::parse(read_file(file("manifest.json")));
  EXPECT_THAT(schema.errors_of(manifest), IsEmpty());
  manifest["cases"][0]["passes"][0][0]["call"] = "set_cpu";
  EXPECT_THAT(schema.errors_of(manifest), ElementsAre(StartsWith("/cases/0/passes/0/0: matches 0 of")));
  manifest["cases"][0].erase("passes");
  EXPECT_THAT(schema.errors_of(manifest), ElementsAre("/cases/0: lacks passes"));
  manifest["cases"][0]["passes"] = json::array();
  manifest["cases"][0]["buffers"][0]["regions"][0]["file"] = "../secret";
  EXPECT_THAT(schema.errors_of(manifest), ElementsAre(StartsWith("/cases/0/buffers/0/regions/0: matches 0 of")));
}

TEST_F(BundleOfCases, StoresEqualContentsOnceAndIsTheSameEveryTime) {
  ASSERT_EQ(exported(kCase + " tq4_v2" + kCase.substr(6)).status, 0);
  const auto files_in = [&](const char* name) {
    const std::filesystem::directory_iterator all(file(name));
    return std::count_if(begin(all), end(all), [](const auto&) { return true; });
  };
  // Both kernels, and the inputs of one: the variants share them.
  EXPECT_EQ(files_in("sources"), 2);
  const auto inputs = files_in("inputs");
  const std::string first = read_file(file("manifest.json"));
  std::filesystem::remove_all(bundle());
  ASSERT_EQ(exported(kCase + " tq4_v2" + kCase.substr(6)).status, 0);
  EXPECT_EQ(read_file(file("manifest.json")), first);
  std::filesystem::remove_all(bundle());
  ASSERT_EQ(exported(kCase).status, 0);
  EXPECT_EQ(files_in("inputs"), inputs);
}

TEST_F(BundleOfCases, AWrongKernelFails) {
  const std::string kernel = with("return order + a.sliding_window >= a.kv_seq_len;", "return order + a.sliding_window > a.kv_seq_len;");
  const std::string options = "--kernel '" + kernel + "' --family tq4 --set tile=32 --set temperature=1";
  const Outcome outcome = taken_there_and_back("kernel" + kCase.substr(6), options);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("above bound"), HasSubstr("1 failed"), HasSubstr("executed elsewhere"),
                                    HasSubstr("the errors of 1 failing case resemble")));
}

// As a device could return them, from a kernel that does not what ours do.
TEST_F(BundleOfCases, OutputsThatNobodyWroteAndGuardsThatSomebodyWroteFail) {
  ASSERT_EQ(taken_there_and_back("reduce_v1/d256/rows1/nwg1/gauss/s740").status, 0);
  const std::string manifest = read_file(file("manifest.json"));
  // The case has one output: behind its first guard band of 4,096 bytes are the judged elements.
  const std::size_t role = manifest.find("\"role\": \"output\"");
  ASSERT_NE(role, std::string::npos);
  const std::size_t name_at = manifest.find("outputs/", role);
  const std::string name = manifest.substr(name_at, manifest.find('"', name_at) - name_at);
  const std::string whole = read_file(file(name));

  std::string poisoned = whole;
  for (std::size_t i = 4096; i < 4096 + 64; ++i) poisoned[i] = poisoned[i % 4];
  const auto judge_with = [&](const std::string& bytes) {
    write(bytes, "bundle/" + name);
    const auto hex = [](const std::string& text) { return fmt::format("{:016x}", base::digest_of(text)); };
    const std::string results = read_file(file("results.json"));
    write(replaced(results, hex(whole), hex(bytes)), "bundle/results.json");
    const Outcome outcome = judged();
    write(results, "bundle/results.json");
    return outcome;
  };
  const Outcome unwritten = judge_with(poisoned);
  EXPECT_EQ(unwritten.status, 1) << unwritten.output;
  EXPECT_THAT(unwritten.output, HasSubstr("16 never written"));

  std::string overrun = whole;
  overrun[overrun.size() - 4096] = 1;
  const Outcome guards = judge_with(overrun);
  EXPECT_EQ(guards.status, 1) << guards.output;
  EXPECT_THAT(guards.output, HasSubstr("1 word written outside of the output"));
}

// Its finding is a hazard, which a GPU does not report: the outputs are right in the first case and wrong in the other.
TEST_F(BundleOfCases, AKnownHazardIsNeitherMissedNorAFailure) {
  const Outcome outcome = taken_there_and_back(
      "bf16_prefill_v1/b1/h1x1/q7/kv1r0/random1x1/low/drift/s618 bf16_prefill_v1/b1/h1x1/q16/kv777r0/row1x1/low/scale1/cancel/s758");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("1 passed, 0 failed, 1 failed as known"));
}

TEST_F(BundleOfCases, ReportsSayWhereItWasExecuted) {
  ASSERT_EQ(taken_there_and_back(kCase).status, 0);
  const std::string ledger = "--ledger '" + (folder_ / "ledger.sqlite").string() + "'";
  const std::string junit = (folder_ / "junit.xml").string();
  ASSERT_EQ(run_assay("judge '" + bundle().string() + "' " + ledger + " --junit '" + junit + "'").status, 0);
  EXPECT_THAT(read_file(junit), HasSubstr("elsewhere: Mock"));
  for (const char* format : {"text", "markdown", "json"})
    EXPECT_THAT(run_assay("report " + ledger + " --format " + format).output, HasSubstr("elsewhere: Mock")) << format;
}

TEST_F(BundleOfCases, AFolderThatHasFilesIsNotOverwritten) {
  ASSERT_EQ(exported(kCase).status, 0);
  const Outcome again = exported(kCase);
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.output, HasSubstr("exists already"));
}

TEST_F(BundleOfCases, FastMathIsAskedForAndNamed) {
  ASSERT_EQ(exported(kCase + " --math fast").status, 0);
  ASSERT_EQ(executed().status, 0);
  EXPECT_THAT(read_file(folder_ / "calls"), HasSubstr("setFastMathEnabled:YES"));
  EXPECT_THAT(judged().output, AllOf(HasSubstr("(mock), fast math"), HasSubstr("\npasses under fast math: yes, largest error/bound ")));
}

}  // namespace
}  // namespace assay::tests::bundles_test
