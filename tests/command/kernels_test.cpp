// The command itself, as a user meets it: a kernel of one's own that passes, the same kernel with a mistake that fails, broken
// files that end with status 2 and a message, and bits that depend on neither threads nor schedules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::kernels_test {
namespace {

using ::testing::HasSubstr;

const std::string kSettings = " --family tq4 --set tile=32 --set temperature=1";

TEST_F(Cli, AKernelWrittenIndependentlyPasses) {
  const Outcome outcome = run_assay("run smoke --kernel " + write(independent_kernel()) + kSettings);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  for (const char* text : {"'decode_tq_256' was chosen", "reduce_v1 is used", "a different order", "supports only block_norms 0",
                           "100 cases: 100 passed, 0 failed", "0 faulty", "executed on the simulator"}) {
    EXPECT_THAT(outcome.output, HasSubstr(text));
  }
}

// Fields are bound by name; a host with a struct of its own needs the contract's offsets.
TEST_F(Cli, AnotherLayoutOfParametersIsRefusedOnRequest) {
  const Outcome refused = run_assay("run smoke --abi --kernel " + write(independent_kernel()) + kSettings);
  EXPECT_EQ(refused.status, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("--abi: the parameters of 'decode_tq_256' have another layout than the contract's:\n"
                                        "  n_heads: 4 bytes at 36; the contract's has 4 bytes at 0\n"));
  const Outcome ours = run_assay("run smoke --shard 1/50 --abi --ledger none");
  EXPECT_EQ(ours.status, 0) << ours.output;
}

TEST_F(Cli, ACaseOfTheFamilyIsAskedOfTheUsersKernel) {
  const Outcome outcome =
      run_assay("run tq4/d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s1 --kernel " + write(independent_kernel()) + kSettings);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("kernel/d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s1"));
}

// Two lists of head sizes mean all pairs, which is not what the table of a file of functions says.
TEST_F(Cli, AMissingFunctionOfAPairSaysHowPairsAreWritten) {
  const std::filesystem::path ours = kRoot / "kernels/variants/attn_simd_v1";
  const std::filesystem::path mine = folder_ / "pairs";
  std::filesystem::create_directory(mine);
  std::filesystem::copy(ours / "kernel.metal", mine);
  std::string description = read_file(ours / "variant.toml");
  const std::size_t dk = description.find("dk  ");
  description.replace(dk, description.find("type  ") - dk, "dk = [64, 80]\ndv = [64, 80]\n");
  std::ofstream(mine / "variant.toml") << description;
  const Outcome outcome = run_assay("run smoke --kernel " + mine.string());
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("dk = [64, 80] and dv = [64, 80] mean all 4 pairs; dv = \"dk\" admits equal values only, and dv = "
                                        "[\"64x64\", ...] pairs"));
}

// A gate of which a quarter is left must not look like a gate.
TEST_F(Cli, SaysHowManyCasesAKernelIsNotMadeFor) {
  const std::filesystem::path ours = kRoot / "kernels/variants/tq4_v1";
  const std::filesystem::path mine = folder_ / "unlimited_v1";
  std::filesystem::create_directory(mine);
  std::filesystem::copy(ours / "kernel.metal", mine);
  std::string description = read_file(ours / "variant.toml");
  const std::size_t limits = description.find("[limits]");
  description.erase(limits, description.find("[accuracy]") - limits);
  std::ofstream(mine / "variant.toml") << description;
  const Outcome outcome = run_assay("run smoke --kernel " + mine.string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, ::testing::ContainsRegex("note: [0-9]+ of 100 cases are skipped, the first because of unlimited_v1: "
                                                       "scale_factor_d512 = .*, but the kernel has no such field"));
  EXPECT_THAT(outcome.output, HasSubstr("use [limits] in variant.toml to exclude cases that a kernel does not support"));
}

struct Mistake {
  const char* name;
  const char* from;
  const char* to;
};

class CliMistake : public Cli, public ::testing::WithParamInterface<Mistake> {};

TEST_P(CliMistake, FailsWithWorstElementsAndAReplayLine) {
  const std::string kernel = with(GetParam().from, GetParam().to);
  const Outcome outcome = run_assay("run smoke --fail-fast --jobs 1 --kernel " + kernel + kSettings);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  for (const char* text : {"failed kernel/d", "coordinate", "error/bound", "replay: assay run kernel/d"})
    EXPECT_THAT(outcome.output, HasSubstr(text));

  const std::size_t replay = outcome.output.find("replay: assay ");
  ASSERT_NE(replay, std::string::npos);
  const std::size_t start = replay + std::string("replay: assay ").size();
  const Outcome again = run_assay(outcome.output.substr(start, outcome.output.find('\n', start) - start));
  EXPECT_EQ(again.status, 1) << again.output;
  EXPECT_THAT(again.output, HasSubstr("1 case: 0 passed, 1 failed"));
}

