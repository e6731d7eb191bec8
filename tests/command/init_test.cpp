// `assay init`: what it recognises in files of other projects, what it asks, and that its drafts can be run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/text.h"
#include "kernels/variant.h"
#include "tests/support/command.h"

namespace assay::tests {
namespace {

using namespace ::testing;

const std::filesystem::path kForeign = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/kernels/foreign";

class CliInit : public Cli {
 protected:
  // `assay init` on a copy of a file, and the draft that it wrote.
  Outcome init(const std::filesystem::path& source) {
    std::filesystem::copy_file(source, folder_ / "kernel.metal", std::filesystem::copy_options::overwrite_existing);
    return run_assay("init " + (folder_ / "kernel.metal").string());
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

TEST_F(CliInit, DoesNotOverwriteADescription) {
  ASSERT_EQ(init(kForeign / "b_sdpa_vector.metal").status, 0);
  const std::string before = draft();
  const Outcome again = init(kForeign / "b_sdpa_vector.metal");
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

TEST_F(CliInit, AFileThatNoFamilyRecognisesIsReported) {
  const Outcome outcome = init(kForeign / "c_bigint.metal");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("no family recognises"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "variant.toml"));
}

}  // namespace
}  // namespace assay::tests
