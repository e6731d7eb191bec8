// `assay init`: what it recognises in files of other projects, what it asks, and that its drafts can be run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/text.h"
#include "kernels/variant.h"
#include "tests/support/command.h"

namespace assay::tests::init_test {
namespace {

using namespace ::testing;

const std::filesystem::path kForeign = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/kernels/foreign";

class CliInit : public Cli {
 protected:
  // `assay init` on a copy of a file, and the draft that it wrote.
  Outcome init(const std::filesystem::path& source, const std::string& options = {}) {
    std::filesystem::copy_file(source, folder_ / "kernel.metal", std::filesystem::copy_options::overwrite_existing);
    return run_assay("init " + (folder_ / "kernel.metal").string() + options);
  }
  [[nodiscard]] std::string draft() const { return kernels::read_text(folder_ / "variant.toml"); }
};

// A decode kernel in half with the argument names that its project uses. With two answers the draft passes its gate.
TEST_F(CliInit, AnAnsweredDraftOfADecodeKernelPasses) {
  write(R"(#include <metal_stdlib>
using namespace metal;
template <typename T, uint D>
kernel void decode(const device T* queries [[buffer(0)]], const device T* keys [[buffer(1)]], const device T* values [[buffer(2)]],
                   device T* out [[buffer(3)]], constant int& gqa_factor [[buffer(4)]], constant int& n [[buffer(5)]],
                   constant size_t& k_head_stride [[buffer(6)]], constant size_t& v_head_stride [[buffer(7)]],
                   constant float& scale [[buffer(8)]], uint head [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const device T* k = keys + head / gqa_factor * k_head_stride;
  const device T* v = values + head / gqa_factor * v_head_stride;
  float o[D / 32] = {};
  float top = -INFINITY, sum = 0;
  for (int j = 0; j < n; ++j) {
    float score = 0;
    for (uint i = lane; i < D; i += 32) score += scale * float(queries[head * D + i]) * float(k[j * D + i]);
    score = simd_sum(score);
    const float next = max(top, score), factor = exp(top - next), weight = exp(score - next);
    top = next;
    sum = sum * factor + weight;
    for (uint i = 0; i < D / 32; ++i) o[i] = o[i] * factor + weight * float(v[j * D + i * 32 + lane]);
  }
  for (uint i = 0; i < D / 32; ++i) out[head * D + i * 32 + lane] = T(o[i] / sum);
}
template [[host_name("decode_float16_t_64")]] kernel decltype(decode<half, 64>) decode<half, 64>;
template [[host_name("decode_float16_t_128")]] kernel decltype(decode<half, 128>) decode<half, 128>;
)");
  const Outcome outcome = run_assay("init " + (folder_ / "kernel.metal").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  for (const char* part : {"family attention", "inferred: head sizes 64, 128 from the names of the functions",
                           "inferred: q is argument 'queries'", "inferred: k_head_stride is stride(k, 'head')",
                           "question: how many queries does one launch take?", "next: assay run smoke --kernel"})
    EXPECT_THAT(outcome.output, HasSubstr(part));
  std::string text = draft();
  const auto answer = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(text.find(from), std::string::npos) << text;
    text.replace(text.find(from), from.size(), to);
  };
  answer("# lq = [1]", "lq = [1]");
  answer("grid     = [\"b * h\", \"lq\"]", "grid     = [\"b * h\"]");
  std::ofstream(folder_ / "variant.toml") << text;
  const Outcome run = run_assay("run smoke --ledger none --kernel " + folder_.string());
  EXPECT_EQ(run.status, 0) << run.output << text;
  EXPECT_THAT(run.output, HasSubstr("100 cases: 100 passed, 0 failed"));
}

// Names that only resemble those of tensors are guesses, and a guess is a question, never something inferred.
TEST_F(CliInit, NamesThatResembleThoseOfTensorsAreQuestions) {
  const auto kernel = [&](const std::string& function, const std::string& q, const std::string& k, const std::string& v,
                          const std::string& out) {
    write("#include <metal_stdlib>\nusing namespace metal;\nkernel void " + function + "(device const half* " + q +
          ", device const half* " + k + ", device const half* " + v + ", device half* " + out +
          ", constant float& scale, uint i [[thread_position_in_grid]]) {\n  " + out + "[i] = " + q + "[i] * " + k + "[i] * " + v +
          "[i] * half(scale);\n}\n");
    std::filesystem::remove(folder_ / "variant.toml");
    return run_assay("init " + (folder_ / "kernel.metal").string());
  };
  using Names = std::array<std::string, 4>;
  for (const auto& [q, k, v, out] : {Names{"Qp", "Kc", "Vc", "Out"}, Names{"qbuf", "kcache", "vcache", "obuf"},
                                     Names{"inQ", "inK", "inV", "result"}, Names{"src0", "src1", "src2", "dst"}}) {
    const Outcome outcome = kernel("attn_decode", q, k, v, out);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_THAT(outcome.output, AllOf(HasSubstr("family attention"), HasSubstr("question: is argument '" + q + "' q? That is a guess"),
                                      HasSubstr("question: is argument '" + k + "' k?"), HasSubstr("question: is argument '" + v + "' v?"),
                                      Not(HasSubstr("inferred: q is"))));
    EXPECT_THAT(draft(), AllOf(HasSubstr("\n" + q + " = \"q\""), HasSubstr("\n" + k + " = \"k\""), HasSubstr("\n" + v + " = \"v\"")));
  }
  // Nothing says that this is attention.
  EXPECT_THAT(kernel("blend", "src0", "src1", "src2", "dst").output, Not(HasSubstr("family attention")));
  EXPECT_THAT(kernel("attn_norm", "gain", "bias", "input", "dst").output, Not(HasSubstr("family attention")));
}

// The second function binds to what the first leaves, so that buffer is no tensor. Features that the file has are offered as limits.
TEST_F(CliInit, TwoPassesOfOneComputationAreBothDrafted) {
  write(R"(#include <metal_stdlib>
using namespace metal;
constant bool has_mask [[function_constant(0)]];
constant bool float_mask [[function_constant(1)]];
struct Params { uint n_keys; uint page_size; float soft_cap; uint odd; };
kernel void first_half_128(device const half* q [[buffer(0)]], device const half* k [[buffer(1)]], device const half* v [[buffer(2)]],
                           device float* part_out [[buffer(3)]], device float* part_sums [[buffer(4)]],
                           constant Params& p [[buffer(5)]], device const half* fmask [[buffer(6)]],
                           uint i [[thread_position_in_grid]]) {
  part_out[i] = float(q[i]) + float(k[i]) + float(v[i]) + float(fmask[i]) + p.soft_cap + float(p.n_keys + p.page_size + p.odd);
  part_sums[i] = has_mask && float_mask ? 1 : 0;
}
kernel void second_half_128(device const float* part_out [[buffer(0)]], device const float* part_sums [[buffer(1)]],
                            device half* out [[buffer(2)]], constant Params& p [[buffer(3)]], uint i [[thread_position_in_grid]]) {
  out[i] = half(part_out[i] / part_sums[i] + p.odd);
}
kernel void other_k16(device float* x [[buffer(0)]]) { x[0] = 1; }
)");
  const Outcome outcome = run_assay("init " + (folder_ / "kernel.metal").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  const std::string text = draft();
  for (const char* part : {"function = \"first_{type}_{dk}\"", "function = \"second_{type}_{dk}\"", "name  = \"part_out\"",
                           "bytes = \"b * h * lq * blocks * dv * 4\"", "name  = \"part_sums\"",
                           "# mask = [\"none\", \"additive\", \"boolean\"]", "# softcap = [0, 30]", "# blocks = [1, 3, 32]",
                           "As it stands, no case tests them", "the file also has other_k16", "Has each an argument of its own?"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("part_out = "))) << "it is not the output";
  EXPECT_THAT(text, Not(HasSubstr("what is 'page_size'"))) << "it binds by its name";
  const std::string question = "# QUESTION: what is 'odd'";
  const std::size_t at = text.find(question);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find(question, at + 1), std::string::npos) << "two functions with one struct are one question";
}

TEST_F(CliInit, DoesNotOverwriteADescription) {
  const std::filesystem::path file = std::filesystem::path(ASSAY_SOURCE_DIR) / "kernels/variants/fwht_v1/kernel.metal";
  ASSERT_EQ(init(file).status, 0);
  const std::string before = draft();
  const Outcome again = init(file);
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.output, HasSubstr("exists; --print shows the draft without writing it"));
  EXPECT_EQ(draft(), before);
}

TEST_F(CliInit, AFileOfAFamilyWithAContractNeedsNoQuestion) {
  const Outcome outcome = init(std::filesystem::path(ASSAY_SOURCE_DIR) / "kernels/variants/fwht_v1/kernel.metal");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("family fwht"), Not(HasSubstr("question:"))));
  EXPECT_THAT(run_assay("run smoke --ledger none --kernel " + folder_.string()).output, HasSubstr("100 cases: 100 passed"));
}

