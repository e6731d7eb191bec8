// What the command says when it cannot do what it was asked for: what is wrong, where, and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::messages_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

const std::string kCase = "fwht_v1/d256/h1/undo/gauss/s1";

TEST(CliMessages, AWordThatIsNoCommandIsNamedWithThoseThereAre) {
  const Outcome typo = run_assay("shwo " + kCase);
  EXPECT_EQ(typo.status, 2);
  EXPECT_THAT(typo.output,
              AllOf(HasSubstr("assay: 'shwo' is not a command (did you mean 'show'?)"), HasSubstr("gate, run, watch, show, explain")));
  const Outcome unlike = run_assay("bogus");
  EXPECT_EQ(unlike.status, 2);
  EXPECT_THAT(unlike.output, AllOf(HasSubstr("'bogus' is not a command; the commands are gate, run"), Not(HasSubstr("did you mean")),
                                   HasSubstr("`assay --help`")));
  EXPECT_EQ(run_assay("--bogus").status, 2);
  const Outcome help = run_assay("run --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.output, HasSubstr("--schedule"));
}

// Every kind of name that a user types.
TEST(CliMessages, AMisspeltWordIsToldWithTheOneThatIsMeant) {
  const std::string kernel = " --family tq4 --kernel " + (kRoot / "tests/kernels/independent_tq4.metal").string();
  for (const auto& [arguments, hint] : std::vector<std::pair<std::string, std::string>>{
           {"run --family fwth", "unknown family 'fwth' (did you mean 'fwht'?)"},
           {"run --kernel x.metal --family fwth", "no such kernel"},
           {"run smok", "'smok' (did you mean 'smoke'?) is not a suite"},
           {"compare fwht_v1 fwht_v1 --suite smkoe", "unknown suite 'smkoe' (did you mean 'smoke'?)"},
           {"run fhwt_v1/d256/h1/undo/gauss/s1", "'fhwt_v1' (did you mean 'fwht_v1'?) is not a variant"},
           {"run 'fhwt_v1/*'", "no case of the gate matches 'fhwt_v1/*' (did you mean 'fwht_v1'?)"},
           {"compare fwht_v1 fwht_v9", "'fwht_v9' is not a variant, file or directory (did you mean 'fwht_v1'?)"},
           {"run fwht_v1/d256/h1/undo/gaus/s1", "'gaus' is unknown (did you mean 'gauss'?)"},
           {"run fwht_v1/d256/g1/undo/gauss/s1", "'g1' is unknown (did you mean 'h1'?)"},
           {"run fwht_v1/d256/h1/undu/gauss/s1", "'undu' is unknown (did you mean 'undo'?)"},
           {"list --limit head_dm=256" + kernel, "has no such axis (did you mean 'head_dim'?)"},
           {"run smoke --famly fwht", "--famly (did you mean '--family'?)"},
           {"run smoke --polcy=checked", "--polcy (did you mean '--policy'?)"},
           {"run smoke --policy chekced", "'chekced' is none of native, checked, shadow (did you mean 'checked'?)"},
           {"report --format jsn", "'jsn' is none of text, junit, html, markdown, json, sarif, github (did you mean 'json'?)"},
       }) {
    const Outcome outcome = run_assay(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_THAT(outcome.output, HasSubstr(hint)) << arguments;
  }
}

TEST(CliMessages, TheMeantOptionComesBeforeAdvice) {
  const std::string text = run_assay("run --famly fwht").output;
  EXPECT_THAT(text, HasSubstr("--famly (did you mean '--family'?)\n"));
  EXPECT_LT(text.find("did you mean"), text.find("Run with --help")) << text;
}

class CliDash : public Cli {};

TEST_F(CliDash, IsNoFileOfThatName) {
  const std::string in = "cd '" + folder_.string() + "' && '" + ASSAY_BINARY_DIR + "/bin/assay' ";
  const std::string run = "run fwht_v1/d256/h1/undo/gauss/s1 --ledger none ";
  for (const std::string& arguments :
       {run + "--github -", run + "--json -", run + "--sarif -", run + "--markdown -", run + "--junit -", run + "--html -",
        std::string("triage fwht_v1/d256/h1/undo/gauss/s1 -o -"), std::string("compare fwht_v1 fwht_v1 --json -")}) {
    const Outcome outcome = run_command(in + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_THAT(outcome.output, HasSubstr("'-' is not standard output here")) << arguments;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "-"));
}

TEST(CliMessages, ControlCharactersAreWrittenOut) {
  const Outcome command = run_assay("\"$(printf 'x\\033[31mred\\302\\233\\377')\"");
  EXPECT_EQ(command.status, 2);
  EXPECT_THAT(command.output, AllOf(HasSubstr("'x\\x1b[31mred\\u009b\\xff'"), Not(HasSubstr("\x1b")), Not(HasSubstr("\xff"))));
  const Outcome kernel = run_assay("run smoke --family fwht --kernel \"$(printf '\\033]0;title\\007')\"");
  EXPECT_EQ(kernel.status, 2);
  EXPECT_THAT(kernel.output, AllOf(HasSubstr("'\\x1b]0;title\\x07'"), Not(HasSubstr("\x1b"))));
  const Outcome option = run_assay("report --format \"$(printf '\\033c')\"");
  EXPECT_EQ(option.status, 2);
  EXPECT_THAT(option.output, AllOf(HasSubstr("\\x1bc"), Not(HasSubstr("\x1b"))));
  // Letters of other scripts are what people call their files.
  EXPECT_THAT(run_assay("run smoke --kernel 'tür/核'").output, HasSubstr("'tür/核'"));
}

TEST(CliMessages, AnEmptyScheduleIsRefused) {
  for (const char* empty : {"--schedule ''", "--schedule="}) {
    const Outcome outcome = run_assay("run " + kCase + " --ledger none " + empty);
    EXPECT_EQ(outcome.status, 2) << empty << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("--schedule")) << empty;
  }
}

TEST(CliMessages, AVariantIsNoCase) {
  const Outcome outcome = run_assay("run fwht_v1 --ledger none");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("'fwht_v1' is a variant, not a case; 'fwht_v1/*' selects its gate"));
}

