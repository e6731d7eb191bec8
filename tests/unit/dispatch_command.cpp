// Traces as they arrive: the commands and their exit statuses, documents that promise to agree, and files that nobody should believe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "families/registry.h"
#include "harness/dispatch/check.h"
#include "harness/run/workbench.h"
#include "kernels/variant.h"
#include "reports/dispatch.h"
#include "tests/unit/cli_command.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

const fs::path kSource = ASSAY_SOURCE_DIR;
const fs::path kGolden = kSource / "tests/golden/dispatch";
const std::string kCase = "tq4_v1/d256/h8x2/kv65c65/ring30/win33/nwg2/gauss/s7";

// `text` with one piece replaced, which must be there.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  if (place != std::string::npos) text.replace(place, from.size(), to);
  return text;
}

// The trace of kCase as a host with a wrong ring_start records it.
std::string off_by_one() { return replaced(read_file(kGolden / "recorded_by_host.json"), "1e000000\"", "1d000000\""); }

TEST_F(Cli, DispatchPrintsTheTrace) {
  const Outcome json = run_assay("dispatch " + kCase + " --json");
  EXPECT_EQ(json.status, 0);
  EXPECT_EQ(json.output, read_file(kGolden / "tq4.json"));
  const Outcome text = run_assay("dispatch " + kCase);
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.output, AllOf(HasSubstr("2 dispatches"), HasSubstr("40  uint   ring_start         30"), HasSubstr("memory barrier\n"),
                                 HasSubstr("grid 1 x 8 x 2 threadgroups of 32 x 1 x 1 threads")));
}

TEST_F(Cli, DispatchRefusesWhatTheLaunchCodeWouldRefuse) {
  const Outcome outcome = run_assay("dispatch tq4_v1/d256/h8x3/kv65c65/ring0/nomask/nwg2/gauss/s7");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("n_heads = 8 is not a multiple of n_kv_heads = 3"));
}

TEST_F(Cli, ATraceThatAgreesPassesAndSoDoesItsLaunch) {
  const Outcome outcome = run_assay("check-dispatch --execute " + (kGolden / "recorded_by_host.json").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("the trace agrees with the contract"), HasSubstr("executed on the simulator: passed")));
}

// Its names, order of arguments and struct are its own, and so is the contract.
TEST_F(Cli, AKernelOfOnesOwnHasItsOwnContract) {
  const std::string options =
      " --kernel '" + (kSource / "tests/kernels/independent_tq4.metal").string() + "' --family tq4 --set tile=32 --set temperature=1";
  const Outcome printed = run_assay("dispatch " + kCase + " --json" + options);
  ASSERT_EQ(printed.status, 0) << printed.output;
  EXPECT_THAT(printed.output,
              AllOf(HasSubstr("decode_tq_256"), HasSubstr(R"({"name": "ring_start", "offset": 8, "type": "uint", "value": 30})")));
  const std::string off =
      replaced(replaced(printed.output, R"("uint", "value": 30})", R"("uint", "value": 29})"), "000000001e000000", "000000001d000000");
  const Outcome outcome = run_assay("check-dispatch " + write(off, "trace.json") + options);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("note: independent_tq4.metal: function 'decode_tq_256' was chosen"),
                    HasSubstr("field ring_start of the struct at index 6: the trace says 29, the contract 30 (bytes 8..11)")));
}

TEST_F(Cli, ATraceThatDiffersFailsAndShowsWhatComesOfIt) {
  const std::string file = write(off_by_one(), "trace.json");
  const Outcome outcome = run_assay("check-dispatch " + file);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("field ring_start of the struct at index 0: the trace says 29, the contract 30 (bytes 40..43)"),
                    HasSubstr("1 difference from the contract")));
  const Outcome executed = run_assay("check-dispatch - --execute < " + file);
  EXPECT_EQ(executed.status, 1);
  EXPECT_THAT(executed.output, AllOf(HasSubstr("the trace's launch, executed on the simulator: failed"), HasSubstr("above bound"),
                                     HasSubstr("the contract's own launch: passed")));
}

TEST_F(Cli, AGridBeyondAllReasonIsNotExecuted) {
  const std::string trace =
      replaced(read_file(kGolden / "tq4.json"), "\"threadgroups\": [1, 8, 2]", "\"threadgroups\": [4294967295, 8, 2]");
  const Outcome outcome = run_assay("check-dispatch --execute " + write(trace, "trace.json"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("the trace dispatches 4294967295 x 8 x 2 threadgroups"), HasSubstr("exceed 32 bits")));
}

