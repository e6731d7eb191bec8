// Launch traces: written, read back, compared with a host's, and executed.
// Long because each way in which a trace can differ is a test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/findings/fault_text.h"
#include "kernels/variant.h"
#include "tests/support/files.h"
#include "tests/unit/dispatch_bench.h"

namespace assay::tests::dispatch_traces_test {
namespace {

namespace fs = std::filesystem;
using harness::Trace;
using namespace ::testing;

const fs::path kGolden = kRoot / "tests/golden/dispatch";

// The numbers of a launch are literals in tests/contract; these files show how they are written down.
TEST(DispatchGolden, IsHowALaunchIsWrittenDown) {
  for (const char* family : {"tq4", "fwht"})
    EXPECT_EQ(reports::dispatch_json(dispatch_cases().at(family), contract(family)), read_file(kGolden / (std::string(family) + ".json")))
        << family;
}

TEST(DispatchGolden, OfEveryFamilyAgreesWithTheContract) {
  for (const auto& [family, name] : dispatch_cases()) {
    const harness::TraceCheck result = check(family, recorded(family));
    EXPECT_THAT(result.differences, IsEmpty()) << name;
    EXPECT_THAT(result.remarks, IsEmpty()) << name;
    EXPECT_FALSE(result.lacks_barrier) << name;
  }
}

struct Edit {
  const char* name;
  const char* family;
  std::function<void(Trace&)> apply;
  const char* difference;
};

class DispatchDifference : public ::testing::TestWithParam<Edit> {};

// Exactly one difference: a mistake is not reported twice, and nothing else is reported.
TEST_P(DispatchDifference, IsReportedOnceWithBothValues) {
  Trace trace = recorded(GetParam().family);
  GetParam().apply(trace);
  EXPECT_THAT(check(GetParam().family, trace).differences, ElementsAre(HasSubstr(GetParam().difference)));
}

INSTANTIATE_TEST_SUITE_P(
    All, DispatchDifference,
    ::testing::Values(
        Edit{"field", "tq4", [](Trace& t) { set_word(t, 0, 0, 40, 29); },
             "dispatch 0 'flash_attn_vec_tq_dk256': field ring_start of the struct at index 0: the trace says 29, the contract 30 (bytes "
             "40..43)"},
        Edit{"float_field", "tq4", [](Trace& t) { set_word(t, 0, 0, 20, 0x3f800000); },
             "field scale of the struct at index 0: the trace says 1, the contract 0.0625 (bytes 20..23)"},
        Edit{"long_field", "bf16_vec", [](Trace& t) { set_word(t, 0, 0, 16, 1024); },
             "field nb01 of the struct at index 0: the trace says 1024, the contract 2048 (bytes 16..23)"},
        Edit{"scalar", "reduce", [](Trace& t) { set_word(t, 0, 3, 0, 32); },
             "the value of nwg_param at index 3: the trace says 32, the contract 16 (bytes 0..3)"},
        Edit{"short_struct", "tq4",
             [](Trace& t) {
               t.dispatches[0].bindings.at(0).bytes->resize(40);
               t.dispatches[0].bindings.at(0).fields.clear();
             },
             "40 bytes at index 0 (params): the kernel reads 44 bytes"},
        Edit{"grid", "tq4", [](Trace& t) { t.dispatches[0].grid.z = 1; },
             "grid: the trace dispatches 1 x 8 x 1 threadgroups, the contract 1 x 8 x 2"},
        Edit{"grid_in_threads", "tq4",
             [](Trace& t) {
               t.dispatches[0].counts_threads = true;
               t.dispatches[0].grid = {32, 8, 1};
             },
             "grid: the trace dispatches 1 x 8 x 1 threadgroups, the contract 1 x 8 x 2"},
        Edit{"ragged_threads", "tq4",
             [](Trace& t) {
               t.dispatches[0].counts_threads = true;
               t.dispatches[0].grid = {33, 8, 2};
             },
             "33 x 8 x 2 threads, which is not a multiple of the threadgroup size 32 x 1 x 1"},
        Edit{"threads", "tqhb", [](Trace& t) { t.dispatches[0].threads_per_threadgroup.y = 1; },
             "threads per threadgroup: the trace has 32 x 1 x 1, the contract 32 x 2 x 1"},
        Edit{"little_threadgroup_memory", "tq4", [](Trace& t) { t.dispatches[0].threadgroup_memory[0] = 1024; },
             "threadgroup memory 0: the trace reserves 1024 bytes, the contract 1792"},
        Edit{"no_threadgroup_memory", "tq4", [](Trace& t) { t.dispatches[0].threadgroup_memory.clear(); },
             "threadgroup memory 0: the trace reserves 0 bytes, the contract 1792"},
        Edit{"uneven_threadgroup_memory", "tq4", [](Trace& t) { t.dispatches[0].threadgroup_memory[0] = 1800; },
             "reserves 1800 bytes, Metal requires a multiple of 16"},
        Edit{"too_much_threadgroup_memory", "tq4", [](Trace& t) { t.dispatches[0].threadgroup_memory[0] = 32784; },
             "reserves 32784 bytes, Metal allows 32768"},
        Edit{"constant", "tqhb", [](Trace& t) { t.dispatches[0].constants.at(50).value = std::int64_t{5}; },
             "function constant 50: the trace sets 5, the contract 6"},
        Edit{"constant_vector", "tqhb",
             [](Trace& t) { t.dispatches[0].constants.at(50).value = metal::ConstantVector{{std::int64_t{6}, 0.5}}; },
             "function constant 50: the trace sets (6, 0.5), the contract 6"},
        Edit{"constant_type", "tqhb", [](Trace& t) { t.dispatches[0].constants.at(50).type = "uint"; },
             "function constant 50: the trace sets it as uint, the kernel declares int"},
        Edit{"unset_constant", "tqhb", [](Trace& t) { t.dispatches[0].constants.clear(); },
             "function constant 50: the trace does not set it, the contract sets 6"},
        Edit{"unbound", "tq4", [](Trace& t) { t.dispatches[0].bindings.erase(3); },
             "nothing is bound at index 3 (K_norms); the contract binds a buffer of 520 bytes"},
        Edit{"unbound_placeholder", "quantize", [](Trace& t) { t.dispatches[0].bindings.erase(4); },
             "nothing is bound at index 4 (rms_scratch)"},
        Edit{"short_buffer", "tq4", [](Trace& t) { t.dispatches[0].bindings.at(1).buffer->length = 8191; },
             "buffer 'Q' at index 1 (Q) is too short: 8191 bytes are left after offset 0, the contract needs 8192"},
        Edit{"offset_behind_the_end", "tq4", [](Trace& t) { t.dispatches[0].bindings.at(1).buffer->offset = UINT64_MAX - 3; },
             "is too short: 0 bytes are left after offset 18446744073709551612"},
        Edit{"unaligned", "tq4",
             [](Trace& t) {
               t.dispatches[0].bindings.at(1).buffer->offset = 2;
               t.dispatches[0].bindings.at(1).buffer->length += 2;
             },
             "offset 2 of the buffer at index 1 (Q) is not a multiple of 4, which float needs"},
        Edit{"another_buffer", "tq4", [](Trace& t) { t.dispatches[0].bindings.at(2).buffer->name = "V_packed"; },
             "the trace binds 'V_packed' at offset 0 to index 2 (K_packed), which is V_packed; the contract binds K_packed"},
        Edit{"partials_from_elsewhere", "tq4", [](Trace& t) { t.dispatches[1].bindings.at(1).buffer->name = "other"; },
             "the trace binds 'other' at offset 0 to index 1 (htmp); the contract binds partials: 'partials' at offset 0, as at index 6 of "
             "dispatch 0"},
        Edit{"mask_is_not_q", "bf16_vec", [](Trace& t) { t.dispatches[0].bindings.at(4).buffer->name = "dummy"; },
             "the trace binds 'dummy' at offset 0 to index 4 (mask); the contract binds q"},
        Edit{"bytes_for_a_buffer", "tq4",
             [](Trace& t) {
               t.dispatches[0].bindings.at(3).buffer.reset();
               t.dispatches[0].bindings.at(3).bytes = std::vector<std::byte>(520);
             },
             "520 bytes are copied to index 3 (K_norms); the contract binds a buffer of 520 bytes"},
        Edit{"silent_buffer_for_bytes", "tq4",
             [](Trace& t) {
               t.dispatches[0].bindings.at(0) = {};
               t.dispatches[0].bindings.at(0).buffer = harness::TraceBuffer{"params", 44, 0};
             },
             "a buffer is bound at index 0 (params), but the trace does not give its contents"},
        Edit{"no_barrier", "tq4", [](Trace& t) { t.dispatches[1].after_barrier = false; },
             "dispatch 1 'flash_attn_vec_reduce_dk256': there is no memory barrier between it and dispatch 0"},
        Edit{"barrier_too_many", "bf16_prefill", [](Trace& t) { t.dispatches[1].after_barrier = true; },
             "there is a memory barrier between it and dispatch 0 'kernel_flash_attn_ext_pad'; the contract has none there"},
        Edit{"reduce_missing", "tq4", [](Trace& t) { t.dispatches.pop_back(); },
             "dispatch 1 of the contract, 'flash_attn_vec_reduce_dk256', is missing: the trace has 1"},
        Edit{"pad_missing", "bf16_prefill", [](Trace& t) { t.dispatches.erase(t.dispatches.begin()); },
             "dispatch 0 of the contract, 'kernel_flash_attn_ext_pad', is missing: the trace has 2"},
        Edit{"twice", "fwht", [](Trace& t) { t.dispatches.push_back(t.dispatches[0]); },
             "dispatch 1 'fwht_sign_premult_f32_d512': is not in the contract, which has 1 dispatch: fwht_sign_premult_f32_d512"},
        Edit{"another_function", "fwht", [](Trace& t) { t.dispatches[0].function = "fwht_sign_undo_f32_d512"; },
             "dispatch 0 'fwht_sign_undo_f32_d512': the contract expects 'fwht_sign_premult_f32_d512' here"},
        Edit{"order", "tq4",
             [](Trace& t) {
               std::swap(t.dispatches[0], t.dispatches[1]);
               t.dispatches[0].after_barrier = false;
             },
             "dispatch 0 'flash_attn_vec_reduce_dk256': is encoded before dispatch 1 'flash_attn_vec_tq_dk256', whose results it reads"}),
    [](const auto& parameter) { return parameter.param.name; });

struct Leeway {
  const char* name;
  const char* family;
  std::function<void(Trace&)> apply;
  const char* remark;  // empty: none
};

class DispatchLeeway : public ::testing::TestWithParam<Leeway> {};

TEST_P(DispatchLeeway, IsNoDifference) {
  Trace trace = recorded(GetParam().family);
  GetParam().apply(trace);
  const harness::TraceCheck result = check(GetParam().family, trace);
  EXPECT_THAT(result.differences, IsEmpty());
  if (GetParam().remark[0] == '\0') {
    EXPECT_THAT(result.remarks, IsEmpty());
  } else {
    EXPECT_THAT(result.remarks, ElementsAre(HasSubstr(GetParam().remark)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DispatchLeeway,
    ::testing::Values(
        Leeway{"more_threadgroup_memory", "tq4", [](Trace& t) { t.dispatches[0].threadgroup_memory[0] = 2048; },
               "threadgroup memory 0: the trace reserves 2048 bytes, more than the contract's 1792"},
        Leeway{"longer_struct", "tq4", [](Trace& t) { t.dispatches[0].bindings.at(0).bytes->resize(48); },
               "48 bytes at index 0 (params): the kernel reads the first 44"},
        Leeway{"longer_buffer", "tq4", [](Trace& t) { t.dispatches[0].bindings.at(1).buffer->length = 1 << 20; }, ""},
        Leeway{"one_heap", "reduce",
               [](Trace& t) {
                 // 132,096 bytes of partials and right behind them 8,192 of output.
                 t.dispatches[0].bindings.at(1).buffer = harness::TraceBuffer{"heap", 140288, 0};
                 t.dispatches[0].bindings.at(2).buffer = harness::TraceBuffer{"heap", 140288, 132096};
               },
               ""},
        Leeway{"threads_for_threadgroups", "tqhb",
               [](Trace& t) {
                 t.dispatches[0].counts_threads = true;
                 t.dispatches[0].grid = {32, 16, 2};
               },
               ""},
        Leeway{"struct_in_a_buffer", "tq4",
               [](Trace& t) { t.dispatches[0].bindings.at(0).buffer = harness::TraceBuffer{"params", 256, 0}; }, ""},
        Leeway{"another_placeholder", "quantize", [](Trace& t) { t.dispatches[0].bindings.at(4).buffer->name = "dummy"; }, ""},
        Leeway{"unknown_indices", "tq4", [](Trace& t) { t.dispatches[0].bindings[9].buffer = harness::TraceBuffer{"stale", 4, 0}; }, ""},
        Leeway{"helpers_in_another_order", "bf16_prefill", [](Trace& t) { std::swap(t.dispatches[0], t.dispatches[1]); }, ""}),
    [](const auto& parameter) { return parameter.param.name; });

// The contract has 8 where the constant is not set; at 6 bits the same omission is a difference (unset_constant above).
TEST(DispatchCheck, AConstantMayBeLeftToADefaultThatComesToTheSame) {
  const auto catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  const std::vector<harness::Case> cases = {
      harness::parse_case("tqhb_v2/d256/b8/h8x2/kv65c65/ring30/win33/nwg2/nsg2/gauss/s7", families::find_family("tqhb"))};
  const harness::Workbench workbench(catalogue, cases, {});
  const harness::PreparedVariant& eight = workbench.find("tqhb_v2");
  const auto dispatches = record_case(eight, cases.front(), {});
  Trace trace = reports::parse_trace(reports::dispatch_json("", dispatches), "eight.json");
  ASSERT_EQ(trace.dispatches[0].constants.erase(50), 1U);
  const harness::TraceCheck result = check_trace(eight, dispatches, trace);
  EXPECT_THAT(result.differences, IsEmpty());
  EXPECT_THAT(result.remarks, ElementsAre(HasSubstr("function constant 50: the trace does not set it; the kernel's default equals")));
}

TEST(DispatchCheck, OneBufferMayNotHoldTwoThingsInOnePlace) {
  Trace trace = recorded("reduce");
  trace.dispatches[0].bindings.at(1).buffer = harness::TraceBuffer{"heap", 140288, 0};
  trace.dispatches[0].bindings.at(2).buffer = harness::TraceBuffer{"heap", 140288, 132092};
  EXPECT_THAT(check("reduce", trace).differences,
              Contains(HasSubstr("buffer 'heap': htmp occupies 132096 bytes from offset 0, but dst starts at offset 132092")));
}

TEST(DispatchCheck, RefusesUnknownFunctions) {
  Trace trace = recorded("fwht");
  trace.dispatches[0].function = "fwht_d512";
  try {
    static_cast<void>(check("fwht", trace));
    FAIL() << "an unknown function was accepted";
  } catch (const harness::TraceError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("fwht.json: commands[0].function"), HasSubstr("'fwht_d512'"), HasSubstr("fwht_sign_undo_f32_d512")));
  }
}

TEST(DispatchCheck, RefusesFieldsThatTheBytesContradict) {
  Trace trace = recorded("fwht");
  trace.dispatches[0].bindings.at(1).fields.at(1).value = std::uint64_t{7};
  try {
    static_cast<void>(check("fwht", trace));
    FAIL() << "a field that is not in the bytes was accepted";
  } catch (const harness::TraceError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("fwht.json: commands[0]: field 'num_heads' of the binding of index 1 is given as 7, but bytes 4..7 hold 8"));
  }
}

TEST(DispatchReplay, TheRightLaunchPasses) {
  for (const char* family : {"tq4", "tqhb", "reduce", "fwht", "quantize", "dequantize"}) {
    const harness::Verdict verdict = executed(family, recorded(family));
    EXPECT_EQ(verdict.status, harness::Status::passed) << family << ": " << reason_of(verdict);
  }
}

TEST(DispatchReplay, AWrongRingStartGivesWrongNumbers) {
  Trace trace = recorded("tq4");
  set_word(trace, 0, 0, 40, 29);
  const harness::Verdict verdict = executed("tq4", trace);
  EXPECT_EQ(verdict.status, harness::Status::failed);
  EXPECT_GT(verdict.judgement.above_bound, 0U);
}

TEST(DispatchReplay, WhatAMissingDispatchWouldWriteIsNeverWritten) {
  Trace trace = recorded("tq4");
  trace.dispatches[0].grid.z = 1;
  const harness::Verdict verdict = executed("tq4", trace);
  EXPECT_EQ(verdict.status, harness::Status::failed);
  EXPECT_GT(verdict.judgement.not_written, 0U);
}

TEST(DispatchReplay, SwappedBuffersGiveWrongNumbers) {
  Trace trace = recorded("tq4");
  std::swap(trace.dispatches[0].bindings.at(2).buffer->name, trace.dispatches[0].bindings.at(4).buffer->name);
  EXPECT_EQ(executed("tq4", trace).status, harness::Status::failed);
}

TEST(DispatchReplay, AnOutputElsewhereIsNeverWritten) {
  Trace trace = recorded("reduce");
  trace.dispatches[0].bindings.at(2).buffer->name = "htmp";
  const harness::Verdict verdict = executed("reduce", trace);
  EXPECT_EQ(verdict.status, harness::Status::failed);
  EXPECT_GT(verdict.judgement.not_written, 0U);
}

// The partials are right, but the second dispatch reads others.
TEST(DispatchReplay, ABufferOfTheHostsOwnHoldsPoison) {
  Trace trace = recorded("tq4");
  trace.dispatches[1].bindings.at(1).buffer->name = "other";
  const harness::Verdict verdict = executed("tq4", trace);
  EXPECT_EQ(verdict.status, harness::Status::failed);
  // Arithmetic on the poison keeps its bits, so that it counts as never written.
  EXPECT_GT(verdict.judgement.not_written, 0U);
}

TEST(DispatchReplay, WhatMetalForbidsIsRejected) {
  Trace unbound = recorded("fwht");
  unbound.dispatches[0].bindings.erase(0);
  EXPECT_THAT(reason_of(executed("fwht", unbound)),
              HasSubstr("commands[0] 'fwht_sign_premult_f32_d512': nothing is bound at index 0 (data)"));
  Trace empty = recorded("fwht");
  empty.dispatches[0].grid.x = 0;
  EXPECT_EQ(executed("fwht", empty).status, harness::Status::rejected);
  Trace no_memory = recorded("tq4");
  no_memory.dispatches[0].threadgroup_memory.clear();
  EXPECT_EQ(executed("tq4", no_memory).status, harness::Status::rejected);
  Trace much_memory = recorded("tq4");
  much_memory.dispatches[0].threadgroup_memory[0] = UINT64_MAX - 15;
  EXPECT_THAT(reason_of(executed("tq4", much_memory)), HasSubstr("18446744073709551600 bytes of threadgroup memory 0; Metal allows 32768"));
  Trace no_bytes = recorded("tq4");
  no_bytes.dispatches[0].bindings.at(0).bytes->clear();
  EXPECT_EQ(executed("tq4", no_bytes).status, harness::Status::rejected);
}

TEST(DispatchReplay, AMissingBarrierIsAHazard) {
  Trace trace = recorded("tq4");
  EXPECT_EQ(executed("tq4", trace, true).status, harness::Status::passed);
  trace.dispatches[1].after_barrier = false;
  EXPECT_TRUE(check("tq4", trace).lacks_barrier);
  const harness::Verdict verdict = executed("tq4", trace, true);
  EXPECT_EQ(verdict.status, harness::Status::hazard);
  EXPECT_THAT(reason_of(verdict), HasSubstr("no memory_barrier()"));
}

}  // namespace
}  // namespace assay::tests::dispatch_traces_test
