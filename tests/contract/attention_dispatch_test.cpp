// Launches of the attention variants, which their variant.toml describe: every call of the encoder, in literal numbers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "families/attention/layout.h"
#include "families/described_launch.h"
#include "families/registry.h"
#include "harness/prepare/workbench.h"
#include "tests/contract/recording_encoder.h"

namespace assay::tests::attention_dispatch_test {
namespace {

using namespace ::testing;

// Writes down what it is told, a line a call. Bytes are words of 32 bits; 1040187392 is the float 0.125.
class Recorder final : public metal::ComputeEncoder {
 public:
  explicit Recorder(std::map<const metal::Buffer*, std::string> names) : names_(std::move(names)) {}

  void set_pipeline(const metal::PipelineDescriptor& pipeline) override {
    lines.push_back(kernels::to_string(kernels::FunctionKey{pipeline.function, pipeline.constants}));
  }
  void set_buffer(std::uint32_t index, metal::BufferView view) override {
    lines.push_back(fmt::format("{}: {}{}", index, names_.at(view.buffer), view.offset == 0 ? "" : fmt::format(" + {}", view.offset)));
  }
  void set_bytes(std::uint32_t index, std::span<const std::byte> bytes) override {
    std::string line = fmt::format("{}:", index);
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) line += fmt::format(" {}", word_at(bytes, at));
    lines.push_back(line);
  }
  void set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) override {
    lines.push_back(fmt::format("threadgroup {}: {}", index, bytes));
  }
  void memory_barrier() override { lines.emplace_back("barrier"); }
  void dispatch_threadgroups(metal::Size3 grid, metal::Size3 threads) override {
    lines.push_back(fmt::format("{}x{}x{} of {}x{}x{}", grid.x, grid.y, grid.z, threads.x, threads.y, threads.z));
  }
  void dispatch_threads(metal::Size3, metal::Size3) override { lines.emplace_back("threads"); }

  std::vector<std::string> lines;

 private:
  std::map<const metal::Buffer*, std::string> names_;
};

std::vector<std::string> launch_of(const std::string& name) {
  const std::vector<kernels::Variant> catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  const harness::Case test_case = harness::parse_case(name, families::find_family("attention"));
  const std::vector<harness::Case> cases = {test_case};
  const harness::Workbench workbench(catalogue, cases, {});
  const harness::PreparedVariant& prepared = workbench.find(test_case.variant);
  const families::DescribedLaunch launch(test_case, prepared.variant);
  const families::attention::Layouts layouts(families::attention::shape_of(test_case));

  std::map<std::string, std::unique_ptr<metal::Buffer>> buffers;
  std::map<const metal::Buffer*, std::string> names;
  kernels::NamedViews views;
  const auto add = [&](std::string_view buffer) {
    auto& made = buffers[std::string(buffer)];
    if (made == nullptr) made = std::make_unique<metal::Buffer>(16);
    names.emplace(made.get(), buffer);
    return made.get();
  };
  for (const auto& [tensor, placed] : layouts.all())
    views[tensor] = {add(placed.buffer), static_cast<std::size_t>(placed.tensor.offset * placed.tensor.element_bytes)};
  for (const auto& scratch : launch.scratch()) views[std::string(scratch.name)] = {add(scratch.name)};

  Recorder recorder(std::move(names));
  launch.encode(recorder, [&](const families::LaunchedFunction& function) { return prepared.kernel(function.key); }, views);
  for (const auto& scratch : launch.scratch()) recorder.lines.push_back(fmt::format("{} has {} bytes", scratch.name, scratch.bytes));
  return recorder.lines;
}

TEST(AttentionDispatch, ASimdgroupForEachKey) {
  // Rows of k are 192 + 8 apart, heads 40 rows and 16; rows of v 128 + 16, heads 40 rows and 32. Rows of the mask are 33 + 8 apart.
  EXPECT_THAT(launch_of("attn_simd_v1/half/d192x128/b2/h8x2/q2/k33/additive/planes_both/mask_gaps/sinks/scale_one/room7/gaps_kv/gauss/s1"),
              ElementsAre("attn_simd_half_192_128 with function constants 20 = true, 21 = false, 22 = false, 25 = true", "0: q", "1: k",
                          "2: v", "3: out", "4: 4", "5: 33", "6: 8016 0", "7: 200 0", "8: 5792 0", "9: 144 0", "10: 1065353216", "12: mask",
                          "13: 98", "14: 41", "15: 784", "16: sinks", "17: 8", "16x2x1 of 1024x1x1"));
}