TEST(CliMessages, AShardOfTheEnvironmentIsReportedAndTakesNoNamedCase) {
  const std::string environment = "GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=1";
  const Outcome suite = run_under(environment, "run smoke --family fwht --ledger none");
  EXPECT_EQ(suite.status, 0) << suite.output;
  EXPECT_THAT(suite.output,
              AllOf(HasSubstr("note: only shard 2 of 2 is run, because GTEST_SHARD_INDEX"), HasSubstr("50 cases: 50 passed")));
  const Outcome named = run_under(environment, "run " + kCase + " --ledger none");
  EXPECT_THAT(named.output, AllOf(HasSubstr("1 case: 1 passed"), Not(HasSubstr("shard"))));
  const Outcome shown = run_under(environment, "show " + kCase);
  EXPECT_EQ(shown.status, 0) << shown.output;
  EXPECT_THAT(shown.output, HasSubstr("passed " + kCase));
  EXPECT_THAT(run_under(environment, "run smoke --family fwht --shard 1/1 --ledger none").output,
              AllOf(HasSubstr("100 cases: 100 passed"), Not(HasSubstr("note: only shard"))));
}

TEST(CliMessages, ReportTakesTheRunsThatOtherCommandsTake) {
  const TemporaryFolder folder;
  const std::string ledger = (folder.path() / "l.sqlite").string();
  ASSERT_EQ(run_assay("run " + kCase + " --ledger " + ledger).status, 0);
  ASSERT_EQ(run_assay("run fwht_v1/d256/h5/undo/gauss/s1 --ledger " + ledger).status, 0);
  EXPECT_THAT(run_assay("report --run latest --ledger " + ledger).output, HasSubstr("run 2: 1 of 1"));
  EXPECT_THAT(run_assay("report --run latest~1 --ledger " + ledger).output, HasSubstr("run 1: 1 of 1"));
  EXPECT_THAT(run_assay("report --run " + ledger + ":1").output, HasSubstr("run 1: 1 of 1"));
  EXPECT_THAT(run_assay("report --ledger " + ledger).output, HasSubstr("run 2: 1 of 1"));
  const Outcome beyond = run_assay("report --run latest~2 --ledger " + ledger);
  EXPECT_EQ(beyond.status, 2);
  EXPECT_THAT(beyond.output, HasSubstr("has 2 runs"));
}

TEST(CliMessages, OptionsThatWereNotGivenAreNone) {
  const TemporaryFolder folder;
  const std::string ledger = " --ledger " + (folder.path() / "l.sqlite").string();
  ASSERT_EQ(run_assay("run " + kCase + ledger).status, 0);
  ASSERT_EQ(run_assay("run " + kCase + " --policy checked" + ledger).status, 0);
  EXPECT_THAT(run_assay("diff 1 2" + ledger).output, HasSubstr("options: none, now --policy checked\n"));
  EXPECT_THAT(run_assay("diff 2 1" + ledger).output, HasSubstr("options: --policy checked, now none\n"));
  EXPECT_THAT(run_assay("diff 1 2 --json" + ledger).output, HasSubstr("\"format\": \"assay-difference\""));
}

class CliRemedies : public Cli {
 protected:
  // Our fwht beside a description, with pieces of its text replaced wherever they are.
  std::string variant(const std::vector<std::pair<std::string, std::string>>& edits, const std::string& further = "") const {
    std::string text = source_of("fwht_v1");
    for (const auto& [from, to] : edits) {
      EXPECT_NE(text.find(from), std::string::npos) << from;
      for (std::size_t place = text.find(from); place != std::string::npos; place = text.find(from, place + to.size()))
        text.replace(place, from.size(), to);
    }
    fs::create_directories(folder_ / "mine");
    write(text, "mine/kernel.metal");
    write("family = \"fwht\"\nsource = \"kernel.metal\"\n" + further, "mine/variant.toml");
    return (folder_ / "mine").string();
  }
  static Outcome run(const std::string& kernel) { return run_assay("run mine/d256/h1/undo/gauss/s1 --ledger none --kernel " + kernel); }
};

