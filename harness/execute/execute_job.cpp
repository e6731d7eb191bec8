// Runs a job under one schedule; judging.cpp judges what it leaves.
#include "harness/execute/execute_job.h"

#include <utility>

#include "harness/cases/file_case.h"
#include "harness/execute/job_memory.h"
#include "harness/execute/judging.h"

namespace assay::harness {
namespace {

using families::Job;
using families::JobBuffer;

// Shadows are asked for before the oracle says which ones it compares, because the kernels' process ends before.
std::vector<ShadowRequest> shadows_to_keep(const Job& job, const JobMemory& memory) {
  std::vector<ShadowRequest> requests(job.buffers.size());
  for (std::size_t buffer = 0; buffer < requests.size(); ++buffer) {
    const JobBuffer& described = job.buffers[buffer];
    const bool is_bfloat = described.element == metal::ScalarType::bfloat16;
    const bool is_half = described.element == metal::ScalarType::float16;
    // Bytes are no numbers, and may be gigabytes.
    if (described.role == families::BufferRole::input || described.element == metal::ScalarType::uint8) continue;
    requests[buffer] = {memory.views(0)[buffer], described.size / (is_bfloat || is_half ? 2 : sizeof(float)),
                        is_half     ? metal::FloatType::half
                        : is_bfloat ? metal::FloatType::bfloat
                                    : metal::FloatType::float32};
  }
  return requests;
}

}  // namespace

families::Job make_job(const PreparedVariant& prepared, const kernels::Variant& variant, const kernels::BoundKernel& kernel,
                       const Case& test_case, const families::Source& source, const oracles::ArithmeticProfile& profile) {
  const auto helper = [&](std::string_view family, const kernels::FunctionKey& function) { return prepared.helper(family, function); };
  return test_case.family->job({.test_case = test_case,
                                .source = source,
                                .kernel = kernel,
                                .variant = variant,
                                .helper = helper,
                                .function = [&](const kernels::FunctionKey& function) { return prepared.kernel(function); },
                                .profile = profile});
}

namespace {

void judge_returned(Execution& execution) {
  JobMemory memory(*execution.kept.job);
  execution.returned(execution.test_case, memory);
  if (!execution.kept.expected) execution.kept.stored = stored_expectation(execution.test_case, execution.shelf);
  memory.drop_passes_not_run();
  judge_run(execution, memory);
}

}  // namespace

void execute_job(Execution& execution) {
  Kept& kept = execution.kept;
  if (!kept.job) {
    const CaseSource source(execution.test_case, execution.shelf);
    kept.job = make_job(execution.prepared, execution.variant(), execution.kernel, execution.test_case, source.get(), execution.profile);
  }
  const Job& job = *kept.job;
  if (execution.returned) return judge_returned(execution);
  KernelHost& process = kernel_host(execution.device);
  JobMemory memory(job, &process.memory());
  KernelRun run{.libraries = execution.prepared.libraries, .options = execution.simulator, .passes = job.passes.size(), .encode = {}};
  run.encode = [&](std::size_t pass, metal::ComputeEncoder& encoder) {
    const Encode encode = [&](metal::ComputeEncoder& to) { job.passes[pass].encode(to, memory.views(pass)); };
    execution.launch ? execution.launch(encoder, encode) : encode(encoder);
  };
  run.may_run = [&](std::size_t pass) { return memory.may_run(pass); };
  if (execution.simulator.policy == metal::Policy::shadow) run.shadows = shadows_to_keep(job, memory);
  // Compiled before the first case ran, without any instrumentation.
  if (execution.simulator.policy == metal::Policy::native && !execution.simulator.concurrent) {
    run.likely = [&] {
      std::vector<metal::PipelineDescriptor> likely;
      for (const auto& [key, kernel] : execution.prepared.kernels) likely.push_back(kernel.entry().pipeline);
      return likely;
    };
  }
  execution.report = process.run(run);
  // Not before: the process of the kernels starts as a copy of this one, and a kernel could look for it.
  // Files have what the oracle computes by the simulator's profile; by another one, an index may be a range.
  const bool is_stored_profile = std::string_view(execution.profile.name) == oracles::simulator_profile().name;
  if (!kept.expected && is_stored_profile) kept.stored = stored_expectation(execution.test_case, execution.shelf);
  memory.drop_passes_not_run();
  judge_run(execution, memory);
}

}  // namespace assay::harness
