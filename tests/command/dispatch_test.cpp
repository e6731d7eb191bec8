// The commands that print and check traces, and their exit statuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/command.h"

namespace assay::tests::dispatch_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

const fs::path kGolden = kRoot / "tests/golden/dispatch";
const std::string kCase = "tq4_v1/d256/h8x2/kv65c65/ring30/win33/nwg2/gauss/s7";

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
      " --kernel '" + (kRoot / "tests/kernels/independent_tq4.metal").string() + "' --family tq4 --set tile=32 --set temperature=1";
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

// The same host, whose trace lists where its tensors are.
std::string with_tensors() {
  const std::string tensors = R"("version": 2, "tensors": [
    {"name": "Q", "buffer": "0x600003a0c000", "start": 0, "element": 4, "shape": [8, 256]},
    {"name": "K_packed", "buffer": "0x600003a0c000", "start": 8192, "length": 16640},
    {"name": "K_norms", "buffer": "0x600003a0c000", "start": 24832, "length": 520},
    {"name": "V_packed", "buffer": "0x600003a0c000", "start": 25600, "length": 16640},
    {"name": "V_norms", "buffer": "0x600003a0c000", "start": 42240, "length": 520},
    {"name": "partials", "buffer": "0x600003a0c000", "start": 43008, "length": 16512},
    {"name": "dst", "buffer": "0x600003a0c000", "start": 59648, "length": 8192}])";
  return replaced(read_file(kGolden / "recorded_by_host.json"), R"("version": 1)", tensors);
}

TEST_F(Cli, AViewIsHeldToItsTensor) {
  const Outcome right = run_assay("check-dispatch --execute " + write(with_tensors(), "right.json"));
  EXPECT_EQ(right.status, 0) << right.output;
  const std::string off = replaced(with_tensors(), R"("offset": 24832)", R"("offset": 6208)");
  const Outcome wrong = run_assay("check-dispatch --execute " + write(off, "wrong.json"));
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.output, AllOf(HasSubstr("the offset 6208 is that of the view in elements of 4 bytes; in bytes it is 24832"),
                                  HasSubstr("executed on the simulator: failed")));
}

TEST_F(Cli, ALaunchWithAShortBufferSaysWithWhichItRuns) {
  const std::string trace =
      replaced(read_file(kGolden / "tq4.json"), R"("buffer": "K_norms", "length": 520)", R"("buffer": "K_norms", "length": 100)");
  const std::string file = write(trace, "short.json");
  const Outcome native = run_assay("check-dispatch --execute " + file);
  EXPECT_EQ(native.status, 1);
  EXPECT_THAT(native.output, AllOf(HasSubstr("100 bytes are left after offset 0, the contract needs 520"),
                                   HasSubstr("executed on the simulator, with buffers of the right size (--policy checked")));
  const Outcome checked = run_assay("check-dispatch --execute --policy checked " + file);
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.output,
              AllOf(HasSubstr("executed on the simulator: hazard"), HasSubstr("bytes 100..103 of 'K_norms' (buffer 3, 100 bytes)")));
}

TEST_F(Cli, StrictAllowsNothing) {
  const std::string right = write(with_tensors(), "right.json");
  const Outcome strict = run_assay("check-dispatch --strict " + right);
  EXPECT_EQ(strict.status, 0) << strict.output;
  const std::string more = write(replaced(with_tensors(), R"("length": 1792)", R"("length": 2048)"), "more.json");
  const Outcome allowed = run_assay("check-dispatch " + more);
  EXPECT_EQ(allowed.status, 0);
  EXPECT_THAT(allowed.output, HasSubstr("allowed: dispatch 0 'flash_attn_vec_tq_dk256': threadgroup memory 0: the trace reserves 2048"));
  const Outcome refused = run_assay("check-dispatch --strict " + more);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.output, AllOf(HasSubstr("strict: dispatch 0 'flash_attn_vec_tq_dk256': threadgroup memory 0"),
                                    HasSubstr("1 thing that only a check without --strict allows")));
  // Only the note on the case's own variant is printed.
  EXPECT_THAT(refused.output, AllOf(HasSubstr("/tq4_v1/variant.toml"), Not(HasSubstr("/tqhb_v1/variant.toml"))));
}

// A merge of one workgroup of two.
TEST_F(Cli, AWrongMergeFailsTheLaunch) {
  const std::string trace = replaced(read_file(kGolden / "recorded_by_host.json"), R"("bytes": "02000000")", R"("bytes": "01000000")");
  const Outcome outcome = run_assay("check-dispatch --execute " + write(trace, "merge.json"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("the trace's launch, executed on the simulator: failed"), HasSubstr("elements above their bound"),
                    HasSubstr("partials, merged exactly: passed"), HasSubstr("failed: the output is not the merge of the stored partials"),
                    Not(HasSubstr("does not affect this verdict"))));
}

// Metal allows it where the kernel only reads.
TEST_F(Cli, BytesAreNotForDeviceArguments) {
  const std::string source = read_file(kRoot / "kernels/variants/fwht_v1/kernel.metal");
  const std::string trace = (kGolden / "fwht.json").string();
  const auto check = [&](const std::string& space, const std::string& options) {
    const std::string kernel = write(replaced(source, "constant FwhtParams", space + " FwhtParams"), "own.metal");
    return run_assay("check-dispatch " + trace + options + " --family fwht --kernel " + kernel);
  };
  const std::string sentence =
      "dispatch 0 'fwht_sign_premult_f32_d512': 8 bytes are copied to index 1 (params), a `device` argument; `constant` is for copied "
      "bytes";
  EXPECT_THAT(check("constant", "").output, Not(HasSubstr("are copied")));
  const Outcome allowed = check("const device", "");
  EXPECT_EQ(allowed.status, 0) << allowed.output;
  EXPECT_THAT(allowed.output, HasSubstr("allowed: " + sentence));
  const Outcome strict = check("const device", " --strict");
  EXPECT_EQ(strict.status, 1) << strict.output;
  EXPECT_THAT(strict.output, HasSubstr("strict: " + sentence));
  const Outcome writes = check("device", "");
  EXPECT_EQ(writes.status, 2) << writes.output;  // refused before any trace is read
}

TEST_F(Cli, AFileThatIsNoTraceEndsWithStatusTwo) {
  for (const std::string& argument : {write("{\"format\": ", "trace.json"), (folder_ / "absent.json").string(), folder_.string(),
                                      write(replaced(off_by_one(), "\"case\": \"" + kCase + "\", ", ""), "nameless.json"),
                                      write(replaced(off_by_one(), "flash_attn_vec_tq_dk256", "flash_attn"), "unknown.json"),
                                      write(replaced(with_tensors(), "\"start\": 0", "\"start\": -1"), "tensor.json"),
                                      "'" + kGolden.string() + "/tq4.json' --case nonsense"}) {
    const Outcome outcome = run_assay("check-dispatch " + argument);
    EXPECT_EQ(outcome.status, 2) << argument << ": " << outcome.output;
    EXPECT_THAT(outcome.output, testing::StartsWith("assay: ")) << argument;
  }
}

}  // namespace
}  // namespace assay::tests::dispatch_test
