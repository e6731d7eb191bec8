// What a variant.toml declares of itself, from the file to the exit status: weaker storage, known findings.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::declarations_test {
namespace {

using namespace ::testing;

// A copy of tq4_v1 whose accumulator is rounded to half after every chunk.
class CliDeclarations : public Cli {
 protected:
  std::string half_kernel(const std::string& declarations) const {
    std::string text = source_of("tq4_v1");
    const std::string sum = "so4[lane + SIMD_WIDTH * i] += lo[i];";
    const std::size_t place = text.find(sum);
    EXPECT_NE(place, std::string::npos);
    text.replace(place, sum.size(), "so4[lane + SIMD_WIDTH * i] = float4(half4(so4[lane + SIMD_WIDTH * i] + lo[i]));");
    return described(text, declarations);
  }
  std::string right_kernel(const std::string& declarations) const { return described(source_of("tq4_v1"), declarations); }

  std::string described(const std::string& kernel, const std::string& declarations) const {
    write(kernel);
    write("family = \"tq4\"\nsource = \"kernel.metal\"\n" + declarations, "variant.toml");
    return " --ledger none --kernel " + folder_.string();
  }
};

const std::string kHalf = "[accuracy]\naccumulator = \"half\"\nreason = \"the accumulator of the prototype\"\n";
const std::string kCase = "run tq4_v1/d256/h2x1/kv257c257/ring0/nomask/nwg1/gauss/s1";
const std::string kLong = "run tq4_v1/d256/h1x1/kv60000c60000/ring0/nomask/nwg1/drift/s1";

TEST_F(CliDeclarations, AHalfAccumulatorPassesIfDeclaredAndTheReportSaysSo) {
  const Outcome declared = run_assay(kCase + half_kernel(kHalf));
  EXPECT_EQ(declared.status, 0) << declared.output;
  EXPECT_THAT(declared.output, HasSubstr("declared accuracy of "));
  EXPECT_THAT(declared.output, HasSubstr("accumulator half (the accumulator of the prototype)"));
  EXPECT_EQ(run_assay(kCase + half_kernel("")).status, 1);
  EXPECT_THAT(run_assay(kCase + right_kernel("")).output, Not(HasSubstr("declared accuracy")));
}

// A copy of tq4_v1 that rounds dequantised keys and values before their products.
TEST_F(CliDeclarations, KeysAndValuesInHalfPassIfDeclaredAndTheRunPointsThere) {
  const std::string kTies = "run tq4_v1/d256/h4x2/kv33c33/ring0/nomask/nwg1/query_ties/s1";
  std::string text = source_of("tq4_v1");
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"dot(centroids(k[lane + SIMD_WIDTH * i]) * sn, mq[i])",
                                            "dot(float4(half4(centroids(k[lane + SIMD_WIDTH * i]) * sn)), mq[i])"},
        {"(v_norms[first + t] * norm_scale) * ss[t];", "ss[t], sn = v_norms[first + t] * norm_scale;"},
        {"lo[i] += centroids(v[lane + SIMD_WIDTH * i]) * w;", "lo[i] += float4(half4(centroids(v[lane + SIMD_WIDTH * i]) * sn)) * w;"}}) {
    const std::size_t place = text.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    text.replace(place, from.size(), to);
  }
  const Outcome declared =
      run_assay(kTies + described(text, "[accuracy]\nkeys = \"half\"\nvalues = \"bfloat\"\nreason = \"tiles in half\"\n"));
  EXPECT_EQ(declared.status, 0) << declared.output;
  EXPECT_THAT(declared.output, HasSubstr("keys half, values bf16 (tiles in half)"));
  const Outcome silent = run_assay(kTies + described(text, ""));
  EXPECT_EQ(silent.status, 1) << silent.output;
  EXPECT_THAT(silent.output, HasSubstr("A kernel that stores or converts so declares it in [accuracy]"));
  EXPECT_THAT(run_assay(kTies + described(text, "[accuracy]\nscores = \"half\"\nreason = \"x\"\n")).output,
              HasSubstr("unknown key 'scores' (did you mean 'stores'?) in [accuracy]; accepted: dot_depth, accumulator, accumulator_keys, "
                        "stores, merge_store, "
                        "reason, keys, values"));
}