TEST_F(Cli, AFileThatIsNoTraceEndsWithStatusTwo) {
  for (const std::string& argument : {write("{\"format\": ", "trace.json"), (folder_ / "absent.json").string(), folder_.string(),
                                      write(replaced(off_by_one(), "\"case\": \"" + kCase + "\", ", ""), "nameless.json"),
                                      write(replaced(off_by_one(), "flash_attn_vec_tq_dk256", "flash_attn"), "unknown.json"),
                                      "'" + kGolden.string() + "/tq4.json' --case nonsense"}) {
    const Outcome outcome = run_assay("check-dispatch " + argument);
    EXPECT_EQ(outcome.status, 2) << argument << ": " << outcome.output;
    EXPECT_THAT(outcome.output, testing::StartsWith("assay: ")) << argument;
  }
}

TEST(DispatchDocument, ItsExampleIsTheRecordedLaunch) {
  const std::string document = read_file(kSource / "docs/DISPATCH.md");
  const std::size_t start = document.find("```json\n");
  ASSERT_NE(start, std::string::npos);
  const std::string json = document.substr(start + 8, document.find("```", start + 8) - start - 8);
  const harness::Trace example = reports::parse_trace(json, "DISPATCH.md");
  EXPECT_EQ(example.case_name, kCase);

  const auto catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  const std::vector<harness::Case> cases = {harness::parse_case(kCase, families::find_family("tq4"))};
  const harness::Workbench workbench(catalogue, cases, {});
  const harness::PreparedVariant& prepared = workbench.find("tq4_v1");
  const auto contract = record_case(prepared, cases.front(), {});
  EXPECT_THAT(check_trace(prepared, contract, example).differences, testing::IsEmpty());
}

struct Hostile {
  const char* name;
  const char* from;
  const char* to;
  const char* message;
};

class DispatchHostile : public ::testing::TestWithParam<Hostile> {};