TEST(AttentionDispatch, TwoPasses) {
  EXPECT_THAT(
      launch_of("attn_split_v1/float/d64x64/b2/h4x2/q2/k33/additive/mask_half/planes_head/cap30/ragged/gaps_inputs/blocks3/gauss/s1"),
      ElementsAre("attn_split_partial_float_64 with function constants 0 = true, 1 = true",
                  "0: 4 2 33 3 1040187392 1106247680 716 0 176 0 76 0 4508 0 2252 0 68 0 4792 0 2392 0 72 0 0 0 66 0 33 0", "1: q", "2: k",
                  "3: v", "4: mask", "5: kv_len", "6: partials", "7: sums", "8: maxima", "8x2x3 of 32x1x1", "barrier",
                  "attn_split_merge_float_64", "0: 3", "1: partials", "2: sums", "3: maxima", "4: out", "5: lse", "16x1x1 of 32x1x1",
                  "partials has 12288 bytes", "sums has 192 bytes", "maxima has 192 bytes"));
}

TEST(AttentionDispatch, StridesInBytesAndBlocks) {
  EXPECT_THAT(
      launch_of("attn_blocks_v1/float/d64x64/b2/h6x3/q2/k33/k_q8_0/alibi/mask_half/blhd/shared_kv/nsg4/gauss/s1"),
      ElementsAre(
          "attn_blocks_q8_0_64 with function constant 300 = true",
          "0: 2 6 33 3 1536 0 256 0 3072 0 204 0 68 0 0 0 204 0 68 0 0 0 66 0 0 0 0 0 1040187392 1090519040 1048576000 1056964608 4 0",
          "1: q", "2: k", "3: v", "4: mask", "5: out", "threadgroup 0: 1056", "2x6x2 of 32x4x1"));
}

TEST(AttentionDispatch, WorkgroupsAndARing) {
  EXPECT_THAT(launch_of("attn_nwg_v1/float/d256x256/b1/h8x2/q1/k65/k_half/window31/ring5room9/blocks3/gauss/s1"),
              ElementsAre("attn_nwg_half_256 with function constant 10 = true", "0: 8 2 65 74 5 31 3 1031798784", "1: q", "2: k", "3: v",
                          "4: htmp", "8x3x1 of 32x1x1", "barrier", "attn_nwg_merge_256", "0: 8", "1: 3", "2: htmp", "3: out",
                          "8x1x1 of 96x1x1", "htmp has 24768 bytes"));
}

TEST(AttentionDispatch, PagesAndPartitions) {
  EXPECT_THAT(launch_of("attn_paged_v1/bfloat/d64x64/b2/h8x2/q1/k257/nomask/page16room0/blhd/ragged/nsg2/gauss/s1"),
              ElementsAre("attn_paged_bfloat_64_16", "0: q", "1: k", "2: v", "3: block_table", "4: kv_len", "5: partials", "6: statistics",
                          "7: 8", "8: 2", "9: 17", "10: 128", "11: 1040187392", "12: 2048 0", "13: 64 0", "14: 128 0", "threadgroup 0: 528",
                          "8x2x3 of 64x1x1", "barrier", "attn_paged_merge_bfloat_64", "0: out", "1: partials", "2: statistics", "3: 3",
                          "16x1x1 of 32x1x1", "partials has 12288 bytes", "statistics has 384 bytes"));
}

TEST(AttentionDispatch, TilesOfAPackedBuffer) {
  EXPECT_THAT(launch_of("attn_tiles_v1/half/d64x64/b2/h4x2/q33/k33/causal/packed/gauss/s1"),
              ElementsAre("attn_tiles_half_64 with function constants 200 = false, 201 = false, 301 = true", "0: qkv", "1: qkv + 512",
                          "2: qkv + 768", "3: out",
                          "4: 4 2 33 33 0 1040187392 16896 0 64 0 512 0 16896 0 64 0 512 0 16896 0 64 0 512 0 8448 0 2112 0 64 0",
                          "2x4x2 of 32x4x1"));
}

}  // namespace
}  // namespace assay::tests::attention_dispatch_test