// A kernel that misses its bounds by what its storage explains is told the key that would declare it.
TEST_F(CliDeclarations, WhatWeakerStorageExplainsIsNamed) {
  struct Row {
    std::string variant, from, to;
    std::vector<std::string> named;  // among others that explain as much
    std::vector<std::string> refuted;
  };
  const std::string keys = "keys = \"half\"", values = "values = \"half\"", stores = "stores = [\"half\"]";
  for (const auto& [variant, from, to, named, refuted] : std::vector<Row>{
           {"tq4_v1",
            "dot(centroids(k[lane + SIMD_WIDTH * i]) * sn, mq[i])",
            "dot(float4(half4(centroids(k[lane + SIMD_WIDTH * i]) * sn)), mq[i])",
            {keys},
            {values, stores}},
           {"tq4_v1", "dst4[row * D4 + i] = so4[i] * inv;", "dst4[row * D4 + i] = float4(half4(so4[i] * inv));", {stores}, {keys}},
           {"tq4_v1",
            "lo[i] += centroids(v[lane + SIMD_WIDTH * i]) * w;",
            "lo[i] += float4(half4(centroids(v[lane + SIMD_WIDTH * i]) * (v_norms[first + t] * norm_scale))) * ss[t];",
            {values},
            {keys, stores}},
           {"attn_simd_v1", "static_cast<float>(k[j * k_seq_stride + d])", "static_cast<float>((half)k[j * k_seq_stride + d])", {keys}, {}},
           {"attn_simd_v1",
            "weight = fast::exp(score - next);",
            "weight = float(half(fast::exp(score - next)));",
            {"weights = \"half\""},
            {}},
       }) {
    write(replaced_once(source_of(variant), from, to));
    write(read_file(kRoot / "kernels/variants" / variant / "variant.toml"), "variant.toml");
    const Outcome outcome = run_assay("run smoke --shard 1/3 --ledger none --kernel " + folder_.string());
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    for (const std::string& key : named) EXPECT_THAT(outcome.output, HasSubstr(" with " + key)) << to;
    for (const std::string& key : refuted) EXPECT_THAT(outcome.output, Not(HasSubstr(" with " + key))) << to;
  }
}

// No storage explains a key that is left out, a wrong scale of one mask, or a large error.
TEST_F(CliDeclarations, AMistakeInLogicIsNotCalledStorage) {
  for (const auto& [from, to] : {std::pair{"partial = simd_sum(partial);", "partial = simd_sum(partial) * (t == 30 ? 1.01f : 1.0f);"},
                                 std::pair{"const short live = short(min(uint(C), n - first));",
                                           "const short live = short(min(uint(C), n - first)) - (n > 40 && first == 0 ? 1 : 0);"}}) {
    write(replaced_once(source_of("tq4_v1"), from, to));
    write("family = \"tq4\"\nsource = \"kernel.metal\"\n[limits]\nblock_norms = [0]\n", "variant.toml");
    const Outcome outcome = run_assay("run smoke --ledger none --kernel " + folder_.string());
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_THAT(outcome.output, Not(HasSubstr("weaker storage"))) << to;
  }
}

// The console's headline, the text report and JUnit, of the same run.
TEST_F(CliDeclarations, WhatIsDeclaredStandsInEveryReport) {
  const std::string ledger = (folder_ / "ledger.sqlite").string();
  const std::string junit = (folder_ / "junit.xml").string();
  const auto run = [&](const std::string& declarations) {
    const std::string kernel = half_kernel(declarations);
    return run_assay("run smoke --fail-fast --ledger " + ledger + " --junit " + junit + kernel.substr(kernel.find(" --kernel")));
  };
  const std::string declared = run(kHalf + "[limits]\nnwg = [1]\n").output;
  EXPECT_THAT(declared, ContainsRegex("[0-9]+ cases?: [^;]*, [0-9]+ outside of \\[limits\\]; "));
  const std::string text = run_assay("report --ledger " + ledger).output;
  EXPECT_THAT(text, ContainsRegex("^run 1: [^;]*, [0-9]+ outside of \\[limits\\]; "));
  EXPECT_THAT(run_assay("report --list --ledger " + ledger).output, HasSubstr(" outside of [limits]; "));
  for (const std::string& report : {declared, text, read_file(junit), run_assay("report --format junit --ledger " + ledger).output}) {
    EXPECT_THAT(report, HasSubstr("accumulator half (the accumulator of the prototype)"));
    EXPECT_THAT(report, HasSubstr("outside of [limits]"));
    EXPECT_THAT(report, HasSubstr(" elements compared, "));
  }

  const std::string silent = run("").output;
  for (const std::string& report : {silent, run_assay("report --ledger " + ledger).output, read_file(junit)}) {
    EXPECT_THAT(report, Not(HasSubstr("accumulator half")));
    EXPECT_THAT(report, Not(HasSubstr("outside of [limits]")));
  }
}

