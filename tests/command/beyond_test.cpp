// What contracts leave out: the suite `negative` tells what a kernel does not do, and a claim of its variant makes that a failure. Each
// case about an omission tells a kernel that does it from one that does not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::beyond_test {
namespace {

using namespace ::testing;

class CliBeyond : public Cli {
 protected:
  // The suite on this kernel, whose variant.toml has further lines at the top.
  Outcome run(const std::string& kernel, const std::string& family, const std::string& top, const std::string& words = "negative",
              const std::string& rest = {}) const {
    write(kernel);
    write(fmt::format("family = \"{}\"\nsource = \"kernel.metal\"\n{}\n{}", family, top, rest), "variant.toml");
    return run_assay(fmt::format("run {} --ledger none --kernel {}", words, folder_.string()));
  }
  [[nodiscard]] std::string name() const { return folder_.filename().string(); }
};

const std::string kOneNorm = "[limits]\nblock_norms = [0]\n";

TEST_F(CliBeyond, AKernelThatIgnoresTheSoftcapIsToldSo) {
  const Outcome silent = run(source_of("tq4_v1"), "tq4", "", "negative", kOneNorm);
  EXPECT_EQ(silent.status, 0) << silent.output;
  EXPECT_THAT(silent.output, AllOf(HasSubstr(name() + " does not apply a softcap (not required by the contract): 3 of 3 cases, the first "),
                                   HasSubstr(", 0 failed, ")));
  EXPECT_THAT(silent.output, Not(HasSubstr("\nfailed ")));

  const Outcome claimed = run(source_of("tq4_v1"), "tq4", "claims = [\"softcap\"]", "negative", kOneNorm);
  EXPECT_EQ(claimed.status, 1) << claimed.output;
  EXPECT_THAT(claimed.output, AllOf(HasSubstr("variant.toml:3: the claim 'softcap' is not true, the kernel does not apply a softcap: "),
                                    HasSubstr(name() + " does not apply a softcap: 3 of 3 cases, the first ")));
  // What is not claimed is still no failure.
  EXPECT_THAT(claimed.output, HasSubstr("from another slot than 0 (not required by the contract)"));
}

TEST_F(CliBeyond, TheGateHasTheCasesOfClaimsAndNoOthers) {
  static_cast<void>(run(source_of("tq4_v1"), "tq4", "claims = [\"softcap@head_dim=512\"]", "smoke", kOneNorm));
  const Outcome listed = run_assay("list gate --kernel " + folder_.string());
  EXPECT_THAT(listed.output, HasSubstr("/d512/h4x4/kv100c100/ring7/causal/nwg2/scale1/gauss/s3/beyond-softcap\n"));
  EXPECT_THAT(listed.output, Not(ContainsRegex("/d256/[^\n]*/beyond-")));
  EXPECT_THAT(listed.output, Not(HasSubstr("/beyond-partial_ring")));
  EXPECT_THAT(run_assay("list smoke --kernel " + folder_.string()).output, Not(HasSubstr("/beyond-")));
}

TEST_F(CliBeyond, KernelsThatDoMoreThanTheContractPassTheirClaims) {
  struct Able {
    std::string variant, family, claim;
    std::vector<std::pair<std::string, std::string>> edits;
    std::string limits = {};
  };
  const std::vector<Able> all = {
      {"tq4_v1",
       "tq4",
       "softcap",
       {{"const float score = fma(qk, params.scale, mask);",
         "float bent = qk * params.scale; if (params.softcap != 0.0f) { bent = params.softcap * tanh(bent / params.softcap); }\n"
         "const float score = bent + mask;"}},
       kOneNorm},
      {"tq4_v1",
       "tq4",
       "partial_ring",
       {{"chunk * C < n; chunk += nwg", "chunk * C < cap; chunk += nwg"},
        {"slot >= n || logical >= n", "slot >= cap || logical >= n"},
        {"short(min(uint(C), n - first))", "short(min(uint(C), cap - first))"},
        {"const float sn = k_norms[first + t] * norm_scale;",
         "if ((first + t - params.ring_start + cap) % cap >= n) { continue; }\nconst float sn = k_norms[first + t] * norm_scale;"},
        {"const float w = (v_norms[first + t] * norm_scale) * ss[t];",
         "if ((first + t - params.ring_start + cap) % cap >= n) { continue; }\nconst float w = (v_norms[first + t] * norm_scale) * "
         "ss[t];"}},
       kOneNorm},
      {"tq4_v1",
       "tq4",
       "below_sentinel",
       {{"const float mask   = masked ? kMasked : 0.0f;", "const float mask   = masked ? -INFINITY : 0.0f;"}},
       kOneNorm},
      {"bf16_vec_v2",
       "bf16_vec",
       "softcap",
       {{"partial * args.scale + sm[2 * c + ty]",
         "(args.logit_softcap == 0.0f ? partial * args.scale : args.logit_softcap * tanh(partial * args.scale / args.logit_softcap)) + "
         "sm[2 * c + ty]"}},
       "[accuracy]\nstores = [\"bf16\"]\nmerge_store = \"bf16\"\nreason = \"as ours\"\n"},
      {"quantize4_v1",
       "quantize",
       "full_cache",
       {{"    device const float * row = src + head * D + lane * E;",
         "    if (slot >= params.cache_capacity) { return; }\n    device const float * row = src + head * D + lane * E;"}},
       "[limits]\nbits = [4]\n"},
      {"reduce_v1", "reduce", "idle_minus_infinity", {{"M = tail[2 * lane + 1];", "M = max(tail[2 * lane + 1], -FLT_MAX / 2);"}}},
  };
  for (const Able& able : all) {
    std::string kernel = source_of(able.variant);
    for (const auto& [from, to] : able.edits) kernel = replaced_once(kernel, from, to);
    const std::string of_claim = fmt::format("'*/beyond-{}'", able.claim);  // of the gate
    const Outcome outcome = run(kernel, able.family, fmt::format("claims = [\"{}\"]", able.claim), of_claim, able.limits);
    EXPECT_EQ(outcome.status, 0) << able.claim << outcome.output;
    EXPECT_THAT(outcome.output, ContainsRegex(fmt::format("{} does [^\n]*: [0-9]+ of [0-9]+ cases", name()))) << able.claim;
    const Outcome unable = run(source_of(able.variant), able.family, fmt::format("claims = [\"{}\"]", able.claim), of_claim, able.limits);
    EXPECT_EQ(unable.status, 1) << able.claim << unable.output;
    EXPECT_THAT(unable.output, HasSubstr(fmt::format("the claim '{}' is not true", able.claim)));
  }
}

// With one workgroup that takes everything, the number of the others has no effect.
TEST_F(CliBeyond, TheSameBitsForEveryNumberOfWorkgroupsAreClaimedAndTried) {
  const std::string claim = "claims = [\"same_bits_for_every_nwg\"]";
  const Outcome dependent = run(source_of("tq4_v1"), "tq4", claim, "'*/beyond-same_bits_for_every_nwg'", kOneNorm);
  EXPECT_EQ(dependent.status, 1) << dependent.output;
  EXPECT_THAT(dependent.output, ContainsRegex("the claim 'same_bits_for_every_nwg' is not true, the kernel does not give the same bits for "
                                              "every nwg: outputs with nwg = [0-9]+ and nwg = [0-9]+ differ in [0-9]+ of [0-9]+ elements"));

  const std::string alone = replaced_once(source_of("tq4_v1"), "for (uint chunk = wg; chunk * C < n; chunk += nwg) {",
                                          "for (uint chunk = 0; wg == 0 && chunk * C < n; ++chunk) {");
  const Outcome independent = run(alone, "tq4", claim, "'*/beyond-same_bits_for_every_nwg'", kOneNorm);
  EXPECT_EQ(independent.status, 0) << independent.output;
  EXPECT_THAT(independent.output, HasSubstr(name() + " does give the same bits for every nwg: 20 of 20 cases"));
}

TEST_F(CliBeyond, TriageFindsTheSmallestCaseOfABrokenClaim) {
  static_cast<void>(run(source_of("tq4_v1"), "tq4", "claims = [\"softcap\"]", "'*/beyond-softcap'", kOneNorm));
  const Outcome outcome = run_assay(
      fmt::format("triage {}/d256/h8x2/kv257c512/ring0/win33/nwg3/scale1/gauss/s2/beyond-softcap --kernel {}", name(), folder_.string()));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("## 1. broken-claim: the kernel does not apply a softcap"),
                                    ContainsRegex("assay run [^ ]*/kv[0-9]c[0-9]/ring0/nomask/nwg1/[^ ]*/beyond-softcap")));
}

