// Under --strict, remarks fail a case; similar ones are one line; and accesses that native sees without their line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command.h"

namespace assay::tests::remarks_test {
namespace {

using namespace ::testing;

std::size_t count_of(std::string_view what, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

std::size_t line_of(const std::string& text, const std::string& what) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, text.find(what)), '\n'));
}

class CliRemarks : public TestInFolder {
 protected:
  // fwht with more code before the scaling.
  std::string with_code(const std::string& code) {
    text_ =
        replaced_once(source_of("fwht_v1"), "    const float scale = rsqrt(float(D));", code + "    const float scale = rsqrt(float(D));");
    return write(text_, "mine.metal");
  }
  std::string run(const std::string& kernel, const std::string& options, const std::string& cases = "smoke") {
    outcome_ = run_assay("run " + cases + " --family fwht --ledger '" + ledger() + "' --kernel '" + kernel + "' " + options);
    return outcome_.output;
  }
  std::string ledger() const { return (folder_ / "l.sqlite").string(); }

  std::string text_;
  Outcome outcome_;
};

const std::string kRace = R"(    threadgroup float shared[32];
    shared[lane] = x[0];
    x[0] = shared[lane ^ 1] == 0.5f ? x[0] : x[0] + 0.0f;
)";
const std::string kOrdered = R"(    threadgroup float shared[32];
    shared[lane] = x[0];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    x[0] = shared[lane ^ 1] == 0.5f ? x[0] : x[0] + 0.0f;
)";
// All lanes write the same.
const std::string kEqual = R"(    threadgroup float shared[1];
    shared[0] = 1.0f;
)";

TEST_F(CliRemarks, FailUnderStrictAlone) {
  const std::string kernel = with_code(kRace);
  EXPECT_THAT(run(kernel, "--policy checked"), AllOf(HasSubstr("100 cases: 100 passed"), StartsWith("remark: ")));
  EXPECT_EQ(outcome_.status, 0);
  const std::string strict = run(kernel, "--strict");
  EXPECT_EQ(outcome_.status, 1) << strict;
  EXPECT_THAT(strict,
              AllOf(HasSubstr("note: strict: policy checked, and a case with a remark fails"), HasSubstr("100 cases: 0 passed, 100 failed"),
                    HasSubstr("a remark, which fails a case under --strict: "), HasSubstr("race within a simdgroup"),
                    HasSubstr("--trust none --policy checked"), HasSubstr("policy checked, schedule")));
  EXPECT_EQ(count_of("\nremark: ", strict), 1U) << "of all functions and cases\n" << strict;
  EXPECT_THAT(strict, ContainsRegex("race within a simdgroup in fwht_[a-z0-9_]+ and [0-9]+ other functions: .* times in 100 cases\\)"));
  EXPECT_LE(count_of("\nhazard", strict), 1U) << "further cases with the same remark are counted\n" << strict;
  const std::size_t replay = strict.find("assay run mine/");
  const std::string line = strict.substr(replay + 6, strict.find('\n', replay) - replay - 6);
  EXPECT_EQ(run_assay(line + " --ledger none").status, 1) << line;
}

TEST_F(CliRemarks, OfARightKernelAreNone) {
  const std::string strict = run(with_code(kOrdered), "--strict");
  EXPECT_EQ(outcome_.status, 0) << strict;
  EXPECT_THAT(strict, AllOf(HasSubstr("100 cases: 100 passed"), Not(HasSubstr("remark:"))));
}

TEST_F(CliRemarks, AlsoUnorderedEqualWrites) {
  EXPECT_THAT(run(with_code(kEqual), "--strict", "mine/d256/h1/standalone/gauss/s1"), HasSubstr("identical writes"));
  EXPECT_EQ(outcome_.status, 1);
}

