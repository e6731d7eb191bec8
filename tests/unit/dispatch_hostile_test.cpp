// Hostile dispatch traces: documents that contradict themselves, and damaged files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "families/registry.h"
#include "harness/dispatch/check.h"
#include "harness/prepare/workbench.h"
#include "kernels/variant.h"
#include "reports/dispatch.h"
#include "tests/support/files.h"

namespace assay::tests::dispatch_hostile_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

const fs::path kGolden = kRoot / "tests/golden/dispatch";
const std::string kCase = "tq4_v1/d256/h8x2/kv65c65/ring30/win33/nwg2/gauss/s7";

TEST(DispatchDocument, ItsExampleIsTheRecordedLaunch) {
  const std::string document = read_file(kRoot / "docs/DISPATCH.md");
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
        Hostile{"version", "\"version\": 1", "\"version\": 3", "version: is 3; this assay reads 1 and 2"},
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

// One character replaced, everywhere: either that is a trace as well, or the mistake in it is reported.
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
}  // namespace assay::tests::dispatch_hostile_test
