// Single kernel files without a description: what the command detects about them, and what options must declare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "families/registry.h"
#include "kernels/variant.h"
#include "tests/support/command.h"

namespace assay::tests::lone_test {
namespace {

using namespace ::testing;

class CliLone : public Cli {
 protected:
  // One of our kernels with pieces of its text replaced, each of which must be there.
  std::string changed(const std::string& variant, const std::vector<std::pair<std::string, std::string>>& changes) const {
    std::string text = source_of(variant);
    for (const auto& [from, to] : changes) text = replaced(text, from, to);
    return write(text);
  }
  // Of 8 bits at compile time.
  std::string eight_bits() const {
    return changed("tqhb_v1", {{"    uint  codebook_bits;\n", ""}, {"params.codebook_bits;\n\n", "8;\n\n"}, {"== 52", "== 48"}});
  }
};

TEST_F(CliLone, ItsOwnCodebookMustBeDeclared) {
  const std::string kernel = " --ledger none --family tqhb --kernel " + eight_bits();
  for (const char* command : {"run smoke --shard 1/8", "list", "list gate --coverage", "support"}) {
    const Outcome untold = run_assay(command + (std::string(command).starts_with("run") ? kernel : kernel.substr(14)));
    EXPECT_EQ(untold.status, 2) << command << untold.output;
    EXPECT_THAT(untold.output, AllOf(HasSubstr("kernel.metal: its function for d256 receives the bits of the codebook neither as field"),
                                     HasSubstr("--limit codebook_bits=8"), Not(HasSubstr("failed"))));
  }
  const Outcome told = run_assay("run smoke --shard 1/8 --limit codebook_bits=8" + kernel);
  EXPECT_EQ(told.status, 0) << told.output;
  EXPECT_THAT(told.output, AllOf(HasSubstr("13 cases: 13 passed"), HasSubstr("supports only nsg 1"),
                                 HasSubstr("the kernel has no field fuse_fwht_pre"), Not(HasSubstr("skipped"))));
  const Outcome several = run_assay("run smoke --shard 1/8 --limit codebook_bits=5,8" + kernel);
  EXPECT_EQ(several.status, 2) << several.output;
}

TEST_F(CliLone, LimitsAreHeldAndStandInReplayLines) {
  const std::string kernel = " --family tqhb --kernel " + eight_bits();
  const std::string rest = "/h2x2/kv33c33/ring0/nomask/nwg4/nsg1/gauss/s1 --ledger none --limit codebook_bits=8 --limit head_dim=256";
  const Outcome outside = run_assay("run kernel/d256/b5" + rest + kernel);
  EXPECT_EQ(outside.status, 4) << outside.output;
  EXPECT_THAT(outside.output, HasSubstr("--limit codebook_bits = [8], but the case has 5"));
  // Wrong on purpose: it is of 8 bits.
  const Outcome wrong =
      run_assay("run smoke --shard 1/8 --fail-fast --jobs 1 --ledger none --limit codebook_bits=6 --limit nsg=1" + kernel);
  EXPECT_EQ(wrong.status, 1) << wrong.output;
  EXPECT_THAT(wrong.output, HasSubstr("--family tqhb --limit codebook_bits=6 --limit nsg=1"));
}

TEST_F(CliLone, LimitsAreReadLikeThoseOfADescription) {
  const kernels::AxisLimit limit = kernels::parse_limit_assignment("nwg=1,-2,16", families::contract("tqhb"));
  EXPECT_EQ(limit.axis, "nwg");
  EXPECT_THAT(limit.values, ElementsAre(1, -2, 16));
  // sqrt(512) as the bits of a float, under the name that case names have for it.
  EXPECT_THAT(kernels::parse_limit_assignment("scale_factor_d512=16,root512", families::contract("tq4")).values,
              ElementsAre(16, 0x41b504f3));

  const std::string kernel = " --family tqhb --kernel " + eight_bits();
  const std::string eight = " --limit codebook_bits=8";
  EXPECT_THAT(run_assay("support" + eight + kernel).output, HasSubstr("kernel"));
  for (const auto& [options, word] : std::vector<std::pair<std::string, std::string>>{
           {"list --limit colour=3" + kernel, "--limit colour: family tqhb has no such axis; accepted: head_dim"},
           {"list --limit nsg" + kernel, "as axis=value"},
           {"list --limit nsg=" + kernel, "'' of the limit 'nsg=' is not an integer"},
           {"list --limit nsg=1,x" + kernel, "'x' of the limit"},
           {"list --limit nsg=1 --limit nsg=2" + kernel, "limited twice"},
           {"list --limit nsg=1", "needs --kernel with a single .metal file"},
           {"mutate tqhb_v1 --list --limit nsg=1", "needs --kernel with a single .metal file"},
           {"mutate " + kernel.substr(kernel.find(" --kernel ") + 10) + " --family tqhb --suite smoke", "--limit codebook_bits=8"}}) {
    const Outcome outcome = run_assay(options);
    EXPECT_EQ(outcome.status, 2) << options << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(word)) << options;
  }
  write("family = \"tqhb\"\nsource = \"kernel.metal\"\n", "variant.toml");
  EXPECT_THAT(run_assay("list --limit nsg=1 --kernel " + folder_.string()).output, HasSubstr("in [limits]"));
}

// What a file has no function for is no case of its suites, and no combination that they could meet.
TEST_F(CliLone, SuitesAndCoverageKnowWhichFunctionsThereAre) {
  const std::string four = " --family quantize --kernel " + changed("quantize4_v1", {});
  const Outcome run = run_assay("run smoke --shard 1/8 --ledger none" + four);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("supports only bits 4"), HasSubstr("no function 'hadamard_quantize_kv_hb_d"), Not(HasSubstr("skipped"))));
  const Outcome coverage = run_assay("list gate --coverage" + four);
  EXPECT_THAT(coverage.output, AllOf(HasSubstr("supports only bits 4"), HasSubstr("pairs of values "), Not(HasSubstr("not met"))));
  const Outcome listed = run_assay("list gate" + four);
  EXPECT_THAT(listed.output, AllOf(HasSubstr("/b4/"), Not(HasSubstr("/b5/")), Not(HasSubstr("/b8/"))));
  // A case that is asked for by name says why it is skipped.
  const Outcome named = run_assay("run kernel/d256/b8/g2/pos0c32/gauss/s1 --ledger none" + four);
  EXPECT_EQ(named.status, 4) << named.output;
  EXPECT_THAT(named.output, HasSubstr("no function"));
}