TEST_F(CliBeyond, TheSameBitsForEveryOrderOfSimdgroupsAreClaimedAndTried) {
  const std::string claim = "claims = [\"same_bits_for_every_schedule\"]";
  EXPECT_EQ(run(source_of("reduce_v1"), "reduce", claim).status, 0);
  const std::string racing =
      replaced_once(source_of("reduce_v1"), "const float inv = S == 0.0f ? 0.0f : 1.0f / S;",
                    "threadgroup float shared[1]; if (sg == 0 && lane == 0) { shared[0] = S == 0.0f ? 0.0f : 1.0f / S; } const float inv = "
                    "shared[0];");
  const Outcome outcome = run(racing, "reduce", claim);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("the claim 'same_bits_for_every_schedule' is not true"),
                                    HasSubstr("output depends on the order of simdgroups")));
}

TEST_F(CliBeyond, WhatAKernelCannotBeAskedIsSaidAndCannotBeClaimed) {
  const std::string without = replaced_once(replaced_once(source_of("tq4_v1"), "    float softcap;\n", ""), "== 44", "== 40");
  const Outcome silent = run(without, "tq4", "", "negative", kOneNorm);
  EXPECT_EQ(silent.status, 0) << silent.output;
  EXPECT_THAT(silent.output, HasSubstr(name() + " cannot be asked to apply a softcap: the kernel has no field softcap"));
  const Outcome claimed = run(without, "tq4", "claims = [\"softcap\"]", "negative", kOneNorm);
  EXPECT_EQ(claimed.status, 1) << claimed.output;
}

