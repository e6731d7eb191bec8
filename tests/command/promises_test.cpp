// Duties of a kernel beyond its own output, and what is reported once before any case runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::promises_test {
namespace {

using namespace ::testing;

class CliPromises : public Cli {};

const std::string kFamily = " --family tq4 --set temperature=1";
const std::string kIdleCase = "run kernel/d256/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1 --set tile=32" + kFamily + " --kernel ";

TEST_F(CliPromises, AWorkgroupWithoutKeysLeavesNeutralPartials) {
  const Outcome right = run_assay(kIdleCase + write(independent_kernel()));
  EXPECT_EQ(right.status, 0) << right.output;

  // Each of these merges to the same attention, as workgroups 2 and 3 have no weight.
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"tail[1] = state.s == 0 ? -INFINITY : state.m;", "saw no key (S = 0; kv_len 33) and must write M = -FLT_MAX/2, but wrote -inf"},
      {"tail[1] = state.s == 0 ? -65504.0f : state.m;", "saw no key (S = 0; kv_len 33) and must write M = -FLT_MAX/2, but wrote -65504"},
      {"if (state.s != 0) tail[1] = state.m;", "must write M even if it sees no key, but did not write it"},
      {"if (state.s == 0) { tail[0] = 1; tail[1] = -65504.0f; } else tail[1] = state.m;",
       "saw no key (its M is below every score; kv_len 33) and must write S = 0, but wrote 1"},
  };
  for (const auto& [planted, text] : mistakes) {
    const Outcome outcome = run_assay(kIdleCase + with("tail[1] = state.m;", planted));
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("workgroup 2 of head 0 " + text));
  }
}

// The contract leaves the deal of keys to the kernel: tiles of other sizes, in pieces instead of in turn.
TEST_F(CliPromises, AnyDealOfKeysToWorkgroupsPasses) {
  const std::string deal = "for (uint first = w * params.tile; first < params.kv_seq_len; first += params.nwg * params.tile) {";
  const std::string pieces =
      "const uint share = (params.kv_seq_len + params.nwg - 1) / params.nwg;\n"
      "  for (uint first = w * share; first < min((w + 1) * share, params.kv_seq_len); first += share) {";
  const std::string last_first =
      "for (uint first = (params.nwg - 1 - w) * params.tile; first < params.kv_seq_len; first += params.nwg * params.tile) {";
  const std::string cases = "run smoke --shard 1/4" + kFamily;
  for (const auto& [tile, kernel] : std::vector<std::pair<std::string, std::string>>{
           {"16", write(independent_kernel(), "sixteen.metal")},
           {"1", write(independent_kernel(), "one.metal")},
           {"32", write(replaced_once(independent_kernel(), deal, last_first), "last.metal")},
           {"32", write(replaced_once(replaced_once(independent_kernel(), deal, pieces), "min(first + params.tile, params.kv_seq_len)",
                                      "min(first + share, params.kv_seq_len)"),
                        "pieces.metal")}}) {
    const Outcome outcome = run_assay(cases + " --set tile=" + tile + " --kernel " + kernel);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
  }
}

// Hidden chunks are not read, unless the description says that they are.
TEST_F(CliPromises, OnlyAKernelThatSaysSoMayReadHiddenRows) {
  write(replaced_once(source_of("tq4_v2"), "if (simd_max(mask) <= kMasked) {", "if (first >= n) {"));
  const std::string cases = "d256/h2x1/kv257c257/ring0/win32/nwg4/sf1/poisoned/s1";
  const std::string description = "family = \"tq4\"\nsource = \"kernel.metal\"\n[limits]\nblock_norms = [1]\n";
  const std::string run = "run " + folder_.filename().string() + "/" + cases + " --ledger none --kernel " + folder_.string();
  write(description, "variant.toml");
  const Outcome silent = run_assay(run);
  EXPECT_EQ(silent.status, 1) << silent.output;
  EXPECT_THAT(silent.output, HasSubstr("NaN"));
  write("reads_hidden = \"finite\"\n" + description, "variant.toml");
  const Outcome declared = run_assay(run);
  EXPECT_EQ(declared.status, 0) << declared.output;
  EXPECT_THAT(declared.output, AllOf(HasSubstr("declares reads_hidden = \"finite\""), Not(HasSubstr("weaker accuracy"))));
  const Outcome strict = run_assay(run + " --strict");
  EXPECT_NE(strict.status, 0) << strict.output;
  EXPECT_THAT(strict.output, HasSubstr("reads_hidden = \"finite\" does not count"));
  write("reads_hidden = \"nan\"\n" + description, "variant.toml");
  EXPECT_THAT(run_assay(run).output, HasSubstr("variant.toml:1: 'reads_hidden' is 'nan'; accepted: finite"));
  write("reads_hidden = \"finite\"\nfamily = \"fwht\"\nsource = \"kernel.metal\"\n", "variant.toml");
  EXPECT_THAT(run_assay(run).output, HasSubstr("family fwht hides no key"));
}