TEST_F(CliLone, AKernelOfOneHeadDimensionHasSuitesOfItsOwn) {
  const std::string large = "template [[host_name(\"flash_attn_vec_reduce_dk512\")]]";
  const std::string text = source_of("reduce_v1");
  ASSERT_NE(text.find(large), std::string::npos);
  const std::string kernel = " --family reduce --kernel " + changed("reduce_v1", {{large, "// " + large}});
  const Outcome run = run_assay("run smoke --shard 1/8 --ledger none" + kernel);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("supports only head_dim 256"), Not(HasSubstr("skipped"))));
  EXPECT_THAT(run_assay("list gate" + kernel).output, Not(HasSubstr("/d512/")));
}

// The grid says how many workgroups there are, and nothing else is lost with these fields.
TEST_F(CliLone, FieldsThatAKernelCanDoWithoutMayBeMissing) {
  const std::string kernel = changed("tqhb_v1", {{"    float softcap;\n    uint  nwg;\n", ""},
                                                 {"    float scale_factor_d512;\n    uint  codebook_bits;\n", "    uint  codebook_bits;\n"},
                                                 {"== 52", "== 40"},
                                                 {"uint3  tgpig [[", "uint3 grid [[threadgroups_per_grid]], uint3  tgpig [["},
                                                 {"params.nwg", "grid.z"},
                                                 {"params.scale_factor_d512)", "1.0f)"},
                                                 {"params.scale_factor_d512)", "1.0f)"}});
  const Outcome outcome = run_assay("run smoke --shard 1/8 --ledger none --family tqhb --kernel " + kernel);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("supports only head_dim 256"), HasSubstr("13 cases: 13 passed"), HasSubstr("the kernel has no such field")));
}