// With one value left there is nothing to compare.
TEST_F(CliBeyond, AClaimThatNoCaseIsAboutIsReported) {
  const Outcome outcome = run(source_of("bf16_vec_v2"), "bf16_vec", "claims = [\"same_bits_for_every_nsg\"]", "gate --shard 1/1",
                              "[limits]\nnsg = [1]\nqueries = [1]\nn_heads = [1]\nkv_len = [1]\n");
  EXPECT_THAT(outcome.output, HasSubstr("note: no case is about the claim 'same_bits_for_every_nsg' of " + name() + ": it is not checked"));
}

TEST_F(CliBeyond, UnknownClaimsAndWordsAreRefusedWithTheAccepted) {
  const Outcome claim = run(source_of("tq4_v1"), "tq4", "claims = [\"sofcap\"]", "negative", kOneNorm);
  EXPECT_EQ(claim.status, 2);
  EXPECT_THAT(claim.output, AllOf(HasSubstr("variant.toml:3: 'claims' contains 'sofcap': unknown claim; accepted: same_bits_as:VARIANT, "
                                            "softcap (apply a softcap), "),
                                  HasSubstr("same_bits_for_every_nwg")));
  const Outcome silent = run(source_of("tq4_v1"), "tq4", "claims = [\"many_heads\"]", "negative", kOneNorm);
  EXPECT_EQ(silent.status, 2);
  EXPECT_THAT(silent.output, HasSubstr("no case can show it"));
  const Outcome word = run_assay("run tq4_v1/d256/h2x1/kv33c33/ring0/nomask/nwg1/gauss/s1/beyond-nothing");
  EXPECT_EQ(word.status, 2);
  EXPECT_THAT(word.output, HasSubstr("'beyond-nothing' is unknown; accepted: beyond-softcap, "));
  // Without the word, the launch code refuses what the contract does.
  EXPECT_THAT(run_assay("run tq4_v1/d256/h2x1/kv20c40/ring5/nomask/nwg1/gauss/s1 --ledger none").output, HasSubstr("rejected"));
}

TEST_F(CliBeyond, ReportsHaveTheStatementsAndWhatNoCaseDoes) {
  const std::string ledger = (folder_ / "ledger.sqlite").string();
  const Outcome outcome = run_assay("run tq4_v1/d256/h2x1/kv33c33/ring0/nomask/nwg1/scale1/gauss/s1/beyond-softcap --ledger " + ledger +
                                    " --junit " + (folder_ / "junit.xml").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  const std::string statement = "tq4_v1 does not apply a softcap (not required by the contract): 1 of 1 case, the first tq4_v1/d256";
  EXPECT_THAT(read_file(folder_ / "junit.xml"), AllOf(HasSubstr("skipped type=\"not required\""), HasSubstr("failures=\"0\"")));
  const auto report = [&](const std::string& format) { return run_assay("report --format " + format + " --ledger " + ledger).output; };
  EXPECT_THAT(report("json"), AllOf(HasSubstr(statement), HasSubstr("\"status\": \"not required\""), HasSubstr("\"id\": \"many_heads\""),
                                    HasSubstr("\"failures\": 0")));
  EXPECT_THAT(report("markdown"), AllOf(HasSubstr("### Beyond the contract"), HasSubstr("What no case of the gate of tq4 does"),
                                        HasSubstr("There are at most 80 query heads.")));
  EXPECT_THAT(report("html"), AllOf(HasSubstr(statement), HasSubstr("There are at most 80 query heads.")));
  EXPECT_THAT(run_assay("list --family tq4").output, HasSubstr("no case     There are at most 80 query heads."));
}

}  // namespace
}  // namespace assay::tests::beyond_test
