// Kernels as PTX for NVIDIA GPUs: who takes part in SIMD-group functions, the two modes of stores, fast mathematics, what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "metal/compile/library.h"
#include "metal/compile/ptx.h"
#include "metal/devices/cuda/zero_scan.h"
#include "metal/errors.h"
#include "tests/support/ptx.h"

namespace assay::tests::ptx_test {
namespace {

using metal::compile::PtxOptions;
using testing::HasSubstr;
using testing::Not;

metal::compile::PtxKernel compiled(std::string_view body, const PtxOptions& options = {}, std::string_view before = {}) {
  const std::string source = fmt::format(
      "#include <metal_stdlib>\nusing namespace metal;\n{}\nkernel void test(device float* out [[buffer(0)]], const device float* in "
      "[[buffer(1)]], constant uint& n [[buffer(2)]], threadgroup float* shared [[threadgroup(0)]], uint lane "
      "[[thread_index_in_simdgroup]], uint i [[thread_position_in_grid]]) {{\n{}\n}}\n",
      before, body);
  return metal::compile::compile_ptx(*metal::Library::from_source(source, "test.metal"), {"test", {}}, options);
}

// How the lanes of the SIMD-group functions are found.
struct Masks {
  int of_all = 0;    // votes of all lanes that have not ended
  int computed = 0;  // votes of some
  int running = 0;   // by asking the hardware who runs just now