// What the user declares is believed, although the struct says otherwise.
TEST_F(CliLone, ADeclaredLayoutOfNormsIsBelieved) {
  const auto with_factor = [&](const std::string& factor) {
    return "run smoke --shard 1/4 --ledger none --family tq4 --kernel " + changed("tq4_v2", {{"    float scale_factor_d512;\n", ""},
                                                                                             {"== 48", "== 44"},
                                                                                             {"params.scale_factor_d512", factor},
                                                                                             {"params.scale_factor_d512", factor}});
  };
  // Without a factor, sqrt(512) is assumed, and that is said.
  const std::string root = with_factor("22.627417f");
  const Outcome assumed = run_assay(root + " --limit block_norms=1");
  EXPECT_EQ(assumed.status, 0) << assumed.output;
  EXPECT_THAT(assumed.output, AllOf(HasSubstr("is taken to be sqrt(512)"), Not(HasSubstr("supports only head_dim 256"))));
  const Outcome named = run_assay(root + " --limit block_norms=1 --limit scale_factor_d512=root512");
  EXPECT_EQ(named.status, 0) << named.output;
  EXPECT_THAT(named.output, Not(HasSubstr("supports only")));

  const std::string run = with_factor("16.0f");
  EXPECT_THAT(run_assay(run).output, AllOf(HasSubstr("supports only block_norms 0"),
                                           HasSubstr("declare that with the limits block_norms = 1 and scale_factor_d512")));
  const Outcome halfway = run_assay(run + " --limit block_norms=1");
  EXPECT_EQ(halfway.status, 1) << halfway.output;
  EXPECT_THAT(halfway.output, HasSubstr("if it is another, declare that with the limit scale_factor_d512"));
  const Outcome told = run_assay(run + " --limit block_norms=1 --limit scale_factor_d512=16");
  EXPECT_EQ(told.status, 0) << told.output;
  EXPECT_THAT(told.output, AllOf(HasSubstr("25 cases: 25 passed"), Not(HasSubstr("supports only"))));
  const Outcome wrong = run_assay(run + " --limit block_norms=1 --limit scale_factor_d512=1");
  EXPECT_EQ(wrong.status, 1) << wrong.output;

  // With the field, but one norm per position: the reverse.
  const std::string reverse =
      "run smoke --shard 1/4 --ledger none --family tq4 --kernel " +
      changed("tq4_v1", {{"    uint  ring_start;\n", "    uint  ring_start;\n    float scale_factor_d512;\n"}, {"== 44", "== 48"}});
  EXPECT_THAT(run_assay(reverse).output, HasSubstr("declare that with the limit block_norms = 0"));
  const Outcome believed = run_assay(reverse + " --limit block_norms=0");
  EXPECT_EQ(believed.status, 0) << believed.output;
  EXPECT_THAT(believed.output, AllOf(HasSubstr("25 cases: 25 passed"), Not(HasSubstr("supports only"))));
}

TEST_F(CliLone, AStructMayLackAFieldThatHasNoEffectWithinTheLimits) {
  const std::string run = "run smoke --shard 1/4 --ledger none --family tq4 --kernel " +
                          changed("tq4_v1", {{"    uint  ring_start;\n", ""}, {"== 44", "== 40"}, {"slot - params.ring_start", "slot"}});
  const Outcome untold = run_assay(run);
  EXPECT_EQ(untold.status, 2) << untold.output;
  EXPECT_THAT(untold.output,
              HasSubstr("declare that the kernel is only for ring_start = 0: [limits] ring_start = [0], or --limit ring_start=0"));
  const Outcome told = run_assay(run + " --limit ring_start=0");
  EXPECT_EQ(told.status, 0) << told.output;
  EXPECT_THAT(told.output, HasSubstr("25 cases: 25 passed"));
  EXPECT_EQ(run_assay(run + " --limit ring_start=0,1").status, 2);
}