INSTANTIATE_TEST_SUITE_P(
    All, CliMistake,
    ::testing::Values(Mistake{"window_off_by_one", "order + a.sliding_window >= a.kv_seq_len", "order + a.sliding_window > a.kv_seq_len"},
                      Mistake{"ring_off_by_one", "slot + a.kv_capacity - a.ring_start", "slot + a.kv_capacity - a.ring_start - 1"},
                      Mistake{"newest_slot_lost", "first < params.kv_seq_len;", "first + 1 < params.kv_seq_len;"},
                      Mistake{"wrong_head_sharing", "head / (params.n_heads / params.n_kv_heads)", "head % params.n_kv_heads"},
                      Mistake{"query_not_rounded", "float(half(Q[head * D + lane + 32 * i]))", "Q[head * D + lane + 32 * i]"},
                      Mistake{"nibbles_swapped", "(j & 1) ? row[j / 2] >> 4 : row[j / 2] & 15",
                              "(j & 1) ? row[j / 2] & 15 : row[j / 2] >> 4"},
                      Mistake{"accumulator_not_rescaled", "o[i] = o[i] * keep +", "o[i] = o[i] +"},
                      Mistake{"maximum_starts_at_zero", "State state = {-FLT_MAX / 2, 0};", "State state = {0, 0};"},
                      Mistake{"scale_a_little_off", "* params.scale;", "* (params.scale * 1.0001f);"},
                      Mistake{"partial_sum_left_out", "tail[0] = state.s;", "tail[0] = w == 1 ? 0 : state.s;"},
                      Mistake{"partial_maximum_never_written", "tail[1] = state.m;", ""}),
    [](const auto& parameter) { return parameter.param.name; });

struct Broken {
  const char* name;
  const char* from;
  const char* to;
  std::vector<const char*> words;
};

class CliBroken : public Cli, public ::testing::WithParamInterface<Broken> {};

TEST_P(CliBroken, EndsWithStatus2AndAMessage) {
  const Outcome outcome = run_assay("run smoke --kernel " + with(GetParam().from, GetParam().to) + kSettings);
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("kernel.metal"));
  for (const char* word : GetParam().words) EXPECT_THAT(outcome.output, HasSubstr(word));
}

INSTANTIATE_TEST_SUITE_P(
    All, CliBroken,
    ::testing::Values(Broken{"does_not_compile", "float product = 0;", "float product = 0", {":55:", "error:"}},
                      Broken{"undeclared_name", "float product = 0;", "float product = nothing;", {":55:", "nothing"}},
                      Broken{"misses_an_argument", "device const float* V_norms, ", "", {"V_norms"}},
                      Broken{"unset_function_constant",
                             "inline uint nibble(device const uchar* row, uint j) {",
                             "constant int kUnset [[function_constant(9)]];\ninline uint nibble(device const uchar* row, uint j) { if "
                             "(kUnset == 3) return 0;",
                             {"kUnset", "9"}},
                      Broken{"retyped_field", "uint ring_start, nwg;", "uint ring_start; float nwg;", {"nwg"}},
                      Broken{"missing_field", "  uint sliding_window, mask_type;", "  uint sliding_window;", {"mask_type"}},
                      Broken{"valueless_field", "  float temperature;", "  float temperature, patience;", {"patience", "--set patience="}},
                      Broken{"forty_kibibytes",
                             "float q[D / 32], o[D / 32];",
                             "threadgroup float big[10240]; big[lane] = 0; float q[D / 32], o[D / 32];",
                             {"40960", "32768"}}),
    [](const auto& parameter) { return parameter.param.name; });

TEST_F(Cli, AFileWithoutTheKernelSaysWhatItHas) {
  const std::string kernel = write(
      "#include <metal_stdlib>\nusing namespace metal;\nkernel void add_one(device float* a, uint i [[thread_position_in_grid]]) { a[i] += "
      "1; }\n");
  const Outcome outcome = run_assay("run smoke --family tq4 --kernel " + kernel);
  EXPECT_EQ(outcome.status, 2) << outcome.output;
  for (const char* word : {"not a kernel of family tq4", "add_one", "flash_attn_vec_tq_dk256", "K_packed"})
    EXPECT_THAT(outcome.output, HasSubstr(word));
}