TEST_F(CliRemarks, AreOneInEveryReport) {
  run(with_code(kRace), "--strict");
  const std::string report = "report --ledger '" + ledger() + "' --format ";
  const auto document = nlohmann::json::parse(run_assay(report + "json").output);
  ASSERT_THAT(document["remarks"], SizeIs(1));
  EXPECT_EQ(document["remarks"][0]["kind"], "race within a simdgroup");
  EXPECT_EQ(document["remarks"][0]["cases"], 100);
  EXPECT_EQ(document["findings"].size(), 1U) << "cases that fail with one remark are one group";
  EXPECT_EQ(document["run"]["policy"], "checked");
  EXPECT_EQ(count_of("\nremark: ", run_assay(report + "text").output), 1U);
  EXPECT_THAT(run_assay(report + "markdown").output, HasSubstr("### Remarks\n\n- "));
  EXPECT_THAT(run_assay(report + "html").output, HasSubstr("\"remarks\":["));
}

TEST_F(CliRemarks, NeedThePolicyThatSeesThem) {
  for (const char* policy : {"native", "shadow"}) {
    const std::string refused = run(with_code(kRace), std::string("--strict --policy ") + policy);
    EXPECT_EQ(outcome_.status, 2);
    EXPECT_THAT(refused, HasSubstr("--strict needs --policy checked"));
  }
  EXPECT_THAT(run(with_code(kRace), "--trust none --policy checked"), HasSubstr("100 failed")) << "--trust implies --strict";
}

// Behind the 160 bytes, but in the same page.
TEST_F(CliRemarks, ANativeHazardNamesTheLineOnBothEngines) {
  const std::string kernel = with_code("    threadgroup float shared[40];\n    shared[lane + params.num_heads * 9] = 1.0f;\n");
  const std::string line = "mine.metal:" + std::to_string(line_of(text_, "shared[lane + params"));
  for (const char* engine : {"vector", "fibers"}) {
    const std::string output = run(kernel, std::string("--engine ") + engine, "mine/d256/h1/standalone/gauss/s1");
    EXPECT_THAT(output, AllOf(HasSubstr(line + ": invalid access in fwht_"), HasSubstr("(the line is that of policy checked)")));
  }
  const auto document = nlohmann::json::parse(run_assay("report --format json --ledger '" + ledger() + "'").output);
  EXPECT_EQ(document["cases"][0]["hazards"][0]["line"], line_of(text_, "shared[lane + params"));
}

// The guard band of the output: no processor reports that.
TEST_F(CliRemarks, AWriteBesideTheOutputNamesItsLine) {
  const std::string text =
      replaced_once(source_of("tq4_v1"), "dst4[row * D4 + i] = so4[i] * inv;", "dst4[row * D4 + i + 1] = so4[i] * inv;");
  const Outcome outcome =
      run_assay("run mine/d256/h2x1/kv2c2/ring0/nomask/nwg1/gauss/s7 --family tq4 --ledger none --limit block_norms=0 --kernel '" +
                write(text, "mine.metal") + "'");
  EXPECT_EQ(outcome.status, 1);
  const std::string line = "mine.metal:" + std::to_string(line_of(text, "dst4[row * D4 + i + 1]"));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr(line + ": out of bounds in flash_attn_vec_tq_dk256: "),
                                    HasSubstr("4 words written outside of the output"), HasSubstr("(the line is that of policy checked)")));
}

TEST_F(CliRemarks, ANativeHazardNamesNoLineIfItMayBeOneOfTwo) {
  const std::string kernel = with_code(
      "    threadgroup float shared[40];\n    shared[lane + params.num_heads * 9] = 1.0f;\n"
      "    if (lane == 31) shared[lane + params.num_heads * 10] = 2.0f;\n");
  const std::string output = run(kernel, "", "mine/d256/h1/standalone/gauss/s1");
  EXPECT_THAT(output, AllOf(HasSubstr("\n  invalid access in fwht_"), Not(HasSubstr("mine.metal:"))));
  const auto document = nlohmann::json::parse(run_assay("report --format json --ledger '" + ledger() + "'").output);
  EXPECT_EQ(document["cases"][0]["hazards"][0]["line"], 0);
}

}  // namespace
}  // namespace assay::tests::remarks_test