TEST_F(CliLone, AQuantiserWithoutAProbeIsNotAskedForIt) {
  const std::string kernel = changed("quantize4_v1", {{"    uint  rms_probe_enabled;\n", ""},
                                                      {"        device       float          * rms_scratch [[buffer(4)]],\n", ""},
                                                      {"params.rms_probe_enabled != 0", "false"},
                                                      {"rms_scratch[head", "norms[head"},
                                                      {"== 28", "== 24"}});
  const Outcome run = run_assay("run smoke --shard 1/8 --ledger none --family quantize --kernel " + kernel);
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("supports only rms_probe 0"), HasSubstr("has no argument rms_scratch"), Not(HasSubstr("skipped"))));
  const Outcome named = run_assay("run kernel/d256/b4/g2/pos0c32/probe/gauss/s1 --ledger none --family quantize --kernel " + kernel);
  EXPECT_EQ(named.status, 4) << named.output;
  EXPECT_THAT(named.output, AllOf(HasSubstr("skipped"), HasSubstr("has no argument rms_scratch"), Not(HasSubstr("mistrusted"))));
}

// A case of several chunks for each simdgroup.
std::string of_nsg(int nsg, const std::string& kernel = "kernel") {
  return kernel + "/d256/b8/h2x1/kv261c300/ring0/win200/nwg2/nsg" + std::to_string(nsg) + "/gauss/s1 ";
}

// Without a field nsg: `argument` is added to the kernel's, and `nsg` says how it knows.
std::vector<std::pair<std::string, std::string>> without_nsg(const std::string& argument, const std::string& nsg) {
  return {{"    uint  nsg;\n", ""},
          {"== 60", "== 56"},
          {"[[simdgroup_index_in_threadgroup]]) {", "[[simdgroup_index_in_threadgroup]]" + argument + ") {"},
          {"params.nsg", nsg}};
}

TEST_F(CliLone, AKernelThatSeesItsThreadgroupIsRunWithSeveralSimdgroups) {
  for (const char* builtin : {"dispatch_simdgroups_per_threadgroup", "threads_per_threadgroup"}) {
    const bool is_threads = std::string(builtin).find("threads") != std::string::npos;
    auto changes =
        without_nsg(std::string(is_threads ? ", uint3" : ", ushort") + " size [[" + builtin + "]]", is_threads ? "size.y" : "size");
    const Outcome right =
        run_assay("run " + of_nsg(1) + of_nsg(2) + of_nsg(4) + "--ledger none --family tqhb --kernel " + changed("tqhb_v2", changes));
    EXPECT_EQ(right.status, 0) << builtin << right.output;
    EXPECT_THAT(right.output, AllOf(HasSubstr("3 cases: 3 passed"), Not(HasSubstr("made for nsg"))));
  }
  auto changes = without_nsg(", ushort size [[simdgroups_per_threadgroup]]", "size");
  changes.emplace_back("exp(ss[g * 2 * C + 1] - M)", "3.0f");
  const std::string wrong = " --ledger none --family tqhb --kernel " + changed("tqhb_v2", changes);
  EXPECT_EQ(run_assay("run " + of_nsg(2) + wrong).status, 1);
}