TEST_F(CliInit, AFileThatAFamilyDoesNotRecogniseIsReported) {
  const Outcome outcome = init(kForeign / "c_bigint.metal", " --family attention");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("functions can be drafted as attention"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "variant.toml"));
}

// From the draft to the verdict with the answers of an author.
TEST_F(CliInit, AFileThatNoFamilyRecognisesIsDraftedAsCustom) {
  std::ofstream(folder_ / "scale.metal") << R"(#include <metal_stdlib>
using namespace metal;
struct Params { uint rows; uint dim; ulong row_stride; float factor; };
kernel void scale_rows(device const half* x [[buffer(0)]], device float* y [[buffer(1)]], constant Params& p [[buffer(2)]],
                       uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_threadgroup]]) {
  for (uint i = lane; i < p.dim; i += 32) y[row * p.dim + i] = float(x[row * p.row_stride + i]) * p.factor;
}
)";
  const Outcome outcome = run_assay("init " + (folder_ / "scale.metal").string());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  for (const char* part : {"family custom", "inferred: axes rows, dim", "inferred: x is an input", "inferred: y is an output",
                           "question: how many threadgroups", "question: what is 'p.row_stride'", "question: what is 'p.factor'"})
    EXPECT_THAT(outcome.output, HasSubstr(part));
  std::string text = draft();
  const auto answer = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(text.find(from), std::string::npos) << text;
    text.replace(text.find(from), from.size(), to);
  };
  answer("# p.row_stride = \"\"", "p.row_stride = \"dim\"");
  answer("# p.factor = \"\"", "p.factor = 0.5");
  std::ofstream(folder_ / "variant.toml") << text;
  // The reference of the draft's comment, with its one gap filled.
  std::string reference;
  std::istringstream lines(text);
  for (std::string one; std::getline(lines, one);) {
    if (one.starts_with("#   ")) reference += one.substr(4) + "\n";
  }
  ASSERT_NE(reference.find("..."), std::string::npos) << text;
  reference.replace(reference.find("..."), 3, "x * 0.5");
  std::ofstream(folder_ / "reference.py") << reference;
  const Outcome run = run_assay("run smoke --ledger none --kernel " + folder_.string());
  EXPECT_EQ(run.status, 0) << run.output << text << reference;
  EXPECT_THAT(run.output, HasSubstr("0 failed"));
}

}  // namespace
}  // namespace assay::tests::init_test
