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

namespace assay::tests {
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
  const harness::Workbench workbench(catalogue, {test_case}, {});
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
  launch.encode(recorder, [&](const kernels::FunctionKey& key) { return prepared.kernel(key); }, views);
  for (const auto& scratch : launch.scratch()) recorder.lines.push_back(fmt::format("{} has {} bytes", scratch.name, scratch.bytes));
  return recorder.lines;
}

TEST(AttentionDispatch, ASimdgroupForEachKey) {
  // Rows of k are 192 + 8 apart, heads 40 rows and 16; rows of v 128 + 16, heads 40 rows and 32. Rows of the mask are 33 + 8 apart.
  EXPECT_THAT(launch_of("attn_simd_v1/half/d192x128/b2/h8x2/q2/k33/additive/planes_both/mask_gaps/sinks/scale_one/room7/gaps_kv/gauss/s1"),
              ElementsAre("attn_simd_half_192_128 with function constant 20 = true, function constant 21 = false, function constant 22 = "
                          "false, function constant 25 = true",
                          "0: q", "1: k", "2: v", "3: out", "4: 4", "5: 33", "6: 8016 0", "7: 200 0", "8: 5792 0", "9: 144 0",
                          "10: 1065353216", "12: mask", "13: 98", "14: 41", "15: 784", "16: sinks", "17: 8", "16x2x1 of 1024x1x1"));
}

TEST(AttentionDispatch, TwoPasses) {
  EXPECT_THAT(
      launch_of("attn_split_v1/float/d64x64/b2/h4x2/q2/k33/additive/mask_half/planes_head/cap30/ragged/gaps_inputs/blocks3/gauss/s1"),
      ElementsAre("x"));
}

TEST(AttentionDispatch, StridesInBytesAndBlocks) {
  EXPECT_THAT(launch_of("attn_blocks_v1/float/d64x64/b2/h6x3/q2/k33/k_q8_0/alibi/mask_half/blhd/shared_kv/nsg4/gauss/s1"),
              ElementsAre("x"));
}

TEST(AttentionDispatch, WorkgroupsAndARing) {
  EXPECT_THAT(launch_of("attn_nwg_v1/float/d256x256/b1/h8x2/q1/k65/k_half/window31/ring5room9/blocks3/gauss/s1"), ElementsAre("x"));
}

TEST(AttentionDispatch, PagesAndPartitions) {
  EXPECT_THAT(launch_of("attn_paged_v1/bfloat/d64x64/b2/h8x2/q1/k257/nomask/page16room0/blhd/ragged/nsg2/gauss/s1"), ElementsAre("x"));
}

TEST(AttentionDispatch, TilesOfAPackedBuffer) {
  EXPECT_THAT(launch_of("attn_tiles_v1/half/d64x64/b2/h4x2/q33/k33/causal/packed/gauss/s1"), ElementsAre("x"));
}

}  // namespace
}  // namespace assay::tests