TEST_F(CliLone, FunctionConstantsThatTheFamilyDoesNotSetAreGivenValues) {
  auto changes = without_nsg("", "uint(kNsg)");
  changes.emplace_back("#define SIMD_WIDTH 32\n", "#define SIMD_WIDTH 32\nconstant int kNsg [[function_constant(51)]];\n");
  const std::string kernel = " --family tqhb --kernel " + changed("tqhb_v2", changes);
  EXPECT_THAT(run_assay("run --ledger none " + of_nsg(4) + kernel).output, HasSubstr("kNsg"));
  for (const auto& [given, nsg] : std::vector<std::pair<std::string, int>>{
           {"--constant kNsg=1", 1}, {"--constant 51=2 --limit nsg=2", 2}, {"--constant kNsg=4 --limit nsg=4", 4}}) {
    const Outcome outcome = run_assay("run --ledger none " + of_nsg(nsg) + given + kernel);
    EXPECT_EQ(outcome.status, 0) << given << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("1 case: 1 passed")) << given;
  }
  const Outcome wrong = run_assay("run --ledger none " + of_nsg(4) + "--constant kNsg=2 --limit nsg=4" + kernel);
  EXPECT_EQ(wrong.status, 1) << wrong.output;
  EXPECT_THAT(wrong.output, HasSubstr("--limit nsg=4 --constant kNsg=2"));
  for (const auto& [option, word] : std::vector<std::pair<std::string, std::string>>{
           {" --constant 50=8", "family tqhb sets function constant 50 for each case: codebook_bits"},
           {" --constant kNope=8", "the file has no such function constant; it has kNsg (51), kBitsConstant (50)"},
           {" --constant kNsg=1.5", "the value does not fit its type, int"},
           {" --constant kNsg=1 --constant 51=1", "set twice, by name and by index"},
           {" --constant kNsg", "name=value"}}) {
    const Outcome outcome = run_assay("run --ledger none " + of_nsg(1) + option + kernel);
    EXPECT_EQ(outcome.status, 2) << option << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(word)) << option;
  }

  // The same as a component of a vector.
  auto of_vector = without_nsg("", "uint(kPair.y)");
  of_vector.emplace_back("#define SIMD_WIDTH 32\n", "#define SIMD_WIDTH 32\nconstant short2 kPair [[function_constant(51)]];\n");
  const std::string pair = " --family tqhb --kernel " + changed("tqhb_v2", of_vector);
  const Outcome vector_given = run_assay("run --ledger none " + of_nsg(2) + "--constant kPair=7,2 --limit nsg=2" + pair);
  EXPECT_EQ(vector_given.status, 0) << vector_given.output;
  EXPECT_THAT(run_assay("run --ledger none " + of_nsg(2) + "--constant 51=2 --limit nsg=2" + pair).output,
              HasSubstr("51: 1 value is given (2), but its type, short2, has 2"));
  write("family = \"tqhb\"\nsource = \"kernel.metal\"\n[limits]\nnsg = [2]\n[constants]\nkPair = [7, 2]\n", "variant.toml");
  const Outcome listed = run_assay("run --ledger none " + of_nsg(2, folder_.filename().string()) + "--kernel " + folder_.string());
  EXPECT_EQ(listed.status, 0) << listed.output;
  for (const char* list : {"[7]", "[1, 2, 3, 4, 5]", "[7, \"2\"]", "[[1], 2]"}) {
    const std::string toml = std::string("family = \"fwht\"\nsource = \"a\"\n[constants]\nk = ") + list + "\n";
    EXPECT_THROW(static_cast<void>(kernels::parse_variant(toml, "a", "a.toml", families::contracts())), kernels::VariantError) << list;
  }
  changed("tqhb_v2", changes);

  write("family = \"tqhb\"\nsource = \"kernel.metal\"\n[limits]\nnsg = [2]\n[constants]\nkNsg = 2\n", "variant.toml");
  const std::string one = "run --ledger none " + of_nsg(2, folder_.filename().string());
  const Outcome described = run_assay(one + "--kernel " + folder_.string());
  EXPECT_EQ(described.status, 0) << described.output;
  EXPECT_THAT(run_assay(one + "--constant kNsg=2 --kernel " + folder_.string()).output, HasSubstr("in [constants]"));
  write("family = \"tqhb\"\nsource = \"kernel.metal\"\n[constants]\n50 = 8\n", "variant.toml");
  EXPECT_THAT(run_assay(one + "--kernel " + folder_.string()).output, HasSubstr("[constants] 50: family tqhb sets"));
  EXPECT_THROW(static_cast<void>(kernels::parse_variant("family = \"fwht\"\nsource = \"a\"\n[constants]\nk = \"1\"\n", "a", "a.toml",
                                                        families::contracts())),
               kernels::VariantError);
}