TEST_F(CliDeclarations, AnAccumulatorThatStopsGrowingFailsInSpiteOfIt) {
  EXPECT_EQ(run_assay(kLong + half_kernel(kHalf)).status, 1);
  EXPECT_EQ(run_assay(kLong + right_kernel("")).status, 0);
}

TEST_F(CliDeclarations, FamiliesWithoutTermsForItRefuse) {
  write(source_of("fwht_v1"));
  write("family = \"fwht\"\nsource = \"kernel.metal\"\n" + kHalf, "variant.toml");
  const Outcome outcome = run_assay("run smoke --ledger none --kernel " + folder_.string());
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("accumulator half"));

  const Outcome merged = run_assay(kCase + half_kernel("[accuracy]\nmerge_store = \"bf16\"\nreason = \"x\"\n"));
  EXPECT_EQ(merged.status, 2) << merged.output;
  EXPECT_THAT(merged.output, HasSubstr("merge_store is only for families with an axis of simdgroups; tq4 has none"));
}

TEST_F(CliDeclarations, AKnownFindingIsASuccessThatTheHeadlineShows) {
  const std::string finding = "[[known_finding]]\nwhen = \"n > 32\"\nshows = \"error/bound > 1\"\nsee = \"FINDINGS.md#half\"\n";
  const Outcome known = run_assay(kCase + half_kernel(finding));
  EXPECT_EQ(known.status, 4) << known.output;
  EXPECT_THAT(known.output, HasSubstr("1 failed as known (1 FINDINGS.md#half)"));
  EXPECT_THAT(known.output, HasSubstr("; 0 elements compared, 0 faulty; in known failures 512 compared, "));
  EXPECT_THAT(known.output, Not(HasSubstr("512 compared, 0 faulty")));
  EXPECT_THAT(run_assay(kCase + right_kernel("")).output, Not(HasSubstr("known to fail")));

  const Outcome struck = run_assay(kCase + right_kernel(finding));
  EXPECT_EQ(struck.status, 1) << struck.output;
  EXPECT_THAT(struck.output, HasSubstr("no longer occurs: remove it"));

  const Outcome outside = run_assay(kCase + half_kernel("[[known_finding]]\nwhen = \"n > 1000\"\nshows = \"failed\"\n"));
  EXPECT_EQ(outside.status, 1) << outside.output;
  EXPECT_THAT(outside.output, HasSubstr("`when` does not include this case"));
}

// Every case that docs/FINDINGS.md names fails as the finding under whose heading it stands, and its repaired successor passes it.
TEST_F(CliDeclarations, TheCasesOfTheFindingsFailAsTheyAreDescribed) {
  const std::string text = read_file(kRoot / "docs/FINDINGS.md");
  const std::regex part("\n## ([0-9]+)\n|`([a-z0-9_]+_v1/[^` ]+/s[0-9]+)`");
  std::map<std::string, std::set<std::string>> cases;
  std::string number;
  for (std::sregex_iterator match(text.begin(), text.end(), part), end; match != end; ++match) {
    if ((*match)[1].matched)
      number = (*match)[1];
    else
      cases[number].insert((*match)[2]);
  }
  EXPECT_EQ(cases.size(), 7);
  for (const auto& [finding, names] : cases) {
    const Outcome outcome = run_assay(fmt::format("run {} --ledger none", fmt::join(names, " ")));
    EXPECT_EQ(outcome.status, 4) << outcome.output;
    EXPECT_THAT(outcome.output,
                HasSubstr(fmt::format("0 passed, 0 failed, {0} failed as known ({0} docs/FINDINGS.md#{1});", names.size(), finding)));
    const std::string repaired = std::regex_replace(fmt::format("run {} --ledger none", fmt::join(names, " ")), std::regex("_v1/"), "_v2/");
    EXPECT_THAT(run_assay(repaired).output, HasSubstr(fmt::format("{} passed, 0 failed;", names.size())));
  }
}

