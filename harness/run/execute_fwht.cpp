#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "families/fwht/inputs.h"
#include "harness/run/case_data.h"
#include "harness/run/executors.h"
#include "harness/run/guarded_buffer.h"
#include "metal/devices/encoder.h"
#include "oracles/fwht.h"

namespace assay::harness {
namespace {

// Hands everything on and dispatches one threadgroup more than it was told.
class GenerousEncoder final : public metal::ComputeEncoder {
 public:
  explicit GenerousEncoder(metal::ComputeEncoder& next) : next_(next) {}

  void set_pipeline(const metal::PipelineDescriptor& pipeline) override { next_.set_pipeline(pipeline); }
  void set_buffer(std::uint32_t index, metal::BufferView view) override { next_.set_buffer(index, view); }
  void set_bytes(std::uint32_t index, std::span<const std::byte> bytes) override { next_.set_bytes(index, bytes); }
  void set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) override { next_.set_threadgroup_memory_length(index, bytes); }
  void memory_barrier() override { next_.memory_barrier(); }
  void dispatch_threadgroups(metal::Size3 threadgroups, metal::Size3 threads) override {
    ++threadgroups.x;
    next_.dispatch_threadgroups(threadgroups, threads);
  }
  void dispatch_threads(metal::Size3 threads, metal::Size3 threads_per_threadgroup) override {
    next_.dispatch_threads(threads, threads_per_threadgroup);
  }

 private:
  metal::ComputeEncoder& next_;
};

bool is_touched(const GuardBands& guards) {
  const auto touched = [](std::span<const std::uint32_t> words) {
    return std::ranges::any_of(words, [](std::uint32_t word) { return word != metal::kPoisonWord; });
  };
  return touched(guards.before) || touched(guards.after);
}

// By the contract a threadgroup behind the last head returns; hosts that round their grid up rest on it.
void find_broken_promise(Execution& execution, const families::FwhtParameters& parameters, std::span<const float> input) {
  GuardedBuffer data(input.size(), "data");
  std::ranges::copy(input, data.values().begin());
  const auto encode = [&](metal::ComputeEncoder& encoder) {
    GenerousEncoder generous(encoder);
    families::encode_fwht(generous, execution.kernel, parameters, data.view());
  };
  if (!execution.launch(encode)) return;
  if (is_touched(data.guards())) execution.verdict.faults.emplace_back(fault::ThreadgroupBehindLast{parameters.num_heads});
}

}  // namespace

void execute_fwht(Execution& execution) {
  Verdict& verdict = execution.verdict;
  const families::FwhtParameters parameters = families::fwht_parameters(execution.about);

  const CaseData<std::vector<float>>& source =
      execution.kept.once([&] { return data_of(execution.about, execution.shelf, families::fwht_inputs); });
  const std::vector<float>& input = source.inputs;

  GuardedBuffer data(input.size(), "data");
  std::ranges::copy(input, data.values().begin());
  const auto encode = [&](metal::ComputeEncoder& encoder) { families::encode_fwht(encoder, execution.kernel, parameters, data.view()); };
  if (!execution.launch(encode)) return;

  const oracles::Expected& expected =
      expected_of(execution, [&] { return oracles::fwht(input, parameters.head_dim, families::fwht_mode(execution.about)); });
  verdict.row_length = parameters.head_dim;
  // Who writes there without one more threadgroup is no evidence against that.
  if (!is_touched(data.guards())) find_broken_promise(execution, parameters, input);
  const auto judge_by = [&](const oracles::Expected& by) { return judge(data.values(), by, data.guards(), execution.judging); };
  verdict.judgement = judge_by(expected);
  keep_shadowed(execution, data.view(), data.values(), expected);
  if (source.stored) judge_by_stored(verdict, *source.stored, expected, judge_by);
  add_to_digest(verdict.digest, data.bytes());
  execution.output.assign(data.values().begin(), data.values().end());
}

}  // namespace assay::harness