// A merge of a fixed number of simdgroups, which the host passes, with an argument that the contract does not have.
class CliOwnLaunch : public CliLone {
 protected:
  std::string kernel_with(const std::string& more) const {
    return changed("reduce_v1",
                   {{"& nwg_param [[buffer(3)]],", "& nwg_param [[buffer(3)]],\n constant uint & simdgroups [[buffer(4)]]," + more},
                    {"i += nwg)", "i += simdgroups)"}});
  }
  void write_to(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
};

TEST_F(CliOwnLaunch, SetGivesNumbersToArgumentsAndToTheLaunch) {
  const std::string kernel = "run smoke --shard 1/8 --ledger none --family reduce --kernel " + kernel_with("");
  const Outcome untold = run_assay(kernel);
  EXPECT_EQ(untold.status, 2);
  EXPECT_THAT(untold.output, HasSubstr("argument 'simdgroups' (buffer 4) is never bound"));
  const Outcome told = run_assay(kernel + " --set simdgroups=4 --set threads=128");
  EXPECT_EQ(told.status, 0) << told.output;
  EXPECT_THAT(told.output, HasSubstr("13 cases: 13 passed"));
  // Half of the columns are never written.
  EXPECT_EQ(run_assay(kernel + " --set simdgroups=4 --set threads=64").status, 1);
  const Outcome misspelt = run_assay(kernel + " --set simdgroups=4 --set thread=128");
  EXPECT_EQ(misspelt.status, 2);
  EXPECT_THAT(misspelt.output, HasSubstr("--set sets 'thread', but no struct, argument or launch of"));
  EXPECT_THAT(run_assay(kernel + " --set nwg=2").output, HasSubstr("--set nwg: family reduce sets this value itself"));
}

// A merge that takes the fields of the struct as numbers, one more number, and threadgroup memory, which `reduce` has none of.
constexpr const char* kMergeByNumbers = R"(#include <metal_stdlib>
using namespace metal;
template <short D>
kernel void merge(constant uint& nrows [[buffer(0)]], device const float* htmp [[buffer(1)]], device float* dst [[buffer(2)]],
                  constant uint& nwg [[buffer(3)]], constant uint& step [[buffer(4)]], threadgroup float* weights [[threadgroup(0)]],
                  uint row [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                  uint threads [[threads_per_threadgroup]]) {
  device const float* tail = htmp + nrows * D * nwg + row * 2 * nwg;
  float top = -FLT_MAX / 2;
  for (uint w = 0; w < nwg; w += step) top = max(top, tail[2 * w + 1]);
  for (uint w = t; w < nwg; w += threads) weights[w] = exp(tail[2 * w + 1] - top);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint w = 0; w < nwg; ++w) sum += tail[2 * w] * weights[w];
  for (uint d = t; d < D; d += threads) {
    float o = 0;
    for (uint w = 0; w < nwg; ++w) o += htmp[row * D * nwg + d / 4 * 4 * nwg + w * 4 + d % 4] * weights[w];
    dst[row * D + d] = sum == 0.0f ? 0.0f : o / sum;
  }
}
template [[host_name("flash_attn_vec_reduce_dk256")]] kernel decltype(merge<256>) merge<256>;
template [[host_name("flash_attn_vec_reduce_dk512")]] kernel decltype(merge<512>) merge<512>;
)";

