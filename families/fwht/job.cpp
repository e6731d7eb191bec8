// The job of family `fwht`: rows that are transformed in place.
#include <memory>
#include <span>
#include <vector>

#include "families/fwht/inputs.h"
#include "oracles/fwht.h"

namespace assay::families {
namespace {

// Encodes one threadgroup more than the launch code dispatches.
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

}  // namespace

Job fwht_job(const JobRequest& request) {
  const FwhtParameters parameters = fwht_parameters(request.test_case);
  const auto input = std::make_shared<const std::vector<float>>(fwht_inputs(request.test_case, request.source));

  Job job{.inputs = input, .row_length = parameters.head_dim};
  JobBuffer rows = output_buffer("data", input->size() * sizeof(float));
  rows.contents = {{0, std::as_bytes(std::span(*input))}};
  const std::size_t data = job.add(std::move(rows));
  const auto encode = [=, kernel = &request.kernel](metal::ComputeEncoder& encoder, Views views) {
    encode_fwht(encoder, *kernel, parameters, views[data]);
  };
  // By the contract, a threadgroup behind the last head returns. Hosts that round their grid up depend on it.
  const auto encode_generously = [encode](metal::ComputeEncoder& encoder, Views views) {
    GenerousEncoder generous(encoder);
    encode(generous, views);
  };
  job.passes = {{.encode = encode}, {.encode = encode_generously, .is_probe = true}};
  job.judged = {data};
  job.expect = [input, parameters, mode = fwht_mode(request.test_case)] { return oracles::fwht(*input, parameters.head_dim, mode); };
  job.find_broken_promises = [=](const Results& results) {
    const bool is_broken = results.passes.size() > 1 && !results.passes[1][data].has_intact_guards;
    return is_broken ? std::vector<BrokenPromise>{promise::ThreadgroupBehindLast{parameters.num_heads}} : std::vector<BrokenPromise>();
  };
  return job;
}

}  // namespace assay::families