TEST_F(CliRemedies, AnArgumentOfAnotherNameAndIndexIsBound) {
  const std::vector<std::pair<std::string, std::string>> renamed = {{"params [[buffer(1)]]", "args [[buffer(6)]]"}, {"params.", "args."}};
  const Outcome missing = run(variant(renamed));
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.output, AllOf(HasSubstr("no argument for params (buffer 1); the kernel has data (buffer 0), args (buffer 6)"),
                                    HasSubstr("[bind] params = \"args\"")));
  const Outcome cured = run(variant(renamed, "[bind]\nparams = \"args\"\n"));
  EXPECT_EQ(cured.status, 0) << cured.output;
}

TEST_F(CliRemedies, AnArgumentMoreHasNone) {
  const Outcome outcome = run(variant({{"params [[buffer(1)]],", "params [[buffer(1)]], device const float * more [[buffer(2)]],"}}));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("argument 'more' (buffer 2) is never bound"), HasSubstr("set it in [fields] or with --set more=VALUE")));
}

TEST_F(CliRemedies, AFieldIsRenamed) {
  const Outcome outcome = run(variant({{"num_heads", "heads"}}));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("struct FwhtParams lacks num_heads; it has head_dim, heads"), HasSubstr("Rename or add it")));
}

TEST_F(CliRemedies, AValueForNoFieldIsReportedWithItsPlace) {
  const std::string kernel = variant({}, "[fields]\nchunk = 3\n");
  const Outcome said = run(kernel);
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(said.output, HasSubstr("mine/variant.toml:4: [fields] sets 'chunk', but no struct, argument or launch of"));
  const Outcome set = run(variant({}) + " --set tile=3");
  EXPECT_EQ(set.status, 2);
  EXPECT_THAT(set.output, HasSubstr("mine: --set sets 'tile'"));
}

TEST_F(CliRemedies, AFolderOfVariantsWithoutAReduceSaysWhereOneComesFrom) {
  fs::create_directories(folder_ / "all/lone");
  write(source_of("tq4_v1"), "all/lone/kernel.metal");
  write("family = \"tq4\"\nsource = \"kernel.metal\"\n[limits]\nblock_norms = [0]\n", "all/lone/variant.toml");
  const std::string lone = "run lone/d256/h1x1/kv33c33/ring0/nomask/nwg2/gauss/s1 --ledger none ";
  const Outcome among = run_assay(lone + "--variants " + (folder_ / "all").string());
  EXPECT_EQ(among.status, 2);
  EXPECT_THAT(among.output, AllOf(HasSubstr("needs a reduce"), HasSubstr("add flash_attn_vec_reduce_dk256 to the file"),
                                  HasSubstr("pass the kernel with --kernel; then ours is used")));
  EXPECT_EQ(run_assay(lone + "--kernel " + (folder_ / "all/lone").string()).status, 0);
}

TEST_F(CliRemedies, InvalidJsonIsReportedInOurWords) {
  const Outcome pack = run_assay("pack " + write("{\n \"attributes\": }", "m.json") + " -o " + (folder_ / "x.h5").string());
  EXPECT_EQ(pack.status, 2);
  EXPECT_THAT(pack.output, AllOf(HasSubstr("m.json: is not JSON: line 2, column 16: while reading value: unexpected '}'"),
                                 Not(HasSubstr("json.exception")), Not(HasSubstr("parse error"))));
  const Outcome trace = run_assay("check-dispatch " + write("{\n \"format\": }", "t.json"));
  EXPECT_EQ(trace.status, 2);
  EXPECT_THAT(trace.output, AllOf(HasSubstr("t.json: is not JSON: line 2, column 12: while reading value: unexpected '}'"),
                                  Not(HasSubstr("json.exception"))));
}

TEST_F(CliRemedies, UnreadableFilesAreReportedWithTheReason) {
  const std::string absent = (folder_ / "nosuch.json").string();
  EXPECT_THAT(run_assay("pack " + absent + " -o " + (folder_ / "x.h5").string()).output,
              HasSubstr("nosuch.json: cannot be read (No such file or directory)"));
  EXPECT_THAT(run_assay("check-dispatch " + absent).output, HasSubstr("nosuch.json: cannot be read (No such file or directory)"));
  EXPECT_THAT(run_assay("check-dispatch " + folder_.string()).output, HasSubstr("cannot be read (it is a folder)"));
}

}  // namespace
}  // namespace assay::tests::messages_test