TEST_F(CliDeclarations, AFindingThatMatchesNoCaseOfASuiteIsReported) {
  const std::string finding = "[[known_finding]]\nwhen = \"n > 1000000000\"\nshows = \"failed\"\n";
  const std::string note = "variant.toml:3 (when n > 1000000000) matches none of the selected cases";
  EXPECT_THAT(run_assay("run smoke --fail-fast" + half_kernel(finding)).output, HasSubstr(note));
  for (const char* quiet : {"run smoke --fail-fast --shard 1/2", "run tq4_v1/d256/h2x1/kv257c257/ring0/nomask/nwg1/gauss/s1"})
    EXPECT_THAT(run_assay(quiet + half_kernel(finding)).output, Not(HasSubstr("matches none"))) << quiet;
  const std::string matching = "[[known_finding]]\nwhen = \"n > 0\"\nshows = \"failed\"\n";
  EXPECT_THAT(run_assay("run smoke --fail-fast" + half_kernel(matching)).output, Not(HasSubstr("matches none")));
}

// Two copies of fwht_v1 that scale twice, and thus fail at once; the older one declares what no case is about.
TEST_F(CliDeclarations, OfASupersededVariantTheGateIsSmokeAndSaysSo) {
  const std::filesystem::path ours = kRoot / "kernels/variants/fwht_v1/kernel.metal";
  const std::string finding = "superseded_by = \"new\"\n[[known_finding]]\nwhen = \"num_heads > 1000000\"\nshows = \"failed\"\n";
  std::string kernel = read_file(ours);
  const std::size_t place = kernel.find("rsqrt(");
  ASSERT_NE(place, std::string::npos);
  kernel.replace(place, 6, "2 * rsqrt(");
  for (const auto& [name, declarations] : {std::pair{"old", finding}, std::pair{"new", std::string()}}) {
    std::filesystem::create_directories(folder_ / name);
    write(kernel, name + std::string("/kernel.metal"));
    write("family = \"fwht\"\nsource = \"kernel.metal\"\n" + declarations, name + std::string("/variant.toml"));
  }
  const std::string variants = " --variants " + folder_.string();
  const std::string run = " --fail-fast --ledger none" + variants;
  const std::string note = "note: old is superseded by new, so its gate contains only smoke; 'old/*' selects all of its gate cases";

  const std::string gate = run_assay("run gate" + run).output;
  EXPECT_THAT(gate, AllOf(HasSubstr(note), Not(HasSubstr("matches none"))));
  EXPECT_THAT(run_assay("run smoke" + run).output, AllOf(Not(HasSubstr("superseded")), Not(HasSubstr("matches none"))));
  EXPECT_THAT(run_assay("run full" + run).output,
              AllOf(Not(HasSubstr("superseded")), HasSubstr("matches none of the selected cases of old")));

  const std::string coverage = run_assay("list gate --coverage" + variants).output;
  EXPECT_THAT(coverage, ContainsRegex("new +[0-9]+ cases: triples of values ([0-9]+)/"));
  EXPECT_THAT(coverage, ContainsRegex("old +superseded by new: [0-9]+ cases: [^\n]*; not met: "));
  EXPECT_THAT(run_assay("list" + variants).output, ContainsRegex("old +fwht +superseded by new"));
}

TEST_F(CliDeclarations, AFindingThatCannotBeReadStopsEverythingBeforeItRuns) {
  const Outcome outcome = run_assay(kCase + half_kernel("\n[[known_finding]]\nwhen = \"nsg == 4\"\nshows = \"nan\"\n"));
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("variant.toml:4: [[known_finding]] when"));
  EXPECT_THAT(outcome.output, HasSubstr("family tq4 has no axis 'nsg'"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("1 case")));
}

}  // namespace
}  // namespace assay::tests::declarations_test