TEST_F(CliOwnLaunch, NumbersMayReplaceTheStructAndMemoryIsGivenByName) {
  const std::string kernel = "run smoke --ledger none --family reduce --kernel " + write(kMergeByNumbers);
  const Outcome unsized = run_assay(kernel + " --set step=1");
  EXPECT_EQ(unsized.status, 2) << unsized.output;
  EXPECT_THAT(unsized.output, HasSubstr("threadgroup argument 'weights', but the family has none; give it its bytes in [fields] or with "
                                        "--set weights=BYTES"));
  const Outcome sized = run_assay(kernel + " --set step=1 --set weights=128 --set threads=64");
  EXPECT_EQ(sized.status, 0) << sized.output;
  EXPECT_THAT(sized.output, AllOf(HasSubstr(" 0 failed"), HasSubstr("argument 'nrows' is the field of that name")));
  const Outcome wrong = run_assay(kernel + " --set step=2 --set weights=128");
  EXPECT_EQ(wrong.status, 1) << "the maximum of every second workgroup: " << wrong.output;
  const Outcome small = run_assay(kernel + " --set step=1 --set weights=0");
  EXPECT_EQ(small.status, 2) << small.output;
  EXPECT_THAT(small.output, HasSubstr("the size of threadgroup argument 'weights' must be from 1 to 32768 bytes"));
}

TEST_F(CliOwnLaunch, AVariantOfAnyFamilyMayDescribeItsLaunch) {
  const std::string kernel = kernel_with("\n device const float * room [[buffer(5)]],");
  std::filesystem::create_directories(folder_ / "mine");
  std::filesystem::rename(kernel, folder_ / "mine/kernel.metal");
  const std::string toml =
      "family = \"reduce\"\nsource = \"kernel.metal\"\n[let]\nsimdgroups = 4\n[[scratch]]\nname = \"spare\"\nbytes = \"nrows * 16\"\n"
      "[[dispatch]]\nfunction = \"flash_attn_vec_reduce_dk{head_dim}\"\ngrid = \"nrows\"\nthreads = \"32 * simdgroups\"\n"
      "arguments = { nwg_param = \"nwg\", room = \"spare\" }\n";
  write_to("mine/variant.toml", toml);
  const std::string mine = " --kernel '" + (folder_ / "mine").string() + "'";
  const Outcome passed = run_assay("run smoke --shard 1/8 --ledger none" + mine);
  EXPECT_EQ(passed.status, 0) << passed.output;
  EXPECT_THAT(passed.output, HasSubstr("13 cases: 13 passed"));
  EXPECT_THAT(run_assay("dispatch mine/d256/rows3/nwg5/gauss/s1" + mine).output, AllOf(HasSubstr("128"), HasSubstr("spare")));
  // The same in a field of the struct, which the contract does not have either, and with an argument that gets no buffer.
  const std::string struct_text =
      replaced_once(replaced_once(replaced_once(read_file(folder_ / "mine/kernel.metal"), "uint nrows;", "uint nrows, step;"),
                                  "i += simdgroups", "i += params.step"),
                    "== 4", "== 8");
  write_to("mine/kernel.metal", struct_text);
  write_to("mine/variant.toml", replaced_once(replaced_once(toml, "\"spare\" }", "\"none\", params = { step = \"simdgroups\" } }"),
                                              "[[scratch]]\nname = \"spare\"\nbytes = \"nrows * 16\"\n", ""));
  const Outcome in_struct = run_assay("run smoke --shard 1/8 --ledger none" + mine);
  EXPECT_EQ(in_struct.status, 0) << in_struct.output;
  write_to("mine/variant.toml", replaced_once(replaced_once(toml, "32 * simdgroups", "16 * simdgroups"), "\"spare\" }",
                                              "\"spare\", params = { step = \"simdgroups\" } }"));
  EXPECT_EQ(run_assay("run smoke --shard 1/8 --ledger none" + mine).status, 1);
  write_to("mine/variant.toml", replaced_once(toml, "[[dispatch]]\n", "[[dispatch]]\nfamily = \"attention\"\n"));
  EXPECT_THAT(run_assay("run smoke --ledger none" + mine).output,
              HasSubstr("'family' is 'attention', but is for a function of another family"));
}

}  // namespace
}  // namespace assay::tests::lone_test