  friend bool operator==(const Masks&, const Masks&) = default;
};
void PrintTo(const Masks& masks, std::ostream* stream) {
  *stream << masks.of_all << " of all, " << masks.computed << " computed, " << masks.running << " running";
}

Masks masks_of(std::string_view text) {
  Masks masks;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
    const auto line = text.substr(0, end);
    text.remove_prefix(end);
    if (line.find("activemask") != std::string_view::npos) ++masks.running;
    if (line.find("vote.sync.ballot") == std::string_view::npos) continue;
    ++(line.find(", -1;") != std::string_view::npos ? masks.of_all : masks.computed);
  }
  return masks;
}

int count(std::string_view text, std::string_view what) {
  int found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

struct Place {
  const char* name;
  const char* body;
  Masks masks;
};
const Place kPlaces[] = {
    // All lanes meet.
    {"Straight", "out[i] = simd_sum(in[i]);", {1, 0, 0}},
    {"AfterAJoin", "float v = in[i]; if (lane < 5) v *= 2; out[i] = simd_sum(v);", {1, 0, 0}},
    {"UniformBranch", "if (n > 3) out[i] = simd_sum(in[i]);", {1, 0, 0}},
    {"BufferOfAll", "if (in[n] > 1) out[i] = simd_sum(in[i]);", {1, 0, 0}},
    {"UniformLoop", "for (uint k = 0; k < n; ++k) out[i + k] = simd_sum(in[i + k]);", {1, 0, 0}},
    {"BranchOnASum", "if (simd_sum(in[i]) > 1) out[i] = simd_max(in[i]);", {2, 0, 0}},
    {"AfterAReturn", "if (lane > n) return; out[i] = simd_sum(in[i]);", {1, 0, 0}},
    {"LastLoop", "for (uint k = lane; k < n; k += 3) out[k] = simd_sum(in[k]);", {1, 0, 0}},
    // Some do: the branch says who.
    {"Branch", "if (lane < n) out[i] = simd_sum(in[i]); out[i] += simd_max(in[i]);", {2, 1, 0}},
    {"BothSides", "float v = in[i]; if (lane < n) v = simd_sum(v); else v = simd_product(v); out[i] = simd_max(v);", {2, 2, 0}},
    {"And", "float v = in[i]; if (lane < n && v > 0) v = simd_sum(v); out[i] = simd_max(v);", {2, 2, 0}},
    {"Loop", "float v = in[i]; for (uint k = lane; k < n; k += 3) v += simd_sum(v); out[i] = simd_max(v);", {2, 1, 0}},
    {"LoopWithBarrier",
     "float v = in[i]; for (uint k = lane; k < n; k += 3) v += simd_sum(v); threadgroup_barrier(mem_flags::mem_none); out[i] = v;",
     {1, 1, 0}},
    {"BranchInABranch",
     "float v = in[i]; if (lane < n) { if (v > 0) v += simd_sum(v); v += simd_max(v); } out[i] = simd_min(v);",
     {2, 3, 0}},
    {"Quad", "float v = in[i]; if (quad_sum(v) > 1) v = simd_sum(v); out[i] = simd_min(v);", {2, 1, 0}},
    // Without a barrier, lanes may read different values.
    {"ThreadgroupMemory", "shared[lane] = in[i]; if (shared[0] > 1) out[i] = simd_sum(in[i]); out[i] += simd_max(in[i]);", {2, 1, 0}},
    // Two branches decide about the second part.
    {"AndElse", "float v = in[i]; if (lane < n && v > 0) v += 1; else v = simd_sum(v); out[i] = simd_max(v);", {2, 1, 0}},
    {"Or", "float v = in[i]; if (lane < n || v > 0) v = simd_sum(v); else v = simd_product(v); out[i] = simd_max(v);", {2, 2, 0}},
    {"Switch",
     "float v = in[i]; switch (lane % 4) { case 0: v = 1; case 1: v = simd_sum(v); break; default: v = 2; } out[i] = simd_max(v);",
     {2, 2, 0}},
    {"BreakAndContinue",
     "float v = in[i]; for (uint k = 0; k < n; ++k) { if (k > lane) break; if (v > 3) continue; v += simd_sum(v); } out[i] = v;",
     {1, 2, 0}},
    {"ReturnBetween",
     "float v = in[i]; if (lane < n) { v = simd_sum(v); if (v > 3) { out[i] = simd_max(v); return; } } out[i] = simd_min(v);",
     {2, 1, 0}},
};

class PtxPlaces : public testing::TestWithParam<Place> {};
TEST_P(PtxPlaces, WhoTakesPart) { EXPECT_EQ(masks_of(compiled(GetParam().body).text), GetParam().masks); }
INSTANTIATE_TEST_SUITE_P(Place, PtxPlaces, testing::ValuesIn(kPlaces),
                         [](const testing::TestParamInfo<Place>& info) { return std::string(info.param.name); });

TEST(Ptx, HasOneEntryWithTheParameterOfCudaAbi) {
  const auto kernel = compiled("out[i] = in[i];");
  EXPECT_THAT(kernel.text, HasSubstr(".visible .entry __assay_kernel("));
  EXPECT_THAT(kernel.text, HasSubstr("__assay_kernel_param_0[408]"));
  EXPECT_EQ(count(kernel.text, ".func"), 0);
  EXPECT_THAT(kernel.text, Not(HasSubstr(".loc")));  // with debug information the assembler would not optimise
}

TEST(Ptx, SaysTheSizeOfThreadgroupVariables) {
  EXPECT_EQ(compiled("out[i] = in[i];").threadgroup_bytes, 0U);
  EXPECT_EQ(compiled("threadgroup float a[5]; threadgroup float4 b; a[lane] = in[i]; b = 0; threadgroup_barrier(mem_flags::mem_none); "
                     "out[i] = a[0] + b.x;")
                .threadgroup_bytes,
            48U);
}

constexpr std::string_view kStores = "shared[lane] = in[i]; out[i] = shared[31 - lane];";
constexpr std::string_view kStoreInABranch = "if (lane < n) shared[lane] = in[i]; out[i] = shared[31 - lane];";

TEST(Ptx, WaitsAroundStoresOnlyToKeepLockstep) {
  EXPECT_EQ(count(compiled(kStores).text, "bar.warp.sync"), 0);
  EXPECT_GE(count(compiled(kStores, {.keeps_lockstep = true}).text, "bar.warp.sync"), 2);
  EXPECT_EQ(count(compiled(kStoreInABranch).text, "bar.warp.sync"), 0);
  EXPECT_GE(count(compiled(kStoreInABranch, {.keeps_lockstep = true}).text, "bar.warp.sync"), 4);
}

// The lanes of the block behind the branch are known before lockstep asks for them.
TEST(Ptx, WaitsBehindTheVoteOfABlock) {
  const std::string body = fmt::format("{} out[i] += simd_sum(in[i]);", kStoreInABranch);
  EXPECT_GE(count(compiled(body, {.keeps_lockstep = true}).text, "bar.warp.sync"), 4);
}

constexpr std::string_view kArithmetic = "out[i] = exp(in[i]) * in[i + 1] + in[i + 2] / in[i + 3];";

TEST(Ptx, RoundsEachOperationUnlessMathematicsIsFast) {
  const std::string text = compiled(kArithmetic).text;
  EXPECT_THAT(text, Not(HasSubstr(".approx")));
  EXPECT_THAT(text, Not(HasSubstr(".ftz")));
  EXPECT_THAT(text, Not(HasSubstr("fma.rn.f32")));
  EXPECT_THAT(text, HasSubstr("div.rn.f32"));
}

TEST(Ptx, FastMathematicsApproximatesFusesAndFlushes) {
  const std::string text = compiled(kArithmetic, {.is_fast = true}).text;
  EXPECT_THAT(text, HasSubstr("ex2.approx.ftz.f32"));
  EXPECT_THAT(text, HasSubstr("fma.rn.ftz.f32"));
  EXPECT_THAT(text, HasSubstr("div.full.ftz.f32"));
}

TEST(Ptx, IsAcceptedByTheAssembler) {
  if (ptxas().empty()) GTEST_SKIP() << "ptxas is not installed";
  const std::string body = fmt::format(
      "{} threadgroup atomic_uint hits; if (lane == 0) atomic_store_explicit(&hits, 0u, memory_order_relaxed); "
      "simdgroup_barrier(mem_flags::mem_threadgroup); atomic_fetch_add_explicit(&hits, n / (i + 1), memory_order_relaxed); "
      "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device); simdgroup_float8x8 a, b, c; simdgroup_load(a, in); "
      "simdgroup_load(b, in + 64); simdgroup_multiply(c, a, b); simdgroup_store(c, out); out[i] = "
      "simd_prefix_exclusive_sum(sin(in[i])) + float(atomic_load_explicit(&hits, memory_order_relaxed)) + simd_shuffle_and_fill_up(in[i], "
      "1.0f, 3);",
      kStores);
  for (const bool keeps_lockstep : {false, true}) {
    for (const bool is_fast : {false, true})
      EXPECT_EQ(refusal_of_ptxas(compiled(body, {.keeps_lockstep = keeps_lockstep, .is_fast = is_fast}).text), "");
  }
  EXPECT_EQ(refusal_of_ptxas(metal::cuda::ZeroScan::ptx()), "");
  EXPECT_NE(refusal_of_ptxas(compiled("out[i] = in[i];").text + "nonsense"), "");
}

TEST(Ptx, IsRefusedAtTheUsersLine) {
  const auto refusal = [](std::string_view body, std::string_view before) -> std::string {
    try {
      static_cast<void>(compiled(body, {}, before));
    } catch (const metal::Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(refusal("out[i] = power ? 1 : 0;", "constant bool power [[function_constant(3)]];"),
              HasSubstr("function constant 'power' (index 3) is used by"));
  EXPECT_THAT(refusal("out[i] = missing;", ""), HasSubstr("test.metal:5"));
  // Operations of the target that only our headers may use.
  EXPECT_NE(refusal("out[i] = __nvvm_read_ptx_sreg_tid_x();", ""), "");
  EXPECT_NE(refusal("__nvvm_barrier_sync(7); out[i] = 1;", ""), "");
}

}  // namespace
}  // namespace assay::tests::ptx_test
