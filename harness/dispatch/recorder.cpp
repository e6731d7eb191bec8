// Records the dispatches of the launch code as a trace.
#include "harness/dispatch/recorder.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "harness/cases/case_data.h"
#include "harness/execute/execute.h"
#include "harness/execute/execute_job.h"
#include "harness/execute/job_memory.h"
#include "metal/compile/library.h"

namespace assay::harness {
namespace {

const metal::ArgumentLayout& layout_of(const PreparedVariant& prepared, const metal::PipelineDescriptor& pipeline) {
  for (const auto& [key, kernel] : prepared.kernels) {
    if (kernel.entry().pipeline == pipeline) return kernel.entry().layout;
  }
  for (const auto& [family, helpers] : prepared.helpers) {
    for (const auto& [key, kernel] : helpers.kernels) {
      if (kernel.entry().pipeline == pipeline) return kernel.entry().layout;
    }
  }
  throw std::logic_error(fmt::format("function '{}' was not prepared", pipeline.function));
}

// The type of the constant in the kernel's source.
std::string type_of_constant(const PreparedVariant& prepared, const metal::PipelineDescriptor& pipeline, std::uint32_t index) {
  for (const auto& library : prepared.libraries) {
    if (!library->offers(pipeline)) continue;
    for (const metal::FunctionConstantDeclaration& constant : library->function_constants()) {
      if (constant.index == index) return constant.type_name;
    }
  }
  return {};
}

}  // namespace

void LaunchRecorder::set_pipeline(const metal::PipelineDescriptor& pipeline) {
  pipeline_ = pipeline;
  layout_ = layout_of(prepared_, pipeline);
}

void LaunchRecorder::set_buffer(std::uint32_t index, metal::BufferView view) {
  bytes_.erase(index);
  buffers_.insert_or_assign(index, view);
}

void LaunchRecorder::set_bytes(std::uint32_t index, std::span<const std::byte> bytes) {
  buffers_.erase(index);
  bytes_.insert_or_assign(index, std::vector<std::byte>(bytes.begin(), bytes.end()));
}

void LaunchRecorder::set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) { threadgroup_memory_[index] = bytes; }

void LaunchRecorder::memory_barrier() { after_barrier_ = !dispatches_.empty(); }

void LaunchRecorder::dispatch_threadgroups(metal::Size3 threadgroups, metal::Size3 threads_per_threadgroup) {
  add(threadgroups, threads_per_threadgroup, false);
}

void LaunchRecorder::dispatch_threads(metal::Size3 threads, metal::Size3 threads_per_threadgroup) {
  add(threads, threads_per_threadgroup, true);
}

void LaunchRecorder::add(metal::Size3 grid, metal::Size3 threads_per_threadgroup, bool counts_threads) {
  ContractDispatch dispatch;
  dispatch.layout = layout_;
  TraceDispatch& trace = dispatch.trace;
  trace.function = pipeline_.function;
  trace.definitions = pipeline_.definitions;
  for (const auto& [index, value] : pipeline_.constants)
    trace.constants.emplace(index, TraceConstant{value, type_of_constant(prepared_, pipeline_, index)});
  std::map<std::uint32_t, metal::BufferView> views;
  for (const metal::BoundArgument& argument : layout_.arguments) {
    if (argument.space == metal::AddressSpace::threadgroup) {
      if (const auto length = threadgroup_memory_.find(argument.index); length != threadgroup_memory_.end())
        trace.threadgroup_memory.insert(*length);
      continue;
    }
    TraceBinding binding;
    binding.argument = argument.name;
    if (const auto bytes = bytes_.find(argument.index); bytes != bytes_.end()) {
      binding.bytes = bytes->second;
      binding.fields = decode_fields(argument, bytes->second);
    } else if (const auto view = buffers_.find(argument.index); view != buffers_.end()) {
      binding.buffer = TraceBuffer{view->second.buffer->label(), view->second.needed.value_or(view->second.size()), 0};
      views.insert(*view);
    } else {
      throw std::logic_error(fmt::format("'{}': the launch code binds nothing for argument '{}' (buffer {})", pipeline_.function,
                                         argument.name, argument.index));
    }
    trace.bindings.emplace(argument.index, std::move(binding));
  }
  trace.counts_threads = counts_threads;
  trace.grid = grid;
  trace.threads_per_threadgroup = threads_per_threadgroup;
  trace.after_barrier = std::exchange(after_barrier_, false);
  dispatches_.push_back(std::move(dispatch));
  views_.push_back(std::move(views));
}

std::vector<ContractDispatch> record_case(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf) {
  LaunchRecorder recorder(prepared);
  std::map<std::string, InputLayout> inputs;
  with_job(prepared, test_case, shelf, nullptr, [&](const families::Job& job, const JobMemory& memory) {
    job.passes.front().encode(recorder, memory.views(0));
    inputs = input_layouts(test_case, CaseSource(test_case, shelf).get(), job);
  });
  std::vector<ContractDispatch> dispatches = recorder.dispatches();
  for (ContractDispatch& dispatch : dispatches) {
    for (const auto& [index, binding] : dispatch.trace.bindings) {
      const auto found = binding.buffer ? inputs.find(binding.buffer->name) : inputs.end();
      if (found != inputs.end()) dispatch.inputs.emplace(index, found->second);
    }
  }
  return dispatches;
}

}  // namespace assay::harness
