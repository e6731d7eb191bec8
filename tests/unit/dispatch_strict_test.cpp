// What a check allows, and a strict check does not; and what is copied, or too small, where a kernel needs a buffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/unit/dispatch_bench.h"

namespace assay::tests::dispatch_strict_test {
namespace {

using harness::Trace;
using namespace ::testing;

TEST(DispatchStrict, TheContractsOwnLaunchIsFreeOfLeeway) {
  for (const auto& [family, name] : dispatch_cases()) {
    const harness::TraceCheck result = check(family, recorded(family));
    EXPECT_THAT(result.tolerated, IsEmpty()) << name;
    EXPECT_TRUE(result.agrees(true)) << name;
  }
}

struct Leeway {
  const char* name;
  const char* family;
  std::function<void(Trace&)> apply;
  const char* sentence;
};

class DispatchStrictness : public ::testing::TestWithParam<Leeway> {};

TEST_P(DispatchStrictness, TurnsLeewayIntoADifference) {
  Trace trace = recorded(GetParam().family);
  GetParam().apply(trace);
  const harness::TraceCheck result = check(GetParam().family, trace);
  EXPECT_THAT(result.differences, IsEmpty());
  std::vector<std::string> all = result.remarks;
  all.insert(all.end(), result.tolerated.begin(), result.tolerated.end());
  EXPECT_THAT(all, ElementsAre(HasSubstr(GetParam().sentence)));
  EXPECT_TRUE(result.agrees(false));
  EXPECT_FALSE(result.agrees(true));
  EXPECT_THAT(reports::check_text("c", result, false), HasSubstr("c: the trace agrees with the contract\n"));
  EXPECT_THAT(reports::check_text("c", result, true),
              AllOf(HasSubstr("strict: "), HasSubstr("c: 1 thing that only a check without --strict allows\n")));
}

INSTANTIATE_TEST_SUITE_P(
    All, DispatchStrictness,
    ::testing::Values(
        Leeway{"longer_struct", "tq4", [](Trace& t) { t.dispatches[0].bindings.at(0).bytes->resize(48); },
               "48 bytes at index 0 (params): the kernel reads the first 44"},
        Leeway{"long_parameter_buffer", "tq4",
               [](Trace& t) { t.dispatches[0].bindings.at(0).buffer = harness::TraceBuffer{"params", 256, 0}; },
               "buffer 'params' at index 0 (params): 256 bytes are left after offset 0, the kernel reads 44"},
        Leeway{"longer_buffer", "tq4", [](Trace& t) { t.dispatches[0].bindings.at(1).buffer->length = 1 << 20; },
               "buffer 'Q': 1048576 bytes are left after offset 0, the contract needs 8192 for Q"},
        Leeway{"more_threadgroup_memory", "tq4", [](Trace& t) { t.dispatches[0].threadgroup_memory[0] = 2048; },
               "threadgroup memory 0: the trace reserves 2048 bytes, more than the contract's 1792"},
        Leeway{"other_threadgroup_memory", "tq4", [](Trace& t) { t.dispatches[0].threadgroup_memory[1] = 16; },
               "dispatch 0 'flash_attn_vec_tq_dk256': threadgroup memory 1: the trace reserves 16 bytes, which the kernel does not have"},
        Leeway{"unused_binding", "tq4", [](Trace& t) { t.dispatches[0].bindings[9].buffer = harness::TraceBuffer{"stale", 4, 0}; },
               "something is bound at index 9, which the kernel does not have"},
        Leeway{"undeclared_constant", "tq4", [](Trace& t) { t.dispatches[0].constants[77].value = std::int64_t{1}; },
               "function constant 77: the trace sets it, the kernel does not declare it"},
        Leeway{"threads", "tqhb",
               [](Trace& t) {
                 t.dispatches[0].counts_threads = true;
                 t.dispatches[0].grid = {32, 16, 2};
               },
               "grid: the trace counts threads, the contract threadgroups"},
        Leeway{"helpers_in_another_order", "bf16_prefill", [](Trace& t) { std::swap(t.dispatches[0], t.dispatches[1]); },
               "is encoded before dispatch 1 'kernel_flash_attn_ext_pad'; the contract has the other order"},
        Leeway{"own_name", "fwht", [](Trace& t) { t.dispatches[0].bindings.at(0).buffer->name = "0x7"; },
               "the trace does not say what '0x7' is at offset 0; it is taken for data, which the contract binds to index 0 of dispatch 0"},
        Leeway{"long_tensor", "fwht",
               [](Trace& t) {
                 t.tensors = {{"data", "data", 0, 16388, 4, {}}};
                 t.dispatches[0].bindings.at(0).buffer->length = 16388;
               },
               "the tensor 'data' has 16388 bytes, the contract needs 16384 for data"},
        Leeway{"idle_tensor", "fwht", [](Trace& t) { t.tensors = {{"date", "other", 0, 16384, 4, {}}}; },
               "the tensor 'date' is none of the contract's"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(DispatchStrict, NoNameInATraceLooksLikeTheOutcome) {
  Trace trace = recorded("fwht");
  trace.tensors = {{"x\nfwht: the trace agrees with the contract", "b", 0, 4, 4, {}}};
  const std::string text = reports::check_text("c", check("fwht", trace), true);
  EXPECT_THAT(text, AllOf(HasSubstr("'x\\nfwht: the trace agrees"), Not(HasSubstr("\nfwht"))));
}

// An encoder keeps what was bound for the dispatch before.
TEST(DispatchStrict, WhatIsLeftFromTheDispatchBeforeIsNoLeeway) {
  Trace trace = recorded("tq4");
  for (const std::uint32_t index : {4U, 5U, 6U}) trace.dispatches[1].bindings[index] = trace.dispatches[0].bindings.at(index);
  trace.dispatches[1].threadgroup_memory = trace.dispatches[0].threadgroup_memory;
  EXPECT_TRUE(check("tq4", trace).agrees(true));
  trace.dispatches[1].bindings[5].buffer->offset = 16;
  EXPECT_THAT(check("tq4", trace).tolerated, ElementsAre(HasSubstr("something is bound at index 5")));
}

std::string with_barriers(const std::string& before, const std::string& between, const std::string& behind) {
  const std::string barrier = "{\"command\": \"barrier\"}";
  std::string text = replaced(read_file(kRoot / "tests/golden/dispatch/tq4.json"), barrier, between);
  text = replaced(text, "\"commands\": [", "\"commands\": [" + before);
  return behind.empty() ? text : text.substr(0, text.rfind(']')) + ", " + behind + "]}";
}

TEST(DispatchStrict, ABarrierThatSeparatesNothingIsLeeway) {
  const std::string barrier = "{\"command\": \"barrier\"}";
  const auto spare = [](const std::string& text) { return check("tq4", reports::parse_trace(text, "t.json")).tolerated; };
  EXPECT_THAT(spare(with_barriers("", barrier, "")), IsEmpty());
  EXPECT_THAT(spare(with_barriers(barrier + ", ", barrier, "")),
              ElementsAre("commands[0]: the memory barrier separates no two dispatches"));
  EXPECT_THAT(spare(with_barriers("", barrier + ", " + barrier, "")), ElementsAre(StartsWith("commands[2]: ")));
  EXPECT_THAT(spare(with_barriers("", barrier, barrier)), ElementsAre(StartsWith("commands[3]: ")));
  EXPECT_THAT(spare(with_barriers("", barrier, barrier + ", " + barrier)), SizeIs(2));
}

// The compiler leaves holes before the 64-bit fields of this struct.
TEST(DispatchStrict, PaddingThatIsNotZeroIsLeeway) {
  Trace trace = recorded("bf16_vec");
  const auto contract_of_it = contract("bf16_vec");
  const metal::BoundArgument& argument = *contract_of_it[0].layout.find(metal::AddressSpace::device, 0);
  ASSERT_TRUE(argument.layout.has_value());
  std::vector<bool> is_field(argument.size, false);
  for (const metal::StructField& field : argument.layout->fields) {
    for (std::size_t at = field.offset; at < field.offset + field.size; ++at) is_field[at] = true;
  }
  const auto hole = std::ranges::find(is_field, false);
  ASSERT_NE(hole, is_field.end());
  const auto at = static_cast<std::size_t>(hole - is_field.begin());
  trace.dispatches[0].bindings.at(0).bytes->at(at) = std::byte{0xab};
  const harness::TraceCheck result = check("bf16_vec", trace);
  EXPECT_THAT(result.differences, IsEmpty());
  EXPECT_THAT(result.tolerated, ElementsAre(HasSubstr("is not zero and belongs to no field of the struct")));
}

TEST(DispatchDevice, NeedsABufferThatIsLargeEnough) {
  const auto differences = [](const char* family, const std::function<void(Trace&)>& apply) {
    Trace trace = recorded(family);
    apply(trace);
    return check(family, trace).differences;
  };
  const auto copied = [](std::size_t bytes, std::uint32_t index) {
    return [=](Trace& t) {
      t.dispatches[0].bindings.at(index) = {};
      t.dispatches[0].bindings.at(index).bytes = std::vector<std::byte>(bytes);
    };
  };
  const auto in_buffer = [](std::uint32_t index, std::uint64_t length, std::uint64_t at) {
    return [=](Trace& t) { t.dispatches[0].bindings.at(index).buffer = harness::TraceBuffer{"small", length, at}; };
  };
  EXPECT_THAT(differences("tq4", copied(520, 5)),
              ElementsAre(HasSubstr("520 bytes are copied to index 5 (V_norms); the contract binds a buffer of 520 bytes, as a `device` "
                                    "argument needs")));
  EXPECT_THAT(differences("tq4", copied(16512, 6)), ElementsAre(HasSubstr("16512 bytes are copied to index 6 (dst)")));
  // The struct is complete, but the buffer that should hold it is not.
  EXPECT_THAT(
      differences("tq4", in_buffer(0, 32, 0)),
      ElementsAre(HasSubstr("buffer 'small' at index 0 (params) is too short: 32 bytes are left after offset 0, the kernel reads 44")));
  EXPECT_THAT(differences("tq4", in_buffer(0, 64, 32)), ElementsAre(HasSubstr("32 bytes are left after offset 32, the kernel reads 44")));
  EXPECT_THAT(differences("tq4", in_buffer(0, 44, 0)), IsEmpty());
  // What the kernel does not use is bound nevertheless.
  EXPECT_THAT(differences("quantize", in_buffer(4, 4, 4)), ElementsAre(HasSubstr("even an argument that is not used needs 4")));
  EXPECT_THAT(differences("quantize", in_buffer(4, 4, 0)), IsEmpty());
  EXPECT_THAT(differences("tq4", [](Trace& t) { t.dispatches[0].bindings.at(0).bytes->resize(4100); }),
              ElementsAre(HasSubstr("4100 bytes are copied to index 0 (params); Metal copies at most 4096")));
}

TEST(DispatchConstants, OnesThatTheContractLeavesOutMayNotChangeTheCode) {
  // The constant is declared, and the contract sets it; without it in the contract, the trace's value decides.
  Trace trace = recorded("tqhb");
  auto lacking = contract("tqhb");
  lacking[0].trace.constants.clear();
  trace.dispatches[0].constants.at(50).value = std::int64_t{5};
  EXPECT_THAT(check_trace(prepared("tqhb"), lacking, trace).differences,
              ElementsAre(HasSubstr("function constant 50: the trace sets 5, the contract does not set it")));
}

}  // namespace
}  // namespace assay::tests::dispatch_strict_test