// A workgroup that gave hidden keys the weight 0 has S = 0 and the maximum of their masked scores, which no merge notices.
TEST_F(CliPromises, AKernelThatReadsHiddenRowsMayLeaveTheirMaximum) {
  const std::string tq4 = "d256/h2x1/kv257c257/ring0/win32/nwg4/poisoned/s1";
  const std::string tqhb = "d256/b5/h2x1/kv257c257/ring0/win32/nwg4/nsg1/sf16/poisoned/s1";
  for (const auto& [variant, limit, test_case] :
       {std::tuple("tq4_v1", "block_norms = [0]", tq4), std::tuple("tqhb_v1", "nsg = [1]\nfuse_fwht_pre = [0]", tqhb)}) {
    std::string source = replaced_once(source_of(variant), "            continue;\n", "");
    source = replaced_once(source, "const float vs = exp(score - M);", "const float vs = masked ? 0.0f : exp(score - M);");
    const std::string family = std::string(variant).substr(0, std::string(variant).find('_'));
    write("reads_hidden = \"finite\"\nfamily = \"" + family + "\"\nsource = \"kernel.metal\"\n[limits]\n" + limit + "\n", "variant.toml");
    const std::string run = "run " + folder_.filename().string() + "/" + test_case + " --ledger none --kernel " + folder_.string();
    write(source);
    for (const char* policy : {"native", "checked"}) {
      const Outcome right = run_assay(run + " --policy " + policy);
      EXPECT_EQ(right.status, 0) << right.output;
    }
    const std::string left = "+ 1] = M;";
    write(replaced_once(source, left, "+ 1] = S == 0.0f ? 50.0f : M;"));
    EXPECT_EQ(run_assay(run).status, 0);
    // Each of these takes its weight from what others saw, or is no number to compare with.
    for (const char* wrong : {"+ 1] = S == 0.0f ? 500.0f : M;", "+ 1] = S == 0.0f ? -INFINITY : M;", "+ 1] = S == 0.0f ? INFINITY : M;"}) {
      write(replaced_once(source, left, wrong));
      const Outcome faulty = run_assay(run);
      EXPECT_EQ(faulty.status, 1) << faulty.output;
      EXPECT_THAT(faulty.output, HasSubstr("gave no key a weight (S = 0; kv_len 257) and must write a finite M of at most "));
    }
  }
}

TEST_F(CliPromises, AValueThatDoesNotFitIsReportedOnceBeforeAnyCase) {
  for (const char* value : {"70000", "-1", "1.5"}) {
    const Outcome outcome = run_assay("run smoke --set tile=" + std::string(value) + kFamily + " --kernel " + write(independent_kernel()));
    EXPECT_EQ(outcome.status, 2) << outcome.output;
    for (const char* word : {"kernel.metal:", "decode_tq_256", "'tile'", "ushort", value}) EXPECT_THAT(outcome.output, HasSubstr(word));
    EXPECT_THAT(outcome.output, Not(HasSubstr("rejected")));
  }
}

TEST_F(CliPromises, AFieldThatIsAStructIsReportedOnceBeforeAnyCase) {
  const std::string kernel = with("  float temperature;", "  struct { uint a; } inner;\n  float temperature;");
  const Outcome outcome = run_assay("run smoke --set tile=32 --set inner=0" + kFamily + " --kernel " + kernel);
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("'inner'"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("rejected")));
}

TEST_F(CliPromises, AdditionalFieldsShareALine) {
  const Outcome outcome = run_assay(kIdleCase + write(independent_kernel()));
  EXPECT_THAT(outcome.output, HasSubstr("struct Args has the additional field tile, temperature"));
}

TEST_F(CliPromises, AFileWithoutAnyKernelIsCalledThat) {
  const Outcome outcome = run_assay("run smoke --family tq4 --kernel " + write("// nothing here\n"));
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("kernel.metal: not a kernel of family tq4: the file has no kernel function"));
}

// Nothing of head dimension 384 exists, so nothing is said of a reduce either.
TEST_F(CliPromises, ARefusedHeadDimensionSaysNothingOfAReduce) {
  const Outcome outcome = run_assay("run kernel/d384/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1" + kFamily + " --set tile=32 --kernel " +
                                    write(independent_kernel()));
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("head_dim = 384"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("its own reduce")));
}

TEST_F(CliPromises, AStageThatCannotBeJudgedHasNoFigure) {
  const Outcome outcome = run_assay(kIdleCase + with("tail[1] = state.m;", "tail[1] = NAN;"));
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("reduce of reduce_v1: not judged (partials hold nan"));
}

}  // namespace
}  // namespace assay::tests::promises_test
