// The job of family `fwht`: rows that are transformed in place.
#include <fmt/format.h>

#include <memory>
#include <span>
#include <vector>

#include "families/described_launch.h"
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

constexpr const char* kBehindLast = "threadgroup behind the last";

}  // namespace

std::vector<Promise> fwht_promises() {
  return {{.id = kBehindLast, .fields = {{"heads"}}, .text = [](const BrokenPromise& it) {
             return fmt::format("threadgroup {0} is beyond num_heads = {0} and must return, but it wrote past the end of the data",
                                it.count("heads"));
           }}};
}

Job fwht_job(const JobRequest& request) {
  const FwhtParameters parameters = fwht_parameters(request.test_case);
  const auto input = std::make_shared<const std::vector<float>>(fwht_inputs(request.test_case, request.source));

  Job job{.inputs = input, .row_length = parameters.head_dim};
  JobBuffer rows = output_buffer("data", input->size() * sizeof(float));
  rows.contents = {{0, std::as_bytes(std::span(*input))}};
  const std::size_t data = job.add(std::move(rows));
  const Pass pass = launch_pass(request, job);
  // By the contract, a threadgroup behind the last head returns. Hosts that round their grid up depend on it.
  const auto encode_generously = [encode = pass.encode](metal::ComputeEncoder& encoder, Views views) {
    GenerousEncoder generous(encoder);
    encode(generous, views);
  };
  job.passes = {pass, {.encode = encode_generously, .probes = BrokenPromise{kBehindLast, {{"heads", parameters.num_heads}}}}};
  job.judged = {data};
  job.expect = [input, parameters, mode = fwht_mode(request.test_case), profile = request.profile] {
    return oracles::fwht(*input, parameters.head_dim, mode, profile);
  };
  return job;
}

}  // namespace assay::families