TEST_P(DispatchHostile, IsRefusedWithItsPlace) {
  const std::string text = replaced(read_file(kGolden / "tq4.json"), GetParam().from, GetParam().to);
  try {
    static_cast<void>(reports::parse_trace(text, "trace.json"));
    FAIL() << "was accepted";
  } catch (const harness::TraceError& error) {
    EXPECT_THAT(error.what(), AllOf(testing::StartsWith("trace.json: "), HasSubstr(GetParam().message)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DispatchHostile,
    ::testing::Values(
        Hostile{"format", "assay-dispatch", "assay-despatch", "format: must be \"assay-dispatch\""},
        Hostile{"version", "\"version\": 1", "\"version\": 2", "version: is 2; this assay reads 1"},
        Hostile{"version_text", "\"version\": 1", "\"version\": \"1\"", "version: must be an integer from 0 to"},
        Hostile{"unknown_key", "\"version\"", "\"colour\": 1, \"version\"", "colour: unknown key; accepted: format, version"},
        Hostile{"unknown_inner_key", "\"function\": \"flash", "\"fn\": 1, \"function\": \"flash", "commands[0].fn: unknown key"},
        Hostile{"key_twice", "\"version\": 1", "\"version\": 1, \"version\": 1", "an object has the key 'version' twice"},
        Hostile{"case_is_a_number", "\"case\": \"tq4_v1/d256/h8x2/kv65c65/ring30/win33/nwg2/gauss/s7\"", "\"case\": 4",
                "case: must be a string, not number"},
        Hostile{"no_commands", "\"commands\"", "\"case2\"", "case2: unknown key"},
        Hostile{"unknown_command", "\"barrier\"", "\"fence\"", "commands[1].command: is 'fence'; accepted: dispatch, barrier"},
        Hostile{"command_is_a_number", "{\"command\": \"barrier\"}", "7", "commands[1]: must be an object, not number"},
        Hostile{"no_function", "\"function\": \"flash_attn_vec_tq_dk256\",", "", "commands[0].function: is missing"},
        Hostile{"function_is_null", "\"flash_attn_vec_tq_dk256\"", "null", "commands[0].function: must be a string, not null"},
        Hostile{"constant_of_one_component", "\"constants\": []", "\"constants\": [{\"index\": 0, \"value\": [1]}]",
                "commands[0].constants[0].value: has 1 components; a vector has 2 to 4"},
        Hostile{"constant_of_text", "\"constants\": []", "\"constants\": [{\"index\": 0, \"value\": [1, \"x\"]}]",
                "commands[0].constants[0].value[1]: must be a number, true or false, not string"},
        Hostile{"bindings_are_an_object", "\"constants\": []", "\"constants\": {}", "commands[0].constants: must be a list, not object"},
        Hostile{"index_too_large", "{\"index\": 6", "{\"index\": 31",
                "commands[0].bindings[6].index: must be an integer from 0 to 30, not 31"},
        Hostile{"index_negative", "{\"index\": 6", "{\"index\": -1",
                "commands[0].bindings[6].index: must be an integer from 0 to 30, not -1"},
        Hostile{"index_fractional", "{\"index\": 6", "{\"index\": 6.5", "not 6.5"},
        Hostile{"index_twice", "{\"index\": 6", "{\"index\": 5", "commands[0].bindings[6]: the index occurs twice"},
        Hostile{"length_beyond_64_bits", "\"length\": 16512", "\"length\": 18446744073709551616",
                "commands[0].bindings[6].length: must be an integer from 0 to 18446744073709551615"},
        Hostile{"length_infinite", "\"length\": 16512", "\"length\": 1e999", "number overflow"},
        Hostile{"length_missing", "\"length\": 16512, ", "", "commands[0].bindings[6].length: is missing"},
        Hostile{"nothing_bound", "\"buffer\": \"partials\", ", "", "commands[0].bindings[6]: has neither 'buffer' nor 'bytes'"},
        Hostile{"length_of_bytes", "\"bytes\": \"08000000\"", "\"bytes\": \"08000000\", \"length\": 4",
                "commands[2].bindings[0].length: needs a 'buffer', which is missing"},
        Hostile{"odd_bytes", "\"bytes\": \"08000000\"", "\"bytes\": \"0800000\"", "commands[2].bindings[0].bytes: has 7 digits"},
        Hostile{"bytes_of_letters", "\"bytes\": \"08000000\"", "\"bytes\": \"0800000x\"",
                "commands[2].bindings[0].bytes: character 7 is no"},
        Hostile{"field_is_a_text", "\"value\": 30", "\"value\": \"30\"", "commands[0].bindings[0].fields[10].value: must be a number"},
        Hostile{"two_sizes", "\"threadgroups\": [1, 8, 2]", "\"threadgroups\": [1, 8]",
                "commands[0].threadgroups: must be three integers, x y z, not 2"},
        Hostile{"size_beyond_32_bits", "\"threadgroups\": [1, 8, 2]", "\"threadgroups\": [1, 4294967296, 2]",
                "commands[0].threadgroups[1]: must be an integer from 0 to 4294967295, not 4294967296"},
        Hostile{"both_grids", "\"threadgroups\": [1, 8, 2]", "\"threads\": [1, 8, 2], \"threadgroups\": [1, 8, 2]",
                "commands[0]: has both 'threadgroups' and 'threads'"},
        Hostile{"no_grid", "\"threadgroups\": [1, 8, 2],", "", "commands[0].threadgroups: is missing"},
        Hostile{"no_utf8", "flash_attn_vec_tq_dk256", "flash\xff", "is not JSON: line "},
        Hostile{"no_format", "\"format\": \"assay-dispatch\",", "", "format: is missing; a trace has \"assay-dispatch\" here"},
        Hostile{"deep", "\"case\": ", "\"case\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nests deeper than 8 levels"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(DispatchHostileFile, CutOffAnywhereItIsRefused) {
  const std::string whole = read_file(kGolden / "tq4.json");
  // The last character is the end of a line.
  for (std::size_t length = 0; length + 1 < whole.size(); ++length)
    EXPECT_THROW(static_cast<void>(reports::parse_trace(whole.substr(0, length), "trace.json")), harness::TraceError) << length;
}

TEST(DispatchHostileFile, AHundredThousandBracketsAreRefused) {
  EXPECT_THROW(static_cast<void>(reports::parse_trace(std::string(100'000, '['), "trace.json")), harness::TraceError);
}

TEST(DispatchHostileFile, OnlyBarriersOrTooManyAreRefused) {
  const std::string head = R"({"format": "assay-dispatch", "version": 1, "commands": [)";
  std::string many;
  for (int i = 0; i < 1025; ++i) many += std::string(i == 0 ? "" : ", ") + R"({"command": "barrier"})";
  for (const std::string& commands : {std::string(), std::string(R"({"command": "barrier"})"), many})
    EXPECT_THROW(static_cast<void>(reports::parse_trace(head + commands + "]}", "trace.json")), harness::TraceError);
}

// One character replaced, everywhere: either that is a trace as well, or it is told what is wrong with it.
TEST(DispatchHostileFile, AnyOneCharacterWrongIsAnErrorOrATrace) {
  const std::string whole = read_file(kGolden / "tq4.json");
  const auto catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  const std::vector<harness::Case> cases = {harness::parse_case(kCase, families::find_family("tq4"))};
  const harness::Workbench workbench(catalogue, cases, {});
  const harness::PreparedVariant& prepared = workbench.find("tq4_v1");
  const auto contract = record_case(prepared, cases.front(), {});
  std::size_t traces = 0;
  std::size_t differing = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char character : {'9', '"'}) {
      std::string text = whole;
      text[at] = character;
      try {
        const harness::Trace trace = reports::parse_trace(text, "trace.json");
        ++traces;
        differing += check_trace(prepared, contract, trace).differences.empty() ? 0 : 1;
      } catch (const harness::TraceError&) {
      }
    }
  }
  EXPECT_GT(traces, 0U);
  EXPECT_GT(differing, 0U);
}

}  // namespace
}  // namespace assay