TEST_F(Cli, DivergenceAtABarrierIsAHazardOfTheCase) {
  const std::string kernel =
      with("State state = {-FLT_MAX / 2, 0};", "if (lane < 7) threadgroup_barrier(mem_flags::mem_none); State state = {-FLT_MAX / 2, 0};");
  const Outcome outcome = run_assay("run smoke --fail-fast --jobs 1 --kernel " + kernel + kSettings);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  for (const char* word : {"hazard kernel/d", "kernel.metal", "barrier"}) EXPECT_THAT(outcome.output, HasSubstr(word));
  // Kind and place once, not once per layer that passes them on.
  std::set<std::string> lines;
  std::istringstream stream(outcome.output);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t kind = line.find("barrier divergence");
    if (kind == std::string::npos) continue;
    EXPECT_EQ(line.find("barrier divergence", kind + 1), std::string::npos) << line;
    EXPECT_TRUE(lines.insert(line.substr(line.find_first_not_of(' '))).second) << line;
  }
  EXPECT_FALSE(lines.empty());
}

TEST(CliUsage, WrongUseEndsWithStatus2AndAMessage) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"", "a command is needed"},
      {"bogus", "bogus"},
      {"run", "nothing was selected"},
      {"run 'nothing*'", "nothing*"},
      {"run nobody_v1/d256", "nobody_v1"},
      {"run smoke --family tq5", "tq5"},
      {"run smoke --family fwht --schedule sideways", "sideways"},
      {"run smoke --family fwht --fp-contract maybe", "maybe"},
      {"run smoke --family fwht --set x", "name=value"},
      {"run smoke --family fwht --set num_heads=3", "num_heads"},
      {"run smoke --family fwht --set speed=3", "speed"},
      {"run smoke --family fwht --kernel /nonexistent.metal", "/nonexistent.metal"},
      {"list --variants /nonexistent", "/nonexistent"},
      {"show fwht_v1/d256/h1/undo/gauss", "s<seed>"},
      {"show gate", "show runs one case; this selects "},
      {"show fwht_v1/d256/h1/undo/gauss/s1 fwht_v1/d256/h2/undo/gauss/s1", "show runs one case; this selects 2"},
  };
  for (const auto& [arguments, word] : all) {
    const Outcome outcome = run_assay(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << "\n" << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(word)) << arguments;
  }
}

TEST(CliUsage, ARefusalOfTheLaunchCodeIsAVerdict) {
  const Outcome outcome = run_assay("run tq4_v1/d256/h6x4/kv64c64/ring0/nomask/nwg1/gauss/s1");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("rejected tq4_v1"));
  EXPECT_THAT(outcome.output, HasSubstr("n_heads = 6 is not a multiple of n_kv_heads = 4"));
}

TEST(CliUsage, ShowPrintsEverythingAboutOneCase) {
  const Outcome outcome = run_assay("show tq4_v1/d256/h4x4/kv65c65/ring31/win33/nwg3/gauss/s7");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  for (const char* word : {"passed tq4_v1", "sliding_window   33", "1024 compared", "worst elements", "reduce of reduce_v1: passed",
                           "meeting points", "executed on the simulator"}) {
    EXPECT_THAT(outcome.output, HasSubstr(word));
  }
}

// The digest in the summary is over every output byte. The gate compares the digests of all families in two schedules.
TEST(CliBits, DependOnNeitherThreadsNorJobsNorSchedules) {
  const auto digest = [](const std::string& options) {
    const Outcome outcome = run_assay("run smoke --family tq4 --shard 3/20 " + options);
    const std::size_t place = outcome.output.find("output digest ");
    EXPECT_NE(place, std::string::npos) << outcome.output;
    return place == std::string::npos ? std::string() : outcome.output.substr(place, 30);
  };
  const std::string forward = digest("--threads 1 --jobs 1");
  EXPECT_EQ(digest("--threads 2 --jobs 1"), forward);
  EXPECT_EQ(digest("--jobs 4"), forward);
  EXPECT_EQ(digest("--schedule reverse"), forward);
  EXPECT_EQ(digest("--schedule random:11"), forward);
}

// The same case names and other bits in the outputs: what the digest is for.
TEST_F(Cli, TheDigestDistinguishesOutputs) {
  const auto digest = [](const std::string& kernel) {
    const Outcome outcome = run_assay("run kernel/d256/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1 --kernel " + kernel + kSettings);
    const std::size_t place = outcome.output.find("output digest ");
    EXPECT_NE(place, std::string::npos) << outcome.output;
    return place == std::string::npos ? std::string() : outcome.output.substr(place, 30);
  };
  const std::string right = digest(write(independent_kernel()));
  EXPECT_EQ(digest(write(independent_kernel() + "\n// in other words\n")), right);
  EXPECT_NE(digest(with("float(half(Q[head * D + lane + 32 * i]))", "Q[head * D + lane + 32 * i]")), right);
}

}  // namespace
}  // namespace assay::tests::kernels_test
